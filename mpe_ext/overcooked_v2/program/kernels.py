"""The multi-pointer updater as rules of one world: see executor.py for the same in plain Python.

`s` holds the arrays of Pointers among others, `p` those of Tables. Answers to all queries are the bits of one number,
in the order of QUERIES.
"""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import rule
from mpe_ext.overcooked_v2.program.tables import ASK, ASK_NOT, DO, JUMP, LOOP, SPLIT, Tables
from mpe_ext.overcooked_v2.tables import COMPLETED, RUNNING

GONE, RESTING, WAITING, OPENER, DUE = range(5)  # DUE: waits since an earlier phase
_MOST_ARRIVALS = 2  # at one loop in one phase, without a behaviour in between; on the next the pointer waits


class Pointers(NamedTuple):
    """W worlds, S slots, G loops."""

    mode: np.ndarray  # int8[W, S]: what is in a slot: nobody, who wants a behaviour, who waits, who has split
    place: np.ndarray  # int16[W, S]: where in the tables
    pid: np.ndarray  # int32[W, S]: the pointer's number, in the order of creation; -1 for nobody and who has split
    branch: np.ndarray  # int16[W, S]: which branch runs there
    daemon: np.ndarray  # bool[W, S]
    missing: np.ndarray  # int16[W, S]: branches that must still come before who has split goes on
    arrivals: np.ndarray  # int8[W, G]: at each loop, in this phase
    next_pid: np.ndarray  # int32[W]
    todo: np.ndarray  # int16[W, S]: scratch: branches that are created and must still move on


def allocate(num_envs: int, tables: Tables) -> Pointers:
    """Arrays for a program that has not begun."""
    w, slots, loops = num_envs, tables.num_slots, max(1, tables.num_loops)
    return Pointers(
        mode=np.zeros((w, slots), np.int8),
        place=np.zeros((w, slots), np.int16),
        pid=np.full((w, slots), -1, np.int32),
        branch=np.zeros((w, slots), np.int16),
        daemon=np.zeros((w, slots), np.bool_),
        missing=np.zeros((w, slots), np.int16),
        arrivals=np.zeros((w, loops), np.int8),
        next_pid=np.zeros(w, np.int32),
        todo=np.zeros((w, slots), np.int16),
    )


@rule
def create(w, s, p, branch, daemon):
    """A pointer at the beginning of a branch."""
    slot = p.slot[branch]
    s.branch[w, slot] = branch
    s.place[w, slot] = p.entry[branch]
    s.daemon[w, slot] = daemon
    s.mode[w, slot] = RESTING
    s.pid[w, slot] = s.next_pid[w]
    s.next_pid[w] += 1
    for loop in range(p.first_loop[branch], p.last_loop[branch]):
        s.arrivals[w, loop] = 0


