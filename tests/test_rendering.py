"""Pictures of the tag game: what they show, where, and that drawing changes nothing."""

import copy

import numpy as np
import pytest

from mpe_ext import simple_tag_while_c_v0 as tag
from mpe_ext.simple_tag_while_c import drawing

ALONE = {"num_adversaries": 1, "num_controller": 1, "num_collector_each": 1, "num_J": 1}


def playing(steps=0, seed=5, **params):
    """An environment after some steps of random play."""
    env = tag.parallel_env(render_mode="rgb_array", **params)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        env.step({agent: int(rng.integers(5)) for agent in env.agents})
    return env


def put(env, **arrays):
    """Change the state of the only world: arrays by name."""
    snapshot = env.snapshot()
    for name, values in arrays.items():
        snapshot[name][0] = values
    env.restore(snapshot)


def at(frame, x, y):
    """The colour at a place of the world, by the camera that the specification fixes."""
    scale = 350 / 1.2
    return tuple(int(part) for part in frame[int(350 - scale * y), int(350 + scale * x)])


def part(frame, x0, x1, y0, y1):
    """The part of the picture that shows a rectangle of the world."""
    scale = 350 / 1.2
    rows = slice(round(350 - scale * y1), round(350 - scale * y0))
    return frame[rows, round(350 + scale * x0) : round(350 + scale * x1)]


def count(frame, colour):
    return int((frame == np.array(colour, np.uint8)).all(axis=-1).sum())


def test_frame_is_a_fresh_uint8_picture():
    env = playing()
    first = env.render()
    assert first.shape == (700, 700, 3)
    assert first.dtype == np.uint8
    assert first.flags.c_contiguous
    kept = first.copy()
    first[:] = 0
    second = env.render()
    np.testing.assert_array_equal(second, kept)
    env.step(dict.fromkeys(env.agents, 1))
    env.render()
    np.testing.assert_array_equal(second, kept)


def test_same_state_same_frame_in_another_environment():
    one, other = playing(7), playing(7)
    for _ in range(3):
        other.render()
    np.testing.assert_array_equal(one.render(), other.render())


def test_rendering_changes_no_state():
    env = playing(4)
    before = env.snapshot()
    for _ in range(3):
        env.render()
    after = env.snapshot()
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(array, after[name], err_msg=name)


def test_episode_is_the_same_with_and_without_rendering():
    drawn, plain = playing(), tag.parallel_env()
    plain.reset(seed=5)
    while plain.agents:
        drawn.render()
        actions = {agent: (3 * i + 1) % 5 for i, agent in enumerate(plain.agents)}
        ours, theirs = plain.step(actions), drawn.step(actions)
        for agent, observation in ours[0].items():
            np.testing.assert_array_equal(observation, theirs[0][agent])
        assert ours[1:] == theirs[1:]


def test_everything_stands_where_the_fixed_camera_says():
    env = playing(**ALONE)
    put(env, pos=[(-0.6, 0.6), (0.2, 0.1), (0.5, 0.1)], food=[(-0.3, -0.7)])
    frame = env.render()
    assert at(frame, -0.6, 0.6) == drawing.ADVERSARY
    assert at(frame, 0.2, 0.1) == drawing.CONTROLLER
    assert at(frame, 0.5, 0.1) == drawing.COLLECTOR
    assert at(frame, -0.3, -0.7) == drawing.FOOD
    assert at(frame, 0.35, 0.1) == drawing.LINK
    assert at(frame, -0.6, -0.9 + 0.05) == drawing.BOX
    put(env, pos=[(-1.15, 1.15), (0.2, 0.1), (0.5, 0.1)])
    assert at(env.render(), -0.3, -0.7) == drawing.FOOD  # no matter how far out an agent is


def test_rings_and_bodies_share_one_scale():
    """A collector is drawn outside its controller's ring exactly when it is lost."""
    env = playing(**ALONE)
    for distance, linked in ((0.49, True), (0.51, False)):
        put(env, pos=[(-0.6, 0.9), (0.0, 0.0), (distance, 0.0)], food=[(-0.9, -0.9)])
        frame = env.render()
        assert (count(part(frame, 0.1, 0.4, -0.05, 0.05), drawing.LINK) > 100) == linked
        # Below the controller the ring crosses the axis at the communication radius, nearer to it there is none.
        on, off = part(frame, -0.02, 0.02, -0.51, -0.49), part(frame, -0.02, 0.02, -0.47, -0.45)
        assert on.min() < 200 < off.min()


@pytest.mark.parametrize("far", [(1.5, 1.5), (-40.0, 3.0), (1e15, -1e15)])
def test_fixed_things_stay_in_place_when_agents_move(far):
    env = playing(comm_radius=0.1, detect_radius=0.1, num_J=8)
    food = [(-0.1 * i - 0.1, 0.1 * i - 0.4) for i in range(8)]
    put(env, pos=[(0.5, 0.5)] * 4, food=food)
    near = env.render()
    put(env, pos=[(0.6, -0.6)] * 4, food=food)
    np.testing.assert_array_equal(part(near, -1.19, 0.2, -1, 1), part(env.render(), -1.19, 0.2, -1, 1))
    put(env, pos=[far] * 4, food=food)
    inside = part(near, -1.0, 0.2, -1, 1), part(env.render(), -1.0, 0.2, -1, 1)
    np.testing.assert_array_equal(*inside)


