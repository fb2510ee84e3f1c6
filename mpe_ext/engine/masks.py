"""Wrappers that put a mask of sensible actions beside the observation, computed from that observation alone.

They turn Box observations into `{"observation", "action_mask"}`. An agent that may not act now, and everybody after the
end, has a mask of ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from mpe_ext.engine.parallel import GameParallelEnv

Mask = Callable[[Any, str, np.ndarray], np.ndarray]  # (game, agent, observation[d]) -> int8[n]


def masked(env: Any, mask: Mask) -> Any:
    """The AEC or Parallel environment `env` with a mask in its observations. Raises ValueError for other forms."""
    game = env.unwrapped.game
    if game.params.observation_format != "box":
        raise ValueError(
            f"observation_format={game.params.observation_format!r}: its observations hold a mask already; "
            "make the environment with observation_format='box'"
        )
    return (MaskedParallel if isinstance(env.unwrapped, GameParallelEnv) else MaskedAEC)(env, mask)


class _Masked:
    """What both wrappers do."""

    env: Any

    def _wrap(self, mask: Mask) -> None:
        self._mask, self._game = mask, self.env.unwrapped.game
        self._spaces = {
            agent: spaces.Dict(
                {
                    "observation": self.env.observation_space(agent),
                    "action_mask": spaces.Box(0, 1, (self.env.action_space(agent).n,), np.int8),
                }
            )
            for agent in self.env.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of the observation with its mask; always the same object."""
        return self._spaces[agent] if agent in self._spaces else self.env.observation_space(agent)

    def _with_mask(self, agent: str, observation: np.ndarray) -> dict[str, np.ndarray]:
        world = self.env.unwrapped
        if world._acting[world._index[agent]]:
            mask = self._mask(self._game, agent, observation)
        else:
            mask = np.ones(self.env.action_space(agent).n, np.int8)
        return {"observation": observation, "action_mask": mask}


class MaskedAEC(_Masked, BaseWrapper):
    """An AEC environment whose observations hold a mask."""

    def __init__(self, env: Any, mask: Mask):
        BaseWrapper.__init__(self, env)
        self._wrap(mask)

    def observe(self, agent: str) -> Any:
        """The agent's observation and mask."""
        return self._with_mask(agent, self.env.observe(agent))

    def last(self, observe: bool = True) -> tuple:
        """Observation with mask, reward since its last turn, termination, truncation and info of the agent to act."""
        _, *rest = self.env.last(observe=False)
        return (self.observe(self.agent_selection) if observe else None, *rest)


class MaskedParallel(_Masked, BaseParallelWrapper):
    """A Parallel environment whose observations hold a mask."""

    def __init__(self, env: Any, mask: Mask):
        BaseParallelWrapper.__init__(self, env)
        self._wrap(mask)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begin a new episode: (observations with masks, infos)."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return {a: self._with_mask(a, o) for a, o in observations.items()}, infos

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Play one step."""
        observations, *rest = self.env.step(actions)
        return ({a: self._with_mask(a, o) for a, o in observations.items()}, *rest)
