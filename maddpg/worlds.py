"""Finding a game by its name, and many copies of it that step together.

Our own games bring a vector environment; any other PettingZoo parallel environment is run in a Python loop
behind the same interface (`pettingzoo_worlds`), so that the trainer knows one kind of worlds only.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from maddpg.errors import EnvError, nearest
from maddpg.pettingzoo_worlds import PettingZooWorlds

MOST_WORLDS = 8_192
MOST_LOOPED = 16


class Worlds(Protocol):
    """What the trainer asks of `num_envs` copies of a game that restart by themselves (SAME_STEP)."""

    possible_agents: list[str]
    num_envs: int
    max_cycles: int | None
    metadata: dict[str, Any]

    def observation_space(self, agent: str) -> spaces.Space: ...
    def action_space(self, agent: str) -> spaces.Space: ...
    def reset(
        self, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]: ...
    def step(self, actions: dict[str, np.ndarray]) -> tuple[dict[str, Any], ...]: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Source:
    """Where a game comes from: a maker of one PettingZoo ParallelEnv, and of a vector environment if it has one."""

    env_id: str
    parallel: Callable[..., Any]
    vector: Callable[..., Any] | None


def find(env_id: str) -> Source:
    """The game named `env_id`: an id of mpe_ext, a module path, `module:callable`, or a PettingZoo registry id.

    Raises EnvError with the nearest name when there is no such game.
    """
    from mpe_ext.all_modules import MODULES

    ours = env_id.removeprefix("mpe_ext/").replace("-v", "_v")
    if ours in MODULES:
        module = importlib.import_module(MODULES[ours])
        return Source(ours, module.parallel_env, getattr(module, "vector_env", None))
    if "/" in env_id:
        return _registered(env_id)
    module_name, _, attribute = env_id.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name == error.name or module_name.startswith(error.name + ".")):
            raise EnvError(f"env={env_id!r} needs the module {error.name!r}, which is not installed") from error
        raise EnvError(f"env={env_id!r} is not a known game{nearest(env_id, _candidates(env_id))}") from error
    except (ValueError, TypeError) as error:
        raise EnvError(f"env={env_id!r} is not the name of a module") from error
    if not attribute and hasattr(module, "parallel_env"):
        return Source(env_id, module.parallel_env, getattr(module, "vector_env", None))
    maker = getattr(module, attribute or "parallel_env", None)
    if not callable(maker):
        what = attribute or "parallel_env"
        raise EnvError(f"env={env_id!r}: the module {module_name} has no {what} to call")
    return Source(env_id, maker, None)


def make_worlds(
    env_id: str,
    num_envs: int,
    env_args: dict[str, Any] | None = None,
    *,
    shaping: bool = True,
    max_cycles: int | None = None,
) -> Worlds:
    """`num_envs` copies of a game, whose arrays may be views that the next step overwrites.

    Without `shaping`, parameters of the game named `*_shaping` that are numbers become 0, so that returns can
    be compared between runs. Raises EnvError for unknown games and arguments.
    """
    source = find(env_id)
    kwargs = dict(env_args or {})
    if max_cycles is not None:
        kwargs["max_cycles"] = max_cycles
    if source.vector is None:
        envs = [_call(source, source.parallel, kwargs) for _ in range(num_envs)]
        return PettingZooWorlds(envs)
    make = source.vector
    worlds = _call(source, make, kwargs, num_envs=num_envs, autoreset_mode="same_step", copy=False)
    if not shaping and (off := _shaping_terms(worlds)):
        worlds.close()
        kwargs |= off
        worlds = _call(source, make, kwargs, num_envs=num_envs, autoreset_mode="same_step", copy=False)
    return worlds


def evaluation_width(env_id: str, episodes: int) -> int:
    """How many worlds play `episodes` episodes fastest: all at once, or a few where Python loops over them."""
    return min(episodes, MOST_WORLDS if find(env_id).vector is not None else MOST_LOOPED)


def make_parallel(
    env_id: str,
    env_args: dict[str, Any] | None = None,
    *,
    render_mode: str | None = None,
    shaping: bool = True,
    max_cycles: int | None = None,
) -> Any:
    """One PettingZoo ParallelEnv of the game, for drawing. Arguments as in `make_worlds`."""
    source = find(env_id)
    kwargs = dict(env_args or {})
    if max_cycles is not None:
        kwargs["max_cycles"] = max_cycles
    env = _call(source, source.parallel, kwargs, render_mode=render_mode)
    if not shaping and (off := _shaping_terms(env)):
        env.close()
        env = _call(source, source.parallel, kwargs | off, render_mode=render_mode)
    return env


def with_split(env_id: str, env_args: dict[str, Any], chosen: str | None, default: str) -> dict[str, Any]:
    """`env_args` with the part of its private states that a game draws: the one chosen, else the one among
    `env_args`, else `default`. Games without such parts keep their arguments; choosing one is an EnvError there."""
    worlds = make_worlds(env_id, 1, {k: v for k, v in env_args.items() if k != "split"})
    parts = hasattr(getattr(getattr(worlds, "game", None), "params", None), "split")
    worlds.close()
    if not parts:
        if chosen is not None:
            raise EnvError(f"split={chosen!r}: {env_id} has no splits")
        return env_args
    if chosen is not None and env_args.get("split", chosen) != chosen:
        raise EnvError(f"split={chosen!r} contradicts env_args split={env_args['split']}")
    return {"split": chosen or default, **env_args}


def parse_env_args(items: Iterable[str]) -> dict[str, Any]:
    """`["num_J=20", "env_quality=L"]` -> `{"num_J": 20, "env_quality": "L"}`: Python literals, else strings.

    Raises EnvError for anything that is not key=value, and for a key given twice.
    """
    words = {"true": True, "false": False, "none": None}
    parsed: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.isidentifier():
            raise EnvError(f"env_args: {item!r} must have the form key=value, such as num_J=20")
        if key in parsed:
            raise EnvError(f"env_args: {key} is given twice")
        try:
            parsed[key] = words[text.lower()] if text.lower() in words else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            parsed[key] = text
    return parsed


def _call(source: Source, make: Callable[..., Any], kwargs: dict[str, Any], **ours: Any) -> Any:
    if clash := sorted(set(kwargs) & set(ours)):
        raise EnvError(f"env_args: {clash[0]} is set by the trainer and cannot be given")
    try:
        return make(**kwargs, **ours)
    except (TypeError, ValueError, AssertionError) as error:
        raise EnvError(f"{source.env_id}: {error}") from error


def _shaping_terms(env: Any) -> dict[str, float]:
    params = getattr(getattr(env, "game", None), "params", None)
    if params is None:
        return {}
    values = {f.name: getattr(params, f.name) for f in dataclasses.fields(params)}
    return {
        name: 0.0
        for name, value in values.items()
        if name.endswith("_shaping") and isinstance(value, (int, float)) and value != 0
    }


def _registered(env_id: str) -> Source:
    import pettingzoo

    make = getattr(pettingzoo, "make", None)
    if make is None:
        raise EnvError(f"env={env_id!r}: this PettingZoo has no registry; give the module path of the game")
    try:
        pettingzoo.spec("parallel", env_id) if hasattr(pettingzoo, "spec") else None
    except Exception as error:
        raise EnvError(f"env={env_id!r}: {error}") from error
    return Source(env_id, lambda **kwargs: make("parallel", env_id, **kwargs), None)


def _candidates(env_id: str) -> list[str]:
    """Names near which `env_id` may lie: our ids, and the modules beside the one that was asked for."""
    from mpe_ext.all_modules import MODULES

    package, _, _ = env_id.partition(":")[0].rpartition(".")
    names = list(MODULES)
    if package:
        try:
            beside = pkgutil.iter_modules(importlib.import_module(package).__path__)
            names += [f"{package}.{module.name}" for module in beside]
        except (ImportError, AttributeError, ValueError):
            pass
    return names
