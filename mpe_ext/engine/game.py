"""What a game declares so that the engine can run it, batch it, convert it and draw it."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces

from mpe_ext.engine import params as parameters
from mpe_ext.engine.shared import Shared


class Kernels(NamedTuple):
    """A game's compiled loops over worlds lo .. hi-1. Tuples come in plain and are named inside the kernel:
    numba's dispatch of a named tuple costs twice as much."""

    reset: Callable  # (lo, hi, shared, state, rules) -> None: where shared.begin: reset and observe
    step: Callable  # (lo, hi, max_cycles, shared, state, rules) -> how many episodes ended
    observe: Callable  # (lo, hi, shared, state, rules) -> None: write the observations of the state as it is


class Game(ABC):
    """One game with one set of parameters. Holds no state of any episode.

    A subclass sets the class attributes, and in `__init__` the instance's: `agents` (names in world order) and,
    by agent, `observation_spaces` and `action_spaces` (`Discrete` from 0, or one-dimensional `Box`).
    """

    name: ClassVar[str]
    render_fps: ClassVar[int] = 10
    params_type: ClassVar[type]
    presets: ClassVar[dict[str, dict[str, Any]]]
    kernels: ClassVar[Kernels]

    agents: tuple[str, ...]
    observation_spaces: dict[str, spaces.Space]
    action_spaces: dict[str, spaces.Space]
    state_space: spaces.Box

    def __init__(self, params: Any):
        self.params = params

    @classmethod
    def make(cls, also: tuple[str, ...] = (), **arguments: Any) -> "Game":
        """The game with the preset's values, overridden by `arguments`; see `params.make`."""
        return cls(parameters.make(cls.params_type, cls.presets, arguments, also))

    @abstractmethod
    def numbers(self) -> tuple:
        """The parameters as kernels take them: numbers of fixed types (an int for a float would compile anew)."""

    @abstractmethod
    def allocate(self, num_envs: int) -> NamedTuple:
        """The game's own arrays, C-contiguous, worlds first. Info arrays hold what infos say at a reset."""

    @abstractmethod
    def observations(self, state: Any) -> dict[str, np.ndarray]:
        """By agent, the view of `state` that is its observation, worlds first."""

    @abstractmethod
    def infos(self, state: Any) -> dict[str, dict[str, np.ndarray]]:
        """By agent and key, the one-dimensional views of `state` (numeric, one entry a world)."""

    @abstractmethod
    def global_state(self, state: Any) -> np.ndarray:
        """The view of `state` that `env.state()` returns, worlds first."""

    @abstractmethod
    def draw(self, canvas: Any, shared: Shared, state: Any, w: int, max_cycles: int) -> None:
        """Draw world w, whose episodes last `max_cycles` steps. Changes nothing but the canvas."""

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments that make this game again."""
        return dataclasses.asdict(self.params)

    @property
    def control_width(self) -> int:
        """Numbers in the widest continuous action."""
        boxes = [s for s in self.action_spaces.values() if isinstance(s, spaces.Box)]
        return max((s.shape[0] for s in boxes), default=0)
