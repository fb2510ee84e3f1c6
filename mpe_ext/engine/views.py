"""Observations as the engine hands them out: an array, or a dict of arrays where the space is a `Dict`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mpe_ext.engine.jit import kernel


def copied(view: Any) -> Any:
    """The same observation in memory of its own."""
    return {key: part.copy() for key, part in view.items()} if isinstance(view, dict) else view.copy()


def zeros_like(view: Any) -> Any:
    """An observation of the same shape, all zero."""
    return {key: np.zeros_like(part) for key, part in view.items()} if isinstance(view, dict) else np.zeros_like(view)


def arrays(view: Any) -> Iterator[np.ndarray]:
    """The arrays of an observation."""
    return iter(view.values()) if isinstance(view, dict) else iter((view,))


@kernel
def keep_rows(lo, hi, which, filled, source, target):
    """target[w] = source[w] where which[w], else 0; `filled` says which rows are not 0 yet. numpy's masked copy looks
    at every number of the other rows as well."""
    for w in range(lo, hi):
        if which[w]:
            for k in range(source.shape[1]):
                target[w, k] = source[w, k]
        elif filled[w]:
            for k in range(source.shape[1]):
                target[w, k] = 0
