"""The kernels as plain Python, with bounds checks, in forked workers; and what is not even loaded before they are."""

import hashlib
import json
import multiprocessing
import os
import pickle
import shutil
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import CONFIGURATIONS, choose

import mpe_ext
from mpe_ext.engine import threads

LENGTH = 12


def leaves(value):
    """All numbers in nested dicts and tuples."""
    if isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield np.ravel(value).astype(float)


def short_run(module, params):
    """All that a batch and a Parallel environment say over a few steps and resets. Other processes call this too."""
    batch = module.vector_env(num_envs=3, **params | {"max_cycles": 5})
    single = module.parallel_env(**params | {"max_cycles": 5})
    record = [batch.reset(seed=9), single.reset(seed=9)]
    for row in np.random.default_rng(0).random((LENGTH, 3, len(batch.possible_agents), 8)):
        record += [batch.step(choose(batch, row)), batch.snapshot()]
        if not single.agents:
            record.append(single.reset())
        record += [single.step(choose(single, row[0])), single.state()]
    return np.concatenate(list(leaves(tuple(record))))


def short_runs(module):
    """`short_run` of every configuration."""
    return [short_run(module, params) for params in CONFIGURATIONS[module.__name__.rsplit(".", 1)[1]].values()]


def compare_with_elsewhere(module, python, request, tmp_path, **variables):
    """Compare short runs of a fresh process with these variables with our own; returns numba's word for it."""
    path = tmp_path / "runs.pickle"
    said = python(f"""
        import json, pickle, sys
        from pathlib import Path
        sys.path.insert(0, {str(request.path.parent)!r})
        import {module.__name__} as module
        from numba.core import config
        from test_kernels_plain import short_runs
        Path({str(path)!r}).write_bytes(pickle.dumps(short_runs(module)))
        step = module.parallel_env().game.kernels.step
        print(json.dumps([bool(config.DISABLE_JIT), bool(config.BOUNDSCHECK), type(step).__name__ != "function"]))
    """, **variables)  # fmt: skip
    configurations = CONFIGURATIONS[module.__name__.rsplit(".", 1)[1]].values()
    for params, there, here in zip(configurations, pickle.loads(path.read_bytes()), short_runs(module), strict=True):
        # numba's float() leaves a float32 what it is, Python's widens it: so differences of continuous actions are
        # rounded differently. All else is the same bit for bit.
        error = 1e-6 if params.get("continuous_actions") else 0
        np.testing.assert_allclose(there, here, rtol=error, atol=error)
    return json.loads(said)


def test_plain_python_gives_the_compiled_numbers(module, python, request, tmp_path):
    """Warnings are errors there: nothing overflows or divides by zero unnoticed but the random stream, which must."""
    variables = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "error::RuntimeWarning"}
    assert compare_with_elsewhere(module, python, request, tmp_path, **variables) == [True, False, False]


@pytest.mark.slow
def test_bounds_checks_find_nothing(module, python, request, tmp_path):
    """In a cache folder of its own: code that is cached without checks would be used without checks."""
    variables = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert compare_with_elsewhere(module, python, request, tmp_path, **variables) == [False, True, True]
    assert list(tmp_path.rglob("*boundscheck*")) and list(tmp_path.rglob("*.nbi"))  # it was compiled, and there


def test_bounds_checks_have_a_cache_of_their_own(python):
    """Without them and with them, the folder differs, and so it does for plain NUMBA_CACHE_DIR."""
    script = "from mpe_ext.engine.jit import CACHE_FOLDER; print(CACHE_FOLDER)"
    folders = [python(script, NUMBA_BOUNDSCHECK=checks).strip() for checks in (None, "0", "1")]
    assert folders[0] == folders[1] != folders[2]
    assert python(script, NUMBA_CACHE_DIR="/elsewhere").startswith("/elsewhere")


def test_a_changed_source_has_a_cache_of_its_own(python, tmp_path):
    """numba issue 1833: it does not notice when a function that a kernel calls changes in another file."""
    shutil.copytree(Path(mpe_ext.__file__).parent, tmp_path / "mpe_ext", ignore=shutil.ignore_patterns("__pycache__"))
    script = "from mpe_ext.engine.jit import CACHE_FOLDER; print(CACHE_FOLDER)"
    of_the_copy = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {script}"
    folder = python(script)
    assert python(of_the_copy) == folder  # wherever it is installed
    source = tmp_path / "mpe_ext" / "engine" / "random.py"
    source.write_text(source.read_text() + "\n# changed\n")
    assert python(of_the_copy) != folder


