"""The learner: acts, remembers, updates, and can be put away and taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maddpg.actors import SHARED_BATCH, Actors, Player, stack_name, streams
from maddpg.algorithms import check, find
from maddpg.collect import Transition
from maddpg.config import MaddpgConfig
from maddpg.dpg import Networks
from maddpg.replay import Replay
from maddpg.stacks import views
from maddpg.task import Incompatible, Task


class Learner:
    """MADDPG for one game. Arrays come and go by agent, worlds first, as the vector environment gives them."""

    def __init__(self, task: Task, config: MaddpgConfig, device: torch.device | str, total_rounds: int):
        """`total_rounds` is what the schedules are planned over. Raises Incompatible where this game cannot be
        learned with these options."""
        check(find("maddpg"), task, config)
        self.task, self.config, self.device = task, config, torch.device(device)
        self.total_rounds = total_rounds
        self.rounds = 0
        self.actors = Actors(task, config, self.device)
        # more than the steps of the whole run would never be filled
        self.replay = Replay(task, min(config.buffer_capacity, config.total_steps), self.device)
        self.networks = Networks(task, config, self.actors, self.replay)
        self._critic_names = [f"critic_loss/{agent}" for agent in task.slots]
        self._actor_names = [f"actor_loss/{agent}" for agent in task.slots]
        self._shared = streams(task, config.seed, self.device, SHARED_BATCH)[0]
        self._batch_generators = [self._shared] if config.shared_batch else self.actors.generators

    @property
    def size(self) -> int:
        """Joint transitions in the buffer."""
        return self.replay.size

    @property
    def progress(self) -> float:
        """Share of the planned rounds that is done, 0 to 1."""
        return min(1.0, self.rounds / max(1, self.total_rounds - 1))

    def act(self, observations: Mapping[str, np.ndarray], explore: bool) -> dict[str, np.ndarray]:
        """Actions for observations float32 [W, d] by agent: int64 [W], or float32 [W, k] inside the box. With
        `explore` they are drawn as in training, else the policies' best; only the former uses random numbers."""
        config, t = self.config, self.progress
        epsilon = config.epsilon + t * (config.epsilon_final - config.epsilon)
        sigma = config.noise_sigma + t * (config.noise_final - config.noise_sigma)
        return self.actors.act(observations, explore, epsilon, sigma)

    def random_actions(self, worlds: int) -> dict[str, np.ndarray]:
        """Uniformly random actions, shaped as those of `act`."""
        return self.actors.random(worlds)

    def explore(self, observations: Mapping[str, np.ndarray], acting: np.ndarray, warm: bool) -> dict[str, np.ndarray]:
        """Actions by agent as in training; uniformly random ones where `warm`."""
        return self.random_actions(len(acting)) if warm else self.act(observations, explore=True)

    def player(self) -> Player:
        """Plays greedily with the networks as they are."""
        return self.actors.player()

    def remember(self, step: Transition) -> None:
        """Take in one step of all worlds."""
        self.store(
            *(step.observations, step.actions, step.rewards, step.next_observations, step.terminated, step.valid)
        )

    def begin_anew(self) -> None:
        """All worlds have been reset: nothing that is kept here spans two steps."""

    def store(
        self,
        observations: Mapping[str, np.ndarray],
        actions: Mapping[str, np.ndarray],
        rewards: Mapping[str, np.ndarray],
        next_observations: Mapping[str, np.ndarray],
        terminated: Mapping[str, np.ndarray],
        valid: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Remember one step of each world, see `Replay.store`."""
        self.replay.store(observations, actions, rewards, next_observations, terminated, valid)

    def lr_factor(self, round_index: int) -> float:
        """Factor on the learning rates in that round: 1 in the first, `lr_final` in the last planned."""
        return self.config.lr_factor(round_index, self.total_rounds)

    @torch.inference_mode()
    def update(self, round_index: int) -> dict[str, Any]:
        """One round: every critic and every actor takes one step, then all targets move. Returns `lr_factor` (a
        float) and 0-d tensors by agent, for rewards as scaled: `critic_loss/<agent>`, `actor_loss/<agent>`."""
        factor = self.lr_factor(round_index)
        self.networks.batch.draw(self._batch_generators)
        losses = self.networks.round(factor)
        self.rounds = round_index + 1
        metrics: dict[str, Any] = {"lr_factor": factor}
        metrics.update(zip(self._critic_names, losses.critic.unbind(0), strict=True))
        metrics.update(zip(self._actor_names, losses.actor.unbind(0), strict=True))
        return metrics

    def _parts(self) -> dict[str, Tensor]:
        """Every tensor of the learning state by name; they are the learner's own, not copies."""
        networks = self.networks
        found = self.actors.tensors()
        for group, target in zip(self.task.groups, networks.actor_targets, strict=True):
            for name, part in views(target.shape, target.flat).items():
                found[f"actor_target/{stack_name(group)}/{name}"] = part
        for kind, stack in (("critic", networks.critics), ("critic_target", networks.critic_targets)):
            for name, part in views(stack.shape, stack.flat).items():
                found[f"{kind}/{name}"] = part
        found |= networks.actor_adam.state("actor_adam")
        found |= networks.critic_adam.state("critic_adam")
        return found

    def _streams(self) -> dict[str, torch.Generator]:
        named = {f"rng/{a}": g for a, g in zip(self.task.slots, self.actors.generators, strict=True)}
        return {**named, "rng/batch": self._shared}

    def state(self, replay: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that a later `load` needs to go on with the same bits: contiguous CPU tensors, and JSON-able
        counters. Without `replay`, the buffer (`replay/rows`, by far the largest) is left out."""
        tensors = {name: part.detach().to("cpu", copy=True).contiguous() for name, part in self._parts().items()}
        tensors |= {name: generator.get_state() for name, generator in self._streams().items()}
        meta: dict[str, Any] = {"rounds": self.rounds, "total_rounds": self.total_rounds}
        if replay:
            rows, meta["replay"] = self.replay.state()
            tensors |= {name: part.cpu() for name, part in rows.items()}
        return tensors, meta

    def load(self, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
        """Take over what `state` gave; the buffer stays as it is if it was left out. `total_rounds` stays as
        constructed, so that a longer run plans anew. Raises Incompatible where a tensor is missing or does not
        fit."""
        for name, part in self._parts().items():
            if name not in tensors or tensors[name].shape != part.shape:
                raise Incompatible(
                    f"the checkpoint does not fit: {name} is missing or of another shape; resume with the "
                    "environment and options it was trained with"
                )
            part.copy_(tensors[name])
        networks = self.networks
        for stack in (*self.actors.stacks, *networks.actor_targets, networks.critics, networks.critic_targets):
            stack.refresh()
        for name, generator in self._streams().items():
            generator.set_state(tensors[name].to(torch.uint8).cpu())
        self.rounds = int(meta["rounds"])
        if "replay" in meta:
            self.replay.load(tensors, meta["replay"])
