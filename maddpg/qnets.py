"""Q networks: a stack of them for agents of equal spaces, with or without a memory, and acting with them.

A network with a memory is a GRU (Cho et al. 2014) behind the hidden layers, over the agent's own sequence of
observations and previous actions. What it remembers goes on from one of its decisions to the next, and is zero when an
episode begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, one_hot, relu

from maddpg.actors import ACTOR_START, policy_index, stack_name, streams
from maddpg.dqn_config import DqnConfig
from maddpg.stacks import LEAK, Shape, initial, views
from maddpg.task import Group, Incompatible, Task


@dataclass(frozen=True)
class QShape(Shape):
    """Widths of one Q network; `memory` is the number of units of its GRU, 0 where it has none."""

    memory: int = 0

    def parts(self) -> list[tuple[str, tuple[int, ...]]]:
        """As for a network without memory; the GRU stands between the hidden layers and the last one, and its columns
        are reset, update and new state, as in torch."""
        parts = super().parts()
        if not self.memory:
            return parts
        last, m = str(len(self.hidden)), self.memory
        hidden = [(name, dims) for name, dims in parts if name.partition(".")[0] != last]
        return [
            *hidden,
            ("gru.input.weight", (self.hidden[-1], 3 * m)),
            ("gru.input.bias", (3 * m,)),
            ("gru.memory.weight", (m, 3 * m)),
            ("gru.memory.bias", (3 * m,)),
            (f"{last}.weight", (self.outputs, m)),
            (f"{last}.bias", (self.outputs,)),
        ]


class QStack:
    """P networks, one row of `flat` [P, K] each, and the n agents that play them: agent i plays `index[i]`."""

    def __init__(self, shape: QShape, flat: Tensor, index: Sequence[int]):
        self.shape, self.flat, self.index = shape, flat, list(index)
        self._rows = torch.tensor(self.index, device=flat.device)
        self._alone = self.index == list(range(len(flat)))

    def parts(self, flat: Tensor | None = None) -> dict[str, Tensor]:
        """Parameters of the agents' networks by name, [n, ...]; of these parameters instead of its own if given."""
        flat = self.flat if flat is None else flat
        parts = views(self.shape, flat if self._alone else flat.index_select(0, self._rows))
        if self.shape.identities:  # each agent's own row is added to the first bias
            own = parts["identity"].diagonal(dim1=0, dim2=1).T
            parts["0.bias"] = parts["0.bias"] + own
        return parts

    def hidden(self, parts: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Inputs [n, B, inputs] through the hidden layers, [n, B, width]."""
        for i in range(len(self.shape.hidden)):
            x = torch.baddbmm(parts[f"{i}.bias"][:, None], x, parts[f"{i}.weight"])
            x = relu(x) if self.shape.activation == "relu" else leaky_relu(x, LEAK)
        return x

    def values(self, parts: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs of the last layer [n, B, outputs] for what lies before it [n, B, width]."""
        last = len(self.shape.hidden)
        return torch.baddbmm(parts[f"{last}.bias"][:, None], x, parts[f"{last}.weight"].transpose(1, 2))

    def remember(self, parts: Mapping[str, Tensor], hidden: Tensor, memory: Tensor) -> Tensor:
        """One step of the GRU: what is remembered, [n, B, memory], after `hidden` [n, B, width]."""
        gates = torch.baddbmm(parts["gru.input.bias"][:, None], hidden, parts["gru.input.weight"])
        return self._remember(parts, gates, memory)

    def unroll(self, parts: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Values [n, B, T, outputs] along sequences of inputs [n, B, T, inputs], from an empty memory on."""
        n, b, t, _ = x.shape
        hidden = self.hidden(parts, x.reshape(n, b * t, -1))
        gates = torch.baddbmm(parts["gru.input.bias"][:, None], hidden, parts["gru.input.weight"]).view(n, b, t, -1)
        memory = x.new_zeros(n, b, self.shape.memory)
        memories = []
        for step in gates.unbind(2):
            memory = self._remember(parts, step, memory)
            memories.append(memory)
        return self.values(parts, torch.stack(memories, 2).view(n, b * t, -1)).view(n, b, t, -1)

    def _remember(self, parts: Mapping[str, Tensor], gates: Tensor, memory: Tensor) -> Tensor:
        back = torch.baddbmm(parts["gru.memory.bias"][:, None], memory, parts["gru.memory.weight"])
        r, z, new = gates.chunk(3, -1)
        back_r, back_z, back_new = back.chunk(3, -1)
        update = torch.sigmoid(z + back_z)
        candidate = torch.tanh(new + torch.sigmoid(r + back_r) * back_new)
        return candidate + update * (memory - candidate)


class Memory:
    """What the agents of one set of worlds remember: tensors by group, zero where an episode begins."""

    def __init__(self, task: Task, shapes: Sequence[QShape], worlds: int, device: torch.device):
        pairs = list(zip(task.groups, shapes, strict=True))
        self.state = [torch.zeros(len(g.agents), worlds, s.memory, device=device) for g, s in pairs]
        self.previous = [torch.zeros(len(g.agents), worlds, g.action.size, device=device) for g in task.groups]

    def begin(self, worlds: np.ndarray | None) -> None:
        """Forget everything in these worlds (bool [W]; None: all)."""
        for tensors in (self.state, self.previous):
            for tensor in tensors:
                if worlds is None:
                    tensor.zero_()
                elif worlds.any():
                    tensor[:, torch.from_numpy(worlds)] = 0.0

    def tensors(self) -> dict[str, Tensor]:
        """All of it by name."""
        named = {f"state/{i}": tensor for i, tensor in enumerate(self.state)}
        return named | {f"previous/{i}": tensor for i, tensor in enumerate(self.previous)}


class QActors:
    """What is needed to act: with random parameters (a learner trains them), or `from_tensors` of a checkpoint."""

    def __init__(self, task: Task, config: DqnConfig, device: torch.device | str = "cpu", seed: int | None = None):
        """`seed` drives first parameters and exploration; default: the config's."""
        self.task, self.config, self.device = task, config, torch.device(device)
        seed = config.seed if seed is None else seed
        self.generators = streams(task, seed, self.device)
        start = streams(task, seed, self.device, ACTOR_START)
        self.stacks: list[QStack] = []
        for group in task.groups:
            shape, index = q_shape(task, group, config)
            # a shared policy draws from the stream of its first agent
            slots = [group.lo + index.index(p) for p in range(max(index) + 1)]
            flat = torch.stack([initial(shape, start[slot], self.device) for slot in slots])
            self.stacks.append(QStack(shape, flat, index))

    @classmethod
    def from_tensors(
        cls,
        task: Task,
        config: DqnConfig,
        tensors: Mapping[str, Tensor],
        device: torch.device | str = "cpu",
        seed: int | None = None,
    ) -> QActors:
        """Actors with the parameters of a checkpoint; other tensors in it are not looked at. Raises Incompatible
        where they do not fit the game."""
        actors = cls(task, config, device, seed)
        load_parts(actors.tensors(), tensors)
        return actors

    def tensors(self) -> dict[str, Tensor]:
        """Parameters by name: `q/<role>/<layer>.weight` [P, in, out] (the last layer's [P, out, in])."""
        return named_parts("q", self.task, self.stacks)

    def memory(self, worlds: int) -> Memory:
        """An empty memory for that many worlds."""
        return Memory(self.task, [stack.shape for stack in self.stacks], worlds, self.device)

    def player(self, explore: bool = False) -> QPlayer:
        """Somebody who plays whole episodes with these networks; with `explore`, a share `epsilon_final` at random."""
        return QPlayer(self, self.config.epsilon_final if explore else 0.0)

    @torch.no_grad()
    def act(
        self,
        observations: Mapping[str, np.ndarray],
        acting: np.ndarray,
        memory: Memory,
        epsilon: Mapping[str, float] | None = None,
    ) -> dict[str, np.ndarray]:
        """Actions int64 [W] of all agents for observations float32 [W, d] each: of largest value, replaced by uniformly
        random ones with the agent's probability `epsilon`. `memory` moves on where `acting` bool[W, N] is true."""
        actions: dict[str, np.ndarray] = {}
        for g, (group, stack) in enumerate(zip(self.task.groups, self.stacks, strict=True)):
            seen = np.stack([observations[agent] for agent in group.agents])
            x = torch.from_numpy(seen).to(self.device)
            parts = stack.parts()
            if stack.shape.memory:
                hidden = stack.hidden(parts, torch.cat([x, memory.previous[g]], 2))
                after = stack.remember(parts, hidden, memory.state[g])
                values = stack.values(parts, after)
            else:
                values = stack.values(parts, stack.hidden(parts, x))
            chosen = values.argmax(2)
            for i, agent in enumerate(group.agents):
                if epsilon is not None and (share := epsilon[agent]) > 0:
                    generator, worlds = self.generators[group.lo + i], chosen.shape[1]
                    drawn = torch.rand(2, worlds, generator=generator, device=self.device)
                    random = (drawn[1] * group.action.size).long().clamp_(max=group.action.size - 1)
                    chosen[i] = torch.where(drawn[0] < share, random, chosen[i])
            if stack.shape.memory:
                columns = [self.task.agents.index(agent) for agent in group.agents]
                moves = torch.from_numpy(np.ascontiguousarray(acting[:, columns].T)).to(self.device)[:, :, None]
                memory.state[g] = torch.where(moves, after, memory.state[g])
                now = one_hot(chosen, group.action.size).float()
                memory.previous[g] = torch.where(moves, now, memory.previous[g])
            numbers = chosen.cpu().numpy()
            actions.update((agent, numbers[i] + group.action.start) for i, agent in enumerate(group.agents))
        return {agent: actions[agent] for agent in self.task.agents}


class QPlayer:
    """Plays all agents by their networks, and remembers where these do."""

    def __init__(self, actors: QActors, epsilon: float):
        self.actors = actors
        self.epsilon = dict.fromkeys(actors.task.agents, epsilon)
        self.memory: Memory | None = None

    def __call__(self, observations: Mapping[str, np.ndarray], acting: np.ndarray) -> dict[str, np.ndarray]:
        """Actions by agent for observations [W, d]; `acting` bool[W, N] says who acts now."""
        worlds = len(observations[self.actors.task.agents[0]])
        if self.memory is None or self.memory.previous[0].shape[1] != worlds:
            self.memory = self.actors.memory(worlds)
        return self.actors.act(observations, acting, self.memory, self.epsilon)

    def begin(self, worlds: np.ndarray | None) -> None:
        """In these worlds (bool [W]; None: all) the next observations are the first of an episode."""
        if self.memory is not None:
            self.memory.begin(worlds)


def q_shape(task: Task, group: Group, config: DqnConfig) -> tuple[QShape, list[int]]:
    """Shape of a group's networks, and which policy each agent plays."""
    agents = len(group.agents)
    index = policy_index(task, group, config.sharing)
    index = list(range(agents)) if index is None else index
    shares = index != list(range(agents))
    memory = config.memory_size if config.memory == "gru" else 0
    inputs = group.observation_size + (group.action.size if memory else 0)
    identities = agents if shares else 0
    return QShape(inputs, tuple(config.hidden), group.action.size, config.activation, identities, memory), index


def named_parts(prefix: str, task: Task, stacks: Sequence[QStack]) -> dict[str, Tensor]:
    """Parameters of stacks by name; views, not copies."""
    found: dict[str, Tensor] = {}
    for group, stack in zip(task.groups, stacks, strict=True):
        for name, part in views(stack.shape, stack.flat).items():
            found[f"{prefix}/{stack_name(group)}/{name}"] = part
    return found


def load_parts(parts: Mapping[str, Tensor], tensors: Mapping[str, Any]) -> None:
    """Write tensors into parts of the same names. Raises Incompatible, before anything is written, where one is missing
    or of another shape."""
    for name, part in parts.items():
        if name not in tensors or tensors[name].shape != part.shape:
            got = "missing" if name not in tensors else f"of shape {tuple(tensors[name].shape)}"
            raise Incompatible(
                f"the policy does not fit this game: {name} is {got}, but {tuple(part.shape)} is needed; "
                "use the environment and options it was trained with"
            )
    for name, part in parts.items():
        part.copy_(tensors[name])
