"""Overcooked-v2: single rules on levels written for them, observations, levels as text, and bad input."""

import numpy as np
import pytest

from mpe_ext import overcooked_v2_v0
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.levels import read_level
from mpe_ext.overcooked_v2.program import parse

LEVEL = """\
#####T##
#..0#..#
S...d..K
#..p#..#
D..##..#
#..##.1O
#..#..x#
########
"""
UP, RIGHT, DOWN, LEFT = range(4)
MOVE, PICK, PLACE, SERVE, MERGE, INTERACT = (4 * k for k in range(6))
WAIT = MOVE + UP  # in these levels against a wall, or said otherwise


def kitchen(level=LEVEL, **arguments):
    arguments = {"strict": "off", "program": "H2"} | arguments
    env = overcooked_v2_v0.parallel_env(scene=level, n_agents=sum(c in "0123" for c in level[:72]), **arguments)
    env.reset(seed=0)
    return env


def play(env, *steps):
    """Plays tuples of actions, an action for each agent; what the last step returned."""
    for actions in steps:
        returned = env.step(dict(zip(env.possible_agents, actions, strict=True)))
    return returned


def rows(env):
    return overcooked_v2_v0.level(env).split("\n")[:8]


# Rules ------------------------------------------------------------------------------------------------------------


def test_a_level_is_printed_as_it_was_read():
    env = kitchen(LEVEL + "\norders: ChoppedOnion+Plate, ChoppedOnion+Plate\nhands: 1 t\n")
    text = overcooked_v2_v0.level(env)
    assert text.startswith(LEVEL)
    assert "orders: ChoppedOnion+Plate, ChoppedOnion+Plate\nhands: 1 t\n" in text
    again = kitchen(text)
    assert overcooked_v2_v0.level(again) == text


def test_a_dish_from_the_supply_to_the_star():
    """Take an onion, chop it, merge it with the plate, hand the dish over the counter, serve it."""
    program = "Pick(FreshOnion)\nChop(FreshOnion)\nMerge(ChoppedOnion, Plate)\nServe(ChoppedOnion+Plate)\n"
    level = (
        "########\n#..#...#\nD.0#.1.O\n#..p...#\n#..#...K\n#..#...#\nS..#..x#\n########\n\norders: ChoppedOnion+Plate\n"
    )
    env = kitchen(level, program=program, strict="paper")
    idle = SERVE + UP
    seen = []
    for chef_0, chef_1 in [
        (idle, MOVE + RIGHT), (idle, PICK + RIGHT), (idle, MOVE + DOWN), (idle, MOVE + DOWN), (idle, INTERACT + RIGHT),
        (idle, MOVE + LEFT), (idle, MOVE + LEFT), (idle, MOVE + UP), (idle, MERGE + LEFT), (MOVE + DOWN, PLACE + LEFT),
        (PICK + RIGHT, idle), (MOVE + UP, idle), (MOVE + LEFT, idle), (SERVE + LEFT, idle),
    ]:  # fmt: skip
        _, rewards, terminations, _, infos = play(env, (chef_0, chef_1))
        seen += [(e.agent, e.behaviour, e.outcome, round(rewards["chef_0"], 6)) for e in env.events()]
    assert seen == [
        ("chef_1", "Pick(FreshOnion)", "matched", 0.2),
        ("chef_1", "Chop(FreshOnion)", "matched", 0.2),
        ("chef_1", "Merge(ChoppedOnion, Plate)", "matched", 0.2),
        ("chef_0", "Pick(ChoppedOnion+Plate)", "ignored", 0.0),
        ("chef_0", "Serve(ChoppedOnion+Plate)", "matched", 1.2),
    ]
    assert all(terminations.values()) and infos["chef_1"]["episode_return"] == pytest.approx(1.8)
    assert infos["chef_1"]["useful_events"] == 3 and infos["chef_0"]["useful_events"] == 1
    assert "orders: none\nhands: 0 d\n" in overcooked_v2_v0.level(env)  # the plate came back dirty


def test_a_violation_ends_the_episode_without_reward():
    env = kitchen(strict="paper", program="Pick(FreshTomato)")
    play(env, (WAIT, MOVE + DOWN))
    _, rewards, terminations, truncations, infos = play(env, (WAIT, PICK + RIGHT))
    assert rewards["chef_0"] == 0.0 and all(terminations.values()) and not any(truncations.values())
    assert infos["chef_1"]["event_matched"] == -1 and infos["chef_0"]["event_matched"] == 0
    assert infos["chef_0"]["program_status"] == t.VIOLATED
    assert env.events() == [("chef_1", "Pick(FreshOnion)", "violation", -1)]
    assert env.agents == []


