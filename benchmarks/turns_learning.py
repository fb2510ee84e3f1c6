"""What DQN learns on the turn-based games, held-out: 3 splits x 2 seeds of each kind are trained and evaluated.

    python benchmarks/turns_learning.py [--jobs 2] [--runs runs/turns] [--total-steps 1000000]

Training draws dishes or tables of the train split only; every figure comes from the test split, which is asserted. A
ChefWorld run plays 10,000 fixed games; a meeting run plays every ordered pair of test tables with both first movers.
The two seeds of a split also play with each other. Runs that are finished are used again.
"""

import argparse
import itertools
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from maddpg.players import Cast, ladder
from maddpg.rollout import EVALUATION_SEED, play
from maddpg.runs import read_json
from maddpg.worlds import make_worlds

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "turns_learning.json"
GAMES = ("chefworld_v0", "meeting_scheduling_v0")
MEMORIES = ("none", "gru")
SPLITS, SEEDS = (0, 1, 2), (0, 1)
EPISODES = 10_000


def folder_of(runs: Path, game: str, memory: str, split: int, seed: int) -> Path:
    """Where a run lies."""
    return runs / game / f"{memory}-split{split}-seed{seed}"


def train(folder: Path, game: str, memory: str, split: int, seed: int, steps: int) -> None:
    """One run, unless it is there already."""
    if (folder / "checkpoints" / "latest.json").is_file():
        done = read_json(folder / "checkpoints" / "latest.json")["step"]
        if done < steps:
            raise SystemExit(f"{folder} is not finished: move it away")
        return
    begin = time.perf_counter()
    options = ["--env", game, "--env-args", f"split_seed={split}", "--memory", memory]
    options += ["--seed", str(seed), "--total-steps", str(steps), "--out", str(folder)]
    subprocess.run([sys.executable, str(ROOT / "main.py"), "dqn", *options], check=True, stdout=subprocess.DEVNULL)
    print(f"{folder}: trained in {time.perf_counter() - begin:.0f} s", flush=True)


def every_meeting(split_seed: int) -> tuple[dict[str, np.ndarray], int]:
    """Reset options for all ordered pairs of test tables with both first movers, and how many games that makes."""
    from mpe_ext import meeting_scheduling_v0
    from mpe_ext.meeting_scheduling.splits import tables_of

    params = meeting_scheduling_v0.parallel_env(split="test", split_seed=split_seed).game.params
    tables = np.asarray(tables_of(params))
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


def mean_and_interval(values: list[float]) -> list[float]:
    """Mean and half width of the 95 % interval by Student's t over runs."""
    array = np.array(values)
    half = stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array))
    return [round(float(array.mean()), 4), round(float(half), 4)]


def row(name: str, per_run: list[dict[str, float]]) -> dict[str, Any]:
    """One line of the table: for each figure mean, interval and the single values."""
    figures = {}
    for key in per_run[0]:
        values = [run[key] for run in per_run]
        figures[key] = {"mean": mean_and_interval(values), "values": [round(v, 4) for v in values]}
    return {"policy": name, "runs": len(per_run), "figures": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs trained at a time")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "turns")
    parser.add_argument("--total-steps", type=int, default=1_000_000)
    arguments = parser.parse_args()

    every = list(itertools.product(GAMES, MEMORIES, SPLITS, SEEDS))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(train, folder_of(arguments.runs, *case), *case, arguments.total_steps) for case in every]
        for job in jobs:
            job.result()

    result: dict[str, Any] = {"total_steps": arguments.total_steps, "games": {}}
    for game in GAMES:
        rows = []
        worlds = make_worlds(game, 1, {})
        scripts = ladder(worlds)
        for names in scripts:
            rows.append(row(names, [outcome(game, split, names) for split in SPLITS]))
        for memory in MEMORIES:
            runs = {(s, r): str(folder_of(arguments.runs, game, memory, s, r)) for s in SPLITS for r in SEEDS}
            label = "DQN" if memory == "none" else "DQN, GRU"
            rows.append(row(label, [outcome(game, split, path) for (split, _), path in runs.items()]))
            crossed = [
                outcome(game, split, f"{runs[split, first]}:{runs[split, second]}")
                for split in SPLITS
                for first, second in ((0, 1), (1, 0))
            ]
            rows.append(row(f"{label}, seeds crossed", crossed))
        for line in rows:
            figures = ", ".join(f"{k} {v['mean'][0]:.3f} ± {v['mean'][1]:.3f}" for k, v in line["figures"].items())
            print(f"{game} {line['policy']}: {figures}", flush=True)
        result["games"][game] = rows
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
