"""Evaluate: `python evaluate.py RUN --gif episode.gif`; `python evaluate.py --help` lists the options."""

import sys

from maddpg.commands import evaluate

if __name__ == "__main__":
    sys.exit(evaluate())
