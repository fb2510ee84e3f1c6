"""`make demo`: train for about two minutes, then show what was learned: a table, a curve, a GIF."""

import itertools
import sys
from pathlib import Path

from maddpg.cli import evaluate_main, train_main

STEPS = 200_000


def free_folder() -> Path:
    """runs/demo-1, or the next that does not exist: no run is ever overwritten."""
    return next(path for n in itertools.count(1) if not (path := Path("runs") / f"demo-{n}").exists())


def main() -> int:
    run = free_folder()
    code = train_main(
        ["maddpg", "--out", str(run), "--total-steps", str(STEPS), "--eval-episodes", "256", "--eval-interval", "25000"]
    )
    if code:
        return code
    gif = run / "episode.gif"
    code = evaluate_main([str(run), "--episodes", "2000", "--gif", str(gif)])
    if not code:
        print(f"\nlearning curve: {run / 'curves.png'}\nan episode:     {gif}")
    return code


if __name__ == "__main__":
    sys.exit(main())