def test_lenient_programs_allow_picks_but_not_chops():
    env = kitchen(strict="lenient", program="Pick(FreshTomato)")
    _, _, terminations, _, infos = play(env, (WAIT, MOVE + DOWN), (WAIT, PICK + RIGHT))
    assert not any(terminations.values()) and infos["chef_1"]["event_matched"] == 0


def test_completion_pays_one_more():
    env = kitchen(strict="paper", program="Pick(FreshOnion)")
    _, rewards, terminations, _, infos = play(env, (WAIT, MOVE + DOWN), (WAIT, PICK + RIGHT))
    assert rewards["chef_0"] == pytest.approx(1.2) and all(terminations.values())
    assert infos["chef_0"]["program_status"] == t.COMPLETED


def test_two_who_want_one_item():
    """The agent with the lower number is first in step 0, the other in step 1."""
    level = "########\n#..#...#\nS.0p1..K\n#..#...T\nD..#...O\n#..#...#\n#..d..x#\n########\n"
    for wait, winner in ((0, 0), (1, 1), (2, 0)):
        env = kitchen(level)
        for _ in range(wait):
            play(env, (SERVE + UP, SERVE + UP))
        play(env, (PICK + RIGHT, PICK + LEFT))
        assert [h != t.NOTHING for h in env._worlds._state.hand[0]] == [winner == 0, winner == 1]


def test_moves():
    level = "########\n#0.1...#\nS......K\n#..p...T\nD......O\n#......#\n#..d..x#\n########\n"
    env = kitchen(level)
    infos = play(env, (MOVE + RIGHT, MOVE + LEFT))[4]  # both want one cell: the first gets it
    assert rows(env)[1] == "#.01...#" and infos["chef_1"]["collision"] == t.CONTESTED
    infos = play(env, (MOVE + RIGHT, MOVE + LEFT))[4]  # no swaps
    assert rows(env)[1] == "#.01...#"
    assert infos["chef_0"]["collision"] == infos["chef_1"]["collision"] == t.SWAP
    infos = play(env, (MOVE + RIGHT, MOVE + RIGHT))[4]  # a cell that is being left may be entered
    assert rows(env)[1] == "#..01..#" and infos["chef_0"]["collision"] == t.FREE
    infos = play(env, (MOVE + RIGHT, MOVE + UP))[4]  # but not one whose occupant stays
    assert infos["chef_0"]["collision"] == t.OCCUPIED and infos["chef_1"]["collision"] == t.SOLID


def test_three_in_a_circle_may_turn():
    level = "########\n#01....#\nS32....K\n#..p...T\nD......O\n#......#\n#..d..x#\n########\n"
    env = kitchen(level)
    play(env, (MOVE + RIGHT, MOVE + DOWN, MOVE + LEFT, MOVE + UP))
    assert [row[1:3] for row in rows(env)[1:3]] == ["30", "21"]


def test_fire_is_put_out_and_then_passed():
    level = "########\n#.0F.1.#\nS......K\n#......T\nD..p...O\n#......#\n#..d...#\n########\n\nhands: 0 x\n"
    program = "if IsOnFire():\n    PutOutFire()\n"
    env = kitchen(level, program=program, strict="paper", fire_mode="none")
    infos = play(env, (WAIT, MOVE + LEFT))[4]
    assert infos["chef_1"]["collision"] == t.FREE
    returned = play(env, (INTERACT + RIGHT, MOVE + LEFT))  # put out in the same step: passable
    assert rows(env)[1] == "#.01...#"
    assert returned[4]["chef_0"]["program_status"] == t.COMPLETED


@pytest.mark.parametrize("action", range(24))
def test_what_the_mask_forbids_changes_nothing(action):
    """Bit by bit, for random states of many kinds; moves may always be tried."""
    env = overcooked_v2_v0.parallel_env(style="mixed", strict="off", p_start_holding=0.5, bin=True)
    rng = np.random.default_rng(action)
    tried = 0
    for seed in range(12):
        observations, _ = env.reset(seed=seed)
        for _ in range(10):
            mine, theirs = (observations[agent]["action_mask"] for agent in env.possible_agents)
            assert mine[:4].all() and theirs[:4].all()
            idle = np.flatnonzero(theirs == 0)
            if not mine[action] and len(idle):
                before = env.snapshot()
                env.step({"chef_0": action, "chef_1": int(idle[0])})
                after = env.snapshot()
                tried += 1
                for key in ("terrain", "item", "progress", "cell", "hand", "fire", "orders", "place", "mode"):
                    assert (before[key] == after[key]).all(), key
                env.restore(before)
            chosen = int(rng.choice(np.flatnonzero(mine)))
            observations, *_ = env.step({"chef_0": chosen, "chef_1": int(rng.integers(24))})
            if not env.agents:
                break
    assert tried > 5 or action < 4


