"""Public bugs of packages like this one, each of which must not happen here. (Those of drawing are in test_windows.py
and test_rendering.py, whole-episode determinism in test_determinism.py, numbers near the float limits of single rules
in test_tag_rules.py.)"""

import copy
import gc
import inspect
import pickle
import random
import tracemalloc

import numpy as np
import pytest
from conftest import choose, freeze

from mpe_ext import simple_tag_while_c_v0 as tag

FACES = ("parallel_env", "env", "raw_env", "vector_env")


def numbers(env, seed=0):
    worlds = (env.num_envs,) if hasattr(env, "num_envs") else ()
    return np.random.default_rng(seed).random((*worlds, len(env.possible_agents), 8))


def actions_of(env, seed=0):
    return choose(env, numbers(env, seed))


def play_to_the_end(env, seed=0):
    """(agents before the step, what the step returned), by step."""
    steps = []
    while env.agents:
        steps.append((list(env.agents), env.step(actions_of(env, seed + len(steps)))))
    return steps


def walk(value):
    """All objects inside nested dicts, lists and tuples, the containers included."""
    yield value
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from walk(part)


# What environments share ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
def test_metadata_belongs_to_one_environment(module, face):
    one, other = (getattr(module, face)() for _ in range(2))
    expected = copy.deepcopy(other.metadata)
    mine = {id(part) for part in walk(one.metadata) if isinstance(part, dict | list)}
    assert not mine & {id(part) for part in walk(other.metadata)}
    one.metadata["render_fps"] = 1
    one.metadata["own"] = True
    one.metadata.get("render_modes", []).clear()
    assert other.metadata == expected == getattr(module, face)().metadata


@pytest.mark.parametrize("face", FACES)
def test_lists_of_agents_belong_to_one_environment(module, face):
    one, other = (getattr(module, face)() for _ in range(2))
    one.reset(seed=1), other.reset(seed=1)
    expected = list(other.possible_agents)
    one.possible_agents.clear()
    if face != "vector_env":
        one.agents.clear()
        assert other.agents == expected
    assert other.possible_agents == expected == getattr(module, face)().possible_agents


def test_changing_the_list_of_agents_leaves_the_possible_ones(module):
    for face in FACES[:3]:
        env = getattr(module, face)()
        env.reset(seed=1)
        expected = list(env.possible_agents)
        env.agents.remove(expected[-1])
        assert env.possible_agents == expected
        env.reset(seed=1)
        assert env.agents == expected


def test_two_environments_side_by_side_do_not_meet(module, params):
    alone, one, other = (module.parallel_env(**params) for _ in range(3))
    alone.reset(seed=3), one.reset(seed=3), other.reset(seed=4)
    mixed = []
    while one.agents:
        mixed.append(one.step(actions_of(one, len(mixed))))
        if not other.agents:
            other.reset()
        other.step(actions_of(other, 77))
    assert freeze(mixed) == freeze([step for _, step in play_to_the_end(alone)])


# Copies and pickles -----------------------------------------------------------------------------------------------

WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("face", FACES)
def test_copies_know_where_they_were(module, params, way, face):
    """State, stream, agents, time limit and constructor arguments: whatever a copy could forget."""
    env = getattr(module, face)(**params)
    env.reset(seed=8)
    env.max_cycles = 17
    for step in range(3):
        actions = actions_of(env, step)
        if face in ("parallel_env", "vector_env"):
            env.step(actions)
        else:
            agent = env.agent_selection
            env.step(None if env.terminations[agent] or env.truncations[agent] else actions[agent])
    twin = WAYS[way](env)
    assert type(twin) is type(env) and twin.max_cycles == 17
    assert twin.game.arguments() == env.game.arguments() and twin.game is not env.game
    assert twin.metadata == env.metadata and twin.metadata is not env.metadata
    assert freeze(twin.state()) == freeze(env.state())
    assert getattr(twin, "agents", None) == getattr(env, "agents", None)
    for agent in env.possible_agents:
        assert twin.action_space(agent) == env.action_space(agent)
        assert twin.observation_space(agent) == env.observation_space(agent)
    assert freeze(
        twin.reset()[0] if face in ("parallel_env", "vector_env") else (twin.reset(), twin.state())
    ) == freeze(env.reset()[0] if face in ("parallel_env", "vector_env") else (env.reset(), env.state()))


