"""Dishes, their numbers, and the deterministic split into train and test dishes.

A dish is a non-empty multiset of at most `max_items` ingredients: a vector of counts. Its number is its place in the
lexicographic order of all these vectors, from 1 on (0 is the empty dish, which is none).
"""

import hashlib
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

TEST_SHARE = (3, 10)  # floor(3/10 of all dishes) are test dishes


class Dishes(NamedTuple):
    """All dishes of one size of game, for one split seed. Arrays are shared: nobody may write to them."""

    steps: np.ndarray  # int64[W, M + 1, M + 1]: what a count adds to a dish's number, see `number`
    is_test: np.ndarray  # bool[n + 1], by number
    counts: np.ndarray  # uint8[n, W]: the train dishes, then the test dishes
    num_train: int


def how_many(num_ingredients: int, max_items: int) -> int:
    """Number of dishes."""
    return comb(num_ingredients + max_items, max_items) - 1


@lru_cache(maxsize=16)
def dishes(num_ingredients: int, max_items: int, split_seed: int) -> Dishes:
    """All dishes and their split. Sorting the keys by SHA-256 makes it the same on every platform."""
    every = _every_dish(num_ingredients, max_items)
    prefix = f"tomgames/chef/v1/{split_seed}/"
    digests = [hashlib.sha256((prefix + key(counts)).encode()).digest() for counts in every.tolist()]
    order = sorted(range(len(every)), key=digests.__getitem__)
    num_test = len(every) * TEST_SHARE[0] // TEST_SHARE[1]
    test, train = order[:num_test], order[num_test:]
    is_test = np.zeros(len(every) + 1, np.bool_)
    is_test[np.array(test, np.int64) + 1] = True
    found = Dishes(_steps(num_ingredients, max_items), is_test, every[train + test], len(train))
    for array in found[:3]:
        array.flags.writeable = False
    return found


def key(counts: list[int]) -> str:
    """A dish as the text that is hashed."""
    return ",".join(map(str, counts))


def numbers(recipes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Numbers of the dishes with counts [..., W]."""
    rest = steps.shape[1] - 1 - np.zeros(recipes.shape[:-1], np.int64)
    total = np.zeros_like(rest)
    for j in range(recipes.shape[-1]):
        count = recipes[..., j].astype(np.int64)
        total += steps[j, rest, count]
        rest = rest - count
    return total


def _every_dish(w: int, m: int) -> np.ndarray:
    """uint8[n, W] in lexicographic order, without the empty dish."""
    found: list[list[int]] = [[]]
    for _ in range(w):
        found = [[*counts, c] for counts in found for c in range(m - sum(counts) + 1)]
    return np.array(found[1:], np.uint8).reshape(-1, w)


def _steps(w: int, m: int) -> np.ndarray:
    """steps[j, r, c]: how many vectors with r items left at kind j have a smaller count than c there."""
    steps = np.zeros((w, m + 1, m + 1), np.int64)
    for j in range(w):
        kinds_after = w - 1 - j
        for r in range(m + 1):
            for c in range(1, r + 1):
                steps[j, r, c] = steps[j, r, c - 1] + comb(r - (c - 1) + kinds_after, kinds_after)
    return steps
