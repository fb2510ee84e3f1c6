"""Rewards, pick-ups, timing and strict mode of tag while collecting, number by number.

Section numbers are those of the rules' text.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tag_worlds import ADVERSARY, AGENTS, CALM, SON_0, SON_1, make, place, step

# Rewards (A7) -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("z", "penalty"),
    [
        (0.0, 0.0),
        (0.5, 0.0),
        (0.899, 0.0),
        (0.9, 0.0),
        (0.95, 0.5),
        (0.99, 0.9),
        (1.0, 1.0),
        (1.2, math.exp(0.4)),
        (1.5, math.e),
        (2.0, math.exp(2.0)),
        (2.15, math.exp(2.3)),
        (2.152, 10.0),
        (3.0, 10.0),
        (1000.0, 10.0),
    ],
)
def test_bound_penalty(z: float, penalty: float) -> None:
    """Paid by the controller alone, per axis, the same on all four sides."""
    venv = make(num_envs=5, num_J=0)
    corners = np.array([[z, 0], [-z, 0], [0, z], [0, -z], [z, -z]])
    positions = np.array([[[9, 9], corner, corner + [0.3, 0], corner - [0.3, 0]] for corner in corners])
    positions[:, ADVERSARY] = corners + [0.0, 4.0]
    place(venv, positions)
    _, rewards, *_, infos = step(venv)
    expected = np.array([-penalty] * 4 + [-2 * penalty])
    np.testing.assert_allclose(rewards["controller_0"], expected, rtol=0, atol=1e-9)
    outside = infos["controller_0"]["out_of_bounds"]
    np.testing.assert_array_equal(outside, z > 1.0)
    for agent in ("adversary_0", "collector_0_0", "collector_0_1"):
        assert not rewards[agent].any()


@pytest.mark.parametrize(("preset", "reward"), [("readme", 20), ("v1_0_3", 10)])
def test_hits(preset: str, reward: float) -> None:
    """Strictly closer than 0.125, paid per pair, shared among adversaries (A7)."""
    team = {"num_adversaries": 2, "num_controller": 2, "num_collector_each": 1}
    venv = make(num_J=0, preset=preset, controller_comm_shaping=0, collector_comm_shaping=0, **team)
    # The first adversary touches both controllers, the second one of them at 0.1 and none at 0.2.
    place(venv, [[0, 0], [0.22, 0], [-0.1, 0], [0.12, 0], [-0.1, 0.3], [0.12, 0.3]])
    _, rewards, *_, infos = step(venv)
    assert [infos[a]["hits"][0] for a in venv.possible_agents[:4]] == [2, 1, 1, 2]
    assert rewards["adversary_0"][0] == rewards["adversary_1"][0] == 3 * reward
    assert rewards["controller_0"][0] == pytest.approx(-reward)
    assert rewards["controller_1"][0] == pytest.approx(-2 * reward)


def test_touching_without_overlap_is_no_hit() -> None:
    venv = make(num_J=0)
    place(venv, [[0.125, 0.0], [0.0, 0.0], [0.0, 0.3], [0.0, -0.3]])
    *_, infos = step(venv)
    assert infos["adversary_0"]["hits"][0] == infos["controller_0"]["hits"][0] == 0


def test_range_is_strict() -> None:
    """Lost at exactly the communication radius; each costs the controller and itself 1."""
    venv = make(num_J=0)
    place(venv, [[5.0, 5.0], [0.0, 0.0], [0.5, 0.0], [0.0, -0.499]])
    _, rewards, *_, infos = step(venv)
    assert [infos[a]["lost"][0] for a in AGENTS[1:]] == [1, 1, 0]
    assert [rewards[a][0] for a in AGENTS] == [0, -1, -1, 0]


@pytest.mark.parametrize(("preset", "reach", "father"), [("readme", 0.05, 2), ("v1_0_3", 0.02, 5)])
def test_pick_up_reach_and_pay(preset: str, reach: float, father: float) -> None:
    venv = make(num_J=2, preset=preset, controller_comm_shaping=0, collector_comm_shaping=0)
    x, y = CALM[SON_0]
    for gap, taken in ((reach - 1e-6, 1), (reach + 1e-6, 0)):
        place(venv, CALM, [[x, y + gap], [0.9, 0.9]])
        _, rewards, *_, infos = step(venv)
        assert infos["collector_0_0"]["collected"][0] == taken
        assert [rewards[a][0] for a in AGENTS] == [0, father * taken, 5 * taken, 0]


def test_one_pick_up_a_step_the_nearest_first() -> None:
    """`readme` takes the nearest food, `multiple_pickups` all in reach (A7.2, A9-16)."""
    x, y = CALM[SON_0]
    food = [[x, y + 0.04], [x, y - 0.01], [x + 0.03, y], [0.9, 0.9]]
    for multiple in (False, True):
        venv = make(num_J=4, updating_J=False, multiple_pickups=multiple)
        place(venv, CALM, food)
        _, rewards, *_, infos = step(venv)
        left = venv.snapshot()["food_active"][0].tolist()
        assert left == ([False, False, False, True] if multiple else [True, False, True, True])
        assert infos["collector_0_0"]["collected"][0] == (3 if multiple else 1)
        assert rewards["collector_0_0"][0] == (15 if multiple else 5)


def test_first_collector_gets_contested_food_once() -> None:
    venv = make(num_J=1)
    place(venv, [[5.0, 5.0], [0.3, 0.3], [0.0, 0.045], [0.0, -0.03]], [[0.0, 0.0]])
    *_, infos = step(venv)
    assert [infos[a]["collected"][0] for a in AGENTS[2:]] == [1, 0]


def test_respawn_near_the_taker_and_in_the_box() -> None:
    venv = make(num_envs=2000, num_J=1)
    place(venv, CALM, [CALM[SON_1]])
    step(venv)
    fields = venv.snapshot()
    gaps = np.linalg.norm(fields["food"][:, 0] - np.array(CALM[SON_1]), axis=1)
    assert fields["food_active"].all()
    assert gaps.max() < 0.8 and gaps.mean() > 0.4
    assert np.abs(fields["food"]).max() <= 1.0


def test_respawn_far_outside_ends_on_the_box() -> None:
    """After 64 tries the last one is moved into the box (A9-20)."""
    venv = make(num_envs=100, num_J=1)
    place(venv, [[9.0, 9.0], [3.0, 0.0], [2.7, 0.0], [3.3, 0.0]], [[2.7, 0.0]])
    *_, infos = step(venv)
    assert infos["collector_0_0"]["collected"].all()
    food = venv.snapshot()["food"][:, 0]
    np.testing.assert_array_equal(food[:, 0], 1.0)
    assert np.abs(food[:, 1]).max() <= 0.8


def test_shaping_terms() -> None:
    """All four coefficients, both kinds of the collectors' term (A7)."""
    shaping = {
        "adversary_distance_shaping": 0.1,
        "controller_distance_shaping": 0.2,
        "controller_comm_shaping": 0.3,
        "collector_comm_shaping": 0.4,
    }
    place_at = [[0.6, 0.8], [0.0, 0.0], [0.7, 0.0], [-0.3, 0.0]]
    for kind in ("hinge", "distance"):
        venv = make(num_J=0, comm_shaping=kind, **shaping)
        place(venv, place_at)
        _, rewards, *_ = step(venv)
        far, near = (0.2, 0.0) if kind == "hinge" else (0.7, 0.3)
        expected = [-0.1, 0.2 - 0.3 * 0.2 - 1.0, -0.4 * far - 1.0, -0.4 * near]
        got = [rewards[agent][0] for agent in AGENTS]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_legacy_timing_pays_one_step_late() -> None:
    """The same play; lost and collected are paid a step later, and the last ones never (A7.1)."""
    params = {"comm_radius": 0.2, "num_J": 20, "hit_reward": 0.0}
    both = [make(num_envs=20, reward_timing=timing, **params) for timing in ("same_step", "legacy")]
    for _ in range(2):
        owed = np.zeros(20)
        rng = np.random.default_rng(5)
        for _ in range(25):
            actions = {agent: rng.integers(0, 5, 20) for agent in AGENTS}
            now, late = (venv.step(actions) for venv in both)
            for agent in AGENTS:
                np.testing.assert_array_equal(now[0][agent], late[0][agent])
                for key in set(now[4][agent]) - {"episode_return"}:
                    np.testing.assert_array_equal(now[4][agent][key], late[4][agent][key])
            np.testing.assert_array_equal(late[1]["collector_0_0"], owed)
            owed = now[1]["collector_0_0"]
        for venv in both:
            venv.reset()


