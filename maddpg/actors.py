"""Acting: the actors' networks, exploration, and the random streams of the agents. It sees observations only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from maddpg.config import MaddpgConfig
from maddpg.stacks import Pass, Shape, Stack, initial, views
from maddpg.task import Group, Incompatible, Task

# What a random stream is for. Play does not depend on the networks' sizes, because those draw elsewhere.
PLAY, SHARED_BATCH, ACTOR_START, CRITIC_START = range(4)


def streams(task: Task, seed: int, device: torch.device, purpose: int = PLAY) -> list[torch.Generator]:
    """One random stream for each slot. An agent's stream depends on the seed and on its place in the
    environment's order only, so that it draws the same numbers whoever is trained beside it."""
    found = []
    for agent in task.slots:
        words = np.random.SeedSequence([seed, task.agents.index(agent), purpose]).generate_state(2)
        generator = torch.Generator(device)
        generator.manual_seed(int(words[0]) << 31 ^ int(words[1]))
        found.append(generator)
    return found


def policy_index(task: Task, group: Group, sharing: str) -> list[int] | None:
    """Which policy of its stack each agent of a group plays; None where each has its own."""
    if sharing == "separate":
        return None
    if sharing == "all":
        if len(task.groups) > 1:
            raise Incompatible("sharing=all needs equal spaces for all agents; use sharing=role")
        return [0] * len(group.agents)
    roles = list(dict.fromkeys(group.roles))
    return [roles.index(role) for role in group.roles]


def actor_shape(task: Task, group: Group, config: MaddpgConfig) -> tuple[Shape, list[int] | None]:
    """Shape of a group's actors and the sharing index. An index that shares nothing becomes None."""
    index = policy_index(task, group, config.sharing)
    if index == list(range(len(group.agents))):
        index = None
    identities = len(group.agents) if index is not None else 0
    size, outputs = group.observation_size, group.action.size
    return Shape(size, tuple(config.hidden), outputs, config.activation, identities), index


def stack_name(group: Group) -> str:
    """Name of a group's stack in checkpoints, from its roles."""
    return "+".join(dict.fromkeys(group.roles))


def best(values: Tensor) -> Tensor:
    """One-hot (bool) of the largest of values [n, k, B] along k, the first of equals; argmax is far slower there."""
    largest = values == values.amax(1, keepdim=True)
    ranks = torch.arange(values.shape[1], 0, -1, device=values.device, dtype=values.dtype)
    ranked = largest * ranks[:, None]
    return ranked == ranked.amax(1, keepdim=True)


