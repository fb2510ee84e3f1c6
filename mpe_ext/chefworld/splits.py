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


MOST_DRAWS = 400_000  # of so many ways to draw a dish a table is kept


class Dishes(NamedTuple):
    """All dishes of one size of game, for one split seed. Arrays are shared: nobody may write to them."""

    steps: np.ndarray  # int64[W, M + 1, M + 1]: what a count adds to a dish's number, see `number`
    by_number: np.ndarray  # uint8[n + 1, W]: counts, of the empty dish first
    drawn: np.ndarray  # int32[(W + 1) ** M]: the dish that each draw of M items makes; without entries if too many
    is_test: np.ndarray  # bool[n + 1], by number
    order: np.ndarray  # int64[n]: numbers of the train dishes, then of the test dishes
    num_train: int

    @property
    def counts(self) -> np.ndarray:
        """Counts of the train dishes, then of the test dishes, uint8[n, W]."""
        return self.by_number[self.order]


def how_many(num_ingredients: int, max_items: int) -> int:
    """Number of dishes."""
    return comb(num_ingredients + max_items, max_items) - 1


@lru_cache(maxsize=16)
def dishes(num_ingredients: int, max_items: int, split_seed: int) -> Dishes:
    """All dishes and their split. Sorting the keys by SHA-256 makes it the same on every platform."""
    steps, by_number, drawn = _draws(num_ingredients, max_items)
    prefix = f"tomgames/chef/v1/{split_seed}/"
    digests = [hashlib.sha256((prefix + key(counts)).encode()).digest() for counts in by_number.tolist()]
    order = sorted(range(1, len(by_number)), key=digests.__getitem__)
    num_test = len(order) * TEST_SHARE[0] // TEST_SHARE[1]
    test, train = order[:num_test], order[num_test:]
    is_test = np.zeros(len(by_number), np.bool_)
    is_test[test] = True
    ordered = np.array(train + test, np.int64)
    for array in (is_test, ordered):
        array.flags.writeable = False
    return Dishes(steps, by_number, drawn, is_test, ordered, len(train))


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


@lru_cache(maxsize=16)
def _draws(w: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What of `Dishes` does not depend on the split: steps, counts by number, and the dish of every draw."""
    steps, by_number = _steps(w, m), _every_dish(w, m)
    drawn = np.zeros(0, np.int32)
    if (w + 1) ** m <= MOST_DRAWS:
        left = np.arange((w + 1) ** m)
        counts = np.zeros((len(left), w + 1), np.uint8)
        for _ in range(m):  # the draw's digits to the base W + 1 are its items; W stands for nothing
            counts[np.arange(len(left)), left % (w + 1)] += 1
            left //= w + 1
        drawn = numbers(counts[:, :w], steps).astype(np.int32)
    for array in (steps, by_number, drawn):
        array.flags.writeable = False
    return steps, by_number, drawn


def _every_dish(w: int, m: int) -> np.ndarray:
    """uint8[n + 1, W] in lexicographic order, the empty dish first."""
    found: list[list[int]] = [[]]
    for _ in range(w):
        found = [[*counts, c] for counts in found for c in range(m - sum(counts) + 1)]
    return np.array(found, np.uint8).reshape(-1, w)


def _steps(w: int, m: int) -> np.ndarray:
    """steps[j, r, c]: how many vectors with r items left at kind j have a smaller count than c there."""
    steps = np.zeros((w, m + 1, m + 1), np.int64)
    for j in range(w):
        kinds_after = w - 1 - j
        for r in range(m + 1):
            for c in range(1, r + 1):
                steps[j, r, c] = steps[j, r, c - 1] + comb(r - (c - 1) + kinds_after, kinds_after)
    return steps
