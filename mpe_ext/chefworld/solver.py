"""What is possible in ChefWorld: distinct representatives of dishes, and the value of the best joint strategy."""

from functools import cache
from itertools import product

import numpy as np

from mpe_ext.engine.jit import kernel
from mpe_ext.engine.random import GOLDEN, mix

Dish = tuple[int, ...]


def representatives(recipe: np.ndarray, seed: int) -> np.ndarray:
    """int64[N, K]: for each dish of recipes int64[N, K, W] a kind that it contains, all of a recipe different; -1 for
    dishes that get none where not all can have one. Which ones depends on the recipe and the seed only."""
    n, dishes, kinds = recipe.shape
    chosen, owner = np.full((n, dishes), -1, np.int64), np.full(kinds, -1, np.int64)
    order, tried, path = np.zeros(kinds, np.int64), np.zeros(kinds, np.bool_), np.zeros((dishes + 1, 2), np.int64)
    contained = np.ascontiguousarray(recipe, np.int64)
    _represent(0, n, contained, np.uint64(seed), chosen, owner, order, tried, path)
    return chosen


@kernel
def _represent(lo, hi, recipe, seed, chosen, owner, order, tried, path):
    """Augmenting paths (Kuhn 1955) through kinds in an order that a hash of the recipe shuffles."""
    dishes, kinds = recipe.shape[1], recipe.shape[2]
    for w in range(lo, hi):
        state = mix(seed * GOLDEN)
        for k in range(dishes):
            for j in range(kinds):
                state = mix(state + np.uint64(recipe[w, k, j]) + GOLDEN)
        for j in range(kinds):
            order[j] = j
            owner[j] = -1
        for j in range(kinds - 1, 0, -1):
            state = mix(state + GOLDEN)
            i = np.int64(state % np.uint64(j + 1))
            order[i], order[j] = order[j], order[i]
        for k in range(dishes):
            for j in range(kinds):
                tried[j] = False
            # path[d]: a dish that looks for a kind, and the place in the order from which it goes on looking
            depth = 0
            path[0, 0], path[0, 1] = k, 0
            while depth >= 0:
                dish, place = path[depth, 0], path[depth, 1]
                if place == kinds:
                    depth -= 1
                    continue
                path[depth, 1] += 1
                j = order[place]
                if recipe[w, dish, j] == 0 or tried[j]:
                    continue
                tried[j] = True
                if owner[j] >= 0:
                    depth += 1
                    path[depth, 0], path[depth, 1] = owner[j], 0
                    continue
                for d in range(depth + 1):  # every dish on the path takes the kind that it last looked at
                    owner[order[path[d, 1] - 1]] = path[d, 0]
                depth = -1
        for j in range(kinds):
            if owner[j] >= 0:
                chosen[w, owner[j]] = j


def value(recipe: tuple[Dish, ...]) -> float:
    """Probability of success of the best joint strategy for a recipe of dishes as count vectors, targets all alike.

    Exact dynamic programming over (workplace, set of dishes that may be the target), where a chef's strategy prescribes
    an ingredient for each dish of the set, and the assistant one for the set that remains. Prescriptions without
    chance are enough: agents with one reward and common knowledge of the history cannot gain by drawing lots.
    """
    kinds = range(len(recipe[0]))

    def needed(k: int, work: Dish) -> list[int]:
        return [j for j in kinds if recipe[k][j] > work[j]]

    def add(work: Dish, j: int) -> Dish:
        return (*work[:j], work[j] + 1, *work[j + 1 :])

    def go_on(dishes: frozenset[int], work: Dish, chefs_turn: bool) -> int:
        """Targets won among those of the set that need what was added last."""
        won = sum(recipe[k] == work for k in dishes)
        rest = frozenset(k for k in dishes if recipe[k] != work)
        return won + (wins(rest, work, chefs_turn) if rest else 0)

    @cache
    def wins(dishes: frozenset[int], work: Dish, chefs_turn: bool) -> int:
        """Of the targets in the set, how many the best strategy wins from here on."""
        best = 0
        if not chefs_turn:
            for j in sorted({j for k in dishes for j in needed(k, work)}):
                safe = frozenset(k for k in dishes if recipe[k][j] > work[j])
                best = max(best, go_on(safe, add(work, j), True))
                if best == len(dishes):
                    break
            return best
        for spoken in product(*(needed(k, work) for k in sorted(dishes))):
            total = 0
            for j in set(spoken):
                told = frozenset(k for k, said in zip(sorted(dishes), spoken, strict=True) if said == j)
                total += go_on(told, add(work, j), False)
            best = max(best, total)
            if best == len(dishes):
                break
        return best

    empty = (0,) * len(recipe[0])
    return wins(frozenset(range(len(recipe))), empty, True) / len(recipe)
