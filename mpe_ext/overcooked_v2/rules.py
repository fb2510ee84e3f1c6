"""Rules of Overcooked-v2 for one world, in the order in which they happen, and the loops over worlds around them.

A step has an object phase (all that is not a move, by rotating priority), a move phase, a world phase (plates that come
back, fire, orders), a program phase (events move the program's pointers on) and reward. In the rules w is the
world, a an agent, e what the engine shares, s the game's own arrays, p the parameters, d the scene's random stream.
"""

import math
from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.engine.random import Stream, bits, integer, random
from mpe_ext.engine.shared import Shared, close_step, open_episode, open_step
from mpe_ext.overcooked_v2 import fire, scenes
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.bits import NO_CELLS, STEPS, beside, bit, first, grown, has
from mpe_ext.overcooked_v2.observe import (
    MERGED,
    RADIUS,
    allowed,
    look,
    observe_cells,
    observe_inventory,
    observe_map,
    observe_mask,
)
from mpe_ext.overcooked_v2.program.kernels import advance_program, program_status, start_program
from mpe_ext.overcooked_v2.zones import certified

ORDERS_MODES = ("static", "all", "stream")
STATIC, ALL, STREAM = range(3)
STRICT = ("paper", "lenient", "off")
PAPER, LENIENT, OFF = range(3)
DIRTY_RETURN = ("hand", "counter", "none")
TO_HAND, TO_COUNTER, GONE = range(3)

DRAWN, GIVEN = -1, -2  # what `wish` says beside an index
MOST_ATTEMPTS = 20_000  # at one kitchen; the game makes sure that far fewer do
MOST_ORDER_DRAWS = 64  # of orders with which the program is not complete before it has begun
MOST_ORDERS, MOST_OPEN = 9, 3  # of a dish; of all dishes together in the stream of orders
_SHARE_MENTIONED, _SHARE_OTHERS = 0.5, 0.3  # ordered, of the dishes that the program speaks of, and of the others

_PICK, _CHOP, _SERVE = (
    np.array([0, *(t.EVENT_CODE.get(t.Behaviour(name, (i,)), 0) for i in range(1, 12))])
    for name in ("Pick", "Chop", "Serve")
)
_MERGE = np.array(
    [
        [max(t.EVENT_CODE.get(t.Behaviour("Merge", pair), 0) for pair in ((a, b), (b, a))) for b in range(12)]
        for a in range(12)
    ]
)
_WASH, _PUT_OUT = (t.EVENT_CODE[t.Behaviour(name)] for name in ("WashDirtyPlate", "PutOutFire"))
_DISHES = np.array(t.DISHES)
_ASKED_FOR = np.array(t.NAMEABLE)  # is_there's items, in the order of QUERIES


