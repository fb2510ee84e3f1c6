"""What a game declares so that the engine can run it, batch it, convert it and draw it."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
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


class Episodes(NamedTuple):
    """E finished episodes, arrays with E first."""

    lengths: np.ndarray  # steps
    returns: dict[str, np.ndarray]  # by agent, undiscounted
    sums: dict[str, dict[str, np.ndarray]]  # by agent and key: its infos added up over the steps
    last: dict[str, dict[str, np.ndarray]]  # by agent and key: its infos at the last step
    final_observations: dict[str, np.ndarray]  # by agent


class Game(ABC):
    """One game with one set of parameters. Holds no state of any episode.

    A subclass sets the class attributes, and in `__init__` the instance's: `agents` (names in world order) and,
    by agent, `observation_spaces` (`Box`, or `Dict` of arrays) and `action_spaces` (`Discrete` from 0, or
    one-dimensional `Box`).
    """

    name: ClassVar[str]
    render_fps: ClassVar[int] = 10
    picture: ClassVar[tuple[int, int]] = (700, 700)  # width and height, pixels
    turn_based: ClassVar[bool] = False  # one agent acts at a time: the rules call `give_turn`
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
        """By agent, the view of `state` that is its observation, worlds first; a dict of views for a `Dict` space."""

    @abstractmethod
    def infos(self, state: Any) -> dict[str, dict[str, np.ndarray]]:
        """By agent and key, views of `state`: numeric, one entry a world (a mask has a row a world)."""

    @abstractmethod
    def global_state(self, state: Any) -> np.ndarray:
        """What `env.state()` returns, worlds first: a view of `state`, or made from it."""

    @abstractmethod
    def draw(
        self, canvas: Any, shared: Shared, state: Any, w: int, max_cycles: int, beliefs: Mapping[str, np.ndarray]
    ) -> None:
        """Draw world w, whose episodes last at most `max_cycles` steps. Changes nothing but the canvas.

        `beliefs` says by agent what it believes of what it cannot see, where whoever plays it has told.
        """

    def read_options(self, options: Mapping[str, Any], num_envs: int) -> Any:
        """What `reset(options=...)` fixes in the next episodes, checked; None where it fixes nothing.

        Keys that the game does not know are ignored. Raises TypeError or ValueError; nothing has changed then.
        """
        return None

    def before_reset(self, fixed: Any, state: Any, mask: np.ndarray) -> None:  # noqa: B027 (most games fix nothing)
        """Prepare the reset of the worlds of bool[num_envs] `mask`; `fixed` is what `read_options` returned."""

    def after_reset(self, fixed: Any, shared: Shared, state: Any, mask: np.ndarray) -> None:  # noqa: B027
        """Write what is fixed (never None here) over what was drawn; observations are written anew afterwards."""

    def events(self, state: Any, w: int) -> list[Any]:
        """What happened in the latest step of world w, for people; nothing where the game has no events."""
        return []

    def metrics(self, episodes: Episodes) -> dict[str, np.ndarray]:
        """What is worth knowing of each of E finished episodes: numbers [E] by name, NaN where one does not apply."""
        return {}

    def outside_split(self, episodes: Episodes) -> int:
        """How many of these episodes had private states outside the part that the parameter `split` names."""
        return 0

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments that make this game again."""
        return dataclasses.asdict(self.params)

    @property
    def control_width(self) -> int:
        """Numbers in the widest continuous action."""
        boxes = [s for s in self.action_spaces.values() if isinstance(s, spaces.Box)]
        return max((s.shape[0] for s in boxes), default=0)
