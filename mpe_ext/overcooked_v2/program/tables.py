"""Programs as small integer tables that kernels walk.

Each thread of a program that may be under way has a slot of its own: 0 the program itself; the branches of a split get
slots behind their thread's, and splits that come one after the other share theirs. Copies of `repeat` are written out.
What comes after a statement is then known beforehand, and a pointer is no more than a place in the tables.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from mpe_ext.overcooked_v2.program.syntax import (
    Condition,
    Constant,
    Do,
    If,
    Not,
    Seq,
    Statement,
    While,
    branches,
    never_ends,
)
from mpe_ext.overcooked_v2.tables import EVENT_CODE, QUERIES

# Codes. a and b are what stands beside them.
DO = 0  # want the behaviour with event code a; b is the id of the `Do`
ASK, ASK_NOT = 1, 2  # go on if query a holds (does not hold), else at b
LOOP = 3  # arrive at loop a
JUMP = 4  # go on at a
SPLIT = 5  # open the branches a .. b-1
END = 6  # the thread is over
NEVER = len(QUERIES)  # a query that never holds


class Tables(NamedTuple):
    """A compiled program: P places, B branches (0 is the program itself), S slots, G loops."""

    code: np.ndarray  # int16[P]
    a: np.ndarray  # int16[P]
    b: np.ndarray  # int16[P]
    below: np.ndarray  # int16[P]: how many slots a SPLIT occupies behind its own, else 0
    slot: np.ndarray  # int16[B]: where a branch runs
    parent: np.ndarray  # int16[B]: the slot of the thread that splits, -1 for the program itself
    entry: np.ndarray  # int16[B]: where it begins
    endless: np.ndarray  # int16[B]: 1 for a daemon
    first_loop: np.ndarray  # int16[B]: the loops in it and below are first_loop .. last_loop-1
    last_loop: np.ndarray  # int16[B]
    num_slots: int
    num_loops: int


@cache
def compiled(program: Seq) -> Tables:
    """The tables of a program."""
    writer = _Writer()
    writer.open((program,), slot=0, parent=-1)
    code, a, b, below = np.array(writer.places, np.int16).T.copy()
    slot, parent, entry, endless, first_loop, last_loop = np.array(writer.branches, np.int16).T.copy()
    sizes = (slots(program), writer.num_loops)
    return Tables(code, a, b, below, slot, parent, entry, endless, first_loop, last_loop, *sizes)


def slots(block: Seq) -> int:
    """Slots that a thread needs with all that may run below it."""
    return 1 + _below(block)


def _below(block: Seq) -> int:
    most = 0
    for s in block.statements:
        if opened := branches(s):
            most = max(most, sum(slots(branch) for branch in opened))
        elif isinstance(s, If):
            most = max(most, _below(s.then), 0 if s.orelse is None else _below(s.orelse))
        elif isinstance(s, While):
            most = max(most, _below(s.body))
    return most


class _Writer:
    """Writes one thread after the other: its places, then the threads below it."""

    def __init__(self) -> None:
        self.places: list[list[int]] = []  # code, a, b, below
        self.branches: list[list[int]] = []  # as in Tables, from `slot` on
        self.num_loops = 0

    def open(self, opened: tuple[Seq, ...], slot: int, parent: int) -> tuple[int, int]:
        """Write branches that run side by side, the first of them in `slot`; the first row and the last + 1."""
        first = len(self.branches)
        rows = []
        for branch in opened:
            rows.append([slot, parent, 0, never_ends(branch), 0, 0])
            slot += slots(branch)
        self.branches += rows
        for row, branch in zip(rows, opened, strict=True):
            self._thread(row, branch)
        return first, first + len(rows)

    def _thread(self, row: list[int], block: Seq) -> None:
        row[2], row[4] = len(self.places), self.num_loops
        splits: list[tuple[list[int], tuple[Seq, ...]]] = []
        self._sequence(block, splits)
        self._put(END)
        for place, opened in splits:
            place[1:3] = self.open(opened, slot=row[0] + 1, parent=row[0])
        row[5] = self.num_loops

    def _sequence(self, block: Seq, splits: list) -> None:
        for s in block.statements:
            self._statement(s, splits)

    def _statement(self, s: Statement, splits: list) -> None:
        if isinstance(s, Do):
            self._put(DO, EVENT_CODE[s.behaviour], s.id)
        elif isinstance(s, If):
            otherwise = self._condition(s.condition)
            self._sequence(s.then, splits)
            end = None if s.orelse is None else self._put(JUMP)
            self._here(otherwise, 2)
            if s.orelse is not None:
                self._sequence(s.orelse, splits)
            self._here(end, 1)
        elif isinstance(s, While):
            start = len(self.places)
            self._put(LOOP, self.num_loops)
            self.num_loops += 1
            out = self._condition(s.condition)
            self._sequence(s.body, splits)
            self._put(JUMP, start)
            self._here(out, 2)
        else:
            opened = branches(s)
            splits.append((self._put(SPLIT, below=sum(slots(branch) for branch in opened)), opened))

    def _condition(self, condition: Condition) -> list[int] | None:
        """Write a test; the place whose b says where to go on if it fails, None if it cannot."""
        positive = True
        while isinstance(condition, Not):
            condition, positive = condition.condition, not positive
        if isinstance(condition, Constant):
            if condition.value == positive:
                return None
            return self._put(ASK, NEVER)
        return self._put(ASK if positive else ASK_NOT, QUERIES.index(condition.query))

    def _put(self, code: int, a: int = 0, b: int = 0, below: int = 0) -> list[int]:
        self.places.append([code, a, b, below])
        return self.places[-1]

    def _here(self, place: list[int] | None, column: int) -> None:
        if place is not None:
            place[column] = len(self.places)
