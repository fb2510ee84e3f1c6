"""mpe_ext: PettingZoo environments for studying cooperation.

Importing the package registers its environments with PettingZoo and loads nothing heavy: numba comes with the first
environment, pygame with the first drawing.
"""

from importlib import import_module

from mpe_ext.all_modules import MODULES, register_all

__version__ = "0.1.0"

_LAZY = {*MODULES, *(name.rsplit("_v", 1)[0] for name in MODULES)}

register_all()


def __getattr__(name: str):
    if name in _LAZY:
        return import_module(f"mpe_ext.{name}")
    raise AttributeError(f"module 'mpe_ext' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