class State(NamedTuple):
    """W worlds, N agents, P plates, S slots and G loops of the program, K planes."""

    # The kitchen
    terrain: np.ndarray  # uint8[W, 64]: codes of tables.TERRAINS
    item: np.ndarray  # uint8[W, 64]: on counters, codes of tables.ITEMS
    progress: np.ndarray  # uint8[W, 64]: interactions that the item there has had
    floor: np.ndarray  # uint64[W]: sets of cells, see bits.py
    plain: np.ndarray  # uint64[W]: counters
    handover: np.ndarray  # uint64[W]: counters between two rooms
    fire: np.ndarray  # uint64[W]: what burns
    fire_age: np.ndarray  # int16[W, 64]: steps
    ignite_at: np.ndarray  # int16[W]: after which step (from 0) a fire is to break out, -1 never
    orders: np.ndarray  # uint8[W, 3]: open ones, by dish
    returns: np.ndarray  # int16[W, P, 2]: plates on their way back: steps left (-1: none), and from which star
    # The agents
    cell: np.ndarray  # int64[W, N]
    hand: np.ndarray  # uint8[W, N]
    hand_progress: np.ndarray  # uint8[W, N]
    action: np.ndarray  # int64[W, N]: of the latest step, -1 before the first
    # Where the kitchen is from
    scene: np.ndarray  # int64[W]: its index, -1 for one that was given
    found: np.ndarray  # bool[W]: False where no attempt at it kept all constraints
    scene_key: np.ndarray  # uint64[W]: the random stream of the scene
    scene_counter: np.ndarray  # uint64[W]
    scene_hash: np.ndarray  # uint64[W]: canonical
    wish: np.ndarray  # int64[W]: what the next reset takes: an index, DRAWN or GIVEN
    given: np.ndarray  # uint8[W, 64]: a level: terrain, item << 3, fire << 7
    given_agents: np.ndarray  # int64[W, N, 2]: cell and hand
    given_orders: np.ndarray  # int64[W, 3]: -1 where they are drawn
    # The latest step
    event: np.ndarray  # int64[W, N]: codes of tables.EVENT_CODE, 0 for none
    hard: np.ndarray  # bool[W, N]: an event that may be a violation
    matched: np.ndarray  # int64[W, N]: the pointer that the event moved on, -1 for none
    event_matched: np.ndarray  # int64[W, N]: 1 for such an event, -1 for a violation
    useful: np.ndarray  # int64[W, N]: events so far that moved a pointer on
    collision: np.ndarray  # int64[W, N]: codes of tables.COLLISIONS
    status: np.ndarray  # int64[W, N]: of the program, for all agents the same
    told: np.ndarray  # int64[W, N]: the pointer that an agent serves, if somebody has told, else -1
    goal: np.ndarray  # int64[W, N]: scratch: where the moves lead
    planes: np.ndarray  # uint64[W, 7]: scratch of the hash
    # The program, see program/kernels.py
    mode: np.ndarray
    place: np.ndarray
    pid: np.ndarray
    branch: np.ndarray
    daemon: np.ndarray
    missing: np.ndarray
    arrivals: np.ndarray
    next_pid: np.ndarray
    todo: np.ndarray
    # Observations
    visible: np.ndarray  # uint64[W, N]
    map: np.ndarray  # uint8 or float32[W, N, K, 8, 8]
    inventory: np.ndarray  # float32[W, N, 6 or 7]
    mask: np.ndarray  # int8[W, N, 24]


class Rules(NamedTuple):
    """Parameters as numbers; the dataclass in game.py says what they mean."""

    style: int
    split: int
    pool: int
    items: np.ndarray  # uint8[needed]: what is placed besides distractors
    demands: int  # bit set over the codes of behaviours
    mentioned: int  # bit set over the dishes
    agents_same_room: bool
    p_start_holding: float
    bin: int
    orders_mode: int
    order_rate: float
    fire_mode: int
    fire_sites: int
    fire_hazard: float
    fire_spread: float
    max_fires: int
    must_extinguish: bool
    dirty_return: int
    return_delay: int
    strict: int
    t_chop: int
    t_wash: int
    sight: int  # the parameter `view`: numba takes that name for a method
    sight_radius: int
    raw_xy: bool
    obs_time: bool
    subtask_reward: float
    completion_reward: float
    # The program's tables, see program/tables.py
    code: np.ndarray
    a: np.ndarray
    b: np.ndarray
    below: np.ndarray
    slot: np.ndarray
    parent: np.ndarray
    entry: np.ndarray
    endless: np.ndarray
    first_loop: np.ndarray
    last_loop: np.ndarray


# Reset ------------------------------------------------------------------------------------------------------------


@rule
def reset(w, e, s, p):
    """A kitchen of the split, or the one that was asked for."""
    given = s.wish[w] == GIVEN
    index = s.wish[w]
    if given:
        index = -1
        s.scene_key[w] = bits(w, e)
        s.scene_counter[w] = NO_CELLS
    elif index == DRAWN:
        index = integer(w, e, p.pool) if p.pool > 0 else np.int64(bits(w, e) >> np.uint64(11))
    s.scene[w] = index
    attempt, drawing = 0, True
    while drawing:
        good = True
        if given:
            take_level(w, s)
        else:
            scenes.seed_scene(w, s, p.split, p.style, index, attempt)
            good = scenes.draw_scene(w, s, p, p.style)
        if good:
            s.scene_hash[w] = scenes.canonical_hash(w, s)
            good = given or (scenes.split_of(s.scene_hash[w]) == p.split and certified(w, s, p.demands))
        if good:
            good = begin(w, s, p, given)
        attempt += 1
        drawing = not good and attempt < MOST_ATTEMPTS
        s.found[w] = good
    for a in range(s.cell.shape[1]):
        s.action[w, a], s.told[w, a] = -1, -1


