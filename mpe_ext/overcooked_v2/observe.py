"""What agents see: planes of the map, the inventory vector, the mask of actions."""

import numpy as np

from mpe_ext.engine.jit import rule
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.bits import NO_CELLS, ONE, STEPS, bit, first, flood, has, wide

VIEWS = ("full", "component", "radius")
FULL, COMPONENT, RADIUS = range(3)

_PLANE_OF_ITEM = np.zeros(len(t.ITEMS), np.int64)
_PLANE_OF_TERRAIN = np.full(len(t.TERRAINS), -1, np.int64)
for k, plane in enumerate((*t.PLANES, t.BIN_PLANE)):
    if plane.item:
        _PLANE_OF_ITEM[plane.item] = k
    elif plane.terrain:
        _PLANE_OF_TERRAIN[plane.terrain] = k
_FRESH = (t.FRESH_TOMATO, t.FRESH_ONION)
_CHANGING = _PLANE_OF_TERRAIN[t.BOARD]  # the planes of items and fire stand before it
_IS_DISH = np.array([code in t.DISHES for code in range(len(t.ITEMS))])
IS_FOOD = np.array([bool(parts - {"Plate", "DirtyPlate", "Extinguisher"}) for parts in
                    (frozenset(), *(t.PARTS[code] for code in range(1, len(t.ITEMS))))])  # fmt: skip
MERGED = np.array([[t.merged(a, b) for b in range(len(t.ITEMS))] for a in range(len(t.ITEMS))], np.uint8)


# Which actions do something ---------------------------------------------------------------------------------------


@rule
def allowed(operation, hand, terrain, item, burning):
    """The precondition of an operation on the cell in front, which has this terrain, item and fire. A move is always
    allowed: to bump is the way to wait."""
    if operation == t.MOVE:
        return True
    if burning:
        return operation == t.INTERACT and hand == t.EXTINGUISHER
    if operation == t.PICK:
        return hand == t.NOTHING and (item != t.NOTHING or terrain in (t.TOMATO_SUPPLY, t.ONION_SUPPLY))
    if operation == t.PLACE:
        if terrain == t.BIN:
            return IS_FOOD[hand]
        return hand != t.NOTHING and terrain == t.COUNTER and item == t.NOTHING
    if operation == t.SERVE:
        return terrain == t.STAR and _IS_DISH[hand]
    if operation == t.MERGE:
        return MERGED[hand, item] != t.NOTHING
    return (terrain == t.BOARD and hand in _FRESH) or (terrain == t.SINK and hand == t.DIRTY_PLATE)


@rule
def observe_mask(w, s, over):
    """All agents' masks: ones where nobody may act any more. What partners will do is not looked at."""
    for a in range(s.cell.shape[1]):
        hand = s.hand[w, a]
        for d in range(4):
            front = s.cell[w, a] + STEPS[d]
            terrain, item, burning = s.terrain[w, front], s.item[w, front], has(s.fire[w], front)
            for operation in range(6):
                s.mask[w, a, 4 * operation + d] = over or allowed(operation, hand, terrain, item, burning)


# The map ----------------------------------------------------------------------------------------------------------


@rule
def look(w, s, p):
    """Which cells each agent sees: all, its room and what is 8-adjacent to it, or a square around it."""
    for a in range(s.cell.shape[1]):
        here = bit(s.cell[w, a])
        if p.sight == COMPONENT:
            here = wide(flood(s.floor[w], here))
        elif p.sight == RADIUS:
            for _ in range(p.sight_radius):
                here = wide(here)
        s.visible[w, a] = here if p.sight != FULL else ~NO_CELLS


@rule
def share_done(item, progress, p):
    """How far the chopping of a fresh item has come, 0 to below 1."""
    return progress / p.t_chop if p.t_chop > 1 and item in _FRESH else 0.0


@rule
def paint(w, s, p, a, cell):
    """What agent a sees at a cell, onto planes that are 0 there."""
    row, column = cell >> 3, cell & 7
    terrain, item = s.terrain[w, cell], s.item[w, cell]
    if terrain != t.FLOOR:
        s.map[w, a, _PLANE_OF_TERRAIN[terrain], row, column] = 1
        if item != t.NOTHING:
            s.map[w, a, _PLANE_OF_ITEM[item], row, column] = 1
            done = share_done(item, s.progress[w, cell], p)
            if done > 0.0:
                s.map[w, a, _PLANE_OF_ITEM[item + 2], row, column] = done
    if has(s.fire[w], cell):
        s.map[w, a, t.FIRE_PLANE, row, column] = 1
    if terrain == t.FLOOR:
        for b in range(s.cell.shape[1]):
            if s.cell[w, b] == cell:
                s.map[w, a, t.SELF_PLANE if a == b else t.OTHERS_PLANE, row, column] = 1
                held = s.hand[w, b]
                if held != t.NOTHING:
                    s.map[w, a, _PLANE_OF_ITEM[held], row, column] = 1
                    done = share_done(held, s.hand_progress[w, b], p)
                    if done > 0.0:
                        s.map[w, a, _PLANE_OF_ITEM[held + 2], row, column] = done


@rule
def observe_map(w, s, p):
    """All maps, from nothing."""
    for a in range(s.cell.shape[1]):
        for k in range(s.map.shape[2]):
            for row in range(t.SIDE):
                for column in range(t.SIDE):
                    s.map[w, a, k, row, column] = 0
        for cell in range(64):
            if has(s.visible[w, a], cell):
                paint(w, s, p, a, cell)


@rule
def observe_cells(w, s, p, cells):
    """The maps at the cells where something has changed; terrain stays, and so does who sees a cell."""
    while cells != NO_CELLS:
        cell = first(cells)
        cells &= cells - ONE
        row, column = cell >> 3, cell & 7
        for a in range(s.cell.shape[1]):
            if has(s.visible[w, a], cell):
                for k in range(1, _CHANGING):
                    s.map[w, a, k, row, column] = 0
                s.map[w, a, t.SELF_PLANE, row, column] = 0
                s.map[w, a, t.OTHERS_PLANE, row, column] = 0
                paint(w, s, p, a, cell)


@rule
def observe_inventory(w, s, p, steps):
    """All inventory vectors."""
    scale = np.float32(1.0) if p.raw_xy else np.float32(1.0 / 7.0)
    for a in range(s.cell.shape[1]):
        s.inventory[w, a, 0] = np.float32(s.cell[w, a] & 7) * scale
        s.inventory[w, a, 1] = np.float32(s.cell[w, a] >> 3) * scale
        s.inventory[w, a, 2] = np.float32(s.hand[w, a] != t.NOTHING)
        for k in range(3):
            s.inventory[w, a, 3 + k] = np.float32(s.orders[w, k] > 0)
        if p.obs_time:
            s.inventory[w, a, 6] = np.float32(steps * (1.0 / 128.0))
