"""Whole episodes come out the same, bit for bit: again, elsewhere, and by every way of running them.

(PettingZoo's own `parallel_seed_test` compares a single step.)
"""

import copy
import hashlib
import io
import pickle
import random

import numpy as np
import pytest
from conftest import CONFIGURATIONS, choose, freeze, row_of

from mpe_ext.engine import threads

LENGTH = 60  # two whole episodes of the longest and a part of a third


def numbers_for(env, length=LENGTH, seed=0, num_envs=()):
    """What `choose` makes actions of: [length, num_envs, agents, 8]."""
    shape = (length, *np.atleast_1d(num_envs).astype(int), len(env.possible_agents), 8)
    return np.random.default_rng(seed).random(shape)


def play(env, numbers):
    """All that a Parallel environment returns over steps, with a reset after each end."""
    record = []
    for row in numbers:
        record.append(freeze((env.step(choose(env, row)), env.state(), env.agents)))
        if not env.agents:
            record.append(freeze((env.reset(), env.state(), env.agents)))
    return record


def play_batch(env, numbers):
    return [freeze((env.step(choose(env, row)), env.state())) for row in numbers]


def play_turns(env, numbers):
    """All that an AEC environment says at each turn until the end of the episode."""
    record = []
    for agent, row in zip(env.agent_iter(), numbers.reshape(-1, *numbers.shape[-2:]), strict=False):
        observation, reward, terminated, truncated, info = env.last()
        record.append((agent, freeze((observation, reward, info, env.state())), terminated, truncated))
        env.step(None if terminated or truncated else choose(env, row)[agent])
    assert not env.agents
    return record


def digest(record):
    return hashlib.sha256(pickle.dumps(record)).hexdigest()


def digests(module, params):
    """Of whole episodes, one for each face. Other processes call this too."""
    single, turns, batch = module.parallel_env(**params), module.env(**params), module.vector_env(num_envs=3, **params)
    first = freeze(single.reset(seed=11)), freeze(batch.reset(seed=11))
    turns.reset(seed=11)
    return [
        digest(first),
        digest(play(single, numbers_for(single))),
        digest(play_batch(batch, numbers_for(batch, num_envs=3))),
        digest(play_turns(turns, numbers_for(turns, 1000))),
    ]


# Again, and elsewhere -------------------------------------------------------------------------------------------


def test_two_resets_and_two_environments(module, params):
    env, other = module.parallel_env(**params), module.parallel_env(**params)
    numbers = numbers_for(env)
    first = freeze(env.reset(seed=5)), play(env, numbers)
    assert (freeze(env.reset(seed=5)), play(env, numbers)) == first
    assert (freeze(other.reset(seed=5)), play(other, numbers)) == first
    assert (freeze(env.reset(seed=6)), play(env, numbers)) != first


def test_two_resets_of_a_batch(module, params):
    env, other = (module.vector_env(num_envs=3, **params) for _ in range(2))
    numbers = numbers_for(env, num_envs=3)
    first = freeze(env.reset(seed=5)), play_batch(env, numbers)
    assert (freeze(env.reset(seed=5)), play_batch(env, numbers)) == first
    assert (freeze(other.reset(seed=5)), play_batch(other, numbers)) == first
    assert freeze(env.reset(seed=6)) != first[0]


def test_two_processes(module, python, request):
    name = module.__name__.rsplit(".", 1)[1]
    here = [digests(module, params) for params in CONFIGURATIONS[name].values()]
    there = python(f"""
        import sys
        sys.path.insert(0, {str(request.path.parent)!r})
        import {module.__name__} as module
        from conftest import CONFIGURATIONS
        from test_determinism import digests
        print([digests(module, params) for params in CONFIGURATIONS[{name!r}].values()])
    """, PYTHONHASHSEED="1")  # fmt: skip
    assert there.strip() == repr(here)


