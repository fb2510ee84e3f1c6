"""Turn-based games, whatever their rules: who acts, how an episode ends, and that all ways of running one agree."""

import copy
import importlib
import pickle

import numpy as np
import pytest
from conftest import CONFIGURATIONS, freeze, is_turn_based
from gymnasium import spaces

from mpe_ext.all_modules import MODULES

TURN_BASED = [name for name in MODULES if is_turn_based(name)]
CASES = [(name, label) for name in TURN_BASED for label in CONFIGURATIONS[name]]


@pytest.fixture(params=CASES, ids=[f"{name}-{label}" for name, label in CASES])
def case(request):
    """A module and one of its configurations."""
    name, label = request.param
    return importlib.import_module(MODULES[name]), CONFIGURATIONS[name][label]


@pytest.fixture(params=TURN_BASED)
def turns(request):
    """The module of a turn-based game."""
    return importlib.import_module(MODULES[request.param])


def legal(env, agent, number):
    """An action made of a number in [0, 1)."""
    return int(number * env.action_space(agent).n)


def episode(env, numbers, seed=None):
    """Plays an AEC episode; what each mover saw, and the cumulative rewards at the end."""
    env.reset(seed=seed)
    record = []
    for number in numbers:
        agent = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        record.append((agent, freeze((observation, reward, info)), terminated, truncated))
        if terminated or truncated:
            break
        env.step(legal(env, agent, number))
    return record


# Who acts -------------------------------------------------------------------------------------------------------


def test_agents_alternate_and_both_end_at_once(case):
    module, params = case
    env = module.env(**params)
    draw = np.random.default_rng(1)
    for seed in range(30):
        env.reset(seed=seed)
        assert env.agents == env.possible_agents
        before = None
        while True:
            agent = env.agent_selection
            assert agent != before
            _, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                assert not env.acting.any()
                break
            assert env.acting.tolist() == [a == agent for a in env.possible_agents]
            env.step(legal(env, agent, draw.random()))
            before = agent if not env._worlds._shared.done[0] else None
            assert len(set(env.terminations.values())) == len(set(env.truncations.values())) == 1


def test_the_end_is_told_to_each_agent_once(turns):
    env = turns.env()
    env.reset(seed=3)
    earned = dict.fromkeys(env.possible_agents, 0.0)
    told = []
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        earned[agent] += reward
        told += [agent] if terminated or truncated else []
        env.step(None if terminated or truncated else legal(env, agent, 0.5))
    assert sorted(told) == sorted(env.possible_agents) and env.agents == []
    # What `last` told adds up to the return, which both agents share here.
    assert earned == dict.fromkeys(env.possible_agents, float(env._worlds._shared.episode_return[0, 0]))


def test_after_the_end_only_none_is_an_action(turns):
    env = turns.env()
    episode(env, [0.99] * 200, seed=1)
    agent = env.agent_selection
    before = freeze(env.snapshot())
    with pytest.raises(ValueError, match=rf"{agent}.* is 1, .*None"):
        env.step(1)
    assert freeze(env.snapshot()) == before
    for _ in env.possible_agents:
        env.step(None)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(None)
    with pytest.raises(RuntimeError, match="reset"):
        env.last()
    observations = [env.observe(a) for a in env.possible_agents]  # still there for whoever looks back
    assert all(env.observation_space(a).contains(o) for a, o in zip(env.possible_agents, observations, strict=True))


def test_wrong_actions_change_nothing(turns):
    for env in (turns.env(), turns.parallel_env(), turns.vector_env(num_envs=3)):
        env.reset(seed=1)
        agent = env.possible_agents[int(np.argmax(env.snapshot()["acting"][0]))]
        n = env.action_space(agent).n
        before = freeze(env.snapshot())
        for wrong in (n, -1, 10**30, 1.5, "a", None, [0, 1]):
            with pytest.raises((ValueError, TypeError)) as caught:
                if hasattr(env, "num_envs"):
                    full = {a: np.zeros(3, np.int64) for a in env.possible_agents}
                    env.step(full | {agent: [wrong] * 3})
                else:
                    env.step(wrong if hasattr(env, "agent_selection") else {agent: wrong})
            assert agent in str(caught.value)
        with pytest.raises(ValueError, match=rf"{agent}.*{n}.*0 \.\. {n - 1}"):
            if hasattr(env, "num_envs"):
                env.step({a: np.full(3, n) for a in env.possible_agents})
            else:
                env.step(n if hasattr(env, "agent_selection") else {agent: n})
        assert freeze(env.snapshot()) == before


def test_wrong_names_and_no_dicts_change_nothing(turns):
    for env in (turns.parallel_env(), turns.vector_env(num_envs=3)):
        env.reset(seed=1)
        before = freeze(env.snapshot())
        ones = {a: np.zeros(3, np.int64) if hasattr(env, "num_envs") else 0 for a in env.possible_agents}
        with pytest.raises(KeyError, match="nobody_0"):
            env.step(ones | {"nobody_0": ones[env.possible_agents[0]]})
        with pytest.raises(KeyError, match="no action for"):
            env.step({})
        for wrong in (None, 3, [], "chef_0", np.zeros(2)):
            with pytest.raises(TypeError, match="actions must be a dict from agent to action"):
                env.step(wrong)
        assert freeze(env.snapshot()) == before


