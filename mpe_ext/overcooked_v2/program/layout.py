"""From a program's text to the tokens of grammar.lark: lines and indentation become _SEP, _INDENT, _DEDENT, _LABEL_END.

Indentation works as in Python, with one freedom: a label (`1:` or `1.`) opens a block that goes on until the next label
of the same column or a line left of the label, whatever the columns of its lines. Inside braces lines end statements
and columns do not matter; inside parentheses and brackets neither do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lark import Lark, Token

from mpe_ext.overcooked_v2.program.diagnostics import Diagnostic

_HEADERS = ("_IF", "_ELIF", "_ELSE", "_WHILE", "_PARALLEL", "_REPEAT", "_DEF")
_OPENING = {"_LPAR": "_RPAR", "_LSQB": "_RSQB", "_LBRACE": "_RBRACE"}
_CLOSING = tuple(_OPENING.values())
_NO_SEP_BEFORE = ("_ELSE", "_ELIF", "LABEL", "_COMMA", *_CLOSING, "_DEDENT", "_LABEL_END", "$END")
_NO_SEP_AFTER = ("_LBRACE", "_COMMA", "_COLON", "LABEL", "_INDENT", "_SEP")
LAYOUT = ("_SEP", "_INDENT", "_DEDENT", "_LABEL_END", "$END")  # tokens without a text of their own


class _Lexed:
    """Keeps the terminals that only the layout knows."""

    always_accept = ("NEWLINE", "SEMICOLON", "JUNK")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


@cache
def language() -> Lark:
    """The compiled grammar."""
    grammar = files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", postlex=_Lexed(), propagate_positions=True)


@dataclass
class _Open:
    """A suite or a labelled block that goes on below."""

    column: int
    label: bool


def tokens(source: str) -> tuple[list[Token], list[Diagnostic]]:
    """The tokens of a text whose tabs have been expanded, and what is wrong with its indentation (E02)."""
    layout = _Layout()
    logical: list[Token] = []  # tokens of the current line at depth 0
    for token in language().lex(source):
        if token.type == "NEWLINE" and not layout.brackets:
            layout.line(logical)
            logical = []
        elif token.type in ("NEWLINE", "SEMICOLON"):
            if not layout.brackets or layout.brackets[-1] == "_RBRACE":
                logical.append(Token.new_borrow_pos("_SEP", "", token))
            elif token.type == "SEMICOLON":
                logical.append(token)
        else:
            if token.type in _OPENING:
                layout.brackets.append(_OPENING[token.type])
            elif layout.brackets and token.type == layout.brackets[-1]:
                layout.brackets.pop()
            logical.append(token)
    layout.line(logical)
    layout.end(source)
    return _without_needless(layout.out), layout.diagnostics


class _Layout:
    def __init__(self) -> None:
        self.out: list[Token] = []
        self.diagnostics: list[Diagnostic] = []
        self.brackets: list[str] = []
        self.open = [_Open(1, False)]
        self.suite_wanted = False  # the line above ended in a colon
        self.suite_allowed = False  # the line above was a header

    def line(self, line: list[Token]) -> None:
        """One logical line."""
        if not line or all(token.type == "_SEP" for token in line):
            return
        first, column = line[0], line[0].column or 1
        if not self.out:
            self.open[0].column = column  # a program may be indented as a whole
        elif self.suite_allowed and column > self.open[-1].column:
            self._put("_INDENT", first)
            self.open.append(_Open(column, False))
        else:
            self._empty_suite(first)
            self._back_to(first, column)
            self._put("_SEP", first)
        body = line
        if first.type == "LABEL":
            self.open.append(_Open(column, True))
            body = line[1:]
        self.out.extend(line)
        self.suite_allowed = bool(body) and (body[-1].type == "_COLON" or body[0].type in _HEADERS)
        # Behind `def` the program may also go on in the same column.
        self.suite_wanted = bool(body) and body[-1].type == "_COLON" and body[0].type != "_DEF"

    def end(self, source: str) -> None:
        texts = source.splitlines() or [""]
        last = Token("$END", "", line=len(texts), column=len(texts[-1]) + 1)
        self._empty_suite(last)
        while len(self.open) > 1:
            self._close(last)
        self.out.append(last)

    def _back_to(self, first: Token, column: int) -> None:
        """Close what ends before a line that begins in this column."""
        is_label = first.type == "LABEL"
        while len(self.open) > 1:
            top = self.open[-1]
            if column > top.column or (column == top.column and not (top.label and is_label)):
                break
            self._close(first)
        top = self.open[-1]
        inside = column >= top.column if top.label and not is_label else column == top.column
        if not inside:
            known = ", ".join(str(o.column) for o in self.open)
            message = f"inconsistent indentation: column {column} here, blocks that are open begin in column {known}"
            self.diagnostics.append(Diagnostic(first.line or 1, column, "E02", message, length=len(first)))

    def _empty_suite(self, at: Token) -> None:
        if self.suite_wanted:
            self._put("_INDENT", at)
            self._put("_DEDENT", at)
        self.suite_wanted = self.suite_allowed = False

    def _close(self, at: Token) -> None:
        self._put("_LABEL_END" if self.open.pop().label else "_DEDENT", at)

    def _put(self, kind: str, at: Token) -> None:
        self.out.append(Token(kind, "", line=at.line, column=at.column, end_line=at.line, end_column=at.column))


def _without_needless(found: list[Token]) -> list[Token]:
    """Separators only where a statement may end and another begin; at the end of blocks behind these."""
    kept: list[Token] = []
    for i, token in enumerate(found):
        if token.type == "_SEP":
            ahead = next(t.type for t in found[i + 1 :] if t.type != "_SEP")
            behind = kept[-1].type if kept else "_SEP"
            if ahead in (*_NO_SEP_BEFORE, "_DEDENT", "_LABEL_END", "$END") or behind in (
                "_SEP",
                "_INDENT",
                *_NO_SEP_AFTER,
            ):
                continue
        kept.append(token)
    return kept
