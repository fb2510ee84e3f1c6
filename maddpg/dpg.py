"""One round of MADDPG (Lowe et al. 2017, equations 5 and 6): all targets, all critics, all actors, all target
networks, in this order.

Shapes are named in `batch`; outputs and actions are [n, k, B], the narrow axis first, see `stacks`. Critics see
discrete actions as one-hots everywhere: in the buffer, in the targets and in the actors' pass.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from maddpg.actors import CRITIC_START, Actors, best, gumbel, sample, streams
from maddpg.batch import Batch
from maddpg.config import MaddpgConfig
from maddpg.replay import Replay
from maddpg.stacks import Adam, Net, Pass, Shape, Stack, initial, polyak
from maddpg.task import Family, Task


class Losses(NamedTuple):
    """What a round returns, [N] each: the critics' mean squared error (of scaled rewards), minus the mean value of
    the actors' own actions, and the norms of both gradients before clipping (actors: per policy)."""

    critic: Tensor
    actor: Tensor
    critic_norm: Tensor
    actor_norm: Tensor


class Networks:
    """Actors, one critic (or two) for each agent, their targets, optimisers and working memory."""

    def __init__(self, task: Task, config: MaddpgConfig, actors: Actors, replay: Replay):
        self.task, self.config, self.actors = task, config, actors
        n, b, device = len(task.agents), config.batch_size, actors.device
        self.batch = Batch(task, replay, 1 if config.shared_batch else n, b)
        shape = Shape(task.observation_width + task.action_width, tuple(config.hidden), 1, config.activation)
        start = streams(task, config.seed, device, CRITIC_START)
        twins = 2 if config.twin_critics else 1
        rows = [initial(shape, generator, device) for _ in range(twins) for generator in start]
        self.critics = Stack(shape, torch.stack(rows))
        self.critic_targets = self.critics.like()
        self.actor_targets = [stack.like() for stack in actors.stacks]
        self.critic_adam = Adam([self.critics])
        self.actor_adam = Adam(actors.stacks)
        self.first_critics = Net(shape, self.critics.flat[:n])
        self._critic_pass = Pass(shape, twins * n, b, device)
        self._first_pass = self._critic_pass if twins == 1 else Pass(shape, n, b, device)
        self._families = [FamilyPass(self, family) for family in task.families]
        self._targets = _group_passes(self, self.batch.batches * b, [f.next_outputs for f in self._families])
        self._actors = _group_passes(self, b, [f.outputs for f in self._families])
        self._gradients = [f.gradient[lo:hi] for f, lo, hi in _places(task, self._families)]

    def round(self, lr_factor: float) -> Losses:
        """Update everything once, from the batch that was drawn."""
        valid = self.batch.valid
        # means are over the transitions that an agent was part of
        weight = valid / valid.sum(1, keepdim=True).clamp_(min=1.0)
        critic_loss, critic_norm = self._critic_step(self.targets(), weight, lr_factor)
        actor_loss, actor_norm = self._actor_step(weight, lr_factor)
        polyak([*self.actor_targets, self.critic_targets], [*self.actors.stacks, self.critics], self.config.tau)
        return Losses(critic_loss, actor_loss, critic_norm, actor_norm)

    def targets(self) -> Tensor:
        """reward + gamma (1 - terminated) Q'(next observations, next actions of the target actors), [N, B]."""
        batch, config = self.batch, self.config
        for stack, its, x in zip(self.actor_targets, self._targets, batch.after_observations, strict=True):
            its.forward(stack.net, x)
        for family, place in zip(self._families, batch.after_actions, strict=True):
            # an agent that is gone has a next action of zeros, as it will have in the rows to come
            torch.mul(family.next_actions(), batch.stays[family.agents, None], out=place)
        net, its, d = self.critic_targets.net, self._critic_pass, self.task.observation_width
        torch.baddbmm(net.bias_rows[0], self._twice(batch.after_seen), net.weights[0][:, :d], out=its.sums)
        its.sums.baddbmm_(self._twice(batch.after_acted), net.weights[0][:, d:])
        values = its.rest(net)
        value = values[:, 0] if not config.twin_critics else values.view(2, *batch.reward.shape).amin(0)
        ahead = torch.addcmul(value, value, batch.terminated, value=-1.0)
        return torch.add(ahead.mul_(config.gamma), batch.reward, alpha=config.reward_scale)

    def _twice(self, x: Tensor) -> Tensor:
        """For twin critics, which stand behind the first ones, everything is there twice."""
        return torch.cat([x, x]) if self.config.twin_critics else x

    def _critic_step(self, target: Tensor, weight: Tensor, lr_factor: float) -> tuple[Tensor, Tensor]:
        n = len(target)
        x, target, weight = self._twice(self.batch.joint), self._twice(target), self._twice(weight)
        error = self._critic_pass.forward(self.critics.net, x)[:, 0] - target
        pull = weight * error
        loss = torch.linalg.vecdot(pull, error)
        self._critic_pass.back_all(self.critics.net, pull.mul_(2.0)[:, None], x, self.critic_adam.gradients[0].net)
        norm = self.critic_adam.step(self.config.critic_lr * lr_factor, self.config.grad_clip)[0]
        return loss[:n], norm[:n]

    def _actor_step(self, weight: Tensor, lr_factor: float) -> tuple[Tensor, Tensor]:
        """Each actor climbs its own critic by its own action. The others' actions are those of the batch, and the
        critics are constants."""
        batch, config = self.batch, self.config
        for stack, its, x in zip(self.actors.stacks, self._actors, batch.own_observations, strict=True):
            its.forward(stack.net, x)
        if batch.own_joint is not batch.joint:
            batch.own_joint.copy_(batch.joint)
        for family, place in zip(self._families, batch.own_actions, strict=True):
            place.copy_(family.act())
        pull = weight.neg()
        if any(family.by_critic for family in self._families):
            value = self._first_pass.forward(self.first_critics, batch.own_joint)[:, 0]
            self._first_pass.back(self.first_critics, pull[:, None], None)
        values = []
        for family in self._families:
            if family.by_critic:
                values.append(value[family.agents])
                torch.bmm(family.own_rows, self._first_pass.delta[family.agents].transpose(1, 2), out=family.gradient)
            else:
                each = family.every_action(batch.own_joint)
                values.append((family.policy * each).sum(1))
                torch.mul(each, pull[family.agents, None], out=family.gradient)
            family.unsquash(weight[family.agents, None])
        for stack, its, x, gradient, into in zip(
            *(self.actors.stacks, self._actors, batch.own_observations, self._gradients, self.actor_adam.gradients),
            strict=True,
        ):
            its.back_all(stack.net, gradient, x, into.net)
        norms = self.actor_adam.step(config.actor_lr * lr_factor, config.grad_clip)
        loss = torch.linalg.vecdot(pull, values[0] if len(values) == 1 else torch.cat(values))
        return loss, norms[0] if len(norms) == 1 else torch.cat(norms)


