"""Worlds of the tag game whose states are written by hand, with `snapshot` and `restore`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpe_ext import simple_tag_while_c_v0 as tag

ADVERSARY, CONTROLLER, SON_0, SON_1 = range(4)
AGENTS = ["adversary_0", "controller_0", "collector_0_0", "collector_0_1"]
# The adversary far away, the controller in the middle, its collectors in range, nobody touching.
CALM = [[5.0, 5.0], [0.0, 0.0], [0.3, 0.0], [-0.3, 0.0]]


def make(num_envs: int = 1, **params: Any) -> Any:
    venv = tag.vector_env(num_envs=num_envs, autoreset_mode="disabled", **params)
    venv.reset(seed=0)
    return venv


def place(venv: Any, positions: Any, food: Any = None) -> None:
    """Put all bodies at rest at `positions` [N, 2] or [W, N, 2], and food at `food` [J, 2]."""
    fields = venv.snapshot()
    fields["pos"] = np.broadcast_to(np.asarray(positions, float), fields["pos"].shape).copy()
    fields["vel"] = np.zeros_like(fields["vel"])
    if food is not None:
        fields["food"] = np.broadcast_to(np.asarray(food, float), fields["food"].shape).copy()
    venv.restore(fields)


def step(venv: Any, **actions: int) -> tuple[Any, ...]:
    """One step of every world; agents that are not named stand still."""
    chosen = {agent: actions.get(agent, 0) for agent in venv.possible_agents}
    return venv.step({agent: np.full(venv.num_envs, a) for agent, a in chosen.items()})
