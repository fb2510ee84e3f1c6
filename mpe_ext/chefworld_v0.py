"""chefworld: a chef and an assistant cook one of several dishes (see `mpe_ext.chefworld`)."""

from typing import Any

from mpe_ext.chefworld.game import ChefWorld
from mpe_ext.engine.faces import faces

env, parallel_env, vector_env = faces(ChefWorld, __name__)
raw_env = env


def plausible_mask(env: Any) -> Any:
    """`env` (AEC or Parallel) with a mask of the kinds that some dish which may still be the target needs."""
    from mpe_ext.chefworld.masks import plausible
    from mpe_ext.engine.masks import masked

    return masked(env, plausible)


__all__ = ["env", "parallel_env", "plausible_mask", "raw_env", "vector_env"]
