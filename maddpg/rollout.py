"""Playing a fixed number of whole episodes, many at once, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from maddpg.collect import Act
from maddpg.worlds import Worlds

EVALUATION_SEED = 1_000_000_007
"""Seed of the fixed episodes of evaluations, far from the seeds that people train with."""


@dataclass
class Episodes:
    """What came of E episodes: undiscounted `returns` [E] and `sums` [E] of every other info, by agent."""

    lengths: np.ndarray
    returns: dict[str, np.ndarray]
    sums: dict[str, dict[str, np.ndarray]]


def play(worlds: Worlds, act: Act, episodes: int, seed: int) -> Episodes:
    """Plays `episodes` whole episodes from `seed` on.

    Every world contributes its first episodes, as many as the next (give or take one): taking whatever ends
    first would favour short ones.
    """
    agents, width = list(worlds.possible_agents), worlds.num_envs
    quota = episodes // width + (np.arange(width) < episodes % width)
    played = np.zeros(width, np.int64)
    observations, infos = worlds.reset(seed=seed)
    keys = {a: [k for k in infos[a] if not k.startswith("episode_")] for a in agents}
    running = {a: {k: np.zeros(width) for k in keys[a]} for a in agents}
    result = Episodes(
        np.zeros(episodes),
        {a: np.zeros(episodes) for a in agents},
        {a: {k: np.zeros(episodes) for k in keys[a]} for a in agents},
    )
    while (played < quota).any():
        observations, _, _, _, infos = worlds.step(act({a: observations[a] for a in agents}))
        for agent in agents:
            for key, total in running[agent].items():
                total += infos[agent][key]
        if "_final_obs" not in infos:
            continue
        ended = np.flatnonzero(infos["_final_obs"])
        counted = ended[played[ended] < quota[ended]]
        places = played[counted] * width + counted
        result.lengths[places] = infos[agents[0]]["episode_length"][counted]
        for agent in agents:
            lengths = infos[agent]["episode_length"][counted]
            result.lengths[places] = np.maximum(result.lengths[places], lengths)
            result.returns[agent][places] = infos[agent]["episode_return"][counted]
            for key, total in running[agent].items():
                result.sums[agent][key][places] = total[counted]
                total[ended] = 0
        played[ended] += 1
    return result


def mean_and_interval(values: np.ndarray) -> tuple[float, float]:
    """Mean and the half width of its 95 % interval (normal approximation)."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), 1.96 * spread / float(np.sqrt(len(values)))


def role_returns(episodes: Episodes, roles: Mapping[str, list[str]]) -> dict[str, np.ndarray]:
    """Return of each episode by role: the mean over the agents of the role."""
    return {r: np.mean([episodes.returns[a] for a in agents], axis=0) for r, agents in roles.items()}


def extras(name: str, episodes: Episodes) -> dict[str, np.ndarray]:
    """What else is worth knowing of each episode of the game called `name`; empty for games without."""
    if name.startswith("simple_tag_while_c"):
        return _tag_extras(episodes)
    return {}


def _tag_extras(episodes: Episodes) -> dict[str, np.ndarray]:
    zero = np.zeros_like(episodes.lengths)

    def of(kind: str) -> list[str]:
        return [a for a in episodes.returns if a.startswith(kind)]

    def total(kind: str, key: str) -> np.ndarray:
        return np.sum([zero, *(episodes.sums[a][key] for a in of(kind))], axis=0)

    team = np.sum([episodes.returns[a] for a in of("controller") + of("collector")], axis=0)
    return {
        "team": team,
        "food": total("collector", "collected"),
        "hits": total("adversary", "hits"),
        "time out of range": total("collector", "lost") / (len(of("collector")) * episodes.lengths),
        "time out of bounds": total("controller", "out_of_bounds") / (len(of("controller")) * episodes.lengths),
    }
