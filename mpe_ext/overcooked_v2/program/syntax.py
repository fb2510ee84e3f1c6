"""Programs as trees, and as text in their one canonical spelling: `parse(print_program(tree)) == tree`."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mpe_ext.overcooked_v2.tables import Behaviour, Query

NOWHERE = (0, 0)  # of trees that were not read from a text
_INDENT = 4


@dataclass(frozen=True)
class _Node:
    at: tuple[int, int] = field(default=NOWHERE, compare=False, kw_only=True)  # line and column in the source, from 1


@dataclass(frozen=True)
class Do(_Node):
    """A behaviour primitive. Ids number the `Do` and, apart, the `Ask` nodes of a program in textual order."""

    behaviour: Behaviour
    id: int


@dataclass(frozen=True)
class Constant(_Node):
    """`True` or `False`."""

    value: bool


@dataclass(frozen=True)
class Ask(_Node):
    """A condition that perception answers."""

    query: Query
    id: int


@dataclass(frozen=True)
class Not(_Node):
    condition: "Condition"


@dataclass(frozen=True)
class Seq(_Node):
    statements: tuple["Statement", ...]


@dataclass(frozen=True)
class If(_Node):
    condition: "Condition"
    then: Seq
    orelse: Seq | None = None


@dataclass(frozen=True)
class While(_Node):
    condition: "Condition"
    body: Seq


@dataclass(frozen=True)
class Parallel(_Node):
    """Branches that run at the same time."""

    branches: tuple[Seq, ...]


@dataclass(frozen=True)
class Repeat(_Node):
    """`times` copies of the body that run at the same time (not one after the other)."""

    body: Seq
    times: int


Condition: TypeAlias = Constant | Ask | Not
Statement: TypeAlias = Do | If | While | Parallel | Repeat


def constant(condition: Condition) -> bool | None:
    """The value of a condition that nobody needs to be asked for, else None."""
    if isinstance(condition, Constant):
        return condition.value
    if isinstance(condition, Not):
        inner = constant(condition.condition)
        return None if inner is None else not inner
    return None


def asked(condition: Condition) -> Ask | None:
    """The query of a condition, if it has one."""
    while isinstance(condition, Not):
        condition = condition.condition
    return condition if isinstance(condition, Ask) else None


def branches(statement: Statement) -> tuple[Seq, ...]:
    """The branches that a `Parallel` or `Repeat` opens, none for other statements."""
    if isinstance(statement, Repeat):
        return (statement.body,) * statement.times
    return statement.branches if isinstance(statement, Parallel) else ()


def blocks(statement: Statement) -> tuple[Seq, ...]:
    """The sequences that a statement is made of, each once, in textual order."""
    if isinstance(statement, If):
        return (statement.then,) if statement.orelse is None else (statement.then, statement.orelse)
    if isinstance(statement, While | Repeat):
        return (statement.body,)
    return statement.branches if isinstance(statement, Parallel) else ()


def walk(block: Seq) -> Iterator[Statement]:
    """All statements below, in textual order."""
    for statement in block.statements:
        yield statement
        for inner in blocks(statement):
            yield from walk(inner)


def never_ends(block: Seq) -> bool:
    """Whether a sequence is a daemon: its last statement is `while True`, or splits into daemons only."""
    if not block.statements:
        return False
    last = block.statements[-1]
    if isinstance(last, While):
        return constant(last.condition) is True
    opened = branches(last)
    return bool(opened) and all(never_ends(branch) for branch in opened)


def sequential(block: Seq) -> Seq:
    """The program with the branches of every `Parallel` and the copies of every `Repeat` one after the other, in
    label order. Daemons stay daemons, beside what they stood beside."""
    statements: list[Statement] = []
    for statement in block.statements:
        opened = tuple(sequential(branch) for branch in branches(statement))
        if not opened:
            statements.append(_sequential_inside(statement))
            continue
        daemons = tuple(b for b in opened if never_ends(b))
        others = tuple(s for b in opened if not never_ends(b) for s in b.statements)
        if daemons:
            queue = (Seq(others, at=statement.at),) if others else ()
            statements.append(Parallel((*queue, *daemons), at=statement.at))
        else:
            statements.extend(others)
    return replace(block, statements=tuple(statements))


def _sequential_inside(statement: Statement) -> Statement:
    if isinstance(statement, If):
        orelse = None if statement.orelse is None else sequential(statement.orelse)
        return replace(statement, then=sequential(statement.then), orelse=orelse)
    return replace(statement, body=sequential(statement.body)) if isinstance(statement, While) else statement


def renumbered(block: Seq) -> Seq:
    """The same program with ids in textual order: after a transformation copies share theirs."""
    counts = {"do": 0, "ask": 0}

    def condition(c: Condition) -> Condition:
        if isinstance(c, Not):
            return replace(c, condition=condition(c.condition))
        if isinstance(c, Ask):
            counts["ask"] += 1
            return replace(c, id=counts["ask"] - 1)
        return c

    def seq(s: Seq) -> Seq:
        return replace(s, statements=tuple(statement(x) for x in s.statements))

    def statement(s: Statement) -> Statement:
        if isinstance(s, Do):
            counts["do"] += 1
            return replace(s, id=counts["do"] - 1)
        if isinstance(s, If):
            asked_first = condition(s.condition)
            then = seq(s.then)
            return replace(s, condition=asked_first, then=then, orelse=None if s.orelse is None else seq(s.orelse))
        if isinstance(s, While):
            asked_first = condition(s.condition)
            return replace(s, condition=asked_first, body=seq(s.body))
        if isinstance(s, Parallel):
            return replace(s, branches=tuple(seq(b) for b in s.branches))
        return replace(s, body=seq(s.body))

    return seq(block)


def print_program(block: Seq, indent: int = 0) -> str:
    """The canonical text, one statement a line, ending with a newline; what `#` says is not kept."""
    return "".join(f"{line}\n" for line, _ in lines(block, indent))


def lines(block: Seq, indent: int = 0) -> Iterator[tuple[str, int | None]]:
    """The lines of the canonical text, each with the id of the `Do` that stands on it."""
    pad = " " * indent
    for s in block.statements:
        if isinstance(s, Do):
            yield f"{pad}{s.behaviour}", s.id
        elif isinstance(s, If):
            yield f"{pad}if {print_condition(s.condition)}:", None
            yield from lines(s.then, indent + _INDENT)
            if s.orelse is not None:
                yield f"{pad}else:", None
                yield from lines(s.orelse, indent + _INDENT)
        elif isinstance(s, While):
            yield f"{pad}while {print_condition(s.condition)}:", None
            yield from lines(s.body, indent + _INDENT)
        elif isinstance(s, Repeat):
            yield f"{pad}repeat({s.times}):", None
            yield from lines(s.body, indent + _INDENT)
        else:
            yield f"{pad}parallel:", None
            for number, branch in enumerate(s.branches, start=1):
                yield f"{pad}{' ' * _INDENT}{number}:", None
                yield from lines(branch, indent + 2 * _INDENT)


def print_condition(condition: Condition) -> str:
    """A condition in canonical spelling."""
    if isinstance(condition, Not):
        return f"not {print_condition(condition.condition)}"
    return str(condition.query) if isinstance(condition, Ask) else str(condition.value)
