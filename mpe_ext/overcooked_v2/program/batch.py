"""Many runs of one program at once, apart from any kitchen: for whoever perceives and judges events on his own."""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine import threads
from mpe_ext.engine.actions import positive_int
from mpe_ext.engine.jit import bind, kernel
from mpe_ext.overcooked_v2.program import kernels as k
from mpe_ext.overcooked_v2.program.syntax import Seq
from mpe_ext.overcooked_v2.program.tables import compiled
from mpe_ext.overcooked_v2.tables import EVENTS, QUERIES


class _Outside(NamedTuple):
    """What comes in and goes out. W worlds, N agents."""

    answers: np.ndarray  # int64[W]: bit i answers QUERIES[i]
    events: np.ndarray  # int64[W, N]: codes, 0 for none
    told: np.ndarray  # int64[W, N]: the pointer that an agent serves, -1 for none
    matched: np.ndarray  # int64[W, N]
    status: np.ndarray  # int64[W]
    begin: np.ndarray  # bool[W]


class ExecutorBatch:
    """`num_envs` runs of a program, each at a place of its own.

    Args:
        program: the tree that `parse` returns.
        num_envs: how many.
        num_agents: how many agents there are, each of which brings about one event a step at most.
    """

    def __init__(self, program: Seq, num_envs: int, num_agents: int):
        self.num_envs, self.num_agents = positive_int("num_envs", num_envs), positive_int("num_agents", num_agents)
        w, n = self.num_envs, self.num_agents
        self.tables = compiled(program)
        self.pointers = k.allocate(w, self.tables)
        self._outside = _Outside(
            answers=np.zeros(w, np.int64),
            events=np.zeros((w, n), np.int64),
            told=np.zeros((w, n), np.int64),
            matched=np.zeros((w, n), np.int64),
            status=np.zeros(w, np.int64),
            begin=np.zeros(w, np.bool_),
        )

    def reset(self, answers: np.ndarray, mask: np.ndarray | None = None) -> None:
        """Start anew, where bool[W] `mask` says so. `answers` bool[W, 13] answers all queries, in the order of
        `tables.QUERIES`."""
        o = self._outside
        o.answers[:] = as_bits(answers, self.num_envs)
        o.begin[:] = True if mask is None else mask
        self._run(_start)

    def step(self, events: np.ndarray, answers: np.ndarray, told: np.ndarray | None = None) -> np.ndarray:
        """Move on by one step: int[W, N] events (codes of `tables.EVENT_CODE`, 0 for none), the answers after them, and
        the pointer that each agent was told to serve (-1: none). Returns int64[W, N]: the pointer that each event moved
        on, -1 for none."""
        o = self._outside
        events = np.asarray(events)
        if events.shape != o.events.shape or (events < 0).any() or (events > len(EVENTS)).any():
            raise ValueError(f"events must be codes in 0 .. {len(EVENTS)} of shape {list(o.events.shape)}")
        o.answers[:], o.events[:], o.told[:] = as_bits(answers, self.num_envs), events, -1 if told is None else told
        self._run(_advance)
        return o.matched.copy()

    @property
    def status(self) -> np.ndarray:
        """int64[W], RUNNING or COMPLETED; whether an event was a violation is for the caller to judge."""
        return self._outside.status.copy()

    def _run(self, function) -> None:
        tuples = (tuple(self._outside), tuple(self.pointers), tuple(self.tables))
        bound = bind(function, 0, 0, *tuples)
        threads.run(lambda lo, hi: bound(lo, hi, *tuples), self.num_envs, threads.available_cpus())


def as_bits(answers: np.ndarray, num_envs: int) -> np.ndarray:
    """bool[W, 13] answers as one number each."""
    answers = np.asarray(answers, np.bool_)
    if answers.shape != (num_envs, len(QUERIES)):
        raise ValueError(f"answers have shape {list(answers.shape)}, must be [{num_envs}, {len(QUERIES)}]")
    return answers @ (1 << np.arange(len(QUERIES), dtype=np.int64))


@kernel
def _start(lo, hi, outside, pointers, tables):
    o, s, p = _Outside(*outside), k.Pointers(*pointers), k.Tables(*tables)
    for w in range(lo, hi):
        if o.begin[w]:
            k.start_program(w, s, p, o.answers[w])
            o.status[w] = k.program_status(w, s)


@kernel
def _advance(lo, hi, outside, pointers, tables):
    o, s, p = _Outside(*outside), k.Pointers(*pointers), k.Tables(*tables)
    for w in range(lo, hi):
        if o.status[w] == k.RUNNING:
            k.advance_program(w, s, p, o.events, o.told, o.matched, o.answers[w], 0)
            o.status[w] = k.program_status(w, s)
