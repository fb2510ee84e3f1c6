"""PettingZoo's own tests, over every configuration of every environment. What they warn of is checked as well."""

import warnings
from contextlib import contextmanager

import pettingzoo
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)
from pettingzoo.utils import aec_to_parallel, parallel_to_aec, wrappers

from mpe_ext.all_modules import MODULES, register_all

# Bodies know no bounds, and agents of different kinds see different things: both are meant.
MEANT = (
    # PettingZoo says so of every dict, its own games' included.
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
    "Observation is not a NumPy array",
    "Agent's minimum observation space value is -infinity",
    "Agent's maximum observation space value is infinity",
    "Environment's minimum state space value is -infinity",
    "Environment's maximum state space value is infinity",
    "Agents have different observation space sizes",
    "Observations are different shapes",
)


@contextmanager
def only_meant_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    odd = [str(w.message) for w in caught if not str(w.message).startswith(MEANT)]
    assert not odd, odd


def test_api(module, params):
    with only_meant_warnings():
        api_test(module.env(**params), num_cycles=100)


def test_raw_api(module):
    with only_meant_warnings():
        api_test(module.raw_env(), num_cycles=30)


def test_parallel_api(module, params):
    with only_meant_warnings():
        parallel_api_test(module.parallel_env(**params), num_cycles=100)


def test_parallel_api_for_a_thousand_cycles(module):
    with only_meant_warnings():
        parallel_api_test(module.parallel_env(), 1000)


def test_seed(module, params):
    with only_meant_warnings():
        seed_test(lambda: module.env(**params), num_cycles=60)
        parallel_seed_test(lambda: module.parallel_env(**params))


@pytest.mark.simultaneous
def test_max_cycles(module, params):
    if params.get("strict_mode") is True:  # where most agents would leave early the test cannot count them
        params = params | {"comm_radius": 9.0}

    class Shim:
        @staticmethod
        def env(max_cycles):
            return module.env(**params | {"max_cycles": max_cycles})

        @staticmethod
        def parallel_env(max_cycles):
            return module.parallel_env(**params | {"max_cycles": max_cycles})

    with only_meant_warnings():
        max_cycles_test(Shim)


def test_state(module, params):
    with only_meant_warnings():
        state_test(module.env(**params), module.parallel_env(**params), num_cycles=30)


def test_render(module, monkeypatch):
    monkeypatch.setattr(type(module.parallel_env().game), "render_fps", 1000)  # not slower than it must be
    with only_meant_warnings():
        render_test(module.env)


@pytest.mark.simultaneous
def test_conversions(module):
    with only_meant_warnings():
        parallel_api_test(aec_to_parallel(module.env()), num_cycles=30)
        api_test(parallel_to_aec(module.parallel_env()), num_cycles=30)
        api_test(wrappers.OrderEnforcingWrapper(module.env()), num_cycles=30)


@pytest.mark.parametrize("name", MODULES)
def test_registry(name):
    if not hasattr(pettingzoo, "make"):  # PettingZoo 1.26 has no registry: nothing to do, and no error
        register_all()
        return
    stem, version = name.rsplit("_", 1)
    for face, test in (("parallel", parallel_api_test), ("aec", api_test)):
        env = pettingzoo.make(face, f"mpe_ext/{stem}-{version}", max_cycles=9)
        assert env.unwrapped.max_cycles == 9
        assert str(env) == env.metadata["name"] == name
        with only_meant_warnings():
            test(env, num_cycles=30)


def test_importing_the_package_registers_once(python):
    """Importing it, and a module of it, warns of nothing: neither of a second registration nor of anything else."""
    python("""
        import warnings
        import numpy, pettingzoo
        warnings.simplefilter("error")
        import mpe_ext
        from mpe_ext.all_modules import MODULES
        for name in MODULES:
            assert getattr(mpe_ext, name).parallel_env
    """)