def test_a_copy_of_a_finished_episode_is_finished(module):
    for way in WAYS.values():
        env = module.parallel_env(max_cycles=2)
        env.reset(seed=1)
        play_to_the_end(env)
        twin = way(env)
        assert twin.agents == [] and twin.step({}) == ({}, {}, {}, {}, {})
        with pytest.raises(RuntimeError, match="over"):
            twin.step(actions_of(env) | {twin.possible_agents[0]: 0})


def test_copies_keep_the_render_mode_and_the_way_of_batching(module):
    for way in WAYS.values():
        assert way(module.parallel_env(render_mode="rgb_array")).render_mode == "rgb_array"
        assert way(module.env(render_mode="rgb_array")).render_mode == "rgb_array"
        batch = way(module.vector_env(3, autoreset_mode="next_step", copy=False))
        assert (batch.num_envs, batch.autoreset_mode.name, batch.copy) == (3, "NEXT_STEP", False)


def test_the_number_of_threads_is_that_of_the_machine_where_it_is_unpickled(module, monkeypatch):
    pickled = pickle.dumps(module.vector_env(num_envs=3)), pickle.dumps(module.vector_env(num_envs=3, num_threads=5))
    monkeypatch.setattr("mpe_ext.engine.threads.available_cpus", lambda: 7)
    assert [pickle.loads(p)._threads for p in pickled] == [7, 5]


@pytest.mark.parametrize("face", FACES)
def test_constructors_pickle_and_say_what_they_take(module, face):
    """Workers of other processes are handed a constructor, not an environment."""
    make = getattr(module, face)
    assert pickle.loads(pickle.dumps(make)) is make
    signature = inspect.signature(make)
    for name, parameter in signature.parameters.items():
        assert parameter.default is not inspect.Parameter.empty, name
    assert "max_cycles" in signature.parameters


# Numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.simultaneous
@pytest.mark.parametrize("size", [0.0, 0.7, 1e-308, 1e150, 1e308])
def test_coincident_and_huge_states_never_give_nan(module, params, size):
    """All bodies in one place, near and at the limits of floats, played to the end of the episode."""
    worlds = 4
    env = module.vector_env(num_envs=worlds, autoreset_mode="disabled", **params)
    env.reset(seed=2)
    signs = np.array([[1, 1], [-1, 1], [1, -1], [0, 0]]).reshape(worlds, 1, 2)
    snapshot = env.snapshot()
    for name in ("pos", "food", "vel"):
        if name in snapshot:
            snapshot[name][...] = size * signs
    env.restore(snapshot)
    assert not np.isnan(env.state()).any()
    for step in range(env.max_cycles):
        observations, rewards, *_, infos = env.step(actions_of(env, step))
        assert not any(np.isnan(array).any() for part in (observations, rewards) for array in part.values())
        assert not any(np.isnan(array).any() for a in env.possible_agents for array in infos[a].values())
        assert not any(np.isnan(v).any() for v in env.snapshot().values() if v.dtype.kind == "f")
    observations, _ = env.reset(seed=2)  # and nothing of it is left afterwards
    fresh, _ = module.vector_env(num_envs=worlds, **params).reset(seed=2)
    assert freeze(observations) == freeze(fresh)


