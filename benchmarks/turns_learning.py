"""What DQN learns on the turn-based games, held-out: 3 splits x 2 seeds of each kind are trained and evaluated.

    python benchmarks/turns_learning.py [--jobs 2] [--runs runs/turns]

Training draws dishes or tables of the train split only; every figure comes from the test split, which is asserted. In
ChefWorld 10,000 fixed games are played; in meeting scheduling every ordered pair of test tables with both first movers.
The two seeds of a split also play with each other. Runs that are finished are used again.
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
from training import RESULTS, ROOT, interval, train_all

from maddpg.players import Cast, ladder
from maddpg.rollout import EVALUATION_SEED, play
from maddpg.worlds import make_worlds

RESULT = RESULTS / "turns_learning.json"
GAMES = ("chefworld_v0", "meeting_scheduling_v0")
MEMORIES = ("none", "gru")
SPLITS, SEEDS = (0, 1, 2), (0, 1)
EPISODES = 10_000
STEPS = {"chefworld_v0": 800_000, "meeting_scheduling_v0": 400_000}


def folder_of(runs: Path, game: str, memory: str, split: int, seed: int) -> Path:
    """Where a run lies."""
    return runs / game / f"{memory}-split{split}-seed{seed}"


def options_of(game: str, memory: str, split: int, seed: int) -> list[str]:
    """What a run is trained with."""
    options = ["--env", game, "--env-args", f"split_seed={split}", "--memory", memory]
    if memory == "gru":  # whole episodes are drawn then, of two or three decisions each
        options += ["--batch-size", "128"]
    return [*options, "--seed", str(seed), "--total-steps", str(STEPS[game])]


def every_meeting(split_seed: int) -> tuple[dict[str, np.ndarray], int]:
    """Reset options for all ordered pairs of test tables with both first movers, and how many games that makes."""
    from mpe_ext import meeting_scheduling_v0
    from mpe_ext.meeting_scheduling.splits import tables_of

    params = meeting_scheduling_v0.parallel_env(split="test", split_seed=split_seed).game.params
    tables = tables_of(params)
    pairs = np.array(list(itertools.product(range(len(tables)), repeat=2)))
    games = np.repeat(tables[pairs], 2, axis=0)
    return {"tables": games, "first_mover": np.tile([0, 1], len(pairs))}, len(games)


def outcome(game: str, split: int, policies: str) -> dict[str, float]:
    """Means over the test games of a split."""
    options, episodes = every_meeting(split) if game == "meeting_scheduling_v0" else (None, EPISODES)
    worlds = make_worlds(game, episodes, {"split": "test", "split_seed": split})
    played = play(worlds, Cast(policies, worlds, EVALUATION_SEED), episodes, EVALUATION_SEED, options)
    inner: Any = worlds
    assert inner.game.outside_split(played) == 0, "a game outside the test split"
    found = {name: float(np.nanmean(values)) for name, values in inner.game.metrics(played).items()}
    return {"return": float(next(iter(played.returns.values())).mean())} | found


def row(name: str, per_run: list[dict[str, float]]) -> dict[str, Any]:
    """One line of the table: for each figure mean, interval and the single values."""
    figures = {}
    for key in per_run[0]:
        values = np.array([run[key] for run in per_run])
        figures[key] = {"mean": interval(values, 4), "values": np.round(values, 4).tolist()}
    line = ", ".join(f"{k} {v['mean'][0]:.3f} ± {v['mean'][1]:.3f}" for k, v in figures.items())
    print(f"{name}: {line}", flush=True)
    return {"policy": name, "runs": len(per_run), "figures": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs trained at a time")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "turns")
    arguments = parser.parse_args()

    every = list(itertools.product(GAMES, MEMORIES, SPLITS, SEEDS))
    train_all("dqn", {folder_of(arguments.runs, *case): options_of(*case) for case in every}, arguments.jobs)
    result: dict[str, Any] = {"total_steps": STEPS, "chefworld_games": EPISODES, "games": {}}
    for game in GAMES:
        print(f"\n{game}")
        worlds = make_worlds(game, 1, {})
        rows = [row(names, [outcome(game, split, names) for split in SPLITS]) for names in ladder(worlds)]
        for memory in MEMORIES:
            runs = {(s, r): str(folder_of(arguments.runs, game, memory, s, r)) for s in SPLITS for r in SEEDS}
            label = "DQN" if memory == "none" else "DQN, GRU"
            rows.append(row(label, [outcome(game, split, path) for (split, _), path in runs.items()]))
            crossed = [
                outcome(game, split, ":".join((runs[split, first], runs[split, second])))
                for split in SPLITS
                for first, second in ((0, 1), (1, 0))
            ]
            rows.append(row(f"{label}, seeds crossed", crossed))
        result["games"][game] = rows
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