# Strict mode (A10) ------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "own", "father"), [("readme", 5, 10), ("v1_0_3", 10, 5)])
def test_strict_mode_takes_a_collector_out_once(preset: str, own: float, father: float) -> None:
    off = {"controller_comm_shaping": 0, "collector_comm_shaping": 0}
    venv = make(num_J=2, preset=preset, strict_mode=True, **off)
    lost_at = [0.6, 0.0]
    place(venv, [[5.0, 5.0], [0.0, 0.0], lost_at, [-0.3, 0.0]], [lost_at, [-0.9, 0.9]])
    observations, rewards, terminations, truncations, infos = step(venv, collector_0_0=4)
    # Its pick-up in the step of going down counts; its penalties are paid once.
    collected = {"readme": 2, "v1_0_3": 5}[preset]
    assert rewards["collector_0_0"][0] == 5 - own
    assert rewards["controller_0"][0] == collected - father
    assert [terminations[agent][0] for agent in AGENTS] == [False, False, True, False]
    assert not any(truncations[agent][0] for agent in AGENTS)
    np.testing.assert_allclose(observations["collector_0_0"][0][2:6], [0.6, 0, -0.6, 0], atol=1e-6)
    np.testing.assert_array_equal(observations["controller_0"][0][6:8], 0.0)
    np.testing.assert_array_equal(observations["collector_0_1"][0][6:8], 0.0)
    place_fields = venv.snapshot()
    frozen = place_fields["pos"][0, SON_0].copy()
    place_fields["food"][0, 0] = frozen  # right under it: no longer taken
    venv.restore(place_fields)
    for _ in range(24):
        observations, rewards, terminations, truncations, infos = step(venv, collector_0_0=2)
        assert rewards["collector_0_0"][0] == rewards["controller_0"][0] == 0
        assert terminations["collector_0_0"][0] and not truncations["collector_0_0"][0]
        assert not observations["collector_0_0"].any()
        assert infos["collector_0_0"]["collected"][0] == 0
        assert infos["collector_0_0"]["lost"][0] == infos["controller_0"]["lost"][0] == 1
    np.testing.assert_array_equal(venv.snapshot()["pos"][0, SON_0], frozen)
    assert [truncations[agent][0] for agent in AGENTS] == [True, True, False, True]


