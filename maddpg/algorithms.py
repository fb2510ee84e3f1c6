"""The table of algorithms: what each is made of and what it can do. A row, not a class, is an algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from maddpg.config import MaddpgConfig, RunConfig
from maddpg.dqn_config import DqnConfig
from maddpg.errors import UserError, nearest
from maddpg.task import Incompatible, Task


@dataclass(frozen=True)
class Algorithm:
    """Parts of one algorithm and the games it is legal for. Parts that need torch are named, as `module:name`, so that
    `--help` does not wait for it."""

    name: str
    title: str
    config: type[RunConfig]
    learner: str  # (task, config, device, total_rounds)
    actors: str  # what a checkpoint is played by
    action_kinds: frozenset[str]
    turn_based: bool

    def make_learner(self, *arguments: Any) -> Any:
        """A learner: it explores, remembers, updates, and can be put away and taken up again."""
        return _part(self.learner)(*arguments)

    def make_actors(self, *arguments: Any, **options: Any) -> Any:
        """The actors of a checkpoint, see `Actors.from_tensors`."""
        return _part(self.actors).from_tensors(*arguments, **options)


def _part(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            name="maddpg",
            title="multi-agent deep deterministic policy gradient (Lowe et al., 2017)",
            config=MaddpgConfig,
            learner="maddpg.learner:Learner",
            actors="maddpg.actors:Actors",
            action_kinds=frozenset({"discrete", "box"}),
            turn_based=False,
        ),
        Algorithm(
            name="dqn",
            title="independent deep Q-learning with double targets (Mnih et al., 2015; van Hasselt et al., 2016)",
            config=DqnConfig,
            learner="maddpg.dqn:DqnLearner",
            actors="maddpg.qnets:QActors",
            action_kinds=frozenset({"discrete"}),
            turn_based=True,
        ),
    )
}


def find(name: str) -> Algorithm:
    """The row of that name. Raises UserError with the nearest name."""
    if name not in ALGORITHMS:
        raise UserError(f"unknown algorithm {name!r}{nearest(name, ALGORITHMS)}")
    return ALGORITHMS[name]


def check(algorithm: Algorithm, task: Task, config: RunConfig) -> None:
    """Raises Incompatible, in one sentence, where the algorithm cannot learn this game with these options."""
    if task.turn_based and not algorithm.turn_based:
        able = " or ".join(row.name for row in ALGORITHMS.values() if row.turn_based)
        raise Incompatible(f"{algorithm.name} needs agents that act at the same time, here they take turns; use {able}")
    for agent, action in zip(task.agents, task.actions, strict=True):
        if action.kind not in algorithm.action_kinds:
            able = " or ".join(sorted(algorithm.action_kinds))
            raise Incompatible(f"{algorithm.name} needs {able} actions, but those of {agent} are {action.kind}")
    if config.sharing == "all" and len(task.groups) > 1:
        first, other = task.groups[0].agents[0], task.groups[1].agents[0]
        raise Incompatible(
            f"sharing=all needs equal spaces for all agents, but those of {first} and {other} differ; "
            "use sharing=role or sharing=separate"
        )
    if config.buffer_capacity < config.batch_size:
        raise Incompatible(f"buffer_capacity={config.buffer_capacity} must be at least batch_size={config.batch_size}")