def test_global_random_state_is_neither_read_nor_changed(module, params):
    env = module.parallel_env(**params)
    numbers = numbers_for(env)
    records = []
    for seed in (1, 2):
        random.seed(seed), np.random.seed(seed)
        before = random.getstate(), freeze(list(np.random.get_state()[1:]))
        records.append((freeze(env.reset(seed=5)), play(env, numbers)))
        module.parallel_env(**params).reset()  # takes its seed from the system
        assert before == (random.getstate(), freeze(list(np.random.get_state()[1:])))
    assert records[0] == records[1]


# One set of rules, every way to run it --------------------------------------------------------------------------


@pytest.mark.simultaneous
def test_turns_equal_parallel(module, params):
    turns, parallel = module.env(**params), module.parallel_env(**params)
    turns.reset(seed=4)
    observations, infos = parallel.reset(seed=4)
    rewards, terminated, truncated = {}, {}, {}
    expected = list(parallel.agents)
    for row in numbers_for(parallel):
        # Whoever left in the last step is asked first (PettingZoo sorts them by name), then those who act.
        for agent in sorted(a for a in expected if a not in parallel.agents) + parallel.agents:
            assert turns.agent_selection == agent
            ends = terminated.get(agent, False), truncated.get(agent, False)
            said = observations[agent], float(rewards.get(agent, 0)), *ends, infos[agent]
            observation, reward, *rest = turns.last()
            assert freeze((observation, float(reward), *rest)) == freeze(said)
            turns.step(choose(parallel, row)[agent] if agent in parallel.agents else None)
        if not parallel.agents:
            break
        expected = list(parallel.agents)
        observations, rewards, terminated, truncated, infos = parallel.step(choose(parallel, row))
        np.testing.assert_array_equal(turns.state(), parallel.state())
    assert not parallel.agents and not turns.agents


def compare(batch, singles, observations, infos):
    """Step a batch and single environments side by side over several episodes; `singles` holds None for the rest."""
    rng = np.random.default_rng(1)
    for _ in range(LENGTH):
        row = rng.random((batch.num_envs, len(batch.possible_agents), 8))
        observations, rewards, terminated, truncated, infos = batch.step(choose(batch, row))
        state = batch.state()
        ended = infos.get("_final_obs", np.zeros(batch.num_envs, bool))
        for w, single in enumerate(singles):
            if single is None:
                continue
            one = single.step(choose(single, row[w]))
            for agent in batch.possible_agents:
                last = infos["final_obs"] if ended[w] else observations
                if agent not in one[0]:
                    assert rewards[agent][w] == 0 and terminated[agent][w] and not truncated[agent][w]
                    assert not last[agent][w].any()
                    continue
                assert freeze(row_of(last[agent], w)) == freeze(one[0][agent])
                many = [part[agent][w].item() for part in (rewards, terminated, truncated)]
                assert many == [part[agent] for part in one[1:4]]
                assert {key: values[w].item() for key, values in infos[agent].items()} == one[4][agent]
            assert ended[w] == (not single.agents)
            if not single.agents:
                new, _ = single.reset()
                assert all(freeze(row_of(observations[agent], w)) == freeze(new[agent]) for agent in new)
            assert infos["acting"][w].tolist() == single.acting.tolist()
            assert freeze(state[w]) == freeze(single.state())


def test_batch_with_a_list_of_seeds_equals_singles(module, params):
    seeds = [3, 2**64 - 1, 0, 3]
    batch, singles = module.vector_env(num_envs=4, **params), [module.parallel_env(**params) for _ in seeds]
    observations, infos = batch.reset(seed=seeds)
    for w, (single, seed) in enumerate(zip(singles, seeds, strict=True)):
        one, its_infos = single.reset(seed=seed)
        assert all(freeze(row_of(observations[agent], w)) == freeze(one[agent]) for agent in one)
        assert {a: {k: v[w].item() for k, v in infos[a].items()} for a in one} == its_infos
    assert freeze({a: row_of(o, 0) for a, o in observations.items()}) == freeze(
        {a: row_of(o, 3) for a, o in observations.items()}
    )
    compare(batch, singles, observations, infos)


