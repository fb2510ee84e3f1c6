"""A Python loop over PettingZoo parallel environments with the interface of our vector environments."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from maddpg.errors import EnvError


class PettingZooWorlds:
    """Copies of one ParallelEnv; a world whose episode ends starts the next one in the same step.

    Observations are flattened to float32 [num_envs, d] (one-hot for Discrete ones); rewards are float64
    [num_envs]; discrete actions count from 0 whatever the space starts at. An agent that has left keeps its
    terminated and truncated flags, reward 0 and a zero observation until the episode of its world ends.

    Episode k of world w is reset with a seed derived from (seed, w, k), so that games which draw fresh
    entropy at an unseeded reset are repeatable too. The envs cannot be stored in the middle of an episode.
    """

    def __init__(self, envs: Sequence[Any]) -> None:
        self.envs = list(envs)
        first = self.envs[0]
        self.num_envs = len(self.envs)
        self.possible_agents: list[str] = list(first.possible_agents)
        self.metadata: dict[str, Any] = dict(getattr(first, "metadata", {}))
        cycles = getattr(first, "max_cycles", None) or getattr(first.unwrapped, "max_cycles", None)
        self.max_cycles: int | None = int(cycles) if cycles is not None else None
        self._inner = {a: first.observation_space(a) for a in self.possible_agents}
        self._observation_spaces = {a: flat_space(a, s) for a, s in self._inner.items()}
        self._action_spaces = {a: _from_zero(first.action_space(a)) for a in self.possible_agents}
        self._start = {a: int(getattr(first.action_space(a), "start", 0)) for a in self.possible_agents}
        self._box = {a: s for a in self.possible_agents if isinstance(s := first.action_space(a), spaces.Box)}
        shape = (len(self.possible_agents), self.num_envs)
        self._index = {a: i for i, a in enumerate(self.possible_agents)}
        self._acting, self._gone_terminated, self._gone_truncated = (np.zeros(shape, bool) for _ in range(3))
        self._returns = np.zeros(shape)
        self._lengths = np.zeros(shape, np.int64)
        self._episodes = np.zeros(self.num_envs, np.int64)
        self._entropy: list[tuple[int, ...]] = []

    def observation_space(self, agent: str) -> spaces.Space:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self._action_spaces[agent]

    def reset(
        self, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Starts every world anew; without a seed the episodes after the present ones follow."""
        if isinstance(seed, (list, tuple)):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed has {len(seed)} entries for {self.num_envs} worlds")
            self._entropy = [(int(s), 0) for s in seed]
        elif seed is not None or not self._entropy:
            base = secrets.randbits(63) if seed is None else int(seed)
            self._entropy = [(base, world) for world in range(self.num_envs)]
        if seed is not None:
            self._episodes[:] = 0
        observations = self._zeros()
        for world in range(self.num_envs):
            self._restart(world, observations)
        return observations, self._infos()

    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict[str, Any], ...]:
        """One step of every world; `actions` as in our vector environments."""
        observations, final = self._zeros(), None
        rewards = {a: np.zeros(self.num_envs) for a in self.possible_agents}
        terminated, truncated = self._gone_terminated.copy(), self._gone_truncated.copy()
        ended = []
        for world, env in enumerate(self.envs):
            present = [a for a in self.possible_agents if self._acting[self._index[a], world]]
            obs, reward, term, trunc, _ = env.step({a: self._decode(a, actions[a][world]) for a in present})
            for agent in present:
                i = self._index[agent]
                rewards[agent][world] = reward.get(agent, 0.0)
                terminated[i, world] = bool(term.get(agent, False))
                truncated[i, world] = bool(trunc.get(agent, False))
                self._returns[i, world] += rewards[agent][world]
                self._lengths[i, world] += 1
            self._write(world, obs, observations)
            living = set(env.agents)
            for agent, i in self._index.items():
                self._acting[i, world] = agent in living
            if not living:
                ended.append(world)
        self._gone_terminated, self._gone_truncated = terminated & ~self._acting, truncated & ~self._acting
        returns, lengths = self._returns.copy(), self._lengths.copy()
        if ended:
            final = {a: o.copy() for a, o in observations.items()}
            for world in ended:
                self._restart(world, observations)
        infos = self._infos(returns, lengths)
        if final is not None:
            infos["final_obs"] = final
            infos["_final_obs"] = np.isin(np.arange(self.num_envs), ended)
        index = self._index
        terminations = {a: terminated[i].copy() for a, i in index.items()}
        truncations = {a: truncated[i].copy() for a, i in index.items()}
        return observations, rewards, terminations, truncations, infos

    def close(self) -> None:
        for env in self.envs:
            env.close()

    def _zeros(self) -> dict[str, np.ndarray]:
        return {a: np.zeros((self.num_envs, *(s.shape or ())), np.float32) for a, s in self._observation_spaces.items()}

    def _restart(self, world: int, observations: dict[str, np.ndarray]) -> None:
        env = self.envs[world]
        words = np.random.SeedSequence((*self._entropy[world], int(self._episodes[world])))
        obs, _ = env.reset(seed=int(words.generate_state(1)[0] >> 1))
        self._episodes[world] += 1
        for agent, i in self._index.items():
            observations[agent][world] = 0
            self._acting[i, world] = agent in env.agents
        for array in (self._gone_terminated, self._gone_truncated, self._returns, self._lengths):
            array[:, world] = 0
        self._write(world, obs, observations)

    def _write(self, world: int, obs: dict[str, Any], observations: dict[str, np.ndarray]) -> None:
        for agent, value in obs.items():
            observations[agent][world] = flat(self._inner[agent], value)

    def _decode(self, agent: str, action: Any) -> Any:
        if (box := self._box.get(agent)) is not None:
            return np.clip(np.asarray(action, box.dtype).reshape(box.shape), box.low, box.high)
        return int(action) + self._start[agent] if np.ndim(action) == 0 else np.asarray(action)

    def _infos(self, returns: np.ndarray | None = None, lengths: np.ndarray | None = None) -> dict[str, Any]:
        returns = self._returns.copy() if returns is None else returns
        lengths = self._lengths.copy() if lengths is None else lengths
        infos: dict[str, Any] = {
            a: {"episode_return": returns[i], "episode_length": lengths[i]} for a, i in self._index.items()
        }
        infos["acting"] = self._acting.T.copy()
        return infos


def flat_space(agent: str, space: spaces.Space) -> spaces.Space:
    """The float32 Box into which observations of `space` are flattened; EnvError where that loses something."""
    if isinstance(space, spaces.Box):
        low, high = (bound.astype(np.float32).reshape(-1) for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=np.float32)
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        return spaces.Box(0.0, 1.0, (spaces.flatdim(space),), np.float32)
    raise EnvError(
        f"observations of {agent} are {type(space).__name__}, which cannot be trained on; "
        "the game must offer Box or Discrete observations"
    )


def flat(space: spaces.Space, value: Any) -> np.ndarray:
    """An observation of `space` as float32 [d]; zeros for None, what an agent that has left sees."""
    if value is None:
        return np.zeros(spaces.flatdim(space), np.float32)
    if isinstance(space, spaces.Box):
        return np.asarray(value, np.float32).reshape(-1)
    return np.asarray(spaces.flatten(space, value), np.float32)


def _from_zero(space: spaces.Space) -> spaces.Space:
    return spaces.Discrete(int(space.n)) if isinstance(space, spaces.Discrete) else space
