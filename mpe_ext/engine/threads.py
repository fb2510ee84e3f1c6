"""One set of worker threads for all batches of a process. Kernels release the GIL, so threads are real.

A batch steps in a few hundred microseconds, and to wake a thread that sleeps takes fifty or more. So whoever waits, a
worker for its next part or the caller for the last one, first looks for a moment again and again whether it is there,
without the GIL and offering the core to all others at each look, and only then sleeps. What is computed does not depend
on it.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
from numba import types
from numba.core import config

from mpe_ext.engine.jit import kernel

MIN_WORLDS_PER_THREAD = 256  # below, handing work to a thread costs more than it saves
PATIENCE = 400  # looks, of half a microsecond or so each, before a thread sleeps

_workers: list["_Worker"] = []
_growing = threading.Lock()
_yields = hasattr(os, "sched_yield") and not config.DISABLE_JIT
_sched_yield = types.ExternalFunction("sched_yield", types.int32())


@kernel
def _look(flag, value, times):
    """Wait for flag[0] to differ from `value`, at most so many looks. Each look reads it anew, for all the compiler
    knows of the function called in between."""
    while flag[0] == value and times > 0:
        _sched_yield()
        times -= 1


class _Worker(threading.Thread):
    """Computes one part after the other, of whatever batch. A daemon, so that it never holds up the process's end."""

    def __init__(self) -> None:
        super().__init__(name="mpe_ext", daemon=True)
        self._parts: SimpleQueue = SimpleQueue()
        self._given = np.zeros(1, np.int64)  # parts so far

    def give(self, *part: Any) -> None:
        self._parts.put(part)
        self._given[0] += 1

    def run(self) -> None:
        while True:
            given = self._given[0]
            if _yields and self._parts.empty():
                _look(self._given, given, PATIENCE)
            kernel, lo, hi, finished, answers = self._parts.get()
            try:
                answers.put((kernel(lo, hi) or 0, None))
            except BaseException as error:  # any at all: the caller waits for an answer, and raises it
                answers.put((0, error))
            finished[0] = 1
            del kernel, finished, answers  # nothing of a batch lives on because a thread sleeps


def available_cpus() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def _forget_workers() -> None:
    """A forked child has the objects but none of the threads, and a lock that somebody may have held."""
    global _workers, _growing
    _workers, _growing = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def _at_least(count: int) -> list[_Worker]:
    with _growing:
        while len(_workers) < count:
            worker = _Worker()
            worker.start()
            _workers.append(worker)
    return _workers[:count]


def run(kernel: Callable[[int, int], int | None], num_worlds: int, num_threads: int) -> int:
    """Call kernel(lo, hi) over ranges that cover all worlds; the sum of what it returns.

    Returns, or raises what a part raised, when all parts are finished.
    """
    parts = min(num_threads, num_worlds // MIN_WORLDS_PER_THREAD)
    if parts <= 1:
        return kernel(0, num_worlds) or 0
    bounds = [num_worlds * i // parts for i in range(parts + 1)]
    finished = np.zeros((parts, 1), np.int64)
    answers: SimpleQueue = SimpleQueue()
    for i, worker in enumerate(_at_least(parts - 1), start=1):
        worker.give(kernel, bounds[i], bounds[i + 1], finished[i], answers)
    total, failed = 0, None
    try:
        total = kernel(0, bounds[1]) or 0
    finally:
        for i in range(1, parts):
            if _yields:
                _look(finished[i], 0, PATIENCE)
            answer, error = answers.get()
            total, failed = total + answer, failed or error
    if failed is not None:
        raise failed
    return total