def test_before_reset(turns):
    env = turns.env()
    for call in (lambda: env.step(0), env.last, env.agent_iter, lambda: env.observe(env.possible_agents[0]), env.state):
        with pytest.raises(RuntimeError, match="reset"):
            call()


def test_the_idle_agents_action_is_ignored(turns):
    parallel = turns.parallel_env()
    parallel.reset(seed=2)
    mover = parallel.possible_agents[int(parallel.acting.argmax())]
    (idle,) = set(parallel.possible_agents) - {mover}
    twin = copy.deepcopy(parallel)
    with pytest.raises(KeyError, match=f"no action for '{mover}'"):
        parallel.step({idle: 0})
    assert freeze(parallel.step({mover: 1, idle: "anything"})) == freeze(twin.step({mover: 1}))
    if parallel.agents:
        assert parallel.acting.tolist() == [a != mover for a in parallel.possible_agents]


def test_a_batch_looks_at_movers_only(turns):
    one, other = (turns.vector_env(num_envs=64, autoreset_mode="same_step") for _ in range(2))
    draw = np.random.default_rng(3)
    infos, _ = one.reset(seed=4)[1], other.reset(seed=4)
    for _ in range(20):
        actions = {a: draw.integers(one.action_space(a).n, size=64) for a in one.possible_agents}
        noise = {
            a: np.where(infos["acting"][:, i], actions[a], 10**9 + draw.integers(9, size=64))
            for i, a in enumerate(one.possible_agents)
        }
        result = one.step(actions)
        assert freeze(result) == freeze(other.step(noise))
        infos = result[-1]
        assert (infos["acting"].sum(axis=1) == 1).all()  # also after a reset in the same step


# One set of rules -----------------------------------------------------------------------------------------------


def test_turns_equal_parallel_equal_batch(case):
    module, params = case
    draw = np.random.default_rng(5)
    for seed in range(10):
        numbers = draw.random(100)
        turns, parallel = module.env(**params), module.parallel_env(**params)
        batch = module.vector_env(num_envs=2, autoreset_mode="disabled", **params)
        turns.reset(seed=seed)
        seen, infos = parallel.reset(seed=seed)
        many, _ = batch.reset(seed=[seed, seed])
        for number in numbers:
            agent = turns.agent_selection
            for a in turns.possible_agents:
                assert freeze(turns.observe(a)) == freeze(seen[a])
                assert turns.infos[a] == infos[a]
                part = many[a]
                row = {k: v[1] for k, v in part.items()} if isinstance(part, dict) else part[1]
                assert freeze(row) == freeze(seen[a])
            assert freeze(turns.state()) == freeze(parallel.state()) == freeze(batch.state()[1])
            if not parallel.agents:
                break
            action = legal(turns, agent, number)
            turns.step(action)
            seen, rewards, terminations, truncations, infos = parallel.step({agent: action})
            many, its_rewards, *_ = batch.step({a: np.full(2, action) for a in turns.possible_agents})
            assert (turns.rewards, turns.terminations, turns.truncations) == (rewards, terminations, truncations)
            assert {a: r[0] for a, r in its_rewards.items()} == rewards
        assert not parallel.agents


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "snapshot"])
def test_copies_go_on_alike_from_anywhere(turns, way):
    for stop in range(14):
        env = turns.env()
        env.reset(seed=stop)
        for number in np.random.default_rng(stop).random(stop):
            if env.agents:
                _, _, terminated, truncated, _ = env.last()
                env.step(None if terminated or truncated else legal(env, env.agent_selection, number))
        if way == "snapshot":
            twin = turns.env()
            twin.restore(env.snapshot())
        else:
            twin = copy.deepcopy(env) if way == "deepcopy" else pickle.loads(pickle.dumps(env))
        for number in np.random.default_rng(99).random(30):
            assert twin.agents == env.agents
            if not env.agents:
                break
            assert twin.agent_selection == env.agent_selection
            assert freeze(twin.last()) == freeze(env.last())
            assert (twin.rewards, twin._cumulative_rewards) == (env.rewards, env._cumulative_rewards)
            _, _, terminated, truncated, _ = env.last()
            action = None if terminated or truncated else legal(env, env.agent_selection, number)
            env.step(action), twin.step(action)


def test_snapshots_that_do_not_fit_change_nothing(turns):
    env = turns.vector_env(num_envs=3)
    env.reset(seed=1)
    good = env.snapshot()
    before = freeze(good)
    for name in good:
        with pytest.raises(ValueError, match=name):
            env.restore({key: array for key, array in good.items() if key != name})
        if good[name].ndim:
            with pytest.raises(ValueError, match=rf"snapshot\['{name}'\]"):
                env.restore(good | {name: np.zeros((9, 9), "f2")})
        assert freeze(env.snapshot()) == before


