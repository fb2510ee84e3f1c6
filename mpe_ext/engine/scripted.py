"""What a room says of each of its scripted policies (`POLICIES` in its heuristics.py)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Policy = Callable[[np.ndarray], np.ndarray]  # observations float32[W, size] -> actions int64[W] or float32[W, k]


class Scripted(NamedTuple):
    """One scripted policy. Some policies also have `beliefs(observations)`, float64[W, n], for the drawing."""

    make: Callable[[Any, str, int], Policy]  # (game, agent, seed of its random choices)
    roles: tuple[str, ...]  # that can play it: agents' names up to the first number; empty: all
    meaning: str  # one line

    def __call__(self, game: Any, agent: str, seed: int = 0) -> Policy:
        """The policy of one agent of a game."""
        return self.make(game, agent, seed)
