"""The PettingZoo Parallel face: a batch of one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.vector import AutoresetMode
from pettingzoo import ParallelEnv

from mpe_ext.engine import actions as act
from mpe_ext.engine.game import Game
from mpe_ext.engine.seeding import as_seed
from mpe_ext.engine.vector import VectorEnv

RENDER_MODES = ("human", "rgb_array")


class GameParallelEnv(ParallelEnv):
    """One world of a game as a PettingZoo `ParallelEnv`.

    Its random stream is the one of world 0 of a vector environment with the same seed.

    Args:
        game: what to play.
        render_mode: None, "human" (a window, drawn at every step) or "rgb_array" (`render()` returns a picture).
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
        self._canvas: Any = None
        self._connect(VectorEnv(game, 1, num_threads=1, autoreset_mode=AutoresetMode.DISABLED, copy=False))

    def _connect(self, worlds: VectorEnv) -> None:
        """Everything that a step reads, looked up once: a step takes a few microseconds in all."""
        self._worlds = worlds
        self._tuples = worlds._tuples
        e = worlds._shared
        self._actions, self._controls = e.actions[0], e.controls[0]
        self._rewards, self._terminated, self._truncated = e.rewards[0], e.terminated[0], e.truncated[0]
        self._rows = {agent: view[0] for agent, view in worlds._observations.items()}
        self._readers = {
            agent: [(key, view.item) for key, view in infos.items()] for agent, infos in worlds._infos.items()
        }
        self._index = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._spaces = self.game.action_spaces
        self._choices = {a: s.n if isinstance(s, spaces.Discrete) else 0 for a, s in self._spaces.items()}

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

    # Episodes -------------------------------------------------------------------------------------------------

    def reset(
        self, seed: int | None = None, options: dict | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict]]:
        """Begin a new episode: (observations, infos). Without a seed the random stream goes on. Options are ignored."""
        self._worlds.reset(seed=None if seed is None else as_seed(seed))
        self._step_kernel = self._worlds._kernel("step")
        self.agents = self.possible_agents[:]
        if self.render_mode == "human":
            self.render()
        return self._observe(self.agents), self._report(self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Play one step: (observations, rewards, terminations, truncations, infos), dicts by living agent.

        After the end, `step({})` returns five empty dicts. Actions of agents that have left are ignored.

        Raises:
            RuntimeError: before `reset`, or with actions after the end.
            KeyError, TypeError, ValueError: an unknown agent, a missing action, a wrong type, shape or value; nothing
                has changed then.
        """
        agents = self.agents
        if not agents:
            return self._no_step(actions)
        if type(actions) is not dict:
            act.check_names(actions, self.possible_agents)
        checked = []
        for agent in agents:
            if agent not in actions:
                act.check_names(actions, self.possible_agents)
                raise KeyError(f"no action for {agent!r} (agents that act now: {', '.join(agents)})")
            action = actions[agent]
            if type(action) is not int or not 0 <= action < self._choices[agent]:
                action = act.check_one(agent, self._spaces[agent], action)
            checked.append(action)
        if len(actions) != len(agents):
            act.check_names(actions, self.possible_agents)
        for agent, action in zip(agents, checked, strict=True):
            if type(action) is int:
                self._actions[self._index[agent]] = action
            else:
                self._controls[self._index[agent], : len(action)] = action
        self._step_kernel(0, 1, self._worlds._max_cycles, *self._tuples)

        everyone = self.possible_agents
        rewards = dict(zip(everyone, self._rewards.tolist(), strict=True))
        observations, infos = self._observe(agents), self._report(agents)
        terminated, truncated = self._terminated.tolist(), self._truncated.tolist()
        if True not in terminated and True not in truncated:
            terminations, truncations = dict.fromkeys(agents, False), dict.fromkeys(agents, False)
        else:
            terminations = {agent: terminated[self._index[agent]] for agent in agents}
            truncations = {agent: truncated[self._index[agent]] for agent in agents}
            rewards = {agent: rewards[agent] for agent in agents}
            self.agents = [a for a in agents if not (terminations[a] or truncations[a])]
        if self.render_mode == "human":
            self.render()
        return observations, rewards, terminations, truncations, infos

    def state(self) -> np.ndarray:
        """The global state, float32[size]."""
        self._demand_reset("state")
        return self.game.global_state(self._worlds._state)[0].copy()

    # Drawing --------------------------------------------------------------------------------------------------

    def render(self) -> np.ndarray | None:
        """The world as it is: a picture uint8[height, width, 3], or None after showing it in the window."""
        if self.render_mode is None:
            logger.warn(f"render() of {self} without a render_mode: give render_mode='rgb_array' or 'human'")
            return None
        self._demand_reset("render")
        if self._canvas is None:
            from mpe_ext.engine.canvas import Canvas  # pygame comes with the first drawing

            self._canvas = Canvas(title=self.game.name)
        self.game.draw(self._canvas, self._worlds._shared, self._worlds._state, 0, self.max_cycles)
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
                "snapshot": self.snapshot()}  # fmt: skip

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        GameParallelEnv.__init__(self, pickled["game"].make(**pickled["arguments"]), pickled["render_mode"])
        self.restore(pickled["snapshot"])

    def __str__(self) -> str:
        return self.game.name

    # ----------------------------------------------------------------------------------------------------------

    def _observe(self, agents: list[str]) -> dict[str, np.ndarray]:
        return {agent: self._rows[agent].copy() for agent in agents}

    def _report(self, agents: list[str]) -> dict[str, dict[str, Any]]:
        return {agent: {key: read() for key, read in self._readers[agent]} for agent in agents}

    def _no_step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        self._demand_reset("step")
        if actions:
            raise RuntimeError("the episode is over: call reset() before the next step")
        return {}, {}, {}, {}, {}

    def _demand_reset(self, name: str) -> None:
        if not self._worlds._started:
            raise RuntimeError(f"{name}() before reset(): call reset() first")
