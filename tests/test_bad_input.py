"""Bad input: a clear error that names the agent or the argument, its value and what is allowed, and nothing changed."""

import re
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np
import pytest
from conftest import choose, freeze

FACES = ("parallel_env", "env", "vector_env")
WORLDS = 4


def actions_of(env, seed=0):
    worlds = (env.num_envs,) if hasattr(env, "num_envs") else ()
    return choose(env, np.random.default_rng(seed).random((*worlds, len(env.possible_agents), 8)))


def everything(env):
    """All that a refused call could have changed."""
    worlds = getattr(env, "env", env)  # the AEC face stands around a Parallel environment
    own = [getattr(env, name, None) for name in ("agents", "agent_selection", "terminations", "truncations", "rewards")]
    own.append(getattr(env, "_actions", None) if worlds is not env else None)
    return freeze(worlds.snapshot()), repr(own), env.max_cycles


@contextmanager
def refused(env, error, *words):
    """The block raises `error`, whose message holds all `words`, and leaves `env` as it was."""
    before = everything(env)
    with pytest.raises(error) as caught:
        yield
    assert type(caught.value) is error  # no subclass of another meaning, as UnicodeError is one of ValueError
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))
    assert everything(env) == before


def single(module, **params):
    env = module.parallel_env(**params)
    env.reset(seed=1)
    env.step(actions_of(env))
    return env


def batch(module, **arguments):
    env = module.vector_env(**{"num_envs": WORLDS} | arguments)
    env.reset(seed=1)
    env.step(actions_of(env))
    return env


class Named:
    def __repr__(self):
        return "Named()"


# Names in a dict of actions ---------------------------------------------------------------------------------------


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize("make", [single, batch])
def test_names_of_agents(module, make):
    env = make(module)
    actions = actions_of(env)
    with refused(env, KeyError, "'collector_0_2'", "did you mean", "controller_0, collector_0_0, collector_0_1"):
        env.step(actions | {"collector_0_2": actions["collector_0_0"]})
    with refused(env, KeyError, "'collector_00'", "did you mean 'collector_0_0'?"):
        env.step({"collector_00" if name == "collector_0_0" else name: a for name, a in actions.items()})
    with refused(env, KeyError, "7", "agents: adversary_0"):
        env.step(actions | {7: 0})
    for agent in env.possible_agents:
        with refused(env, KeyError, "no action for", repr(agent)):
            env.step({name: a for name, a in actions.items() if name != agent})
    with refused(env, KeyError, "no action for 'adversary_0'"):
        env.step({})
    env.step(actions)


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize("make", [single, batch])
@pytest.mark.parametrize(
    "actions",
    [
        None,
        3,
        2.5,
        [],
        ["adversary_0", "controller_0"],
        {"adversary_0", "controller_0"},
        "adversary_0",
        np.zeros(4),
        (0,),
    ],
    ids=lambda value: type(value).__name__,
)
def test_actions_that_are_no_dict(module, make, actions):
    env = make(module)
    with refused(env, TypeError, "actions must be a dict from agent to action", type(actions).__name__):
        env.step(actions)


@pytest.mark.only("simple_tag_while_c_v0")
def test_a_mapping_that_is_no_dict_will_do(module):
    env, twin = single(module), single(module)
    assert freeze(env.step(MappingProxyType(actions_of(env)))) == freeze(twin.step(actions_of(twin)))


@pytest.mark.only("simple_tag_while_c_v0")
def test_names_of_agents_that_have_left(module):
    env = module.parallel_env(strict_mode=True, comm_radius=1e-6)
    env.reset(seed=1)
    env.step(actions_of(env))
    assert env.agents == ["adversary_0", "controller_0"]
    with refused(env, KeyError, "'collector_0_7'"):
        env.step(actions_of(env) | {"collector_0_7": 0})
    with refused(env, KeyError, "no action for 'controller_0'", "adversary_0, controller_0"):
        env.step({"adversary_0": 0, "collector_0_0": 0})
    env.step(actions_of(env) | {"collector_0_0": "anything, it has left"})


