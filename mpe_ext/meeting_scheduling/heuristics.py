"""Scripted policies: the yardsticks that learners are compared with.

Policies act on observations alone; their random choices come from their own generator. Those of whom a partner can know
what they will say are deterministic: of equals the lowest slot, a proposal before a rejection, the leftmost block.
"""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from mpe_ext.engine.scripted import Policy, Scripted
from mpe_ext.meeting_scheduling import beliefs as bel
from mpe_ext.meeting_scheduling.beliefs import Counts, History, Listener, blocks
from mpe_ext.meeting_scheduling.game import MeetingScheduling, Parameters, Seen, read
from mpe_ext.meeting_scheduling.masks import truthful_actions
from mpe_ext.meeting_scheduling.solver import best_code

# (game, own tables int64[N], history of their game) -> probabilities of actions float64[N, A]
Rule = Callable[[np.ndarray, History], np.ndarray]


# Rules that look at the own table only ----------------------------------------------------------------------------


class Blind:
    """Takes no notice of what was said: `chances(game, tables)` are the probabilities of actions, float64[N, A]."""

    def __init__(self, chances: Callable[[MeetingScheduling, np.ndarray], np.ndarray], game: MeetingScheduling):
        self.chances, self.game = chances, game

    def __call__(self, tables: np.ndarray, history: History) -> np.ndarray:
        """Probabilities of actions."""
        return _shares(self.chances(self.game, tables))


def any_action(game: MeetingScheduling, tables: np.ndarray) -> np.ndarray:
    """All actions alike."""
    return np.ones((len(tables), game.num_actions))


def any_slot(game: MeetingScheduling, tables: np.ndarray) -> np.ndarray:
    """Proposals alike."""
    return any_terminal(game, tables) * (np.arange(game.num_actions) < game.reject)


def any_terminal(game: MeetingScheduling, tables: np.ndarray) -> np.ndarray:
    """Proposals and the rejection alike."""
    return any_action(game, tables) * (np.arange(game.num_actions) >= len(game.informs))


def any_free_slot(game: MeetingScheduling, tables: np.ndarray) -> np.ndarray:
    """Proposals of own free slots alike; the rejection where there are none."""
    chances = truthful_actions(game, tables) * any_slot(game, tables)
    chances[:, -1] = ~chances.any(axis=1)
    return chances


def _shares(weights: np.ndarray) -> np.ndarray:
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0)


# One message ------------------------------------------------------------------------------------------------------


class OneMessage:
    """Who moves first says one thing; who has heard something decides by what its listener makes of that."""

    def __init__(self, speak: Rule, listener: Listener):
        self.speak, self.listener, self.game = speak, listener, listener.game

    def __call__(self, tables: np.ndarray, history: History) -> np.ndarray:
        """Probabilities of actions."""
        if history:
            return decide(self.game, self.listener, tables, history)
        chances = self.speak(tables, history)
        silent = ~chances.any(axis=1)  # the all-free table has nothing to say
        if silent.any():
            chances[silent] = decide(self.game, self.listener, tables[silent], history)
        return chances


def decide(game: MeetingScheduling, listener: Listener, tables: np.ndarray, history: History) -> np.ndarray:
    """The terminal that most probably holds."""
    theirs = listener.sets(history)[1 - turn_of(history)]
    return _certain(game, len(game.informs) + Counts(theirs).best(tables)[0])


def turn_of(history: History) -> int:
    """Who acts next, where somebody has acted; before that it makes no difference, and 0 stands for both."""
    return 1 - history[-1][0] if history else 0


def any_interval(game: MeetingScheduling, tables: np.ndarray, history: History) -> np.ndarray:
    """Any true inform."""
    return _shares(truthful_actions(game, tables) * (np.arange(game.num_actions) < len(game.informs)))


def says(game: MeetingScheduling, message: np.ndarray, tables: np.ndarray, history: History) -> np.ndarray:
    """`message[table]`, where it is not -1."""
    return _certain(game, message[tables])


def longest_block(game: MeetingScheduling) -> np.ndarray:
    """The longest block of every table as an action, -1 for the all-free one, int64[2**D]."""
    return blocks(game.params.num_slots)[:, 0]


def first_block(game: MeetingScheduling) -> np.ndarray:
    """The leftmost block of every table as an action, -1 for the all-free one, int64[2**D]."""
    every = blocks(game.params.num_slots)
    start = np.array([start for start, _ in game.informs] + [game.params.num_slots])[every]
    return every[np.arange(len(every)), start.argmin(axis=1)]


