"""Our side of the speed benchmark: the default tag game, everything that a step returns counted.

`speed.py` starts this script; the plain MADDPG loop, which is no package of its own, is measured here as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import measure
from measure import Chunk, timed

EPISODE = 25


def parallel(with_reset: bool = False) -> Chunk:
    """One world, Parallel API."""
    import loops

    from mpe_ext import simple_tag_while_c_v0

    return loops.parallel_steps(simple_tag_while_c_v0.parallel_env(), with_reset)


def aec() -> Chunk:
    """One world, AEC API."""
    import loops

    from mpe_ext import simple_tag_while_c_v0

    return loops.aec_cycles(simple_tag_while_c_v0.env())


def vector(num_envs: int, copy: bool = False, num_threads: int | None = None) -> Chunk:
    """A batch through an episode of 25 steps; that all worlds reset at its end is counted."""
    import numpy as np

    from mpe_ext import simple_tag_while_c_v0

    env = simple_tag_while_c_v0.vector_env(num_envs=num_envs, copy=copy, num_threads=num_threads)
    draw = np.random.default_rng(0)
    plans = [
        {agent: draw.integers(env.action_space(agent).n, size=num_envs) for agent in env.possible_agents}
        for _ in range(5)
    ]
    env.reset(seed=0)

    def work() -> None:
        for step in range(EPISODE):
            env.step(plans[step % len(plans)])

    return timed(work, EPISODE * num_envs)


def update_round(kind: str, batch_size: int, threads: int, shared_batch: bool = False) -> Chunk:
    """MADDPG update rounds for the tag game's four agents, 64-64 networks, clipped gradients.

    Args:
        kind: "stacked" is ours, "plain" the loop over agents.
        batch_size: transitions an agent learns from.
        threads: of torch.
        shared_batch: one batch for all agents (ours only).
    """
    import plain_maddpg
    import torch

    torch.set_num_threads(threads)
    rows, rounds = 50_000, 5
    if kind == "plain":
        call = plain_maddpg.plain_round(batch_size, rows)
    else:
        options: dict[str, Any] = {"batch_size": batch_size, "shared_batch": shared_batch, "activation": "relu"}
        call = plain_maddpg.stacked_round(rows, **options)

    def work() -> None:
        for _ in range(rounds):
            call()

    return timed(work, rounds)


def versions() -> dict[str, str]:
    """Versions of what decides our speed."""
    from importlib.metadata import version

    import mpe_ext

    return {"mpe_ext": mpe_ext.__version__} | {name: version(name) for name in ("numba", "numpy", "torch")}


def memory(num_envs: int) -> float:
    """Bytes a world by which an episode of a batch with copy=False lets this process grow (resident pages)."""
    vector(256)()  # code, pools and caches are there before
    before = _resident()
    chunk = vector(num_envs)
    chunk()
    grown = _resident() - before
    plans = 5 * 4 * 8 * num_envs  # the benchmark's own actions
    return (grown - plans) / num_envs


def _resident() -> int:
    """Bytes of this process in memory."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the highest it ever was
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


_FIRST = """
import json, sys, time
start = time.perf_counter()
import mpe_ext
imported = time.perf_counter()
from mpe_ext import simple_tag_while_c_v0 as tag
env = tag.parallel_env() if sys.argv[1] == "parallel" else tag.vector_env(num_envs=1024)
env.reset(seed=0)
if sys.argv[1] == "parallel":
    env.step({agent: 0 for agent in env.agents})
else:
    import numpy
    env.step({agent: numpy.zeros(1024, int) for agent in env.possible_agents})
print(json.dumps({"import": imported - start, "first": time.perf_counter() - imported}))
"""


def first_call(face: str, cache: str) -> dict[str, float]:
    """Seconds in a fresh process with numba's cache in the folder `cache`.

    `import` is `import mpe_ext`; `first` all from there to the end of the first step (numba's import, the kernels
    compiled or loaded); `process` the whole process, from its start to its end.
    """
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-c", _FIRST, face],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
    )
    whole = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"the first call failed: {process.stderr.strip().splitlines()[-1]}")
    return json.loads(process.stdout) | {"process": whole, "announced": float("compiling" in process.stderr)}


def rules() -> dict[str, float]:
    """Nanoseconds a world-step of each rule of the tag game, on one core."""
    import phases

    return phases.measure()


if __name__ == "__main__":
    measure.serve(
        {"parallel": parallel, "aec": aec, "vector": vector, "update_round": update_round},
        {"versions": versions, "memory": memory, "first_call": first_call, "rules": rules},
    )