def test_snapshots_of_other_faces_are_refused(turns):
    env, parallel = turns.env(), turns.parallel_env()
    env.reset(seed=1), parallel.reset(seed=1)
    with pytest.raises(ValueError, match="turns_selection"):
        env.restore(parallel.snapshot())
    with pytest.raises(ValueError, match="turns_selection"):
        parallel.restore(env.snapshot())


# Time limit, infos, forms of observations -----------------------------------------------------------------------


def test_the_outer_time_limit_truncates_without_reward(turns):
    env = turns.parallel_env(max_cycles=1)
    for seed in range(50):
        env.reset(seed=seed)
        mover = env.possible_agents[int(env.acting.argmax())]
        _, rewards, terminations, truncations, infos = env.step({mover: 0})
        assert env.agents == []
        if not any(terminations.values()):
            assert all(truncations.values())
            assert all(info["success"] == 0 for info in infos.values())
            break
    else:
        raise AssertionError("no game went on after its first move")


def test_infos_are_the_same_numbers_from_reset_on(case):
    module, params = case
    env = module.parallel_env(**params)
    _, infos = env.reset(seed=1)
    keys = {a: list(info) for a, info in infos.items()}
    draw = np.random.default_rng(1)
    for _ in range(40):
        if not env.agents:
            assert all(info["success"] in (0, 1) for info in infos.values())
            _, infos = env.reset()
        assert {a: list(info) for a, info in infos.items()} == keys
        assert all(type(value) in (int, float) for info in infos.values() for value in info.values())
        assert all(info["success"] == -1 for info in infos.values())
        mover = env.possible_agents[int(env.acting.argmax())]
        *_, infos = env.step({mover: legal(env, mover, draw.random())})


def test_flat_observations_hold_a_mask_of_ones(turns):
    plain, flat = turns.env(), turns.env(observation_format="flat")
    plain.reset(seed=1), flat.reset(seed=1)
    for agent in plain.possible_agents:
        space = flat.observation_space(agent)
        assert isinstance(space, spaces.Dict) and space["observation"] == plain.observation_space(agent)
        seen = flat.observe(agent)
        assert space.contains(seen) and seen["action_mask"].dtype == np.int8 and seen["action_mask"].all()
        assert freeze(seen["observation"]) == freeze(plain.observe(agent))
    batch = turns.vector_env(num_envs=4, observation_format="flat")
    batch.reset(seed=1)
    draw = np.random.default_rng(0)
    for _ in range(20):
        actions = {a: draw.integers(batch.action_space(a).n, size=4) for a in batch.possible_agents}
        observations, *_, infos = batch.step(actions)
        if "final_obs" in infos:
            assert infos["final_obs"][batch.possible_agents[0]]["action_mask"].shape[0] == 4
            break
    assert set(observations[batch.possible_agents[0]]) == {"observation", "action_mask"}


def test_final_observations_are_those_of_the_end(turns):
    batch = turns.vector_env(num_envs=32)
    by_hand = turns.vector_env(num_envs=32, autoreset_mode="disabled")
    batch.reset(seed=8), by_hand.reset(seed=8)
    draw = np.random.default_rng(2)
    ends = 0
    for _ in range(30):
        actions = {a: draw.integers(batch.action_space(a).n, size=32) for a in batch.possible_agents}
        *_, infos = batch.step(actions)
        seen, *_ = by_hand.step(actions)
        if "_final_obs" in infos:
            ended = infos["_final_obs"]
            ends += ended.sum()
            for agent in batch.possible_agents:
                assert freeze(infos["final_obs"][agent][ended]) == freeze(seen[agent][ended])
            by_hand.reset(options={"reset_mask": ended})
    assert ends > 32


def test_unknown_options_are_ignored_and_fixed_ones_hold_for_one_reset(turns):
    env = turns.vector_env(num_envs=4)
    free, _ = env.reset(seed=1)
    ignored, _ = env.reset(seed=1, options={"something": 3})
    assert freeze(free) == freeze(ignored)
    env.reset(seed=1, options={"split": "test"})
    env.reset(seed=1)
    assert freeze(env.snapshot()) == freeze((env.reset(seed=1), env.snapshot())[1])
    fresh = turns.vector_env(num_envs=4)
    fresh.reset(seed=1)
    assert freeze(env.snapshot()) == freeze(fresh.snapshot())


def test_no_sizes_are_lost_with_threads(turns):
    records = []
    for threads in (1, 2):
        env = turns.vector_env(num_envs=1024, num_threads=threads)
        env.reset(seed=1)
        draw = np.random.default_rng(0)
        plans = [{a: draw.integers(env.action_space(a).n, size=1024) for a in env.possible_agents} for _ in range(12)]
        records.append([freeze((env.step(plan), env.state())) for plan in plans])
    assert records[0] == records[1]
