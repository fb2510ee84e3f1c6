"""The loops that PettingZoo environments are driven with: the same for ours and for peers.

Actions are drawn beforehand. Episodes last 25 cycles; the resets between them are counted only where the name says so.
"""

from __future__ import annotations

import random
import time
from typing import Any

from measure import Chunk

CYCLES = 25


def _plan(env: Any, size: int = 40 * CYCLES) -> list[dict[str, int]]:
    draw = random.Random(0)
    sizes = {agent: int(env.action_space(agent).n) for agent in env.possible_agents}
    return [{agent: draw.randrange(n) for agent, n in sizes.items()} for _ in range(size)]


def parallel_steps(env: Any, with_reset: bool = False) -> Chunk:
    """An episode of a ParallelEnv: 25 calls of `step`."""
    plan, at = _plan(env), 0

    def chunk() -> tuple[int, float]:
        nonlocal at
        actions = plan[at : at + CYCLES]
        at = (at + CYCLES) % len(plan)
        if not with_reset:
            env.reset()
        start = time.perf_counter()
        if with_reset:
            env.reset()
        for action in actions:
            env.step(action)
        took = time.perf_counter() - start
        assert not env.agents
        return CYCLES, took

    return chunk


def aec_cycles(env: Any) -> Chunk:
    """An episode of an AECEnv: 25 cycles in which every agent calls `last` and `step`."""
    plan, at = _plan(env), 0

    def chunk() -> tuple[int, float]:
        nonlocal at
        actions = plan[at : at + CYCLES]
        at = (at + CYCLES) % len(plan)
        env.reset()
        agents = list(env.agents)
        start = time.perf_counter()
        for action in actions:
            for agent in agents:
                env.last()
                env.step(action[agent])
        took = time.perf_counter() - start
        assert all(env.truncations.values())
        return CYCLES, took

    return chunk
