"""numba, configured once.

`rule` compiles a scalar rule of one world, `kernel` a loop over worlds. Kernels release the GIL and are cached on
disk, in a folder whose name holds the package version and a hash of all sources: numba itself does not notice when
a function in another file changes (numba issue 1833), and a folder of the user's also serves read-only installs.

NUMBA_CACHE_DIR moves the folder, NUMBA_DISABLE_JIT=1 runs the same functions as plain Python.
"""

import hashlib
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.misc.appdirs import AppDirs

from mpe_ext import __version__

_PACKAGE = Path(__file__).resolve().parent.parent


def _cache_folder() -> Path:
    digest = hashlib.blake2b(digest_size=8)
    for source in sorted(_PACKAGE.rglob("*.py")):
        digest.update(source.read_bytes())
    # Code with bounds checks and code without must not be mistaken for each other.
    checks = "-boundscheck" if config.BOUNDSCHECK else ""
    root = config.CACHE_DIR or AppDirs("mpe_ext", appauthor=False).user_cache_dir
    return Path(root) / f"mpe_ext-{__version__}-{digest.hexdigest()}{checks}"


CACHE_FOLDER = _cache_folder()
# Without numba's reference counts: a rule that takes tuples of arrays and branches would count every array up and down
# at each call, which made a step five times slower. Kernels allocate nothing, so nothing needs counting.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


@contextmanager
def _cache_folder_in_force():
    """numba reads its cache folder when a function is decorated: lend it ours for that moment only."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def rule(function: Callable) -> Callable:
    """Compile a scalar rule; it is inlined where it is called, so tuples of arrays cost nothing to hand over."""
    return numba.njit(**_OPTIONS, forceinline=True)(function)


def helper(function: Callable) -> Callable:
    """Compile a function of a few numbers that is called from many places: copies of it would take long to compile.
    Not for functions that take tuples of arrays, which are costly to hand over."""
    return numba.njit(**_OPTIONS)(function)


def kernel(function: Callable) -> Callable:
    """Compile a loop over worlds, cached on disk where some folder is writable."""
    if config.DISABLE_JIT:
        return np.errstate(over="ignore")(function)  # 64-bit wrap-around is meant; only plain Python warns of it
    with _cache_folder_in_force():
        try:
            return numba.njit(**_OPTIONS, cache=True)(function)
        except RuntimeError:  # numba found no folder to write to
            return numba.njit(**_OPTIONS)(function)


def bind(kernel: Any, *arguments: Any) -> Callable:
    """The compiled function behind a kernel, for arguments of these types; compiles it or loads it from the cache.

    Calling it skips numba's dispatch, which takes longer than the step of a world. The kernel is called once.
    """
    if config.DISABLE_JIT:
        return kernel
    kernel(*arguments)
    return kernel.get_overload(tuple(numba.typeof(argument) for argument in arguments))


def announce_compilation(name: str, kernels: list[Any]) -> None:
    """Tell the user, in one line on stderr, that the next seconds go into compiling `kernels` (if they do)."""
    for k in kernels:
        if config.DISABLE_JIT or k.signatures:
            continue
        pattern = f"{Path(k.py_func.__code__.co_filename).stem}.{k.py_func.__name__}-*.nbi"
        if not any(CACHE_FOLDER.rglob(pattern)):
            print(f"mpe_ext: compiling {name}, once (about half a minute)", file=sys.stderr, flush=True)
            return
