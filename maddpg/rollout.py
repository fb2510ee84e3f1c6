"""Playing a fixed number of whole episodes, many at once, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from maddpg.errors import EnvError
from maddpg.worlds import Worlds
from mpe_ext.engine.game import Episodes

EVALUATION_SEED = 1_000_000_007
"""Seed of the fixed episodes of evaluations, far from the seeds that people train with."""
LONGEST_EPISODE = 100_000
"""Steps without the end of any episode after which a game is taken for one that never ends."""


class Player(Protocol):
    """Whoever plays all agents. One that remembers also has `begin(worlds)`, which is told in which worlds (bool
    [W], None: all) the next observations are the first of an episode."""

    def __call__(self, observations: dict[str, np.ndarray], acting: np.ndarray) -> dict[str, np.ndarray]:
        """Actions by agent for observations [W, d]; `acting` bool[W, N] says who acts now."""


def play(worlds: Worlds, player: Player, episodes: int, seed: int, options: dict[str, Any] | None = None) -> Episodes:
    """Plays `episodes` whole episodes from `seed` on; `options` are those of the first reset.

    Every world contributes its first episodes, as many as the next (give or take one): taking whatever ends
    first would favour short ones. Raises EnvError where episodes do not end.
    """
    agents, width = list(worlds.possible_agents), worlds.num_envs
    quota = episodes // width + (np.arange(width) < episodes % width)
    played = np.zeros(width, np.int64)
    begin = getattr(player, "begin", lambda worlds: None)
    observations, infos = worlds.reset(seed=seed, options=options)
    begin(None)
    running = {
        a: {k: np.zeros(width) for k, v in infos[a].items() if np.ndim(v) == 1 and not k.startswith("episode_")}
        for a in agents
    }  # a mask adds up to nothing
    result = Episodes(
        np.zeros(episodes),
        {a: np.zeros(episodes) for a in agents},
        {a: {k: np.zeros(episodes) for k in running[a]} for a in agents},
        {a: {k: np.zeros(episodes) for k in running[a]} for a in agents},
        {a: np.zeros((episodes, *observations[a].shape[1:]), np.float32) for a in agents},
    )
    waited = 0
    while (played < quota).any():
        seen = {a: observations[a] for a in agents}
        observations, _, _, _, infos = worlds.step(player(seen, infos["acting"]))
        for agent in agents:
            for key, total in running[agent].items():
                total += infos[agent][key]
        waited += 1
        if "_final_obs" not in infos:
            if waited >= LONGEST_EPISODE:
                raise EnvError(f"no episode has ended within {waited:,} steps; give --max-cycles")
            continue
        waited = 0
        ended = np.flatnonzero(infos["_final_obs"])
        counted = ended[played[ended] < quota[ended]]
        places = played[counted] * width + counted
        result.lengths[places] = np.max([infos[a]["episode_length"][counted] for a in agents], axis=0)
        for agent in agents:
            result.returns[agent][places] = infos[agent]["episode_return"][counted]
            result.final_observations[agent][places] = infos["final_obs"][agent][counted]
            for key, total in running[agent].items():
                result.sums[agent][key][places] = total[counted]
                result.last[agent][key][places] = infos[agent][key][counted]
                total[ended] = 0
        played[ended] += 1
        begin(infos["_final_obs"])
    return result


def mean_and_interval(values: np.ndarray) -> tuple[float, float]:
    """Mean and the half width of its 95 % interval (normal approximation) of what is not NaN."""
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return float(values.mean()), 1.96 * spread / float(np.sqrt(len(values)))


def role_returns(episodes: Episodes, roles: Mapping[str, list[str]]) -> dict[str, np.ndarray]:
    """Return of each episode by role: the mean over the agents of the role."""
    return {r: np.mean([episodes.returns[a] for a in agents], axis=0) for r, agents in roles.items()}


def extras(worlds: Any, episodes: Episodes) -> dict[str, np.ndarray]:
    """What else is worth knowing of each episode, as the game says (NaN where it does not apply); empty for games
    that are not ours."""
    game = getattr(worlds, "game", None)
    return {} if game is None else game.metrics(episodes)
