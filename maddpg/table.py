"""The table that an evaluation prints."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.table import Table

from maddpg.evaluate import Cross, Report

_SHARES = "time "
"""Extras whose names begin so are shares of time, shown in per cent."""
_WIDE = 5
"""So many policies stand beside each other; more of them stand below each other."""

Rows = list[tuple[str, list[tuple[float, float]]]]


def show(report: Report, console: Console) -> None:
    """Prints what each policy earns, by role, and the game's extras: mean and 95 % interval."""
    play = "sampled" if report.stochastic else "greedy"
    split = f", split {report.split}" if report.split else ""
    title = f"{report.env}: return of an episode, {report.episodes:,} episodes{split}, {play} play"
    console.print(title, style="bold", soft_wrap=True)
    labels = [result.label for result in report.results]
    returns, extras = _returns(report), _extras(report)
    if len(labels) <= _WIDE:
        table = _table(["", *labels])
        for name, values in returns:
            table.add_row(name, *map(_cell, values))
        if extras:
            table.add_section()
        for name, values in extras:
            table.add_row(name, *map(_cell, values))
    else:
        columns = [*extras, *returns]
        table = _table(["", *(name for name, _ in columns)])
        for i, name in enumerate(labels):
            table.add_row(name, *(_cell(values[i]) for _, values in columns))
    # Numbers that are broken over two lines cannot be read; a narrow terminal wraps whole lines instead.
    console.width = max(console.width, 26 + 18 * (len(table.columns) - 1))
    console.print(table)
    for cross in report.crosses:
        _show_cross(cross, console)


def _show_cross(cross: Cross, console: Console) -> None:
    console.print(f"{cross.name}, the first role below, the second beside", style="bold", soft_wrap=True)
    table = _table(["", *cross.columns])
    for name, values in zip(cross.rows, cross.values, strict=True):
        table.add_row(name, *map(_cell, values))
    console.width = max(console.width, 26 + 18 * len(cross.columns))
    console.print(table)


def _table(columns: list[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(columns[0], no_wrap=True)
    for name in columns[1:]:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _returns(report: Report) -> Rows:
    rows = []
    for role, agents in report.members.items():
        each = f" (mean of {len(agents)})" if len(agents) > 1 else ""
        rows.append((role + each, [result.roles[role] for result in report.results]))
    return rows


def _extras(report: Report) -> Rows:
    rows = []
    for name in report.results[0].extras:
        share = name.startswith(_SHARES)
        values = [result.extras[name] for result in report.results]
        shown = name.removeprefix(_SHARES) + " %" if share else name
        rows.append((shown, [(100 * mean, 100 * half) for mean, half in values] if share else values))
    return rows


def _cell(value: tuple[float, float]) -> str:
    """Mean and half width, with as many digits as the half width bears."""
    mean, half = value
    if math.isnan(mean):
        return "-"
    digits = 2 if half >= 0.05 or half == 0 == mean % 1 else 3 if half >= 0.0005 or half == 0 else 4
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
