"""What MADDPG learns on the tag game with the default settings: trains the seeds, evaluates, writes the table's data.

    python benchmarks/learning.py [--seeds 5] [--jobs 2] [--runs runs/learning]

Every pairing of an adversary and a team (random, rules, lookahead, trained) plays the same fixed episodes. Rows
with a trained side are means over seeds, with 95 % intervals by Student's t over the seeds; the others over episodes.
All checkpoints of a run play its own game, to see whether play collapses. Runs that are finished are used again; a
folder with another run, or with an unfinished one, is an error.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from training import RESULTS, ROOT, interval, train_all

from maddpg.evaluate import Evaluation, Request
from maddpg.rollout import EVALUATION_SEED, extras, play

RESULT = RESULTS / "learning.json"
ENV = "simple_tag_while_c_v0"
KINDS = ("random", "rules", "lookahead", "trained")
COLUMNS = ("adversary_return", "controller", "collector", "team_return", "food", "hits", "lost")


def outcome(evaluation: Evaluation, names: str) -> dict[str, np.ndarray]:
    """What each episode of a cast brought, by column."""
    episodes = play(evaluation.worlds, evaluation.cast(names), evaluation.request.episodes, EVALUATION_SEED)
    also = extras(evaluation.worlds, episodes)
    returns = episodes.returns
    return {
        "adversary_return": returns["adversary_0"],
        "controller": returns["controller_0"],
        "collector": (returns["collector_0_0"] + returns["collector_0_1"]) / 2,
        "team_return": also["team"],
        "food": also["food"],
        "hits": also["hits"],
        "lost": also["time out of range"],
    }


def pairing(evaluation: Evaluation, adversary: str, team: str, runs: list[Path]) -> dict[str, Any]:
    """One row of the table; a trained side plays with each run in turn."""
    trained = "trained" in (adversary, team)
    per_run = []
    for run in runs if trained else runs[:1]:
        side = {kind: str(run) if kind == "trained" else kind for kind in (adversary, team)}
        per_run.append(outcome(evaluation, f"{side[adversary]}:{side[team]}:{side[team]}"))
    row: dict[str, Any] = {"adversary": adversary, "team": team, "episodes": evaluation.request.episodes}
    row["seeds"] = len(per_run) if trained else 0
    for column in COLUMNS:
        if trained:
            means = np.array([result[column].mean() for result in per_run])
            row[column] = interval(means)
            row[f"{column}_by_seed"] = [round(float(m), 3) for m in means]
        else:
            row[column] = interval(per_run[0][column])
    return row


def checkpoints(evaluation: Evaluation, run: Path) -> dict[str, float]:
    """Team return in own play of every checkpoint, by step."""
    found = {}
    for folder in sorted(run.glob("checkpoints/*/learner.safetensors")):
        step = json.loads((folder.parent / "state.json").read_text())["step"]
        found[str(step)] = round(float(outcome(evaluation, str(folder.parent))["team_return"].mean()), 3)
    return dict(sorted(found.items(), key=lambda item: int(item[0])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2, help="runs trained at a time")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "learning")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("options", nargs="*", help="after --: options of main.py, to try other settings")
    arguments = parser.parse_args()

    runs = [arguments.runs / f"seed{seed}" for seed in range(arguments.seeds)]
    jobs = {run: ["--seed", str(seed), *arguments.options] for seed, run in enumerate(runs)}
    train_all("maddpg", jobs, arguments.jobs)

    evaluation = Evaluation(Request((), ENV, {}, arguments.episodes, EVALUATION_SEED, False, None))
    rows = []
    for adversary in KINDS:
        for team in KINDS:
            rows.append(pairing(evaluation, adversary, team, runs))
            values = ", ".join(f"{c} {rows[-1][c][0]:.2f} ± {rows[-1][c][1]:.2f}" for c in COLUMNS)
            print(f"{adversary:9} against {team:9}: {values}", flush=True)
    curves = [checkpoints(evaluation, run) for run in runs]
    for seed, curve in enumerate(curves):
        last, best = list(curve.values())[-1], max(curve.values())
        print(f"seed {seed}: own play last {last:.1f}, best {best:.1f}, ratio {last / best:.2f}")
    config = json.loads((runs[0] / "config.json").read_text()) | {"out": None}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps({"rows": rows, "checkpoints": curves, "config": config}, indent=1) + "\n")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