# One action -------------------------------------------------------------------------------------------------------

DISCRETE = [
    (-1, ValueError, "-1"),
    (5, ValueError, "5"),
    (10**30, ValueError, str(10**30)),
    (np.int64(5), ValueError, "5"),
    (np.uint64(2**64 - 1), ValueError, str(2**64 - 1)),
    (np.array(-3), ValueError, "-3"),
    (2.0, TypeError, "2.0 (float)"),
    (np.float32(2), TypeError, "2.0"),
    (float("nan"), TypeError, "nan"),
    (np.array(2.0), TypeError, "float64[]"),
    (np.array([1, 2]), TypeError, "int64[2]"),
    ([1], TypeError, "[1] (list)"),
    ("1", TypeError, "'1' (str)"),
    (None, TypeError, "None (NoneType)"),
    (Named(), TypeError, "Named()"),
    (1j, TypeError, "1j"),
]  # fmt: skip
CONTINUOUS = [
    ([0, 1, np.nan, 0, 0], ValueError, "nan"),
    (np.full(5, np.nan, np.float32), ValueError, "nan"),
    ([np.inf, -np.inf, np.nan, 0, 0], ValueError, "nan"),
    (3, TypeError, "int64[]"),
    (None, TypeError, "object[]"),
    ([0, 0, 0, 0], TypeError, "int64[4]"),
    (np.zeros((1, 5)), TypeError, "float64[1, 5]"),
    (np.zeros((5, 1)), TypeError, "float64[5, 1]"),
    (np.zeros(0), TypeError, "float64[0]"),
    ("abcde", TypeError, "U5"),
    (["a", "b", "c", "d", "e"], TypeError, "U1[5]"),
    (np.zeros(5, complex), TypeError, "complex128[5]"),
    (np.zeros(5, bool), TypeError, "bool[5]"),
    ([0, None, 0, 0, 0], TypeError, "object[5]"),
    ([[1], [2, 3], 0, 0, 0], TypeError, "must be"),
]  # fmt: skip
CASES = [(False, *case) for case in DISCRETE] + [(True, *case) for case in CONTINUOUS]


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize(("continuous", "action", "error", "value"), CASES, ids=lambda part: repr(part)[:30])
@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")
def test_one_action(module, continuous, action, error, value):
    allowed = "NaN is not an action" if error is ValueError else "numbers [5]"
    allowed = allowed if continuous else "integer in 0 .. 4"
    env = single(module, continuous_actions=continuous)
    for agent in env.possible_agents:  # the last one, too: what was given for the others before it is not kept
        with refused(env, error, repr(agent), value, allowed):
            env.step(actions_of(env) | {agent: action})
    twin = single(module, continuous_actions=continuous)
    assert freeze(env.step(actions_of(env, 1))) == freeze(twin.step(actions_of(twin, 1)))

    turns = module.env(continuous_actions=continuous)
    turns.reset(seed=1)
    for agent in turns.possible_agents:
        with refused(turns, error, repr(agent), value, allowed):
            turns.step(action)
        turns.step(actions_of(turns)[agent])