@pytest.mark.simultaneous
def test_extreme_parameters_never_give_nan(module):
    huge = {
        f"{kind}_{what}": 1e300 for kind in ("adversary", "controller", "collector") for what in ("accel", "max_speed")
    }
    tiny = {f"{kind}_size": 1e-300 for kind in ("adversary", "controller", "collector", "food")}
    shaping = {
        "adversary_distance_shaping": 1e300, "controller_distance_shaping": 1e300,
        "controller_comm_shaping": 1e300, "collector_comm_shaping": 1e300,
    }  # fmt: skip
    for params in (huge, tiny, huge | tiny, shaping, {"comm_radius": 1e-300}, {"detect_radius": 1e300, "num_J": 2}):
        env = module.vector_env(num_envs=3, **params)
        observations, _ = env.reset(seed=1)
        for step in range(30):
            assert not any(np.isnan(array).any() for array in observations.values()), params
            observations, rewards, *_ = env.step(actions_of(env, step))
            assert not any(np.isnan(array).any() for array in rewards.values()), params


@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int32, np.int64, np.uint64, "0-d", "0-d uint8", "bool"])
def test_kinds_of_one_action(module, kind):
    """A 0-d array, say from a network's argmax, is the same action as the int; none is cast to something else."""
    convert = {
        "0-d": np.asarray,
        "0-d uint8": lambda a: np.asarray(a, np.uint8),
        "bool": lambda a: bool(a) if a in (0, 1) else a,
    }.get(kind, kind)
    env, twin, turns = module.parallel_env(), module.parallel_env(), module.env()
    for e in (env, twin, turns):
        e.reset(seed=5)
    for step in range(10):
        actions = {agent: int(action) for agent, action in actions_of(env, step).items()}
        acting = [agent for agent, acts in zip(env.possible_agents, env.acting, strict=True) if acts]
        assert freeze(env.step({a: convert(x) for a, x in actions.items()})) == freeze(twin.step(actions))
        for agent in acting:
            turns.step(convert(actions[agent]))
        assert freeze(turns.state()) == freeze(env.state())
        if not env.agents:
            for e in (env, twin, turns):
                e.reset()


@pytest.mark.simultaneous
@pytest.mark.parametrize("kind", [list, tuple, np.float32, np.float64, np.float16, np.int64])
def test_kinds_of_one_continuous_action(module, kind):
    env, twin = (module.parallel_env(continuous_actions=True) for _ in range(2))
    env.reset(seed=5), twin.reset(seed=5)
    for step in range(10):
        actions = {agent: (np.asarray(a) * 4).round() / 4 for agent, a in actions_of(env, step).items()}
        if kind is np.int64:
            actions = {agent: a.round() for agent, a in actions.items()}
        given = {agent: kind(a.tolist()) if kind in (list, tuple) else a.astype(kind) for agent, a in actions.items()}
        assert freeze(env.step(given)) == freeze(twin.step(actions))


@pytest.mark.simultaneous
def test_continuous_actions_beyond_the_box_are_clipped(module):
    env, twin = (module.parallel_env(continuous_actions=True) for _ in range(2))
    env.reset(seed=5), twin.reset(seed=5)
    for wild, tame in (
        ([7, -3, np.inf, 0.1, 0.5], [1, 0, 1, 0.1, 0.5]),
        ([0.3, -np.inf, 1, 0, -1e300], [0.3, 0, 1, 0, 0]),
    ):
        results = [e.step(dict.fromkeys(e.agents, np.array(actions))) for e, actions in ((env, wild), (twin, tame))]
        assert freeze(results[0]) == freeze(results[1])


# Ends of episodes -------------------------------------------------------------------------------------------------


@pytest.mark.simultaneous
def test_the_time_limit_truncates_and_terminates_nobody(module, params):
    env = module.parallel_env(**params)
    env.reset(seed=3)
    steps = play_to_the_end(env)
    before, (_, _, terminated, truncated, infos) = steps[-1]
    for agent in before:
        assert terminated[agent] != truncated[agent]
    for agents, (observations, rewards, terminated, truncated, infos) in steps[:-1]:
        assert not any(truncated.values())
        for part in (observations, rewards, terminated, truncated, infos):
            assert list(part) == agents  # also of those that leave in this step
    if params.get("strict_mode") is not True:
        assert all(not any(step[2].values()) for _, step in steps)
        assert all(steps[-1][1][3].values()) and len(steps) == env.max_cycles
    for part in steps[-1][1][1:4]:
        assert all(type(value) in (float, bool) for value in part.values())


