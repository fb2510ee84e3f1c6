"""The replay buffer: one ring of joint transitions, a row of float32 each, on the learner's device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from maddpg.task import Task


class Replay:
    """Rows of joint observation | joint action | next joint observation | rewards | terminated | valid.

    Observation and action together are the critics' input, a view of the row. Where an agent had left before
    the step (`valid` 0) its columns are zero, and so is its next observation once it has `terminated`. Memory is
    only reserved; on a CPU it fills as rows come in (4 bytes for each of `width` numbers).
    """

    def __init__(self, task: Task, capacity: int, device: torch.device):
        self.task, self.capacity = task, capacity
        n, d, a = len(task.agents), task.observation_width, task.action_width
        edges = np.cumsum([0, d, a, d, n, n, n]).tolist()
        self.observation = slice(edges[0], edges[1])
        self.action = slice(edges[1], edges[2])
        self.joint = slice(edges[0], edges[2])
        self.next_observation = slice(edges[2], edges[3])
        self.reward = slice(edges[3], edges[4])
        self.terminated = slice(edges[4], edges[5])
        self.valid = slice(edges[5], edges[6])
        self.width = edges[6]
        self.rows = torch.empty(capacity, self.width, device=device)
        self.size = 0
        self.cursor = 0
        self._draft: Draft | None = None

    def store(
        self,
        observations: Mapping[str, Any],
        actions: Mapping[str, Any],
        rewards: Mapping[str, Any],
        next_observations: Mapping[str, Any],
        terminated: Mapping[str, Any],
        valid: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one transition of each of W worlds; arrays by agent with W first. `next_observations` are the true
        ones, never those after a reset; `terminated` is True only for a real end, never for a time limit.
        `valid` is False for agents that had left before the step (default: none had)."""
        worlds = len(next(iter(rewards.values())))
        if self._draft is None or len(self._draft.rows) != worlds:
            self._draft = Draft(self, worlds)
        draft = self._draft
        for agent, action, place in draft.places:
            place.observation[...] = observations[agent]
            action.encode(actions[agent], place.action)
            place.after[...] = next_observations[agent]
            place.reward[...] = rewards[agent]
            place.terminated[...] = terminated[agent]
        if draft.terminated.any():
            for agent, _, place in draft.places:
                place.after[terminated[agent]] = 0.0
        draft.valid[...] = 1.0
        if valid is not None:
            for agent, _, place in draft.places:
                if not valid[agent].all():
                    gone = ~valid[agent]
                    for part in (place.observation, place.action, place.after, place.reward, place.valid):
                        part[gone] = 0.0
        self._append(draft.tensor)

    def _append(self, rows: Tensor) -> None:
        """Copy rows into the ring; only the last `capacity` of them where there are more."""
        rows = rows[-self.capacity :]
        ahead = min(len(rows), self.capacity - self.cursor)
        self.rows[self.cursor : self.cursor + ahead].copy_(rows[:ahead])
        if ahead < len(rows):
            self.rows[: len(rows) - ahead].copy_(rows[ahead:])
        self.cursor = (self.cursor + len(rows)) % self.capacity
        self.size = min(self.size + len(rows), self.capacity)

    def sample(self, out: Tensor, generators: Sequence[torch.Generator]) -> None:
        """Fill `out` [rows, width] with transitions drawn uniformly with replacement, an equal part of it by each
        generator."""
        rows = len(out) // len(generators)
        draws = [
            torch.randint(self.size, (rows,), generator=generator, device=self.rows.device) for generator in generators
        ]
        torch.index_select(self.rows, 0, draws[0] if len(draws) == 1 else torch.cat(draws), out=out)

    def state(self) -> tuple[dict[str, Tensor], dict[str, int]]:
        """The rows in use (a view, not a copy) and the counters."""
        counters = {"size": self.size, "cursor": self.cursor, "capacity": self.capacity}
        return {"replay/rows": self.rows[: self.size]}, counters

    def load(self, tensors: Mapping[str, Tensor], counters: Mapping[str, int]) -> None:
        """Take over what `state` gave. A smaller capacity keeps the newest rows, in their order; a larger one
        goes on behind them."""
        rows, cursor = tensors["replay/rows"], counters["cursor"]
        if len(rows) == counters["capacity"] != self.capacity:
            rows = rows.roll(-cursor, 0)
        if self.capacity == counters["capacity"]:
            self.rows[: len(rows)].copy_(rows)
            self.size, self.cursor = len(rows), cursor
        else:
            self.size = self.cursor = 0
            self._append(rows)


class Place(NamedTuple):
    """Where one agent's part of a transition stands in a draft: views [W, ...]."""

    observation: np.ndarray
    action: np.ndarray
    after: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    valid: np.ndarray


class Draft:
    """Rows of W transitions before they go to the device, and views of them for every agent."""

    def __init__(self, replay: Replay, worlds: int):
        self.rows = np.zeros((worlds, replay.width), np.float32)
        self.tensor = torch.from_numpy(self.rows)
        self.terminated, self.valid = self.rows[:, replay.terminated], self.rows[:, replay.valid]
        self.places = []
        for group in replay.task.groups:
            d, k = group.observation_size, group.action.size
            for i, agent in enumerate(group.agents):
                slot, at, acts = group.lo + i, group.observation_at + i * d, group.action_at + i * k
                place = Place(
                    self.rows[:, replay.observation][:, at : at + d],
                    self.rows[:, replay.action][:, acts : acts + k],
                    self.rows[:, replay.next_observation][:, at : at + d],
                    self.rows[:, replay.reward][:, slot],
                    self.terminated[:, slot],
                    self.valid[:, slot],
                )
                self.places.append((agent, group.action, place))