# A batch of actions -----------------------------------------------------------------------------------------------


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ([0, 1, 5, 2], ValueError, ["world 2", "is 5", "0 .. 4"]),
        ([0, -1, 9, 2], ValueError, ["world 1", "is -1", "0 .. 4"]),
        (np.array([0, 0, 0, 2**64 - 1], np.uint64), ValueError, ["world 3", str(2**64 - 1)]),
        ([0.0, 1, 2, 3], TypeError, ["float64[4]", "integers [4]"]),
        ([True, False, True, True], TypeError, ["bool[4]", "integers [4]"]),
        ([0, 1, 2], TypeError, ["int64[3]", "integers [4]"]),
        ([[0], [1], [2], [3]], TypeError, ["int64[4, 1]", "integers [4]"]),
        (3, TypeError, ["int64[]", "integers [4]"]),
        ([], TypeError, ["float64[0]", "integers [4]"]),
        (None, TypeError, ["object[]", "integers [4]"]),
        ("0123", TypeError, ["U4", "integers [4]"]),
        ([[1], [2, 3], [1], [1]], TypeError, ["must be integers [4]"]),
        ([0, 1, 2, 10**30], TypeError, ["object[4]", "integers [4]"]),
    ],
    ids=lambda part: repr(part)[:30],
)
def test_discrete_actions_of_a_batch(module, value, error, words):
    env = batch(module)
    for agent in env.possible_agents:
        with refused(env, error, repr(agent), *words):
            env.step(actions_of(env) | {agent: value})
    twin = batch(module)
    assert freeze(env.step(actions_of(env, 1))) == freeze(twin.step(actions_of(twin, 1)))


def nan_in(world, place):
    array = np.zeros((WORLDS, 5), np.float32)
    array[world, place] = np.nan
    return array


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (nan_in(2, 4), ValueError, ["world 2", "nan", "NaN is not an action"]),
        (nan_in(0, 0), ValueError, ["world 0", "nan"]),
        (np.zeros((4, 4)), TypeError, ["float64[4, 4]", "numbers [4, 5]"]),
        (np.zeros((3, 5)), TypeError, ["float64[3, 5]", "numbers [4, 5]"]),
        (np.zeros(5), TypeError, ["float64[5]", "numbers [4, 5]"]),
        (np.zeros((4, 5), bool), TypeError, ["bool[4, 5]", "numbers [4, 5]"]),
        (np.zeros((4, 5), complex), TypeError, ["complex128[4, 5]", "numbers [4, 5]"]),
        ([[0] * 5] * 3 + [[0] * 4], TypeError, ["must be numbers [4, 5]"]),
        (None, TypeError, ["object[]", "numbers [4, 5]"]),
    ],
    ids=lambda part: repr(part)[:30],
)
def test_continuous_actions_of_a_batch(module, value, error, words):
    env = batch(module, continuous_actions=True)
    for agent in env.possible_agents:
        with refused(env, error, repr(agent), *words):
            env.step(actions_of(env) | {agent: value})


# Calls at the wrong time ------------------------------------------------------------------------------------------


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize("face", FACES)
def test_before_the_first_reset(module, face):
    env = getattr(module, face)(**{"render_mode": "rgb_array"} if face != "vector_env" else {})
    calls = {"step": lambda: env.step({} if face != "env" else 0), "state": env.state}
    if face != "vector_env":
        assert env.agents == [] and env.num_agents == 0
        calls["render"] = env.render
    if face == "env":
        calls |= {"last": env.last, "observe": lambda: env.observe("adversary_0"), "agent_iter": env.agent_iter}
    for name, call in calls.items():
        with refused(env, RuntimeError, f"{name}() before reset()", "call reset() first"):
            call()
    env.close()
    env.reset(seed=1)
    for call in list(calls.values())[1:]:
        call()


@pytest.mark.only("simple_tag_while_c_v0")
def test_actions_after_the_end(module):
    env = single(module, max_cycles=2)
    actions = actions_of(env)
    env.step(actions)
    with refused(env, RuntimeError, "the episode is over", "reset()"):
        env.step(actions)
    assert env.step({}) == ({}, {}, {}, {}, {})

    turns = module.env(max_cycles=1)
    turns.reset(seed=1)
    for agent in turns.possible_agents:
        turns.step(actions[agent])
    with refused(turns, ValueError, "'adversary_0'", "1", "must be None"):
        turns.step(1)
    for _ in turns.possible_agents:
        turns.step(None)
    for call in (lambda: turns.step(None), lambda: turns.step(0), turns.last):
        with refused(turns, RuntimeError, "the episode is over", "reset()"):
            call()