@rule
def take_level(w, s):
    """The level that was given, instead of a drawn kitchen."""
    s.fire[w] = NO_CELLS
    for cell in range(64):
        code = s.given[w, cell]
        s.terrain[w, cell] = code & 7
        s.item[w, cell] = (code >> 3) & 15
        s.progress[w, cell] = 0
        if code >> 7:
            s.fire[w] |= bit(cell)
            s.fire_age[w, cell] = 0
    scenes.settle_terrain(w, s)
    for a in range(s.cell.shape[1]):
        s.cell[w, a], s.hand[w, a] = s.given_agents[w, a, 0], s.given_agents[w, a, 1]
        s.hand_progress[w, a] = 0


@rule
def begin(w, s, p, given):
    """Orders, fire and the program; whether there is something to do."""
    for k in range(s.returns.shape[1]):
        s.returns[w, k, 0] = -1
    if not given:
        s.fire[w] = NO_CELLS
    if not fire.plan_fire(w, s, p):
        return False
    look(w, s, p)
    draws, drawing = 0, True
    while drawing:
        draw_orders(w, s, p)
        if given:
            for k in range(3):
                if s.given_orders[w, k] >= 0:
                    s.orders[w, k] = s.given_orders[w, k]
        start_program(w, s, p, answers(w, s, p))
        draws += 1
        drawing = program_status(w, s) != t.RUNNING and draws < MOST_ORDER_DRAWS
    return program_status(w, s) == t.RUNNING


@rule
def draw_orders(w, s, p):
    """What the customers want at the beginning."""
    d = Stream(s.scene_key, s.scene_counter)
    for k in range(3):
        share = _SHARE_MENTIONED if p.mentioned >> k & 1 else _SHARE_OTHERS
        s.orders[w, k] = 1 if p.orders_mode == ALL or random(w, d) < share else 0


# Object phase -----------------------------------------------------------------------------------------------------


@rule
def operate(w, e, s, p, a):
    """One agent's operation on the cell in front of it, unless that is a move. Returns the cells that changed."""
    operation = e.actions[w, a] // 4
    front = s.cell[w, a] + STEPS[e.actions[w, a] % 4]
    hand, terrain, item = np.int64(s.hand[w, a]), s.terrain[w, front], np.int64(s.item[w, front])
    event, hard = 0, True
    if operation == t.MOVE or not allowed(operation, hand, terrain, item, has(s.fire[w], front)):
        return NO_CELLS
    if operation == t.PICK:
        if terrain == t.COUNTER:
            s.hand[w, a], s.hand_progress[w, a] = item, s.progress[w, front]
            s.item[w, front], s.progress[w, front] = t.NOTHING, 0
            event, hard = _PICK[item], False
        else:
            fresh = t.FRESH_TOMATO if terrain == t.TOMATO_SUPPLY else t.FRESH_ONION
            s.hand[w, a], s.hand_progress[w, a] = fresh, 0
            event = _PICK[fresh]
    elif operation == t.PLACE:
        if terrain == t.COUNTER:
            s.item[w, front], s.progress[w, front] = hand, s.hand_progress[w, a]
            s.hand[w, a] = t.NOTHING
        else:
            plate = hand in (t.TOMATO_DISH, t.ONION_DISH, t.MIX_DISH)
            s.hand[w, a] = t.DIRTY_PLATE if plate else t.NOTHING
        s.hand_progress[w, a] = 0
    elif operation == t.SERVE:
        event = _SERVE[hand]
        for k in range(3):
            if _DISHES[k] == hand and s.orders[w, k] > 0:
                s.orders[w, k] -= 1
        s.hand[w, a] = t.DIRTY_PLATE if p.dirty_return == TO_HAND else t.NOTHING
        if p.dirty_return == TO_COUNTER:
            send_back(w, s, p, front)
    elif operation == t.MERGE:
        event = _MERGE[hand, item]
        s.hand[w, a], s.hand_progress[w, a] = MERGED[hand, item], 0
        s.item[w, front], s.progress[w, front] = t.NOTHING, 0
    elif hand == t.EXTINGUISHER:
        s.fire[w] &= ~bit(front)
        event = _PUT_OUT
    else:
        s.hand_progress[w, a] += 1
        if s.hand_progress[w, a] == (p.t_wash if hand == t.DIRTY_PLATE else p.t_chop):
            s.hand_progress[w, a] = 0
            s.hand[w, a] = t.PLATE if hand == t.DIRTY_PLATE else hand + 2  # chopped food stands two behind fresh
            event = _WASH if hand == t.DIRTY_PLATE else _CHOP[hand]
    s.event[w, a] = event
    s.hard[w, a] = event > 0 and hard and not (p.strict == OFF or (p.strict == LENIENT and operation == t.PICK))
    return bit(s.cell[w, a]) | bit(front)


