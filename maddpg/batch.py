"""A batch in memory that is reserved once, and every view of it that a round of updates needs.

Shapes: N agents in slots, B transitions of a batch, D and A widths of joint observations and actions. There are
M batches: 1 where all agents share it, N where each has its own. Making views costs as much as small products
do, so they are all made here, before the first round.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from maddpg.actors import block
from maddpg.replay import Replay
from maddpg.task import Task


class Batch:
    """Transitions drawn from the buffer. Every agent learns from "its" batch, which may be everybody's.

    Attributes (lists are over groups or families of agents):
        joint [N, B, D + A]: observations and actions, as the critics see them.
        reward, terminated, valid [N, B]: each agent's own.
        after_seen [N, B, D]: next joint observations; after_observations: [n, M B, d] for each group.
        after_acted [N, B, A]: next joint actions; after_actions: [n, k, M B] for each family, for `dpg` to write.
        stays [N, M B]: 1 where an agent will act in the next step, written by `draw`.
        own_observations: [n, B, d] for each group, from each agent's own batch.
        own_joint [N, B, D + A]: like joint, with places for each agent's own new action;
        own_actions: these places, [n, k, B] for each family.
    """

    def __init__(self, task: Task, replay: Replay, batches: int, size: int):
        n, device = len(task.agents), replay.rows.device
        d, a = task.observation_width, task.action_width
        self.batches, self.size, self.replay = batches, size, replay
        self.rows = torch.zeros(batches * size, replay.width, device=device)
        each = self.rows.view(batches, size, replay.width)
        self.joint = each[..., replay.joint].expand(n, -1, -1)
        self.reward, self.terminated, self.valid = (
            own_column(each[..., columns]) for columns in (replay.reward, replay.terminated, replay.valid)
        )
        self.after_seen = each[..., replay.next_observation].expand(n, -1, -1)
        # actions first, as the actors give them: products take the turned view as it is
        after_acted = torch.zeros(a, batches * size, device=device)
        self.after_acted = after_acted.view(a, batches, size).permute(1, 2, 0).expand(n, -1, -1)
        self.stays = torch.zeros(n, batches * size, device=device)
        self._all_valid, self._all_terminated = self.rows[:, replay.valid].T, self.rows[:, replay.terminated].T
        # with batches of their own, agents may write over theirs: its actions are not needed any more
        self.own_joint = self.joint if batches == n else torch.zeros(n, size, d + a, device=device)

        self.after_observations, self.own_observations = [], []
        for group in task.groups:
            self.after_observations.append(block(self.rows[:, replay.next_observation], group))
            if batches == 1:
                self.own_observations.append(block(self.rows, group))
            else:
                columns = each[group.lo : group.hi, :, group.observation_columns]
                self.own_observations.append(own_columns(columns, group.observation_size).transpose(1, 2))
        self.after_actions, self.own_actions = [], []
        for family in task.families:
            k, members = family.action.size, family.hi - family.lo
            self.after_actions.append(after_acted[family.action_columns].view(members, k, batches * size))
            self.own_actions.append(own_columns(self.own_joint[family.agents, :, d:][..., family.action_columns], k))

    def draw(self, generators: Sequence[torch.Generator]) -> None:
        """Fill it with transitions drawn uniformly with replacement, one generator for each of the M batches."""
        self.replay.sample(self.rows, generators)
        torch.addcmul(self._all_valid, self._all_valid, self._all_terminated, value=-1.0, out=self.stays)


def own_column(field: Tensor) -> Tensor:
    """One number per agent in each batch, [M, B, N]: each agent's own, a view [N, B]."""
    return field[0].T if len(field) == 1 else field.diagonal(dim1=0, dim2=2).T


def own_columns(field: Tensor, k: int) -> Tensor:
    """k numbers per agent in each agent's batch, [n, B, n k]: each agent's own, a view [n, k, B]."""
    n, b, _ = field.shape
    return field.view(n, b, n, k).diagonal(dim1=0, dim2=2).permute(2, 1, 0)