def sample(logits: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
    """One-hots (bool) drawn from softmax(logits) [n, k, B]; one number of each agent's stream for each draw. (The
    same as the largest of logits + Gumbel noise, without its logarithms.)"""
    reached = logits.softmax(1).cumsum_(1)
    passed = reached > uniform(generators, 1, logits.shape[2]).mul_(reached[:, -1:])
    passed[:, -1] = True  # rounding must not lose a draw
    hot = passed.clone()
    torch.gt(passed[:, 1:], passed[:, :-1], out=hot[:, 1:])
    return hot


def choose(logits: np.ndarray, draws: np.ndarray, epsilon: float) -> np.ndarray:
    """The same on the host, for few worlds at a time: numbers [n, W] of actions drawn from softmax(logits)
    [n, k, W] by uniform draws [n, 1, W], with probability `epsilon` from all alike."""
    p = np.exp(logits - logits.max(1, keepdims=True))
    if epsilon > 0:
        p = (1 - epsilon) * p / p.sum(1, keepdims=True) + epsilon / p.shape[1]
    reached = p.cumsum(1)
    return (reached[:, :-1] <= draws * reached[:, -1:]).sum(1)


def uniform(generators: Sequence[torch.Generator], *shape: int) -> Tensor:
    """Uniform numbers in [0, 1) of that shape for each generator, [n, *shape]."""
    draws = torch.empty(len(generators), *shape, device=generators[0].device)
    for draw, generator in zip(draws.unbind(0), generators, strict=True):
        draw.uniform_(generator=generator)
    return draws


def gumbel(generators: Sequence[torch.Generator], *shape: int) -> Tensor:
    """Standard Gumbel noise of that shape for each generator, [n, *shape]."""
    return uniform(generators, *shape).log_().neg_().log_().neg_()


def normal(generators: Sequence[torch.Generator], *shape: int) -> Tensor:
    """Standard normal noise of that shape for each generator, [n, *shape]."""
    draws = torch.empty(len(generators), *shape, device=generators[0].device)
    for draw, generator in zip(draws.unbind(0), generators, strict=True):
        draw.normal_(generator=generator)
    return draws


class Actors:
    """What is needed to act: with random parameters (a learner trains them), or `from_tensors` of a checkpoint."""

    def __init__(self, task: Task, config: MaddpgConfig, device: torch.device | str = "cpu", seed: int | None = None):
        """`seed` drives first parameters and sampling; default: the config's."""
        self.task, self.config, self.device = task, config, torch.device(device)
        seed = config.seed if seed is None else seed
        self.generators = streams(task, seed, self.device)
        start = streams(task, seed, self.device, ACTOR_START)
        self.stacks: list[Stack] = []
        for group in task.groups:
            shape, index = actor_shape(task, group, config)
            policies = range(len(group.agents)) if index is None else range(max(index) + 1)
            # a shared policy draws from the stream of its first agent
            slots = [group.lo + (p if index is None else index.index(p)) for p in policies]
            flat = torch.stack([initial(shape, start[slot], self.device) for slot in slots])
            self.stacks.append(Stack(shape, flat, index))
        self._rooms: dict[int, Room] = {}
        self._columns = []
        for group in task.groups:
            for i, agent in enumerate(group.agents):
                at = group.observation_at + i * group.observation_size
                self._columns.append((agent, slice(at, at + group.observation_size)))

    @classmethod
    def from_tensors(
        cls,
        task: Task,
        config: MaddpgConfig,
        tensors: Mapping[str, Tensor],
        device: torch.device | str = "cpu",
        seed: int | None = None,
    ) -> Actors:
        """Actors with the parameters of a checkpoint; other tensors in it are not looked at. Raises Incompatible
        where they do not fit the game."""
        actors = cls(task, config, device, seed)
        actors.load(tensors)
        return actors

    def tensors(self) -> dict[str, Tensor]:
        """Parameters by name: `actor/<role>/<layer>.weight` [P, in, out] (the last layer's [P, out, in])."""
        found = {}
        for group, stack in zip(self.task.groups, self.stacks, strict=True):
            for name, part in views(stack.shape, stack.flat).items():
                found[f"actor/{stack_name(group)}/{name}"] = part
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over parameters named as in `tensors()`."""
        for name, part in self.tensors().items():
            if name not in tensors or tensors[name].shape != part.shape:
                got = "missing" if name not in tensors else f"of shape {tuple(tensors[name].shape)}"
                raise Incompatible(
                    f"the policy does not fit this game: {name} is {got}, but {tuple(part.shape)} is needed; "
                    "use the environment and options it was trained with"
                )
            part.copy_(tensors[name])
        for stack in self.stacks:
            stack.refresh()

    def act(
        self, observations: Mapping[str, np.ndarray], explore: bool, epsilon: float = 0.0, sigma: float = 0.0
    ) -> dict[str, np.ndarray]:
        """Actions of all agents for observations float32 [W, d] each: int64 [W], or float32 [W, k] in the box.

        Without `explore`: the most likely action, the mean. With it: a sample of the policy, replaced by a
        uniform one with probability `epsilon`; the mean plus Gaussian noise of `sigma` where the range is 2."""
        worlds = len(observations[self.task.slots[0]])
        if worlds not in self._rooms:
            if len(self._rooms) >= 4:
                self._rooms.clear()
            self._rooms[worlds] = Room(self, worlds)
        room = self._rooms[worlds]
        for agent, columns in self._columns:
            room.staged[:, columns] = observations[agent]
        if room.seen is not room.staging:
            room.seen.copy_(room.staging)
        for stack, its, x in zip(self.stacks, room.passes, room.own, strict=True):
            its.forward(stack.net, x)
        for family, out in zip(self.task.families, room.outputs, strict=True):
            generators = self.generators[family.agents]
            if family.action.kind == "box":
                out.tanh_()
                if explore and sigma > 0:
                    out.add_(normal(generators, *out.shape[1:]), alpha=sigma).clamp_(-1.0, 1.0)
            elif explore:
                for draw, generator in zip(room.draws[family.lo : family.hi], generators, strict=True):
                    draw.uniform_(generator=generator)
        values = room.joint.cpu().numpy()
        return self._split(values, values[self.task.action_width :] if explore else None, epsilon)

    def player(self, explore: bool = False) -> Player:
        """Somebody who plays whole episodes with these networks: their best actions, or samples."""
        return Player(self, explore)

    def random(self, worlds: int) -> dict[str, np.ndarray]:
        """Uniformly random actions for that many worlds, drawn from the agents' streams."""
        draws = []
        for family in self.task.families:
            draw = uniform(self.generators[family.agents], family.action.size, worlds)
            draws.append(draw.mul_(2.0).sub_(1.0).view(-1, worlds))
        return self._split((draws[0] if len(draws) == 1 else torch.cat(draws)).cpu().numpy())

    def _split(
        self, values: np.ndarray, draws: np.ndarray | None = None, epsilon: float = 0.0
    ) -> dict[str, np.ndarray]:
        """Values [joint action width, W] to actions by agent: a place in the box, or the number of the largest
        value; with uniform draws [N, W], of one drawn from their softmax."""
        actions: dict[str, np.ndarray] = {}
        for family in self.task.families:
            agents, action = self.task.slots[family.agents], family.action
            each = values[family.action_columns].reshape(len(agents), action.size, -1)
            if action.kind == "box":
                actions.update(zip(agents, (action.decode(unit.T) for unit in each), strict=True))
            else:
                chosen = each.argmax(1) if draws is None else choose(each, draws[family.agents, None], epsilon)
                actions.update(zip(agents, chosen + action.start, strict=True))
        return {agent: actions[agent] for agent in self.task.agents}


class Player:
    """Plays all agents by their actors, which remember nothing."""

    def __init__(self, actors: Actors, explore: bool):
        self.actors, self.explore = actors, explore

    def __call__(self, observations: Mapping[str, np.ndarray], acting: np.ndarray) -> dict[str, np.ndarray]:
        """Actions by agent for observations [W, d]; `acting` bool[W, N] says who acts now."""
        return self.actors.act(observations, self.explore)

    def begin(self, worlds: np.ndarray | None) -> None:
        """In these worlds (bool [W]; None: all) the next observations are the first of an episode."""


class Room:
    """Working memory to act in that many worlds: joint observations in, joint action values [A + N, W] out."""

    def __init__(self, actors: Actors, worlds: int):
        task, device = actors.task, actors.device
        self.staging = torch.zeros(worlds, task.observation_width)
        self.staged = self.staging.numpy()
        self.seen = self.staging if device.type == "cpu" else self.staging.to(device)
        # the last rows are the uniform numbers that exploration takes, so that all goes over in one piece
        self.joint = torch.zeros(task.action_width + len(task.agents), worlds, device=device)
        self.draws = list(self.joint[task.action_width :])
        self.outputs = [self.joint[f.action_columns].view(-1, f.action.size, worlds) for f in task.families]
        self.own = [block(self.seen, group) for group in task.groups]
        self.passes = []
        for group, stack in zip(task.groups, actors.stacks, strict=True):
            n, k = len(group.agents), group.action.size
            out = self.joint[group.action_at : group.action_at + n * k].view(n, k, worlds)
            self.passes.append(Pass(stack.shape, n, worlds, device, out))


def block(joint: Tensor, group: Group) -> Tensor:
    """A group's own observations inside joint ones [B, width]: a view [n, B, d]."""
    own = joint[:, group.observation_columns]
    return own.view(len(joint), len(group.agents), group.observation_size).transpose(0, 1)
