"""Evaluating policies side by side on the same episodes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maddpg.errors import UserError
from maddpg.players import SHIPPED, Cast, Trained, agents_by_role, ladder, scripted
from maddpg.rollout import extras, mean_and_interval, play, role_returns
from maddpg.task import Task
from maddpg.worlds import Worlds, evaluation_width, find, make_worlds
from mpe_ext.engine.game import Episodes


@dataclass(frozen=True)
class Request:
    """What to evaluate. `policies` as `players.Cast` takes them; a role may also have several, with commas between
    them, which stands for every combination."""

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
class Cross:
    """A cross table: `values[i][j]`, mean and half width, of row policy i with column policy j."""

    name: str
    rows: list[str]
    columns: list[str]
    values: list[list[tuple[float, float]]]


@dataclass
class Report:
    """All results on one game. `split` is the part of its private states that was played, None without parts."""

    env: str
    env_args: dict[str, Any]
    episodes: int
    seed: int
    stochastic: bool
    max_cycles: int | None
    split: str | None
    members: dict[str, list[str]]
    results: list[Result]
    crosses: list[Cross]

    def to_dict(self) -> dict[str, Any]:
        """JSON-able: for each policy mean and `interval`, the half width of the 95 % interval."""

        def pairs(values: dict[str, tuple[float, float]]) -> dict[str, dict[str, float | None]]:
            return {k: pair(v) for k, v in values.items()}

        def pair(value: tuple[float, float]) -> dict[str, float | None]:
            mean, half = (None if math.isnan(number) else number for number in value)
            return {"mean": mean, "interval": half}

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
            "split": self.split,
            "roles": self.members,
            "policies": policies,
            "cross_tables": [
                {
                    "name": c.name,
                    "rows": c.rows,
                    "columns": c.columns,
                    "values": [[pair(cell) for cell in row] for row in c.values],
                }
                for c in self.crosses
            ],
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

    def run(self, tell: Callable[[int, int], None] = lambda done, total: None) -> Report:
        """Plays every policy on the same episodes; `tell(done, total)` is called before each."""
        request = self.request
        every = list(dict.fromkeys(names for given in request.policies for names in combinations(given)))
        casts = [self.cast(names) for names in every]
        results = []
        for done, (names, cast) in enumerate(zip(every, casts, strict=True)):
            tell(done, len(every))
            episodes = play(self.worlds, cast, request.episodes, request.seed)
            self._check_split(episodes)
            results.append(self._result(names, episodes))
        return Report(
            request.env,
            request.env_args,
            request.episodes,
            request.seed,
            request.stochastic,
            request.max_cycles,
            self.split,
            self.members,
            results,
            cross_tables(request.policies, dict(zip(every, results, strict=True))),
        )

    @property
    def split(self) -> str | None:
        """The part of the game's private states that is played; None where it has no parts."""
        return getattr(getattr(getattr(self.worlds, "game", None), "params", None), "split", None)

    def _check_split(self, episodes: Episodes) -> None:
        """No figure may come from episodes of another part than is said."""
        if self.split is not None:
            outside = self.worlds.game.outside_split(episodes)  # type: ignore[attr-defined]
            assert not outside, f"{outside} episodes lie outside split={self.split!r}"

    def _result(self, names: str, episodes: Episodes) -> Result:
        def summed(values: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
            return {k: mean_and_interval(v) for k, v in values.items()}

        return Result(
            label(names),
            summed(role_returns(episodes, self.members)),
            summed(episodes.returns),
            summed(extras(self.worlds, episodes)),
            float(episodes.lengths.mean()),
        )


def beside(policy: str, env: str, env_args: dict[str, Any]) -> tuple[str, ...]:
    """A policy and the yardsticks it is read against: random play, and the scripted policies of the game."""
    worlds = make_worlds(env, 1, env_args)
    names = (policy, *ladder(worlds))
    worlds.close()
    return names


def combinations(policies: str) -> list[str]:
    """`a,b:c,d` as a:c, a:d, b:c, b:d."""
    return [":".join(one) for one in itertools.product(*(part.split(",") for part in policies.split(":")))]


def cross_tables(policies: tuple[str, ...], results: Mapping[str, Result]) -> list[Cross]:
    """For policies of two roles of which both have several: one table of success (or of the first role's return).
    `results` are by the policies' names."""
    tables = []
    for given in policies:
        parts = [part.split(",") for part in given.split(":")]
        if len(parts) != 2 or min(map(len, parts)) < 2:
            continue
        cells = [[results[f"{row}:{column}"] for column in parts[1]] for row in parts[0]]
        if "success" in cells[0][0].extras:
            name, values = "success", [[c.extras["success"] for c in row] for row in cells]
        else:
            role = next(iter(cells[0][0].roles))
            name, values = f"return of {role}", [[c.roles[role] for c in row] for row in cells]
        tables.append(Cross(name, [label(p) for p in parts[0]], [label(p) for p in parts[1]], values))
    return tables


def describe_policies(env: str, env_args: dict[str, Any]) -> dict[str, dict[str, str]]:
    """By role of a game, the names of its policies, each with a line of meaning."""
    worlds = make_worlds(env, 1, env_args)
    roles, scripts = agents_by_role(Task.of(worlds)), scripted(worlds)
    worlds.close()
    return {
        role: {"random": "uniform over the action space"}
        | {name: s.meaning for name, s in scripts.items() if not s.roles or role in s.roles}
        for role in roles
    }


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
