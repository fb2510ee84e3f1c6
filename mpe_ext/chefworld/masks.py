"""An optional mask made of public knowledge alone; results with it are to be reported apart from those without."""

import numpy as np

from mpe_ext.chefworld.game import ChefWorld, read
from mpe_ext.chefworld.heuristics import consistent


def plausible(game: ChefWorld, agent: str, observation: np.ndarray) -> np.ndarray:
    """int8[W]: the kinds that some dish which may still be the target needs, for one observation."""
    seen = read(game, observation[None])
    possible = consistent(seen.recipe, seen.work)[0]
    needed = seen.recipe[0] > seen.work[0]
    return (needed & possible[:, None]).any(axis=0).astype(np.int8)
