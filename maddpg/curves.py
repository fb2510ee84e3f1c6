"""Learning curves as PNG, of one run or several over one another: `python -m maddpg.curves RUN [RUN ...]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maddpg.errors import RunError, UserError
from maddpg.runs import Run, atomically

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#a463f2", "#9c6b4e", "#97bbf5", "#ff8ab7")


def draw(runs: Sequence[Run], path: Path) -> None:
    """Writes returns over steps, a panel for each role: thin, the mean of episodes as they were played in
    training; thick, greedy play on the fixed episodes, shaded by the mean of its agents' 95 % intervals. One
    colour for each run."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = [(run, run.metrics()) for run in runs]
    roles = _roles([run for run, _ in lines])
    figure, axes = plt.subplots(
        1, len(roles), figsize=(1.2 + 3.9 * len(roles), 3.6), squeeze=False, layout="constrained"
    )
    for panel, (role, agents) in zip(axes[0], roles.items(), strict=True):
        for number, (run, metrics) in enumerate(lines):
            colour = COLOURS[number % len(COLOURS)]
            name = run.path.name if len(runs) > 1 else None
            _plot(panel, metrics, agents, colour, name)
        panel.set_title(role if len(agents) == 1 else f"{role} (mean of {len(agents)})", fontsize=10)
        panel.set_xlabel("environment steps", fontsize=9)
        panel.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g}M" if x >= 1e6 else f"{x / 1e3:g}k" if x else "0")
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("episode return", fontsize=9)
    if axes[0][0].get_legend_handles_labels()[0]:
        axes[0][0].legend(fontsize=8, frameon=False)
    figure.suptitle(", ".join(dict.fromkeys(run.config.env for run in runs)), fontsize=11)
    atomically(path, lambda partial: figure.savefig(partial, dpi=130, format="png"))
    plt.close(figure)


def _plot(panel: Any, metrics: list[dict[str, Any]], agents: list[str], colour: str, name: str | None) -> None:
    played = [m for m in metrics if f"return/{agents[0]}" in m]
    if played:
        means = [np.mean([m[f"return/{a}"] for a in agents]) for m in played]
        label = None if name else "as played in training"
        panel.plot([m["step"] for m in played], means, color=colour, alpha=0.4, linewidth=0.8, label=label)
    judged = [m for m in metrics if f"eval/return/{agents[0]}" in m]
    if judged:
        steps = [m["step"] for m in judged]
        greedy = np.array([np.mean([m[f"eval/return/{a}"] for a in agents]) for m in judged])
        half = np.array([np.mean([m[f"eval/interval/{a}"] for a in agents]) for m in judged])
        panel.plot(steps, greedy, color=colour, linewidth=1.8, label=name or "greedy, fixed episodes")
        panel.fill_between(steps, greedy - half, greedy + half, color=colour, alpha=0.2, linewidth=0)


def _roles(runs: Sequence[Run]) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    for run in runs:
        for agent, facts in run.about.get("agents", {}).items():
            members = roles.setdefault(facts["role"], [])
            if agent not in members:
                members.append(agent)
    if not roles:
        raise RunError(f"{runs[0].path / 'config.json'} names no agents")
    return roles


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the runs that are named into curves.png here."""
    names = list(sys.argv[1:] if arguments is None else arguments)
    if not names or names[0].startswith("-"):
        print("usage: python -m maddpg.curves RUN [RUN ...]   writes curves.png here")
        return 0 if names else 2
    try:
        draw([Run.open(name) for name in names], Path("curves.png"))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("curves.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
