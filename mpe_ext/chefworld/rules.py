"""The rules of ChefWorld for one world, in the order in which they happen.

Reset: dishes are drawn, then the target. A move: the mover adds one ingredient to the workplace; too much of a kind
loses, a complete target wins, else it is the other's turn. `e` holds the engine's arrays (`Shared`), `s` the game's
(`State`), `p` the parameters (`Rules`).
"""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.engine.random import integer
from mpe_ext.engine.shared import Shared, close_step, give_turn, open_episode, open_step

CHEF, ASSISTANT = range(2)
ALL, TRAIN, TEST = range(3)  # parts of the dishes
OPEN, LOST, WON = -1, 0, 1


class State(NamedTuple):
    """W worlds, K dishes of a recipe, J kinds of ingredients, M moves at most, D numbers in an observation."""

    recipe: np.ndarray  # uint8[W, K, J]: how often a dish needs each kind
    dish: np.ndarray  # int64[W, K]: the dishes' numbers
    target: np.ndarray  # int64[W]: the dish that is wanted
    work: np.ndarray  # uint8[W, J]: what the workplace holds
    moves: np.ndarray  # int64[W, M]: the ingredients added, in order; those of moves to come are 0
    split: np.ndarray  # int8[W]: which dishes the next reset draws from
    success: np.ndarray  # int64[W]: OPEN, LOST or WON, as of the latest move
    messages: np.ndarray  # int64[W]: moves up to the latest; each tells the other something
    revealed: np.ndarray  # int64[W]: the target if the latest move ended the game, else -1
    observation: np.ndarray  # float32[W, 2, D]
    mask: np.ndarray  # int8[W, 2, J]: ones


class Rules(NamedTuple):
    """Parameters as numbers; the dataclass in game.py says what they mean."""

    max_items: int
    uniform: bool
    success_reward: float
    failure_reward: float
    draws: int  # equally likely ways to draw a dish: (J + 1) ** M
    num_train: int
    steps: np.ndarray  # see splits.Dishes
    by_number: np.ndarray
    drawn: np.ndarray
    is_test: np.ndarray
    order: np.ndarray


# Reset ------------------------------------------------------------------------------------------------------------


@rule
def reset(w, e, s, p):
    """Draws a recipe and its target (Yuan et al. 2021, section 5.1)."""
    for k in range(s.recipe.shape[1]):
        draw_dish(w, e, s, p, k)
    s.target[w] = integer(w, e, s.recipe.shape[1])
    for j in range(s.work.shape[1]):
        s.work[w, j] = 0
    for t in range(s.moves.shape[1]):
        s.moves[w, t] = 0


@rule
def draw_dish(w, e, s, p, k):
    """A dish for place k of the recipe, from the world's part of all dishes. A dish that is there already is drawn
    again, not the whole recipe."""
    dish, drawing = 0, True
    while drawing:
        dish = any_of_split(w, e, s, p) if p.uniform else any_items(w, e, s, p, k)
        drawing = dish == 0 or (s.split[w] != ALL and p.is_test[dish] != (s.split[w] == TEST))
        for i in range(k):
            drawing |= s.dish[w, i] == dish
    s.dish[w, k] = dish
    for j in range(s.recipe.shape[2]):
        s.recipe[w, k, j] = p.by_number[dish, j]


@rule
def any_of_split(w, e, s, p):
    """All dishes of the world's part alike: its number."""
    first = p.num_train if s.split[w] == TEST else 0
    last = p.num_train if s.split[w] == TRAIN else p.order.shape[0]
    return p.order[first + integer(w, e, last - first)]


@rule
def any_items(w, e, s, p, k):
    """Each item is one of the kinds or, as likely as one of them, nothing: the dish's number, 0 for an empty one."""
    draw = integer(w, e, p.draws)
    if p.drawn.shape[0] > 0:
        return np.int64(p.drawn[draw])
    kinds = s.recipe.shape[2]
    for j in range(kinds):
        s.recipe[w, k, j] = 0
    for _ in range(p.max_items):
        j = draw % (kinds + 1)
        draw //= kinds + 1
        s.recipe[w, k, min(j, kinds - 1)] += j < kinds
    return number(w, s, p, k)


@rule
def number(w, s, p, k):
    """The number of the dish at place k."""
    left, total = p.max_items, 0
    for j in range(s.recipe.shape[2]):
        total += p.steps[j, left, s.recipe[w, k, j]]
        left -= s.recipe[w, k, j]
    return total