@lru_cache(maxsize=8)
def code(num_slots: int, include_all_free: bool) -> np.ndarray:
    """A code that was agreed on beforehand: what each table says, found by `solver.best_code`."""
    if num_slots > 8:
        raise ValueError(f"num_slots={num_slots}: the code is searched for up to 8 slots only")
    return best_code(MeetingScheduling(Parameters(num_slots=num_slots, include_all_free=include_all_free)))


# Several messages -------------------------------------------------------------------------------------------------


class Blocks:
    """Informs of the own longest block that was not said yet, until a terminal holds with probability `threshold`.

    `listener` says what is known of the partner; None: the partner follows this same rule, everybody knows that, and
    what somebody does not do says as much as what he does. When all blocks are said, the best terminal, or (`repeat`)
    the longest block again. Whoever takes the last action that is allowed takes the best terminal.
    """

    def __init__(self, game: MeetingScheduling, listener: Listener | None, threshold: float, repeat: bool):
        self.game, self.threshold, self.repeat = game, threshold, repeat
        self.listener: Listener = _SameRule(game, self.actions) if listener is None else listener
        self._counts: dict[int, tuple[np.ndarray, Counts]] = {}
        self._blocks = blocks(game.params.num_slots)
        self._blank = np.arange(game.num_actions + 1) < game.num_actions  # by action; the last is that of no block, -1

    def actions(self, tables: np.ndarray, history: History, sets: tuple[np.ndarray, np.ndarray], me: int) -> np.ndarray:
        """The actions of participant `me` with each of these tables, int64[N]."""
        theirs = sets[1 - me]
        if id(theirs) not in self._counts:
            self._counts[id(theirs)] = (theirs, Counts(theirs))  # what is kept cannot lose its id to another
        counts = self._counts[id(theirs)][1]
        terminal, holds = counts.best(tables)
        chosen = len(self.game.informs) + terminal
        if len(history) == self.game.params.max_messages - 1:
            return chosen
        unsure = holds < self.threshold * counts.total - 1e-9
        own = self._blocks[tables]
        mine = [action for i, action in history if i == me]
        left = self._blank.copy()
        left[mine] = False
        unsaid = left[own]
        block = own[np.arange(len(own)), unsaid.argmax(axis=1)]
        informs = unsure & unsaid.any(axis=1)
        chosen[informs] = block[informs]
        if self.repeat:
            again = unsure & ~informs & (own[:, 0] >= 0)
            chosen[again] = own[again, 0]
        return chosen

    def __call__(self, tables: np.ndarray, history: History) -> np.ndarray:
        """Probabilities of actions."""
        chosen = self.actions(tables, history, self.listener.sets(history), turn_of(history))
        return _certain(self.game, chosen)


class _SameRule:
    """Common knowledge of a rule: every action tells both which tables would have taken it."""

    def __init__(self, game: MeetingScheduling, actions: Callable[..., np.ndarray]):
        self.game, self._actions = game, actions
        self._known: dict[History, tuple[np.ndarray, np.ndarray]] = {(): (game.tables.is_there, game.tables.is_there)}

    def sets(self, history: History) -> tuple[np.ndarray, np.ndarray]:
        """Which tables each participant may have."""
        if history not in self._known:
            before, (speaker, action) = self.sets(history[:-1]), history[-1]
            tables = np.flatnonzero(before[speaker])
            heard = np.zeros_like(before[speaker])
            heard[tables] = self._actions(tables, history[:-1], before, speaker) == action
            if not heard.any():
                heard = bel.said_only(self.game, history, speaker)
            self._known[history] = (heard, before[1]) if speaker == 0 else (before[0], heard)
        return self._known[history]


# Policies ---------------------------------------------------------------------------------------------------------


class Ruled:
    """Draws from a rule's probabilities."""

    def __init__(self, rule: Rule, game: MeetingScheduling, agent: str, seed: int):
        self.rule, self.game, self.agent = rule, game, agent
        self.generator = np.random.default_rng(seed)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        seen = read(self.game, observations)
        actions = np.zeros(len(observations), np.int64)
        for history, rows in self._histories(seen, np.flatnonzero(seen.moves)):
            reached = self.rule(seen.table[rows], history).cumsum(axis=1)
            drawn = self.generator.random((len(rows), 1)) * reached[:, -1:]
            actions[rows] = (reached[:, :-1] <= drawn).sum(axis=1)
        return actions

    def _histories(self, seen: Seen, rows: np.ndarray):
        """Rows that share a public history, with that history."""
        me = self.game.agents.index(self.agent)
        acted = np.concatenate([seen.said[rows], seen.mine[rows]], axis=1)
        every, which = np.unique(acted, axis=0, return_inverse=True)
        for k, (said, mine) in enumerate(zip(*np.split(every, 2, axis=1), strict=True)):
            history = tuple((me if m else 1 - me, int(a)) for a, m in zip(said, mine, strict=True) if a >= 0)
            yield history, rows[which.ravel() == k]


