"""Static checks of a program that could be read: E09, E11, E13, E14 and the warnings W03 to W09."""

from collections import Counter
from collections.abc import Iterator

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program import resources
from mpe_ext.overcooked_v2.program.diagnostics import Diagnostic
from mpe_ext.overcooked_v2.program.syntax import (
    Ask,
    Do,
    If,
    Parallel,
    Seq,
    Statement,
    While,
    asked,
    blocks,
    branches,
    constant,
    never_ends,
    walk,
)

DEEPEST = 16  # statements within one another
MOST_POINTERS = 64  # at the same time


def check(program: Seq, n_plates: int | None = None) -> list[Diagnostic]:
    """Everything there is to say of a program without spelling errors."""
    found = structure(program)
    if not any(isinstance(s, Do) for s in walk(program)):
        found.append(_error(program, "E13", "the program has no behaviour: nothing to do"))
    elif never_ends(program):
        last = program.statements[-1]
        found.append(_error(last, "E14", "the program cannot end: its last statement goes on for ever"))
    if not found:
        found += [*_endless_polls(program), *_twins(program), *_guards(program), *_fires(program), *_orders(program)]
        found += _supplies(program, n_plates)
    return found


def structure(program: Seq) -> list[Diagnostic]:
    """E09 and E11, which need no behaviour to be right."""
    found = []
    for block in (program, *_inner(program)):
        for statement, after in zip(block.statements, block.statements[1:], strict=False):
            if never_ends(Seq((statement,))):
                found.append(
                    _error(after, "E09", f"never reached: the statement of line {statement.at[0]} does not end")
                )
    if (deep := depth(program)) > DEEPEST:
        found.append(_error(program, "E11", f"statements are nested {deep} deep; at most {DEEPEST} are allowed"))
    elif (count := pointers(program)) > MOST_POINTERS:
        found.append(_error(program, "E11", f"{count} branches run at a time; at most {MOST_POINTERS} are allowed"))
    return found


def depth(block: Seq) -> int:
    """How deep statements stand within one another; 1 for a plain sequence."""
    return 1 + max((depth(inner) for s in block.statements for inner in blocks(s)), default=0)


def pointers(block: Seq) -> int:
    """How many pointers a sequence has at most at the same time."""
    most = 1
    for s in block.statements:
        opened = branches(s)
        counts = [pointers(inner) for inner in (opened or blocks(s))]
        most = max(most, sum(counts) if opened else max(counts, default=1))
    return most


# Warnings ---------------------------------------------------------------------------------------------------------


def _endless_polls(program: Seq) -> Iterator[Diagnostic]:
    for s in walk(program):
        if isinstance(s, While) and constant(s.condition) is True:
            guarded = any(isinstance(i, If | While) and asked(i.condition) is not None for i in walk(s.body))
            if not guarded:
                yield _warning(s, "W03", "'while True' asks nothing: its behaviours are wanted for ever")


def _twins(program: Seq) -> Iterator[Diagnostic]:
    for s in walk(program):
        if not isinstance(s, Parallel):
            continue
        seen: set[t.Behaviour] = set()
        for branch in s.branches:
            mine = {d.behaviour: d for d in walk(branch) if isinstance(d, Do)}
            for behaviour in mine.keys() & seen:
                yield _warning(
                    mine[behaviour], "W06", f"{behaviour} stands in another branch too: an event counts for one"
                )
            seen |= mine.keys()


def _guards(program: Seq) -> Iterator[Diagnostic]:
    for s in walk(program):
        if not isinstance(s, If) or not isinstance(s.condition, Ask) or s.condition.query.routine != "is_ordered":
            continue
        served = {d.behaviour.items[0] for d in walk(s.then) if isinstance(d, Do) and d.behaviour.routine == "Serve"}
        (dish,) = s.condition.query.items
        if served and dish not in served:
            others = ", ".join(t.ITEMS[i] for i in sorted(served))
            yield _warning(s, "W07", f"asks whether {t.ITEMS[dish]} is ordered, but serves {others}")


def _fires(program: Seq) -> Iterator[Diagnostic]:
    guarded = {
        id(d)
        for s in walk(program)
        if isinstance(s, If | While) and (q := asked(s.condition)) is not None and q.query.routine == "IsOnFire"
        for inner in blocks(s)
        for d in walk(inner)
    }
    for s in walk(program):
        if isinstance(s, Do) and s.behaviour.routine == "PutOutFire" and id(s) not in guarded:
            yield _warning(s, "W08", "PutOutFire() without asking IsOnFire(): it waits until something burns")


def _orders(program: Seq) -> Iterator[Diagnostic]:
    repeated = {id(i) for s in walk(program) if isinstance(s, While) for i in walk(s.body)}
    for s in walk(program):
        if isinstance(s, If) and id(s) not in repeated:
            question = asked(s.condition)
            if question is not None and question.query.routine == "is_ordered":
                yield _warning(s, "W09", f"{question.query} is asked once, when the program gets there")


def _supplies(program: Seq, n_plates: int | None) -> Iterator[Diagnostic]:
    needs = resources.needs(program)
    first: dict[int, Do] = {}
    for s in walk(program):
        if isinstance(s, Do):
            for item in resources.consumed(s.behaviour):
                first.setdefault(item, s)
    for item, count in sorted(Counter(needs.loose).items()):
        if item in first:
            times = "" if count == 1 else f" {count} times"
            message = f"{t.ITEMS[item]} is used but not made{times}: a kitchen for this program has it from the start"
            yield _warning(first[item], "W04", message)
    if n_plates is not None and needs.plates > n_plates:
        yield _warning(program, "W05", f"the program needs {needs.plates} plates, the kitchen has {n_plates}")


def _inner(block: Seq) -> Iterator[Seq]:
    for s in walk(block):
        yield from blocks(s)


def _error(node: Statement | Seq, code: str, message: str) -> Diagnostic:
    return Diagnostic(max(1, node.at[0]), max(1, node.at[1]), code, message)


def _warning(node: Statement | Seq, code: str, message: str) -> Diagnostic:
    return Diagnostic(max(1, node.at[0]), max(1, node.at[1]), code, message, warning=True)