# A move -----------------------------------------------------------------------------------------------------------


@rule
def step(w, e, s, p):
    """One ingredient. Both agents earn the same."""
    t = e.steps[w] - 1
    j = e.actions[w, t % 2]
    s.moves[w, t] = j
    s.work[w, j] += 1
    s.messages[w] = e.steps[w]
    s.success[w] = OPEN
    s.revealed[w] = -1
    target = s.target[w]
    if s.work[w, j] > s.recipe[w, target, j]:  # a kind that the target lacks, or one too many
        finish(w, e, s, LOST, p.failure_reward)
    elif is_complete(w, s, target):
        finish(w, e, s, WON, p.success_reward)


@rule
def mover(w, e):
    """The chef begins, then they take turns."""
    return e.steps[w] % 2


@rule
def is_complete(w, s, k):
    """Does the workplace hold exactly dish k?"""
    differences = 0
    for j in range(s.work.shape[1]):
        differences += s.work[w, j] != s.recipe[w, k, j]
    return differences == 0


@rule
def finish(w, e, s, success, reward):
    s.success[w] = success
    for a in range(2):
        e.rewards[w, a] = reward
        e.terminated[w, a] = True


@rule
def reveal(w, e, s):
    """At the end, and only then, everybody learns the target; a game that the time limit cut was not won."""
    if e.done[w]:
        s.revealed[w] = s.target[w]
        s.success[w] = max(s.success[w], LOST)


# Observations -----------------------------------------------------------------------------------------------------
# Of both roles: recipe K x J | target K, the chef's alone | is it the chef 1 | workplace J | who moves 2 | moves M x J


@rule
def observe(w, e, s, p):
    """Writes both observations from the state."""
    share = np.float32(1.0 / p.max_items)
    dishes, kinds = s.recipe.shape[1], s.recipe.shape[2]
    place = dishes * kinds  # of what follows the recipe
    for k in range(dishes):
        for j in range(kinds):
            s.observation[w, CHEF, k * kinds + j] = s.recipe[w, k, j] * share
    for k in range(place, s.observation.shape[2]):
        s.observation[w, CHEF, k] = 0.0
    for j in range(kinds):
        s.observation[w, CHEF, place + dishes + 1 + j] = s.work[w, j] * share
    for t in range(e.steps[w]):
        s.observation[w, CHEF, place + dishes + 3 + kinds + t * kinds + s.moves[w, t]] = 1.0
    for k in range(s.observation.shape[2]):
        s.observation[w, ASSISTANT, k] = s.observation[w, CHEF, k]
    s.observation[w, CHEF, place + s.target[w]] = 1.0
    s.observation[w, CHEF, place + dishes] = 1.0
    observe_turn(w, e, s)


@rule
def observe_turn(w, e, s):
    """Who moves: nobody once the game is over."""
    dishes, kinds = s.recipe.shape[1], s.recipe.shape[2]
    at = dishes * kinds + dishes + 1 + kinds
    for a in range(2):
        for b in range(2):
            s.observation[w, a, at + b] = 1.0 if not e.done[w] and b == mover(w, e) else 0.0


@rule
def observe_move(w, e, s, p):
    """What the latest move has changed in both observations."""
    dishes, kinds = s.recipe.shape[1], s.recipe.shape[2]
    t = e.steps[w] - 1
    j = s.moves[w, t]
    at = dishes * kinds + dishes + 1
    for a in range(2):
        s.observation[w, a, at + j] = s.work[w, j] * np.float32(1.0 / p.max_items)
        s.observation[w, a, at + kinds + 2 + t * kinds + j] = 1.0
    observe_turn(w, e, s)


# Loops over worlds ------------------------------------------------------------------------------------------------


@kernel
def reset_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        if e.begin[w]:
            open_episode(w, e)
            reset(w, e, s, p)
            give_turn(w, e, CHEF)
            observe(w, e, s, p)


@kernel
def step_worlds(lo, hi, max_cycles, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    ended = 0
    for w in range(lo, hi):
        if not e.begin[w]:
            open_step(w, e)
            step(w, e, s, p)
            ended += close_step(w, e, max_cycles)
            give_turn(w, e, mover(w, e))
            reveal(w, e, s)
            observe_move(w, e, s, p)
        e.begin[w] = False  # next-step autoreset: such a world begins instead of playing
    return ended


@kernel
def observe_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        observe(w, e, s, p)
