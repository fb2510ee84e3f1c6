"""Tables, and the deterministic split into train and test tables.

A table is an integer whose bit j says that slot j is occupied.
"""

import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

TEST_SHARE = (3, 10)  # floor(3/10 of all tables) are test tables


class Tables(NamedTuple):
    """All tables of one size of game, for one split seed. Arrays are shared: nobody may write to them."""

    numbers: np.ndarray  # int64[n]: the train tables, then the test tables
    num_train: int
    is_test: np.ndarray  # bool[2**D], by table; the all-free one is neither if it is not among them
    is_there: np.ndarray  # bool[2**D]


def how_many(num_slots: int, include_all_free: bool) -> int:
    """Number of tables."""
    return 2**num_slots - (not include_all_free)


@lru_cache(maxsize=16)
def tables(num_slots: int, include_all_free: bool, split_seed: int) -> Tables:
    """All tables and their split. Sorting the keys by SHA-256 makes it the same on every platform."""
    prefix = f"tomgames/meeting/v1/{split_seed}/"
    every = range(not include_all_free, 2**num_slots)
    order = sorted(every, key=lambda table: hashlib.sha256((prefix + key(table, num_slots)).encode()).digest())
    num_test = len(every) * TEST_SHARE[0] // TEST_SHARE[1]
    numbers = np.array(order[num_test:] + order[:num_test], np.int64)
    is_test, is_there = np.zeros(2**num_slots, np.bool_), np.zeros(2**num_slots, np.bool_)
    is_test[order[:num_test]] = True
    is_there[order] = True
    for array in (numbers, is_test, is_there):
        array.flags.writeable = False
    return Tables(numbers, len(order) - num_test, is_test, is_there)


def key(table: int, num_slots: int) -> str:
    """A table as the text that is hashed: slot 0 first."""
    return "".join(str(table >> j & 1) for j in range(num_slots))


def tables_of(params: Any) -> np.ndarray:
    """The tables of the part that the parameter `split` names, uint8[n, D]."""
    found = tables(params.num_slots, params.include_all_free, params.split_seed)
    part = {"all": slice(None), "train": slice(found.num_train), "test": slice(found.num_train, None)}[params.split]
    return slots_of(found.numbers[part], params.num_slots).astype(np.uint8)


def slots_of(numbers: np.ndarray, num_slots: int) -> np.ndarray:
    """Bits of tables [...], int64[..., D]."""
    return np.asarray(numbers)[..., None] >> np.arange(num_slots) & 1


def number_of(slots: np.ndarray) -> np.ndarray:
    """Tables with these bits [..., D], int64[...]."""
    return (np.asarray(slots, np.int64) << np.arange(np.shape(slots)[-1])).sum(axis=-1)
