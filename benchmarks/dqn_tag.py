"""What independent double DQN learns on the tag game (`main.py dqn --preset tag`): 3 seeds are trained and evaluated.

    python benchmarks/dqn_tag.py [--jobs 2] [--runs runs/dqn_tag]

All agents learn side by side; what is measured is greedy play of a run with itself, on fixed episodes. `team` is the
controller's and both collectors' return together. Runs that are finished are used again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from training import RESULTS, ROOT, interval, train_all

from maddpg.evaluate import Evaluation, Request
from maddpg.rollout import EVALUATION_SEED, extras, play
from maddpg.runs import Run

RESULT = RESULTS / "dqn_tag.json"
SEEDS, EPISODES, GOAL = 3, 5000, 33.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs trained at a time")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "dqn_tag")
    arguments = parser.parse_args()

    runs = [arguments.runs / f"seed{seed}" for seed in range(SEEDS)]
    options = ["--preset", "tag", "--eval-interval", "50000", "--eval-episodes", "1024"]
    train_all("dqn", {run: [*options, "--seed", str(seed)] for seed, run in enumerate(runs)}, arguments.jobs)

    evaluation = Evaluation(Request((), "simple_tag_while_c_v0", {}, EPISODES, EVALUATION_SEED, False, None))
    team, curves = [], []
    for seed, run in enumerate(runs):
        episodes = play(evaluation.worlds, evaluation.cast(str(run)), EPISODES, EVALUATION_SEED)
        team.append(float(extras(evaluation.worlds, episodes)["team"].mean()))
        lines = [line for line in Run.open(run).metrics() if "eval/team" in line]
        curves.append({str(line["step"]): round(line["eval/team"], 2) for line in lines})
        first = next((step for step, value in curves[-1].items() if value >= GOAL), "never")
        print(f"seed {seed}: team {team[-1]:.2f}; {GOAL:g} first reached at step {first}", flush=True)
    steps = Run.open(runs[0]).config.total_steps
    mean, half = interval(np.array(team))
    print(f"team {mean:.2f} ± {half:.2f} over {SEEDS} seeds after {steps:,} steps (asked: {GOAL:g} within 1,000,000)")
    data = {"total_steps": steps, "episodes": EPISODES, "team": team, "mean": [mean, half], "curves": curves}
    RESULT.write_text(json.dumps(data, indent=1) + "\n")
    print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
