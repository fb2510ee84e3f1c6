"""What all tests share: no window, fresh processes, and every environment in every configuration.

A test that asks for `module` runs for each environment of the package; one that asks for `module` and `params` runs for
each configuration of each. With the mark `simultaneous` it leaves out games whose agents take turns (test_turns.py asks
the same of these), with the mark `only` it runs for the environments that the mark names.
"""

import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from gymnasium import spaces

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

from mpe_ext.all_modules import MODULES  # noqa: E402

# Together they reach every parameter that changes a shape or a branch of the engine.
CONFIGURATIONS = {
    "simple_tag_while_c_v0": {
        "default": {},
        "v1_0_3": {"preset": "v1_0_3", "continuous_actions": True},
        "teams": {"num_adversaries": 2, "num_controller": 2, "num_collector_each": 3, "env_quality": "VH",
                  "observe_all_collectors": True},
        "strict": {"strict_mode": True, "comm_radius": 0.2, "num_collector_each": 3},
        "strict_continuous": {"strict_mode": True, "comm_radius": 0.2, "continuous_actions": True},
        "random": {"strict_mode": "random", "comm_radius": 0.15, "env_quality": "H", "updating_J": False},
        "random_continuous": {"strict_mode": "random", "comm_radius": 0.15, "continuous_actions": True},
        "legacy": {"reward_timing": "legacy", "integrator": "velocity_first", "env_quality": "VL", "max_cycles": 7},
        "lonely": {"num_adversaries": 0, "num_collector_each": 1, "num_J": 0, "n_detect": 0},
    },
    "chefworld_v0": {
        "default": {},
        "hard": {"preset": "hard"},
        "small": {"num_dishes": 3, "num_ingredients": 5, "max_items": 3, "failure_reward": -3.0},
        "test_flat": {"split": "test", "observation_format": "flat", "split_seed": 2},
        "train_uniform": {"split": "train", "dish_sampling": "uniform"},
        "large": {"num_dishes": 5, "num_ingredients": 12, "max_items": 6},
    },
    "meeting_scheduling_v0": {
        "default": {},
        "small": {"num_slots": 4, "max_messages": 3, "truncation_reward": -7.0, "reject_fail_reward": -1.0},
        "test_flat": {"split": "test", "observation_format": "flat", "split_seed": 1},
        "all_free": {"include_all_free": True, "first_mover": "participant_1"},
        "large": {"num_slots": 12, "max_messages": 5, "first_mover": "participant_0"},
    },
}  # fmt: skip


def choose(env, numbers):
    """Actions (where there is one world: of the living) made of numbers in [0, 1) of shape [..., agents, 8]."""
    actions = {}
    for i, agent in enumerate(env.possible_agents):
        space = env.action_space(agent)
        if isinstance(space, spaces.Discrete):
            actions[agent] = (numbers[..., i, 0] * space.n).astype(np.int64)
        else:
            actions[agent] = space.low + (space.high - space.low) * numbers[..., i, : space.shape[0]]
    return {agent: action for agent, action in actions.items() if agent in getattr(env, "agents", actions)}


def row_of(observation, w):
    """World w's part of an observation of a batch."""
    return {k: v[w] for k, v in observation.items()} if isinstance(observation, dict) else observation[w]


def freeze(value):
    """Nested dicts and tuples of arrays and numbers as something that `==` compares bit by bit."""
    if isinstance(value, dict):
        return {key: freeze(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return tuple(freeze(part) for part in value)
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()


def is_turn_based(name):
    """Whether the agents of an environment take turns."""
    return importlib.import_module(MODULES[name]).parallel_env().game.turn_based


def pytest_generate_tests(metafunc):
    names = list(MODULES)
    if only := metafunc.definition.get_closest_marker("only"):
        names = list(only.args)
    if metafunc.definition.get_closest_marker("simultaneous"):
        names = [name for name in names if not is_turn_based(name)]
    if "params" in metafunc.fixturenames:
        cases = [
            pytest.param(name, params, id=f"{name}-{label}")
            for name in names
            for label, params in CONFIGURATIONS[name].items()
        ]
        metafunc.parametrize(("module", "params"), cases, indirect=["module"])
    elif "module" in metafunc.fixturenames:
        metafunc.parametrize("module", names, indirect=True)


@pytest.fixture
def module(request):
    """An environment's module, by its name in the package."""
    return importlib.import_module(MODULES[request.param])


@pytest.fixture
def python():
    """Run a script in a fresh process and return what it prints; `variables` change its surroundings (None: unset)."""

    def run(script, **variables):
        variables = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | variables
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={k: v for k, v in (os.environ | variables).items() if v is not None},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
