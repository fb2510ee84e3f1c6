"""The program language of Overcooked-v2: what a team must do, in which order, and what it may not do.

    from mpe_ext.overcooked_v2.program import parse, Executor

    program = parse(open("my.program").read()).program
    executor = Executor(program)

`python -m mpe_ext.overcooked_v2.program FILE` checks a program and prints it in canonical spelling.
"""

from mpe_ext.overcooked_v2.program.diagnostics import Diagnostic, ProgramError
from mpe_ext.overcooked_v2.program.executor import Event, Executor, Wanted
from mpe_ext.overcooked_v2.program.parse import Parsed, parse
from mpe_ext.overcooked_v2.program.syntax import print_program, renumbered, sequential

__all__ = [
    "Diagnostic", "Event", "Executor", "Parsed", "ProgramError", "Wanted", "parse", "print_program", "renumbered",
    "sequential",
]  # fmt: skip
