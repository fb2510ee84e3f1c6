"""Evaluating policies side by side on the same episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maddpg.errors import UserError
from maddpg.players import SHIPPED, Cast, Trained, agents_by_role, scripted
from maddpg.rollout import Episodes, extras, mean_and_interval, play, role_returns
from maddpg.task import Task
from maddpg.worlds import Worlds, evaluation_width, find, make_worlds


@dataclass(frozen=True)
class Request:
    """What to evaluate. `policies` as `players.Cast` takes them."""

    policies: tuple[str, ...]
    env: str
    env_args: dict[str, Any]
    episodes: int
    seed: int
    stochastic: bool
    max_cycles: int | None


@dataclass
class Result:
    """Means and half widths of 95 % intervals of one policy: by role, by agent, and the extras of the game."""

    label: str
    roles: dict[str, tuple[float, float]]
    agents: dict[str, tuple[float, float]]
    extras: dict[str, tuple[float, float]]
    length: float


@dataclass
class Report:
    """All results on one game."""

    env: str
    env_args: dict[str, Any]
    episodes: int
    seed: int
    stochastic: bool
    max_cycles: int | None
    members: dict[str, list[str]]
    results: list[Result]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able: for each policy mean and `interval`, the half width of the 95 % interval."""

        def pairs(values: dict[str, tuple[float, float]]) -> dict[str, dict[str, float]]:
            return {k: {"mean": mean, "interval": half} for k, (mean, half) in values.items()}

        policies = [
            {
                "policy": r.label,
                "length": r.length,
                "roles": pairs(r.roles),
                "agents": pairs(r.agents),
                "extras": pairs(r.extras),
            }
            for r in self.results
        ]
        return {
            "env": self.env,
            "env_args": self.env_args,
            "episodes": self.episodes,
            "seed": self.seed,
            "stochastic": self.stochastic,
            "max_cycles": self.max_cycles,
            "roles": self.members,
            "policies": policies,
        }


class Evaluation:
    """The worlds of a request and the policies loaded for it."""

    def __init__(self, request: Request, loaded: dict[str, Trained] | None = None) -> None:
        self.request, self.loaded = request, loaded or {}
        self.worlds: Worlds = make_worlds(
            request.env,
            evaluation_width(request.env, request.episodes),
            request.env_args,
            shaping=False,
            max_cycles=request.max_cycles,
        )
        self.members = agents_by_role(Task.of(self.worlds))

    def cast(self, names: str) -> Cast:
        """The players called `names`, ready for these worlds or for one world of the same game."""
        request = self.request
        return Cast(names, self.worlds, request.seed, request.stochastic, self.loaded)

    def run(self) -> Report:
        """Plays every policy on the same episodes."""
        request = self.request
        casts = [self.cast(names) for names in request.policies]
        results = []
        for names, cast in zip(request.policies, casts, strict=True):
            episodes = play(self.worlds, cast, request.episodes, request.seed)
            results.append(self._result(names, episodes))
        return Report(
            request.env,
            request.env_args,
            request.episodes,
            request.seed,
            request.stochastic,
            request.max_cycles,
            self.members,
            results,
        )

    def _result(self, names: str, episodes: Episodes) -> Result:
        def summed(values: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
            return {k: mean_and_interval(v) for k, v in values.items()}

        return Result(
            label(names),
            summed(role_returns(episodes, self.members)),
            summed(episodes.returns),
            summed(extras(self.worlds.metadata.get("name", ""), episodes)),
            float(episodes.lengths.mean()),
        )


def beside(policy: str, env: str, env_args: dict[str, Any]) -> tuple[str, ...]:
    """A policy and the yardsticks it is read against: random play, and the scripted policies of the game."""
    worlds = make_worlds(env, 1, env_args)
    names = (policy, "random", *scripted(worlds))
    worlds.close()
    return names


def shipped_policy(env: str) -> Path:
    """The policy that comes with the package for a game. Raises UserError if there is none."""
    path = SHIPPED / f"{find(env).env_id}.safetensors"
    if not path.is_file():
        raise UserError(f"no trained policy comes with {env}; give a run folder, or --policy and --env")
    return path


def label(names: str) -> str:
    """A policy as a table shows it: paths by their last part."""

    def short(name: str) -> str:
        path = Path(name)
        if path.parent == SHIPPED:
            return "shipped"
        return path.stem if path.suffix == ".safetensors" else path.name

    return ":".join(map(short, names.split(":")))
