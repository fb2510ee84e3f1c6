"""Evaluate: `python evaluate.py RUN --gif episode.gif`; `python evaluate.py --help` lists the options."""

import sys

from maddpg.cli import evaluate_main

if __name__ == "__main__":
    sys.exit(evaluate_main())
