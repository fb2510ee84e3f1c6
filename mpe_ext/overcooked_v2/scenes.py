"""Drawing kitchens: walls of a style, stations, items, agents. One kitchen for each (split, style, index), for ever.

The key of a kitchen's random stream holds these three and the number of the attempt: what breaks a constraint, or has a
canonical hash that belongs to another split, is drawn again.
"""

import numpy as np

from mpe_ext.engine.jit import helper, rule
from mpe_ext.engine.random import GOLDEN, Stream, bits, integer, mix, random
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.bits import (
    INTERIOR,
    NO_CELLS,
    ONE,
    beside,
    bit,
    count,
    first,
    flipped,
    flood,
    has,
    mirrored,
    nth,
    transposed,
)

STYLES = ("open", "two_room", "noise2", "corridor", "three_room", "legacy_two_room", "mixed")
OPEN, TWO_ROOM, NOISE2, CORRIDOR, THREE_ROOM, LEGACY_TWO_ROOM, MIXED = range(7)
ROOMS = (1, 2, 2, 1, 3, 2, 2)  # by style; as many agents are needed at least
_MIXTURE = ((OPEN, 0.35), (TWO_ROOM, 0.7), (NOISE2, 0.85), (CORRIDOR, 0.95), (THREE_ROOM, 1.0))  # cumulated

SPLITS = ("train", "val", "test")
TRAIN, VAL, TEST = range(3)

LEAST_ROOM, LEAST_USABLE, LEAST_HANDOVER, KEEP_FREE = 4, 14, 2, 2  # cells
MOST_DISTRACTORS = 3
_DISTRACTORS = np.array([t.FRESH_TOMATO, t.FRESH_ONION, t.CHOPPED_TOMATO, t.CHOPPED_ONION, t.MIX], np.uint8)
_STATIONS = np.array([t.BOARD, t.STAR, t.SINK, t.TOMATO_SUPPLY, t.ONION_SUPPLY, t.BIN], np.uint8)
_LEGACY = sum(1 << (8 * r + c) for r, row in enumerate((
    "########",
    "#...#..#",
    "#...#..#",
    "#...#..#",
    "#..#...#",
    "#..#...#",
    "#..#...#",
    "########",
)) for c, letter in enumerate(row) if letter == ".")  # fmt: skip
LEGACY_FLOOR = np.uint64(_LEGACY)
HASH_BITS = 7  # terrain 3, item 4


@rule
def seed_scene(w, s, split, style, index, attempt):
    """The stream of one attempt at one kitchen."""
    key = mix(np.uint64(16 * split + style + 1) * GOLDEN)
    key = mix(key + np.uint64(index) * GOLDEN)
    s.scene_key[w] = mix(key + np.uint64(attempt + 1) * GOLDEN)
    s.scene_counter[w] = NO_CELLS


@rule
def chosen(w, d, cells):
    """One of the cells, all alike."""
    return nth(cells, integer(w, d, count(cells)))


@rule
def each_with(w, d, share):
    """A set that each cell is in with probability share / 65536, independently."""
    cells = NO_CELLS
    for k in range(16):
        random_bits = bits(w, d)
        cells = cells | random_bits if share >> k & 1 else cells & random_bits
    return cells


# Walls ------------------------------------------------------------------------------------------------------------


@rule
def draw_floor(w, d, style):
    """The floor of a style, which may break the constraints."""
    floor = LEGACY_FLOOR
    if style == OPEN:
        floor = each_with(w, d, 52429) & INTERIOR  # 0.8
    elif style == TWO_ROOM:
        column = 3 + integer(w, d, 2)
        wall = NO_CELLS
        for row in range(1, 7):
            wall |= bit(8 * row + column)
            column = min(max(column + integer(w, d, 3) - 1, 2), 5)
        floor = INTERIOR & ~wall & ~each_with(w, d, 5243)  # pillars: 0.08
    elif style == NOISE2:
        floor = bits(w, d) & INTERIOR
    elif style == CORRIDOR:
        floor = each_with(w, d, 42598) & INTERIOR  # 0.65
    elif style == THREE_ROOM:
        left = 2 + integer(w, d, 2)
        right = 5 if left == 3 else 4 + integer(w, d, 2)
        wall = NO_CELLS
        for row in range(1, 7):
            wall |= bit(8 * row + left) | bit(8 * row + right)
        floor = INTERIOR & ~wall & ~each_with(w, d, 5243)
        if integer(w, d, 2) == 1:
            floor = transposed(floor)
    return floor


@helper
def has_narrows(floor):
    """Whether at least two cells are such that the floor falls apart without them."""
    narrow, rest = 0, floor
    while rest != NO_CELLS and narrow < 2:
        without = floor & ~bit(first(rest))
        narrow += flood(without, without & (~without + ONE)) != without
        rest &= rest - ONE
    return narrow >= 2


# Stations, items, agents ------------------------------------------------------------------------------------------


