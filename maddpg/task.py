"""What a learner has to know of a game: agents, sizes, kinds of actions, roles. Made once, never changed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from maddpg.errors import UserError


class Incompatible(UserError):
    """A game, algorithm and options that do not go together. The message says what would work."""


@dataclass(frozen=True)
class Action:
    """One agent's actions. Networks and the replay buffer see `size` numbers for each: a one-hot for discrete
    actions, the box rescaled to [-1, 1] for continuous ones."""

    kind: Literal["discrete", "box"]
    size: int
    start: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @classmethod
    def of(cls, space: spaces.Space, agent: str) -> Action:
        """The actions of a space. Raises Incompatible for kinds that cannot be trained."""
        if isinstance(space, spaces.Discrete):
            return cls("discrete", int(space.n), int(space.start))
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            low, high = space.low.astype(float), space.high.astype(float)
            if np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all():
                return cls("box", space.shape[0], low=tuple(low.tolist()), high=tuple(high.tolist()))
        raise Incompatible(
            f"the action space of {agent} is {space}; only Discrete(n) and one-dimensional Box spaces with "
            "finite bounds can be trained"
        )

    def encode(self, actions: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Actions as the environment takes them ([W] integers of any kind, or [W, size]) to float32 [W, size], into
        `out` if it is given."""
        if self.kind == "discrete":
            if out is None:
                out = np.empty((np.size(actions), self.size), np.float32)
            return np.equal(np.reshape(actions, (-1, 1)), self._numbers, out=out)
        unit = (np.asarray(actions, np.float32) - self._low) / self._range * np.float32(2) - np.float32(1)
        if out is None:
            return unit
        out[...] = unit
        return out

    def decode(self, unit: np.ndarray) -> np.ndarray:
        """What `encode` makes of continuous actions, back to the box: float32 [W, size]."""
        real = self._low + (unit + np.float32(1)) / np.float32(2) * self._range
        return np.clip(real, self._low, np.asarray(self.high, np.float32))

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.arange(self.start, self.start + self.size)

    @cached_property
    def _low(self) -> np.ndarray:
        return np.asarray(self.low, np.float32)

    @cached_property
    def _range(self) -> np.ndarray:
        return np.asarray(self.high, np.float32) - self._low


@dataclass(frozen=True)
class Group:
    """Agents of equal spaces: one stack of networks. `lo` is the first slot, the others are the first columns in
    the joint observation and the joint action."""

    agents: tuple[str, ...]
    roles: tuple[str, ...]
    observation_size: int
    action: Action
    lo: int
    observation_at: int
    action_at: int

    @property
    def hi(self) -> int:
        """The slot after the last one."""
        return self.lo + len(self.agents)

    @property
    def observation_columns(self) -> slice:
        """Their columns in a joint observation."""
        return slice(self.observation_at, self.observation_at + len(self.agents) * self.observation_size)


@dataclass(frozen=True)
class Family:
    """Agents of equal actions, in the slots from `lo` to `hi`: what happens to actions is done for all at once."""

    action: Action
    lo: int
    hi: int
    action_at: int

    @property
    def agents(self) -> slice:
        """Their slots."""
        return slice(self.lo, self.hi)

    @property
    def action_columns(self) -> slice:
        """Their columns in a joint action."""
        return slice(self.action_at, self.action_at + (self.hi - self.lo) * self.action.size)


@dataclass(frozen=True)
class Task:
    """Facts about a game. In joint arrays agents stand in *slots*: agents of equal spaces side by side (a group),
    groups of equal actions side by side (a family), else as the environment orders them."""

    agents: tuple[str, ...]
    observation_sizes: tuple[int, ...]
    actions: tuple[Action, ...]
    roles: tuple[str, ...]
    horizon: int | None = None
    turn_based: bool = False

    @classmethod
    def of(cls, venv: Any) -> Task:
        """The facts of a vector environment (`possible_agents`, `observation_space`, `action_space`). Raises
        Incompatible where a space cannot be trained."""
        agents = tuple(venv.possible_agents)
        sizes, actions = [], []
        for agent in agents:
            space = venv.observation_space(agent)
            if not isinstance(space, spaces.Box) or len(space.shape) != 1:
                raise Incompatible(
                    f"the observation space of {agent} is {space}; only one-dimensional Box spaces can be trained, "
                    "so flatten the observations"
                )
            sizes.append(space.shape[0])
            actions.append(Action.of(venv.action_space(agent), agent))
        horizon = getattr(venv, "max_cycles", None)
        turn_based = getattr(getattr(venv, "game", None), "turn_based", False)
        return cls(agents, tuple(sizes), tuple(actions), _roles(agents, sizes, actions), horizon, turn_based)

    @cached_property
    def role_names(self) -> tuple[str, ...]:
        """Every role once, in order of appearance."""
        return tuple(dict.fromkeys(self.roles))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Agents of equal spaces; groups of equal actions stand side by side."""
        members: dict[Any, list[int]] = {}
        kinds = zip(self.actions, self.observation_sizes, strict=True)
        for i, kind in enumerate(kinds):
            members.setdefault(kind, []).append(i)
        first = {action: self.actions.index(action) for action in self.actions}
        groups, lo, observation_at, action_at = [], 0, 0, 0
        for (action, size), at in sorted(members.items(), key=lambda item: (first[item[0][0]], item[1][0])):
            names, roles = tuple(self.agents[i] for i in at), tuple(self.roles[i] for i in at)
            groups.append(Group(names, roles, size, action, lo, observation_at, action_at))
            lo, observation_at = lo + len(at), observation_at + len(at) * size
            action_at += len(at) * action.size
        return tuple(groups)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Runs of groups with equal actions."""
        families: list[Family] = []
        for group in self.groups:
            if families and families[-1].action == group.action:
                last = families.pop()
                families.append(Family(last.action, last.lo, group.hi, last.action_at))
            else:
                families.append(Family(group.action, group.lo, group.hi, group.action_at))
        return tuple(families)

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """Agents in the order of joint arrays."""
        return tuple(agent for group in self.groups for agent in group.agents)

    @property
    def observation_width(self) -> int:
        """Numbers in a joint observation."""
        return sum(self.observation_sizes)

    @property
    def action_width(self) -> int:
        """Numbers in a joint action."""
        return sum(action.size for action in self.actions)


def _roles(agents: tuple[str, ...], sizes: list[int], actions: list[Action]) -> tuple[str, ...]:
    """Role of each agent: the name up to its first number (`collector_0_1` is a collector). Agents of one prefix
    but unequal spaces are different roles, and the later kind is called after its first agent."""
    kinds: dict[Any, str] = {}
    taken: set[str] = set()
    for agent, size, action in zip(agents, sizes, actions, strict=True):
        prefix = re.split(r"_(?=\d)", agent, maxsplit=1)[0]
        if (prefix, size, action) not in kinds:
            kinds[prefix, size, action] = agent if prefix in taken else prefix
            taken.add(prefix)
    prefixes = [re.split(r"_(?=\d)", agent, maxsplit=1)[0] for agent in agents]
    return tuple(kinds[key] for key in zip(prefixes, sizes, actions, strict=True))
