"""Tag while collecting: a controller flees from an adversary while its collectors gather food in its range."""

from importlib import import_module


def __getattr__(name: str):
    if name in ("drawing", "game", "heuristics", "rules"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
