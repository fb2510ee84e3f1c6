"""The text of every generated region of the pages, from its single source: parameters, options, measured results."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gymnasium.spaces import flatdim

from maddpg.algorithms import ALGORITHMS
from mpe_ext.chefworld import game as chefworld
from mpe_ext.engine import params
from mpe_ext.meeting_scheduling import game as meeting
from mpe_ext.overcooked_v2 import game as overcooked
from mpe_ext.overcooked_v2 import tables as kitchen
from mpe_ext.overcooked_v2.program.corpus import GROUPS, corpus
from mpe_ext.simple_tag_while_c import game as tag

RESULTS = Path("benchmarks/results")
LEARNING = RESULTS / "learning.json"
VARIANTS = RESULTS / "variants.json"
LADDERS = RESULTS / "ladders.json"
TURNS_SPEED = RESULTS / "turns_speed.json"
TURNS_LEARNING = RESULTS / "turns_learning.json"
DQN_TAG = RESULTS / "dqn_tag.json"


def parameters(room: Any, page: Path, root: Path) -> str:
    """All parameters of a game."""
    return params.table(room.Parameters, room.PRESETS)


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


def overcooked_planes(page: Path, root: Path) -> str:
    """The planes of the map."""
    planes = [*kitchen.PLANES, kitchen.BIN_PLANE]
    columns = [(k, plane.name) for k, plane in enumerate(planes)]
    return table(["plane", "1 at", "plane", "1 at", "plane", "1 at"], _in_columns(columns, 3))


def overcooked_events(page: Path, root: Path) -> str:
    """The codes of events."""
    rows = [(code, f"`{name}`") for code, name in enumerate(kitchen.EVENT_NAMES) if code]
    return table(["code", "event", "code", "event"], _in_columns(rows, 2))


def _in_columns(cells: list[tuple], columns: int) -> list[list]:
    height = -(-len(cells) // columns)
    padded = cells + [("", "")] * (height * columns - len(cells))
    return [[cell for c in range(columns) for cell in padded[c * height + r]] for r in range(height)]


def overcooked_corpus(page: Path, root: Path) -> str:
    """The programs of the corpus by group."""
    names = {group: [f"`{e.name}`" for e in corpus().values() if e.group == group] for group in GROUPS}
    return table(["group", "programs"], [[group, ", ".join(names[group])] for group in GROUPS])


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
    if (data := read(root, LEARNING)) is None:
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
    for row in data["rows"]:
        over = f"{row['seeds']} seeds" if row["seeds"] else f"{row['episodes']:,} episodes"
        values = [f"{row[key][0]:.{digits}f} ± {row[key][1]:.{digits}f}" for key, (_, digits) in columns.items()]
        rows.append([row["adversary"], row["team"], *values, over])
    note = "Means with the half width of their 95 % interval over what the last column says. "
    note += source(LEARNING, page, root)
    headings = ["who is the adversary", "who is the team", *(heading for heading, _ in columns.values()), "over"]
    return table(headings, rows) + "\n\n" + note


def variants(page: Path, root: Path) -> str | None:
    """What single settings do, as benchmarks/variants.py measured it; None before it has."""
    if (data := read(root, VARIANTS)) is None:
        return None
    rows = data["rows"]
    columns = [name for name in rows[0] if name not in ("options", "seed")]
    cells = [
        [f"`{r['options']}`" if r["options"] else "default", r["seed"], *(f"{r[c]:.1f}" for c in columns)] for r in rows
    ]
    return table(["options", "seed", *columns], cells)


def chefworld_ladder(page: Path, root: Path) -> str | None:
    """What pairings of ChefWorld's scripted policies earn."""
    if (data := read(root, LADDERS)) is None:
        return None
    rows = []
    for k, row in enumerate(data["chefworld"]["all"]):
        others = [data["chefworld"][case][k]["success"] for case in ("test", "hard")]
        cells = [row["success"], *others, row["unique first"], row["messages"]]
        rows.append([f"`{row['policy']}`", *(f"{mean:.{3 if i < 4 else 2}f} ± {half:.{3 if i < 4 else 2}f}"
                     for i, (mean, half) in enumerate(cells))])  # fmt: skip
    headings = ["chef : assistant", "success", "of test dishes", "preset `hard`", "unique first", "messages"]
    seconds = max(data["seconds"][f"chefworld {case}"] for case in data["chefworld"])
    note = f"{data['games']:,} games each, with 95 % intervals; a column takes at most {seconds:.0f} s."
    return table(headings, rows) + f"\n\n{note} {source(LADDERS, page, root)}"


def meeting_ladder(page: Path, root: Path) -> str | None:
    """What the scripted policies of meeting scheduling earn with themselves."""
    if (data := read(root, LADDERS)) is None:
        return None
    blind = {row["policy"]: row["success"] for row in data["meeting"]["256"]}
    test = {row["policy"]: row for row in data["meeting"]["test"]}
    rows = []
    for row in data["meeting"]["255"]:
        name = row["policy"]
        other = f"{blind[name]:.6f}" if name in blind else ""
        rows.append([f"`{name}`", f"{row['success']:.6f}", f"{row['returns']:.3f}", f"{row['informs']:.2f}",
                     f"{test[name]['success']:.3f}", f"{test[name]['returns']:.3f}", other])  # fmt: skip
    headings = ["both play", "success", "return", "informs", "success, test tables", "return, test tables",
                "success, 256 tables"]  # fmt: skip
    seconds = max(data["seconds"][f"meeting {case}"] for case in data["meeting"])
    note = f"Exact, over all ordered pairs of tables; a column takes at most {seconds:.0f} s."
    return table(headings, rows) + f"\n\n{note} {source(LADDERS, page, root)}"