class FamilyPass:
    """What happens between actors and critics, for agents of equal actions: outputs become actions, and the
    gradient of the value by the actions becomes that of the outputs."""

    def __init__(self, networks: Networks, family: Family):
        config, batch = networks.config, networks.batch
        n, k, b, device = family.hi - family.lo, family.action.size, config.batch_size, networks.actors.device
        self.config, self.agents = config, family.agents
        self.box = family.action.kind == "box"
        self.by_critic = self.box or config.actor_gradient == "gumbel"
        self.generators = networks.actors.generators[family.agents]
        self.next_outputs = torch.empty(n, k, batch.batches * b, device=device)
        self.outputs, self.gradient = (torch.empty(n, k, b, device=device) for _ in range(2))
        self.policy = self.outputs
        # the rows of each critic's first layer that belong to its agent's own action, [n, k, width]
        critics = Net(networks.critics.shape, networks.critics.flat[family.agents])
        at = networks.task.observation_width + family.action_at
        rows = critics.weights[0][:, at : at + n * k]
        self.own_rows = rows.view(n, n, k, -1).diagonal(dim1=0, dim2=1).permute(2, 0, 1)
        self.critics = critics
        if not self.by_critic:
            self._pass = Pass(critics.shape, n, k * b, device)
            self._sums = self._pass.sums.view(n, k, b, -1)
            self._values = self._pass.outputs.view(n, k, b)
            self._rest = torch.empty(n, b, critics.shape.hidden[0], device=device)

    def next_actions(self) -> Tensor:
        """Actions of the target actors, [n, k, M B]."""
        if self.box:
            return self.next_outputs.tanh_()
        if self.config.target_action == "sample":
            return sample(self.next_outputs, self.generators)
        return best(self.next_outputs)

    def act(self) -> Tensor:
        """The actors' own actions [n, k, B] as they enter their critics: a straight-through or a soft
        Gumbel-softmax sample, a point of the box; zeros where the exact mean over actions is taken later."""
        if self.box:
            self.policy = self.outputs.tanh()
            return self.policy
        if not self.by_critic:
            self.policy = self.outputs.softmax(1)
            return torch.zeros_like(self.policy)
        noisy = gumbel(self.generators, *self.outputs.shape[1:]).add_(self.outputs)
        self.policy = noisy.softmax(1)
        return best(noisy) if self.config.action_relaxation == "hard" else self.policy

    def every_action(self, joint: Tensor) -> Tensor:
        """Values [n, k, B] of every own action, given joint [N, B, D + A] with zeros in the own places. The first
        layer's sums for all the rest are taken once: an own one-hot adds one row of weights to them."""
        critics = self.critics
        torch.baddbmm(critics.bias_rows[0], joint[self.agents], critics.weights[0], out=self._rest)
        torch.add(self._rest[:, None], self.own_rows[:, :, None], out=self._sums)
        self._pass.rest(critics)
        return self._values

    def unsquash(self, share: Tensor) -> None:
        """Turn `gradient` from that of `policy` into that of the outputs, back through tanh or softmax (of a
        one-hot sample it is the gradient of its softmax), and add that of the regulariser,
        logit_reg mean(outputs^2), each transition with its share [n, 1, B]."""
        gradient, policy = self.gradient, self.policy
        if self.box:
            gradient.addcmul_(gradient * policy, policy, value=-1.0)
        else:
            gradient.mul_(policy)
            gradient.addcmul_(policy, gradient.sum(1, keepdim=True), value=-1.0)
        if self.config.logit_reg:
            scale = 2.0 * self.config.logit_reg / gradient.shape[1]
            gradient.addcmul_(self.outputs, share, value=scale)


def _places(task: Task, families: list[FamilyPass]) -> list[tuple[FamilyPass, int, int]]:
    """For each group its family, and where in the family's arrays it lies."""
    found = []
    for group in task.groups:
        family = next(f for f in families if f.agents.start <= group.lo < f.agents.stop)
        found.append((family, group.lo - family.agents.start, group.hi - family.agents.start))
    return found


def _group_passes(networks: Networks, rows: int, outputs: list[Tensor]) -> list[Pass]:
    """A pass for each group, writing into its family's outputs."""
    passes = []
    for (family, lo, hi), stack in zip(_places(networks.task, networks._families), networks.actors.stacks, strict=True):
        place = outputs[networks._families.index(family)][lo:hi]
        passes.append(Pass(stack.shape, hi - lo, rows, place.device, place))
    return passes
