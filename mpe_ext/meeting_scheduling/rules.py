"""The rules of meeting scheduling for one world, in the order in which they happen.

Reset: both tables are drawn, then who moves first. A move: the mover informs of slots that are occupied, proposes a
slot, or rejects; a false inform, a proposal and a rejection end the game, else it is the other's turn, until as many
actions have been taken as are allowed. `e` holds the engine's arrays (`Shared`), `s` the game's (`State`), `p` the
parameters (`Rules`).
"""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.engine.random import integer
from mpe_ext.engine.shared import Shared, close_step, give_turn, open_episode, open_step

ALL, TRAIN, TEST = range(3)  # parts of the tables
OPEN, LOST, WON = -1, 0, 1
RANDOM = -1  # first mover


class State(NamedTuple):
    """W worlds, D slots, T actions at most, A different actions, Z numbers in an observation."""

    table: np.ndarray  # int64[W, 2]: bit j says that slot j is occupied
    first: np.ndarray  # int64[W]: who moves first
    said: np.ndarray  # int64[W, T]: the actions taken, in order
    rows: np.ndarray  # int64[W]: how many of them the observations show
    disclosed: np.ndarray  # int64[W, 2]: the slots that each has truthfully informed of, as bits
    split: np.ndarray  # int8[W]: which tables the next reset draws from
    success: np.ndarray  # int64[W]: OPEN, LOST or WON, as of the latest move
    messages: np.ndarray  # int64[W]: actions up to the latest
    revealed: np.ndarray  # int64[W, 2]: the tables if the latest move ended the game, else -1
    observation: np.ndarray  # float32[W, 2, Z]
    mask: np.ndarray  # int8[W, 2, A]: ones


class Rules(NamedTuple):
    """Parameters as numbers; the dataclass in game.py says what they mean."""

    num_slots: int
    num_informs: int
    spans: np.ndarray  # int64[informs]: the slots of each inform, as bits
    first_mover: int  # 0, 1 or RANDOM
    success_reward: float
    failure_reward: float
    inform_reward: float
    reject_fail_reward: float
    truncation_reward: float
    num_train: int
    tables: np.ndarray  # see splits.Tables.numbers


# Reset ------------------------------------------------------------------------------------------------------------


@rule
def reset(w, e, s, p):
    """Draws two tables from the same part, independently (Yuan et al. 2021, section 5.2), and who begins."""
    first = p.num_train if s.split[w] == TEST else 0
    last = p.num_train if s.split[w] == TRAIN else p.tables.shape[0]
    for i in range(2):
        s.table[w, i] = p.tables[first + integer(w, e, last - first)]
        s.disclosed[w, i] = 0
    s.first[w] = integer(w, e, 2) if p.first_mover == RANDOM else p.first_mover


# A move -----------------------------------------------------------------------------------------------------------


@rule
def mover(w, e, s):
    """They take turns."""
    return (s.first[w] + e.steps[w]) % 2


@rule
def step(w, e, s, p):
    """One action. Both participants earn the same."""
    t = e.steps[w] - 1
    i = (s.first[w] + t) % 2
    action = e.actions[w, i]
    s.said[w, t] = action
    s.messages[w] = e.steps[w]
    s.success[w] = OPEN
    s.revealed[w, 0] = -1
    s.revealed[w, 1] = -1
    occupied = s.table[w, 0] | s.table[w, 1]
    if action < p.num_informs:  # any run of slots that the speaker has occupied, said before or not
        if p.spans[action] & ~s.table[w, i]:
            finish(w, e, s, LOST, p.failure_reward)
        else:
            s.disclosed[w, i] |= p.spans[action]
            inform(w, e, s, p)
    elif action < p.num_informs + p.num_slots:  # a proposal holds if both are free
        if occupied >> (action - p.num_informs) & 1:
            finish(w, e, s, LOST, p.failure_reward)
        else:
            finish(w, e, s, WON, p.success_reward)
    elif occupied == (1 << p.num_slots) - 1:  # a rejection holds if there is no common free slot
        finish(w, e, s, WON, p.success_reward)
    else:
        finish(w, e, s, LOST, p.reject_fail_reward)


@rule
def inform(w, e, s, p):
    """A true inform costs both; if it was the last action allowed, the game is cut, and lost."""
    reward = p.inform_reward
    if e.steps[w] == s.said.shape[1]:
        reward += p.truncation_reward
        s.success[w] = LOST
    for a in range(2):
        e.rewards[w, a] = reward
        e.truncated[w, a] = s.success[w] == LOST


