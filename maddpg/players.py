"""Who plays in an evaluation: random, a scripted policy of the game, a run, or a policy file, for each role."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium import spaces

from maddpg.algorithms import find
from maddpg.collect import Arrays
from maddpg.config import ConfigError
from maddpg.errors import RunError, UserError, nearest
from maddpg.runs import Run, atomically, load_tensors, read_json, write_json
from maddpg.task import Task
from maddpg.worlds import Worlds, make_worlds, parse_env_args
from mpe_ext.engine.scripted import Scripted

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
                self.algorithm = about.get("algorithm", "maddpg")
                self.config = find(self.algorithm).config.from_dict(about["config"])
                self.step = int(about["step"])
            except ConfigError as error:
                raise RunError(f"{self.source.with_suffix('.json')} cannot be used: {error}") from error
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise RunError(f"{self.source.with_suffix('.json')} is damaged: {error!r}") from error
        else:
            at_checkpoint = (self.source / "learner.safetensors").is_file()
            run = Run.open(self.source.parent.parent if at_checkpoint else self.source)
            folder = self.source if at_checkpoint else run.latest()
            self.algorithm, self.config = run.algorithm, run.config
            tensors = load_tensors(folder / "learner.safetensors")
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

    def actors(self, seed: int) -> Any:
        """The networks that act, sampling (where they sample) from `seed` on."""
        try:
            return find(self.algorithm).make_actors(self.task, self.config, self.tensors, seed=seed)
        except UserError as error:
            raise RunError(f"{self.source} does not fit {self.env}: {error}") from error

    def export(self, path: Path) -> None:
        """Writes the actors alone to a .safetensors file, with a .json of the same name beside it."""
        import safetensors.torch

        tensors = {k: t.contiguous() for k, t in self.actors(0).tensors().items()}
        about = {"algorithm": self.algorithm, "step": self.step, "agents": describe(self.task)}
        config = self.config.to_dict() | {"out": None, "resume": None}
        atomically(path, lambda partial: safetensors.torch.save_file(tensors, partial))
        write_json(path.with_suffix(".json"), {**about, "config": config})


class Cast:
    """A policy for each role of a game: `names` is `NAME` for all, or `NAME:NAME:...` for the roles in their order, or
    for the agents.

    NAME is random, a scripted policy of the game (`evaluate.py --env ID --list-policies`), a run folder, a checkpoint
    folder or a .safetensors file. Raises UserError for other names, too few or too many, and policies that do not fit.
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
        if len(parts) == len(self.task.agents) != len(roles):
            roles = {agent: [agent] for agent in self.task.agents}
        if len(parts) != len(roles):
            order = ":".join(roles)
            raise UserError(f"policy={names!r} names {len(parts)} policies; give one, or one a role: {order}")
        self.generator = np.random.default_rng((seed, 1))
        drawn_seed = int(self.generator.integers(2**62))
        self.players: list[_Player] = []
        for part in dict.fromkeys(parts):
            agents = [a for p, role in zip(parts, roles, strict=True) if p == part for a in roles[role]]
            self.players.append(self._player(part, agents, drawn_seed))

    def __call__(self, observations: Arrays, acting: np.ndarray) -> Arrays:
        actions: Arrays = {}
        for player in self.players:
            actions |= player.act(observations, acting)
        return actions

    def begin(self, worlds: np.ndarray | None) -> None:
        """In these worlds (bool [W]; None: all) the next observations are the first of an episode."""
        for player in self.players:
            player.begin(worlds)

    def beliefs(self, observations: Arrays) -> Arrays:
        """By agent, what it believes of what it cannot see, [W, n], where its policy says so."""
        beliefs: Arrays = {}
        for player in self.players:
            beliefs |= player.beliefs(observations)
        return beliefs

    def _player(self, name: str, agents: list[str], seed: int) -> _Player:
        if name == "random":
            return _Random(self, agents)
        scripts = scripted(self.worlds)
        if name in scripts:
            game = self.worlds.game  # type: ignore[attr-defined]
            roles = dict(zip(self.task.agents, self.task.roles, strict=True))
            script = scripts[name]
            for agent in agents:
                if script.roles and roles[agent] not in script.roles:
                    able = [n for n, s in scripts.items() if not s.roles or roles[agent] in s.roles]
                    raise UserError(
                        f"policy={name!r} is one for {' and '.join(script.roles)}, not for {agent}; "
                        f"for that there are random, {', '.join(able)}"
                    )
            try:
                made = {a: script(game, a, seed + i) for i, a in enumerate(agents)}
            except ValueError as error:
                raise UserError(f"policy={name!r}: {error}") from error
            return _Script(made)
        if name not in self.loaded:
            if not Path(name).exists():
                known = ["random", *scripts]
                hint = nearest(name, known)
                raise UserError(f"policy={name!r} is neither a run folder nor one of {', '.join(known)}{hint}")
            self.loaded[name] = Trained(name)
        return _Networks(self, name, agents, seed)


