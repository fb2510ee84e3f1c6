"""The table of algorithms: what each is made of and what it can do. A row, not a class, is an algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from maddpg.config import MaddpgConfig
from maddpg.errors import UserError, nearest
from maddpg.task import Incompatible, Task


@dataclass(frozen=True)
class Algorithm:
    """Parts of one algorithm and the games it is legal for."""

    name: str
    title: str
    objective: Literal["dpg"]
    critic_scope: Literal["joint_actions"]
    experience: Literal["replay"]
    action_kinds: frozenset[str]
    common_reward_only: bool


ALGORITHMS: dict[str, Algorithm] = {
    row.name: row
    for row in (
        Algorithm(
            name="maddpg",
            title="multi-agent deep deterministic policy gradient (Lowe et al., 2017)",
            objective="dpg",
            critic_scope="joint_actions",
            experience="replay",
            action_kinds=frozenset({"discrete", "box"}),
            common_reward_only=False,
        ),
    )
}


def find(name: str) -> Algorithm:
    """The row of that name. Raises UserError with the nearest name."""
    if name not in ALGORITHMS:
        raise UserError(f"unknown algorithm {name!r}{nearest(name, ALGORITHMS)}")
    return ALGORITHMS[name]


def check(algorithm: Algorithm, task: Task, config: MaddpgConfig) -> None:
    """Raises Incompatible, in one sentence, where the algorithm cannot learn this game with these options."""
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
