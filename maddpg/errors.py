"""What a user can do wrong: the commands print the message on one line and exit with code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A request that cannot be met. The message is one sentence: what was given, and what would work."""


class EnvError(UserError):
    """An unknown game, or constructor arguments that it does not take."""


class RunError(UserError):
    """A run folder that is missing, damaged, in the way, or made for something else."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` where one of `known` is close to `name`, else the list of all, else nothing."""
    names = sorted(known)
    if close := difflib.get_close_matches(name, names, n=1, cutoff=0.6):
        return f"; did you mean {close[0]!r}?"
    return f"; known are {', '.join(names)}" if 0 < len(names) <= 12 else ""
