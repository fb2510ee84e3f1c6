"""Playing worlds step by step: transitions for the learner, and the returns of episodes that ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maddpg.worlds import Worlds

Arrays = dict[str, np.ndarray]
Act = Callable[[Arrays], Arrays]


@dataclass
class Transition:
    """One step of all worlds, by agent. `next_observations` are the true ones, not those after a restart;
    `terminated` speaks of the game's end for an agent, never of the time limit; `valid` [num_envs] is False
    where the agent did not act (it was another's turn, or it had left before), `deciding` says who acts next, and
    `ended` where the episode is over."""

    observations: Arrays
    actions: Arrays
    rewards: Arrays
    next_observations: Arrays
    terminated: Arrays
    valid: Arrays
    deciding: Arrays
    ended: np.ndarray


class Collector:
    """The worlds of a run and where they stand."""

    def __init__(self, worlds: Worlds, seed: int) -> None:
        self.worlds = worlds
        self.agents = list(worlds.possible_agents)
        observations, infos = worlds.reset(seed=seed)
        self.observations = copied(observations, self.agents)
        self.acting = infos["acting"].copy()
        self.episodes = 0
        self.recent = EpisodeSums(self.agents)
        self.rolling = Rolling()

    def step(self, act: Act) -> Transition:
        """Plays one step of every world with the actions that `act` gives for the observations."""
        before, acting = self.observations, self.acting
        actions = act(before)
        observations, rewards, terminated, _, infos = self.worlds.step(actions)
        # The worlds may hand out views that the next step overwrites; the buffer and the next act need them.
        self.observations = copied(observations, self.agents)
        self.acting = infos["acting"].copy()
        following = self.observations
        ended = infos["_final_obs"].copy() if "_final_obs" in infos else np.zeros(len(acting), np.bool_)
        if ended.any():
            final, rows = infos["final_obs"], ended[:, None]
            following = {a: np.where(rows, final[a], following[a]) for a in self.agents}
            self.episodes += int(ended.sum())
            sums = {a: float(infos[a]["episode_return"][ended].sum()) for a in self.agents}
            self.recent.add(sums, int(ended.sum()))
            self.rolling.add(sums, int(ended.sum()))
        valid = {a: acting[:, i] for i, a in enumerate(self.agents)}
        deciding = {a: self.acting[:, i] for i, a in enumerate(self.agents)}
        return Transition(before, actions, rewards, following, terminated, valid, deciding, ended)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Where the worlds stand, as arrays and JSON-able values; without a snapshot if they offer none."""
        arrays: Arrays = {}
        if (snapshot := getattr(self.worlds, "snapshot", None)) is not None:
            arrays = {f"worlds/{k}": np.asarray(v) for k, v in snapshot().items()}
            arrays |= {f"observations/{a}": o for a, o in self.observations.items()}
            arrays["acting"] = self.acting
        return arrays, {"episodes": self.episodes, "recent": self.recent.state()}

    def load(self, arrays: Arrays, state: dict[str, Any]) -> bool:
        """Goes on from what `state` gave. Returns False where the worlds could only be started anew."""
        self.episodes = state["episodes"]
        self.recent.load(state["recent"])
        restore = getattr(self.worlds, "restore", None)
        if restore is None or "acting" not in arrays:
            return False
        restore({k.removeprefix("worlds/"): v for k, v in arrays.items() if k.startswith("worlds/")})
        self.observations = {a: arrays[f"observations/{a}"].copy() for a in self.agents}
        self.acting = arrays["acting"].copy()
        return True


class EpisodeSums:
    """Mean episode return of each agent since the last `take`."""

    def __init__(self, agents: list[str]) -> None:
        self.sums = dict.fromkeys(agents, 0.0)
        self.count = 0

    def add(self, sums: dict[str, float], count: int) -> None:
        for agent, value in sums.items():
            self.sums[agent] += value
        self.count += count

    def take(self) -> dict[str, float]:
        """The means, empty if no episode ended; starts counting anew."""
        means = {a: s / self.count for a, s in self.sums.items()} if self.count else {}
        self.sums, self.count = dict.fromkeys(self.sums, 0.0), 0
        return means

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums, "count": self.count}

    def load(self, state: dict[str, Any]) -> None:
        self.sums, self.count = dict(state["sums"]), int(state["count"])


class Rolling:
    """Mean episode return over the last 200 episodes or so: for the eye only, not part of a checkpoint."""

    def __init__(self, episodes: int = 200) -> None:
        self.episodes, self.count = episodes, 0
        self.entries: deque[tuple[dict[str, float], int]] = deque()

    def add(self, sums: dict[str, float], count: int) -> None:
        self.entries.append((sums, count))
        self.count += count
        while self.count - self.entries[0][1] >= self.episodes:
            self.count -= self.entries.popleft()[1]

    def means(self) -> dict[str, float]:
        """Mean return by agent; empty before the first episode has ended."""
        agents = self.entries[0][0] if self.entries else {}
        return {a: sum(sums[a] for sums, _ in self.entries) / self.count for a in agents}


def copied(arrays: dict[str, np.ndarray], agents: list[str]) -> Arrays:
    return {agent: arrays[agent].copy() for agent in agents}
