"""What a kitchen must have from the start so that a program can be carried out: loose items and plates.

For every combination of answers to the program's queries (each the same whenever it is asked), the cheapest start for
the best order of the behaviours is searched, plates first, then food; the needs are the most over all combinations.
Fresh food comes from the supplies, by the program's own `Pick`; daemons need nothing, since they hold up nothing, and
a loop on a query counts as one round.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, product
from typing import TypeAlias

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program.syntax import (
    Ask,
    Condition,
    Constant,
    Do,
    If,
    Not,
    Seq,
    Statement,
    While,
    branches,
    constant,
    never_ends,
    walk,
)

# Work that is left: behaviours one after the other; a tuple among them holds branches, sorted, that run side by side.
Work: TypeAlias = tuple
_PLATE_COST, _FOOD_COST = 1000, 1
_MOST_STATES = 20_000  # of a search; beyond, the order of the text is taken
_MOST_QUERIES = 6  # of which all combinations of answers are looked at


@dataclass(frozen=True)
class Needs:
    """What must be there from the start."""

    loose: tuple[int, ...]  # items, sorted, with repetitions; neither `Plate` nor `DirtyPlate`
    clean: int  # plates
    dirty: int

    @property
    def plates(self) -> int:
        """All plates, those in loose dishes included."""
        return self.clean + self.dirty + sum("Plate" in t.PARTS[item] for item in self.loose)


def consumed(behaviour: t.Behaviour) -> tuple[int, ...]:
    """The items that a behaviour uses up."""
    if behaviour.routine == "WashDirtyPlate":
        return (t.DIRTY_PLATE,)
    return behaviour.items if behaviour.routine in ("Chop", "Merge", "Serve") else ()


def produced(behaviour: t.Behaviour, plates_return: bool = True) -> tuple[int, ...]:
    """The items that it leaves instead; `plates_return` says whether a dish's plate comes back."""
    if behaviour.routine == "Chop":
        return (t.CHOPPED_TOMATO if behaviour.items == (t.FRESH_TOMATO,) else t.CHOPPED_ONION,)
    if behaviour.routine == "Merge":
        return (t.merged(*behaviour.items),)
    if behaviour.routine == "WashDirtyPlate":
        return (t.PLATE,)
    if behaviour.routine == "Serve" and plates_return:
        return (t.DIRTY_PLATE,)
    return behaviour.items if _from_supply(behaviour) else ()


def _from_supply(behaviour: t.Behaviour) -> bool:
    return behaviour.routine == "Pick" and behaviour.items[0] in (t.FRESH_TOMATO, t.FRESH_ONION)


@cache
def needs(program: Seq, plates_return: bool = True) -> Needs:
    """The needs of a program."""
    most: Counter[int] = Counter()
    for answers in _answers(program):
        most |= _cheapest(_work(program, answers), plates_return)  # the greater count of each
    clean, dirty = most.pop(t.PLATE, 0), most.pop(t.DIRTY_PLATE, 0)
    return Needs(tuple(sorted(most.elements())), clean, dirty)


def _answers(program: Seq) -> Iterator[dict[t.Query, bool]]:
    queries = list(dict.fromkeys(_queries(program)))
    if len(queries) <= _MOST_QUERIES:
        for values in product((False, True), repeat=len(queries)):
            yield dict(zip(queries, values, strict=True))
        return
    for value in (False, True):
        yield dict.fromkeys(queries, value)
        for query in queries:
            yield dict.fromkeys(queries, value) | {query: not value}


def _queries(program: Seq) -> Iterator[t.Query]:
    for s in walk(program):
        if isinstance(s, If | While):
            condition = s.condition
            while isinstance(condition, Not):
                condition = condition.condition
            if isinstance(condition, Ask):
                yield condition.query


def _holds(condition: Condition, answers: dict[t.Query, bool]) -> bool:
    if isinstance(condition, Not):
        return not _holds(condition.condition, answers)
    return condition.value if isinstance(condition, Constant) else answers[condition.query]