@rule
def draw_scene(w, s, p, style):
    """One attempt; whether it keeps the constraints."""
    d = Stream(s.scene_key, s.scene_counter)
    if style == MIXED:
        share = random(w, d) * (1.0 if s.cell.shape[1] > 3 else 0.95)  # three rooms are for four agents
        style = OPEN
        for other, upto in _MIXTURE:
            if share >= upto:
                style = other + 1
    floor = draw_floor(w, d, style)
    one = flood(floor, floor & (~floor + ONE))
    rest = floor & ~one
    two = flood(rest, rest & (~rest + ONE))
    three = rest & ~two
    rooms = 1 + (two != NO_CELLS) + (three != NO_CELLS)
    wanted = 1 if style in (OPEN, CORRIDOR) else 3 if style == THREE_ROOM else 2
    good = rooms == wanted and count(one) >= LEAST_ROOM and (rooms == 1 or count(two) >= LEAST_ROOM)
    if good and rooms == 3:
        good = count(three) >= LEAST_ROOM and flood(three, three & (~three + ONE)) == three
    if good and style == CORRIDOR:
        good = has_narrows(floor)
    if good:
        by_one, by_two, by_three = beside(one) & ~floor, beside(two) & ~floor, beside(three) & ~floor
        pairs = (count(by_one & by_two) >= LEAST_HANDOVER) + (count(by_two & by_three) >= LEAST_HANDOVER)
        pairs += count(by_one & by_three) >= LEAST_HANDOVER
        usable = by_one | by_two | by_three
        handover = (by_one & by_two) | (by_two & by_three) | (by_one & by_three)
        free = usable & ~handover
        stations = len(_STATIONS) - 1 + p.bin
        good = pairs >= rooms - 1 and count(usable) >= LEAST_USABLE
        good &= count(free) >= stations + p.items.shape[0] + KEEP_FREE
    if good:
        place_all(w, d, s, p, floor, free, stations)
        place_agents(w, d, s, p, one, two, three, rooms)
        settle_terrain(w, s)
    return good


@rule
def place_all(w, d, s, p, floor, free, stations):
    """Terrain and items: no station and no item where things are handed over."""
    for cell in range(64):
        s.terrain[w, cell] = t.FLOOR if has(floor, cell) else t.COUNTER
        s.item[w, cell] = t.NOTHING
        s.progress[w, cell] = 0
    for k in range(stations):
        cell = chosen(w, d, free)
        s.terrain[w, cell] = _STATIONS[k]
        free &= ~bit(cell)
    distractors = integer(w, d, MOST_DISTRACTORS + 1)
    needed = p.items.shape[0]
    for k in range(needed + distractors):
        if k < needed or count(free) > KEEP_FREE:
            cell = chosen(w, d, free)
            s.item[w, cell] = p.items[k] if k < needed else _DISTRACTORS[integer(w, d, len(_DISTRACTORS))]
            free &= ~bit(cell)


@rule
def place_agents(w, d, s, p, one, two, three, rooms):
    """Round-robin over the rooms, or all in one."""
    offset, taken = integer(w, d, rooms), NO_CELLS
    for a in range(s.cell.shape[1]):
        room = offset if p.agents_same_room else (a + offset) % rooms
        cells = one if room == 0 else two if room == 1 else three
        s.hand[w, a], s.hand_progress[w, a] = t.NOTHING, 0
        s.cell[w, a] = chosen(w, d, cells & ~taken)
        taken |= bit(s.cell[w, a])
        if p.p_start_holding > 0.0 and random(w, d) < p.p_start_holding:
            around = beside(cells)
            lying = NO_CELLS
            for cell in range(64):
                if s.item[w, cell] != t.NOTHING and has(around, cell):
                    lying |= bit(cell)
            if lying != NO_CELLS:
                cell = chosen(w, d, lying)
                s.hand[w, a] = s.item[w, cell]
                s.item[w, cell] = t.NOTHING


@rule
def settle_terrain(w, s):
    """The sets of cells that follow from the terrain, which stays as it is during an episode."""
    floor, plain = NO_CELLS, NO_CELLS
    for cell in range(64):
        if s.terrain[w, cell] == t.FLOOR:
            floor |= bit(cell)
        elif s.terrain[w, cell] == t.COUNTER:
            plain |= bit(cell)
    s.floor[w], s.plain[w] = floor, plain
    # A counter stands between rooms if more than one room is beside it.
    handover, seen, rest = NO_CELLS, NO_CELLS, floor
    while rest != NO_CELLS:
        room = flood(floor, rest & (~rest + ONE))
        around = beside(room) & plain
        handover |= seen & around
        seen |= around
        rest &= ~room
    s.handover[w] = handover


# Splits -----------------------------------------------------------------------------------------------------------


@rule
def canonical_hash(w, s):
    """The same number for a kitchen's terrain and items in all its eight symmetries: the least of their hashes."""
    for j in range(HASH_BITS):
        s.planes[w, j] = NO_CELLS
    for cell in range(64):
        code = np.int64(s.terrain[w, cell]) | np.int64(s.item[w, cell]) << 3
        for j in range(HASH_BITS):
            s.planes[w, j] |= np.uint64(code >> j & 1) << np.uint64(cell)
    least = ~NO_CELLS
    for symmetry in range(8):
        h = NO_CELLS
        for j in range(HASH_BITS):
            plane = s.planes[w, j]
            if symmetry & 1:
                plane = mirrored(plane)
            if symmetry & 2:
                plane = flipped(plane)
            if symmetry & 4:
                plane = transposed(plane)
            h = mix(h * GOLDEN + plane)
        least = min(least, h)
    return least


@rule
def split_of(h):
    """Which split a canonical hash belongs to."""
    residue = h & np.uint64(7)
    return VAL if residue == NO_CELLS else TEST if residue == ONE else TRAIN
