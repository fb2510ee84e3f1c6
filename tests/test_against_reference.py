"""Whole random episodes of the compiled game against the plain Python rules in `reference_tag`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference_tag import ReferenceTag

from mpe_ext import simple_tag_while_c_v0 as tag

WORLDS = 3
SEED = 20

# Large bodies and food everywhere, so that rare events come often.
CROWDED = {"num_J": 20, "collector_size": 0.08, "food_size": 0.08, "detect_radius": 0.4}
# Slow collectors near the edge of a small range: some leave it, some come back.
TIGHT = {"comm_radius": 0.15, "collector_accel": 3.0, "collector_max_speed": 0.6}
# Small bodies, hardly pushed apart at the start, that walk in and out of a small range.
BORDER = {"comm_radius": 0.12, "controller_size": 0.01, "collector_size": 0.01}
SHAPED = {
    "adversary_distance_shaping": 0.1,
    "controller_distance_shaping": 0.2,
    "controller_comm_shaping": 1.0,
    "collector_comm_shaping": 0.7,
}


def team(adversaries: int, controllers: int, sons: int) -> dict[str, Any]:
    return {
        "num_adversaries": adversaries,
        "num_controller": controllers,
        "num_collector_each": sons,
    }


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "readme": {"preset": "readme"},
    "v1_0_3": {"preset": "v1_0_3"},
    "VL": {"env_quality": "VL"},
    "H": {"env_quality": "H"},
    "VH": {"env_quality": "VH"},
    "v1_0_3-VH": {"preset": "v1_0_3", "env_quality": "VH"},
    "team-212": team(2, 1, 2),
    "team-122": team(1, 2, 2),
    "team-223": team(2, 2, 3) | {"env_quality": "VH"},
    "team-111": team(1, 1, 1),
    "team-012": team(0, 1, 2),
    "team-012-shaped": team(0, 1, 2) | SHAPED,
    "team-122-all": team(1, 2, 2) | {"observe_all_collectors": True},
    "team-223-all-VH": team(2, 2, 3) | {"observe_all_collectors": True, "env_quality": "VH"},
    "team-223-v1_0_3": team(2, 2, 3) | {"preset": "v1_0_3"},
    "food-0": {"num_J": 0},
    "food-3": {"num_J": 3},
    "food-3-slots-0": {"num_J": 3, "n_detect": 0},
    "food-10-slots-12": {"n_detect": 12},
    "crowded": CROWDED,
    "crowded-cover": CROWDED | {"pickup_rule": "cover"},
    "crowded-multiple": CROWDED | {"multiple_pickups": True},
    "crowded-kept": CROWDED | {"updating_J": False},
    "crowded-kept-multiple": CROWDED | {"updating_J": False, "multiple_pickups": True},
    "kept-v1_0_3": {"preset": "v1_0_3", "updating_J": False, "collector_size": 0.1},
    "tiny-discs": {"detect_radius": 0.02, "collector_size": 0.03},
    # Respawns that end on the box after 64 tries, and the cap of the bound penalty.
    "outside": {
        "num_J": 40,
        "food_size": 0.6,
        "detect_radius": 0.2,
        "collector_accel": 60.0,
        "collector_max_speed": 8.0,
        "controller_accel": 60.0,
        "controller_max_speed": 8.0,
    },
    "rewards": {
        "hit_reward": 7.5,
        "collect_reward": 3.25,
        "controller_collect_reward": 1.5,
        "lost_penalty": 0.25,
        "num_adversaries": 2,
        "adversary_size": 0.8,
    },
    "bodies": {
        "adversary_size": 0.2,
        "controller_size": 0.1,
        "adversary_accel": 6.0,
        "controller_accel": 2.0,
        "adversary_max_speed": 2.0,
        "controller_max_speed": 0.7,
    },
    "legacy": CROWDED | TIGHT | {"reward_timing": "legacy"},
    "legacy-v1_0_3": {"preset": "v1_0_3", "reward_timing": "legacy", "collector_size": 0.1},
    "velocity-first": {"integrator": "velocity_first"},
    "layers": {"cross_layer_contacts": False, "adversary_size": 0.3},
    "layers-223": team(2, 2, 3) | {"cross_layer_contacts": False, "adversary_size": 0.3},
    "continuous": {"continuous_actions": True},
    "continuous-v1_0_3-223": team(2, 2, 3) | {"preset": "v1_0_3", "continuous_actions": True},
    "shaped": SHAPED,
    "shaped-distance": SHAPED | {"comm_shaping": "distance"},
    "shaped-223": team(2, 2, 3) | SHAPED | TIGHT,
    "strict": TIGHT | {"strict_mode": True},
    "strict-VH": TIGHT | {"strict_mode": True, "env_quality": "VH"},
    "strict-v1_0_3": {"preset": "v1_0_3", "strict_mode": True, "comm_radius": 0.25},
    "strict-shaped": TIGHT | SHAPED | {"strict_mode": True},
    "strict-shaped-distance": TIGHT | SHAPED | {"strict_mode": True, "comm_shaping": "distance"},
    "strict-crowded": TIGHT | CROWDED | {"strict_mode": True},
    "strict-crowded-kept": TIGHT | CROWDED | {"strict_mode": True, "updating_J": False},
    "strict-223": team(2, 2, 3) | TIGHT | {"strict_mode": True, "env_quality": "VH"},
    "strict-122-all": team(1, 2, 2)
    | TIGHT
    | {"strict_mode": True, "observe_all_collectors": True, "env_quality": "VH"},
    "strict-continuous": TIGHT | {"strict_mode": True, "continuous_actions": True},
    "strict-contacts": {
        "strict_mode": True,
        "comm_radius": 0.2,
        "adversary_size": 0.4,
        "integrator": "velocity_first",
    },
    "random": BORDER | {"strict_mode": "random"},
    "random-crowded": TIGHT | CROWDED | {"strict_mode": "random"},
    "random-223": team(2, 2, 3) | BORDER | {"strict_mode": "random"},
    "random-continuous": BORDER | {"strict_mode": "random", "continuous_actions": True},
    "random-v1_0_3": {"preset": "v1_0_3", "strict_mode": "random", "comm_radius": 0.2},
    "short": {"max_cycles": 1},
    "long": {"max_cycles": 60},
}


def random_actions(rng: np.random.Generator, agents: list[str], continuous: bool) -> dict[str, np.ndarray]:
    """Actions [WORLDS] or [WORLDS, 5]; continuous ones leave the box at times, to be clipped."""
    if continuous:
        return {agent: rng.uniform(-0.2, 1.2, (WORLDS, 5)).astype(np.float32) for agent in agents}
    return {agent: rng.integers(0, 5, WORLDS) for agent in agents}


def assert_close(ours: Any, theirs: Any, atol: float, where: str) -> None:
    if not np.all(np.abs(np.subtract(ours, theirs)) <= atol):  # much faster than the next line
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol, err_msg=where)


def assert_same_view(
    observations: dict[str, np.ndarray],
    infos: dict[str, Any],
    state: np.ndarray,
    references: list[ReferenceTag],
    where: str,
) -> None:
    """Observations, state and infos of every world against its reference."""
    for w, reference in enumerate(references):
        expected, expected_infos = reference.observations(), reference.infos()
        for agent in reference.possible_agents:
            here = f"{where}, world {w}, {agent}"
            assert observations[agent].dtype == np.float32
            assert_close(observations[agent][w], expected[agent], 1e-6, here)
            assert set(infos[agent]) == set(expected_infos[agent]), here
            for key, value in expected_infos[agent].items():
                atol = 1e-9 if key == "episode_return" else 0
                assert_close(infos[agent][key][w], value, atol, f"{here}, {key}")
        assert_close(state[w], reference.state(), 1e-6, f"{where}, world {w}, state")


def play_both(configuration: dict[str, Any], episodes: int, seed: Any) -> list[ReferenceTag]:
    """Play the same random actions on both and compare everything that a step returns."""
    venv = tag.vector_env(num_envs=WORLDS, autoreset_mode="disabled", **configuration)
    references = [ReferenceTag(**configuration) for _ in range(WORLDS)]
    agents = references[0].possible_agents
    assert list(venv.possible_agents) == agents
    rng = np.random.default_rng(1)
    for episode in range(episodes):
        first = episode == 0
        observations, infos = venv.reset(seed=seed if first else None)
        for w, reference in enumerate(references):
            if not first:
                reference.reset()
            elif isinstance(seed, int):
                reference.reset(seed, w)
            else:
                reference.reset(seed[w], 0)
        where = f"episode {episode}, reset"
        assert_same_view(observations, infos, venv.state(), references, where)
        done = False
        while not done:
            where = f"episode {episode}, step {references[0].steps + 1}"
            actions = random_actions(rng, agents, references[0].params["continuous_actions"])
            observations, rewards, terminations, truncations, infos = venv.step(actions)
            for w, reference in enumerate(references):
                _, reward, terminated, truncated, _ = reference.step({agent: actions[agent][w] for agent in agents})
                done = any(truncated.values())
                for i, agent in enumerate(agents):
                    here = f"{where}, world {w}, {agent}"
                    assert rewards[agent].dtype == np.float64
                    assert_close(rewards[agent][w], reward[agent], 1e-9, here)
                    assert terminations[agent][w] == terminated[agent], here
                    assert truncations[agent][w] == truncated[agent], here
                    if not done:
                        assert infos["acting"][w, i] == (not terminated[agent]), here
            assert_same_view(observations, infos, venv.state(), references, where)
    venv.close()
    return references


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_whole_episodes(name: str) -> None:
    """Two episodes in a row: the second goes on with the stream of the first."""
    play_both(CONFIGURATIONS[name], episodes=2, seed=SEED)


@pytest.mark.parametrize("seed", [0, 2**32 + 5, [3, 3, 2**40]], ids=["zero", "large", "list"])
def test_seeds(seed: Any) -> None:
    """An int gives world w the stream (seed, w), a list gives it the stream (seeds[w], 0)."""
    play_both({}, episodes=2, seed=seed)


def test_the_matrix_reaches_the_rare_rules() -> None:
    """The configurations above would prove little if nothing were lost or picked up in them."""

    def count(name: str) -> dict[str, int]:
        rng = np.random.default_rng(0)
        env = ReferenceTag(**CONFIGURATIONS[name])
        seen = {"down": 0, "back": 0, "collected": 0, "several": 0, "hits": 0}
        for episode in range(20):
            env.reset(episode)
            lost = {son.name: False for son in env.collectors}
            for _ in range(25):
                actions = random_actions(rng, env.possible_agents, env.params["continuous_actions"])
                env.step({agent: values[0] for agent, values in actions.items()})
                seen["hits"] += sum(adversary.hits for adversary in env.adversaries)
                for son in env.collectors:
                    seen["down"] += son.just_down
                    seen["back"] += lost[son.name] and not son.lost
                    seen["collected"] += son.collected
                    seen["several"] += son.collected > 1
                    lost[son.name] = son.lost
        return seen

    assert count("crowded")["collected"] > 100
    assert count("crowded")["several"] == 0
    assert count("crowded-multiple")["several"] > 20
    assert count("rewards")["hits"] > 20
    for name in ("strict", "strict-223", "strict-crowded", "strict-continuous"):
        assert count(name)["down"] > 20, name
    assert count("strict-crowded")["collected"] > 20
    for name in ("random", "random-continuous"):
        assert count(name)["back"] > 3, name