@pytest.mark.only("simple_tag_while_c_v0")
def test_steps_of_finished_worlds(module):
    env = batch(module, max_cycles=2, autoreset_mode="disabled")
    env.step(actions_of(env))
    with refused(env, RuntimeError, "4 worlds", "world 0", "reset_mask"):
        env.step(actions_of(env))


@pytest.mark.only("simple_tag_while_c_v0")
def test_who_is_asked_about(module):
    env, turns, many = single(module), module.env(), batch(module)
    turns.reset(seed=1)
    for e in (env, turns, many):
        for ask in (e.observation_space, e.action_space):
            with refused(
                e, KeyError, "'adversary_1'", "did you mean 'adversary_0'?", "agents: adversary_0, controller_0"
            ):
                ask("adversary_1")
    with refused(turns, KeyError, "'adversary_1'", "did you mean 'adversary_0'?"):
        turns.observe("adversary_1")


# Seeds and options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [-1, 2**64, 1.5, np.float64(3), "1", True, {1: 2}, {1}, np.array(1.5)], ids=lambda value: repr(value)
)
@pytest.mark.parametrize("face", FACES)
def test_seeds(module, face, seed):
    env = getattr(module, face)()
    for started in (False, True):
        with refused(env, ValueError, f"seed={seed!r}", "must be an integer in 0 .. 2**64 - 1"):
            env.reset(seed=seed)
        if not started:
            env.reset(seed=1)


def test_seeds_of_one_world_are_no_lists(module):
    for env in (single(module), module.env()):
        for seed in ([3], (3,), np.array([3])):
            with refused(env, ValueError, f"seed={seed!r}"):
                env.reset(seed=seed)


def test_seeds_of_a_batch(module):
    env = batch(module)
    for seed in ([1, 2, 3], [1, 2, 3, 4, 5], [], np.arange(3)):
        with refused(env, ValueError, f"seed has {len(seed)} entries", "4 worlds"):
            env.reset(seed=seed)
    for seed, odd in (
        ([1, 2, -3, 4], "-3"),
        ([1, 2, 3, 2**64], str(2**64)),
        ([1, 2.5, 3, 4], "2.5"),
        ("1234", "'1234'"),
    ):
        with refused(env, ValueError, f"seed={odd}", "0 .. 2**64 - 1"):
            env.reset(seed=seed)
    for seed in (np.uint64(7), np.arange(4), (1, 2, 3, 2**64 - 1), range(4)):
        env.reset(seed=seed)


def test_options(module):
    env = batch(module)
    for options in (5, "reset_mask", [("reset_mask", None)], True):
        with refused(env, TypeError, f"options={options!r}", "must be a dict or None"):
            env.reset(options=options)
    for mask, what in (
        ([True, False], "bool[2]"), (np.ones(4, int), "int64[4]"), (np.ones((4, 1), bool), "bool[4, 1]"),
        (None, "object[]"), (True, "bool[]"), ([1, 0, 1, 0], "int64[4]"),
    ):  # fmt: skip
        with refused(env, ValueError, "reset_mask", what, "bool[4]"):
            env.reset(options={"reset_mask": mask})
    with refused(env, ValueError, "seed="):  # a bad seed together with a good mask
        env.reset(seed=-1, options={"reset_mask": np.array([True, False, False, True])})
    fresh = module.vector_env(num_envs=WORLDS)
    with refused(fresh, ValueError, "reset_mask", "reset all of them first"):
        fresh.reset(seed=1, options={"reset_mask": np.array([True, False, False, True])})


