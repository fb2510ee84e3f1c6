"""Runs that learning results are made of: trained once, used again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from maddpg.cli import parse_config
from maddpg.runs import Run

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def train(algorithm: str, folder: Path, options: list[str]) -> None:
    """`main.py algorithm options --out folder`, unless it is there already. A folder with another run, or with one that
    is not finished, is an error."""
    if folder.exists():
        run, wanted = Run.open(folder), parse_config(algorithm, list(options))
        step = json.loads((run.latest() / "state.json").read_text())["step"]
        if run.algorithm != algorithm or replace(run.config, out=None) != wanted or step < wanted.total_steps:
            raise SystemExit(f"{folder} holds another run, or one that is not finished: move it away")
        print(f"{folder} is there already")
        return
    begin = time.perf_counter()
    command = [sys.executable, str(ROOT / "main.py"), algorithm, *options, "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{folder}: trained in {time.perf_counter() - begin:.0f} s", flush=True)


def train_all(algorithm: str, jobs: dict[Path, list[str]], at_a_time: int) -> None:
    """All of these runs, folder: options."""
    with ThreadPoolExecutor(at_a_time) as pool:
        for job in [pool.submit(train, algorithm, folder, options) for folder, options in jobs.items()]:
            job.result()


def interval(values: np.ndarray, digits: int = 3) -> list[float]:
    """Mean and half width of the 95 % interval by Student's t."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return [round(float(values.mean()), digits), round(float(half), digits)]
