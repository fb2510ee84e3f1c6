"""How programs are carried out: golden traces, worked out by hand from the semantics."""

import pytest

from mpe_ext.overcooked_v2.program import Event, Executor, parse
from mpe_ext.overcooked_v2.program.corpus import corpus, load

A, B, C, D = "Pick(FreshOnion)", "Pick(FreshTomato)", "WashDirtyPlate()", "Chop(FreshOnion)"
FIRE = "PutOutFire()"
POLL = "while True:\n            if IsOnFire():\n                PutOutFire()\n"


class Run:
    """An executor whose queries are answered from a set of what is true."""

    def __init__(self, text, true=(), **options):
        self.true, self.asked = set(true), []
        self.executor = Executor(parse(text).program, **options)
        self.executor.reset(self.perceive)

    def perceive(self, query):
        self.asked.append(query)
        return query in self.true

    def step(self, *behaviours, hard=True, **options):
        self.asked.clear()
        return self.executor.step([Event(0, b, hard) for b in behaviours], self.perceive, **options)

    @property
    def wanted(self):
        return [tuple(w) for w in self.executor.possible]

    @property
    def status(self):
        return self.executor.status


def split(*branches, after=""):
    """A program that splits into these branches (lines of 8 columns)."""
    body = "".join(f"    {i}:\n        {b.strip()}\n" for i, b in enumerate(branches, start=1))
    return f"parallel:\n{body}{after}"


def test_1_a_split_then_a_behaviour():
    run = Run(split(A, B, after=C))
    assert run.wanted == [(1, A), (2, B)]
    assert run.step(B) == [2]
    assert run.wanted == [(1, A)]
    assert run.step(A) == [1]
    assert run.wanted == [(3, C)] and run.status == "running"
    assert run.step(C) == [3]
    assert run.wanted == [] and run.status == "completed"


def test_2_a_split_inside_a_branch():
    inner = f"parallel:\n            1: {A}\n            2: {B}\n        {C}"
    run = Run(split(inner, D))
    # All branches of a split are created before any of them goes on: the second has number 2.
    assert run.wanted == [(2, D), (3, A), (4, B)]
    assert run.step(A, B) == [3, 4]
    assert run.wanted == [(2, D), (5, C)]
    assert run.step(C) == [5]
    assert run.wanted == [(2, D)] and run.status == "running"
    run.step(D)
    assert run.status == "completed"


def test_3_repeat_makes_copies_that_run_at_the_same_time():
    run = Run(f"repeat(3):\n    {A}\n    {D}\n{C}")
    assert run.wanted == [(1, A), (2, A), (3, A)]
    assert run.step(A, A) == [1, 2]
    assert run.wanted == [(1, D), (2, D), (3, A)]
    assert run.step(D, A, D) == [1, 3, 2]
    assert run.wanted == [(3, D)]
    assert run.step(D) == [3]
    assert run.wanted == [(4, C)]


def test_4_repeat_in_a_branch_in_a_loop():
    run = Run(
        f"while is_there(Plate):\n    parallel:\n        1: repeat(2): {A}\n        2: {B}\n{C}", ["is_there(Plate)"]
    )
    assert run.wanted == [(2, B), (3, A), (4, A)]
    run.step(A, B)
    assert run.wanted == [(4, A)]
    run.step(A)  # joins inside joins, the loop again: every pointer is new
    assert [b for _, b in run.wanted] == [B, A, A]
    run.true.clear()
    run.step(A, A)
    run.step(B)
    assert [b for _, b in run.wanted] == [C]


def test_5_a_false_if_at_the_end_of_a_branch():
    run = Run(split(f"{A}\n        if IsOnFire():\n            {FIRE}", B, after=C))
    run.step(A)
    assert run.wanted == [(2, B)]
    run.step(B)
    assert [b for _, b in run.wanted] == [C]


def test_6_an_if_in_a_loop_in_a_branch():
    loop = f"while is_there(Plate):\n            if is_there(FreshOnion):\n                {D}\n            {A}"
    run = Run(split(loop, B), ["is_there(Plate)"])
    assert run.wanted == [(1, A), (2, B)]
    run.true.add("is_there(FreshOnion)")
    assert run.step(A) == [1] and run.asked == ["is_there(Plate)", "is_there(FreshOnion)"]
    assert run.wanted == [(1, D), (2, B)]
    run.step(D)
    run.true.clear()
    run.step(A)
    assert run.wanted == [(2, B)]


def test_7_a_daemon_ends_with_its_join():
    run = Run(split(A, POLL, after=C), ["IsOnFire()"])
    assert run.wanted == [(1, A), (2, FIRE)]
    run.step(A)  # the wish to put out the fire does not hold it up
    assert run.wanted == [(3, C)]
    assert Run(split(A, POLL)).step(A) == [1]