def test_world_0_of_a_seeded_batch_equals_single(module, params):
    batch, single = module.vector_env(num_envs=3, **params), module.parallel_env(**params)
    observations, infos = batch.reset(seed=12)
    one, _ = single.reset(seed=12)
    assert all(freeze(row_of(observations[agent], 0)) == freeze(one[agent]) for agent in one)
    assert len({o.tobytes() for o in batch.state()}) == 3  # and the other worlds are others
    compare(batch, [single, None, None], observations, infos)


def test_a_world_does_not_depend_on_how_many_there_are(module):
    small, large = module.vector_env(num_envs=2), module.vector_env(num_envs=700, num_threads=2)
    small.reset(seed=8), large.reset(seed=8)
    numbers = numbers_for(large, 30, num_envs=700)
    for row in numbers:
        small.step(choose(small, row[:2])), large.step(choose(large, row))
        assert freeze(small.state()) == freeze(large.state()[:2])


def test_threads(module, params):
    """The same numbers from one thread, two and three."""
    worlds = 800
    records = []
    for count in (1, 2, 3):
        env = module.vector_env(num_envs=worlds, num_threads=count, **params)
        first = freeze(env.reset(seed=2))
        numbers = numbers_for(env, 27, num_envs=worlds)
        records.append((first, *map(digest, play_batch(env, numbers))))
    assert len(threads._workers) >= 2  # they were really used
    assert records[0] == records[1] == records[2]


# Copies and snapshots in the middle -----------------------------------------------------------------------------

WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("played", [0, 6])
def test_copy_of_parallel(module, params, way, played):
    env = module.parallel_env(**params)
    numbers = numbers_for(env)
    env.reset(seed=3)
    play(env, numbers[:played])
    env.max_cycles = 9
    twin, kept = WAYS[way](env), WAYS[way](env)
    assert twin.agents == env.agents and twin.max_cycles == 9
    record = play(env, numbers[played:])
    assert play(twin, numbers[played:]) == record
    assert play(kept, numbers[played:]) == record  # the others' play has not touched it


@pytest.mark.simultaneous
@pytest.mark.parametrize("way", WAYS)
def test_copy_of_turns(module, params, way):
    """Also in the middle of a cycle, when some agents have spoken and others have not."""
    for played in (0, 1, 6 * len(module.env(**params).possible_agents) - 1):
        env = module.env(**params)
        env.reset(seed=3)
        for row in numbers_for(env, played):
            gone = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
            env.step(None if gone else choose(env, row)[env.agent_selection])
        twin, kept = WAYS[way](env), WAYS[way](env)
        numbers = numbers_for(env, 1000, seed=1)
        record = play_turns(env, numbers)
        assert len(record) > 3
        assert play_turns(twin, numbers) == record
        assert play_turns(kept, numbers) == record
        assert freeze(env.reset()) == freeze(twin.reset()) and freeze(env.state()) == freeze(twin.state())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_copy_of_batch(module, params, way, mode):
    env = module.vector_env(num_envs=3, autoreset_mode=mode, copy=False, **params)
    numbers = numbers_for(env, num_envs=3)
    env.reset(seed=3)
    for cut in (6, 25):  # in the middle and, for most, right at the end of an episode
        play_batch(env, numbers[:cut])
        twin, kept = WAYS[way](env), WAYS[way](env)
        assert (twin.num_envs, twin.autoreset_mode, twin.copy) == (3, env.autoreset_mode, False)
        record = play_batch(env, numbers)
        assert play_batch(twin, numbers) == record
        assert play_batch(kept, numbers) == record


