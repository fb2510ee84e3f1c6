"""A replay of decisions: transitions from one decision of an agent to its next, whoever acts in between.

Where all act at every step, that is every step. A transition ends at the agent's next decision or with its episode; the
rewards in between are added up. With a memory the transitions of an episode stay together, as a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from maddpg.collect import Transition
from maddpg.task import Group, Task


class Sequences(NamedTuple):
    """B sequences of up to T decisions for each of n agents. Behind a sequence's end everything repeats its last
    decision."""

    observation: Tensor  # [n, B, T, d]
    action: Tensor  # int64 [n, B, T]
    reward: Tensor  # [n, B, T]: from the decision up to the next one
    terminated: Tensor  # [n, B, T]: 1 where the game ended before the next decision
    following: Tensor  # [n, B, T, d]: what the agent saw at its next decision, or at the end
    valid: Tensor  # [n, B, T]: 1 up to the sequence's end


class Decisions:
    """Rings of decisions, one for each agent, on the learner's device; sequences of at most `length` of them.

    A row is observation d | following observation d | action | reward | terminated.
    """

    def __init__(self, task: Task, capacity: int, length: int, device: torch.device):
        self.task, self.capacity, self.length, self.device = task, capacity, length, device
        self.rings = [[Ring(capacity, 2 * g.observation_size + 3, device) for _ in g.agents] for g in task.groups]
        self._open: dict[str, Open] = {}

    def remember(self, step: Transition) -> None:
        """Add what one step of W worlds has brought to an end."""
        if not self._open:
            self._begin(len(step.ended))
        for group, rings in zip(self.task.groups, self.rings, strict=True):
            for agent, ring in zip(group.agents, rings, strict=True):
                self._open[agent].take(step, agent, group, ring)

    def forget_open(self) -> None:
        """All worlds have begun anew: what was not brought to an end never will be."""
        self._open = {}

    def draw(self, generators: Sequence[torch.Generator], count: int, group: int) -> Sequences:
        """`count` sequences for each agent of a group, uniformly with replacement from its own ring; generators are by
        slot."""
        about = self.task.groups[group]
        places, lengths = zip(
            *(r.draw(count, generators[about.lo + i]) for i, r in enumerate(self.rings[group])), strict=True
        )
        longest = max(int(each.max()) for each in lengths)
        steps, d = np.arange(longest), about.observation_size
        rows, valid = [], []
        for ring, start, own in zip(self.rings[group], places, lengths, strict=True):
            where = start[:, None] + np.minimum(steps, own[:, None] - 1)
            chosen = torch.from_numpy((where % self.capacity).ravel()).to(self.device)
            rows.append(ring.rows.index_select(0, chosen).view(count, longest, -1))
            valid.append(torch.from_numpy((steps < own[:, None]).astype(np.float32)))
        row = torch.stack(rows)
        return Sequences(
            row[..., :d],
            row[..., 2 * d].long(),
            row[..., 2 * d + 1],
            row[..., 2 * d + 2],
            row[..., d : 2 * d],
            torch.stack(valid).to(self.device),
        )

    def ready(self) -> bool:
        """Whether every agent has a sequence to draw."""
        return all(ring.sequences > ring.first for rings in self.rings for ring in rings)

    def renew(self, slot: int, enough: int) -> None:
        """From now on, as soon as there are `enough` new sequences, draw only these for the agent in `slot`."""
        ring = [ring for rings in self.rings for ring in rings][slot]
        ring.since, ring.enough = ring.sequences, enough

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and counters from which `load` goes on with the same bits."""
        tensors, counters = {}, {}
        for group, rings in zip(self.task.groups, self.rings, strict=True):
            for agent, ring in zip(group.agents, rings, strict=True):
                filled = min(ring.written, self.capacity)
                tensors[f"replay/{agent}/rows"] = ring.rows[:filled]
                kept = np.arange(ring.first, ring.sequences) % self.capacity
                tensors[f"replay/{agent}/starts"] = torch.from_numpy(ring.starts[kept])
                tensors[f"replay/{agent}/lengths"] = torch.from_numpy(ring.lengths[kept])
                counters[agent] = [ring.written, ring.first, ring.sequences, ring.since, ring.enough]
        for agent, opened in self._open.items():
            for name, array in opened.arrays().items():
                tensors[f"replay/{agent}/open/{name}"] = torch.from_numpy(array)
        return tensors, counters

    def load(self, tensors: Mapping[str, Tensor], counters: Mapping[str, Any]) -> None:
        """Take over what `state` gave."""
        for group, rings in zip(self.task.groups, self.rings, strict=True):
            for agent, ring in zip(group.agents, rings, strict=True):
                rows = tensors[f"replay/{agent}/rows"]
                ring.rows[: len(rows)].copy_(rows)
                ring.written, ring.first, ring.sequences, ring.since, ring.enough = map(int, counters[agent])
                kept = np.arange(ring.first, ring.sequences) % self.capacity
                ring.starts[kept] = tensors[f"replay/{agent}/starts"].cpu().numpy()
                ring.lengths[kept] = tensors[f"replay/{agent}/lengths"].cpu().numpy()
        self._open = {}
        if (some := f"replay/{self.task.agents[0]}/open/waiting") in tensors:
            self._begin(len(tensors[some]))
            for agent, opened in self._open.items():
                for name, array in opened.arrays().items():
                    array[...] = tensors[f"replay/{agent}/open/{name}"].cpu().numpy()

    def _begin(self, worlds: int) -> None:
        self._open = {a: Open(worlds, self.length, g.observation_size) for g in self.task.groups for a in g.agents}


