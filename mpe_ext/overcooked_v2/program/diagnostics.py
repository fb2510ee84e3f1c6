"""What is wrong, or odd, in a program's text."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One error or warning at a place in the text; sorts by place."""

    line: int  # from 1
    column: int  # from 1
    code: str  # E01 .. E14, W01 .. W10
    message: str
    warning: bool = False
    length: int = 1  # characters that the carets underline

    def __str__(self) -> str:
        kind = "warning" if self.warning else "error"
        return f"{self.line}:{self.column}: {kind} {self.code}: {self.message}"

    def excerpt(self, source: str) -> str:
        """The message with the line of the source and carets below."""
        texts = source.splitlines()
        text = (texts[self.line - 1] if 0 < self.line <= len(texts) else "").expandtabs(8)
        return f"{self}\n    {text}\n    {' ' * (self.column - 1)}{'^' * max(1, self.length)}"


class ProgramError(ValueError):
    """A program with errors. `diagnostics` has all of them, warnings included, in the order of the text."""

    limit: ClassVar[int] = 10  # errors that the message shows

    def __init__(self, diagnostics: list[Diagnostic], source: str):
        self.diagnostics = sorted(diagnostics)
        self.source = source
        errors = [d for d in self.diagnostics if not d.warning]
        shown = "\n".join(d.excerpt(source) for d in errors[: self.limit])
        more = f"\n... and {len(errors) - self.limit} more" if len(errors) > self.limit else ""
        super().__init__(f"the program has {len(errors)} error{'s' * (len(errors) != 1)}\n{shown}{more}")
        self._made_of = (diagnostics, source)

    def __reduce__(self) -> tuple:
        return type(self), self._made_of