# Observations -----------------------------------------------------------------------------------------------------


def by_name(observation):
    return {plane.name: observation["map"][k] for k, plane in enumerate(t.PLANES)}


def test_planes_and_inventory():
    env = kitchen(LEVEL + "\norders: ChoppedTomato+Plate\nhands: 1 o\n")
    observations, _ = env.reset(seed=0)
    seen = by_name(observations["chef_0"])
    assert seen["self"].sum() == seen["other agents"].sum() == 1
    assert seen["self"][1, 3] == seen["other agents"][5, 6] == 1
    assert seen["FreshOnion"][5, 6] == 1  # held by the other
    assert seen["Plate"][3, 3] == seen["counter"][3, 3] == 1
    assert seen["tomato supply"][0, 5] == 1 and seen["counter"][0, 5] == 0
    assert observations["chef_0"]["inventory"] == pytest.approx([3 / 7, 1 / 7, 0, 0, 1, 0])
    assert observations["chef_1"]["inventory"] == pytest.approx([6 / 7, 5 / 7, 1, 0, 1, 0])


def test_a_room_is_all_that_a_partial_view_shows():
    env = kitchen(LEVEL, view="component")
    observations, _ = env.reset(seed=0)
    seen = by_name(observations["chef_0"])
    assert seen["other agents"].sum() == 0 and seen["onion supply"].sum() == 0
    assert seen["sink"].sum() == seen["star"].sum() == 1
    assert seen["DirtyPlate"][2, 4] == 1  # on the counter between the rooms
    near = by_name(kitchen(LEVEL, view="radius", view_radius=1).reset(seed=0)[0]["chef_1"])
    assert near["onion supply"].sum() == near["Extinguisher"].sum() == 1
    assert near["cutting board"].sum() == 0 and near["counter"].sum() == 3


def test_maps_kept_up_to_date_are_those_written_anew():
    for view in ("full", "component", "radius"):
        env = overcooked_v2_v0.vector_env(
            num_envs=64, style="mixed", strict="off", view=view, t_chop=2, fire_mode="hazard", orders_mode="stream"
        )
        observations, _ = env.reset(seed=2)
        rng = np.random.default_rng(0)
        for _ in range(60):
            masks = {a: o["action_mask"] for a, o in observations.items()}
            actions = {a: (rng.random(m.shape) * (m + 0.01)).argmax(axis=1) for a, m in masks.items()}
            observations, *_ = env.step(actions)
            env.restore(env.snapshot())
            for i, agent in enumerate(env.possible_agents):
                assert (observations[agent]["map"] == env._state.map[:, i]).all()


def test_flat_and_box_hold_the_same_numbers():
    flat, box, both = (
        overcooked_v2_v0.parallel_env(observation_format=kind, style="two_room") for kind in ("flat", "box", "dict")
    )
    (f, _), (b, infos), (d, _) = (env.reset(seed=4) for env in (flat, box, both))
    for agent in d:
        vector = np.concatenate([d[agent]["map"].ravel(), d[agent]["inventory"]])
        assert (f[agent]["observation"] == vector).all() and (b[agent] == vector).all()
        assert (f[agent]["action_mask"] == d[agent]["action_mask"]).all()
        assert (infos[agent]["action_mask"] == d[agent]["action_mask"]).all()


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("#..#..x#\n", ""), "8 lines of 8 letters"),
        (("########", "#########"), "8 lines of 8 letters"),
        (("#..p#..#", "#..z#..#"), "line 4, letter 4: 'z'"),
        (("S...d..K", "Sx..d..K"), "2 extinguishers"),
        (("#..0#..#", "#...#..#"), "numbered from 0"),
        (("#..0#..#", "#.10#..#"), "agent 1 is there twice"),
        (("#####T##", "###.#T##"), "border"),
        (("S...d..K", "S...d..B"), "bin=True"),
        (("#..p#..#", "#...#..#"), "1 plates, 0 of them empty and clean, but the program needs 1"),
        (("S...d..K", "#...d..K"), "cannot be carried out"),
    ],
)
def test_levels_that_cannot_be_played(change, words):
    with pytest.raises(ValueError, match=words):
        overcooked_v2_v0.parallel_env(scene=LEVEL.replace(*change, 1))


def test_a_fire_that_nobody_could_put_out():
    with pytest.raises(ValueError, match="no episode can begin"):
        kitchen(LEVEL.replace("x", "#"), fire_mode="initial")


