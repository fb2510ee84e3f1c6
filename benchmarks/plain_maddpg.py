"""MADDPG as it is usually written: a Python loop over agents, each with its own nn.Module networks and its own
batch. It is the peer that the stacked learner is timed and tested against.

    python benchmarks/plain_maddpg.py

prints the time of one update round of both (4 agents of the tag game's sizes, discrete actions).
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

Batch = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]
"""Observations, one-hot actions, rewards, next observations, terminated: each a list over agents."""


def network(inputs: int, hidden: tuple[int, ...], outputs: int, leaky: bool) -> nn.Sequential:
    """A multilayer perceptron, Xavier uniform with the gain of a ReLU, biases 0.01."""
    layers: list[nn.Module] = []
    for a, b in zip((inputs, *hidden), (*hidden, outputs), strict=True):
        linear = nn.Linear(a, b)
        nn.init.xavier_uniform_(linear.weight, gain=nn.init.calculate_gain("relu"))
        nn.init.constant_(linear.bias, 0.01)
        layers += [linear, nn.LeakyReLU(0.1) if leaky else nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def draw_gumbel(agent: int, like: Tensor) -> Tensor:
    """Standard Gumbel noise in the shape of logits; tests put their own in its place."""
    return -torch.log(-torch.log(torch.rand_like(like)))


class PlainMaddpg:
    """Discrete MADDPG with straight-through Gumbel-softmax, in the order targets, critics, actors, averages."""

    def __init__(
        self,
        observation_sizes: list[int],
        actions: int,
        hidden: tuple[int, ...] = (64, 64),
        leaky: bool = False,
        lr: float = 0.01,
        gamma: float = 0.95,
        tau: float = 0.02,
        grad_clip: float = 0.5,
        logit_reg: float = 1e-3,
        noise: Callable[[int, Tensor], Tensor] = draw_gumbel,
    ):
        n = len(observation_sizes)
        width = sum(observation_sizes) + n * actions
        self.gamma, self.tau, self.grad_clip, self.logit_reg = gamma, tau, grad_clip, logit_reg
        self.noise = noise
        self.actors = [network(size, hidden, actions, leaky) for size in observation_sizes]
        self.critics = [network(width, hidden, 1, leaky) for _ in observation_sizes]
        self.actor_targets = copy.deepcopy(self.actors)
        self.critic_targets = copy.deepcopy(self.critics)
        self.actor_optimizers = [torch.optim.Adam(net.parameters(), lr=lr) for net in self.actors]
        self.critic_optimizers = [torch.optim.Adam(net.parameters(), lr=lr) for net in self.critics]

    def sample(self, agent: int, logits: Tensor) -> Tensor:
        """Straight-through Gumbel-softmax sample [B, A] of temperature 1."""
        soft = F.softmax(logits + self.noise(agent, logits), dim=-1)
        hard = F.one_hot(soft.argmax(-1), logits.shape[-1]).to(soft.dtype)
        return hard + soft - soft.detach()

    def round(self, batches: list[Batch]) -> None:
        """One update of all agents, agent i from batches[i]."""
        targets = []
        with torch.no_grad():
            for i, (_, _, rewards, next_observations, terminated) in enumerate(batches):
                next_actions = [
                    self.sample(j, actor(next_observations[j])) for j, actor in enumerate(self.actor_targets)
                ]
                value = self.critic_targets[i](torch.cat([*next_observations, *next_actions], 1))[:, 0]
                targets.append(rewards[i] + self.gamma * (1 - terminated[i]) * value)
        for i, (observations, actions, *_) in enumerate(batches):
            value = self.critics[i](torch.cat([*observations, *actions], 1))[:, 0]
            self.step(self.critics[i], self.critic_optimizers[i], F.mse_loss(value, targets[i]))
        for i, (observations, actions, *_) in enumerate(batches):
            logits = self.actors[i](observations[i])
            own = [*actions[:i], self.sample(i, logits), *actions[i + 1 :]]
            self.critics[i].requires_grad_(False)
            value = self.critics[i](torch.cat([*observations, *own], 1))
            loss = -value.mean() + self.logit_reg * (logits**2).mean()
            self.step(self.actors[i], self.actor_optimizers[i], loss)
            self.critics[i].requires_grad_(True)
        with torch.no_grad():
            for nets, averages in ((self.actors, self.actor_targets), (self.critics, self.critic_targets)):
                for net, average in zip(nets, averages, strict=True):
                    for p, q in zip(net.parameters(), average.parameters(), strict=True):
                        q.lerp_(p, self.tau)

    def step(self, net: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        """One clipped step of Adam."""
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), self.grad_clip)
        optimizer.step()


class PlainBuffer:
    """Per-agent arrays of transitions, as such code has them."""

    def __init__(self, observation_sizes: list[int], actions: int, rows: int):
        n = len(observation_sizes)
        self.rows = rows
        self.observations = [torch.randn(rows, size) for size in observation_sizes]
        self.actions = [F.one_hot(torch.randint(actions, (rows,)), actions).float() for _ in range(n)]
        self.rewards = [torch.randn(rows) for _ in range(n)]
        self.next_observations = [torch.randn(rows, size) for size in observation_sizes]
        self.terminated = [torch.zeros(rows) for _ in range(n)]

    def sample(self, batch_size: int) -> Batch:
        """A batch drawn with replacement."""
        index = torch.randint(self.rows, (batch_size,))
        fields = (self.observations, self.actions, self.rewards, self.next_observations, self.terminated)
        observations, actions, rewards, after, terminated = ([x[index] for x in field] for field in fields)
        return observations, actions, rewards, after, terminated


SIZES = [8, 10, 20, 20]


def plain_round(batch_size: int, rows: int) -> Callable[[], object]:
    """The peer's round, own batches."""
    learner, buffer = PlainMaddpg(SIZES, 5), PlainBuffer(SIZES, 5, rows)
    return lambda: learner.round([buffer.sample(batch_size) for _ in SIZES])


