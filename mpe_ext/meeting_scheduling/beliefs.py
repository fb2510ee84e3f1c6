"""What may be known of tables: sets of them that fit the public history, and how many of a set have which slots free.

Sets are bool[2**D] over tables, whose bit j says that slot j is occupied. Every belief here is uniform over a set:
tables are drawn alike, and the models of a speaker are deterministic.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Protocol

import numpy as np

from mpe_ext.meeting_scheduling import splits
from mpe_ext.meeting_scheduling.game import MeetingScheduling, Parameters, spans

History = tuple[tuple[int, int], ...]  # (participant, action) in order


class Counts:
    """How many tables of a set have what free."""

    def __init__(self, those: np.ndarray):
        self.total = int(those.sum())
        self.num_slots = len(those).bit_length() - 1
        above = those.astype(np.int64)  # above[b]: tables of the set in which all slots of b are occupied
        for j in range(self.num_slots):
            pairs = above.reshape(-1, 2, 1 << j)
            pairs[:, 0] += pairs[:, 1]
        self._above = above
        self._full = len(those) - 1
        self.free = self.total - above[1 << np.arange(self.num_slots)]  # by slot

    def no_common(self, tables: np.ndarray) -> np.ndarray:
        """Tables of the set without a common free slot with each of these, int64[n]."""
        return self._above[self._full & ~tables]

    def best(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each own table, the terminal that holds with most tables of the set, and with how many: a slot, or D for
        a rejection. Of equals the lowest slot, and a proposal before the rejection."""
        slots = np.arange(self.num_slots)
        free = np.where(tables[:, None] >> slots & 1 == 0, self.free, -1)
        every = np.concatenate([free, self.no_common(tables)[:, None]], axis=1)
        terminal = every.argmax(axis=1)
        return terminal, every[np.arange(len(tables)), terminal]


@lru_cache(maxsize=16)
def blocks(num_slots: int) -> np.ndarray:
    """The maximal blocks of occupied slots of every table as actions, longest first, leftmost of equals, then -1:
    int64[2**D, most]."""
    game = MeetingScheduling(Parameters(num_slots=num_slots))
    every, inside = np.arange(2**num_slots), spans(game)
    found, count = np.full((2**num_slots, (num_slots + 1) // 2), -1, np.int64), np.zeros(2**num_slots, np.int64)
    order = sorted(range(len(inside)), key=lambda a: (game.informs[a][0] - game.informs[a][1], game.informs[a][0]))
    for action in order:
        rows = every[is_block(num_slots, inside[action], every)]
        found[rows, count[rows]] = action
        count[rows] += 1
    found.flags.writeable = False
    return found


def is_block(num_slots: int, span: int, tables: np.ndarray) -> np.ndarray:
    """Whether a run of slots (as bits) is one of each table's maximal blocks."""
    around = (span << 1 | span >> 1) & ~span & (1 << num_slots) - 1
    return (span & ~tables == 0) & (around & tables == 0)


class Listener(Protocol):
    """Tells from the public history which tables each participant may have: two sets bool[2**D]."""

    game: MeetingScheduling

    def sets(self, history: History) -> tuple[np.ndarray, np.ndarray]: ...


class Fits:
    """Listens to messages one by one: a table may be the speaker's if the message fits it, whatever was said before.

    `fits(span, tables)` is bool[n]. Where nothing is left, which is with a speaker who is not as assumed, a message
    means only what it says."""

    def __init__(self, game: MeetingScheduling, fits: Callable[[int, np.ndarray], np.ndarray]):
        self.game, self.fits = game, fits
        self._spans = spans(game)
        self._tables = np.arange(2**game.params.num_slots)
        self._equal: dict[bytes, np.ndarray] = {}  # equal sets are one object: what is known of them is kept by that
        self._known: dict[History, tuple[np.ndarray, np.ndarray]] = {(): (game.tables.is_there, game.tables.is_there)}

    def sets(self, history: History) -> tuple[np.ndarray, np.ndarray]:
        """Which tables each participant may have."""
        if history not in self._known:
            before, (speaker, action) = self.sets(history[:-1]), history[-1]
            heard = before[speaker] & self.fits(self._spans[action], self._tables)
            if not heard.any():
                heard = said_only(self.game, history, speaker)
            heard = self._equal.setdefault(heard.tobytes(), heard)
            self._known[history] = (heard, before[1]) if speaker == 0 else (before[0], heard)
        return self._known[history]


def said_only(game: MeetingScheduling, history: History, speaker: int) -> np.ndarray:
    """The tables in which everything is occupied that the speaker has said to be."""
    told = np.bitwise_or.reduce([spans(game)[a] for i, a in history if i == speaker], initial=0)
    there = game.tables.is_there
    return there & (told & ~np.arange(len(there)) == 0)


def literal(game: MeetingScheduling) -> Fits:
    """A message says that its slots are occupied, and no more."""
    return Fits(game, lambda span, tables: span & ~tables == 0)


def maximal(game: MeetingScheduling) -> Fits:
    """A message is a block with free slots (or the day's end) on both sides."""
    return Fits(game, partial(is_block, game.params.num_slots))


def speaks(game: MeetingScheduling, message: np.ndarray) -> Fits:
    """Everybody knows what each table says: `message[table]`, or -1."""
    numbers = {int(span): action for action, span in enumerate(spans(game))}
    return Fits(game, lambda span, tables: message[tables] == numbers[int(span)])


def marginals(those: np.ndarray) -> np.ndarray:
    """Probability that each slot is occupied in a table of the set, float64[D]."""
    d = len(those).bit_length() - 1
    return splits.slots_of(np.flatnonzero(those), d).mean(axis=0)