def test_agents_are_those_that_live(module, params):
    env = module.parallel_env(**params)
    assert env.agents == [] and env.num_agents == 0
    env.reset(seed=3)
    assert env.agents == env.possible_agents and env.agents is not env.possible_agents
    steps = play_to_the_end(env)
    for (before, (_, _, terminated, truncated, _)), (after, _) in zip(steps, steps[1:], strict=False):
        assert after == [a for a in before if not (terminated[a] or truncated[a])]
    assert env.agents == [] and env.num_agents == 0
    assert env.step({}) == ({}, {}, {}, {}, {})
    assert env.agents == []
    env.reset()
    assert env.agents == env.possible_agents


def test_agents_of_the_aec_face(module, params):
    env = module.env(**params)
    assert env.agents == [] and env.num_agents == 0
    env.reset(seed=3)
    assert env.agents == env.possible_agents
    for agent in env.agent_iter():
        assert agent in env.agents
        gone = env.terminations[agent] or env.truncations[agent]
        env.step(None if gone else actions_of(env, 1)[agent])
        assert not gone or agent not in env.agents
    assert env.agents == [] and env.num_agents == 0
    with pytest.raises(RuntimeError, match="over"):
        env.last()
    env.reset()
    assert env.agents == env.possible_agents


@pytest.mark.simultaneous
def test_all_collectors_down_do_not_end_the_game_of_the_others(module):
    env = module.parallel_env(strict_mode=True, comm_radius=1e-6)
    env.reset(seed=1)
    env.step(actions_of(env))
    assert env.agents == ["adversary_0", "controller_0"]
    steps = play_to_the_end(env)
    assert len(steps) == 24 and steps[-1][1][3] == {"adversary_0": True, "controller_0": True}


# Buffers ----------------------------------------------------------------------------------------------------------


def test_nothing_that_was_returned_changes_later(module, params):
    """Neither by the steps that follow, nor because two returned things are one."""
    env = module.parallel_env(**params)
    kept = [(env.reset(seed=1), env.state())]
    record = [freeze(kept[0])]
    for step in range(40):
        if not env.agents:
            kept.append((env.reset(), env.state()))
        else:
            kept.append((env.step(actions_of(env, step)), env.state()))
        record.append(freeze(kept[-1]))
    assert [freeze(result) for result in kept] == record
    arrays = [a for a in walk(kept[-1]) if isinstance(a, np.ndarray)]
    arrays += [a for a in walk(kept[-2]) if isinstance(a, np.ndarray)]
    for i, one in enumerate(arrays):
        assert one.flags.writeable and one.flags.owndata
        assert not any(np.shares_memory(one, other) for other in arrays[:i])
    mutable = [id(part) for result in kept for part in walk(result) if isinstance(part, dict | np.ndarray)]
    assert len(set(mutable)) == len(mutable)


def test_what_the_caller_does_to_results_changes_nothing(module):
    env, twin = module.parallel_env(), module.parallel_env()
    env.reset(seed=1), twin.reset(seed=1)
    for step in range(10):
        result, state = env.step(actions_of(env, step)), env.state()
        assert freeze((result, state)) == freeze((twin.step(actions_of(twin, step)), twin.state()))
        for part in [*walk(result), state]:
            if isinstance(part, np.ndarray):
                part[...] = 9
            elif isinstance(part, dict):
                part.clear()


@pytest.mark.simultaneous
def test_observations_of_the_aec_face_are_not_reused(module):
    env = module.env()
    env.reset(seed=1)
    kept, record = [], []
    for step, agent in enumerate(env.agent_iter(40)):
        kept.append((env.last()[0], env.observe(agent)))
        record.append(freeze(kept[-1]))
        env.step(actions_of(env, step)[agent])
    assert [freeze(pair) for pair in kept] == record