@rule
def send_back(w, s, p, star):
    """A served dish's plate is on its way back."""
    for k in range(s.returns.shape[1]):
        if s.returns[w, k, 0] < 0:
            s.returns[w, k, 0], s.returns[w, k, 1] = p.return_delay, star
            return


# Move phase -------------------------------------------------------------------------------------------------------


@rule
def move(w, e, s, front_runner):
    """All moves at once: nobody swaps, the agent with the highest priority gets a contested cell, whoever cannot go
    stays and blocks. Returns the cells that changed."""
    agents = s.cell.shape[1]
    for a in range(agents):
        s.goal[w, a], s.collision[w, a] = s.cell[w, a], t.FREE
        if e.actions[w, a] < 4:
            front = s.cell[w, a] + STEPS[e.actions[w, a]]
            if not has(s.floor[w], front):
                s.collision[w, a] = t.SOLID
            elif has(s.fire[w], front):
                s.collision[w, a] = t.ON_FIRE
            else:
                s.goal[w, a] = front
    changing = True
    while changing:
        changing = False
        for i in range(agents):
            a = (front_runner + i) % agents
            for j in range(agents):
                b = (front_runner + j) % agents
                if a != b and s.goal[w, a] != s.cell[w, a]:
                    reason = t.FREE
                    if s.goal[w, a] == s.cell[w, b] and s.goal[w, b] == s.cell[w, a]:
                        reason = t.SWAP
                        s.goal[w, b], s.collision[w, b] = s.cell[w, b], t.SWAP
                    elif s.goal[w, a] == s.goal[w, b]:
                        stays = s.goal[w, b] == s.cell[w, b]
                        reason = t.OCCUPIED if stays else t.CONTESTED if j < i else t.FREE
                    if reason != t.FREE:
                        s.goal[w, a], s.collision[w, a] = s.cell[w, a], reason
                        changing = True
    changed = NO_CELLS
    for a in range(agents):
        if s.goal[w, a] != s.cell[w, a]:
            changed |= bit(s.cell[w, a]) | bit(s.goal[w, a])
            s.cell[w, a] = s.goal[w, a]
    return changed


# World phase ------------------------------------------------------------------------------------------------------


@rule
def bring_plates(w, s):
    """Served plates come back to the free counter nearest to their star, by steps on the floor, ties by row and column;
    if there is none they wait. Returns the cells that changed."""
    changed = NO_CELLS
    for k in range(s.returns.shape[1]):
        if s.returns[w, k, 0] > 0:
            s.returns[w, k, 0] -= 1
        elif s.returns[w, k, 0] == 0:
            free, burning = NO_CELLS, s.fire[w]
            for cell in range(64):
                if s.terrain[w, cell] == t.COUNTER and s.item[w, cell] == t.NOTHING and not has(burning, cell):
                    free |= bit(cell)
            reached, before = beside(bit(s.returns[w, k, 1])) & s.floor[w], NO_CELLS
            while reached != before and beside(reached) & free == NO_CELLS:
                before = reached
                reached = grown(reached) & s.floor[w]
            nearest = beside(reached) & free
            if nearest != NO_CELLS:
                cell = first(nearest)
                s.item[w, cell] = t.DIRTY_PLATE
                s.returns[w, k, 0] = -1
                changed |= bit(cell)
    return changed


@rule
def take_orders(w, s, p):
    """Customers who come during the episode: a Poisson number of them a step, as long as there is room."""
    d = Stream(s.scene_key, s.scene_counter)
    left = math.exp(-p.order_rate)
    share = random(w, d)
    arriving = 0
    while share >= left and arriving < MOST_OPEN:  # the inverse of the distribution function
        arriving += 1
        share -= left
        left *= p.order_rate / arriving
    for _ in range(arriving):
        dish = integer(w, d, 3)
        if np.int64(s.orders[w, 0]) + s.orders[w, 1] + s.orders[w, 2] < MOST_OPEN and s.orders[w, dish] < MOST_ORDERS:
            s.orders[w, dish] += 1


