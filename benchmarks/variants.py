"""What single settings do to MADDPG on the tag game: one run each, so an indication and not a ranking.

    python benchmarks/variants.py [--jobs 2] [--runs runs/variants]

Trains what is not there yet (six to twelve minutes a run), lets it play the fixed episodes of learning.py, and
writes results/variants.json.
"""

import argparse
import json
from pathlib import Path

from learning import ENV, pairing
from training import RESULTS, ROOT, train_all

from maddpg.evaluate import Evaluation, Request
from maddpg.rollout import EVALUATION_SEED
from maddpg.runs import Run

RESULT = RESULTS / "variants.json"
SPECIALIST = "--epsilon 0"
EVALUATION = "--eval-interval 100000 --eval-episodes 1000 --checkpoint-interval 2000000"  # does not change the run
MILLION = f"{SPECIALIST} --total-steps 1000000 {EVALUATION}"
# Folder: seed and options. The first is the default itself.
VARIANTS = {
    "default": (1, ""),
    "million": (1, "--total-steps 1000000"),
    "hidden128": (1, "--hidden 128 128"),
    "gamma95": (1, "--gamma 0.95"),
    "nochase": (1, "--env-args hit_reward=0"),
    "epsilon0": (1, SPECIALIST),
    "epsilon3": (1, "--epsilon 0.3 --epsilon-final 0.1"),
    "epsilon5": (1, "--epsilon 0.5"),
    "epsilon8": (1, "--epsilon 0.8"),
    "gumbel25": (0, f"{MILLION} --actor-gradient gumbel --steps-per-update 25"),
    "expected25": (0, f"{MILLION} --steps-per-update 25"),
    "argmax25": (1, f"{MILLION} --steps-per-update 25 --target-action argmax"),
    "specialist10": (1, MILLION),
}
# Column: adversary, team, value.
COLUMNS = {
    "team, own play": ("trained", "trained", "team_return"),
    "team against lookahead": ("lookahead", "trained", "team_return"),
    "team against random": ("random", "trained", "team_return"),
    "controller against random": ("random", "trained", "controller"),
    "adversary against random": ("trained", "random", "adversary_return"),
    "adversary against rules": ("trained", "rules", "adversary_return"),
}


def measured(evaluation: Evaluation, run: Path) -> dict[str, float]:
    """The columns of a finished run, and its best evaluation during training."""
    pairs = {pair[:2] for pair in COLUMNS.values()}
    rows = {pair: pairing(evaluation, *pair, [run]) for pair in sorted(pairs)}
    values = {name: rows[adversary, team][key][0] for name, (adversary, team, key) in COLUMNS.items()}
    return values | {"best evaluation": max(x["eval/team"] for x in Run.open(run).metrics() if "eval/team" in x)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2, help="runs trained at a time")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "variants")
    arguments = parser.parse_args()
    jobs = {arguments.runs / name: ["--seed", str(seed), *o.split()] for name, (seed, o) in VARIANTS.items()}
    train_all("maddpg", jobs, arguments.jobs)
    evaluation = Evaluation(Request((), ENV, {}, 2000, EVALUATION_SEED, False, None))
    rows = []
    for name, (seed, options) in VARIANTS.items():
        shown = options.replace(EVALUATION, "").strip()
        rows.append({"options": " ".join(shown.split()), "seed": seed, **measured(evaluation, arguments.runs / name)})
        print(rows[-1], flush=True)
    RESULT.write_text(json.dumps({"episodes": 2000, "rows": rows}, indent=1) + "\n")
    print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