def stacked_round(rows: int, **options: object) -> Callable[[], object]:
    """The stacked learner's round."""
    from maddpg.config import MaddpgConfig
    from maddpg.learner import Learner
    from maddpg.task import Action, Task

    names = ("adversary_0", "controller_0", "collector_0_0", "collector_0_1")
    roles = ("adversary", "controller", "collector", "collector")
    task = Task(names, tuple(SIZES), (Action("discrete", 5),) * 4, roles, 25)
    # The plain loop's actor gradient, unless told otherwise.
    options = {"actor_gradient": "gumbel"} | options
    learner = Learner(task, MaddpgConfig(buffer_capacity=rows, **options), "cpu", 1000)  # type: ignore[arg-type]
    buffer = PlainBuffer(SIZES, 5, rows)
    arrays = [
        {name: field[i].numpy() for i, name in enumerate(names)}
        for field in (buffer.observations, buffer.rewards, buffer.next_observations)
    ]
    over = {name: buffer.terminated[0].bool().numpy() for name in names}
    learner.store(arrays[0], learner.random_actions(rows), arrays[1], arrays[2], over)
    return lambda: learner.update(0)


def measure(rounds: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median CPU milliseconds of each, taken in turns so that a busy machine hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in rounds}
    for repeat in range(repeats + 5):
        for name, call in rounds.items():
            start = time.process_time()
            call()
            if repeat >= 5:
                times[name].append(1e3 * (time.process_time() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60, help="rounds of each kind (default 60)")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (default 1)")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    reference = {"batch_size": 1024, "shared_batch": False, "activation": "relu"}
    plain = "plain loop, 1,024 own"
    rounds = {
        plain: plain_round(1024, 50_000),
        "stacked, 1,024 own": stacked_round(50_000, **reference),
        "stacked, 1,024 shared": stacked_round(50_000, batch_size=1024),
        "plain loop, 256 own": plain_round(256, 50_000),
        "stacked, 256 shared": stacked_round(50_000, batch_size=256),
        "stacked, 256 shared, expected": stacked_round(50_000, batch_size=256, actor_gradient="expected"),
    }
    for name, ms in (found := measure(rounds, args.repeats)).items():
        print(f"{name:32} {ms:8.2f} ms   {100 * ms / found[plain]:6.1f} %")


if __name__ == "__main__":
    main()
