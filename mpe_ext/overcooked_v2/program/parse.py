"""Reading programs: text to tree, with all errors and warnings at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree
from lark.exceptions import UnexpectedToken

from mpe_ext.overcooked_v2.program import checks, names
from mpe_ext.overcooked_v2.program.diagnostics import Diagnostic, ProgramError
from mpe_ext.overcooked_v2.program.layout import LAYOUT, language, tokens
from mpe_ext.overcooked_v2.program.syntax import (
    Ask,
    Condition,
    Constant,
    Do,
    If,
    Not,
    Parallel,
    Repeat,
    Seq,
    Statement,
    While,
)
from mpe_ext.overcooked_v2.tables import ITEMS, QUERIES, QUERY_KINDS, Behaviour

DEFAULT_REPEATS = 3
MOST_REPEATS = 16
_MOST_SYNTAX_ERRORS = 20
_SPELLED = {
    "_SEP": "end of line",
    "_INDENT": "indented block",
    "_DEDENT": "end of block",
    "_LABEL_END": "end of block",
    "$END": "end of program",
    "LABEL": "label",
    "NAME": "name",
    "INT": "number",
    "STRING": "string",
}


@dataclass(frozen=True)
class Parsed:
    """A legal program and what is odd about it."""

    program: Seq
    warnings: tuple[Diagnostic, ...]
    source: str


def parse(
    source: str,
    *,
    lenient: bool = False,
    paper: bool = False,
    repeats: int = DEFAULT_REPEATS,
    n_plates: int | None = None,
) -> Parsed:
    """Read and check a program.

    Args:
        source: the text, in any of the dialects.
        lenient: labels that are duplicate or not consecutive are a warning, not an error.
        paper: warn of what the paper's language does not have (`elif`, `not`, `False`).
        repeats: copies that a `repeat` without a count makes (the paper: preset).
        n_plates: plates of the kitchen, to warn where the program needs more; None to leave that out.

    Raises:
        TypeError: `source` is not a string.
        ValueError: `repeats` is not in 1 .. 16.
        ProgramError: the program has errors; all of them are in its `diagnostics`.
    """
    if not isinstance(source, str):
        raise TypeError(f"source={source!r}: a program's text must be a string")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= MOST_REPEATS:
        raise ValueError(f"repeats={repeats!r}: must be an integer in 1 .. {MOST_REPEATS}")
    text = source.expandtabs(8)
    tree, diagnostics, whole = _read(text)
    if tree is not None:
        builder = _Builder(lenient, paper, repeats)
        program = builder.program(tree)
        diagnostics += builder.diagnostics
        if not any(not d.warning for d in diagnostics):
            diagnostics += checks.check(program, n_plates)
        elif whole:
            diagnostics += checks.structure(program)
    if any(not d.warning for d in diagnostics):
        raise ProgramError(diagnostics, source)
    return Parsed(program, tuple(sorted(set(diagnostics))), source)


# Syntax -----------------------------------------------------------------------------------------------------------


def _read(text: str) -> tuple[Tree | None, list[Diagnostic], bool]:
    """The syntax tree, with ERROR in place of lines that cannot be read (None if even that fails), and whether it has
    none of these."""
    found, diagnostics = tokens(text)
    blamed = {d.line for d in diagnostics}
    for _ in range(_MOST_SYNTAX_ERRORS):
        parser = language().parse_interactive()
        try:
            for token in found:
                tree = parser.feed_token(token)
            return tree, diagnostics, not diagnostics
        except UnexpectedToken as error:
            at = next(i for i, token in enumerate(found) if token is error.token)
            diagnostic = _syntax_error(found, at, parser.accepts())
            if diagnostic.line not in blamed:
                diagnostics.append(diagnostic)
            blamed.add(diagnostic.line)
            mended = _without_line(found, at)
            if mended is None:
                return None, diagnostics, False
            found = mended
    return None, diagnostics, False


def _syntax_error(found: list[Token], at: int, accepted: set[str]) -> Diagnostic:
    token = found[at]
    line, column = token.line or 1, token.column or 1
    if token.type in ("_ELSE", "_ELIF"):
        message = f"'{token}' without a preceding 'if' of the same indentation"
        return Diagnostic(line, column, "E12", message, length=len(token))
    what = repr(str(token))
    if token.type in LAYOUT:
        what = _SPELLED[token.type]
        before = next((t for t in reversed(found[:at]) if t.type not in LAYOUT), None)
        if token.type != "_INDENT" and before is not None:  # behind what is there, not at the next line
            line, column = before.end_line or line, before.end_column or column
    expected = sorted({_spelled(name) for name in accepted})
    return Diagnostic(line, column, "E01", f"unexpected {what}, expected {' or '.join(expected)}", length=len(token))


def _spelled(terminal: str) -> str:
    if terminal in _SPELLED:
        return _SPELLED[terminal]
    pattern = next((d.pattern.value for d in language().terminals if d.name == terminal), terminal)
    return repr(pattern.replace("\\", ""))


def _without_line(found: list[Token], at: int) -> list[Token] | None:
    """The tokens with the statement around token `at` replaced by ERROR; None if that would unbalance brackets, or the
    line is one already."""
    start = at
    while start > 0 and found[start - 1].type not in (*LAYOUT, "LABEL"):
        start -= 1
    end = at
    while end < len(found) and found[end].type not in LAYOUT:
        end += 1
    if found[at].type in LAYOUT and start == at:
        return None  # nothing to leave out
    gone = [token.type for token in found[start:end]]
    if any(token in gone for token in ("_LBRACE", "_RBRACE")) or "ERROR" in gone:
        return None
    instead = [Token.new_borrow_pos("ERROR", "", found[start])]
    if start and found[start - 1].type in ("_DEDENT", "_LABEL_END"):  # no `else` comes now that would go on with it
        instead.insert(0, Token.new_borrow_pos("_SEP", "", found[start]))
    return [*found[:start], *instead, *found[end:]]


# Trees ------------------------------------------------------------------------------------------------------------


class _Builder:
    """Makes the syntax tree of what lark returns; spells everything canonically and says so."""

    def __init__(self, lenient: bool, paper: bool, repeats: int):
        self.lenient, self.paper, self.repeats = lenient, paper, repeats
        self.diagnostics: list[Diagnostic] = []
        self.dos = self.asks = 0

    def program(self, tree: Tree) -> Seq:
        parts = [child for child in tree.children if isinstance(child, Tree)]
        return self.block(parts[-1])

    def report(self, where: Any, code: str, message: str) -> None:
        line, column, length = _place(where)
        warning = code.startswith("W") or (code == "E10" and self.lenient)
        self.diagnostics.append(Diagnostic(line, column, code, message, warning, length))

    # Statements

    def block(self, tree: Tree) -> Seq:
        """Of `body`, `block`, `tuple_` or `suite`."""
        if tree.data in ("suite", "block"):
            inner = tree.children[0]
            return self.sequence([inner], inner) if inner.data == "call" else self.block(inner)
        return self.sequence(tree.children, tree)

    def sequence(self, children: list[Any], where: Tree) -> Seq:
        return Seq(tuple(s for child in children if (s := self.statement(child)) is not None), at=_at(where))

    def filled(self, tree: Tree, owner: Tree, what: str) -> Seq:
        """A block that must not be empty (an unreadable line counts as something)."""
        inner = tree
        while inner.data in ("suite", "block") and inner.children[0].data != "call":
            inner = inner.children[0]
        if not inner.children:
            self.report(owner, "E07", f"{what} is empty: it needs at least one statement")
        return self.block(tree)

    def statement(self, tree: Tree) -> Statement | None:
        make: dict[str, Callable[[Tree], Statement | None]] = {
            "call": self.call, "if_s": self.if_, "while_s": self.while_, "par_s": self.parallel,
            "repeat_suite": self.repeat, "repeat_call": self.repeat_call, "error": self.error,
        }  # fmt: skip
        return make[tree.data](tree)

    def error(self, tree: Tree) -> None:
        """An unreadable line: only what stands below it is looked at."""
        for child in tree.children:
            if isinstance(child, Tree):
                self.block(child)

    def if_(self, tree: Tree) -> If:
        condition, then, *rest = tree.children
        asked = self.condition(condition)
        body = self.filled(then, tree, "the block of 'if'")
        return If(asked, body, self.otherwise(rest), at=_at(tree))

    def otherwise(self, rest: list[Tree]) -> Seq | None:
        if not rest:
            return None
        first = rest[0]
        if first.data == "else_s":
            return self.filled(first.children[0], first, "the block of 'else'")
        if self.paper:
            self.report(first, "W10", "'elif' is not in the paper's language")
        condition, then = first.children
        asked = self.condition(condition)
        body = self.filled(then, first, "the block of 'elif'")
        return Seq((If(asked, body, self.otherwise(rest[1:]), at=_at(first)),), at=_at(first))

    def while_(self, tree: Tree) -> While:
        condition, body = tree.children
        asked = self.condition(condition)
        return While(asked, self.filled(body, tree, "the block of 'while'"), at=_at(tree))

    def parallel(self, tree: Tree) -> Parallel:
        if tree.children and tree.children[0].data == "branches":  # without labels each statement is a branch
            inner = tree.children[0].children
            if inner and inner[0].data == "body":
                inner = inner[0].children
            opened = [Seq(block.statements, at=_at(c)) for c in inner if (block := self.sequence([c], c)).statements]
        else:
            inner = tree.children
            self.labels([c.children[0] for c in inner if isinstance(c.children[0], Token)])
            opened = [self.filled(c.children[-1], c, "a block of 'parallel'") for c in inner]
        if not inner:
            self.report(tree, "E07", "'parallel' is empty: it needs at least one block")
        return Parallel(tuple(opened), at=_at(tree))

    def labels(self, found: list[Token]) -> None:
        for expected, label in enumerate(found, start=int(found[0][:-1]) if found else 1):
            if int(label[:-1]) != expected:
                self.report(label, "E10", f"label {label[:-1].strip()} where {expected} comes next")
                return

    def repeat(self, tree: Tree) -> Repeat:
        *count, suite = tree.children
        if count:
            times = self.times(count[0])
        else:
            times = self.repeats
            self.report(tree, "W02", f"'repeat' without a count: {times} copies")
        return Repeat(self.filled(suite, tree, "the block of 'repeat'"), times, at=_at(tree))

    def repeat_call(self, tree: Tree) -> Repeat:
        inner, count = tree.children
        return Repeat(self.sequence([inner], inner), self.times(count), at=_at(tree))

    def times(self, token: Any) -> int:
        if 1 <= int(token) <= MOST_REPEATS:
            return int(token)
        self.report(token, "E08", f"repeat count {token}: must be in 1 .. {MOST_REPEATS}")
        return 1

    # Calls

    def call(self, tree: Tree) -> Do | None:
        read = self.routine(tree)
        if read is None:
            return None
        name, items = read
        if name in QUERY_KINDS or name == names.TAUTOLOGY:
            self.report(tree, "E06", f"{name} is a condition, not a behaviour: it stands behind 'if' or 'while'")
            return None
        behaviour = None if items is None else self.legal(tree, name, items)
        if behaviour is None:
            return None
        self.dos += 1
        return Do(behaviour, self.dos - 1, at=_at(tree))

    def condition(self, tree: Tree) -> Condition:
        if tree.data in ("true", "false"):
            if tree.data == "false" and self.paper:
                self.report(tree, "W10", "'False' is not in the paper's language")
            return Constant(tree.data == "true", at=_at(tree))
        if tree.data == "not_":
            if self.paper:
                self.report(tree, "W10", "'not' is not in the paper's language")
            return Not(self.condition(tree.children[-1]), at=_at(tree))
        nothing = Ask(QUERIES[0], -1, at=_at(tree))  # in place of what is wrong
        read = self.routine(tree)
        if read is None:
            return nothing
        name, items = read
        if name == names.TAUTOLOGY:
            return Constant(True, at=_at(tree))
        if name not in QUERY_KINDS:
            self.report(tree, "E06", f"{name} is a behaviour, not a condition (conditions: {', '.join(QUERY_KINDS)})")
            return nothing
        query = None if items is None else self.legal(tree, name, items)
        if query is None:
            return nothing
        self.asks += 1
        return Ask(query, self.asks - 1, at=_at(tree))

    def routine(self, tree: Tree) -> tuple[str, tuple[int, ...] | None] | None:
        """The canonical name and the items of a call; None for an unknown name, no items where one is wrong."""
        token, *arguments = tree.children
        name = names.routine(str(token))
        if name is None:
            self.report(token, "E03", f"unknown routine '{token}' ({names.suggestion(str(token))})")
            return None
        if name == names.TAUTOLOGY:
            self.report(token, "W01", "'Tautology()' is written 'True'")
        elif name != token:
            self.report(token, "W01", f"'{token}' is written '{name}'")
        if len(arguments) != names.ARGUMENTS[name]:
            wanted = names.ARGUMENTS[name]
            many = f"{wanted} argument{'s' * (wanted != 1)}" if wanted else "no arguments"
            self.report(tree, "E04", f"{name} takes {many}, got {len(arguments)}")
            return name, None
        return name, self.items(name, arguments)

    def items(self, name: str, arguments: list[Tree]) -> tuple[int, ...] | None:
        found = []
        for argument in arguments:
            text = "+".join(str(token).strip("\"'") for token in argument.children)
            code = names.item(name, text)
            if not code:
                self.wrong_item(argument, name, text)
                return None
            if ITEMS[code] != text:
                self.report(argument, "W01", f"'{text}' is written '{ITEMS[code]}' here")
            found.append(code)
        return tuple(found)

    def legal(self, tree: Tree, name: str, items: tuple[int, ...]) -> Behaviour | None:
        behaviour = names.behaviour(name, items)
        if behaviour is None:
            self.wrong_item(tree.children[1] if len(items) == 1 else tree, name, ", ".join(ITEMS[i] for i in items))
        return behaviour

    def wrong_item(self, where: Any, name: str, text: str) -> None:
        self.report(where, "E05", f"{text} is not a legal argument of {name} (allowed: {names.allowed(name)})")


def _at(tree: Any) -> tuple[int, int]:
    line, column, _ = _place(tree)
    return line, column


def _place(where: Any) -> tuple[int, int, int]:
    """Line, column and length, the latter within the line."""
    meta = where.meta if isinstance(where, Tree) else where
    line, column = getattr(meta, "line", 1), getattr(meta, "column", 1)
    one_line = getattr(meta, "end_line", line) == line
    return line, column, max(1, getattr(meta, "end_column", column + 1) - column if one_line else 1)