def test_down_collectors_push_nobody() -> None:
    venv = make(num_J=0, strict_mode=True)
    place(venv, [[5.0, 5.0], [0.0, 0.0], [0.6, 0.0], [-0.3, 0.0]])
    step(venv)
    fields = venv.snapshot()
    fields["pos"][0, ADVERSARY] = fields["pos"][0, SON_0] + [0.05, 0.0]
    venv.restore(fields)
    step(venv)
    assert not venv.snapshot()["vel"].any()


def test_random_strict_mode_plays_for_the_lost() -> None:
    """A lost collector moves at random from the next step on, pays 1 a step, and stays in play."""
    venv = make(num_envs=5000, num_J=0, strict_mode="random")
    place(venv, [[5.0, 5.0], [0.0, 0.0], [0.9, 0.0], [-0.3, 0.0]])
    step(venv, collector_0_0=2)
    assert (venv.snapshot()["vel"][:, SON_0] == [1.0, 0.0]).all()  # its own action still counted
    place(venv, [[5.0, 5.0], [0.0, 0.0], [0.9, 0.0], [-0.3, 0.0]])
    _, rewards, terminations, *_ = step(venv, collector_0_0=2)
    velocity = venv.snapshot()["vel"][:, SON_0]
    for direction in ([0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]):
        share = (velocity == direction).all(axis=1).mean()
        assert share == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / 5000))
    assert (rewards["collector_0_0"] == -1).all() and (rewards["controller_0"] == -1).all()
    assert not terminations["collector_0_0"].any()
