"""The PettingZoo AEC face of turn-based games: a batch of one, native."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from mpe_ext.engine import actions as act
from mpe_ext.engine.game import Game
from mpe_ext.engine.one_world import OneWorld

_TURNS = ("turns_selection", "turns_left", "turns_rewards")  # what a snapshot holds beside the world


class GameTurnsEnv(OneWorld, AECEnv):
    """One world of a turn-based game as a PettingZoo `AECEnv`.

    Args:
        game: what to play.
        render_mode: None, "human" (a window, drawn at every step) or "rgb_array" (`render()` returns a picture).
    """

    rewards: dict[str, float]
    _cumulative_rewards: dict[str, float]
    _told: dict[str, dict[str, Any]]  # infos that somebody has looked at since the last move
    terminations: dict[str, bool]
    truncations: dict[str, bool]

    def __init__(self, game: Game, render_mode: str | None = None):
        OneWorld.__init__(self, game, render_mode)
        self.metadata["is_parallelizable"] = False  # PettingZoo means: by letting all act before the world moves
        self.agent_selection = self.possible_agents[0]
        self._no_rewards = dict.fromkeys(self.possible_agents, 0.0)
        self._set_all([], [])

    def reset(self, seed: int | None = None, options: dict | None = None) -> None:
        """Begin a new episode. Without a seed the random stream goes on. What `options` may fix is the game's to say;
        other keys are ignored."""
        self._begin(seed, options)
        agents = self.agents
        self.rewards, self._cumulative_rewards = dict.fromkeys(agents, 0.0), dict.fromkeys(agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(agents, False), dict.fromkeys(agents, False)
        self._told = {}
        self.agent_selection = self.possible_agents[self._acting.tolist().index(True)]
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`; None for an agent whose episode is over.

        Raises:
            RuntimeError: before `reset`, or when no agent is left.
            TypeError, ValueError: a wrong type or value; nothing has changed then.
        """
        agent = self.agent_selection
        if not self.agents:
            self._demand_reset("step")
            raise RuntimeError("the episode is over: call reset() before the next step")
        if self.terminations[agent] or self.truncations[agent]:
            if action is not None:
                n = self._choices[agent]
                raise ValueError(
                    f"action of {agent!r} is {action!r}, but its episode is over: must be None (before: 0 .. {n - 1})"
                )
            self._leave(agent)
            return
        if type(action) is not int or not 0 <= action < self._choices[agent]:
            action = act.check_one(agent, self._spaces[agent], action)
        mover = self._index[agent]
        self._actions[mover] = action
        over = self._step_kernel(0, 1, self._worlds._max_cycles, *self._tuples)

        rewards, cumulative = self._rewards.tolist(), self._cumulative_rewards
        cumulative[agent] = 0.0
        if any(rewards):
            self.rewards = dict(zip(self.possible_agents, rewards, strict=True))
            for name, reward in self.rewards.items():
                cumulative[name] += reward
        else:
            self.rewards = self._no_rewards.copy()
        self._told = {}
        if over:
            self._flags()
            self.agent_selection = self.possible_agents[(mover + 1) % len(rewards)]
        else:
            self.agent_selection = self.possible_agents[self._acting.tolist().index(True)]
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Any:
        """What the agent sees now, whoever acts next, and also after the end."""
        self._demand_reset("observe")
        return act.look_up(self._look, agent)()

    def last(self, observe: bool = True) -> tuple:
        """Observation, reward since its last turn, termination, truncation and info of `agent_selection`."""
        agent = self.agent_selection
        if not self.agents:
            self._demand_reset("last")
            raise RuntimeError("the episode is over: call reset() before last()")
        return (
            self._look[agent]() if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self._told.get(agent) or self._tell(agent),
        )

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Infos of the agents that are there, written when somebody looks."""
        for agent in self.agents:
            self._tell(agent)
        return self._told

    def _tell(self, agent: str) -> dict[str, Any]:
        info = self._told.get(agent)
        if info is None:
            info = self._told[agent] = {key: read() for key, read in self._readers[agent]}
        return info

    def agent_iter(self, max_iter: int = 2**63) -> Iterable[str]:
        """Iterate over agents in the order in which they act."""
        self._demand_reset("agent_iter")
        return super().agent_iter(max_iter)

    # Copies ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that the future depends on, as copies of arrays by name."""
        left = [agent not in self.agents for agent in self.possible_agents]
        rewards = [self._cumulative_rewards.get(agent, 0.0) for agent in self.possible_agents]
        mine = (np.array(self._index[self.agent_selection]), np.array(left), np.array(rewards, np.float64))
        return super().snapshot() | dict(zip(_TURNS, mine, strict=True))

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Return to a `snapshot()` of this form, mid-episode or not (see `VectorEnv.restore`)."""
        if missing := [name for name in _TURNS if name not in snapshot]:
            raise ValueError(f"the snapshot is not one of an AEC environment: missing {', '.join(missing)}")
        super().restore({name: array for name, array in snapshot.items() if name not in _TURNS})
        selection, left, rewards = (snapshot[name].tolist() for name in _TURNS)
        self.agents = [agent for agent, gone in zip(self.possible_agents, left, strict=True) if not gone]
        self.agent_selection = self.possible_agents[selection]
        self._set_all(self.agents, [r for r, gone in zip(rewards, left, strict=True) if not gone])

    # ----------------------------------------------------------------------------------------------------------

    def _set_all(self, agents: list[str], cumulative: list[float]) -> None:
        """The dicts of AEC for the agents that are there."""
        # Once somebody has left, nobody earns anything any more.
        whole = len(agents) == len(self.possible_agents)
        self.rewards = {agent: float(self._rewards[self._index[agent]]) if whole else 0.0 for agent in agents}
        self._cumulative_rewards = dict(zip(agents, cumulative, strict=True))
        self._told = {}
        self.terminations, self.truncations = dict.fromkeys(agents, False), dict.fromkeys(agents, False)
        self._flags()

    def _flags(self) -> None:
        for agent in self.terminations:
            i = self._index[agent]
            self.terminations[agent], self.truncations[agent] = bool(self._terminated[i]), bool(self._truncated[i])

    def _leave(self, agent: str) -> None:
        """An agent whose episode is over has said so; all end at once, so the others follow in their order."""
        for by_agent in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards):
            del by_agent[agent]
        self._told.pop(agent, None)
        self.agents.remove(agent)
        self.rewards = dict.fromkeys(self.rewards, 0.0)
        if self.agents:
            self.agent_selection = self.agents[0]
