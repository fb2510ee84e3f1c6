"""The compiled executor against the plain interpreter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from program_texts import programs

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program import Event, Executor, sequential
from mpe_ext.overcooked_v2.program.batch import ExecutorBatch
from mpe_ext.overcooked_v2.program.checks import DEEPEST, MOST_POINTERS, depth, pointers, structure
from mpe_ext.overcooked_v2.program.corpus import corpus, load
from mpe_ext.overcooked_v2.program.kernels import RESTING
from mpe_ext.overcooked_v2.program.syntax import Seq
from mpe_ext.overcooked_v2.program.tables import compiled

AGENTS = 3
FEW = t.BEHAVIOURS[:2] + t.BEHAVIOURS[-2:]  # so that events often meet pointers


def wanted(batch, w):
    """(pointer, behaviour, id) of all that world w wants, by pointer."""
    s, p = batch.pointers, batch.tables
    resting = [int(slot) for slot in np.flatnonzero(s.mode[w] == RESTING)]
    places = {int(s.pid[w, slot]): int(s.place[w, slot]) for slot in resting}
    return [(pid, str(t.EVENTS[p.a[place] - 1]), int(p.b[place])) for pid, place in sorted(places.items())]


def compare(program, worlds, steps, rng, behaviours):
    """Random events and answers, the same for both, until all programs are over."""
    batch = ExecutorBatch(program, worlds, AGENTS)
    plain = [Executor(program, strict="off") for _ in range(worlds)]
    answers = rng.random((worlds, len(t.QUERIES))) < 0.5

    def perceive(w):
        return lambda query: bool(answers[w, [str(q) for q in t.QUERIES].index(query)])

    batch.reset(answers)
    for w in range(worlds):
        plain[w].reset(perceive(w))
    codes = np.array([t.EVENT_CODE[b] for b in behaviours])
    moved = 0
    for _ in range(steps):
        for w, executor in enumerate(plain):
            ids = executor.resting
            assert wanted(batch, w) == [(pid, text, ids[pid]) for pid, text in executor.possible]
            assert t.STATUSES[batch.status[w]] == executor.status
        answers = rng.random(answers.shape) < 0.5
        events = np.where(rng.random((worlds, AGENTS)) < 0.7, rng.choice(codes, (worlds, AGENTS)), 0)
        told = rng.integers(-1, 12, (worlds, AGENTS))
        running = batch.status == t.RUNNING
        matched = batch.step(events, answers, told)
        for w in np.flatnonzero(running):
            who = np.flatnonzero(events[w])
            found = plain[w].step(
                [Event(int(i), str(t.EVENTS[events[w, i] - 1]), True) for i in who],
                perceive(w),
                {i: int(told[w, i]) for i in range(AGENTS)},
            )
            assert [int(m) for m in matched[w, who]] == [-1 if f is None else f for f in found]
            moved += sum(f is not None for f in found)
    return moved


@given(programs(FEW, most_leaves=14), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_random_programs(program, seed):
    if depth(program) <= DEEPEST and pointers(program) <= MOST_POINTERS:
        compare(program, 4, 12, np.random.default_rng(seed), FEW)


@pytest.mark.slow
@given(programs(FEW, most_leaves=30), st.integers(0, 2**32))
@settings(max_examples=3000, deadline=None)
def test_many_random_programs(program, seed):
    if depth(program) <= DEEPEST and pointers(program) <= MOST_POINTERS:
        compare(program, 4, 25, np.random.default_rng(seed), FEW)


@pytest.mark.parametrize("name", corpus())
@pytest.mark.parametrize("form", [lambda p: p, sequential], ids=["parallel", "sequential"])
def test_corpus(name, form):
    program = form(load(name).program)
    used = sorted({t.EVENTS[a - 1] for c, a in zip(compiled(program).code, compiled(program).a, strict=True) if c == 0})
    moved = compare(program, 20, 15, np.random.default_rng(1), used)
    assert moved > 0
    assert structure(program) == []


def test_the_batch_is_the_same_on_any_number_of_threads(monkeypatch):
    results = []
    for threads in (1, 2):
        monkeypatch.setattr("mpe_ext.engine.threads.available_cpus", lambda n=threads: n)
        batch = ExecutorBatch(load("U2").program, 1000, AGENTS)
        rng = np.random.default_rng(3)
        batch.reset(np.zeros((1000, 13), bool))
        for _ in range(8):
            batch.step(rng.integers(0, 23, (1000, AGENTS)), rng.random((1000, 13)) < 0.5)
        results.append([array.copy() for array in batch.pointers])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_reset_of_some():
    batch = ExecutorBatch(load("P1").program, 2, 1)
    no = np.zeros((2, 13), bool)
    batch.reset(no)
    assert batch.step(np.array([[2], [2]]), no).tolist() == [[0], [0]]
    assert batch.status.tolist() == [t.COMPLETED] * 2
    batch.reset(no, np.array([False, True]))
    assert batch.status.tolist() == [t.COMPLETED, t.RUNNING]


def test_wrong_use():
    program: Seq = load("P1").program
    with pytest.raises(ValueError, match="num_envs=0"):
        ExecutorBatch(program, 0, 1)
    batch = ExecutorBatch(program, 2, 1)
    with pytest.raises(ValueError, match=r"\[2, 13\]"):
        batch.reset(np.zeros((2, 3), bool))
    with pytest.raises(ValueError, match="events must be codes in 0 .. 24"):
        batch.step(np.array([[25], [0]]), np.zeros((2, 13), bool))