class Believing(Ruled):
    """One of whom it can be said what it believes of the partner's table."""

    def beliefs(self, observations: np.ndarray) -> np.ndarray:
        """float64[N, D]: how probably each of the partner's slots is occupied."""
        seen = read(self.game, observations)
        found = np.zeros((len(observations), self.game.params.num_slots))
        partner = 1 - self.game.agents.index(self.agent)
        for history, rows in self._histories(seen, np.arange(len(observations))):
            informs = tuple(said for said in history if said[1] < len(self.game.informs))
            found[rows] = bel.marginals(self.rule.listener.sets(informs)[partner])  # type: ignore[attr-defined]
        return found


def _certain(game: MeetingScheduling, actions: np.ndarray) -> np.ndarray:
    """Probabilities of one action for each; none where it is -1."""
    return (actions[:, None] == np.arange(game.num_actions)).astype(float)


_LISTENERS = {"literal": bel.literal, "maximal": bel.maximal}


def _one_message(speaker: str, listener: str, game: MeetingScheduling) -> OneMessage:
    if speaker == "interval":
        return OneMessage(partial(any_interval, game), bel.literal(game))
    p = game.params
    message = {
        "longest": lambda: longest_block(game),
        "first": lambda: first_block(game),
        "code": lambda: code(p.num_slots, p.include_all_free),
    }[speaker]()
    heard = bel.speaks(game, message) if listener == "matched" else _LISTENERS[listener](game)
    return OneMessage(partial(says, game, message), heard)


def _several(listener: str, threshold: float, repeat: bool, game: MeetingScheduling) -> Blocks:
    heard = None if listener == "tom" else _LISTENERS[listener](game)
    return Blocks(game, heard, threshold, repeat)


# name: (the rule of a game, whether it believes something, one line)
RULES: dict[str, tuple[Callable[[MeetingScheduling], Rule], bool, str]] = {
    "random_slot": (partial(Blind, any_slot), False, "proposes any slot"),
    "random_terminal": (partial(Blind, any_terminal), False, "proposes any slot or rejects"),
    "random_free": (partial(Blind, any_free_slot), False, "proposes any slot free in its table, else rejects"),
    "random_truthful": (partial(Blind, truthful_actions), False, "any action that its table does not rule out"),
}
for _speaker, _listener, _line in (
    ("interval", "literal", "one message, any true one; taken for what it says"),
    ("longest", "literal", "one message, the longest block; taken for what it says"),
    ("first", "literal", "one message, the leftmost block; taken for what it says"),
    ("longest", "maximal", "one message, the longest block; taken for a maximal block"),
    ("longest", "matched", "one message, the longest block; taken for just that"),
    ("code", "matched", "one message, by a code agreed on beforehand"),
):
    _name = "one_code" if _speaker == "code" else f"one_{_speaker}_{_listener}"
    RULES[_name] = (partial(_one_message, _speaker, _listener), True, _line)
_ends = {"repeat": "the longest again", "stop": "the best terminal"}
for _listener, _meaning in (
    ("literal", "messages are taken for what they say"),
    ("maximal", "messages are taken for maximal blocks"),
    ("tom", "everybody knows this rule and infers from what others do and do not do"),
):
    for _percent, _end in (
        *((60, "stop"), (100, "stop"), (100, "repeat")),
        *((50, "stop"), (80, "stop"), (90, "stop"), (90, "repeat")),
    ):
        RULES[f"{_listener}_{_percent}_{_end}"] = (
            partial(_several, _listener, _percent / 100, _end == "repeat"),
            True,
            f"blocks until a terminal holds with {_percent} %, then {_ends[_end]}; {_meaning}",
        )


def _make(name: str, game: MeetingScheduling, agent: str, seed: int) -> Policy:
    rule, believes, _ = RULES[name]
    return (Believing if believes else Ruled)(rule(game), game, agent, seed)


POLICIES: dict[str, Scripted] = {
    name: Scripted(partial(_make, name), (), meaning) for name, (_, _, meaning) in RULES.items()
}

LADDER = (
    *("random_slot", "random_terminal", "random_free", "random_truthful"),
    *("one_interval_literal", "one_longest_literal", "one_first_literal", "one_longest_maximal"),
    *("one_longest_matched", "one_code"),
    *("literal_60_stop", "literal_100_stop", "literal_100_repeat"),
    *("maximal_60_stop", "maximal_100_stop", "maximal_90_repeat"),
    *("tom_50_stop", "tom_60_stop", "tom_80_stop", "tom_90_stop", "tom_90_repeat"),
)
