"""The vector environment's own promises: autoreset, infos, views and copies, who acts. (That its numbers are right is
in test_determinism.py: they equal those of single environments.)"""

import gc
import weakref

import numpy as np
import pytest
from conftest import choose, freeze, row_of
from gymnasium.vector import AutoresetMode

WORLDS = 4
MODES = [mode.name.lower() for mode in AutoresetMode]


def make(module, seed=0, **arguments):
    env = module.vector_env(**{"num_envs": WORLDS} | arguments)
    env.reset(seed=seed)
    return env


def act(env, seed=0):
    return choose(env, np.random.default_rng(seed).random((env.num_envs, len(env.possible_agents), 8)))


def ends(result, agents):
    return np.all([result[2][a] | result[3][a] for a in agents], axis=0)


def arrays_of(value, path=()):
    """(path, array) of every array in nested dicts and tuples."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from arrays_of(part, (*path, key))
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from arrays_of(part, (*path, i))
    else:
        yield path, value


# What is returned -----------------------------------------------------------------------------------------------


def test_shapes_and_types(module, params):
    env = make(module, **params)
    agents = env.possible_agents
    assert agents == list(env.game.agents) == module.parallel_env(**params).possible_agents
    result = (*env.reset(seed=1), None)
    for step in range(30):
        observations, infos = (result[0], result[1]) if step == 0 else (result[0], result[4])
        assert list(observations) == agents
        for agent in agents:
            space = env.observation_space(agent)
            assert all(space.contains(row_of(observations[agent], w)) for w in range(WORLDS))
            for _, array in arrays_of(observations[agent]):
                assert array.shape[0] == WORLDS
            for key, values in infos[agent].items():
                assert values.shape == (WORLDS,) and values.dtype.kind in "iufb", key
            assert {"episode_return", "episode_length"} <= set(infos[agent])
        assert set(infos) - {"final_obs", "_final_obs"} == {*agents, "acting"}
        assert infos["acting"].shape == (WORLDS, len(agents)) and infos["acting"].dtype == bool
        assert env.state().shape == (WORLDS, *env.state_space.shape) and env.state().dtype == env.state_space.dtype
        if step:
            for part, kind in zip(result[1:4], (np.float64, bool, bool), strict=True):
                assert list(part) == agents
                assert all(array.shape == (WORLDS,) and array.dtype == kind for array in part.values())
        result = env.step(act(env, step))


def test_info_keys_never_change(module, params):
    env = make(module, autoreset_mode="next_step", **params)
    first = {name: list(part) for name, part in env.reset()[1].items() if name in env.possible_agents}
    single = module.parallel_env(**params)
    assert {agent: list(info) for agent, info in single.reset()[1].items()} == first
    for step in range(30):
        infos = env.step(act(env, step))[4]
        assert {name: list(infos[name]) for name in env.possible_agents} == first


def test_spaces_are_always_the_same_objects(module):
    env = make(module)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
    assert env.state_space is env.state_space
    own = [space for agent in env.possible_agents for space in (env.observation_space(agent), env.action_space(agent))]
    assert len(set(map(id, own))) == len(own), "agents share a space, so seeding one seeds the other"
    other = make(module)
    assert all(env.action_space(agent) is not other.action_space(agent) for agent in env.possible_agents)


def test_metadata(module):
    for mode in AutoresetMode:
        for given in (mode, mode.name.lower()):
            env = module.vector_env(autoreset_mode=given)
            assert env.metadata["autoreset_mode"] is env.autoreset_mode is mode
    assert module.vector_env().autoreset_mode is AutoresetMode.SAME_STEP
    assert env.metadata["name"] == module.parallel_env().metadata["name"]
    assert env.metadata["render_fps"] == module.parallel_env().metadata["render_fps"]


# Views and copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_copies_are_the_callers(module, mode):
    """What was returned neither changes later nor, changed by the caller, changes what happens."""
    env, twin = (make(module, autoreset_mode=mode, max_cycles=3) for _ in range(2))
    kept = [(env.reset(seed=4), env.state())]
    record = [freeze(kept[0])]
    twin.reset(seed=4)
    for step in range(8):
        if mode == "disabled" and env.snapshot()["done"].any():
            env.reset(), twin.reset()
        result = env.step(act(env, step)), env.state()
        expected = freeze((twin.step(act(twin, step)), twin.state()))
        assert freeze(result) == expected
        kept.append(result)
        record.append(freeze(result))
    assert [freeze(result) for result in kept] == record
    for _, array in arrays_of((*kept[-1], env.snapshot())):
        array[...] = 1
    env.reset(options={"reset_mask": np.zeros(WORLDS, bool)})
    if mode != "disabled" or not env.snapshot()["done"].any():
        assert freeze(env.step(act(env))) == freeze(twin.step(act(twin)))
    assert freeze(env.reset()) == freeze(twin.reset())


def test_no_two_returned_arrays_share_memory(module):
    """Of one call, too: writing into one agent's part must not change another's."""
    env = make(module, max_cycles=3)
    for step in range(4):
        parts = list(arrays_of((env.step(act(env, step)), env.state())))
        for i, (path, one) in enumerate(parts):
            for other_path, other in parts[i + 1 :]:
                assert not np.shares_memory(one, other), (path, other_path)


@pytest.mark.simultaneous
def test_views_are_overwritten(module):
    env = make(module, copy=False)
    twin = make(module)
    first = env.step(act(env, 1)), env.state()
    assert freeze(first) == freeze((twin.step(act(twin, 1)), twin.state()))
    second = env.step(act(env, 2)), env.state()
    assert freeze(second) == freeze((twin.step(act(twin, 2)), twin.state()))
    assert freeze(first) == freeze(second)
    for (_, one), (_, two) in zip(arrays_of(first), arrays_of(second), strict=True):
        assert np.shares_memory(one, two)


@pytest.mark.parametrize("mode", MODES)
def test_views_say_the_same_as_copies(module, params, mode):
    views, copies = (make(module, autoreset_mode=mode, copy=c, **params) for c in (False, True))
    for step in range(30):
        if mode == "disabled" and copies.snapshot()["done"].any():
            assert freeze(views.reset()) == freeze(copies.reset())
        assert freeze(views.step(act(views, step))) == freeze(copies.step(act(copies, step)))
        assert freeze(views.state()) == freeze(copies.state())


def test_dicts_are_fresh_even_with_views(module):
    """A consumer may write its own keys into infos."""
    for copy in (True, False):
        env = make(module, copy=copy, max_cycles=2)
        for step in range(4):
            observations, *_, infos = env.step(act(env, step))
            observations["own"] = infos["own"] = 1
            for agent in env.possible_agents:
                assert "own" not in infos[agent]
                infos[agent]["own"] = 1
            if "final_obs" in infos:
                infos["final_obs"]["own"] = 1


# Episodes that end ----------------------------------------------------------------------------------------------


@pytest.mark.simultaneous
def test_same_step(module):
    env = make(module, max_cycles=5)
    env.step(act(env))
    env.reset(options={"reset_mask": np.array([True, True, False, False])})  # so that not all end together
    totals = {agent: np.zeros(WORLDS) for agent in env.possible_agents}
    for agent in env.possible_agents:
        totals[agent][:] = env.snapshot()["episode_return"][:, env.possible_agents.index(agent)]
    lengths = np.array([0, 0, 1, 1])
    for step in range(17):
        result = env.step(act(env, step))
        observations, rewards, terminated, truncated, infos = result
        lengths += 1
        ended = lengths == 5
        np.testing.assert_array_equal(ends(result, env.possible_agents), ended)
        assert ("final_obs" in infos) == ("_final_obs" in infos) == ended.any()
        for agent in env.possible_agents:
            totals[agent] += rewards[agent]
            np.testing.assert_array_equal(truncated[agent], ended)
            assert not terminated[agent].any()
            np.testing.assert_array_equal(infos[agent]["episode_length"], lengths)  # of the one that ended
            np.testing.assert_allclose(infos[agent]["episode_return"], totals[agent], atol=1e-12)
            if ended.any():
                assert infos["final_obs"][agent].shape == observations[agent].shape
                assert (infos["final_obs"][agent][ended] != observations[agent][ended]).any(axis=1).all()
                np.testing.assert_array_equal(infos["_final_obs"], ended)
            totals[agent][ended] = 0
        assert infos["acting"].all()
        lengths[ended] = 0


@pytest.mark.simultaneous
def test_next_step(module):
    env = make(module, max_cycles=3, autoreset_mode="next_step")
    for step in range(9):
        *said, infos = env.step(act(env, step))
        ended, begins = step % 4 == 2, step % 4 == 3
        for agent in env.possible_agents:
            assert said[3][agent].tolist() == [ended] * WORLDS
            assert infos[agent]["episode_length"].tolist() == [(step % 4 + 1) % 4] * WORLDS
            if begins:
                assert not said[1][agent].any() and not infos[agent]["episode_return"].any()
        assert (infos["acting"] == (not ended)).all()
        assert "final_obs" not in infos


@pytest.mark.simultaneous
def test_next_step_asks_nobody_where_a_world_begins(module):
    env = make(module, max_cycles=2, autoreset_mode="next_step")
    for _ in range(2):
        env.step(act(env))
    *_, infos = env.step({})  # all worlds begin: all actions may be missing
    assert infos["acting"].all()
    with pytest.raises(KeyError, match="no action"):
        env.step({})


@pytest.mark.simultaneous
def test_disabled(module):
    env = make(module, max_cycles=3, autoreset_mode="disabled")
    env.step(act(env))
    late = np.array([False, True, False, False])
    env.reset(options={"reset_mask": late})
    for _ in range(2):
        result = env.step(act(env))
    np.testing.assert_array_equal(ends(result, env.possible_agents), ~late)
    before = freeze(env.snapshot())
    with pytest.raises(RuntimeError, match=r"3 worlds .* world 0.*reset_mask"):
        env.step(act(env))
    assert freeze(env.snapshot()) == before
    *_, infos = env.reset(options={"reset_mask": ~late})
    assert infos["acting"].all()
    assert [infos[a]["episode_length"].tolist() for a in env.possible_agents] == [[0, 2, 0, 0]] * len(
        env.possible_agents
    )
    result = env.step(act(env))
    np.testing.assert_array_equal(ends(result, env.possible_agents), late)


@pytest.mark.simultaneous
@pytest.mark.parametrize("mode", MODES)
def test_a_reset_by_hand_in_any_mode(module, mode):
    env = make(module, max_cycles=3, autoreset_mode=mode)
    for steps in (1, 2, 3):
        for _ in range(steps):
            env.step(act(env))
        observations, infos = env.reset()
        assert infos["acting"].all() and "final_obs" not in infos
        for agent in env.possible_agents:
            assert not any(values.any() for values in infos[agent].values())
    for step in range(3):
        result = env.step(act(env))
        assert ends(result, env.possible_agents).tolist() == [step == 2] * WORLDS


@pytest.mark.simultaneous
@pytest.mark.parametrize("mode", MODES)
def test_max_cycles_can_be_assigned(module, mode):
    env = make(module, max_cycles=50, autoreset_mode=mode)
    for _ in range(4):
        result = env.step(act(env))
        assert not ends(result, env.possible_agents).any()
    env.max_cycles = 6
    assert [bool(ends(env.step(act(env)), env.possible_agents).all()) for _ in range(2)] == [False, True]
    env.reset()
    for _ in range(4):
        env.step(act(env))
    env.max_cycles = np.int64(2)  # already passed: ends with the next step
    assert env.max_cycles == 2
    assert ends(env.step(act(env)), env.possible_agents).all()


# Agents that leave early ----------------------------------------------------------------------------------------


def strict(module, **arguments):
    """The tag game in which two collectors of three go down within an episode, at different steps."""
    return make(module, strict_mode=True, comm_radius=1.2, num_envs=30, **arguments)


@pytest.mark.simultaneous
@pytest.mark.parametrize("mode", MODES)
def test_agents_that_are_down(module, mode):
    env = strict(module, autoreset_mode=mode)
    was_down = np.zeros((30, 4), bool)
    lengths = np.zeros((30, 4), int)
    for step in range(24):
        observations, rewards, terminated, truncated, infos = env.step(act(env, step))
        lengths += ~was_down
        for i, agent in enumerate(env.possible_agents):
            down = was_down[:, i]
            assert terminated[agent][down].all(), "once down, down until the end"
            assert not rewards[agent][down].any()
            assert not observations[agent][down].any()
            assert observations[agent][~down].any(axis=1).all()  # also in the step in which it goes down
            assert not (terminated[agent] & truncated[agent]).any()
            np.testing.assert_array_equal(infos["acting"][:, i], ~terminated[agent])
            np.testing.assert_array_equal(infos[agent]["episode_length"], lengths[:, i])
            was_down[:, i] = terminated[agent]
    assert 20 < was_down.sum() < 55 and not was_down[:, :2].any()
    observations, rewards, terminated, truncated, infos = env.step(act(env, 24))
    for i, agent in enumerate(env.possible_agents):
        assert terminated[agent][was_down[:, i]].all()
        np.testing.assert_array_equal(truncated[agent], ~terminated[agent])
    if mode == "same_step":
        assert infos["acting"].all() and infos["_final_obs"].all()
        assert not infos["final_obs"]["collector_0_0"][was_down[:, 2]].any()
        *_, terminated, _, infos = env.step(act(env, 25))
        assert not terminated["controller_0"].any() and terminated["collector_0_0"].mean() < 0.5


@pytest.mark.simultaneous
@pytest.mark.parametrize("continuous", [False, True])
def test_actions_of_the_down_are_never_looked_at(module, continuous):
    env, twin = (strict(module, continuous_actions=continuous) for _ in range(2))
    odd = np.nan if continuous else 99
    acting = np.ones((30, 4), bool)
    for step in range(40):
        actions = act(env, step)
        wild = {agent: array.copy() for agent, array in actions.items()}
        for i, agent in enumerate(env.possible_agents):
            wild[agent][~acting[:, i]] = odd
        result = env.step(wild)
        assert freeze(result) == freeze(twin.step(actions))
        acting = result[4]["acting"]
        np.testing.assert_equal(env.snapshot(), twin.snapshot())
    env.restore(env.snapshot())


@pytest.mark.simultaneous
def test_who_acts_nowhere_may_be_missing(module):
    env = make(module, num_envs=1, strict_mode=True, comm_radius=1e-6)
    *_, infos = env.step(act(env))
    assert infos["acting"].tolist() == [[True, True, False, False]]
    actions = act(env)
    del actions["collector_0_0"], actions["collector_0_1"]
    env.step(actions)
    del actions["controller_0"]
    with pytest.raises(KeyError, match="controller_0"):
        env.step(actions)


# The rest -------------------------------------------------------------------------------------------------------


def test_options_are_never_changed(module):
    env = make(module)
    mask = np.array([True, False, False, True])
    options = {"reset_mask": mask, "other": [1]}
    env.reset(options=options)
    assert list(options) == ["reset_mask", "other"] and options["reset_mask"] is mask and options["other"] == [1]
    assert mask.tolist() == [True, False, False, True]
    env.reset(options={"reset_mask": [True, False, False, True]})  # a list of bools will do
    for face in (module.parallel_env(), module.env()):
        options = {"anything": 1}
        face.reset(options=options)
        assert options == {"anything": 1}


def test_actions_are_never_changed(module, params):
    for env in (make(module, **params), module.parallel_env(**params)):
        env.reset(seed=1)
        rng = np.random.default_rng(0)
        for _ in range(7):
            shape = (getattr(env, "num_envs", 1), len(env.possible_agents), 8)
            actions = choose(env, rng.random(shape if hasattr(env, "num_envs") else shape[1:]))
            before = freeze(actions)
            env.step(actions)
            assert freeze(actions) == before


def test_kinds_of_action_arrays(module):
    env, twin = make(module), make(module)
    for step, kind in enumerate([np.int8, np.uint8, np.int32, np.uint64, list]):
        actions = act(env, step)
        other = {a: x.tolist() if kind is list else x.astype(kind) for a, x in actions.items()}
        reversed_order = dict(reversed(other.items()))
        assert freeze(env.step(reversed_order)) == freeze(twin.step(actions))
    strided = {a: np.stack([x, x], axis=1)[:, 0] for a, x in act(env).items()}
    assert freeze(env.step(strided)) == freeze(twin.step(act(twin)))


def test_close_may_be_called_twice(module):
    for env in (make(module), module.vector_env(), module.parallel_env(), module.env()):
        assert env.close() is None
        assert env.close() is None
        env.reset(seed=1)
        env.close()
        env.close()


def test_environments_are_freed(module):
    """No global list keeps worlds alive."""
    env = make(module)
    env.step(act(env))
    parallel, aec = module.parallel_env(), module.env()
    parallel.reset(), aec.reset()
    references = [weakref.ref(e) for e in (env, parallel, aec)]
    del env, parallel, aec
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
