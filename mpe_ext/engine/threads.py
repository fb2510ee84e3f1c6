"""One pool of threads for all batches of a process. Kernels release the GIL, so threads are real."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

MIN_WORLDS_PER_THREAD = 256  # below, handing work to a thread costs more than it saves

_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def available_cpus() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def _forget_pool() -> None:
    """A forked child has the pool object but none of its threads."""
    global _pool, _pool_size
    _pool, _pool_size = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def run(kernel: Callable[[int, int], int | None], num_worlds: int, num_threads: int) -> int:
    """Call kernel(lo, hi) over ranges that cover all worlds; the sum of what it returns."""
    global _pool, _pool_size
    parts = min(num_threads, num_worlds // MIN_WORLDS_PER_THREAD)
    if parts <= 1:
        return kernel(0, num_worlds) or 0
    if _pool_size < parts - 1:
        _pool, _pool_size = ThreadPoolExecutor(parts - 1, thread_name_prefix="mpe_ext"), parts - 1
    assert _pool is not None
    bounds = [num_worlds * i // parts for i in range(parts + 1)]
    futures = [_pool.submit(kernel, bounds[i], bounds[i + 1]) for i in range(1, parts)]
    total = kernel(0, bounds[1]) or 0
    return total + sum(f.result() or 0 for f in futures)
