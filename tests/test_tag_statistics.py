"""Play at random against the long-run means of an independent implementation (A12)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tag_worlds import AGENTS, make

# Mean and its own standard error, from millions of episodes of an independent implementation.
STATISTICS: dict[str, dict[str, tuple[float, float]]] = {
    "readme": {
        "adversary_0": (3.288, 0.009),
        "controller_0": (-50.179, 0.017),
        "collector_0_0": (-15.924, 0.0045),
        "collector_0_1": (-16.035, 0.0045),
        "food": (0.9915, 0.0008),
        "lost": (1.4767, 0.0002),
        "hit": (0.0066, 0.00005),
    },
    "v1_0_3": {
        "adversary_0": (1.651, 0.006),
        "controller_0": (-42.677, 0.024),
        "collector_0_0": (-16.274, 0.008),
        "collector_0_1": (-16.290, 0.008),
        "food": (0.4533, 0.0007),
        "lost": (1.2497, 0.0004),
        "hit": (0.0066, 0.00005),
    },
    "v1_0_3 without shaping": {
        "adversary_0": (1.636, 0.006),
        "controller_0": (-41.204, 0.024),
        "collector_0_0": (-14.484, 0.008),
        "collector_0_1": (-14.513, 0.008),
    },
}


@pytest.mark.parametrize("name", STATISTICS)
def test_random_play(name: str) -> None:
    episodes = 20_000
    params: dict[str, Any] = {"preset": name.split()[0]}
    if "without" in name:
        params |= {"controller_comm_shaping": 0, "collector_comm_shaping": 0}
    venv = make(num_envs=episodes, **params)
    rng = np.random.default_rng(11)
    samples = {key: np.zeros(episodes) for key in (*AGENTS, "food", "lost", "hit")}
    for _ in range(25):
        actions = {agent: rng.integers(0, 5, episodes) for agent in AGENTS}
        _, rewards, _, truncations, infos = venv.step(actions)
        for agent in AGENTS:
            samples[agent] += rewards[agent]
        samples["food"] += infos["collector_0_0"]["collected"] + infos["collector_0_1"]["collected"]
        samples["lost"] += infos["controller_0"]["lost"] / 25
        samples["hit"] += (infos["controller_0"]["hits"] > 0) / 25
    assert all(truncations[agent].all() for agent in AGENTS)
    for agent in AGENTS:
        totals = infos[agent]["episode_return"]
        np.testing.assert_allclose(totals, samples[agent], rtol=0, atol=1e-9)
    for key, (mean, error) in STATISTICS[name].items():
        own = samples[key].std() / math.sqrt(episodes)
        assert samples[key].mean() == pytest.approx(mean, abs=4 * math.hypot(own, error)), key
