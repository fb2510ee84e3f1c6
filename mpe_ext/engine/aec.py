"""The PettingZoo AEC face of simultaneous games: PettingZoo's own conversion, with our checks."""

from typing import Any

import numpy as np
from pettingzoo.utils.conversions import parallel_to_aec_wrapper

from mpe_ext.engine import actions as act
from mpe_ext.engine.game import Game
from mpe_ext.engine.parallel import GameParallelEnv


class GameAECEnv(parallel_to_aec_wrapper):
    """One world of a game, agents moving one after the other; the world moves when all have spoken."""

    def __init__(self, game: Game, render_mode: str | None = None):
        super().__init__(GameParallelEnv(game, render_mode))
        self.game = game
        self.agents: list[str] = []

    @property
    def max_cycles(self) -> int:
        """Cycles after which the episode is truncated. May be assigned; counts from the next cycle on."""
        return self.env.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int) -> None:
        self.env.max_cycles = value

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`; None for an agent whose episode is over.

        Raises:
            RuntimeError: before `reset`, or when no agent is left.
            TypeError, ValueError: a wrong type, shape or value; nothing has changed then.
        """
        self._demand_reset("step")
        if not self.agents:
            raise RuntimeError("the episode is over: call reset() before the next step")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                raise ValueError(f"action of {agent!r} is {action!r}, but its episode is over: must be None")
        else:
            # The checked form is ours: the caller may reuse its array before the cycle is complete.
            action = act.check_one(agent, self.env.action_space(agent), action)
        super().step(action)

    def observe(self, agent: str) -> np.ndarray:
        """The agent's latest observation."""
        self._demand_reset("observe")
        if agent not in self._observations:
            act.check_names({agent: None}, self.possible_agents)
            raise KeyError(f"{agent!r} has left the episode")
        return self._observations[agent]

    def last(self, observe: bool = True):
        """Observation, reward since its last turn, termination, truncation and info of `agent_selection`."""
        self._demand_reset("last")
        if not self.agents:
            raise RuntimeError("the episode is over: call reset() before last()")
        return super().last(observe)

    def agent_iter(self, max_iter: int = 2**63):
        """Iterate over agents in the order in which they act."""
        self._demand_reset("agent_iter")
        return super().agent_iter(max_iter)

    def _demand_reset(self, name: str) -> None:
        if not hasattr(self, "_observations"):
            raise RuntimeError(f"{name}() before reset(): call reset() first")
