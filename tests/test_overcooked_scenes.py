"""The kitchens of Overcooked-v2: constraints of every style, certificates, splits; and sets of cells as numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_overcooked import Kitchen

from mpe_ext.overcooked_v2 import bits, scenes
from mpe_ext.overcooked_v2.game import OvercookedV2
from mpe_ext.overcooked_v2.kitchens import scenes_of
from mpe_ext.overcooked_v2.program.corpus import corpus

ROOMS = {"open": 1, "two_room": 2, "noise2": 2, "corridor": 1, "three_room": 3, "legacy_two_room": 2}


def game(style, **arguments):
    return OvercookedV2.make(style=style, **{"n_agents": max(2, ROOMS[style])} | arguments)


def symmetries(level):
    """The eight texts of a level that is mirrored and turned, agents left out."""
    grid = np.array([[("." if c in "0123" else c) for c in row] for row in level.split("\n")[:8]])
    return {"".join(g.ravel()) for k in range(4) for g in (np.rot90(grid, k), np.rot90(grid, k).T)}


@pytest.mark.parametrize("style", ROOMS)
def test_constraints(style):
    made = game(style, program="U1", n_agents=max(2, ROOMS[style]))
    for scene in scenes_of(made, range(120)):
        kitchen = Kitchen(scene.level, made.program)
        rooms = kitchen.rooms()
        assert len(rooms) == ROOMS[style] and all(len(room) >= 4 for room in rooms)
        floor = {at for at, kind in kitchen.kind.items() if kind == "floor"}
        assert floor <= {(r, c) for r in range(1, 7) for c in range(1, 7)}
        solid = [at for at, kind in kitchen.kind.items() if kind != "floor"]
        around = {at: [k for k, room in enumerate(rooms) if room & set(kitchen.neighbours(at))] for at in solid}
        assert sum(bool(beside) for beside in around.values()) >= 14
        stations = [at for at in solid if kitchen.kind[at] != "counter"]
        assert len(stations) == 5 and all(len(around[at]) == 1 for at in (*stations, *kitchen.item))
        linked = [{0}]
        for _ in rooms:  # rooms that two counters or more connect
            for a in range(len(rooms)):
                for b in range(len(rooms)):
                    if a in linked[0] and sum(a in n and b in n for n in around.values()) >= 2:
                        linked[0].add(b)
        assert linked[0] == set(range(len(rooms)))
        assert {k for k, room in enumerate(rooms) for at in kitchen.at if at in room} == set(range(len(rooms)))
        assert kitchen.hand == [None] * len(kitchen.at)
        names = sorted("+".join(sorted(item)) for item, _ in kitchen.item.values())
        assert names.count("Extinguisher") == 1 and names.count("Plate") + names.count("DirtyPlate") == 2
        assert scene.certified


@pytest.mark.parametrize("style", ROOMS)
def test_splits_share_no_kitchen(style):
    """Not even mirrored or turned: the sets of symmetric texts are disjoint, and the hash is the same for all eight."""
    seen, hashes = {}, {}
    for split in scenes.SPLITS:
        for scene in scenes_of(game(style, split=split), range(60)):
            texts = symmetries(scene.level)
            for text in texts:
                assert seen.setdefault(text, (split, scene.hash))[1] == scene.hash
                assert seen[text][0] == split
            assert hashes.setdefault(scene.hash, min(texts)) == min(texts)
            assert {0: "val", 1: "test"}.get(scene.hash % 8, "train") == split


@pytest.mark.slow
@pytest.mark.parametrize("style", ROOMS)
def test_ten_thousand_kitchens(style):
    """All found and certified; none of the test kitchens is among the train kitchens."""
    by_split = {split: scenes_of(game(style, split=split), range(10_000)) for split in ("train", "test")}
    assert all(scene is not None and scene.certified for found in by_split.values() for scene in found)
    train, test = ({scene.hash for scene in by_split[split]} for split in ("train", "test"))
    assert not train & test
    assert len(train) > 9_900 and len(test) > 9_900


@pytest.mark.parametrize("name", corpus())
def test_every_program_has_kitchens(name):
    for style in ("open", "two_room"):
        for scene in scenes_of(game(style, program=name), range(8)):
            assert scene.certified


def test_an_index_is_the_same_kitchen_for_ever():
    """In whatever batch, and on every machine."""
    first = scenes_of(game("two_room", split="test"), [5, 3])[1]
    assert first.hash == 1134844088038713897
    assert first == scenes_of(game("two_room", split="test"), range(4))[3]


def test_agents_in_one_room_can_do_it_there():
    for scene in scenes_of(OvercookedV2.make(style="two_room", program="M1", agents_same_room=True), range(20)):
        kitchen = Kitchen(scene.level, OvercookedV2.make(program="M1").program)
        assert sum(bool(room & set(kitchen.at)) for room in kitchen.rooms()) == 1
        assert scene.certified and not scene.forced_coop


def test_who_needs_a_team():
    assert sum(scene.forced_coop for scene in scenes_of(game("two_room"), range(50))) > 45
    assert not any(scene.forced_coop for scene in scenes_of(game("open"), range(50)))


# Sets of cells ----------------------------------------------------------------------------------------------------

CELLS = st.sets(st.integers(0, 63))


def number(cells):
    return np.uint64(sum(1 << c for c in cells))


def cells_of(value):
    return {c for c in range(64) if int(value) >> c & 1}


def around(cell):
    r, c = divmod(cell, 8)
    near = [(r - 1, c), (r, c + 1), (r + 1, c), (r, c - 1)]
    return {8 * y + x for y, x in near if 0 <= y < 8 and 0 <= x < 8}


@settings(max_examples=60, deadline=None)
@given(CELLS, CELLS)
def test_sets_of_cells(cells, free):
    value = number(cells)
    assert bits.count(value) == len(cells)
    assert cells_of(bits.beside(value)) == {n for c in cells for n in around(c)}
    assert cells_of(bits.grown(value)) == cells | {n for c in cells for n in around(c)}
    assert cells_of(bits.mirrored(value)) == {c // 8 * 8 + 7 - c % 8 for c in cells}
    assert cells_of(bits.flipped(value)) == {(7 - c // 8) * 8 + c % 8 for c in cells}
    assert cells_of(bits.transposed(value)) == {c % 8 * 8 + c // 8 for c in cells}
    for n, cell in enumerate(sorted(cells)):
        assert bits.nth(value, n) == cell
    reached = cells & free
    while True:
        more = reached | {n for c in reached for n in around(c)} & free
        if more == reached:
            break
        reached = more
    assert cells_of(bits.flood(number(free), value)) == reached