def _work(block: Seq, answers: dict[t.Query, bool]) -> Work:
    return tuple(part for s in block.statements for part in _part(s, answers))


def _part(s: Statement, answers: dict[t.Query, bool]) -> Work:
    if isinstance(s, Do):
        return (s.behaviour,)
    if isinstance(s, If):
        taken = s.then if _holds(s.condition, answers) else s.orelse
        return () if taken is None else _work(taken, answers)
    if isinstance(s, While):
        endless = constant(s.condition) is True
        return _work(s.body, answers) if _holds(s.condition, answers) and not endless else ()
    inner = sorted((w for b in branches(s) if not never_ends(b) and (w := _work(b, answers))), key=repr)
    return (tuple(inner),) if len(inner) > 1 else tuple(inner[0]) if inner else ()


# The search -------------------------------------------------------------------------------------------------------


def _cheapest(work: Work, plates_return: bool) -> Counter[int]:
    """The least start for the work, Dijkstra over (work left, stock)."""
    ties = count()
    queue: list[tuple[int, int, Work, tuple[int, ...], tuple[int, ...]]] = [(0, next(ties), work, (), ())]
    seen: set[tuple[Work, tuple[int, ...]]] = set()
    while queue and len(seen) < _MOST_STATES:
        cost, _, left, stock, start = heapq.heappop(queue)
        if (left, stock) in seen:
            continue
        seen.add((left, stock))
        if not left:
            return Counter(start)
        steps = [(b, rest, *_apply(b, stock, plates_return)) for b, rest in _first(left)]
        # What neither costs nor takes anything from anybody else is done at once.
        free = [
            step
            for step in steps
            if not step[3] and step[0].routine in ("Pick", "Chop", "WashDirtyPlate", "PutOutFire")
        ]
        for _, rest, new, missing in free[:1] or steps:
            extra = sum(_PLATE_COST if "Plate" in _plates(item) else _FOOD_COST for item in missing)
            heapq.heappush(queue, (cost + extra, next(ties), rest, new, tuple(sorted(start + missing))))
    return _in_order(work, plates_return)


def _plates(item: int) -> frozenset[str]:
    return frozenset({"Plate"}) if item == t.DIRTY_PLATE else t.PARTS[item]


def _apply(
    behaviour: t.Behaviour, stock: tuple[int, ...], plates_return: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The stock after a behaviour, and what of its needs was missing before."""
    have, missing = Counter(stock), []
    used = consumed(behaviour)
    for item in used or (() if _from_supply(behaviour) else behaviour.items):
        if have[item]:
            have[item] -= 1
        else:
            missing.append(item)
    if not used and not _from_supply(behaviour):
        have.update(behaviour.items)  # taken up, not used up
    have.update(produced(behaviour, plates_return))
    return tuple(sorted(have.elements())), tuple(missing)


def _first(work: Work) -> Iterator[tuple[t.Behaviour, Work]]:
    """Each behaviour that may come next, with the work left after it. Equal branches are looked at once."""
    head, rest = work[0], work[1:]
    if isinstance(head, t.Behaviour):
        yield head, rest
        return
    for i, branch in enumerate(head):
        if i and head[i - 1] == branch:
            continue
        for behaviour, left in _first(branch):
            others = sorted([*head[:i], *head[i + 1 :], *([left] if left else [])], key=repr)
            if len(others) == 1:
                yield behaviour, (*others[0], *rest)
            else:
                yield behaviour, ((tuple(others), *rest) if others else rest)


def _in_order(work: Work, plates_return: bool) -> Counter[int]:
    """The start that the order of the text needs."""
    stock: tuple[int, ...] = ()
    start: list[int] = []
    while work:
        behaviour, work = next(_first(work))
        stock, missing = _apply(behaviour, stock, plates_return)
        start += missing
    return Counter(start)
