"""The constructors of an environment module: `env`, `parallel_env`, `raw_env` and `vector_env` of one game."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from mpe_ext.engine.aec import GameAECEnv
from mpe_ext.engine.game import Game
from mpe_ext.engine.parallel import GameParallelEnv
from mpe_ext.engine.turns import GameTurnsEnv
from mpe_ext.engine.vector import VectorEnv

_DOC = """{what} of `{name}`.

    Keyword arguments are the game's parameters; `preset` chooses their defaults ({presets}). The docs page of the
    environment lists them all.
    """


def faces(game: type[Game], module: str) -> tuple[Callable, Callable, Callable]:
    """(env, parallel_env, vector_env) of a game, for the shim whose `__name__` is `module`.

    Signature and documentation come from the game's parameter dataclass.
    """

    def make(name: str, what: str, cls: type, own: dict[str, Any]) -> Callable:
        def constructor(*args: Any, **kwargs: Any) -> Any:
            if len(args) > len(own):
                raise TypeError(f"{name}() takes at most {len(own)} positional arguments; name the parameters")
            chosen = dict(zip(own, args, strict=False))
            if twice := chosen.keys() & kwargs.keys():
                raise TypeError(f"{name}() got {min(twice)!r} twice, by position and by name")
            chosen |= {k: v for k, v in kwargs.items() if k in own}
            parameters = {k: v for k, v in kwargs.items() if k not in own}
            return cls(game.make(also=tuple(own), **parameters), **(own | chosen))

        fields = dataclasses.fields(game.params_type)
        parameters = [inspect.Parameter(k, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v) for k, v in own.items()]
        parameters += [inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default) for f in fields]
        constructor.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        constructor.__name__ = constructor.__qualname__ = name
        constructor.__module__ = module  # so that it pickles by reference
        constructor.__doc__ = _DOC.format(what=what, name=game.name, presets=", ".join(game.presets))
        return constructor

    render = {"render_mode": None}
    batch = {"num_envs": 1, "num_threads": None, "autoreset_mode": "same_step", "copy": True}
    return (
        make("env", "The AEC environment", GameTurnsEnv if game.turn_based else GameAECEnv, render),
        make("parallel_env", "The Parallel environment", GameParallelEnv, render),
        make("vector_env", "A vector environment of `num_envs` worlds", VectorEnv, batch),
    )
