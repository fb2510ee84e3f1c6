"""The two commands `mpe-ext-train` and `mpe-ext-evaluate`, which also say what to install where the trainer's
libraries are missing."""

import sys
from importlib import import_module
from importlib.util import find_spec

NEEDED = ("torch", "tyro", "rich", "safetensors", "PIL", "matplotlib")  # the extra `train` of pyproject.toml


def train() -> int:
    """Runs the training command; returns the exit code."""
    return _run("train_main")


def evaluate() -> int:
    """Runs the evaluation command; returns the exit code."""
    return _run("evaluate_main")


def _run(main: str) -> int:
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        print(
            f"error: the trainer needs {', '.join(missing)}, which the package alone does not bring: "
            "pip install 'mpe-ext[train]' (in a clone: pip install -c constraints.txt -e '.[train]')",
            file=sys.stderr,
        )
        return 2
    return getattr(import_module("maddpg.cli"), main)()