def test_agents_out_of_reach():
    level = "########\n#..##..#\nS.0##1.K\n#..##..T\nD.p##..O\n#.d##..#\n#..##.x#\n########\n"
    with pytest.raises(ValueError, match="out of the others' reach"):
        overcooked_v2_v0.parallel_env(scene=level)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_agents": 5}, "n_agents=5: must be an integer >= 1 and <= 4"),
        ({"n_agents": 1, "style": "two_room"}, "2 rooms"),
        ({"n_agents": 2, "style": "three_room"}, "3 rooms"),
        ({"n_plates": 1, "dirty_return": "none"}, "n_plates=1: the program needs 2 plates"),
        ({"program": "H9"}, "H9"),
        ({"program": "Chop(Plate)"}, "E05"),
        ({"program": 3}, "program=3"),
        ({"program": "if False: Pick(FreshOnion)"}, "complete before it has begun"),
        ({"scene": -2}, "scene=-2"),
        ({"scene": 1.5}, "scene=1.5"),
        ({"style": "maze"}, "style='maze': must be one of"),
        ({"view": "all"}, "view='all'"),
    ],
)
def test_arguments_that_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        overcooked_v2_v0.vector_env(**arguments)


def test_options_that_are_refused():
    env = overcooked_v2_v0.vector_env(num_envs=3)
    env.reset(seed=0)
    before = env.snapshot()
    for scene, words in (([1, 2], "2 entries"), (-5, "-5"), ("x", "8 lines"), ([1, 2, "x"], "8 lines")):
        with pytest.raises(ValueError, match=words):
            env.reset(options={"scene": scene})
    assert all((before[k] == v).all() for k, v in env.snapshot().items())


# Programs and scenes as arguments ---------------------------------------------------------------------------------


def test_programs_by_name_text_and_tree():
    tree = parse("Pick(FreshOnion)\nChop(FreshOnion)").program
    for program in (tree, parse("Pick(FreshOnion)\nChop(FreshOnion)"), "Pick(FreshOnion)\nChop(FreshOnion)\n"):
        env = overcooked_v2_v0.parallel_env(program=program)
        assert env.game.params.program == "Pick(FreshOnion)\nChop(FreshOnion)\n"
    with pytest.warns(UserWarning, match="W01"):
        overcooked_v2_v0.parallel_env(program="Pick(Onion)")


def test_a_scene_by_its_index():
    env = overcooked_v2_v0.vector_env(num_envs=4, style="two_room", split="test")
    env.reset(seed=1, options={"scene": [7, 8, 7, 9]})
    levels = [overcooked_v2_v0.level(env, w) for w in range(4)]
    assert levels[0] == levels[2] and len(set(levels)) == 3
    single = overcooked_v2_v0.parallel_env(style="two_room", split="test", scene=8)
    single.reset(seed=99)
    assert overcooked_v2_v0.level(single) == levels[1]
    single.reset()
    assert overcooked_v2_v0.level(single) == levels[1]
    aec = overcooked_v2_v0.env(style="two_room", split="test", scene=9)
    aec.reset()
    assert overcooked_v2_v0.level(aec) == levels[3]


def test_read_level_counts_agents():
    assert len(read_level(LEVEL).agents) == 2
    with pytest.raises(ValueError, match="has 2 agents, but n_agents=3"):
        read_level(LEVEL, 3)


# Determinism ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"style": "mixed", "n_agents": 4, "program": "U1", "fire_mode": "hazard"}])
def test_the_same_seed_gives_the_same_bits(arguments):
    """On one thread and on two, in a batch and alone, over whole episodes with automatic resets."""
    worlds = 600
    one, two = (
        overcooked_v2_v0.vector_env(num_envs=worlds, num_threads=threads, strict="off", max_cycles=20, **arguments)
        for threads in (1, 2)
    )
    single = overcooked_v2_v0.parallel_env(strict="off", max_cycles=20, **arguments)
    agents = one.possible_agents
    first, _ = one.reset(seed=8)
    two.reset(seed=8)
    alone, _ = single.reset(seed=8)
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert all((first[a][key][0] == alone[a][key]).all() for a in agents for key in first[a])
        chosen = {a: rng.integers(24, size=worlds) for a in agents}
        first, rewards, *_ = one.step(chosen)
        second, others, *_ = two.step(chosen)
        for agent in agents:
            assert all((first[agent][key] == second[agent][key]).all() for key in first[agent])
            assert (rewards[agent] == others[agent]).all()
        alone, mine, *_ = single.step({a: int(chosen[a][0]) for a in agents})
        assert all(mine[a] == rewards[a][0] for a in agents)
        if not single.agents:
            alone, _ = single.reset()