class _Player:
    """Who plays some of the agents."""

    def act(self, observations: Arrays, acting: np.ndarray) -> Arrays:
        """Actions of its agents."""
        raise NotImplementedError

    def begin(self, worlds: np.ndarray | None) -> None:
        """In these worlds an episode begins."""

    def beliefs(self, observations: Arrays) -> Arrays:
        """What its agents believe, where it says so."""
        return {}


class _Random(_Player):
    def __init__(self, cast: Cast, agents: list[str]) -> None:
        self.generator, self.spaces = cast.generator, {a: cast.worlds.action_space(a) for a in agents}

    def act(self, observations: Arrays, acting: np.ndarray) -> Arrays:
        actions: Arrays = {}
        for agent, space in self.spaces.items():
            worlds = len(observations[agent])
            if isinstance(space, spaces.Discrete):
                actions[agent] = self.generator.integers(space.n, size=worlds) + space.start
            else:
                assert isinstance(space, spaces.Box)
                drawn = self.generator.uniform(space.low, space.high, (worlds, *space.shape))
                actions[agent] = drawn.astype(np.float32)
        return actions


class _Script(_Player):
    def __init__(self, policies: dict[str, Any]) -> None:
        self.policies = policies

    def act(self, observations: Arrays, acting: np.ndarray) -> Arrays:
        return {agent: policy(observations[agent]) for agent, policy in self.policies.items()}

    def beliefs(self, observations: Arrays) -> Arrays:
        return {a: p.beliefs(observations[a]) for a, p in self.policies.items() if hasattr(p, "beliefs")}


class _Networks(_Player):
    def __init__(self, cast: Cast, name: str, agents: list[str], seed: int) -> None:
        trained = cast.loaded[name]
        mine, theirs = describe(cast.task), describe(trained.task)
        for agent in agents:
            if mine[agent] != theirs.get(agent):
                raise RunError(
                    f"{name} does not fit: {agent} has {mine[agent]} here, but {theirs.get(agent)} in its training"
                )
        self.agents, self.player = agents, trained.actors(seed).player(cast.stochastic)
        self.sizes = dict(zip(trained.task.agents, trained.task.observation_sizes, strict=True))
        here = cast.task.agents
        self.columns = [here.index(a) if a in here else None for a in trained.task.agents]

    def act(self, observations: Arrays, acting: np.ndarray) -> Arrays:
        rows = len(observations[self.agents[0]])
        # Agents that this policy does not play may have other observations here than in its training.
        seen = {a: observations[a] if a in self.agents else np.zeros((rows, n), np.float32)
                for a, n in self.sizes.items()}  # fmt: skip
        idle = np.zeros(rows, np.bool_)
        turns = np.stack([idle if c is None else acting[:, c] for c in self.columns], axis=1)
        chosen = self.player(seen, turns)
        return {a: chosen[a] for a in self.agents}

    def begin(self, worlds: np.ndarray | None) -> None:
        self.player.begin(worlds)


def scripted(worlds: Any) -> dict[str, Scripted]:
    """The scripted policies of a game, by name: `POLICIES` of the heuristics in its room."""
    return dict(getattr(_heuristics(worlds), "POLICIES", {}))


def ladder(worlds: Any) -> tuple[str, ...]:
    """What a learner's results are read against: `LADDER` of the heuristics in the game's room, or all its scripted
    policies; random play first."""
    return ("random", *getattr(_heuristics(worlds), "LADDER", scripted(worlds)))


def _heuristics(worlds: Any) -> ModuleType | None:
    game = getattr(worlds, "game", None)
    if game is None:
        return None
    name = f"{type(game).__module__.rpartition('.')[0]}.heuristics"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
