"""Check a program and print it in canonical spelling.

python -m mpe_ext.overcooked_v2.program FILE        a file's name, - for standard input, or a corpus program's name
"""

import argparse
import sys
from pathlib import Path

from mpe_ext.overcooked_v2.program.corpus import corpus
from mpe_ext.overcooked_v2.program.diagnostics import ProgramError
from mpe_ext.overcooked_v2.program.parse import DEFAULT_REPEATS, MOST_REPEATS, parse
from mpe_ext.overcooked_v2.program.syntax import print_program, renumbered, sequential


def main(arguments: list[str] | None = None) -> int:
    """Program to standard output, diagnostics to standard error; 1 if there are errors, 2 if there is no program."""
    parser = argparse.ArgumentParser(
        prog="python -m mpe_ext.overcooked_v2.program",
        description="Check a program and print it in canonical spelling; errors and warnings go to standard error.",
    )
    parser.add_argument("file", help="a file, - for standard input, or a program of the corpus (such as H2)")
    parser.add_argument("--lenient", action="store_true", help="labels out of order are a warning, not an error")
    parser.add_argument("--paper", action="store_true", help="warn of what the paper's language does not have")
    parser.add_argument("--repeats", type=int, default=DEFAULT_REPEATS, choices=range(1, MOST_REPEATS + 1), metavar="N",
                        help="copies that `repeat` without a count makes (default: %(default)s)")  # fmt: skip
    parser.add_argument("--n-plates", type=int, metavar="N", help="warn if the program needs more plates than these")
    parser.add_argument("--sequential", action="store_true", help="print it with its branches one after the other")
    options = parser.parse_args(arguments)
    try:
        source = _read(options.file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        print(f"{options.file}: {reason} (and no program of the corpus has that name)", file=sys.stderr)
        return 2
    try:
        parsed = parse(
            source, lenient=options.lenient, paper=options.paper, repeats=options.repeats, n_plates=options.n_plates
        )
    except ProgramError as error:
        for diagnostic in error.diagnostics:
            print(diagnostic.excerpt(source), file=sys.stderr)
        return 1
    for diagnostic in parsed.warnings:
        print(diagnostic.excerpt(source), file=sys.stderr)
    program = renumbered(sequential(parsed.program)) if options.sequential else parsed.program
    print(print_program(program), end="")
    return 0


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    if not Path(name).exists() and name in corpus():
        return corpus()[name].text
    return Path(name).read_text("utf-8")


if __name__ == "__main__":
    sys.exit(main())
