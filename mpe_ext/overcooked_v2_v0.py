"""overcooked_v2: a team carries out a program in a kitchen (see `mpe_ext.overcooked_v2`)."""

from typing import Any

from mpe_ext.engine.faces import faces
from mpe_ext.overcooked_v2.game import OvercookedV2

env, parallel_env, vector_env = faces(OvercookedV2, __name__)
raw_env = env


def level(env: Any, world: int = 0) -> str:
    """The kitchen of `env` (AEC, Parallel or vector) as it is, as a text that `scene=` takes."""
    from mpe_ext.overcooked_v2.kitchens import level_of
    from mpe_ext.overcooked_v2.levels import print_level

    env = getattr(env, "unwrapped", env)
    worlds = getattr(env, "_worlds", env)
    return print_level(level_of(worlds._state, world))


__all__ = ["env", "level", "parallel_env", "raw_env", "vector_env"]