@pytest.mark.simultaneous
@pytest.mark.parametrize("continuous", [False, True])
def test_one_buffer_for_all_actions_of_a_cycle(module, continuous):
    """A caller of the AEC face may write every agent's action into the same array."""
    env, parallel = module.env(continuous_actions=continuous), module.parallel_env(continuous_actions=continuous)
    env.reset(seed=6), parallel.reset(seed=6)
    first = env.possible_agents[0]
    buffer = np.zeros(env.action_space(first).shape, env.action_space(first).dtype)
    for step in range(10):
        actions = actions_of(parallel, step)
        for agent in parallel.possible_agents:
            buffer[...] = actions[agent]
            env.step(buffer)
            buffer[...] = np.nan if continuous else 99  # was copied, so it does not matter any more
        parallel.step(actions)
        assert freeze(env.state()) == freeze(parallel.state())


# Resources --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
def test_memory_does_not_grow_at_resets(module, face):
    env = getattr(module, face)(max_cycles=2)

    def episodes(count):
        for seed in range(count):
            env.reset(seed=seed)
            if face in ("parallel_env", "vector_env"):
                env.step(actions)
            else:
                for agent in env.agent_iter():
                    _, _, terminated, truncated, _ = env.last()
                    env.step(None if terminated or truncated else actions[agent])

    env.reset(seed=0)
    actions = actions_of(env)
    episodes(50)
    gc.collect()
    objects = len(gc.get_objects())
    tracemalloc.start()
    try:
        episodes(20)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        episodes(400)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4000  # ten bytes an episode would be seen
    assert len(gc.get_objects()) - objects < 100


@pytest.mark.parametrize("face", FACES)
def test_global_random_state_is_untouched(module, face):
    """By making, resetting (from the system's entropy, too), stepping, copying and sampling of spaces."""
    random.seed(3), np.random.seed(3)
    before = random.getstate(), freeze(list(np.random.get_state()[1:]))
    drawing = {"strict_mode": "random", "comm_radius": 0.15} if "tag" in module.__name__ else {}
    env = getattr(module, face)(**drawing)
    for seed in (None, 4, None):
        env.reset(seed=seed)
        for step in range(8):
            actions = actions_of(env, step)
            if face in ("parallel_env", "vector_env"):
                env.step(actions)
            elif env.agents:
                over = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
                env.step(None if over else actions[env.agent_selection])
        copy.deepcopy(env)
        for agent in env.possible_agents:
            env.action_space(agent).sample(), env.observation_space(agent).sample()
    assert before == (random.getstate(), freeze(list(np.random.get_state()[1:])))
    random.seed(4), np.random.seed(4)
    twin = getattr(module, face)()
    twin.reset()
    env = getattr(module, face)()
    random.seed(4), np.random.seed(4)
    env.reset()
    assert freeze(env.state()) != freeze(twin.state())  # nor is it read


def test_no_new_space_at_each_call(module):
    for face in FACES[:3]:
        env = getattr(module, face)()
        for _ in range(2):
            env.reset()
            for agent in env.possible_agents:
                assert env.action_space(agent) is env.action_space(agent)
                assert env.observation_space(agent) is env.observation_space(agent)
        assert env.state_space is env.state_space


def test_seeding_a_space_seeds_no_other(module):
    """The spaces of agents are objects of their own, so that sampled actions are not all the same."""
    env = module.parallel_env(**{"num_collector_each": 8} if "tag" in module.__name__ else {})
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    one, other = env.possible_agents[-2:]
    first = [env.action_space(one).sample() for _ in range(20)]
    assert first == [env.action_space(other).sample() for _ in range(20)]


# Rewards ----------------------------------------------------------------------------------------------------------


