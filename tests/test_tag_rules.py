"""Physics, reset and observations of tag while collecting, number by number.

Section numbers are those of the rules' text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tag_worlds import ADVERSARY, AGENTS, CALM, CONTROLLER, SON_0, SON_1, make, place, step

from mpe_ext import simple_tag_while_c_v0 as tag

# Physics (A3) -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "accel", "cap", "first"),
    [
        ("adversary_0", 3, 1.0, [0.3, 0.525, 0.69375, 0.8203125, 0.915234375, 0.98642578125, 1.0]),
        ("controller_0", 4, 1.3, [0.4, 0.7, 0.925, 1.09375, 1.2203125, 1.3]),
        ("collector_0_0", 10, 2.0, [1.0, 1.75, 2.0, 2.0]),
    ],
)
@pytest.mark.parametrize("action", [1, 2, 3, 4])
@pytest.mark.parametrize("integrator", ["position_first", "velocity_first"])
def test_constant_push_from_rest(
    agent: str, accel: float, cap: float, first: list[float], action: int, integrator: str
) -> None:
    """v_k = min(cap, 0.4 accel (1 - 0.75^k)), and positions are its sums times 0.1 (A3)."""
    venv = make(num_J=0, integrator=integrator)
    start = np.array([[50.0, 0.0], [0.0, 50.0], [-50.0, 0.0], [0.0, -50.0]])
    place(venv, start)
    axis, sign = (action - 1) // 2, (-1, 1)[(action - 1) % 2]
    body = AGENTS.index(agent)
    travelled = 0.0
    previous = 0.0
    for k in range(1, 13):
        step(venv, **{agent: action})
        speed = min(cap, 0.4 * accel * (1 - 0.75**k))
        if k <= len(first):
            assert speed == pytest.approx(first[k - 1], abs=1e-12)
        travelled += 0.1 * (previous if integrator == "position_first" else speed)
        previous = speed
        fields = venv.snapshot()
        expected_velocity, expected_position = np.zeros((4, 2)), start.copy()
        expected_velocity[body, axis] = sign * speed
        expected_position[body, axis] += sign * travelled
        np.testing.assert_allclose(fields["vel"][0], expected_velocity, rtol=0, atol=1e-12)
        np.testing.assert_allclose(fields["pos"][0], expected_position, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gap", [-0.1, -0.01, -0.001, 0.0, 0.0005, 0.002, 0.02])
def test_contact_force(gap: float) -> None:
    """100 x 0.001 x softplus(-gap / 0.001): ln 2 / 10 when just touching, about 100 x overlap."""
    venv = make(num_J=0)
    touching = 0.075 + 0.05
    place(venv, [[touching + gap, 0.0], [0.0, 0.0], [3.0, 3.0], [-3.0, 3.0]])
    step(venv)
    force = 0.1 * np.logaddexp(0, -gap / 0.001)
    if gap == 0.0:
        assert force == pytest.approx(0.0693147, abs=1e-7)
    velocity = venv.snapshot()["vel"][0]
    if 0.1 * force < 1.0:
        np.testing.assert_allclose(velocity[ADVERSARY], [0.1 * force, 0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(velocity[CONTROLLER], [-0.1 * force, 0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(velocity[SON_0:], 0.0)


def test_force_of_an_overlap_is_about_a_hundred_times_its_depth() -> None:
    venv = make(num_J=0)
    place(venv, [[0.125 - 0.05, 0.0], [0.0, 0.0], [3.0, 3.0], [-3.0, 3.0]])
    step(venv)
    assert venv.snapshot()["vel"][0, ADVERSARY, 0] == pytest.approx(0.1 * 100 * 0.05, rel=1e-9)


def test_layers_touch_unless_told_otherwise() -> None:
    """`cross_layer_contacts=False` drops the adversary-collector pairs and no others (A9-23)."""
    for crossing in (True, False):
        venv = make(num_J=0, cross_layer_contacts=crossing)
        place(venv, [[0.3, 0.05], [0.0, 0.0], [0.3, 0.0], [0.02, 0.0]])
        step(venv)
        moving = (venv.snapshot()["vel"][0] != 0).any(axis=1)
        assert moving.tolist() == [crossing, True, crossing, True]


def test_coincident_bodies_get_finite_forces() -> None:
    """The lower index goes towards +x (A9-19); nothing becomes NaN from there on."""
    venv = make(num_J=4)
    place(venv, [[0.2, 0.2], [0.2, 0.2], [3.0, 3.0], [-3.0, 3.0]])
    step(venv)
    velocity = venv.snapshot()["vel"][0]
    np.testing.assert_allclose(velocity[ADVERSARY], [1.0, 0.0], atol=1e-12)  # both at their caps
    np.testing.assert_allclose(velocity[CONTROLLER], [-1.25, 0.0], atol=1e-9)
    place(venv, np.full((4, 2), 0.2))
    for _ in range(10):
        observations, rewards, *_ = step(venv)
        assert all(np.isfinite(values).all() for values in observations.values())
        assert all(np.isfinite(values).all() for values in rewards.values())


@pytest.mark.parametrize("size", [1e154, 1e200, 1.7e308])
@pytest.mark.parametrize("preset", ["readme", "v1_0_3"])
def test_float_limits_give_no_nan(size: float, preset: str) -> None:
    venv = make(preset=preset)
    place(venv, [[size, size], [-size, size], [size, -size], [-size, -size]])
    for action in (0, 2, 3, 1, 4):
        observations, rewards, *_ = step(venv, **dict.fromkeys(AGENTS, action))
        assert not any(np.isnan(values).any() for values in observations.values())
        assert not any(np.isnan(values).any() for values in rewards.values())


# Reset (A4) -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "radius"), [("readme", 0.8), ("v1_0_3", 0.5)])
def test_reset(preset: str, radius: float) -> None:
    venv = make(num_envs=4000, preset=preset)
    fields = venv.snapshot()
    positions, food = fields["pos"], fields["food"]
    assert np.abs(positions[:, :SON_0]).max() <= 0.9
    offsets = positions[:, SON_0:] - positions[:, [CONTROLLER]]
    assert np.abs(offsets).max() <= 0.05 + 1e-12
    assert np.abs(offsets).mean() == pytest.approx(0.025, abs=0.001)
    assert not fields["vel"].any() and fields["food_active"].all()
    assert np.abs(food).max() <= 1.0
    # Food i belongs to collector i mod 2 while i < 4: inside its disc.
    for i in range(4):
        gaps = np.linalg.norm(food[:, i] - positions[:, SON_0 + i % 2], axis=1)
        assert gaps.max() < radius
    nearest = np.linalg.norm(food[:, :, None] - positions[:, None, SON_0:], axis=-1).min(axis=-1)
    assert nearest.max() < radius
    # A4, measured: 1.5 % of episodes begin in a hit, collectors overlap in 62 % of them.
    start = np.linalg.norm(positions[:, ADVERSARY] - positions[:, CONTROLLER], axis=1)
    assert (start < 0.125).mean() == pytest.approx(0.015, abs=0.008)
    if preset == "readme":
        siblings = np.linalg.norm(positions[:, SON_0] - positions[:, SON_1], axis=1)
        assert (siblings < 0.06).mean() == pytest.approx(0.62, abs=0.035)


def test_reset_gives_back_all_food() -> None:
    """Without respawns the food runs out within an episode, never across episodes (A9-14)."""
    venv = make(num_J=4, updating_J=False)
    place(venv, CALM, [CALM[SON_0], CALM[SON_1], [0.9, 0.9], [0.9, 0.9]])
    step(venv)
    assert venv.snapshot()["food_active"][0].tolist() == [False, False, True, True]
    venv.reset()
    assert venv.snapshot()["food_active"].all()


# Observations (A6) ------------------------------------------------------------------------------

SIZES = [
    # quality, n_detect, adversary, controller, collector, state
    ("VL", 6, 8, 6, 18, 50),
    ("L", 6, 8, 10, 20, 58),
    ("H", 6, 8, 10, 22, 62),
    ("VH", 6, 8, 14, 24, 70),
    ("VL", 3, 8, 6, 12, 38),
    ("L", 3, 8, 10, 14, 46),
    ("H", 3, 8, 10, 16, 50),
    ("VH", 3, 8, 14, 18, 58),
]
TEAM_SIZES = [
    # (adversaries, controllers, sons), all collectors, adversary, controller, collector, state
    ((1, 2, 2), True, 12, 18, 20, 128),
    ((2, 1, 2), True, 10, 12, 20, 72),
    ((2, 2, 3), True, 14, 24, 22, 208),
    ((1, 1, 1), True, 8, 8, 18, 34),
    ((1, 2, 2), False, 12, 14, 20, 120),
    ((2, 1, 2), False, 10, 12, 20, 72),
    ((2, 2, 3), False, 14, 18, 22, 196),
    ((1, 1, 1), False, 8, 8, 18, 34),
]


def check_sizes(venv: Any, sizes: dict[str, int], state: int) -> None:
    observations, _ = venv.reset(seed=0)
    for agent in venv.possible_agents:
        size = sizes[agent.split("_")[0]]
        assert venv.observation_space(agent).shape == (size,)
        assert venv.observation_space(agent).dtype == np.float32
        assert observations[agent].shape == (venv.num_envs, size)
    assert venv.state_space.shape == (state,)
    assert venv.state().shape == (venv.num_envs, state)
    assert venv.state().dtype == np.float32


@pytest.mark.parametrize("row", SIZES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_observation_sizes(row: tuple[Any, ...]) -> None:
    quality, slots, *sizes, state = row
    venv = make(num_envs=2, env_quality=quality, n_detect=slots)
    check_sizes(venv, dict(zip(("adversary", "controller", "collector"), sizes, strict=True)), state)


@pytest.mark.parametrize("row", TEAM_SIZES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_observation_sizes_of_teams(row: tuple[Any, ...]) -> None:
    (adversaries, controllers, sons), everyone, *sizes, state = row
    venv = make(
        num_envs=2,
        num_adversaries=adversaries,
        num_controller=controllers,
        num_collector_each=sons,
        observe_all_collectors=everyone,
    )
    check_sizes(venv, dict(zip(("adversary", "controller", "collector"), sizes, strict=True)), state)


@pytest.mark.parametrize("quality", ["VL", "L", "H", "VH"])
@pytest.mark.parametrize("everyone", [False, True])
def test_observation_sizes_by_formula(quality: str, everyone: bool) -> None:
    """The formulas of A6 for a team in which all numbers differ."""
    a, c, m, n = 3, 2, 4, 5
    low, high, very_high = quality != "VL", quality in ("H", "VH"), quality == "VH"
    seen = c * m if everyone else m
    sizes = {
        "adversary": 4 + 2 * (a - 1) + 4 * c,
        "controller": 4 + 2 * a + 4 * (c - 1) + 2 * seen * (low + very_high),
        "collector": 6 + 2 * (m - 1) * (low + very_high) + 2 * high + 2 * n,
    }
    state = a * sizes["adversary"] + c * sizes["controller"] + c * m * sizes["collector"]
    venv = make(
        num_envs=2,
        num_adversaries=a,
        num_controller=c,
        num_collector_each=m,
        n_detect=n,
        env_quality=quality,
        observe_all_collectors=everyone,
    )
    check_sizes(venv, sizes, state)


def test_observation_layouts() -> None:
    """Every number of the default observations, of a state written by hand."""
    venv = make(num_J=4)
    place(venv, [[0.5, -0.5], [0.0, 0.0], [0.3, 0.1], [-0.3, 0.2]])
    fields = venv.snapshot()
    # Two food in the first collector's disc, the farther one first in the list; two out of sight.
    fields["food"][0] = [[0.7, 0.1], [0.3, 0.2], [-0.9, -0.9], [0.3, 0.9]]
    venv.restore(fields)
    observations, *_ = step(venv, controller_0=2)  # it gains speed 0.4, nobody moves yet
    expected = {
        "adversary_0": [0, 0, 0.5, -0.5, -0.5, 0.5, 0.4, 0],
        "controller_0": [0.4, 0, 0, 0, 0.5, -0.5, 0.3, 0.1, -0.3, 0.2],
        "collector_0_0": [0, 0, 0.3, 0.1, -0.3, -0.1, -0.6, 0.1, 0, 0.1, 0.4, 0, *[0] * 8],
    }
    # The fourth food is at exactly the detection radius or a rounding beyond: not looked at here.
    for agent, values in expected.items():
        got = observations[agent][0]
        if agent == "collector_0_0":
            got, values = got[:12], values[:12]
        np.testing.assert_allclose(got, values, rtol=0, atol=1e-6, err_msg=agent)
    everything = np.concatenate([observations[agent][0] for agent in AGENTS])
    np.testing.assert_array_equal(venv.state()[0], everything)


def test_food_at_one_distance_is_observed_by_index():
    """Exact ties, also where a nearer food of higher index is sorted in before them."""
    env = tag.parallel_env(num_J=3)
    env.reset(seed=0)
    state = env.snapshot()
    state["pos"][0, 2] = 0.0
    state["food"][0] = [[0.3, 0.0], [0.0, 0.3], [0.1, 0.0]]
    env.restore(state)
    seen = env.state()[26:38]  # the food that collector_0_0 sees
    np.testing.assert_allclose(seen, [0.1, 0, 0.3, 0, 0, 0.3, *[0] * 6], atol=1e-7)


@pytest.mark.parametrize("slots", range(5))
def test_few_slots_show_the_nearest_food(slots):
    full, few = tag.parallel_env(n_detect=8), tag.parallel_env(n_detect=slots)
    for seed in range(20):
        everything, some = full.reset(seed=seed)[0], few.reset(seed=seed)[0]
        for agent in ("collector_0_0", "collector_0_1"):
            np.testing.assert_array_equal(some[agent], everything[agent][: 8 + 2 * slots])
