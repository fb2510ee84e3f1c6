"""The folder that a run leaves behind, and the rules by which it is written.

    config.json                        algorithm, options, agents, versions
    metrics.jsonl                      one JSON object a line: step, seconds, return/<agent>, losses, eval/...
    checkpoints/latest.json            which checkpoint a resumed run starts from
    checkpoints/step_000100000/        learner.safetensors, worlds.safetensors, state.json
                                       and, in the latest only, replay.safetensors
    curves.png                         returns over steps

Files are written beside their place and moved there, so that a run that is killed at any moment can be
resumed from its latest checkpoint. Nothing here is a pickle; but the game that config.json names is imported and
called, so a folder of unknown origin is opened at one's own risk.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

from maddpg.algorithms import find
from maddpg.config import RunConfig
from maddpg.errors import RunError, UserError

FORMAT = 1
REPLAY = "replay/"
"""Learner tensors whose names begin so are the replay buffer, which only the latest checkpoint keeps."""


def default_path(config: RunConfig, algorithm: str) -> Path:
    """runs/<env>/<algorithm>/<time>-s<seed>, with a number behind it if that exists."""
    env = re.sub(r"[^\w.-]+", "_", config.env)
    stem = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-s{config.seed}"
    folder = Path("runs") / env / algorithm
    names = (stem if k == 1 else f"{stem}-{k}" for k in range(1, 1000))
    return next(folder / name for name in names if not (folder / name).exists())


def refuse_existing(path: Path) -> None:
    """Raises RunError if something stands where a new run folder would go."""
    if path.exists() or path.is_symlink():
        raise RunError(f"out={str(path)!r} exists already; give another --out, or --resume it")


class Run:
    """A run folder that exists. `Run.create` makes one, `Run.open` checks and opens one."""

    def __init__(self, path: Path, about: dict[str, Any], config: RunConfig) -> None:
        self.path, self.about, self.config = path, about, config

    @classmethod
    def create(cls, path: Path, config: RunConfig, algorithm: str, facts: Mapping[str, Any]) -> Run:
        """Makes the folder with its config.json. Raises RunError if it exists or cannot be made."""
        refuse_existing(path)
        try:
            (path / "checkpoints").mkdir(parents=True)
        except OSError as error:
            raise RunError(f"out={str(path)!r} cannot be made: {error.strerror}") from error
        run = cls(path, {"format": FORMAT, "algorithm": algorithm, **facts}, config)
        run.write_config(config)
        return run

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """The run in `path`. Raises RunError if there is none, or its config.json cannot be used."""
        path = Path(path)
        if not path.is_dir():
            raise RunError(f"{str(path)!r} is not a run folder: there is no such folder")
        if not (path / "config.json").is_file():
            raise RunError(f"{str(path)!r} is not a run folder: it has no config.json")
        about = read_json(path / "config.json")
        if about.get("format") != FORMAT:
            raise RunError(f"{path / 'config.json'}: format {about.get('format')!r}, expected {FORMAT}")
        try:
            config = find(about.get("algorithm", "maddpg")).config.from_dict(about.pop("config"))
        except (UserError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path / 'config.json'} cannot be used: {error}") from error
        return cls(path, about, config)

    @property
    def algorithm(self) -> str:
        """What it was trained by."""
        return self.about.get("algorithm", "maddpg")

    def write_config(self, config: RunConfig) -> None:
        """Replaces the options on disk. Where the run lies and what it was resumed from are not part of it."""
        self.config = config
        options = config.to_dict() | {"out": None, "resume": None}
        write_json(self.path / "config.json", {**self.about, "config": options})

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    def log(self, line: Mapping[str, Any]) -> None:
        """Appends one line of metrics."""
        with open(self.metrics_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """All lines of metrics; a last line torn by a crash is left out."""
        if not self.metrics_path.exists():
            return []
        lines = self.metrics_path.read_text(encoding="utf-8").splitlines()
        parsed = []
        for number, line in enumerate(lines, 1):
            try:
                parsed.append(json.loads(line))
            except ValueError as error:
                if number == len(lines):
                    break
                raise RunError(f"{self.metrics_path}: line {number} is not JSON") from error
        return parsed

    def cut_metrics(self, step: int) -> None:
        """Drops the lines after `step`: a resumed run writes them again."""
        lines = self.metrics()
        if any(not isinstance(line, dict) or not isinstance(line.get("step"), int) for line in lines):
            raise RunError(f"{self.metrics_path}: a line has no whole number `step`")
        kept = [line for line in lines if line["step"] <= step]
        text = "".join(json.dumps(line) + "\n" for line in kept)
        atomically(self.metrics_path, lambda path: path.write_text(text, encoding="utf-8"))

    def save(
        self,
        step: int,
        tensors: Mapping[str, torch.Tensor],
        worlds: Mapping[str, np.ndarray],
        state: Mapping[str, Any],
    ) -> Path:
        """Writes the checkpoint of `step`, makes it the latest, and drops the replay buffer of the one before."""
        folder = self.path / "checkpoints" / f"step_{step:09d}"
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        replay = {k: t.contiguous() for k, t in tensors.items() if k.startswith(REPLAY)}
        others = {k: t.contiguous() for k, t in tensors.items() if not k.startswith(REPLAY)}
        arrays = {k: np.asarray(v, order="C") for k, v in worlds.items()}
        safetensors.torch.save_file(others, partial / "learner.safetensors")
        safetensors.torch.save_file(replay, partial / "replay.safetensors")
        safetensors.numpy.save_file(arrays, partial / "worlds.safetensors")
        write_json(partial / "state.json", {"format": FORMAT, "step": step, **state})
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(partial, folder)
        write_json(self.path / "checkpoints" / "latest.json", {"step": step, "folder": folder.name})
        for old in self.checkpoints():
            if old != folder:
                (old / "replay.safetensors").unlink(missing_ok=True)
        return folder

    def checkpoints(self) -> list[Path]:
        """Folders of the whole checkpoints, oldest first."""
        return sorted(p for p in (self.path / "checkpoints").glob("step_*") if (p / "state.json").exists())

    def latest(self) -> Path:
        """Folder of the latest checkpoint. Raises RunError if the run has none."""
        pointer = self.path / "checkpoints" / "latest.json"
        if not pointer.is_file():
            raise RunError(f"run {str(self.path)!r} has no checkpoint yet; start it anew with another --out")
        folder = pointer.parent / str(read_json(pointer).get("folder", ""))
        if not (folder / "state.json").is_file():
            raise RunError(f"{pointer} names {folder.name!r}, which is not a checkpoint")
        return folder


def load_tensors(path: Path, device: str = "cpu") -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file. Raises RunError if it is missing or damaged."""
    return _load(path, lambda: safetensors.torch.load_file(path, device=device))


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """The same, as numpy arrays."""
    return _load(path, lambda: safetensors.numpy.load_file(path))


def _load(path: Path, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not path.is_file():
        raise RunError(f"{path} is missing; use another checkpoint or start the run anew")
    try:
        return read()
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise RunError(f"{path} is damaged ({error}); use another checkpoint or start anew") from error


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises RunError if it is missing or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RunError(f"{path} is damaged: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise RunError(f"{path} is damaged: not a JSON object")
    return value


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Writes a JSON object at once: a reader sees the old file or the new one."""
    text = json.dumps(value, indent=1) + "\n"
    atomically(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a file beside `path` and moves it there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