@pytest.mark.parametrize("value", [0, -3, 2.0, "25", None, True, 2**31, 2**63, 10**400], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("face", FACES)
def test_max_cycles(module, face, value):
    env = getattr(module, face)()
    env.reset(seed=1)
    with refused(env, ValueError, f"max_cycles={value!r}", "integer"):
        env.max_cycles = value
    with pytest.raises(ValueError, match="max_cycles=.*integer"):
        getattr(module, face)(max_cycles=value)


def test_largest_max_cycles(module):
    for face in FACES:
        env = getattr(module, face)(max_cycles=2**31 - 1)
        env.reset(seed=1)
        env.step(actions_of(env) if face != "env" else 0)


# Snapshots --------------------------------------------------------------------------------------------------------


@pytest.mark.only("simple_tag_while_c_v0")
def test_snapshots_that_do_not_fit(module):
    for make in (single, batch):
        env = make(module)
        good = env.snapshot()
        other = make(module, num_adversaries=2)
        with refused(env, ValueError, "must be"):
            env.restore(other.snapshot())
        with refused(env, ValueError, "missing or unknown", "key"):
            env.restore({name: array for name, array in good.items() if name != "key"})
        with refused(env, ValueError, "missing or unknown", "own"):
            env.restore(good | {"own": np.zeros(3)})
        with refused(env, ValueError, "missing or unknown"):
            env.restore({})
        with refused(env, ValueError, "snapshot['steps']", "float64", "int64"):
            env.restore(good | {"steps": good["steps"] * 1.0})
        with refused(env, ValueError, "snapshot['done']", "must be bool"):
            env.restore(good | {"done": good["done"][:0]})
        for name in [name for name, array in good.items() if array.dtype.kind == "f" and array.size]:
            for odd in (np.nan, np.inf, -np.inf):
                array = good[name].copy()
                array.flat[-1] = odd
                with refused(env, ValueError, f"snapshot[{name!r}]", "finite"):
                    env.restore(good | {name: array})
        with refused(env, ValueError, "max_cycles=0"):
            env.restore(good | {"max_cycles": np.array(0)})
        env.restore(good)
    with refused(env, ValueError, "must be"):
        env.restore(single(module).snapshot())


@pytest.mark.only("simple_tag_while_c_v0")
def test_finished_worlds_do_not_fit_where_there_are_none(module):
    for mode in ("disabled", "next_step"):
        env = batch(module, max_cycles=2, autoreset_mode=mode)
        env.step(actions_of(env))
        other = batch(module, max_cycles=2)
        with refused(other, ValueError, "finished worlds", "same_step"):
            other.restore(env.snapshot())
        again = batch(module, max_cycles=2, autoreset_mode=mode)
        again.restore(env.snapshot())


# Constructors -----------------------------------------------------------------------------------------------------


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize("face", FACES)
def test_arguments_that_do_not_exist(module, face):
    make = getattr(module, face)
    for name, meant in (("num_adversarys", "num_adversaries"), ("max_cycle", "max_cycles"), ("presets", "preset")):
        with pytest.raises(TypeError, match=f"unknown argument '{name}'; did you mean '{meant}'.*known: .*num_J"):
            make(**{name: 3})
    with pytest.raises(TypeError, match="unknown argument 'qqqq' .known: .*num_adversaries"):
        make(qqqq=3)


def test_own_arguments_of_a_face(module):
    for name, meant in (("num_env", "num_envs"), ("threads", "num_threads"), ("autoreset", "autoreset_mode")):
        with pytest.raises(TypeError, match=f"'{name}'; did you mean '{meant}'.*known: num_envs, num_threads"):
            module.vector_env(**{name: 3})
    for face in ("parallel_env", "env"):
        with pytest.raises(TypeError, match="'rendermode'; did you mean 'render_mode'.*known: render_mode"):
            getattr(module, face)(rendermode="human")
        with pytest.raises(TypeError, match="'render_mode' twice"):
            getattr(module, face)("rgb_array", render_mode="human")
        with pytest.raises(TypeError, match="at most 1 positional"):
            getattr(module, face)(None, 3)
        for value in ("ansi", 3, True, ["human"]):
            with pytest.raises(ValueError, match=f"render_mode={re.escape(repr(value))}.*None, 'human', 'rgb_array'"):
                getattr(module, face)(render_mode=value)
    with pytest.raises(TypeError, match="'num_envs' twice"):
        module.vector_env(4, num_envs=8)
    with pytest.raises(TypeError, match="at most 4 positional"):
        module.vector_env(4, 1, "same_step", True, 7)


@pytest.mark.parametrize(
    ("name", "values", "allowed"),
    [
        ("num_envs", [0, -1, 2.0, "4", True, None, [4], 2**31, 10**400], "an integer in 1 .. 2147483647"),
        ("num_threads", [0, -1, 2.0, "4", True, 2**31], "an integer in 1 .. 2147483647"),
        ("autoreset_mode", ["sometimes", "SAME_STEP", None, [], 1, {}], "'next_step', 'same_step', 'disabled'"),
        ("copy", ["no", 0, 1, None], "True or False"),
    ],
)
def test_own_values_of_a_batch(module, name, values, allowed):
    for value in values:
        with pytest.raises(ValueError) as caught:
            module.vector_env(**{name: value})
        assert f"{name}={value!r}" in str(caught.value) and allowed in str(caught.value)


@pytest.mark.only("simple_tag_while_c_v0")
@pytest.mark.parametrize(
    ("name", "values", "allowed"),
    [
        ("preset", ["README", "v1", None, 3, []], "one of 'readme', 'v1_0_3'"),
        ("num_adversaries", [-1, 1.0, "1", None, True, 2**31, 10**400], "an integer >= 0"),
        ("num_controller", [0, -1, 1.5], "an integer >= 1"),
        ("num_collector_each", [0, np.float64(2)], "an integer >= 1"),
        ("num_J", [-1, 10**400], "an integer >= 0"),
        ("continuous_actions", [1, 0, "yes", None, np.int64(1)], "True or False"),
        ("env_quality", ["l", "M", 1, None], "one of 'VL', 'L', 'H', 'VH'"),
        ("comm_radius", [0, -0.5, np.nan, np.inf, "0.5", None, True, 10**400], "a finite number > 0"),
        ("hit_reward", [-1, np.nan, -np.inf, 10**400, 1j], "a finite number >= 0"),
        ("strict_mode", [1, 0, "True", "Random", None], "one of False, True, 'random'"),
        ("integrator", ["euler", None], "one of 'position_first', 'velocity_first'"),
        ("collector_size", [0, -1.0], "a finite number > 0"),
    ],
)
def test_values_of_parameters(module, name, values, allowed):
    for value in values:
        for face in FACES:
            with pytest.raises(ValueError) as caught:
                getattr(module, face)(**{name: value})
            assert f"{name}={value!r}" in str(caught.value) and allowed in str(caught.value)


@pytest.mark.only("simple_tag_while_c_v0")
def test_kinds_of_numbers_that_will_do(module):
    env = module.vector_env(
        np.int32(2), num_J=np.uint8(3), comm_radius=1, hit_reward=np.float32(2), updating_J=np.True_
    )
    assert env.num_envs == 2 and type(env.num_envs) is int
    for name, value in (("num_J", 3), ("comm_radius", 1.0), ("hit_reward", 2.0), ("updating_J", True)):
        assert getattr(env.game.params, name) == value and type(getattr(env.game.params, name)) is type(value)


@pytest.mark.only("simple_tag_while_c_v0")
def test_arguments_that_contradict_each_other(module):
    for strict in (True, "random"):
        for face in FACES:
            with pytest.raises(ValueError) as caught:
                getattr(module, face)(reward_timing="legacy", strict_mode=strict)
            for word in ("reward_timing='legacy'", f"strict_mode={strict!r}", "same_step", "False"):
                assert word in str(caught.value)


def test_names_of_environments():
    import mpe_ext

    with pytest.raises(AttributeError, match="no attribute 'simple_tag_while_d_v0'"):
        _ = mpe_ext.simple_tag_while_d_v0