def test_where_nothing_can_be_written_kernels_run_all_the_same(python, tmp_path):
    """numba issue 4908: `no locator available`."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way of a folder")
    script = """
        from mpe_ext.engine import jit
        add = jit.kernel(eval("lambda a, b: a + b"))  # comes from no file beside which a cache could lie
        print(add(1, 2))
    """
    assert python(script, NUMBA_CACHE_DIR=str(blocked), XDG_CACHE_HOME=str(blocked), HOME=str(blocked)) == "3\n"


def test_compiling_is_announced(module, python, tmp_path):
    announce = f"""
        import sys
        sys.stderr = sys.stdout
        import {module.__name__} as module
        from mpe_ext.engine import jit
        jit.announce_compilation("the game", list(module.parallel_env().game.kernels))
    """
    env = module.vector_env()  # here, so that they have been compiled
    env.reset(seed=1)
    env.step({agent: [0] for agent in env.possible_agents})
    env.restore(env.snapshot())
    assert python(announce) == ""
    lines = python(announce, NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert len(lines) == 1 and "compiling the game" in lines[0]
    assert python(announce, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT="1") == ""


def test_kernels_are_found_in_the_cache(module, python):
    """A kernel that numba cannot cache, say a closure, would be compiled at every start, for many seconds."""
    script = f"""
        import {module.__name__} as module
        env = module.vector_env()
        env.reset(seed=1)
        env.step({{agent: [0] for agent in env.possible_agents}})
        env.restore(env.snapshot())
        for kernel in env.game.kernels:
            hits, misses = kernel.stats.cache_hits, kernel.stats.cache_misses
            assert sum(misses.values()) == 0 < sum(hits.values()), (kernel, hits, misses)
            assert len(kernel.signatures) == 1
    """
    env = module.vector_env()  # here, so that they have been compiled
    env.reset(seed=1)
    env.step({agent: [0] for agent in env.possible_agents})
    env.restore(env.snapshot())
    python(script)


def test_parameters_never_compile_anew(module):
    """An int where a float was, or another number of agents, must find the same compiled kernels."""
    name = module.__name__.rsplit(".", 1)[1]
    whole = {
        "simple_tag_while_c_v0": {"comm_radius": 1, "hit_reward": 3, "collector_accel": np.float32(4)},
        "chefworld_v0": {"success_reward": 2, "failure_reward": np.float32(-3), "num_dishes": np.int8(3)},
        "meeting_scheduling_v0": {"success_reward": 2, "inform_reward": np.float32(-1), "num_slots": np.int8(6)},
    }[name]
    for params in (*CONFIGURATIONS[name].values(), whole):
        env = module.vector_env(num_envs=np.int64(2), **params)
        env.max_cycles = np.int32(9)
        env.reset(seed=np.uint64(1))
        env.step(choose(env, np.zeros((2, len(env.possible_agents), 8))))
        env.restore(env.snapshot())
    for kernel in env.game.kernels:
        assert len(kernel.signatures) == 1, kernel.signatures


# What is loaded when ----------------------------------------------------------------------------------------------


def test_importing_the_package_loads_nothing_heavy(module, python):
    """numba comes with the first environment, pygame with the first drawing, torch never."""
    name = module.__name__.rsplit(".", 1)[1]
    python(f"""
        import sys
        heavy = ["numba", "llvmlite", "pygame", "torch", "maddpg", "matplotlib", "scipy", "PIL"]
        loaded = lambda: [name for name in heavy if name in sys.modules]
        import pettingzoo, numpy
        before = loaded()
        import mpe_ext
        assert {name!r} in dir(mpe_ext) and mpe_ext.__version__
        assert loaded() == before == [], loaded()
        env = mpe_ext.{name}.parallel_env(render_mode="rgb_array")
        env.reset(seed=1)
        env.step(dict.fromkeys(env.agents, 0))
        assert {{"numba"}} <= set(loaded()) <= {{"numba", "llvmlite", "scipy"}}, loaded()  # numba looks for scipy
        env.render()
        assert set(loaded()) - {{"scipy"}} == {{"numba", "llvmlite", "pygame"}}, loaded()
    """)


# Threads ----------------------------------------------------------------------------------------------------------


def test_many_users_at_once(module):
    """The environments of several threads share one pool, which grows while they use it."""
    expected = [play_threaded(module.__name__, seed)[0] for seed in range(3)]
    with ThreadPoolExecutor(6) as users:
        first = [users.submit(play_threaded, module.__name__, seed % 3) for seed in range(12)]
        wide = users.submit(threads.run, lambda lo, hi: hi - lo, 20 * threads.MIN_WORLDS_PER_THREAD, 7)
        then = [users.submit(play_threaded, module.__name__, seed % 3) for seed in range(12)]
        assert [future.result(timeout=60)[0] for future in first + then] == expected * 8
        assert wide.result(timeout=60) == 20 * threads.MIN_WORLDS_PER_THREAD


def test_parts_cover_all_worlds_once_and_errors_reach_the_caller():
    for worlds in (1, 511, 512, 513, 1000, 5003):
        for count in (1, 2, 3, 7):
            seen = np.zeros(worlds, int)

            def part(lo, hi, seen=seen):
                seen[lo:hi] += 1
                return hi - lo

            assert threads.run(part, worlds, count) == worlds
            assert (seen == 1).all()
    assert threads.run(lambda lo, hi: None, 1000, 3) == 0

    def fails(lo, hi):
        if lo:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        threads.run(fails, 1000, 2)
    assert threads.run(lambda lo, hi: 1, 1000, 2) == 2


def test_an_error_in_the_callers_part_waits_for_the_others():
    """Whoever catches it, a Ctrl-C too, finds arrays that nobody writes to any more."""
    finished = []

    def part(lo, hi):
        if lo == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        finished.append(lo)

    with pytest.raises(KeyboardInterrupt):
        threads.run(part, 1000, 2)
    assert finished == [500]


# Forked workers ---------------------------------------------------------------------------------------------------


def play_threaded(module_name, seed):
    module = sys.modules[module_name]
    env = module.vector_env(num_envs=3 * threads.MIN_WORLDS_PER_THREAD, num_threads=3)
    env.reset(seed=seed)
    for row in np.random.default_rng(0).random((4, env.num_envs, len(env.possible_agents), 8)):
        env.step(choose(env, row))
    return hashlib.sha256(env.state().tobytes()).hexdigest(), len(threads._workers), os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_workers_have_threads_of_their_own(module):
    """After a step with threads here: OpenMP, for one, would end such a worker, and a pool without threads hang it."""
    expected = [play_threaded(module.__name__, seed)[0] for seed in range(2)]
    assert len(threads._workers) >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python >= 3.12 warns of forks beside threads
        # One process each: a Pool may hang when it ends workers that were forked beside threads.
        fork, results = multiprocessing.get_context("fork"), []
        for seed in range(2):
            mine, theirs = fork.Pipe()
            worker = fork.Process(target=lambda s=seed, to=theirs: to.send(play_threaded(module.__name__, s)))
            worker.start()
            assert mine.poll(60), "the forked worker hangs"
            results.append(mine.recv())
            worker.join(10)
            worker.kill()
    assert [digest for digest, _, _ in results] == expected
    assert all(size >= 2 and pid != os.getpid() for _, size, pid in results)
    assert play_threaded(module.__name__, 0)[0] == expected[0]  # and the parent's still work


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_an_environment_made_before_the_fork_works_after_it(module):
    env = module.vector_env(num_envs=3 * threads.MIN_WORLDS_PER_THREAD, num_threads=3)
    env.reset(seed=1)
    actions = choose(env, np.random.default_rng(0).random((env.num_envs, len(env.possible_agents), 8)))
    env.step(actions)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            env.step(actions)
            os.write(writing, hashlib.sha256(env.state().tobytes()).digest())
        finally:
            os._exit(0)
    os.close(writing)
    env.step(actions)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == hashlib.sha256(env.state().tobytes()).digest()
    os.waitpid(child, 0)


def test_spawned_workers(module, python):
    """A process that starts from nothing unpickles an environment and plays on."""
    env = module.vector_env(num_envs=2)
    env.reset(seed=3)
    actions = {agent: np.array([1, 2]) for agent in env.possible_agents}
    env.step(actions)
    there = python(f"""
        import hashlib, pickle
        import numpy as np
        env = pickle.loads(bytes.fromhex({pickle.dumps(env).hex()!r}))
        env.step({{agent: np.array([1, 2]) for agent in env.possible_agents}})
        print(hashlib.sha256(env.state().tobytes()).hexdigest())
    """)
    env.step(actions)
    assert there.strip() == hashlib.sha256(env.state().tobytes()).hexdigest()
