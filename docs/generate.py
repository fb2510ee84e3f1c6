"""Fills the marked regions of README.md and docs/*.md from their single sources.

    python docs/generate.py           # rewrites the pages that are out of date
    python docs/generate.py --check   # writes nothing; exit code 1 if a page is out of date

A region stands between `<!-- generated: NAME -->` and `<!-- end -->`; what is between them is replaced. `REGIONS` at
the end lists the names and where their text comes from.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gymnasium.spaces import flatdim

ROOT = Path(__file__).resolve().parent.parent
# The pages describe this source tree, whatever else is installed.
sys.path.insert(0, str(ROOT))

from maddpg.algorithms import ALGORITHMS  # noqa: E402
from mpe_ext.engine import params  # noqa: E402
from mpe_ext.simple_tag_while_c import game as tag  # noqa: E402

LEARNING = Path("benchmarks/results/learning.json")
VARIANTS = Path("benchmarks/results/variants.json")
REGION = re.compile(r"<!-- generated: (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)


class PageError(Exception):
    """A page whose regions cannot be filled."""


def tag_parameters(page: Path, root: Path) -> str:
    """All parameters of the tag game."""
    return params.table(tag.Parameters, tag.PRESETS)


def tag_observations(page: Path, root: Path) -> str:
    """Sizes of the default team's observations, for every preset and `env_quality`."""
    roles = ("adversary", "controller", "collector")
    rows = []
    for preset in tag.PRESETS:
        for quality in tag.QUALITIES:
            game = tag.SimpleTagWhileC.make(preset=preset, env_quality=quality)
            sizes = {agent.split("_")[0]: flatdim(space) for agent, space in game.observation_spaces.items()}
            rows.append([f"`{preset}`", f"`{quality}`", *(sizes[role] for role in roles), flatdim(game.state_space)])
    return table(["preset", "`env_quality`", *roles, "`state()`"], rows)


def options(algorithm: str, page: Path, root: Path) -> str:
    """All options of `main.py ALGORITHM`, with the meanings that --help gives them."""
    config = ALGORITHMS[algorithm].config
    meanings, hints = field_docs(config), get_type_hints(config)
    presets = {name: values for name, values in config.presets.items() if name != "default"}
    rows = []
    for field in dataclasses.fields(config):
        option = "--" + field.name.replace("_", "-")
        if get_origin(hints[field.name]) is Literal:
            option += f" {{{','.join(get_args(hints[field.name]))}}}"
        others = [values.get(field.name, field.default) for values in presets.values()]
        shown = ["" if other == field.default else option_value(other) for other in others]
        rows.append([f"`{option}`", option_value(field.default), *shown, escaped(meanings[field.name])])
    return table(["option", "default", *(f"`{name}`" for name in presets), "meaning"], rows)


def learning(page: Path, root: Path) -> str | None:
    """What MADDPG learns on the tag game, as benchmarks/learning.py measured it; None before it has."""
    if not (root / LEARNING).exists():
        return None
    columns = {
        "adversary_return": ("adversary", 1),
        "controller": ("controller", 1),
        "collector": ("collector", 1),
        "team_return": ("team", 1),
        "food": ("food", 2),
        "hits": ("hits", 2),
        "lost": ("lost", 2),
    }
    rows = []
    for row in json.loads((root / LEARNING).read_text(encoding="utf-8"))["rows"]:
        over = f"{row['seeds']} seeds" if row["seeds"] else f"{row['episodes']:,} episodes"
        values = [f"{row[key][0]:.{digits}f} ± {row[key][1]:.{digits}f}" for key, (_, digits) in columns.items()]
        rows.append([row["adversary"], row["team"], *values, over])
    path = os.path.relpath(root / LEARNING, page.parent).replace(os.sep, "/")
    note = f"Means with the half width of their 95 % interval over what the last column says. [All numbers]({path})."
    headings = ["who is the adversary", "who is the team", *(heading for heading, _ in columns.values()), "over"]
    return table(headings, rows) + "\n\n" + note


def variants(page: Path, root: Path) -> str | None:
    """What single settings do, as benchmarks/variants.py measured it; None before it has."""
    if not (root / VARIANTS).exists():
        return None
    rows = json.loads((root / VARIANTS).read_text(encoding="utf-8"))["rows"]
    columns = [name for name in rows[0] if name not in ("options", "seed")]
    cells = [
        [f"`{r['options']}`" if r["options"] else "default", r["seed"], *(f"{r[c]:.1f}" for c in columns)] for r in rows
    ]
    return table(["options", "seed", *columns], cells)


def field_docs(cls: type) -> dict[str, str]:
    """The string under each field of a dataclass, which tyro makes the help text of."""
    found: dict[str, str] = {}
    for part in reversed([c for c in cls.__mro__ if dataclasses.is_dataclass(c)]):
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in pairwise(body.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                assert isinstance(field.target, ast.Name)
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def option_value(value: Any) -> str:
    """A default as one would type it; nothing for what is not set."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value is None else f"`{value}`"


def escaped(text: str) -> str:
    """Plain text, with backticks for code, as Markdown in a table cell."""
    parts = text.replace("|", "\\|").split("`")
    parts[::2] = [re.sub(r"([*\[])", r"\\\1", part.replace("<", "&lt;")) for part in parts[::2]]
    return "`".join(parts)


def table(headings: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(map(str, line))} |" for line in (headings, *rows)]
    lines.insert(1, "|---" * len(headings) + "|")
    return "\n".join(lines)


REGIONS: dict[str, Callable[[Path, Path], str | None]] = {
    "tag-parameters": tag_parameters,
    "tag-observations": tag_observations,
    "maddpg-options": partial(options, "maddpg"),
    "dqn-options": partial(options, "dqn"),
    "learning": learning,
    "learning-variants": variants,
}


def filled(page: Path, root: Path) -> str:
    """The text of a page with every region up to date. Raises PageError for unknown or unclosed regions."""
    text = page.read_text(encoding="utf-8")
    regions = list(REGION.finditer(text))
    if text.count("<!-- generated:") != len(regions):
        raise PageError(f"{page}: every <!-- generated: NAME --> needs an <!-- end --> of its own")
    for region in reversed(regions):
        if region[1] not in REGIONS:
            raise PageError(f"{page}: unknown region {region[1]!r}; known: {', '.join(REGIONS)}")
        if (body := REGIONS[region[1]](page, root)) is not None:
            text = text[: region.start(2)] + f"\n{body}\n\n" + text[region.end(2) :]
    return text


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Rewrites or checks the pages of the tree in `root`. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    stale = 0
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        try:
            text = filled(page, root)
        except PageError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        if text == page.read_text(encoding="utf-8"):
            continue
        stale += 1
        print(f"{page.relative_to(root)} {'is out of date: run python docs/generate.py' if check else 'written'}")
        if not check:
            page.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
