"""Who plays in an evaluation: random, a scripted policy of the game, a run, or a policy file, for each role."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from maddpg.collect import Act, Arrays
from maddpg.config import ConfigError, MaddpgConfig
from maddpg.errors import RunError, UserError, nearest
from maddpg.learner import Actors
from maddpg.runs import Run, atomically, load_tensors, read_json, write_json
from maddpg.task import Task
from maddpg.worlds import Worlds, make_worlds, parse_env_args

SHIPPED = Path(__file__).parent / "policies"
"""Trained policies that come with the package: <env>.safetensors and <env>.json."""


def agents_by_role(task: Task) -> dict[str, list[str]]:
    """The agents of each role, roles in order of appearance."""
    return {role: [a for a, r in zip(task.agents, task.roles, strict=True) if r == role] for role in task.role_names}


def describe(task: Task) -> dict[str, Any]:
    """Sizes and kinds of actions by agent, as JSON-able values: what a policy must agree with."""
    return {
        agent: {"role": role, "observation": size, "actions": action.kind, "action_size": action.size}
        for agent, role, size, action in zip(task.agents, task.roles, task.observation_sizes, task.actions, strict=True)
    }


class Trained:
    """The actors of a run folder, one of its checkpoints, or a policy file, with what they were trained on."""

    def __init__(self, source: str | Path) -> None:
        self.source = Path(source)
        if self.source.suffix == ".safetensors":
            about, tensors = read_json(self.source.with_suffix(".json")), load_tensors(self.source)
            try:
                self.config = MaddpgConfig.from_dict(about["config"])
                self.step = int(about["step"])
            except ConfigError as error:
                raise RunError(f"{self.source.with_suffix('.json')} cannot be used: {error}") from error
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise RunError(f"{self.source.with_suffix('.json')} is damaged: {error!r}") from error
        else:
            at_checkpoint = (self.source / "learner.safetensors").is_file()
            run = Run.open(self.source.parent.parent if at_checkpoint else self.source)
            folder = self.source if at_checkpoint else run.latest()
            self.config, tensors = run.config, load_tensors(folder / "learner.safetensors")
            try:
                self.step = int(read_json(folder / "state.json")["step"])
            except (KeyError, TypeError, ValueError) as error:
                raise RunError(f"{folder / 'state.json'} is damaged: {error!r}") from error
        self.env, self.env_args = self.config.env, parse_env_args(self.config.env_args)
        worlds = make_worlds(self.env, 1, self.env_args)
        self.task = Task.of(worlds)
        worlds.close()
        self.tensors = tensors
        self.actors(0)

    def actors(self, seed: int) -> Actors:
        """The networks that act, sampling (where they sample) from `seed` on."""
        try:
            return Actors.from_tensors(self.task, self.config, self.tensors, seed=seed)
        except UserError as error:
            raise RunError(f"{self.source} does not fit {self.env}: {error}") from error

    def export(self, path: Path) -> None:
        """Writes the actors alone to a .safetensors file, with a .json of the same name beside it."""
        import safetensors.torch

        tensors = {k: t.contiguous() for k, t in self.actors(0).tensors().items()}
        about = {"step": self.step, "agents": describe(self.task)}
        config = self.config.to_dict() | {"out": None, "resume": None}
        atomically(path, lambda partial: safetensors.torch.save_file(tensors, partial))
        write_json(path.with_suffix(".json"), {**about, "config": config})


class Cast:
    """A policy for each role of a game: `names` is `NAME` for all roles or `NAME:NAME:...` in their order.

    NAME is random, a scripted policy of the game (rules, lookahead), a run folder, a checkpoint folder or a
    .safetensors file. Raises UserError for other names, too few or too many, and policies that do not fit.
    """

    def __init__(
        self,
        names: str,
        worlds: Worlds,
        seed: int = 0,
        stochastic: bool = False,
        loaded: dict[str, Trained] | None = None,
    ) -> None:
        self.worlds, self.task, self.stochastic = worlds, Task.of(worlds), stochastic
        self.loaded = {} if loaded is None else loaded
        roles = agents_by_role(self.task)
        parts = names.split(":")
        if len(parts) == 1:
            parts *= len(roles)
        if len(parts) != len(roles):
            order = ":".join(roles)
            raise UserError(f"policy={names!r} names {len(parts)} policies; give one, or one a role: {order}")
        self.generator = np.random.default_rng((seed, 1))
        drawn_seed = int(self.generator.integers(2**62))
        self.acts: list[Act] = []
        for part in dict.fromkeys(parts):
            agents = [a for p, role in zip(parts, roles, strict=True) if p == part for a in roles[role]]
            self.acts.append(self._player(part, agents, drawn_seed))

    def __call__(self, observations: Arrays) -> Arrays:
        actions: Arrays = {}
        for act in self.acts:
            actions |= act(observations)
        return actions

    def _player(self, name: str, agents: list[str], seed: int) -> Act:
        if name == "random":
            return lambda observations: self._random(observations, agents)
        scripts = scripted(self.worlds)
        if name in scripts:
            game = self.worlds.game  # type: ignore[attr-defined]
            policies = {a: scripts[name](game, a) for a in agents}
            return lambda observations: {a: p(observations[a]) for a, p in policies.items()}
        if name not in self.loaded:
            if not Path(name).exists():
                known = ["random", *scripts]
                hint = nearest(name, known)
                raise UserError(f"policy={name!r} is neither a run folder nor one of {', '.join(known)}{hint}")
            self.loaded[name] = Trained(name)
        return self._trained(name, self.loaded[name], agents, seed)

    def _random(self, observations: Arrays, agents: Iterable[str]) -> Arrays:
        actions: Arrays = {}
        for agent in agents:
            space, worlds = self.worlds.action_space(agent), len(observations[agent])
            if isinstance(space, spaces.Discrete):
                actions[agent] = self.generator.integers(space.n, size=worlds) + space.start
            else:
                assert isinstance(space, spaces.Box)
                drawn = self.generator.uniform(space.low, space.high, (worlds, *space.shape))
                actions[agent] = drawn.astype(np.float32)
        return actions

    def _trained(self, name: str, trained: Trained, agents: list[str], seed: int) -> Act:
        mine, theirs = describe(self.task), describe(trained.task)
        for agent in agents:
            if mine[agent] != theirs.get(agent):
                raise RunError(
                    f"{name} does not fit: {agent} has {mine[agent]} here, but {theirs.get(agent)} in its training"
                )
        sizes = dict(zip(trained.task.agents, trained.task.observation_sizes, strict=True))
        actors, explore = trained.actors(seed), self.stochastic

        def act(observations: Arrays) -> Arrays:
            rows = len(observations[agents[0]])
            # Agents that this policy does not play may have other observations here than in its training.
            seen = {a: observations[a] if a in agents else np.zeros((rows, n), np.float32)
                    for a, n in sizes.items()}  # fmt: skip
            chosen = actors.act(seen, explore=explore)
            return {a: chosen[a] for a in agents}

        return act


def scripted(worlds: Worlds) -> dict[str, Any]:
    """Makers of the scripted policies of a game, by name: `POLICIES` of the heuristics in its room."""
    game = getattr(worlds, "game", None)
    if game is None:
        return {}
    room = type(game).__module__.rpartition(".")[0]
    name = f"{room}.heuristics"
    try:
        return dict(importlib.import_module(name).POLICIES)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return {}
