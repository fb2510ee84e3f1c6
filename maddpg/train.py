"""The training loop: collect, learn, evaluate, write down; and going on from a checkpoint."""

from __future__ import annotations

import math
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import torch

from maddpg.algorithms import check, find
from maddpg.collect import Collector
from maddpg.config import RunConfig
from maddpg.errors import RunError, UserError
from maddpg.interrupt import Interruption
from maddpg.players import agents_by_role, describe
from maddpg.progress import Display
from maddpg.rollout import EVALUATION_SEED, extras, mean_and_interval, play, role_returns
from maddpg.runs import Run, default_path, load_arrays, load_tensors, read_json
from maddpg.task import Task
from maddpg.worlds import Worlds, evaluation_width, make_worlds, parse_env_args, with_split

LOSSES_OVER = 20
"""Rounds over which the losses of a metrics line are averaged."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop and has saved a checkpoint. `code` is the exit code that says so."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Trainer:
    """One run: worlds, learner and counters. `Trainer(config)` plans it; `run` carries it out."""

    def __init__(self, config: RunConfig, algorithm: str = "maddpg") -> None:
        self.config, self.algorithm = config.validated(), algorithm
        self.notes: list[str] = []
        self.device = pick_device(config.device)
        torch.set_num_threads(config.threads)
        # What is tested on must not be trained on.
        self.env_args = with_split(config.env, parse_env_args(config.env_args), None, "train")
        if "split" in self.env_args:
            self.notes.append(f"trains and evaluates on split={self.env_args['split']}")
        self.worlds: Worlds = make_worlds(config.env, config.num_envs, self.env_args)
        self.task = Task.of(self.worlds)
        self.roles = agents_by_role(self.task)
        about = find(algorithm)
        check(about, self.task, config)
        self.learner = about.make_learner(self.task, config, self.device, config.total_rounds)
        self.collector = Collector(self.worlds, config.seed)
        self.step = self.rounds = 0
        self.seconds = 0.0
        self.recent: deque[dict[str, Any]] = deque(maxlen=LOSSES_OVER)
        self.eval_worlds: Worlds | None = None
        self.run_folder: Run | None = None

    @classmethod
    def resume(cls, run: Run, config: RunConfig) -> Trainer:
        """A trainer that stands where the latest checkpoint of `run` does, with the options of `config`.

        Nothing is written. Raises RunError if the checkpoint is missing, damaged, or of something else.
        """
        folder = run.latest()
        state = read_json(folder / "state.json")
        step = state.get("step")
        if not isinstance(step, int):
            raise RunError(f"{folder / 'state.json'} is damaged: it has no step")
        if config.total_steps <= step:
            raise RunError(
                f"run {str(run.path)!r} has done {step:,} steps of {config.total_steps:,}; "
                f"give --total-steps above {step} to go on"
            )
        tensors = load_tensors(folder / "learner.safetensors")
        tensors |= load_tensors(folder / "replay.safetensors")
        arrays = load_arrays(folder / "worlds.safetensors")
        trainer = cls(config, run.algorithm)
        if (kind := trainer.device.type) != (then := state.get("device", kind)):
            raise RunError(
                f"run {str(run.path)!r} was trained on {then}, whose random streams {kind} cannot go on with; "
                f"give --device {then}"
            )
        if (now := describe(trainer.task)) != (agents := run.about.get("agents")):
            raise RunError(f"run {str(run.path)!r} was made for agents {agents}, {config.env} has {now}")
        try:
            trainer.learner.load(tensors, state["learner"])
            exact = trainer.collector.load(arrays, state["collector"])
            trainer.rounds, trainer.seconds = int(state["rounds"]), float(state["seconds"])
            trainer.recent.extend(state["recent"])
        except (KeyError, RuntimeError, ValueError, TypeError) as error:
            raise RunError(f"{folder} does not fit this run: {error}") from error
        trainer.step, trainer.run_folder = step, run
        if not exact:
            trainer.collector = Collector(trainer.worlds, config.seed + step)
            trainer.collector.load({}, state["collector"])
            trainer.learner.begin_anew()
            trainer.notes.append(f"{config.env} cannot be stored mid-episode: its episodes start anew")
        if config.total_steps != run.config.total_steps:
            trainer.notes.append(
                f"total_steps {run.config.total_steps:,} -> {config.total_steps:,}: "
                "the schedules of learning rates and exploration are planned anew over the new total"
            )
        return trainer

    def run(self, quiet: bool = False) -> Run:
        """Trains to the end. Raises Interrupted after a checkpoint if the process is asked to stop."""
        config, run = self.config, self._open_folder()
        with (
            Interruption() as stop,
            Display(config.total_steps, self.step, list(self.roles), quiet) as display,
        ):
            self.display, self.began = display, time.perf_counter() - self.seconds
            where = f"{config.num_envs} worlds of {config.env}, {self.device}, seed {config.seed}"
            display.say(f"{self.algorithm}: {where}; run folder {run.path}")
            for note in self.notes:
                display.say(note)
            if self.step == 0 and config.eval_interval:
                self._evaluate(run)
            display.begin()
            while self.step < config.total_steps:
                self._advance()
                done = self.step >= config.total_steps
                if done or self._crossed(config.log_interval):
                    self._log(run)
                if config.eval_interval and (done or self._crossed(config.eval_interval)):
                    self._evaluate(run)
                if display.due():
                    display.update(self.step, self._rolling())
                if done or stop or self._crossed(config.checkpoint_interval):
                    self._checkpoint(run)
                if stop and not done:
                    display.update(self.step, self._rolling())
                    raise Interrupted(stop.code)
            display.update(self.step, self._rolling())
        return run

    @property
    def folder(self) -> Run:
        """The run folder, once `run` has begun."""
        assert self.run_folder is not None
        return self.run_folder

    def _open_folder(self) -> Run:
        config = self.config
        if self.run_folder is not None:
            self.run_folder.cut_metrics(self.step)
            self.run_folder.write_config(config)
            return self.run_folder
        path = Path(config.out) if config.out else default_path(config, self.algorithm)
        facts = {"agents": describe(self.task), "torch": torch.__version__}
        self.run_folder = Run.create(path, config, self.algorithm, facts)
        return self.run_folder

    def _advance(self) -> None:
        """One step of every world, and the rounds that have become due."""
        learner, config = self.learner, self.config
        warm = self.step < config.warmup_steps
        acting = self.collector.acting
        learner.remember(self.collector.step(lambda seen: learner.explore(seen, acting, warm)))
        self.before, self.step = self.step, self.step + config.num_envs
        while self.rounds < min(config.rounds_due(self.step), config.total_rounds):
            self.recent.append(learner.update(self.rounds))
            self.rounds += 1

    def _crossed(self, interval: int) -> bool:
        return self.step // interval != self.before // interval

    def _rolling(self) -> dict[str, float]:
        means = self.collector.rolling.means()
        if not means:
            return {}
        return {r: float(np.mean([means[a] for a in agents])) for r, agents in self.roles.items()}

    def _line(self) -> dict[str, Any]:
        self.seconds = time.perf_counter() - self.began
        return {"step": self.step, "seconds": round(self.seconds, 3)}

    def _log(self, run: Run) -> None:
        line = self._line() | {"rounds": self.rounds, "episodes": self.collector.episodes}
        line |= {f"return/{a}": m for a, m in self.collector.recent.take().items()}
        losses = self._losses()
        if bad := [name for name, value in losses.items() if not math.isfinite(value)]:
            self.display.say(f"step {self.step:,}: {', '.join(bad)} is not finite; a lower learning rate may help")
        line |= {name: value if math.isfinite(value) else None for name, value in losses.items()}
        run.log(line)
        self.display.losses = {
            f"{kind} loss": float(np.mean(values))
            for kind in dict.fromkeys(name.partition("_loss/")[0] for name in losses if "_loss/" in name)
            if (values := [v for name, v in losses.items() if name.startswith(f"{kind}_loss/")])
        }

    def _losses(self) -> dict[str, float]:
        rounds = self._recent_floats()
        names = dict.fromkeys(name for r in rounds for name in r)  # not every policy learns in every round
        return {name: float(np.mean([r[name] for r in rounds if name in r])) for name in names}

    def _recent_floats(self) -> list[dict[str, float]]:
        floats = [{name: float(value) for name, value in r.items()} for r in self.recent]
        self.recent = deque(floats, maxlen=LOSSES_OVER)
        return floats

    def _evaluate(self, run: Run) -> None:
        """Plays the fixed episodes greedily, without shaping terms, and writes what came of them."""
        config = self.config
        if self.eval_worlds is None:
            width = evaluation_width(config.env, config.eval_episodes)
            self.eval_worlds = make_worlds(config.env, width, self.env_args, shaping=False)
        episodes = play(self.eval_worlds, self.learner.player(), config.eval_episodes, EVALUATION_SEED)
        line = self._line() | {"eval/episodes": config.eval_episodes}
        for agent, returns in episodes.returns.items():
            line[f"eval/return/{agent}"], line[f"eval/interval/{agent}"] = mean_and_interval(returns)
        for name, values in extras(self.eval_worlds, episodes).items():
            line[f"eval/{name.replace(' ', '_')}"] = mean_and_interval(values)[0]
        run.log(line)
        by_role = role_returns(episodes, self.roles)
        self.display.evaluated(self.step, {r: float(v.mean()) for r, v in by_role.items()})

    def _checkpoint(self, run: Run) -> None:
        tensors, meta = self.learner.state()
        arrays, state = self.collector.state()
        self.seconds = time.perf_counter() - self.began
        run.save(
            self.step,
            tensors,
            arrays,
            {
                "device": self.device.type,
                "rounds": self.rounds,
                "seconds": self.seconds,
                "learner": meta,
                "collector": state,
                "recent": self._recent_floats(),
            },
        )


def pick_device(name: str) -> torch.device:
    """The device called auto, cpu, cuda or cuda:N. Raises UserError if it is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise UserError(f"device={name!r} must be auto, cpu, cuda or cuda:N")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            found = f"{count} CUDA devices" if count else "no CUDA device"
            raise UserError(f"device={name!r}: this machine has {found}; use --device auto or cpu")
    return torch.device(name)
