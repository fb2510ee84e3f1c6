"""What the PettingZoo faces share: a batch of one, with spaces, drawing, snapshots and copies of it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.vector import AutoresetMode

from mpe_ext.engine import actions as act
from mpe_ext.engine.game import Game
from mpe_ext.engine.seeding import as_seed
from mpe_ext.engine.vector import VectorEnv
from mpe_ext.engine.views import copied

RENDER_MODES = ("human", "rgb_array")


class OneWorld:
    """One world of a game. Its random stream is the one of world 0 of a vector environment with the same seed.

    Attributes:
        beliefs: by agent, what it believes of what it cannot see, for games whose picture shows that. Whoever plays
            may set it before `render()`; a reset empties it.
    """

    def __init__(self, game: Game, render_mode: str | None = None):
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode={render_mode!r}: must be None, {', '.join(map(repr, RENDER_MODES))}")
        self.game = game
        self.render_mode = render_mode
        self.metadata = {
            "name": game.name,
            "render_modes": list(RENDER_MODES),
            "render_fps": game.render_fps,
            "is_parallelizable": True,
        }
        self.possible_agents = list(game.agents)
        self.agents: list[str] = []
        self.beliefs: dict[str, np.ndarray] = {}
        self._canvas: Any = None
        self._connect(VectorEnv(game, 1, num_threads=1, autoreset_mode=AutoresetMode.DISABLED, copy=False))

    def _connect(self, worlds: VectorEnv) -> None:
        """Everything that a step reads, looked up once: a step takes a few microseconds in all."""
        self._worlds = worlds
        self._tuples = worlds._tuples
        e = worlds._shared
        self._actions, self._controls, self._acting = e.actions[0], e.controls[0], e.acting[0]
        self._rewards, self._terminated, self._truncated = e.rewards[0], e.terminated[0], e.truncated[0]
        self._look: dict[str, Callable[[], Any]] = {a: _copier(view) for a, view in worlds._observations.items()}
        self._readers = {
            agent: [(key, view.item if view.ndim == 1 else view[0].copy) for key, view in infos.items()]
            for agent, infos in worlds._infos.items()
        }
        self._index = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._spaces = self.game.action_spaces
        self._choices = {a: s.n if isinstance(s, spaces.Discrete) else 0 for a, s in self._spaces.items()}

    @property
    def acting(self) -> np.ndarray:
        """Who may act now, bool[agents], in the order of `possible_agents`."""
        return self._acting.copy()

    # Spaces ---------------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of the agent's observation; always the same object."""
        return act.look_up(self.game.observation_spaces, agent)

    def action_space(self, agent: str) -> spaces.Space:
        """Space of the agent's action; always the same object."""
        return act.look_up(self.game.action_spaces, agent)

    @property
    def state_space(self) -> spaces.Box:
        """Space of `state()`."""
        return self.game.state_space

    @property
    def max_cycles(self) -> int:
        """Steps after which the episode is truncated. May be assigned; counts from the next step on."""
        return self._worlds.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int) -> None:
        self._worlds.max_cycles = value

    def state(self) -> np.ndarray:
        """The global state, float32[size]."""
        self._demand_reset("state")
        return self.game.global_state(self._worlds._state)[0].copy()

    def events(self) -> list[Any]:
        """What happened in the latest step, for people; empty for games without events."""
        self._demand_reset("events")
        return self.game.events(self._worlds._state, 0)

    # Drawing --------------------------------------------------------------------------------------------------

    def render(self) -> np.ndarray | None:
        """The world as it is: a picture uint8[height, width, 3], or None after showing it in the window."""
        if self.render_mode is None:
            logger.warn(f"render() of {self} without a render_mode: give render_mode='rgb_array' or 'human'")
            return None
        self._demand_reset("render")
        if self._canvas is None:
            from mpe_ext.engine.canvas import Canvas  # pygame comes with the first drawing

            self._canvas = Canvas(self.game.picture, self.game.name)
        worlds = self._worlds
        self.game.draw(self._canvas, worlds._shared, worlds._state, 0, self.max_cycles, self.beliefs)
        if self.render_mode == "human":
            self._canvas.show(self.game.render_fps)
            return None
        return self._canvas.frame()

    def close(self) -> None:
        """Free the canvas and its window. May be called any number of times; rendering opens them again."""
        if self._canvas is not None:
            self._canvas.close()
            self._canvas = None

    # Copies ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that the future depends on, as copies of arrays by name."""
        return self._worlds.snapshot()

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Return to a `snapshot()`, mid-episode or not (see `VectorEnv.restore`)."""
        self._worlds.restore(snapshot)
        if self._worlds._started:
            self._step_kernel = self._worlds._kernel("step")
        gone = self._terminated | self._truncated
        playing = self._worlds._started and not self._worlds._shared.done[0]
        self.agents = [a for a, left in zip(self.possible_agents, gone, strict=True) if playing and not left]

    def __getstate__(self) -> dict[str, Any]:
        return {"game": type(self.game), "arguments": self.game.arguments(), "render_mode": self.render_mode,
                "beliefs": self.beliefs, "snapshot": self.snapshot()}  # fmt: skip

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        type(self).__init__(self, pickled["game"].make(**pickled["arguments"]), pickled["render_mode"])
        self.beliefs = pickled["beliefs"]
        self.restore(pickled["snapshot"])

    def __str__(self) -> str:
        return self.game.name

    # ----------------------------------------------------------------------------------------------------------

    def _begin(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        worlds = self._worlds
        if seed is None and not options and worlds._started:  # what reset() comes to then; short games feel the rest
            worlds._begin_all()
        else:
            worlds.reset(seed=None if seed is None else as_seed(seed), options=_for_one_world(options))
            self._step_kernel = worlds._kernel("step")
        self.agents = self.possible_agents[:]
        self.beliefs = {}

    def _report(self, agents: list[str]) -> dict[str, dict[str, Any]]:
        return {agent: {key: read() for key, read in self._readers[agent]} for agent in agents}

    def _demand_reset(self, name: str) -> None:
        if not self._worlds._started:
            raise RuntimeError(f"{name}() before reset(): call reset() first")


def _for_one_world(options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Without what only a batch knows: one world is always reset as a whole."""
    if isinstance(options, Mapping):
        return {key: value for key, value in options.items() if key != "reset_mask"}
    return options


def _copier(view: Any) -> Callable[[], Any]:
    if isinstance(view, dict):
        return partial(copied, {key: part[0] for key, part in view.items()})
    return view[0].copy