def test_rewards_speak_of_the_state_that_comes_with_them():
    """All that rewards are made of stands in the observations and infos of the same step (MPE2 issue 61: rewards that
    were decided after the state they speak of had changed were never paid)."""
    env = tag.vector_env(num_envs=60, comm_radius=0.3, max_cycles=100)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    seen = np.zeros(3, int)
    for step in range(40):
        if step % 10 == 5:  # once more close together, and chased
            fields = env.snapshot()
            fields["pos"][:, 1:] = fields["pos"][:, :1] + rng.uniform(-0.15, 0.15, (60, 3, 2))
            env.restore(fields)
        observations, rewards, *_, infos = env.step(actions_of(env, step))
        controller = observations["controller_0"].astype(float)
        hit = np.hypot(*controller[:, 4:6].T) < 0.125
        z = np.abs(controller[:, 2:4])
        bounds = np.where(z < 0.9, 0, np.where(z < 1, (z - 0.9) * 10, np.exp(2 * z - 2).clip(max=10))).sum(axis=1)
        lost = np.stack([np.hypot(*controller[:, 6 + 2 * k : 8 + 2 * k].T) >= 0.3 for k in range(2)])
        found = np.stack([infos[f"collector_0_{k}"]["collected"] for k in range(2)])
        expected = {
            "adversary_0": 20 * hit,
            "controller_0": 2 * found.sum(axis=0) - 20 * hit - bounds - lost.sum(axis=0),
            "collector_0_0": 5 * found[0] - lost[0],
            "collector_0_1": 5 * found[1] - lost[1],
        }
        for agent, reward in expected.items():
            np.testing.assert_allclose(rewards[agent], reward, rtol=0, atol=1e-5)
        seen += [hit.sum(), lost.sum(), found.sum()]
    assert (seen > 30).all(), seen


def test_rewards_and_infos_are_everyones_own():
    """overcooked_ai issue 131: they came in another order than the agents."""
    env = tag.vector_env(num_controller=2)
    env.reset(seed=3)
    fields = env.snapshot()
    fields["pos"][0] = [[9, 9], [0, 0], [0.5, 0.5], [0.1, 0], [-0.1, 0], [0.5, 0.65], [0.5, 5]]
    fields["vel"][:] = 0
    fields["food"][:] = [0.5, 0.65]
    env.restore(fields)
    _, rewards, *_, infos = env.step({agent: np.zeros(1, int) for agent in env.possible_agents})
    assert [rewards[agent].item() for agent in env.possible_agents] == [0, 0, 2 - 1, 0, 0, 5, -1]
    assert [infos[agent]["collected"].item() for agent in env.possible_agents[3:]] == [0, 0, 1, 0]
    assert [infos[agent]["lost"].item() for agent in env.possible_agents[1:]] == [0, 1, 0, 0, 0, 1]


def test_nobody_collides_with_itself():
    """openai/multiagent-particle-envs issue 67: a constant penalty for touching oneself."""
    env = tag.vector_env(num_adversaries=3, num_controller=2)
    env.reset(seed=0)
    fields = env.snapshot()
    fields["pos"][0, :5] = [[5, 5], [6, 6], [7, 7], [-5, -5], [-6, -6]]
    env.restore(fields)
    *_, infos = env.step({agent: np.zeros(1, int) for agent in env.possible_agents})
    assert not any(infos[agent]["hits"].any() for agent in env.possible_agents[:5])


def test_discrete_and_continuous_pushes_go_the_same_way():
    """PettingZoo issue 1143: [., left, right, down, up] moved the other way than the discrete actions."""
    for action in range(5):
        discrete, continuous = tag.parallel_env(), tag.parallel_env(continuous_actions=True)
        discrete.reset(seed=1), continuous.reset(seed=1)
        for _ in range(5):
            discrete.step(dict.fromkeys(discrete.agents, action))
            continuous.step(dict.fromkeys(continuous.agents, np.eye(5, dtype=np.float32)[action]))
        assert freeze(discrete.state()) == freeze(continuous.state())
