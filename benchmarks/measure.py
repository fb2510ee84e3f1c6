"""Measuring side by side: every implementation sits in a worker process of its own and is asked in turns.

A worker is a script that ends in `serve(cases, calls)`. A case is a function that builds something and returns a
`Chunk`: a function that does a little work and returns (units done, seconds it took). `Worker` is the other end.
Messages are lines of JSON. Only the standard library is used, since peers live in environments of their own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Chunk = Callable[[], tuple[int, float]]
HERE = Path(__file__).resolve().parent


class WorkerError(Exception):
    """What went wrong in a worker, in one line."""


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def rate(chunk: Chunk, seconds: float) -> float:
    """Units a second of the time that chunks say they took, for at least `seconds` and one chunk."""
    units, spent, end = 0, 0.0, time.perf_counter() + seconds
    while True:
        n, took = chunk()
        units, spent = units + n, spent + took
        if time.perf_counter() >= end:
            return units / spent


def timed(work: Callable[[], None], units: int) -> Chunk:
    """A chunk that calls `work`, which always does `units`."""

    def chunk() -> tuple[int, float]:
        start = time.perf_counter()
        work()
        return units, time.perf_counter() - start

    return chunk


def serve(cases: Mapping[str, Callable[..., Chunk]], calls: Mapping[str, Callable[..., Any]]) -> None:
    """Answer a `Worker` on stdin and stdout until it hangs up."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not land between the answers
    chunk: Chunk | None = None
    for line in sys.stdin:
        message = json.loads(line)
        try:
            if message["do"] == "make":
                chunk = None  # let the memory of the one before go first
                chunk = cases[message["name"]](**message["options"])
                chunk()  # compiles, allocates, warms up
                answer = None
            elif message["do"] == "rate":
                assert chunk is not None
                answer = rate(chunk, message["seconds"])
            else:
                answer = calls[message["name"]](**message["options"])
            print(json.dumps({"answer": answer}), file=answers)
        except Exception as error:  # goes to the other side, whatever it is
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers)


class Worker:
    """A script of this folder, running under `python` (default: the one that runs this)."""

    def __init__(self, script: str, python: str | None = None, quiet: bool = True):
        self.script = script
        self._process = subprocess.Popen(
            [python or sys.executable, str(HERE / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env=os.environ | {"PYTHONPATH": str(HERE.parent)},
            text=True,
            bufsize=1,
        )

    def make(self, name: str, **options: Any) -> None:
        """Build a case and run it once; it replaces the one before."""
        self._ask({"do": "make", "name": name, "options": options})

    def rate(self, seconds: float) -> float:
        """Units a second of the case that was built last."""
        return self._ask({"do": "rate", "seconds": seconds})

    def call(self, name: str, **options: Any) -> Any:
        """Whatever the script's function `name` returns."""
        return self._ask({"do": "call", "name": name, "options": options})

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, message: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"{self.script} ended with exit code {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise WorkerError(reply["error"].splitlines()[0][:200])
        return reply["answer"]


def best(worker: Worker, name: str, options: list[dict[str, Any]], seconds: float) -> tuple[dict[str, Any], list]:
    """The fastest of `options` (left built) and all of them with their rates. What fails (memory) is left out."""
    tried: list[tuple[dict[str, Any], float]] = []
    for option in options:
        try:
            worker.make(name, **option)
            tried.append((option, worker.rate(seconds)))
        except WorkerError as error:
            print(f"  {name} {option}: {error}", file=sys.stderr)
    if not tried:
        raise WorkerError(f"{name}: none of {options} ran")
    winner = max(tried, key=lambda pair: pair[1])[0]
    worker.make(name, **winner)
    return winner, tried


def side_by_side(workers: Mapping[str, Worker], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Rates of what each worker has built, taken in turns: one value a round, so that ratios within a round hold
    even where the machine's speed drifts."""
    rates: dict[str, list[float]] = {key: [] for key in workers}
    for _ in range(rounds):
        for key, worker in workers.items():
            rates[key].append(worker.rate(seconds))
    return rates


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """Median over rounds of ours / theirs."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