def test_copies_before_the_first_reset(module):
    for way in WAYS.values():
        twin = way(module.parallel_env(max_cycles=3))
        with pytest.raises(RuntimeError, match="reset"):
            twin.step({})
        twin.reset(seed=1), way(module.env()).reset(seed=1), way(module.vector_env()).reset(seed=1)
        assert twin.max_cycles == 3


def test_snapshot_of_parallel(module, params):
    env, other = module.parallel_env(**params), module.parallel_env(**params)
    numbers = numbers_for(env)
    env.reset(seed=3), other.reset(seed=4)
    record = []
    for cut in (0, 3, 7, 12):
        snapshot, agents, state = env.snapshot(), env.agents, env.state()
        kept = freeze(snapshot)
        record.append(play(env, numbers[:cut]))
        assert freeze(snapshot) == kept  # nothing that happens later reaches into it
        for again in (env, other):
            again.restore(snapshot)
            assert again.agents == agents and freeze(again.state()) == freeze(state)
            assert freeze(again.snapshot()) == kept
            assert play(again, numbers[:cut]) == record[-1]


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_snapshot_of_batch(module, params, mode):
    env, other = (module.vector_env(num_envs=3, autoreset_mode=mode, **params) for _ in range(2))
    numbers = numbers_for(env, num_envs=3)
    env.reset(seed=3)
    for cut in (4, 21, 9):
        play_batch(env, numbers[:cut])
        file = io.BytesIO()  # a dict of arrays, as np.savez takes it
        np.savez(file, **env.snapshot())
        file.seek(0)
        record = play_batch(env, numbers)
        with np.load(file) as snapshot:
            for again in (other, env):
                again.restore(snapshot)
                assert play_batch(again, numbers) == record


@pytest.mark.simultaneous
def test_snapshot_of_a_finished_world(module):
    env = module.vector_env(num_envs=2, autoreset_mode="disabled", max_cycles=3)
    env.reset(seed=1)
    play_batch(env, numbers_for(env, 3, num_envs=2))
    other = module.vector_env(num_envs=2, autoreset_mode="disabled", max_cycles=3)
    other.restore(env.snapshot())
    with pytest.raises(RuntimeError, match="2 worlds"):
        other.step(choose(other, numbers_for(other, 1, num_envs=2)[0]))
    assert freeze(other.reset()) == freeze(env.reset())


# Autoreset, partial resets and streams --------------------------------------------------------------------------


def episodes(module, params, mode, worlds=4, count=3):
    """By world, the first episodes: their first observation, then all that each step said of the world.

    Half of the worlds are reset early, so that episodes end at different steps. What agents do depends on world,
    episode and time in it alone.
    """
    env = module.vector_env(num_envs=worlds, autoreset_mode=mode, **params)
    numbers = np.random.default_rng(0).random((worlds, 2 * count + 2, LENGTH, len(env.possible_agents), 8))
    done, time = np.zeros((2, worlds), int)
    result = [[] for _ in range(worlds)]

    def begin(observations, mask):
        for w in np.flatnonzero(mask):
            time[w] = 0
            result[w].append([freeze({agent: o[w] for agent, o in observations.items()})])

    begin(env.reset(seed=5)[0], np.ones(worlds, bool))
    early = np.arange(worlds) % 2 == 1
    waiting = np.zeros(worlds, bool)
    for step in range(count * LENGTH):
        if step == 3:
            done[early] += 1
            begin(env.reset(options={"reset_mask": early})[0], early)
        if mode == "disabled" and waiting.any():
            begin(env.reset(options={"reset_mask": waiting})[0], waiting)
            waiting[:] = False
        row = np.stack([numbers[w, done[w], time[w]] for w in range(worlds)])
        *said, infos = env.step(choose(env, row))
        ended = np.all([said[2][a] | said[3][a] for a in env.possible_agents], axis=0)
        if mode == "same_step":
            np.testing.assert_array_equal(infos.get("_final_obs", np.zeros(worlds, bool)), ended)
        for w in np.flatnonzero(~waiting):
            last = [infos["final_obs"], *said[1:]] if mode == "same_step" and ended[w] else said
            of_agents = {agent: infos[agent] for agent in env.possible_agents}
            of_world = freeze({a: ([part[a][w] for part in last], {k: v[w] for k, v in of_agents[a].items()})
                               for a in env.possible_agents})  # fmt: skip
            result[w][-1].append(of_world)
            time[w] += 1
        done += ended
        begin(said[0], ended if mode == "same_step" else waiting & (mode == "next_step"))
        waiting = ended & (mode != "same_step")
        if done.min() > count:
            break
    return [world[: count + 1] for world in result]


