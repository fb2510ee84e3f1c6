"""The programs that teams are trained and tested on (`corpus.toml`)."""

import hashlib
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from mpe_ext.engine.params import nearest
from mpe_ext.overcooked_v2.program.parse import Parsed, parse
from mpe_ext.overcooked_v2.program.syntax import Seq, print_program

GROUPS = ("seen-easy", "seen-medium", "unseen-medium", "seen-hard", "unseen-hard")


class Entry(NamedTuple):
    """One program of the corpus."""

    name: str
    group: str  # one of GROUPS
    source: str  # where it comes from
    digest: str  # of its canonical text
    text: str


@cache
def corpus() -> dict[str, Entry]:
    """All programs by name, in the order of the file."""
    data = tomllib.loads(files(__package__).joinpath("corpus.toml").read_text("utf-8"))
    return {name: Entry(name, **fields) for name, fields in data.items()}


@cache
def load(name: str) -> Parsed:
    """A program of the corpus, parsed. Raises ValueError for a name that it does not have."""
    if name not in corpus():
        raise ValueError(f"program {name!r}{nearest(name, corpus())} (the corpus has {', '.join(corpus())})")
    return parse(corpus()[name].text)


def digest(program: Seq) -> str:
    """16 hexadecimal digits that name a program."""
    return hashlib.blake2b(print_program(program).encode(), digest_size=8).hexdigest()
