"""Exact results by enumeration: what two rules earn over all pairs of tables, and a good code for one message."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mpe_ext.meeting_scheduling.game import MeetingScheduling, spans
from mpe_ext.meeting_scheduling.masks import truthful_actions

Rule = Callable[[np.ndarray, tuple[tuple[int, int], ...]], np.ndarray]


class Outcome(NamedTuple):
    """Means over games."""

    success: float
    returns: float  # of either participant, undiscounted
    informs: float
    truncated: float


def enumerate_games(game: MeetingScheduling, rules: tuple[Rule, Rule], tables: np.ndarray | None = None) -> Outcome:
    """The exact outcome of two participants' rules (see heuristics.py), over all ordered pairs of tables (default:
    those of the game's split) with both first movers.

    Every public history that the rules can bring about is followed once, with the probabilities of all pairs of tables
    that lead to it. Rules that look at the own table only (`Blind`) bring about far too many; there histories of one
    length are one.
    """
    if tables is None:
        numbers, count, part = game.tables.numbers, game.tables.num_train, game.params.split
        tables = {"all": numbers, "train": numbers[:count], "test": numbers[count:]}[part]
    walk = _Walk(game, rules, np.asarray(tables, np.int64))
    blind = all(hasattr(rule, "chances") for rule in rules)
    # With one rule for both, who begins is only a name.
    firsts = (0,) if rules[0] is rules[1] else (0, 1)
    for first in firsts:
        if blind:
            walk.go_blind(first)
        else:
            walk.go((), first, np.ones(len(tables)), np.ones(len(tables)))
    return Outcome(*(float(total) / (len(firsts) * len(tables) ** 2) for total in walk.totals))


class _Walk:
    """The tree of public histories. A node has for each table of either participant the probability of its own actions
    so far, given the history: their product is that of the pair, since neither sees the other's table."""

    def __init__(self, game: MeetingScheduling, rules: tuple[Rule, Rule], tables: np.ndarray):
        self.game, self.rules, self.tables = game, rules, tables
        self.informs, self.p = len(game.informs), game.params
        full = 2**self.p.num_slots - 1
        free = 1 - (tables[:, None] >> np.arange(self.p.num_slots) & 1)
        self.free = free.astype(float)
        self.no_common = (tables[:, None] | tables == full).astype(float)
        self.truthful = spans(game) & ~tables[:, None] == 0
        self.totals = np.zeros(4)  # of Outcome

    def go(self, history: tuple[tuple[int, int], ...], mover: int, mine: np.ndarray, theirs: np.ndarray) -> None:
        """`mine` is of the mover; `history` has led here."""
        here = np.flatnonzero(mine)
        chances = self.rules[mover](self.tables[here], history) * mine[here, None]
        weight = theirs.sum()
        p, said = self.p, len(history)
        paid = said * p.inform_reward
        for action in np.flatnonzero(chances.any(axis=0)):
            by_table = chances[:, action]
            if action < self.informs:
                true = self.truthful[here, action]
                lies = by_table[~true].sum() * weight
                self._end(lies, 0.0, paid, p.failure_reward, said + 1)
                if not true.any():
                    continue
                if said + 1 == p.max_messages:
                    cut = by_table[true].sum() * weight
                    self._end(cut, 0.0, paid + p.inform_reward + p.truncation_reward, 0.0, said + 1)
                    self.totals[3] += cut
                    continue
                told = np.zeros_like(mine)
                told[here[true]] = by_table[true]
                self.go((*history, (mover, int(action))), 1 - mover, theirs, told)
                continue
            both = by_table.sum() * weight
            if action == self.game.reject:
                won = by_table @ self.no_common[here] @ theirs
                lost = p.reject_fail_reward
            else:
                slot = action - self.informs
                won = (by_table @ self.free[here, slot]) * (self.free[:, slot] @ theirs)
                lost = p.failure_reward
            self._end(both, won, paid, lost, said)

    def go_blind(self, first: int) -> None:
        """The same where the probabilities of actions do not depend on the history."""
        chances = [rule(self.tables, ()) for rule in self.rules]
        p, d, games = self.p, self.p.num_slots, np.ones((len(self.tables),) * 2)  # games[i, j]: tables of 0 and 1
        for said in range(p.max_messages):
            mover = (first + said) % 2
            each = chances[mover]
            told = (each[:, : self.informs] * self.truthful).sum(axis=1)
            slots = (each[:, self.informs : self.informs + d] * self.free) @ self.free.T
            rejects = each[:, -1:] * self.no_common
            # [own table, other's table], as the mover sees it
            now = games if mover == 0 else games.T
            paid = said * p.inform_reward
            for which, won, lost in (
                (each[:, self.informs : -1].sum(axis=1), slots, p.failure_reward),
                (each[:, -1], rejects, p.reject_fail_reward),
            ):
                self._end((now * which[:, None]).sum(), (now * won).sum(), paid, lost, said)
            lies = each[:, : self.informs].sum(axis=1) - told
            self._end((now * lies[:, None]).sum(), 0.0, paid, p.failure_reward, said + 1)
            now = now * told[:, None]
            games = now if mover == 0 else now.T
        cut = games.sum()
        self._end(cut, 0.0, p.max_messages * p.inform_reward + p.truncation_reward, 0.0, p.max_messages)
        self.totals[3] += cut

    def _end(self, games: float, won: float, paid: float, lost: float, informs: int) -> None:
        """So many games end here, of which `won` are won."""
        reward = games * paid + won * self.p.success_reward + (games - won) * lost
        self.totals[:3] += (won, reward, games * informs)


def best_code(game: MeetingScheduling, rounds: int = 300, seed: int = 0) -> np.ndarray:
    """What each table should say, in one true message after which the other decides: int64[2**D], -1 where there is no
    such table or nothing to say. Alternating maximisation, from a tenth of the best code so far drawn anew in every
    round: what it finds is a lower bound of what is possible.
    """
    tables = game.tables.numbers[game.tables.numbers > 0]
    n, d = len(tables), game.params.num_slots
    can = truthful_actions(game, tables)[:, : len(game.informs)]
    busy = tables[:, None] | tables
    proposals, rejection = busy[:, :, None] >> np.arange(d) & 1 == 0, (busy == 2**d - 1)[:, :, None]
    holds = np.concatenate([proposals, rejection], axis=2).astype(np.float32).reshape(n, -1)  # [x, y and terminal]
    generator = np.random.default_rng(seed)

    def any_code() -> np.ndarray:
        return np.where(can, generator.random(can.shape), -1.0).argmax(axis=1)

    def climbed(message: np.ndarray) -> tuple[np.ndarray, float]:
        """The code after listeners and speakers have chosen their best in turns until nothing changes; its worth."""
        before = -1.0
        while True:
            spoken = (message[:, None] == np.arange(can.shape[1])).astype(np.float32)
            terminal = (spoken.T @ holds).reshape(-1, n, d + 1).argmax(axis=2)  # [message, y]
            chosen = np.zeros((can.shape[1], n, d + 1), np.float32)
            np.put_along_axis(chosen, terminal[:, :, None], 1.0, axis=2)
            worth = np.where(can, holds @ chosen.reshape(len(chosen), -1).T, -1.0)  # [x, message]
            reached = float(worth.max(axis=1).sum())
            if reached <= before:
                return message, before
            message, before = worth.argmax(axis=1), reached

    best, most = climbed(any_code())
    for _ in range(rounds):
        tried, worth = climbed(np.where(generator.random(n) < 0.1, any_code(), best))
        if worth >= most:
            best, most = tried, worth
    found = np.full(2**d, -1, np.int64)
    found[tables] = best
    return found