class Ring:
    """The latest `capacity` decisions of one agent, and which of them are a sequence. Numbers of rows and sequences
    count from the beginning of the run."""

    def __init__(self, capacity: int, width: int, device: torch.device):
        self.capacity = capacity
        self.rows = torch.empty(capacity, width, device=device)
        self.starts, self.lengths = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self.written = 0  # rows
        self.first = self.sequences = 0  # the oldest whole sequence, and how many there were in all
        self.since = self.enough = 0  # see `Decisions.renew`

    def add(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        """Sequences of these lengths, their rows one after the other."""
        if len(rows) > self.capacity:  # only the last of them would stay
            self.first = self.sequences
            keep = int(np.searchsorted(np.cumsum(lengths[::-1]), self.capacity, "right"))
            lengths = lengths[len(lengths) - keep :]
            rows = rows[len(rows) - int(lengths.sum()) :]
        if not len(rows):
            return
        at, count = self.written % self.capacity, len(rows)
        ahead, block = min(count, self.capacity - at), torch.from_numpy(rows)
        self.rows[at : at + ahead].copy_(block[:ahead])
        self.rows[: count - ahead].copy_(block[ahead:])
        places = (self.sequences + np.arange(len(lengths))) % self.capacity
        self.starts[places] = self.written + np.cumsum(lengths) - lengths
        self.lengths[places] = lengths
        self.written += count
        self.sequences += len(lengths)
        self.first = max(self.first, self.sequences - self.capacity)
        # Every sequence that lost a row just now began in one of the rows written over: there are no more than those.
        oldest = np.arange(self.first, min(self.first + count, self.sequences))
        self.first += int((self.starts[oldest % self.capacity] < self.written - self.capacity).sum())

    def draw(self, count: int, generator: torch.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Starts and lengths of that many sequences."""
        low = max(self.first, self.since) if self.sequences - self.since >= max(self.enough, 1) else self.first
        drawn = torch.randint(low, self.sequences, (count,), generator=generator, device=generator.device)
        places = drawn.cpu().numpy() % self.capacity
        return self.starts[places], self.lengths[places]


class Open:
    """One agent's decisions that are not brought to an end yet, in W worlds."""

    def __init__(self, worlds: int, length: int, d: int):
        self.d = d
        self.waiting = np.zeros(worlds, np.bool_)  # for the agent's next decision
        self.decision = np.zeros((worlds, 2 * d + 3), np.float32)
        self.sequence = np.zeros((worlds, length, 2 * d + 3), np.float32)
        self.count = np.zeros(worlds, np.int64)  # decisions in the sequence

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it by name."""
        return {"waiting": self.waiting, "decision": self.decision, "sequence": self.sequence, "count": self.count}

    def take(self, step: Transition, agent: str, group: Group, ring: Ring) -> None:
        """One step of all worlds: decisions begin, earn, and end."""
        d, row = self.d, self.decision
        decided = np.flatnonzero(step.valid[agent])
        row[decided, :d] = step.observations[agent][decided]
        row[decided, 2 * d] = np.asarray(step.actions[agent])[decided] - group.action.start
        row[decided, 2 * d + 1] = 0.0
        self.waiting[decided] = True
        row[:, 2 * d + 1] += step.rewards[agent]  # of those that do not wait it is set to 0 when they decide
        over = step.ended | step.terminated[agent]
        ended = np.flatnonzero(self.waiting & (over | step.deciding[agent]))
        if not len(ended):
            return
        row[ended, d : 2 * d] = step.next_observations[agent][ended]
        row[ended, 2 * d + 2] = step.terminated[agent][ended]
        self.waiting[ended] = False
        if self.sequence.shape[1] == 1:
            ring.add(row[ended], np.ones(len(ended), np.int64))
            return
        self.sequence[ended, self.count[ended]] = row[ended]
        self.count[ended] += 1
        whole = ended[over[ended] | (self.count[ended] == self.sequence.shape[1])]
        lengths = self.count[whole]
        inside = np.arange(self.sequence.shape[1]) < lengths[:, None]
        ring.add(self.sequence[whole][inside], lengths)
        self.count[whole] = 0