# Program phase ----------------------------------------------------------------------------------------------------


@rule
def answers(w, s, p):
    """The true answers to all queries, as the bits of one number. In partial views what nobody sees is not there."""
    seen = NO_CELLS
    for a in range(s.cell.shape[1]):
        seen |= s.visible[w, a]
    there = np.int64(0)
    for cell in range(64):
        if s.item[w, cell] != t.NOTHING and has(seen, cell):
            there |= 1 << np.int64(s.item[w, cell])
    for a in range(s.cell.shape[1]):
        there |= 1 << np.int64(s.hand[w, a])
    result = np.int64(s.fire[w] & seen != NO_CELLS)
    for k in range(3):
        result |= np.int64(s.orders[w, k] > 0) << (1 + k)
    for k in range(len(_ASKED_FOR)):
        result |= (there >> _ASKED_FOR[k] & 1) << (4 + k)
    return result


@rule
def judge(w, e, s, p, front_runner):
    """Events move the program on, each at most one pointer; a hard one that moves none is a violation. Rewards."""
    advance_program(w, s, p, s.event, s.told, s.matched, answers(w, s, p), front_runner)
    status, moved = program_status(w, s), 0
    if p.must_extinguish and s.fire[w] != NO_CELLS:
        status = t.RUNNING
    for a in range(s.cell.shape[1]):
        matched = s.matched[w, a] >= 0
        violates = s.hard[w, a] and not matched
        s.event_matched[w, a] = 1 if matched else -1 if violates else 0
        s.useful[w, a] += matched
        moved += matched
        if violates:
            status = t.VIOLATED
    reward = p.subtask_reward * moved + (p.completion_reward if status == t.COMPLETED else 0.0)
    for a in range(s.cell.shape[1]):
        s.status[w, a] = status
        e.rewards[w, a] = reward
        e.terminated[w, a] = status != t.RUNNING


# A step -----------------------------------------------------------------------------------------------------------


@rule
def step(w, e, s, p):
    """All phases. Returns the cells whose look has changed."""
    agents = s.cell.shape[1]
    played = e.steps[w] - 1
    front_runner, changed = played % agents, NO_CELLS
    for a in range(agents):
        s.event[w, a], s.hard[w, a], s.action[w, a] = 0, False, e.actions[w, a]
        if played == 0:
            s.useful[w, a] = 0
    for i in range(agents):
        changed |= operate(w, e, s, p, (front_runner + i) % agents)
    changed |= move(w, e, s, front_runner)
    if p.dirty_return == TO_COUNTER:
        changed |= bring_plates(w, s)
    if p.fire_mode != fire.NONE or p.fire_spread > 0.0:
        changed |= fire.burn(w, s, p, played)
    if p.orders_mode == STREAM:
        take_orders(w, s, p)
    if p.sight == RADIUS:
        look(w, s, p)
    judge(w, e, s, p, front_runner)
    return changed


@rule
def observe(w, e, s, p):
    """All observations, from the state alone."""
    observe_map(w, s, p)
    observe_inventory(w, s, p, e.steps[w])
    observe_mask(w, s, e.done[w])


# Loops over worlds ------------------------------------------------------------------------------------------------


@kernel
def reset_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        if e.begin[w]:
            open_episode(w, e)
            reset(w, e, s, p)
            observe(w, e, s, p)


@kernel
def step_worlds(lo, hi, max_cycles, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    ended = 0
    for w in range(lo, hi):
        if not e.begin[w]:
            open_step(w, e)
            changed = step(w, e, s, p)
            over = close_step(w, e, max_cycles)
            ended += over
            if over == 1 and s.status[w, 0] == t.RUNNING:
                for a in range(s.cell.shape[1]):
                    s.status[w, a] = t.TRUNCATED
            if p.sight == RADIUS:
                observe_map(w, s, p)
            else:
                observe_cells(w, s, p, changed)
            observe_inventory(w, s, p, e.steps[w])
            observe_mask(w, s, e.done[w])
        e.begin[w] = False  # next-step autoreset: such a world begins instead of playing
    return ended


@kernel
def observe_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        observe(w, e, s, p)