def test_agents_out_of_view_leave_an_arrow():
    env = playing(**ALONE, detect_radius=0.1)
    inside = [(0.0, 0.0), (0.5, 0.5), (0.5, 0.3)]
    put(env, pos=inside)
    right = count(env.render()[100:600, 640:], drawing.ADVERSARY)
    put(env, pos=[(3.0, -0.2), *inside[1:]])
    assert right == 0
    assert count(env.render()[100:600, 640:], drawing.ADVERSARY) > 80


def test_contact_lost_and_down_are_marked():
    env = playing(**ALONE)
    apart, touching = [(0.2, 0.0), (0.0, 0.0), (0.0, 0.4)], [(0.1, 0.0), (0.0, 0.0), (0.0, 0.4)]
    beside = (-0.09, -0.06, -0.02, 0.02)  # left of the controller
    put(env, pos=apart)
    calm = part(env.render(), *beside)
    put(env, pos=touching)
    flash = part(env.render(), *beside)
    assert flash[..., 1].mean() < calm[..., 1].mean() - 30  # redder

    put(env, pos=apart)
    around = (-0.08, 0.08, 0.62, 0.78)
    assert count(part(env.render(), *around), drawing.INK) == 0
    put(env, pos=[(0.2, 0.0), (0.0, 0.0), (0.0, 0.7)])
    assert count(part(env.render(), *around), drawing.INK) > 20

    strict = playing(**ALONE, strict_mode=True)
    put(strict, pos=[(0.2, 0.0), (0.0, 0.0), (0.0, 0.7)], down=[0, 0, 2], food=[(-0.5, -0.5)])
    down = part(strict.render(), *around)
    assert count(down, drawing.DOWN) > 20
    assert count(down, drawing.INK) > 5
    assert count(down, drawing.COLLECTOR) == 0


def test_collector_that_leaves_the_range_is_drawn_as_down():
    env = playing(**ALONE, strict_mode=True)
    put(env, pos=[(-0.8, 0.8), (0.0, 0.0), (0.45, 0.0)], vel=[(0, 0), (0, 0), (2.0, 0.0)])
    while "collector_0_0" in env.agents:
        env.step({"adversary_0": 0, "controller_0": 0, "collector_0_0": 2})
    x, y = env.snapshot()["pos"][0, 2]
    body = part(env.render(), x - 0.03, x + 0.03, y - 0.03, y + 0.03)
    assert count(body, drawing.DOWN) > 20
    assert count(body, drawing.COLLECTOR) == 0


def test_collected_food_is_marked_and_fades():
    env = playing(**ALONE)
    put(env, pos=[(-0.9, 0.9)] * 3, food=[(0.9, -0.9)])
    places = np.zeros((16, 2), np.float32)
    places[0], places[9] = (0.5, 0.0), (0.5, 0.5)
    put(env, marks=places, marks_count=10)
    frame = env.render()
    old, new = (part(frame, 0.45, 0.55, y - 0.05, y + 0.05).astype(int) for y in (0.0, 0.5))
    assert new.min() < old.min() < 240  # the latest is the strongest


def test_no_returns_of_the_episode_before_at_a_reset():
    env = playing(25)
    assert not env.agents
    end = env.render()
    env.reset(seed=5)
    fresh = playing()
    np.testing.assert_array_equal(env.render(), fresh.render())
    assert (end != env.render()).any()


@pytest.mark.parametrize("quality", ["VL", "L", "H", "VH"])
@pytest.mark.parametrize("team", [(0, 1, 1, 0), (1, 1, 2, 10), (2, 2, 3, 12), (3, 1, 5, 40)])
def test_every_quality_and_team_draws(quality, team):
    sizes = dict(zip(("num_adversaries", "num_controller", "num_collector_each", "num_J"), team, strict=True))
    env = playing(3, env_quality=quality, **sizes)
    assert env.render().std() > 5


@pytest.mark.parametrize(
    "odd",
    [{"preset": "v1_0_3"}, {"strict_mode": "random"}, {"updating_J": False}, {"detect_radius": 50.0}]
    + [{"comm_radius": 0.001}, {"adversary_size": 3.0}, {"food_size": 1e-6}, {"collector_size": 1e-6}],
)
def test_odd_parameters_draw(odd):
    env = playing(25, **odd)
    assert env.render().shape == (700, 700, 3)


def test_copy_draws_the_same_and_apart():
    env = playing(5)
    frame = env.render()
    twin = copy.deepcopy(env)
    env.close()
    np.testing.assert_array_equal(twin.render(), frame)
    np.testing.assert_array_equal(env.render(), frame)


def test_closing_one_does_not_break_another():
    one, other = playing(3), playing(3)
    frame = one.render()
    other.render()
    other.close()
    other.close()
    np.testing.assert_array_equal(one.render(), frame)
    np.testing.assert_array_equal(other.render(), frame)  # and closed is not the end
