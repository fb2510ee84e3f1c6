"""DQN (Mnih et al. 2015) with double targets (van Hasselt et al. 2016), one learner for each agent; with a GRU where an
observation does not hold the past (Hausknecht & Stone 2015).

Each agent takes the others for a part of its world. It learns the value of its own decisions: rewards are those from
one of its decisions to its next (see `decisions`), and the discount is per decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import huber_loss, one_hot
from torch.optim.adam import adam

from maddpg.actors import SHARED_BATCH, streams
from maddpg.algorithms import check, find
from maddpg.collect import Transition
from maddpg.decisions import Decisions, Sequences
from maddpg.dqn_config import DqnConfig
from maddpg.qnets import QActors, QPlayer, QStack, load_parts, named_parts
from maddpg.stacks import clip
from maddpg.task import Incompatible, Task


class DqnLearner:
    """DQN for one game. Arrays come and go by agent, worlds first, as the vector environment gives them."""

    def __init__(self, task: Task, config: DqnConfig, device: torch.device | str, total_rounds: int):
        """`total_rounds` is what the schedule of the learning rate is planned over. Raises Incompatible where this game
        cannot be learned with these options."""
        check(find("dqn"), task, config)
        self.task, self.config, self.device = task, config, torch.device(device)
        self.total_rounds = total_rounds
        self.rounds = self.steps = 0
        self.actors = QActors(task, config, self.device)
        self.targets = [QStack(s.shape, s.flat.clone(), s.index) for s in self.actors.stacks]
        self.optimisers = [RowAdam(stack.flat) for stack in self.actors.stacks]
        length = config.memory_length if config.memory == "gru" else 1
        self.replay = Decisions(task, config.buffer_capacity, length, self.device)
        self.memory = self.actors.memory(config.num_envs)
        self._batch_generators = streams(task, config.seed, self.device, SHARED_BATCH)
        # every policy as (group, member), in the order of the first agent that plays it
        self.policies = [(g, p) for g, stack in enumerate(self.actors.stacks) for p in range(len(stack.flat))]
        if config.training == "alternating" and len(self.policies) < 2:
            raise Incompatible(
                "training=alternating needs two policies at least, but one plays all agents; use training=simultaneous"
            )

    # Acting -----------------------------------------------------------------------------------------------------------

    def explore(self, observations: Mapping[str, np.ndarray], acting: np.ndarray, warm: bool) -> dict[str, np.ndarray]:
        """Actions int64 [W] by agent as in training; uniformly random ones where `warm`."""
        share = 1.0 if warm else self.epsilon
        learning = self.learning()
        epsilon = {}
        for g, group in enumerate(self.task.groups):
            for agent, member in zip(group.agents, self.actors.stacks[g].index, strict=True):
                epsilon[agent] = share if warm or (g, member) in learning else 0.0
        return self.actors.act(observations, acting, self.memory, epsilon)

    def player(self) -> QPlayer:
        """Plays greedily with the networks as they are."""
        return self.actors.player()

    @property
    def epsilon(self) -> float:
        """Share of random actions of those who learn, at this step."""
        config, steps, span = self.config, self.steps, self.config.total_steps
        if config.training == "alternating":
            steps, span = steps % config.phase_steps, config.phase_steps
        t = min(1.0, steps / (config.epsilon_share * span))
        return config.epsilon + t * (config.epsilon_final - config.epsilon)

    def learning(self) -> list[tuple[int, int]]:
        """The policies (group, member) that learn at this step."""
        if self.config.training == "simultaneous":
            return self.policies
        return [self.policies[self.steps // self.config.phase_steps % len(self.policies)]]

    # Learning ---------------------------------------------------------------------------------------------------------

    def remember(self, step: Transition) -> None:
        """Take in one step of all worlds."""
        self.replay.remember(step)
        self.memory.begin(step.ended)
        before = self.learning()
        self.steps += len(step.ended)
        if (now := self.learning()) != before:  # what they did with other partners is not worth much any more
            for g, member in now:
                group = self.task.groups[g]
                for i, played in enumerate(self.actors.stacks[g].index):
                    if played == member:
                        self.replay.renew(group.lo + i, self.config.batch_size)

    def begin_anew(self) -> None:
        """All worlds have been reset."""
        self.replay.forget_open()
        self.memory.begin(None)

    def update(self, round_index: int) -> dict[str, Any]:
        """One round: every policy that learns takes one step, then its target moves. Returns `lr_factor` (a float) and
        0-d tensors `td_loss/<agent>`, the mean Huber loss of the temporal difference, for rewards as scaled."""
        self.rounds = round_index + 1
        factor = self.config.lr_factor(round_index, self.total_rounds)
        metrics: dict[str, Any] = {"lr_factor": factor}
        if not self.replay.ready():
            return metrics
        learning = self.learning()
        for g, group in enumerate(self.task.groups):
            members = [member for at, member in learning if at == g]
            if not members:
                continue
            batch = self.replay.draw(self._batch_generators, self.config.batch_size, g)
            losses = self._step(g, batch, members, factor)
            for agent, member, loss in zip(group.agents, self.actors.stacks[g].index, losses, strict=True):
                if member in members:
                    metrics[f"td_loss/{agent}"] = loss
        return metrics

    def _step(self, g: int, batch: Sequences, members: list[int], factor: float) -> Tensor:
        """One step of some members of a stack; the losses of all its agents [n]."""
        stack, config = self.actors.stacks[g], self.config
        flat = stack.flat.detach().requires_grad_()
        losses = self._losses(g, batch, flat)
        # A shared policy learns from the mean over its agents.
        share = torch.bincount(torch.tensor(stack.index)).to(losses)[stack.index]
        (gradient,) = torch.autograd.grad((losses / share).sum(), flat)
        clip(gradient, config.grad_clip)
        self.optimisers[g].step(gradient, members, config.lr * factor)
        for member in members:
            self.targets[g].flat[member].lerp_(stack.flat[member], config.tau)
        return losses.detach()

    def _losses(self, g: int, batch: Sequences, flat: Tensor) -> Tensor:
        """Mean Huber loss of the temporal difference for each agent of a stack with parameters `flat`, [n]."""
        stack, config = self.actors.stacks[g], self.config
        now, after = self._values(stack, stack.parts(flat), batch)
        with torch.no_grad():
            _, valued = self._values(self.targets[g], self.targets[g].parts(), batch, now=False)
            best = (after if config.double else valued).argmax(-1, keepdim=True)
            ahead = valued.gather(-1, best)[..., 0] * (1.0 - batch.terminated)
            target = config.reward_scale * batch.reward + config.gamma * ahead
        value = now.gather(-1, batch.action[..., None])[..., 0]
        loss = huber_loss(value, target, reduction="none") * batch.valid
        return loss.sum((1, 2)) / batch.valid.sum((1, 2))

    def _values(
        self, stack: QStack, parts: Mapping[str, Tensor], batch: Sequences, now: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Values of all actions at the decisions (if they are wanted `now`) and at what followed them,
        [n, B, T, actions] each; gradients go through the former only."""
        n, b, t, d = batch.observation.shape
        if not stack.shape.memory:

            def of(seen: Tensor) -> Tensor:
                return stack.values(parts, stack.hidden(parts, seen.reshape(n, b * t, d))).view(n, b, t, -1)

            with torch.no_grad():
                after = of(batch.following)
            return of(batch.observation) if now else after, after
        # One sequence more than decisions: the last entry is what followed the last decision.
        acted = one_hot(batch.action, stack.shape.outputs).float()
        previous = torch.cat([torch.zeros_like(acted[:, :, :1]), acted], 2)
        last = batch.valid.sum(2).long()
        seen = torch.cat([batch.observation, batch.following[:, :, -1:]], 2)
        # Behind the end of a shorter sequence stands its last decision; what followed it goes there.
        place = last[:, :, None, None].expand(n, b, 1, d)
        seen = seen.scatter(2, place, batch.following[:, :, -1:])
        values = stack.unroll(parts, torch.cat([seen, previous], 3))
        return values[:, :, :-1], values[:, :, 1:].detach()

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Tensor]:
        """Every tensor of the learning state by name; they are the learner's own, not copies."""
        found = self.actors.tensors() | named_parts("q_target", self.task, self.targets)
        for g, optimiser in enumerate(self.optimisers):
            found |= {f"adam/{g}/{name}": part for name, part in optimiser.tensors().items()}
        return found

    def _streams(self) -> dict[str, torch.Generator]:
        play = {f"rng/{a}": g for a, g in zip(self.task.slots, self.actors.generators, strict=True)}
        return play | {f"rng/batch/{a}": g for a, g in zip(self.task.slots, self._batch_generators, strict=True)}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that a later `load` needs to go on with the same bits: contiguous CPU tensors, and JSON-able
        counters."""
        tensors = {name: part.detach().to("cpu", copy=True).contiguous() for name, part in self._parts().items()}
        tensors |= {name: generator.get_state() for name, generator in self._streams().items()}
        rows, counters = self.replay.state()
        rows |= {f"replay/memory/{name}": part for name, part in self.memory.tensors().items()}
        tensors |= {name: part.to("cpu", copy=True).contiguous() for name, part in rows.items()}
        meta = {"rounds": self.rounds, "steps": self.steps, "total_rounds": self.total_rounds, "replay": counters}
        return tensors, meta

    def load(self, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Take over what `state` gave. `total_rounds` stays as constructed, so that a longer run plans anew. Raises
        Incompatible where a tensor is missing or does not fit."""
        memory = {f"replay/memory/{name}": part for name, part in self.memory.tensors().items()}
        load_parts(self._parts() | memory, tensors)
        for name, generator in self._streams().items():
            generator.set_state(tensors[name].to(torch.uint8).cpu())
        self.rounds, self.steps = int(meta["rounds"]), int(meta["steps"])
        self.replay.load(tensors, meta["replay"])


class RowAdam:
    """Adam for the rows of a matrix [P, K], each with a step count of its own, so that rows can rest."""

    def __init__(self, flat: Tensor):
        self.flat = flat
        self.means, self.squares = torch.zeros_like(flat), torch.zeros_like(flat)
        self.steps = torch.zeros(len(flat), device=flat.device)

    def step(self, gradient: Tensor, members: list[int], lr: float) -> None:
        """One step of some rows, from the gradient of all."""
        adam(
            [self.flat[m] for m in members],
            [gradient[m] for m in members],
            [self.means[m] for m in members],
            [self.squares[m] for m in members],
            [],
            [self.steps[m] for m in members],
            lr=lr,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            fused=True,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Moments and step counts by name; they belong to this object."""
        return {"mean": self.means, "square": self.squares, "steps": self.steps}
