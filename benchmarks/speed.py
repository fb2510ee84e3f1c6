"""Measures the speed of mpe_ext beside its peers, in one run, and writes the tables.

    python benchmarks/speed.py            # about ten minutes; writes results/speed.json and docs/speed.md
    python benchmarks/speed.py --quick    # about two minutes, rough; prints only

Each implementation runs in a process of its own, and they are measured in turns: a round takes one value of each,
ratios are taken within a round, and what is printed is the median over rounds. Batch sizes are swept first and the
best is kept, for peers as for us. A peer that is not installed is skipped; VMAS and JaxMARL may live in virtual
environments of their own (options --vmas-python and --jaxmarl-python, or the variables MPE_EXT_VMAS_PYTHON and
MPE_EXT_JAXMARL_PYTHON).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import speed_report
from measure import Worker, WorkerError, best, cores, median_ratio, side_by_side

ROOT = Path(__file__).resolve().parent.parent
# Peer: the packages that must import, and the variable that names its interpreter.
PEERS = {
    "mpe2": (["mpe2"], "MPE_EXT_MPE2_PYTHON"),
    "vmas": (["vmas", "torch"], "MPE_EXT_VMAS_PYTHON"),
    "jaxmarl": (["jaxmarl", "jax"], "MPE_EXT_JAXMARL_PYTHON"),
}


@dataclass
class Plan:
    """How long to measure."""

    rounds: int = 7
    seconds: float = 2.0
    sweep_seconds: float = 0.7
    ours: tuple[int, ...] = (512, 1_024, 2_048, 4_096, 8_192, 16_384, 65_536, 131_072)
    vmas: tuple[int, ...] = (1_024, 4_096, 16_384, 32_768, 65_536, 131_072)
    jaxmarl: tuple[int, ...] = (256, 1_024, 4_096, 8_192, 16_384, 65_536)
    growth: tuple[int, ...] = (1_024, 4_096, 16_384, 65_536, 131_072)
    threads: tuple[int, ...] = tuple(sorted({1, cores()}))  # of torch, in update rounds
    training: bool = True


QUICK = Plan(3, 0.3, 0.2, (1_024, 4_096, 16_384), (4_096, 32_768), (4_096,), (1_024, 131_072), (1,), False)


@dataclass
class Benchmark:
    """One run: its workers, and what has been found so far."""

    plan: Plan
    pythons: dict[str, str]
    found: dict[str, Any] = field(default_factory=dict)
    peers: dict[str, Worker] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """All sections, as a JSON-able dict."""
        self.ours, self.learner = Worker("ours.py"), Worker("ours.py")
        try:
            self.found["machine"] = machine()
            self.found["versions"] = self.ours.call("versions")
            self.find_peers()
            for section in (self.one_world, self.batches, self.growth, self.rules, self.start, self.update):
                say(f"measuring {section.__name__.replace('_', ' ')} ...")
                began = time.perf_counter()
                section()
                say(f"  took {time.perf_counter() - began:.0f} s")
            if self.plan.training:
                say("training 750,000 steps with 7,000 rounds ...")
                self.found["training"] = training()
        finally:
            for worker in (self.ours, self.learner, *self.peers.values()):
                worker.close()
        self.found["rounds"], self.found["seconds"] = self.plan.rounds, self.plan.seconds
        return self.found

    def find_peers(self) -> None:
        """Start those that are installed, and say which are not."""
        self.found["skipped"] = {}
        for peer, (packages, _) in PEERS.items():
            worker = Worker("peers.py", self.pythons[peer])
            try:
                self.found["versions"] |= worker.call("versions", packages=packages)
                self.peers[peer] = worker
                say(f"peer {peer} {self.found['versions'][peer]} found")
            except WorkerError as error:
                worker.close()
                self.found["skipped"][peer] = str(error)
                say(f"peer {peer} skipped: {error}")

    def turns(self, key: str, workers: dict[str, Worker], **facts: Any) -> None:
        """Measure what the workers have built in turns and keep it under `key`."""
        rates = side_by_side(workers, self.plan.rounds, self.plan.seconds)
        ratios = {peer: median_ratio(rates["ours"], rates[peer]) for peer in rates if peer != "ours"}
        medians = {name: statistics.median(values) for name, values in rates.items()}
        self.found[key] = {"medians": medians, "ratios": ratios, "rates": rates, **facts}

    def one_world(self) -> None:
        """Parallel and AEC beside mpe2."""
        mpe2 = self.peers.get("mpe2")
        cases: list[tuple[str, str, str, dict[str, Any]]] = [
            ("parallel", "parallel", "mpe2_parallel", {}),
            ("parallel_with_reset", "parallel", "mpe2_parallel", {"with_reset": True}),
            ("aec", "aec", "mpe2_aec", {}),
        ]
        for key, own, other, options in cases:
            self.ours.make(own, **options)
            workers = {"ours": self.ours}
            if mpe2:
                mpe2.make(other, **options)
                workers["mpe2"] = mpe2
            self.turns(key, workers)

    def batches(self) -> None:
        """Batches at their best sizes, ours with views and with copies."""
        plan, seconds = self.plan, self.plan.sweep_seconds
        sizes: dict[str, Any] = {}
        sweeps: dict[str, list[Any]] = {}

        def sweep(key: str, worker: Worker, case: str, numbers: tuple[int, ...], **fixed: Any) -> None:
            winner, tried = best(worker, case, [{"num_envs": n, **fixed} for n in numbers], seconds)
            sizes[key] = winner["num_envs"]
            sweeps[key] = [[option["num_envs"], rate] for option, rate in tried]

        copies = Worker("ours.py")
        workers = {"ours": self.ours, "ours with copies": copies}
        extra: list[Worker] = [copies]
        try:
            sweep("ours", self.ours, "vector", plan.ours, copy=False)
            sweep("ours with copies", copies, "vector", plan.ours, copy=True)
            if "vmas" in self.peers:
                extra.append(Worker("peers.py", self.pythons["vmas"]))
                for scenario, worker in (("simple_tag", self.peers["vmas"]), ("simple_spread", extra[-1])):
                    workers[f"vmas {scenario}"] = worker
                    sweep(f"vmas {scenario}", worker, "vmas", plan.vmas, scenario=scenario)
            if "jaxmarl" in self.peers:
                workers["jaxmarl simple_tag"] = self.peers["jaxmarl"]
                sweep("jaxmarl simple_tag", self.peers["jaxmarl"], "jaxmarl", plan.jaxmarl)
            self.turns("vector", workers, best_num_envs=sizes, sweeps=sweeps)
        finally:
            for worker in extra:
                worker.close()

    def growth(self) -> None:
        """Nanoseconds a world-step from small to large batches, sizes in turns; memory a world."""
        sizes = self.plan.growth
        times: dict[str, dict[int, list[float]]] = {mode: {n: [] for n in sizes} for mode in ("views", "copies")}
        for _ in range(self.plan.rounds):
            for mode, by_size in times.items():
                for n, values in by_size.items():
                    self.ours.make("vector", num_envs=n, copy=mode == "copies")
                    values.append(1e9 / self.ours.rate(self.plan.sweep_seconds))
        fresh = Worker("ours.py")
        try:
            memory = fresh.call("memory", num_envs=sizes[-1])
        finally:
            fresh.close()
        self.found["growth"] = {
            "nanoseconds": {m: {n: statistics.median(v) for n, v in d.items()} for m, d in times.items()},
            "ratio": {m: median_ratio(d[sizes[-1]], d[sizes[0]]) for m, d in times.items()},
            "times": times,
            "bytes_per_world": memory,
        }

    def rules(self) -> None:
        """What each rule of the tag game takes."""
        self.found["rules"] = self.ours.call("rules")

    def start(self) -> None:
        """A first call without a cache, and with a warm one."""
        with tempfile.TemporaryDirectory() as cache:
            cold = self.ours.call("first_call", face="parallel", cache=cache)
            self.found["start"] = {"cold": cold}
            for face in ("parallel", "vector"):
                warm = [self.ours.call("first_call", face=face, cache=cache) for _ in range(self.plan.rounds)]
                self.found["start"][face] = {key: statistics.median(w[key] for w in warm) for key in cold}

    def update(self) -> None:
        """MADDPG update rounds, with the better number of torch threads for each."""
        plain, shared = Worker("ours.py"), Worker("ours.py")
        kinds = {
            "ours": (self.learner, {"kind": "stacked", "batch_size": 1024}),
            "ours, shared batch": (shared, {"kind": "stacked", "batch_size": 1024, "shared_batch": True}),
            "plain loop": (plain, {"kind": "plain", "batch_size": 1024}),
        }
        threads: dict[str, int] = {}
        try:
            for key, (worker, options) in kinds.items():
                choices = [{**options, "threads": n} for n in self.plan.threads]
                winner, _ = best(worker, "update_round", choices, self.plan.sweep_seconds)
                threads[key] = winner["threads"]
            self.turns("update", {key: worker for key, (worker, _) in kinds.items()}, threads=threads)
        finally:
            plain.close()
            shared.close()


def training() -> dict[str, Any]:
    """Seconds that `main.py` takes for the reference schedule: 750,000 steps, a round every 100 after 50,000."""
    options = "--preset reference --num-envs 25 --steps-per-update 100 --total-steps 750000 --warmup-steps 50000"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "main.py", "maddpg", *options.split(), "--out", str(Path(folder) / "run")]
        start = time.perf_counter()
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if process.returncode:
            last = (process.stderr.strip() or process.stdout.strip()).splitlines()[-1:]
            return {"error": f"main.py ended with exit code {process.returncode}: {' '.join(last)}"}
        return {"seconds": time.perf_counter() - start, "options": options}


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    name = platform.processor() or platform.machine()
    if shutil.which("lscpu"):
        for line in subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines():
            if line.startswith("Model name:"):
                name = line.split(":", 1)[1].strip()
    facts = {"cpu": name, "cores": cores(), "system": platform.system(), "python": platform.python_version()}
    return facts | {"date": date.today().isoformat()}


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """The command. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short and rough; prints and writes no files")
    parser.add_argument("--rounds", type=int, help="rounds of measuring in turns (default 7, quick 3)")
    parser.add_argument("--seconds", type=float, help="seconds of each measurement (default 2, quick 0.3)")
    parser.add_argument("--no-training", action="store_true", help="leave out the training run of some minutes")
    for peer, (_, variable) in PEERS.items():
        default = os.environ.get(variable, sys.executable)
        parser.add_argument(f"--{peer}-python", default=default, help=f"interpreter with {peer} (or {variable})")
    args = parser.parse_args()
    pythons = {peer: getattr(args, f"{peer}_python") for peer in PEERS}
    for peer, python in pythons.items():
        if shutil.which(python) is None:
            parser.error(f"--{peer}-python {python}: no such interpreter")
    plan = QUICK if args.quick else Plan()
    plan.rounds, plan.seconds = args.rounds or plan.rounds, args.seconds or plan.seconds
    plan.training &= not args.no_training
    if plan.rounds < 1 or plan.seconds <= 0:
        parser.error("--rounds and --seconds must be above 0")
    found = Benchmark(plan, pythons).run()
    print(speed_report.text(found))
    if not args.quick:
        results = ROOT / "benchmarks" / "results" / "speed.json"
        results.parent.mkdir(exist_ok=True)
        results.write_text(json.dumps(found, indent=1) + "\n")
        speed_report.write(found, ROOT / "docs" / "speed.md")
        say(f"written: {results.relative_to(ROOT)}, docs/speed.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