def turns_speed(page: Path, root: Path) -> str | None:
    """How fast the turn-based games are."""
    if (data := read(root, TURNS_SPEED)) is None:
        return None
    rows = []
    for name, world in data["one_world"].items():
        batch = data["vector"].get(name)
        cells = ["", "", ""]
        if batch is not None:
            cells = [
                f"{one['rate'] / 1e6:.2f} M ({min(one['rounds']) / 1e6:.2f} to {max(one['rounds']) / 1e6:.2f}) "
                f"at {one['num_envs']:,}"
                for one in (batch["views"], batch["copies"])
            ]
            cells.append(f"{batch['goal'] / 1e6:.0f} M")
        for kind in ("last and step", "with resets"):
            cells.append(f"{world[kind]['rate']:,.0f} ({world[kind]['ratio']:.1f} x)")
        rows.append([f"`{name}`", *cells])
    headings = ["game", "batch, `copy=False`: moves/s at worlds", "with copies", "asked for",
                "AEC: `last` and `step` alone, moves/s", "AEC: random games with resets, moves/s"]  # fmt: skip
    note = (
        f"{data['cores']} cores; of batches the median and the range of rounds, of one world in brackets the ratio to "
        "PettingZoo's own `tictactoe_v3`, asked for: 10 x. DQN plays "
        f"and learns from 1,000,000 moves of ChefWorld in {data['training_seconds']:.0f} s (asked: under 180)."
    )
    return table(headings, rows) + f"\n\n{note} {source(TURNS_SPEED, page, root)}"


def turns_learning(game: str, page: Path, root: Path) -> str | None:
    """What DQN learns on a turn-based game, held-out."""
    if (data := read(root, TURNS_LEARNING)) is None:
        return None
    lines = data["games"][game]
    keys = list(lines[0]["figures"])
    rows = []
    for line in lines:
        cells = [f"{mean:.3f} ± {half:.3f}" for mean, half in (line["figures"][key]["mean"] for key in keys)]
        learned = line["policy"].startswith("DQN")
        rows.append([line["policy"] if learned else f"`{line['policy']}`", *cells, line["runs"]])
    note = (
        f"Means over runs, or for scripted policies over the three splits, with 95 % intervals by Student's t. "
        f"DQN was trained for {data['total_steps'][game]:,} moves on train dishes or tables."
    )
    return table(["policy", *keys, "runs"], rows) + f"\n\n{note} {source(TURNS_LEARNING, page, root)}"


def dqn_tag(page: Path, root: Path) -> str | None:
    """What DQN learns on the tag game."""
    if (data := read(root, DQN_TAG)) is None:
        return None
    rows = []
    for seed, (team, curve) in enumerate(zip(data["team"], data["curves"], strict=True)):
        at = {int(step): value for step, value in curve.items()}
        shown = [f"{at[step]:.1f}" for step in sorted(at) if step % 150_000 == 0 and step]
        rows.append([seed, *shown, f"{team:.2f}"])
    steps = [f"at {int(s):,}" for s in data["curves"][0] if int(s) % 150_000 == 0 and int(s)]
    mean, half = data["mean"]
    note = f"Team return {mean:.2f} ± {half:.2f} over {len(data['team'])} seeds after {data['total_steps']:,} steps."
    headings = ["seed", *steps, f"at the end, {data['episodes']:,} episodes"]
    return table(headings, rows) + f"\n\n{note} {source(DQN_TAG, page, root)}"


def read(root: Path, path: Path) -> dict[str, Any] | None:
    """Measured results; None before they have been measured."""
    return json.loads((root / path).read_text(encoding="utf-8")) if (root / path).exists() else None


def source(path: Path, page: Path, root: Path) -> str:
    """A link to the raw numbers."""
    return f"[All numbers]({os.path.relpath(root / path, page.parent).replace(os.sep, '/')})."


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
    "tag-parameters": partial(parameters, tag),
    "tag-observations": tag_observations,
    "chefworld-parameters": partial(parameters, chefworld),
    "chefworld-ladder": chefworld_ladder,
    "meeting-parameters": partial(parameters, meeting),
    "meeting-ladder": meeting_ladder,
    "overcooked-parameters": partial(parameters, overcooked),
    "overcooked-planes": overcooked_planes,
    "overcooked-events": overcooked_events,
    "overcooked-corpus": overcooked_corpus,
    "turns-speed": turns_speed,
    "maddpg-options": partial(options, "maddpg"),
    "dqn-options": partial(options, "dqn"),
    "learning": learning,
    "learning-variants": variants,
    "dqn-chefworld": partial(turns_learning, "chefworld_v0"),
    "dqn-meeting": partial(turns_learning, "meeting_scheduling_v0"),
    "dqn-tag": dqn_tag,
}
