"""Who can bring what where, by walking and by handing over counters: the relaxed reach of a team (spec of the
scenes' certificate). Counts of items do not matter here, only whether there is a way at all."""

import numpy as np

from mpe_ext.engine.jit import helper, rule
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.bits import NO_CELLS, beside, bit, first, flood, has
from mpe_ext.overcooked_v2.tables import BEHAVIOURS, EVENT_CODE, merged

# By code of a behaviour: the items it needs, the terrain it happens at (FLOOR: anywhere), the item that comes of it.
_NEEDS_A, _NEEDS_B, _PLACE, _GIVES = (np.zeros(len(BEHAVIOURS) + 1, np.int64) for _ in range(4))
for behaviour in BEHAVIOURS:
    code, items = EVENT_CODE[behaviour], behaviour.items
    _NEEDS_A[code] = items[0] if items else t.NOTHING
    if behaviour.routine == "Merge":
        _NEEDS_B[code] = items[1]
        _GIVES[code] = merged(*items)
    elif behaviour.routine == "Chop":
        _PLACE[code] = t.BOARD
        _GIVES[code] = t.CHOPPED_TOMATO if items[0] == t.FRESH_TOMATO else t.CHOPPED_ONION
    elif behaviour.routine == "Serve":
        _PLACE[code], _GIVES[code] = t.STAR, t.DIRTY_PLATE
    elif behaviour.routine == "WashDirtyPlate":
        _PLACE[code], _NEEDS_A[code], _GIVES[code] = t.SINK, t.DIRTY_PLATE, t.PLATE
    elif behaviour.routine == "PutOutFire":
        _NEEDS_A[code] = t.EXTINGUISHER
NUM_BEHAVIOURS = len(BEHAVIOURS)
PICK_TOMATO = EVENT_CODE[t.Behaviour("Pick", (t.FRESH_TOMATO,))]
PICK_ONION = EVENT_CODE[t.Behaviour("Pick", (t.FRESH_ONION,))]


@rule
def manned(w, s, floor):
    """The floor of all rooms that an agent stands in."""
    agents = NO_CELLS
    for a in range(s.cell.shape[1]):
        agents |= bit(s.cell[w, a])
    return flood(floor, agents)


@helper
def zone(rooms, plain, start):
    """From the cells `start`, all floor of `rooms` (those with agents in them) that things can be brought to: over
    plain counters that stand between two rooms."""
    reached, before = flood(rooms, start), NO_CELLS
    while reached != before:
        before = reached
        reached = flood(rooms, reached | (beside(beside(reached) & plain) & rooms))
    return reached


@rule
def can_do(w, s, demands, floor, at_hand):
    """Whether all behaviours of the bit set `demands` can be carried out by agents who walk on `floor` and have, beside
    what lies around it, the items of the bit set `at_hand`."""
    around, places, items = beside(floor), np.int64(0), np.int64(at_hand)
    for cell in range(64):
        if has(around, cell):
            places |= 1 << np.int64(s.terrain[w, cell])
            items |= 1 << np.int64(s.item[w, cell])
    if places >> t.TOMATO_SUPPLY & 1 and demands >> PICK_TOMATO & 1:
        items |= 1 << t.FRESH_TOMATO
    if places >> t.ONION_SUPPLY & 1 and demands >> PICK_ONION & 1:
        items |= 1 << t.FRESH_ONION
    places |= 1 << t.FLOOR
    items |= 1
    done, more = 0, True
    while more:
        more = False
        for code in range(1, NUM_BEHAVIOURS + 1):
            possible = items >> _NEEDS_A[code] & items >> _NEEDS_B[code] & places >> _PLACE[code] & 1
            if demands >> code & 1 and not done >> code & 1 and possible:
                done |= 1 << code
                items |= 1 << _GIVES[code]
                more = True
    return done == demands


@rule
def certified(w, s, demands):
    """Whether the agents form one zone in which all that the program demands can be done."""
    agents, hands = NO_CELLS, np.int64(0)
    for a in range(s.cell.shape[1]):
        agents |= bit(s.cell[w, a])
        hands |= 1 << np.int64(s.hand[w, a])
    rooms = flood(s.floor[w], agents)
    together = zone(rooms, s.plain[w], bit(first(agents)))
    return agents & ~together == NO_CELLS and can_do(w, s, demands, together, hands)


@rule
def needs_team(w, s, demands):
    """Whether no agent could do alone all that the program demands (`forced_coop`)."""
    for a in range(s.cell.shape[1]):
        alone = flood(s.floor[w], bit(s.cell[w, a]))
        if can_do(w, s, demands, alone, 1 << np.int64(s.hand[w, a])):
            return False
    return True
