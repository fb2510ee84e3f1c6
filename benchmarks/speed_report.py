"""What `speed.py` found, as tables.

python benchmarks/speed_report.py     # writes docs/speed.md anew from results/speed.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Row(NamedTuple):
    """One line of the table: a figure of ours beside a peer's or a bound, and what it must reach."""

    what: str
    ours: str
    peer: str
    ratio: str
    goal: str
    reached: bool | None  # None where no goal is set


def number(value: float) -> str:
    """Three significant digits with thousands separators or a suffix for millions."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1000:
        digits = len(str(int(value))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}"


# Section of the results, peer in it, what is compared, the unit, and the ratio that it must reach.
_COMPARED: tuple[tuple[str, str, str, str, float | None], ...] = (
    ("parallel", "mpe2", "`parallel_env().step`, one world", "steps/s", 50),
    ("parallel_with_reset", "mpe2", "the same with `reset()` every 25 steps", "steps/s", None),
    ("aec", "mpe2", "AEC, `last` and `step` of all agents", "cycles/s", 5),
    ("vector", "vmas simple_tag", "vector, all cores", "steps/s", 80),
    ("vector", "vmas simple_spread", "vector, all cores", "steps/s", 6),
    ("vector", "jaxmarl simple_tag", "vector, all cores", "steps/s", 20),
)


def rows(found: dict[str, Any]) -> list[Row]:
    """The lines of the table; what was not measured is left out."""
    table = []
    for key, peer, what, unit, goal in _COMPARED:
        section = found[key]
        mine = f"{number(section['medians']['ours'])} {unit}"
        wanted = f"{goal} x" if goal else ""
        if peer in section["ratios"]:
            ratio = section["ratios"][peer]
            theirs = f"{peer}: {number(section['medians'][peer])}"
            table.append(Row(what, mine, theirs, f"{ratio:.3g} x", wanted, ratio >= goal if goal else None))
        else:
            table.append(Row(what, mine, f"{peer}: not measured", "", wanted, None))
    with_copies = found["vector"]["medians"]["ours with copies"]
    table.append(Row("vector, all cores, with copies", f"{number(with_copies)} steps/s", "", "", "", None))
    return table + _growth(found["growth"]) + _start(found["start"]) + _learning(found)


def _growth(growth: dict[str, Any]) -> list[Row]:
    table = []
    for mode, name, goal in (("views", "`copy=False`", 1.25), ("copies", "copies", None)):
        sizes = {int(n): ns for n, ns in growth["nanoseconds"][mode].items()}
        few, many = min(sizes), max(sizes)
        ratio = growth["ratio"][mode]
        table.append(
            Row(
                f"time a world-step, {few:,} to {many:,} worlds, {name}",
                f"{sizes[few]:.0f} to {sizes[many]:.0f} ns",
                "",
                f"{ratio:.3g} x",
                "at most 1.25 x" if goal else "",
                ratio <= goal if goal else None,
            )
        )
    size = growth["bytes_per_world"]
    table.append(Row("memory a world", f"{size:,.0f} bytes", "", "", "under 4,096", size < 4096))
    return table


def _start(start: dict[str, Any]) -> list[Row]:
    table = []
    for face, what in (("parallel", "one world"), ("vector", "1,024 worlds")):
        first = start[face]["first"]
        table.append(Row(f"first call, warm cache, {what}", f"{first:.2f} s", "", "", "under 1 s", first < 1))
    cold = start["cold"]
    told = bool(cold["announced"])
    seconds = f"{cold['first']:.1f} s{', announced' if told else ''}"
    return [*table, Row("first call ever, compiling", seconds, "", "", "announced", told)]


def _learning(found: dict[str, Any]) -> list[Row]:
    update = found["update"]
    ms = {name: 1e3 / rate for name, rate in update["medians"].items()}
    peer = f"plain loop, own batches: {ms['plain loop']:.1f} ms"
    own = 1 / update["ratios"]["plain loop"]
    shared = ms["ours, shared batch"] / ms["plain loop"]
    table = [
        Row("MADDPG round, batch 1,024, own batches", f"{ms['ours']:.1f} ms", peer, f"{own:.0%}", "40 %", own <= 0.4),
        Row("the same, one shared batch", f"{ms['ours, shared batch']:.1f} ms", peer, f"{shared:.0%}", "", None),
    ]
    run = found.get("training")
    if run and "seconds" in run:
        taken = f"{run['seconds']:.0f} s"
        what = "training, 750,000 steps with 7,000 rounds"
        table.append(Row(what, taken, "", "", "under 240 s", run["seconds"] < 240))
    elif run:
        table.append(Row("training, 750,000 steps with 7,000 rounds", run["error"], "", "", "under 240 s", False))
    return table


def verdict(row: Row) -> str:
    """Whether the goal is reached, in a word."""
    return {True: "yes", False: "NO", None: ""}[row.reached]


def text(found: dict[str, Any]) -> str:
    """The table for a terminal."""
    lines: list[tuple[str, ...]] = [("what", "ours", "peer", "ratio", "must reach", "")]
    lines += [(*(cell.replace("`", "") for cell in row[:5]), verdict(row)) for row in rows(found)]
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def markdown(found: dict[str, Any]) -> str:
    """The page."""
    machine, versions = found["machine"], found["versions"]
    names = ", ".join(f"{name} {number_}" for name, number_ in versions.items())
    page = [
        "# Speed",
        "",
        "<!-- Written by benchmarks/speed.py; do not edit. -->",
        "",
        f"Measured on {machine['date']} with {machine['cores']} cores of {machine['cpu']} ({machine['system']}, "
        f"Python {machine['python']}); {names}.",
        f"Everything ran side by side in one run of `benchmarks/speed.py`: medians of {found['rounds']} rounds in "
        f"which each implementation took its turn of {found['seconds']:g} s; a ratio is the median of the ratios "
        "within the rounds.",
        "",
        "| what | ours | peer | ratio | must reach | reached |",
        "|---|---|---|---|---|---|",
    ]
    page += [f"| {' | '.join(row[:5])} | {verdict(row)} |" for row in rows(found)]
    page += ["", *_notes(found), "", "## Batch sizes", "", *_batches(found["vector"])]
    page += ["", "## Growth", "", *_sizes(found["growth"]["nanoseconds"])]
    if rules := found.get("rules"):
        page += ["", "## Where a step's time goes", "", *_rules(rules)]
    return "\n".join(page) + "\n"


def _notes(found: dict[str, Any]) -> list[str]:
    start = found["start"]
    notes = [
        "- Ours is the default tag game: 4 agents, discrete actions, 25 steps an episode. A step of a batch is counted "
        "once for each world. All that a step returns is counted, infos included; the resets of a batch too.",
        "- One world: the same loop drives both packages, with actions drawn beforehand. mpe2's simple_tag_v3 has 4 "
        "agents as well. Resets are not in the figures, except where the table says so.",
        "- VMAS runs its defaults (4 agents and 10 physics substeps in simple_tag, 3 agents and 1 substep in "
        "simple_spread), without any reset. JaxMARL's MPE_simple_tag_v3 (4 agents) runs in a compiled scan of 25 steps "
        "and resets by itself. All on the CPU and all cores, each at its best batch size.",
        "- A first call goes from after `import mpe_ext` to the end of the first step: numba's import, and loading or "
        f"compiling all kernels. `import mpe_ext` itself took {start['parallel']['import']:.2f} s, the whole process "
        f"with a warm cache {start['parallel']['process']:.2f} s.",
        "- Memory a world is what the process grows by, with `copy=False`, after an episode of 131,072 worlds.",
        "- A MADDPG round updates 4 critics and 4 actors (64-64 networks, clipped gradients, Adam) and their targets; "
        "the peer is `benchmarks/plain_maddpg.py`, the usual loop over agents. Each with the better of 1 or "
        f"{found['machine']['cores']} torch threads: {_threads(found['update']['threads'])}.",
    ]
    if run := found.get("training"):
        notes.append(
            f"- Training: `python main.py maddpg {run.get('options', '')}`, evaluations and checkpoints included."
        )
    for peer, why in found["skipped"].items():
        notes.append(f"- {peer} was not measured: {why}.")
    return notes


def _threads(threads: dict[str, int]) -> str:
    return "; ".join(f"{name}: {n}" for name, n in threads.items())


def _batches(vector: dict[str, Any]) -> list[str]:
    lines = ["World-steps a second by number of worlds, from the sweep that chose the best (short measurements).", ""]
    for name, sweep in vector["sweeps"].items():
        tried = ", ".join(f"{n:,}: {number(rate)}" for n, rate in sweep)
        lines.append(f"- {name} (best {vector['best_num_envs'][name]:,}): {tried}")
    return lines


def _sizes(nanoseconds: dict[str, dict[str, float]]) -> list[str]:
    sizes = list(nanoseconds["views"])
    lines = ["Nanoseconds a world-step.", "", "| worlds | `copy=False` | copies |", "|---|---|---|"]
    return lines + [f"| {int(n):,} | {nanoseconds['views'][n]:.0f} | {nanoseconds['copies'][n]:.0f} |" for n in sizes]


def _rules(rules: dict[str, float]) -> list[str]:
    whole = sum(cost for name, cost in rules.items() if name != "detect")
    writing = rules["observe"] - rules["detect"]
    return [
        "Nanoseconds a world-step on one core, each rule in a loop of its own (`benchmarks/phases.py`).",
        "",
        "| rule | ns |",
        "|---|---|",
        *(
            f"| `{name}`{' (part of `observe`)' if name == 'detect' else ''} | {cost:.0f} |"
            for name, cost in rules.items()
        ),
        f"| all | {whole:.0f} |",
        "",
        f"Writing 58 observed numbers takes {writing:.0f} ns and new episodes {rules['reset']:.0f}, so "
        f"{2e3 / (writing + rules['reset']):.0f} M steps/s on two cores would be the end even with rules that take no "
        "time. The rules are scalar code for one world; going far beyond the present figures needs several worlds in "
        "one vector instruction, which means other arrays and rules written for blocks of worlds.",
    ]


def write(found: dict[str, Any], path: Path) -> None:
    """The page at `path`."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(markdown(found), encoding="utf-8")


if __name__ == "__main__":
    write(json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text()), ROOT / "docs" / "speed.md")
