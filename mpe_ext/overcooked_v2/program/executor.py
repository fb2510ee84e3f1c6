"""The multi-pointer updater as plain Python: what a program wants now, and how events move it on.

One pointer stands for each thread of the program that is under way. It rests on a behaviour that it wants, waits at a
loop, or dies. The compiled executor of the environment does the same with tables; tests hold one against the other.
Source: the E-MAPP paper, section 4.2 and algorithm 1, with continuations where the algorithm is silent.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mpe_ext.overcooked_v2 import tables as t
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

Perceive: TypeAlias = Callable[[str], bool]  # canonical text of a query -> whether it holds now
_MOST_ARRIVALS = 2  # at one `while` in one phase, without a behaviour in between; on the next the pointer waits


class Event(NamedTuple):
    """What happened: who did which behaviour (canonical text), and whether the program must want it."""

    actor: int
    behaviour: str
    hard: bool


class Wanted(NamedTuple):
    """A behaviour that a pointer rests on."""

    pointer: int
    behaviour: str


class _Rest(NamedTuple):
    """What is left of a sequence."""

    block: Seq
    next: int


@dataclass
class _Join:
    """Where branches meet: how many must still come, and how it goes on."""

    left: int
    opener: "_Pointer"


_Frame: TypeAlias = "_Rest | While | _Join"


@dataclass
class _Pointer:
    pid: int
    frames: list[_Frame]  # what is to be done after what it does now, innermost last
    daemon: bool
    at: Do | While | None = None  # where it rests or waits
    arrivals: dict[int, int] = field(default_factory=dict)  # by `while`, in the phase below
    phase: int = 0  # steps taken then


class Executor:
    """Runs one program.

    Args:
        program: the tree that `parse` returns.
        strict: `paper`, `lenient` (a supply pick that nobody wants is no violation) or `off` (nothing is).
    """

    def __init__(self, program: Seq, strict: str = "paper"):
        if strict not in ("paper", "lenient", "off"):
            raise ValueError(f"strict={strict!r}: must be one of 'paper', 'lenient', 'off'")
        self.program = program
        self.strict = strict
        self._pointers: list[_Pointer] | None = None

    def reset(self, perceive: Perceive) -> None:
        """Start the program: one pointer, moved on to what it wants first."""
        self._pointers, self._next_pid, self._phase, self._violated = [], 0, 0, False
        root = self._new([_Rest(self.program, 0)], daemon=False)
        self._go_on(root, perceive)

    def step(
        self, events: Iterable[Event], perceive: Perceive, assigned: Mapping[int, int] | None = None
    ) -> list[int | None]:
        """Move on by one step.

        Args:
            events: what happened in the step, in the order in which it did.
            perceive: answers queries in the state after the step.
            assigned: by actor, the pointer whose behaviour it was told to bring about.

        Returns:
            For each event the pointer that it moved on, None if no pointer wanted it.

        Raises:
            RuntimeError: before `reset`, or when the program is over.
            ValueError: an event that does not exist.
        """
        if self.status != t.STATUSES[t.RUNNING]:
            raise RuntimeError(f"step() of a program that is {self.status}: call reset() first")
        events = [Event(*event) for event in events]
        for event in events:
            if event.behaviour not in _EVENT_TEXTS:
                raise ValueError(f"event {event.behaviour!r}: must be one of {', '.join(_EVENT_TEXTS)}")
        waiting = [p.pid for p in self._live() if isinstance(p.at, While)]
        self._phase += 1
        matched: list[int | None] = [None] * len(events)
        progress = True
        while progress:
            progress = False
            for i, event in enumerate(events):
                if matched[i] is None and (pointer := self._wanting(event, assigned or {})) is not None:
                    matched[i] = pointer.pid
                    pointer.arrivals.clear()
                    self._go_on(pointer, perceive)
                    progress = True
        for pid in waiting:
            pointer = next((p for p in self._live() if p.pid == pid), None)
            if pointer is not None:
                loop = pointer.at
                assert isinstance(loop, While)
                self._arrive(pointer, loop, perceive)
        unwanted = [e for e, m in zip(events, matched, strict=True) if m is None and self._violates(e)]
        self._violated = bool(unwanted)
        return matched

    @property
    def possible(self) -> list[Wanted]:
        """The possible subroutine set: all behaviours that are wanted now, by pointer."""
        resting = sorted((p for p in self._live() if isinstance(p.at, Do)), key=lambda p: p.pid)
        return [Wanted(p.pid, str(p.at.behaviour)) for p in resting if isinstance(p.at, Do)]

    @property
    def resting(self) -> dict[int, int]:
        """By pointer, the id of the `Do` that it rests on."""
        return {p.pid: p.at.id for p in self._live() if isinstance(p.at, Do)}

    @property
    def status(self) -> str:
        """`running`, `completed` or `violated`."""
        live = self._live()
        if self._violated:
            return t.STATUSES[t.VIOLATED]
        return t.STATUSES[t.RUNNING if any(not p.daemon for p in live) else t.COMPLETED]

    # ----------------------------------------------------------------------------------------------------------

    def _live(self) -> list[_Pointer]:
        if self._pointers is None:
            raise RuntimeError("the program has not begun: call reset() first")
        return self._pointers

    def _new(self, frames: list[_Frame], daemon: bool) -> _Pointer:
        pointer = _Pointer(self._next_pid, frames, daemon)
        self._next_pid += 1
        self._live().append(pointer)
        return pointer

    def _drop(self, pointer: _Pointer) -> None:
        self._pointers = [p for p in self._live() if p is not pointer]

    def _wanting(self, event: Event, assigned: Mapping[int, int]) -> _Pointer | None:
        candidates = [p for p in self._live() if isinstance(p.at, Do) and str(p.at.behaviour) == event.behaviour]
        told = assigned.get(event.actor)
        return min(candidates, key=lambda p: (p.pid != told, p.pid), default=None)

    def _violates(self, event: Event) -> bool:
        if not event.hard or self.strict == "off":
            return False
        return not (self.strict == "lenient" and event.behaviour.startswith("Pick("))

    # Settling: a pointer moves until it rests, waits or dies

    def _go_on(self, pointer: _Pointer, perceive: Perceive) -> None:
        """What comes after a statement that is done."""
        pointer.at = None
        if not pointer.frames:
            self._drop(pointer)
            return
        frame = pointer.frames.pop()
        if isinstance(frame, _Rest):
            if frame.next < len(frame.block.statements):
                pointer.frames.append(_Rest(frame.block, frame.next + 1))
                self._enter(pointer, frame.block.statements[frame.next], perceive)
            else:
                self._go_on(pointer, perceive)
        elif isinstance(frame, While):
            self._arrive(pointer, frame, perceive)
        else:
            self._meet(pointer, frame, perceive)

    def _enter(self, pointer: _Pointer, statement: Statement, perceive: Perceive) -> None:
        if isinstance(statement, Do):
            pointer.at = statement
        elif isinstance(statement, If):
            taken = statement.then if self._holds(statement.condition, perceive) else statement.orelse
            if taken is not None:
                pointer.frames.append(_Rest(taken, 0))
            self._go_on(pointer, perceive)
        elif isinstance(statement, While):
            self._arrive(pointer, statement, perceive)
        else:
            self._split(pointer, branches(statement), perceive)

    def _arrive(self, pointer: _Pointer, loop: While, perceive: Perceive) -> None:
        if pointer.phase != self._phase:
            pointer.arrivals, pointer.phase = {}, self._phase
        count = pointer.arrivals[id(loop)] = pointer.arrivals.get(id(loop), 0) + 1
        if count > _MOST_ARRIVALS:
            pointer.at = loop
            return
        pointer.at = None
        if self._holds(loop.condition, perceive):
            pointer.frames += [loop, _Rest(loop.body, 0)]
        self._go_on(pointer, perceive)

    def _split(self, pointer: _Pointer, opened: tuple[Seq, ...], perceive: Perceive) -> None:
        """All branches get a pointer, then each moves on, as long as the join is open."""
        self._drop(pointer)
        endless = [never_ends(branch) for branch in opened]
        join = _Join(endless.count(False), pointer)
        # Behind a join of daemons alone nothing comes: its pointers stay until somebody above cancels them.
        children = [
            self._new([join, _Rest(branch, 0)], daemon=pointer.daemon or daemon)
            for branch, daemon in zip(opened, endless, strict=True)
        ]
        for child in children:
            if any(p is child for p in self._live()):
                self._go_on(child, perceive)

    def _meet(self, pointer: _Pointer, join: _Join, perceive: Perceive) -> None:
        self._drop(pointer)
        join.left -= 1
        if join.left:
            return
        for other in [p for p in self._live() if join in _joins(p)]:
            self._drop(other)
        opener = join.opener
        follower = self._new(opener.frames, opener.daemon)
        follower.arrivals, follower.phase = opener.arrivals, opener.phase
        self._go_on(follower, perceive)

    def _holds(self, condition: Condition, perceive: Perceive) -> bool:
        if isinstance(condition, Not):
            return not self._holds(condition.condition, perceive)
        return condition.value if isinstance(condition, Constant) else bool(perceive(str(condition.query)))


def _joins(pointer: _Pointer) -> list[_Join]:
    """The joins that a pointer stands below, those of its openers included."""
    found = []
    frames = list(pointer.frames)
    while frames:
        frame = frames.pop()
        if isinstance(frame, _Join):
            found.append(frame)
            frames += frame.opener.frames
    return found


_EVENT_TEXTS = tuple(str(event) for event in t.EVENTS)
