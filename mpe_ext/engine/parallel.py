"""The PettingZoo Parallel face: a batch of one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from mpe_ext.engine import actions as act
from mpe_ext.engine.one_world import OneWorld


class GameParallelEnv(OneWorld, ParallelEnv):
    """One world of a game as a PettingZoo `ParallelEnv`.

    In a turn-based game only the agent whose turn it is needs an action; those of the others are ignored.

    Args:
        game: what to play.
        render_mode: None, "human" (a window, drawn at every step) or "rgb_array" (`render()` returns a picture).
    """

    # Episodes -------------------------------------------------------------------------------------------------

    def reset(
        self, seed: int | None = None, options: dict | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict]]:
        """Begin a new episode: (observations, infos). Without a seed the random stream goes on. What `options` may
        fix is the game's to say; other keys are ignored."""
        self._begin(seed, options)
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
        movers = agents
        if self.game.turn_based:
            movers = [agent for agent, acts in zip(self.possible_agents, self._acting.tolist(), strict=True) if acts]
        for agent in movers:
            if agent not in actions:
                act.check_names(actions, self.possible_agents)
                raise KeyError(f"no action for {agent!r} (agents that act now: {', '.join(movers)})")
            action = actions[agent]
            if type(action) is not int or not 0 <= action < self._choices[agent]:
                action = act.check_one(agent, self._spaces[agent], action)
            checked.append(action)
        if len(actions) != len(agents):
            act.check_names(actions, self.possible_agents)
        for agent, action in zip(movers, checked, strict=True):
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

    # ----------------------------------------------------------------------------------------------------------

    def _observe(self, agents: list[str]) -> dict[str, Any]:
        return {agent: self._look[agent]() for agent in agents}

    def _no_step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        self._demand_reset("step")
        if actions:
            raise RuntimeError("the episode is over: call reset() before the next step")
        return {}, {}, {}, {}, {}