@rule
def move_on(w, s, p, start, answers):
    """The pointer of slot `start` moves until it rests, waits or is gone, and with it all whom it creates."""
    slot, todo, going = start, 0, True
    while going:
        place = s.place[w, slot]
        code, a = p.code[place], p.a[place]
        stop = False
        if code == DO:
            s.mode[w, slot] = RESTING
            stop = True
        elif code in (ASK, ASK_NOT):
            holds = (answers >> a) & 1 == 1
            s.place[w, slot] = place + 1 if holds == (code == ASK) else p.b[place]
        elif code == JUMP:
            s.place[w, slot] = a
        elif code == LOOP:
            if s.arrivals[w, a] < _MOST_ARRIVALS:
                s.arrivals[w, a] += 1
                s.place[w, slot] = place + 1
            else:
                s.mode[w, slot] = WAITING
                stop = True
        elif code == SPLIT:
            s.mode[w, slot] = OPENER
            s.pid[w, slot] = -1
            missing, last = 0, p.b[place]
            for branch in range(a, last):
                create(w, s, p, branch, s.daemon[w, slot] or p.endless[branch] == 1)
                missing += 1 - p.endless[branch]
            s.missing[w, slot] = missing
            for k in range(last - a):  # the first moves on first
                branch = last - 1 - k
                s.todo[w, todo] = p.slot[branch]
                todo += 1
            stop = True
        else:
            stop = True
            parent = p.parent[s.branch[w, slot]]
            s.mode[w, slot] = GONE
            s.pid[w, slot] = -1
            if parent >= 0:
                s.missing[w, parent] -= 1
                if s.missing[w, parent] == 0:
                    # The branches have met: daemons among them end, also those that have not moved yet.
                    behind = parent + 1 + p.below[s.place[w, parent]]
                    for other in range(parent + 1, behind):
                        s.mode[w, other] = GONE
                        s.pid[w, other] = -1
                    while todo > 0 and parent < s.todo[w, todo - 1] < behind:
                        todo -= 1
                    s.pid[w, parent] = s.next_pid[w]
                    s.next_pid[w] += 1
                    s.place[w, parent] += 1
                    slot, stop = parent, False
        if stop:
            going = todo > 0
            if going:
                todo -= 1
                slot = s.todo[w, todo]


@rule
def start_program(w, s, p, answers):
    """At a reset."""
    for slot in range(s.mode.shape[1]):
        s.mode[w, slot] = GONE
        s.pid[w, slot] = -1
    s.next_pid[w] = 0
    create(w, s, p, 0, False)
    move_on(w, s, p, 0, answers)


@rule
def wanting(w, s, p, behaviour, told):
    """The slot whose pointer an event moves on: the one that its actor was told to serve, else the oldest; -1: none."""
    best = -1
    for slot in range(s.mode.shape[1]):
        if s.mode[w, slot] == RESTING and p.a[s.place[w, slot]] == behaviour:
            if s.pid[w, slot] == told:
                return slot
            if best < 0 or s.pid[w, slot] < s.pid[w, best]:
                best = slot
    return best


@rule
def advance_program(w, s, p, events, told, matched, answers, front_runner):
    """One program phase: each event of the step moves on at most one pointer, whose number `matched` then has, else
    -1; afterwards those who waited go on. Events are taken from the agent `front_runner` on."""
    for loop in range(s.arrivals.shape[1]):
        s.arrivals[w, loop] = 0
    for slot in range(s.mode.shape[1]):
        if s.mode[w, slot] == WAITING:
            s.mode[w, slot] = DUE
    agents = events.shape[1]
    for i in range(agents):
        matched[w, i] = -1
    i, progress, moving = 0, False, True
    while moving:
        slot = -1
        while i < agents and slot < 0:
            actor = (front_runner + i) % agents
            if events[w, actor] > 0 and matched[w, actor] < 0:
                slot = wanting(w, s, p, events[w, actor], told[w, actor])
            if slot >= 0:
                matched[w, actor] = s.pid[w, slot]
                branch = s.branch[w, slot]
                for loop in range(p.first_loop[branch], p.last_loop[branch]):
                    s.arrivals[w, loop] = 0
                s.place[w, slot] += 1
                progress = True
            i += 1
            if i == agents and progress:  # what nobody wanted may be wanted now
                i, progress = 0, False
        if slot < 0:
            slot = oldest_due(w, s)
        moving = slot >= 0
        if moving:
            move_on(w, s, p, slot, answers)


@rule
def oldest_due(w, s):
    best = -1
    for slot in range(s.mode.shape[1]):
        if s.mode[w, slot] == DUE and (best < 0 or s.pid[w, slot] < s.pid[w, best]):
            best = slot
    return best


@rule
def program_status(w, s):
    """RUNNING as long as somebody is under way who is no daemon."""
    for slot in range(s.mode.shape[1]):
        if s.mode[w, slot] in (RESTING, WAITING) and not s.daemon[w, slot]:
            return RUNNING
    return COMPLETED