@pytest.mark.simultaneous
def test_autoreset_modes_agree(module, params):
    same, following, disabled = (episodes(module, params, m) for m in ("same_step", "next_step", "disabled"))
    assert [len(episode) for episode in same[1][:2]] != [len(episode) for episode in same[0][:2]]
    assert same == following
    assert same == disabled


@pytest.mark.simultaneous
def test_partial_reset_leaves_the_others_alone(module, params):
    env = module.vector_env(num_envs=5, **params)
    numbers = numbers_for(env, 7 + 9, num_envs=5)
    mask = np.array([False, True, False, True, False])
    env.reset(seed=3)
    play_batch(env, numbers[:6])
    twin = copy.deepcopy(env)
    for seed in (None, 9, [0, 1, 2, 3, 4]):
        before = env.snapshot()
        observations, infos = env.reset(seed=seed, options={"reset_mask": mask})
        after = env.snapshot()
        for name, array in before.items():
            if array.ndim:
                np.testing.assert_array_equal(array[~mask], after[name][~mask], err_msg=name)
        assert (after["steps"][mask] == 0).all() and (before["steps"][~mask] > 0).all()
        for agent, array in observations.items():
            np.testing.assert_array_equal(array[~mask], twin.state()[~mask][:, _columns(env, agent)])
            assert (infos[agent]["episode_length"][mask] == 0).all()
            assert (infos[agent]["episode_length"][~mask] > 0).all()
    for row in numbers[7:]:
        theirs, ours = (e.step(choose(e, row)) for e in (twin, env))
        for agent in env.possible_agents:
            assert freeze([p[agent][~mask] for p in theirs[:4]]) == freeze([p[agent][~mask] for p in ours[:4]])
    single = module.parallel_env(**params)  # a list of seeds with a mask: those worlds have the single's stream
    env.reset(seed=[0, 77, 2, 3, 4], options={"reset_mask": mask}), single.reset(seed=77)
    assert freeze(env.state()[1]) == freeze(single.state())


def _columns(env, agent):
    """The part of `state()` that is the agent's observation: all of them stand there in order."""
    sizes = [env.observation_space(a).shape[0] for a in env.possible_agents]
    i = env.possible_agents.index(agent)
    return slice(sum(sizes[:i]), sum(sizes[: i + 1]))


def test_no_seed_goes_on_with_the_stream(module, params):
    env, other = (module.parallel_env(**params) for _ in range(2))
    for e in (env, other):
        e.reset(seed=3)
    first = env.state()
    starts = [first.tobytes()]
    for _ in range(20):
        assert freeze(env.reset()) == freeze(other.reset())
        starts.append(env.state().tobytes())
    assert len(set(starts)) > 15  # a small game may begin alike by chance
    env.reset(seed=3)
    assert freeze(env.state()) == freeze(first)


def test_without_any_seed_no_two_are_the_same(module):
    envs = [module.parallel_env() for _ in range(3)]
    batch = module.vector_env(num_envs=3)
    for e in (*envs, batch):
        e.reset()
    assert len({e.state().tobytes() for e in envs} | {row.tobytes() for row in batch.state()}) == 6