def test_7b_a_daemon_polls():
    run = Run(split(A, POLL))
    assert run.wanted == [(1, A)]
    assert run.asked == ["IsOnFire()"] * 2  # the loop may come back once
    run.step()
    assert run.asked == ["IsOnFire()"] * 2
    run.true.add("IsOnFire()")
    run.step()
    assert run.wanted == [(1, A), (2, FIRE)]
    run.true.clear()
    assert run.step(FIRE) == [2]
    assert run.wanted == [(1, A)]
    run.step(A)
    assert run.status == "completed"


def test_8_nested_daemons():
    # All branches of the inner split are daemons, so its branch is one.
    inner = f"parallel:\n            1: while True: {C}\n            2: while True: {D}"
    run = Run(split(A, inner, after=B))
    assert run.wanted == [(1, A), (3, C), (4, D)]
    assert run.step(C) == [3]
    assert run.wanted == [(1, A), (3, C), (4, D)]
    run.step(A)
    assert run.wanted == [(5, B)]
    # The part of a daemon's branch before its loop does not hold up anything either.
    run = Run(split(A, f"{C}\n        while True: {D}"))
    run.step(A)
    assert run.status == "completed"


def test_9_a_loop_that_is_never_entered():
    run = Run(f"while is_there(Plate):\n    {A}\n{B}")
    assert run.wanted == [(0, B)] and run.asked == ["is_there(Plate)"]


def test_10_else():
    text = f"if IsOnFire():\n    {FIRE}\nelse:\n    {A}\n{B}"
    assert Run(text).wanted == [(0, A)]
    assert Run(text, ["IsOnFire()"]).wanted == [(0, FIRE)]
    assert Run(text.replace("IsOnFire()", "not IsOnFire()"), ["IsOnFire()"]).wanted == [(0, A)]


def test_11_one_event_moves_one_pointer():
    run = Run(split(A, A, A))
    assert run.step(A, assigned={0: 3}) == [3]
    assert run.step(A, assigned={0: 3}) == [1]  # pointer 3 is gone
    assert run.step(A) == [2]
    assert run.status == "completed"
    assert Run(split(A, A)).step(A, A, assigned={0: 2}) == [2, 1]


def test_12_a_program_with_nothing_to_do():
    run = Run(f"if IsOnFire():\n    {FIRE}")
    assert run.wanted == [] and run.status == "completed"
    with pytest.raises(RuntimeError, match="completed"):
        run.step()


def test_events_may_follow_one_another_in_one_step():
    run = Run(f"{A}\n{D}\n{C}")
    assert run.step(D, A) == [0, 0]  # whatever the order in which they are told
    assert run.wanted == [(0, C)]


def test_waiting_pointers_cannot_match_events_of_their_step():
    run = Run(split(A, POLL))
    run.true.add("IsOnFire()")
    assert run.step(FIRE) == [None]
    assert run.status == "violated"


def test_violations():
    assert Run(A).step(B) == [None]
    for strict, hard, behaviour, status in [
        ("paper", True, B, "violated"),
        ("paper", False, B, "running"),
        ("lenient", True, B, "running"),
        ("lenient", True, C, "violated"),
        ("off", True, C, "running"),
    ]:
        run = Run(A, strict=strict)
        run.step(behaviour, hard=hard)
        assert run.status == status, (strict, hard, behaviour)
    run = Run(A)
    assert run.step(A, B) == [0, None]
    assert run.status == "violated"  # beats completed
    soft = Run(A)
    assert soft.step(A, hard=False) == [0] and soft.status == "completed"


def test_the_loop_guard_survives_joins():
    # The loop's pointer is a new one after each round, with the old one's count: without it this would never return.
    run = Run(split(A, f"while True:\n            repeat(2):\n                if IsOnFire(): {FIRE}"))
    assert run.wanted == [(1, A)]
    assert len(run.asked) == 4
    run.step()
    assert len(run.asked) == 4


def test_a_join_that_fires_skips_daemons_still_to_go():
    run = Run(split(f"if IsOnFire(): {FIRE}", POLL, after=A))
    assert run.asked == ["IsOnFire()"]  # the daemon never asked
    assert run.wanted == [(3, A)]


def test_wrong_use():
    executor = Executor(load("P1").program)
    for use in (lambda: executor.status, lambda: executor.possible, lambda: executor.step([], bool)):
        with pytest.raises(RuntimeError, match="reset"):
            use()
    executor.reset(bool)
    with pytest.raises(ValueError, match="Pick\\(Banana\\)"):
        executor.step([Event(0, "Pick(Banana)", True)], bool)
    assert executor.status == "running"
    with pytest.raises(ValueError, match="strict='hard'"):
        Executor(load("P1").program, strict="hard")


@pytest.mark.parametrize("name", ["H1c", "H2", "U2"])
def test_a_program_is_completed_by_what_it_wants(name):
    run = Run(corpus()[name].text,
              ["is_ordered(ChoppedOnion+Plate)", "is_ordered(ChoppedTomato+Plate)"])  # fmt: skip
    steps = 0
    while run.status == "running":
        pid, behaviour = run.wanted[-1]
        assert run.step(behaviour, assigned={0: pid}) == [pid]
        steps += 1
    assert run.status == "completed" and steps == {"H1c": 4, "H2": 9, "U2": 12}[name]
