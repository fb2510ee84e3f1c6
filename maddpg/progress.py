"""What a run shows while it goes: a bar with returns and losses in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

REFRESH_SECONDS = 0.25
LINE_SECONDS = 10.0
RATE_SECONDS = 30.0


class Display:
    """Shows steps, steps/s, time left, rolling episode return of each role, losses, and the last evaluation.

    `start` is the step that this process begins with. Used as a context manager.
    """

    def __init__(self, total: int, start: int, roles: list[str], quiet: bool = False) -> None:
        self.total, self.start, self.roles = total, start, roles
        self.console = Console(file=sys.stdout, highlight=False, quiet=quiet)
        self.live: Live | None = None
        self.shown = time.perf_counter()
        self.marks = deque([(self.shown, start)])  # clock and step of the latest updates
        self.step = start
        self.rolling: dict[str, float] = {}
        self.losses: dict[str, float] = {}
        self.evaluation: dict[str, float] = {}
        self.evaluated_at = 0
        if self.console.is_terminal and not quiet:
            self.progress = Progress(
                TextColumn("[bold]training"),
                BarColumn(bar_width=None),
                TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps"),
                _Rate(self),
                console=self.console,
                expand=True,
            )
            self.bar = self.progress.add_task("", total=total, completed=start)
            # Drawn by hand now and then: a refreshing thread would take time from the training loop.
            self.live = Live(console=self.console, auto_refresh=False, transient=False)

    def __enter__(self) -> Display:
        if self.live is not None:
            self.live.start()
            self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self._draw()
            self.live.stop()

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self.console.print(text, soft_wrap=True, markup=False)

    def due(self) -> bool:
        """True when the next `update` would show something new."""
        wait = REFRESH_SECONDS if self.live is not None else LINE_SECONDS
        return time.perf_counter() - self.shown >= wait

    def update(self, step: int, rolling: Mapping[str, float]) -> None:
        """Takes the present step and the rolling mean return of each role, and shows them."""
        self.step, self.rolling = step, dict(rolling)
        self.shown = time.perf_counter()
        self.marks.append((self.shown, step))
        while len(self.marks) > 2 and self.shown - self.marks[1][0] > RATE_SECONDS:
            self.marks.popleft()
        if self.live is not None:
            self._draw()
        else:
            self.say(self._line())

    def begin(self) -> None:
        """Starts the clock: what came before (compiling, a first evaluation) says nothing about the pace."""
        self.shown = time.perf_counter()
        self.marks = deque([(self.shown, self.step)])

    def evaluated(self, step: int, returns: Mapping[str, float]) -> None:
        """Takes the greedy returns of each role at `step`; plain output gets a line of its own."""
        self.evaluation, self.evaluated_at = dict(returns), step
        if self.live is None:
            text = ", ".join(f"{role} {returns[role]:.2f}" for role in self.roles)
            self.say(f"{step:>{len(f'{self.total:,}')},} steps: greedy return {text}")

    @property
    def rate(self) -> float:
        """Steps a second over the last half minute or so."""
        (then, before), (now, step) = self.marks[0], self.marks[-1]
        return (step - before) / (now - then) if now > then else 0.0

    def remaining(self) -> str:
        """Time left as h:mm:ss, once the rate is known."""
        if self.rate <= 0:
            return "-:--:--"
        seconds = max(0, round((self.total - self.step) / self.rate))
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    def _line(self) -> str:
        parts = [f"{self.step:>{len(f'{self.total:,}')},} steps ({self.step / self.total:4.0%})"]
        parts += [f"{self.rate:,.0f} steps/s", f"{self.remaining()} left"]
        if self.rolling:
            parts.append("return " + ", ".join(f"{r} {self.rolling[r]:.2f}" for r in self.roles))
        if self.losses:
            parts.append(", ".join(f"{name} {value:.3g}" for name, value in self.losses.items()))
        return " | ".join(parts)

    def _draw(self) -> None:
        assert self.live is not None
        self.progress.update(self.bar, completed=min(self.step, self.total))
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
        table.add_column("")
        for role in self.roles:
            table.add_column(role, justify="right")
        for name in self.losses:
            table.add_column(name, justify="right")
        if self.rolling or self.losses:
            returns = [f"{self.rolling[r]:.2f}" if r in self.rolling else "" for r in self.roles]
            table.add_row("episode return", *returns, *(f"{v:.3g}" for v in self.losses.values()))
        if self.evaluation:
            returns = [f"{self.evaluation[r]:.2f}" for r in self.roles]
            table.add_row(f"greedy at {self.evaluated_at:,}", *returns)
        self.live.update(Group(self.progress, table), refresh=True)


class _Rate(ProgressColumn):
    """Steps a second and time left, from the display's own clock."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self.display = display

    def render(self, task: Task) -> Text:
        return Text(f"{self.display.rate:>7,.0f}/s  {self.display.remaining()} left", style="cyan")