@rule
def finish(w, e, s, success, reward):
    s.success[w] = success
    for a in range(2):
        e.rewards[w, a] = reward
        e.terminated[w, a] = True


@rule
def reveal(w, e, s):
    """At the end, and only then, everybody learns both tables; a game that a time limit cut was not won."""
    if e.done[w]:
        s.revealed[w, 0] = s.table[w, 0]
        s.revealed[w, 1] = s.table[w, 1]
        s.success[w] = max(s.success[w], LOST)


# Observations -----------------------------------------------------------------------------------------------------
# own table D | actions T x (one-hot A, did I take it 1) | disclosed by me D | by the partner D | actions taken / T |
# am I participant_0 | do I move now


@rule
def place_of(w, s, p):
    """Where the disclosed slots stand in an observation."""
    return p.num_slots + s.said.shape[1] * (s.mask.shape[2] + 1)


@rule
def observe(w, e, s, p):
    """Writes both observations from the state."""
    for a in range(2):
        for k in range(s.observation.shape[2]):
            s.observation[w, a, k] = 0.0
    s.rows[w] = 0
    observe_new(w, e, s, p)
    for t in range(e.steps[w]):
        observe_row(w, s, p, t, 1.0)
    s.rows[w] = e.steps[w]
    observe_summary(w, e, s, p)


@rule
def observe_reset(w, e, s, p):
    """Turns the observations of the last episode into those of a new one: only what was written is cleared."""
    for t in range(s.rows[w]):
        observe_row(w, s, p, t, 0.0)
    s.rows[w] = 0
    observe_new(w, e, s, p)
    observe_summary(w, e, s, p)


@rule
def observe_new(w, e, s, p):
    """What stays the same during an episode; what was disclosed is empty again."""
    at = place_of(w, s, p)
    for a in range(2):
        for j in range(p.num_slots):
            s.observation[w, a, j] = s.table[w, a] >> j & 1
        s.observation[w, a, at + 2 * p.num_slots + 1] = 1 - a


@rule
def observe_row(w, s, p, t, value):
    """Row t of the actions, written or (with 0) cleared."""
    actions = s.mask.shape[2]
    at = p.num_slots + t * (actions + 1)
    for a in range(2):
        s.observation[w, a, at + s.said[w, t]] = value
    # Who began is that of a new episode where rows are cleared, so both bits are written.
    i = (s.first[w] + t) % 2
    s.observation[w, i, at + actions] = value
    s.observation[w, 1 - i, at + actions] = 0.0


@rule
def observe_summary(w, e, s, p):
    """Disclosed slots, actions taken, who moves: nobody once the game is over."""
    at, d = place_of(w, s, p), p.num_slots
    for a in range(2):
        for j in range(d):
            s.observation[w, a, at + j] = s.disclosed[w, a] >> j & 1
            s.observation[w, a, at + d + j] = s.disclosed[w, 1 - a] >> j & 1
        s.observation[w, a, at + 2 * d] = np.float32(e.steps[w]) / np.float32(s.said.shape[1])
        s.observation[w, a, at + 2 * d + 2] = 1.0 if not e.done[w] and a == mover(w, e, s) else 0.0


@rule
def observe_move(w, e, s, p):
    """What the latest action has changed in both observations."""
    observe_row(w, s, p, e.steps[w] - 1, 1.0)
    s.rows[w] = e.steps[w]
    observe_summary(w, e, s, p)


# Loops over worlds ------------------------------------------------------------------------------------------------


@kernel
def reset_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        if e.begin[w]:
            open_episode(w, e)
            reset(w, e, s, p)
            give_turn(w, e, s.first[w])
            observe_reset(w, e, s, p)


@kernel
def step_worlds(lo, hi, max_cycles, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    ended = 0
    for w in range(lo, hi):
        if not e.begin[w]:
            open_step(w, e)
            step(w, e, s, p)
            ended += close_step(w, e, max_cycles)
            give_turn(w, e, mover(w, e, s))
            reveal(w, e, s)
            observe_move(w, e, s, p)
        e.begin[w] = False  # next-step autoreset: such a world begins instead of playing
    return ended


@kernel
def observe_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        observe(w, e, s, p)
