"""The table that an evaluation prints."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from maddpg.evaluate import Report

_SHARES = "time "
"""Extras whose names begin so are shares of time, shown in per cent."""


def show(report: Report, console: Console) -> None:
    """Prints a row for each role and extra, a column for each policy: mean and 95 % interval."""
    play = "sampled" if report.stochastic else "greedy"
    title = f"{report.env}: return of an episode, {report.episodes:,} episodes, {play} play"
    console.print(title, style="bold", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    # Numbers that are broken over two lines cannot be read; a narrow terminal wraps whole lines instead.
    console.width = max(console.width, 26 + 18 * len(report.results))
    table.add_column("", no_wrap=True)
    for result in report.results:
        table.add_column(result.label, justify="right", overflow="fold")
    for role, agents in report.members.items():
        each = f" (mean of {len(agents)})" if len(agents) > 1 else ""
        table.add_row(role + each, *(_cell(*result.roles[role]) for result in report.results))
    names = report.results[0].extras
    if names:
        table.add_section()
    for name in names:
        scale = 100.0 if name.startswith(_SHARES) else 1.0
        shown = name.removeprefix(_SHARES) + " %" if name.startswith(_SHARES) else name
        cells = (_cell(*(scale * v for v in result.extras[name])) for result in report.results)
        table.add_row(shown, *cells)
    console.print(table)


def _cell(mean: float, half: float) -> str:
    return f"{mean:.2f} ± {half:.2f}"
