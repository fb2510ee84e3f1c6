"""Where a fire may break out, and how it spreads."""

from mpe_ext.engine.jit import helper, rule
from mpe_ext.engine.random import Stream, integer, random
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.bits import NO_CELLS, ONE, beside, bit, count, first, flood, has, nth
from mpe_ext.overcooked_v2.zones import zone

MODES = ("none", "initial", "once", "hazard", "legacy")
NONE, INITIAL, ONCE, HAZARD, LEGACY = range(5)
SITES = ("floor", "station", "any")
ON_FLOOR, ON_STATIONS, ANYWHERE = range(3)
LATEST_ONCE, LEGACY_TIME = 40, 60  # steps
SPREADS_AFTER = 10  # steps


@rule
def sites(w, s, p):
    """The cells that a fire may break out on, as far as the kind of terrain decides."""
    solid = beside(s.floor[w]) & ~s.floor[w]
    if p.fire_sites == ON_FLOOR:
        return s.floor[w]
    if p.fire_sites == ON_STATIONS:
        return solid & ~s.plain[w]
    return s.floor[w] | solid


@helper
def qualifies(w, s, cell):
    """Whether a fire at `cell` would leave everybody some room and could be put out.

    Nobody stands there; it cuts off neither the extinguisher nor a handover counter from a side; every agent keeps a
    cell to enter or a counter beside it; and somebody can bring the extinguisher beside it while it burns.
    """
    burning = s.fire[w] | bit(cell)
    floor, plain, around = s.floor[w] & ~burning, s.plain[w] & ~burning, beside(bit(cell))
    agents, carrier = NO_CELLS, NO_CELLS
    good = not has(s.fire[w], cell)
    for a in range(s.cell.shape[1]):
        here = bit(s.cell[w, a])
        agents |= here
        good &= beside(here) & (floor | plain) != NO_CELLS
        if s.hand[w, a] == t.EXTINGUISHER:
            carrier |= here
    good &= agents & bit(cell) == NO_CELLS
    rooms = flood(floor, agents)
    if good and carrier == NO_CELLS:
        lying = NO_CELLS
        for k in range(64):
            if s.item[w, k] == t.EXTINGUISHER:
                lying = bit(k)
        good = lying & burning == NO_CELLS
        carrier = beside(lying) & rooms
    if good and has(s.floor[w], cell):  # the handover counters beside it keep another access from this side
        room, rest = flood(s.floor[w], bit(cell)), around & s.handover[w]
        while rest != NO_CELLS:
            counter = rest & (~rest + ONE)
            good &= beside(counter) & room & floor != NO_CELLS
            rest &= ~counter
    return good and zone(rooms, plain, carrier) & around != NO_CELLS


@rule
def ignite(w, s, cells):
    """A fire on one of the cells that qualify, all alike; whether there is one. Returns the cell, -1 for none."""
    d = Stream(s.scene_key, s.scene_counter)
    while cells != NO_CELLS:
        cell = nth(cells, integer(w, d, count(cells)))
        if qualifies(w, s, cell):
            s.fire[w] |= bit(cell)
            s.fire_age[w, cell] = 0
            return cell
        cells &= ~bit(cell)
    return -1


@rule
def burn(w, s, p, step):
    """One step of all fires, and perhaps a new one, after step number `step` (from 0). Returns the new fires."""
    before = s.fire[w]
    rest = before
    while rest != NO_CELLS:
        s.fire_age[w, first(rest)] += 1
        rest &= rest - ONE
    d = Stream(s.scene_key, s.scene_counter)
    due = False
    if p.fire_mode == ONCE:
        due = s.ignite_at[w] >= 0 and step >= s.ignite_at[w]
    elif p.fire_mode == LEGACY:
        due = s.ignite_at[w] >= 0 and step >= s.ignite_at[w] and before == NO_CELLS
    elif p.fire_mode == HAZARD:
        due = count(before) < p.max_fires and random(w, d) < p.fire_hazard
    rest = before if p.fire_spread > 0.0 else NO_CELLS
    while due or rest != NO_CELLS:
        cells = NO_CELLS
        if due:
            cells = sites(w, s, p)
        else:
            cell = first(rest)
            rest &= rest - ONE
            old = s.fire_age[w, cell] > SPREADS_AFTER and count(s.fire[w]) < p.max_fires
            if old and random(w, d) < p.fire_spread:
                cells = sites(w, s, p) & beside(bit(cell))
        if ignite(w, s, cells) >= 0 and due:
            s.ignite_at[w] = -1
        due = False
    return s.fire[w] & ~before


@rule
def plan_fire(w, s, p):
    """At a reset: when it breaks out; whether one that burns from the start found a place."""
    d = Stream(s.scene_key, s.scene_counter)
    s.ignite_at[w] = -1
    if p.fire_mode == ONCE:
        s.ignite_at[w] = integer(w, d, LATEST_ONCE + 1)
    elif p.fire_mode == LEGACY:
        s.ignite_at[w] = LEGACY_TIME
    elif p.fire_mode == INITIAL and s.fire[w] == NO_CELLS:
        return ignite(w, s, sites(w, s, p)) >= 0
    return True
