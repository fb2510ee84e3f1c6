"""The rules of tag-while-collecting for one world, in the order in which they happen.

One step: forces and motion, links (who is lost), pick-ups, rewards, respawns. Then the engine counts the step, and the
observations are written from the state alone. Agents stand in world order: adversaries, controllers, then collectors,
controller by controller. `e` holds the engine's arrays (`Shared`), `s` the game's (`State`), `p` the parameters
(`Rules`).
"""

import math
from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.engine.random import integer, uniform
from mpe_ext.engine.shared import Shared, close_step, open_episode, open_step

DT = 0.1
DAMPING = 0.25
CONTACT_FORCE = 100.0
CONTACT_MARGIN = 0.001
# Beyond 40 margins the contact force is below 1e-18, and inside them the softplus equals its argument to 1e-18.
SOFTPLUS_RANGE = 40.0
FAR = 1e15  # positions stop here, where a step no longer changes them: no distance can overflow
TRIES = 64  # to place food; then the last try is moved into the box
BLOCK = 32  # worlds
MARKS = 16  # pick-ups remembered for the drawing

VL, L, H, VH = range(4)  # qualities of the exchange between a controller and its collectors
FREE, STRICT, RANDOM = range(3)  # what happens to a lost collector
IN_PLAY, GOES_DOWN, IS_DOWN = range(3)  # strict mode: state of a collector


class State(NamedTuple):
    """W worlds, N agents, J food, D numbers in all observations together."""

    pos: np.ndarray  # float64[W, N, 2]
    vel: np.ndarray  # float64[W, N, 2]
    food: np.ndarray  # float64[W, J, 2]
    food_active: np.ndarray  # bool[W, J]
    down: np.ndarray  # int8[W, N]: IN_PLAY, GOES_DOWN in this step, IS_DOWN since an earlier one
    due: np.ndarray  # float64[W, N]: legacy timing: paid at the next step
    observation: np.ndarray  # float32[W, D]: the agents' observations in world order
    hits: np.ndarray  # int32[W, N]: contacts of an adversary, of a controller, in this step
    lost: np.ndarray  # int32[W, N]: a collector: is it out of range; a controller: how many of its collectors are
    collected: np.ndarray  # int32[W, N]: food picked up by a collector in this step
    out_of_bounds: np.ndarray  # int32[W, N]: is a controller outside the box
    marks: np.ndarray  # float32[W, MARKS, 2]: places of the latest pick-ups, for the drawing; the k-th at k % MARKS
    marks_count: np.ndarray  # int32[W]: pick-ups in this episode
    force: np.ndarray  # float64[W, N, 2]: scratch
    taker: np.ndarray  # int16[W, J]: scratch: the collector that took the food in this step, or -1
    near: np.ndarray  # float64[W, J]: scratch: squared distances from a collector, of the food that it detects
    order: np.ndarray  # int32[W, J]: scratch: which food that is


class Rules(NamedTuple):
    """Parameters as numbers; the dataclass in game.py says what they mean."""

    adversaries: int
    controllers: int
    collectors_each: int
    quality: int
    n_detect: int
    observe_all: bool
    strict: int
    legacy: bool
    velocity_first: bool
    cross_layer: bool
    respawn: bool
    many_pickups: bool
    continuous: bool
    collectors_pay_distance: bool
    comm_radius: float
    detect_radius: float
    pickup_radius: float
    hit_reward: float
    collect_reward: float
    controller_collect_reward: float
    lost_penalty: float
    strict_collector_penalty: float
    strict_controller_penalty: float
    adversary_distance_shaping: float
    controller_distance_shaping: float
    controller_comm_shaping: float
    collector_comm_shaping: float
    adversary_size: float
    controller_size: float
    collector_size: float
    adversary_accel: float
    controller_accel: float
    collector_accel: float
    adversary_max_speed: float
    controller_max_speed: float
    collector_max_speed: float


# Who is who -----------------------------------------------------------------------------------------------------


@rule
def first_collector(p):
    return p.adversaries + p.controllers


@rule
def father(i, p):
    """The controller of collector i."""
    return p.adversaries + (i - first_collector(p)) // p.collectors_each


@rule
def first_son(c, p):
    """The first collector of controller c; its others follow."""
    return first_collector(p) + (c - p.adversaries) * p.collectors_each


@rule
def of_kind(i, p, adversary, controller, collector):
    """The value for the kind of agent i."""
    if i < p.adversaries:
        return adversary
    return controller if i < first_collector(p) else collector


@rule
def size(i, p):
    return of_kind(i, p, p.adversary_size, p.controller_size, p.collector_size)


@rule
def squared_distance(w, s, i, j):
    dx = s.pos[w, i, 0] - s.pos[w, j, 0]
    dy = s.pos[w, i, 1] - s.pos[w, j, 1]
    return dx * dx + dy * dy


# Reset ----------------------------------------------------------------------------------------------------------


@rule
def reset(w, e, s, p):
    for i in range(s.pos.shape[1]):
        for d in range(2):
            if i < first_collector(p):
                s.pos[w, i, d] = uniform(w, e, -0.9, 0.9)
            else:
                s.pos[w, i, d] = s.pos[w, father(i, p), d] + uniform(w, e, -0.05, 0.05)
            s.vel[w, i, d] = 0.0
        s.down[w, i] = IN_PLAY
        s.due[w, i] = 0.0
    s.marks_count[w] = 0
    collectors = s.pos.shape[1] - first_collector(p)
    for j in range(s.food.shape[1]):
        # Two for each collector to begin with, the rest anywhere.
        owner = j % collectors if j < 2 * collectors else integer(w, e, collectors)
        place_food(w, e, s, p, j, first_collector(p) + owner)


@rule
def place_food(w, e, s, p, j, owner):
    """Put food j uniformly where the collector can detect it and inside the box."""
    x = y = 0.0
    for _ in range(TRIES):
        ux = uniform(w, e, -1.0, 1.0)
        uy = uniform(w, e, -1.0, 1.0)
        x = s.pos[w, owner, 0] + p.detect_radius * ux
        y = s.pos[w, owner, 1] + p.detect_radius * uy
        if ux * ux + uy * uy < 1.0 and abs(x) <= 1.0 and abs(y) <= 1.0:
            break
    s.food[w, j, 0] = min(max(x, -1.0), 1.0)
    s.food[w, j, 1] = min(max(y, -1.0), 1.0)
    s.food_active[w, j] = True


# Step -----------------------------------------------------------------------------------------------------------


@rule
def step(w, e, s, p):
    stay_down(w, s)
    act(w, e, s, p)
    push_apart(w, s, p)
    move(w, s, p)
    link(w, e, s, p)
    pick_up(w, s, p)
    pay(w, e, s, p)
    respawn(w, e, s, p)


@rule
def stay_down(w, s):
    for i in range(s.down.shape[1]):
        if s.down[w, i] == GOES_DOWN:
            s.down[w, i] = IS_DOWN
            s.vel[w, i, 0] = 0.0
            s.vel[w, i, 1] = 0.0


@rule
def act(w, e, s, p):
    """Control forces: one axis at a time (0 none, 1 left, 2 right, 3 down, 4 up), or Box(0, 1, (5,)) from entry 1."""
    for i in range(s.pos.shape[1]):
        accel = of_kind(i, p, p.adversary_accel, p.controller_accel, p.collector_accel)
        # Lost since the last step: acts at random until back in range. At a reset nobody has been lost yet.
        astray = p.strict == RANDOM and i >= first_collector(p) and e.steps[w] > 1 and s.lost[w, i] > 0
        x = y = 0.0
        if s.down[w, i] == IS_DOWN:
            pass
        elif p.continuous:
            if astray:
                for k in range(5):
                    e.controls[w, i, k] = uniform(w, e, 0.0, 1.0)
            x = np.float64(e.controls[w, i, 2] - e.controls[w, i, 1])
            y = np.float64(e.controls[w, i, 4] - e.controls[w, i, 3])
        else:
            if astray:
                e.actions[w, i] = integer(w, e, 5)
            action = e.actions[w, i]
            if action == 1:
                x = -1.0
            elif action == 2:
                x = 1.0
            elif action == 3:
                y = -1.0
            elif action == 4:
                y = 1.0
        s.force[w, i, 0] = x * accel
        s.force[w, i, 1] = y * accel


@rule
def push_apart(w, s, p):
    """Contact forces between all pairs of agents, across both layers (Lowe et al. 2017, the particle world)."""
    widest = max(p.adversary_size, p.controller_size, p.collector_size)
    for i in range(s.pos.shape[1]):
        reach = size(i, p) + widest + SOFTPLUS_RANGE * CONTACT_MARGIN
        for j in range(i + 1, s.pos.shape[1]):
            dx = s.pos[w, i, 0] - s.pos[w, j, 0]
            dy = s.pos[w, i, 1] - s.pos[w, j, 1]
            squared = dx * dx + dy * dy
            if squared >= reach * reach:  # nearly all pairs
                continue
            touch = size(i, p) + size(j, p)
            if squared >= (touch + SOFTPLUS_RANGE * CONTACT_MARGIN) ** 2:
                continue
            if not p.cross_layer and i < p.adversaries and j >= first_collector(p):
                continue
            if s.down[w, i] == IS_DOWN or s.down[w, j] == IS_DOWN:
                continue
            d = math.sqrt(squared)
            if d < 1e-9:  # the same place has no direction: push along x
                ux, uy = 1.0, 0.0
            else:
                ux, uy = dx / d, dy / d
            overlap = (touch - d) / CONTACT_MARGIN
            if overlap < SOFTPLUS_RANGE:
                overlap = math.log1p(math.exp(overlap))
            force = CONTACT_FORCE * CONTACT_MARGIN * overlap
            s.force[w, i, 0] += force * ux
            s.force[w, i, 1] += force * uy
            s.force[w, j, 0] -= force * ux
            s.force[w, j, 1] -= force * uy


@rule
def advance(x, y, vx, vy, fx, fy, top, velocity_first):
    """One step of a body's motion under force (fx, fy): its new position and velocity."""
    new_vx = vx * (1.0 - DAMPING) + fx * DT
    new_vy = vy * (1.0 - DAMPING) + fy * DT
    speed = math.sqrt(new_vx * new_vx + new_vy * new_vy)
    if speed > top:
        new_vx = new_vx / speed * top
        new_vy = new_vy / speed * top
    if velocity_first:
        vx, vy = new_vx, new_vy
    # Else the position moves with the old velocity, as MPE does since PettingZoo 1.23.
    x = min(max(x + vx * DT, -FAR), FAR)
    y = min(max(y + vy * DT, -FAR), FAR)
    return x, y, new_vx, new_vy


@rule
def move(w, s, p):
    for i in range(s.pos.shape[1]):
        if s.down[w, i] == IS_DOWN:
            continue
        top = of_kind(i, p, p.adversary_max_speed, p.controller_max_speed, p.collector_max_speed)
        x, y, vx, vy = advance(
            s.pos[w, i, 0], s.pos[w, i, 1], s.vel[w, i, 0], s.vel[w, i, 1],
            s.force[w, i, 0], s.force[w, i, 1], top, p.velocity_first,
        )  # fmt: skip
        s.pos[w, i, 0] = x
        s.pos[w, i, 1] = y
        s.vel[w, i, 0] = vx
        s.vel[w, i, 1] = vy


@rule
def link(w, e, s, p):
    """Who is lost, and in strict mode goes down for it."""
    for c in range(p.adversaries, first_collector(p)):
        s.lost[w, c] = 0
        for i in range(first_son(c, p), first_son(c, p) + p.collectors_each):
            if s.down[w, i] != IS_DOWN:
                lost = squared_distance(w, s, i, c) >= p.comm_radius * p.comm_radius
                s.lost[w, i] = lost
                if lost and p.strict == STRICT:
                    s.down[w, i] = GOES_DOWN
                    e.terminated[w, i] = True
            s.lost[w, c] += s.lost[w, i]


@rule
def pick_up(w, s, p):
    """Collectors in world order take the nearest food in contact, or all of it; a food is taken once."""
    foods = s.food.shape[1]
    for j in range(foods):
        s.taker[w, j] = -1
    for i in range(first_collector(p), s.pos.shape[1]):
        s.collected[w, i] = 0
        if s.down[w, i] == IS_DOWN:
            continue
        best = -1
        best_squared = p.pickup_radius * p.pickup_radius
        for j in range(foods):
            dx = s.food[w, j, 0] - s.pos[w, i, 0]
            dy = s.food[w, j, 1] - s.pos[w, i, 1]
            squared = dx * dx + dy * dy
            if squared < best_squared and s.food_active[w, j] and s.taker[w, j] < 0:
                if p.many_pickups:
                    take(w, s, i, j)
                else:
                    best = j
                    best_squared = squared
        if best >= 0:
            take(w, s, i, best)


@rule
def take(w, s, i, j):
    s.taker[w, j] = i
    s.collected[w, i] += 1
    mark = s.marks_count[w] % MARKS
    s.marks[w, mark, 0] = s.food[w, j, 0]
    s.marks[w, mark, 1] = s.food[w, j, 1]
    s.marks_count[w] += 1


@rule
def bound(z):
    """The controller's penalty on one axis, z = |coordinate| (MPE's simple_tag)."""
    if z < 0.9:
        return 0.0
    if z < 1.0:
        return (z - 0.9) * 10.0
    return min(math.exp(min(2.0 * z - 2.0, 10.0)), 10.0)


@rule
def pay(w, e, s, p):
    """Rewards, from the state that this step led to, its links and its pick-ups."""
    touch = p.adversary_size + p.controller_size
    all_hits = 0
    shaping = 0.0
    for a in range(p.adversaries):
        s.hits[w, a] = 0
        nearest = math.inf
        for c in range(p.adversaries, first_collector(p)):
            squared = squared_distance(w, s, a, c)
            nearest = min(nearest, squared)
            if squared < touch * touch:
                s.hits[w, a] += 1
        all_hits += s.hits[w, a]
        shaping -= p.adversary_distance_shaping * math.sqrt(nearest)
    for a in range(p.adversaries):  # one reward for the whole team
        e.rewards[w, a] = shaping + p.hit_reward * all_hits

    for c in range(p.adversaries, first_collector(p)):
        x = abs(s.pos[w, c, 0])
        y = abs(s.pos[w, c, 1])
        s.out_of_bounds[w, c] = x > 1.0 or y > 1.0
        s.hits[w, c] = 0
        reward = 0.0
        for a in range(p.adversaries):
            squared = squared_distance(w, s, a, c)
            reward += p.controller_distance_shaping * math.sqrt(squared)
            if squared < touch * touch:
                s.hits[w, c] += 1
        reward -= p.hit_reward * s.hits[w, c]
        reward -= bound(x) + bound(y)
        newly_lost = 0
        found = 0
        for i in range(first_son(c, p), first_son(c, p) + p.collectors_each):
            if s.down[w, i] == IS_DOWN:
                continue
            d = math.sqrt(squared_distance(w, s, i, c))
            reward -= p.controller_comm_shaping * max(0.0, d - p.comm_radius)
            newly_lost += s.lost[w, i]
            found += s.collected[w, i]

            own = d if p.collectors_pay_distance else max(0.0, d - p.comm_radius)
            penalty = p.strict_collector_penalty if p.strict == STRICT else p.lost_penalty
            e.rewards[w, i] = -p.collector_comm_shaping * own
            settle(w, e, s, p, i, p.collect_reward * s.collected[w, i] - penalty * s.lost[w, i])
        penalty = p.strict_controller_penalty if p.strict == STRICT else p.lost_penalty
        e.rewards[w, c] = reward
        settle(w, e, s, p, c, p.controller_collect_reward * found - penalty * newly_lost)


@rule
def settle(w, e, s, p, i, amount):
    """Pay for lost and collected: now, or with legacy timing one step later."""
    if p.legacy:
        e.rewards[w, i] += s.due[w, i]
        s.due[w, i] = amount
    else:
        e.rewards[w, i] += amount


@rule
def respawn(w, e, s, p):
    """After all pick-ups, around the collectors that made them."""
    for j in range(s.food.shape[1]):
        if s.taker[w, j] >= 0:
            s.food_active[w, j] = False
            if p.respawn:
                place_food(w, e, s, p, j, s.taker[w, j])


# Observation ----------------------------------------------------------------------------------------------------


@rule
def observe(w, s, p):
    """Write all observations. Changes nothing that a rule reads."""
    k = 0
    for i in range(s.pos.shape[1]):
        begin = k
        k = put(w, s, k, s.vel[w, i, 0], s.vel[w, i, 1])
        k = put(w, s, k, s.pos[w, i, 0], s.pos[w, i, 1])
        if i < p.adversaries:
            k = see_as_adversary(w, s, p, k, i)
        elif i < first_collector(p):
            k = see_as_controller(w, s, p, k, i)
        else:
            k = see_as_collector(w, s, p, k, i)
        if s.down[w, i] == IS_DOWN:
            for n in range(begin, k):
                s.observation[w, n] = 0.0


@rule
def see_as_adversary(w, s, p, k, i):
    for j in range(first_collector(p)):
        if j != i:
            k = put_place(w, s, k, i, j)
    for c in range(p.adversaries, first_collector(p)):
        k = put_velocity(w, s, k, c)
    return k


@rule
def see_as_controller(w, s, p, k, i):
    first, last = first_son(i, p), first_son(i, p) + p.collectors_each
    if p.observe_all:
        first, last = first_collector(p), s.pos.shape[1]
    for j in range(first_collector(p)):
        if j != i:
            k = put_place(w, s, k, i, j)
    if p.quality >= L:
        for j in range(first, last):
            k = put_place(w, s, k, i, j)
    for c in range(p.adversaries, first_collector(p)):
        if c != i:
            k = put_velocity(w, s, k, c)
    if p.quality >= VH:
        for j in range(first, last):
            k = put_velocity(w, s, k, j)
    return k


@rule
def see_as_collector(w, s, p, k, i):
    c = father(i, p)
    first, last = first_son(c, p), first_son(c, p) + p.collectors_each
    k = put_place(w, s, k, i, c)
    if p.quality >= L:
        for j in range(first, last):
            if j != i:
                k = put_place(w, s, k, i, j)
    if p.quality >= H:
        k = put_velocity(w, s, k, c)
    if p.quality >= VH:
        for j in range(first, last):
            if j != i:
                k = put_velocity(w, s, k, j)
    count = detect(w, s, p, i)
    for n in range(p.n_detect):
        if n < count:
            j = s.order[w, n]
            k = put(w, s, k, s.food[w, j, 0] - s.pos[w, i, 0], s.food[w, j, 1] - s.pos[w, i, 1])
        else:
            k = put(w, s, k, 0.0, 0.0)
    return k


@rule
def detect(w, s, p, i):
    """The food in reach of collector i, nearest first, ties by index, as far as it has slots: into the scratch arrays.

    Returns how much is in reach. An insertion sort without branches: where an insertion ends is a toss-up, which
    processors guess badly.
    """
    limit = p.detect_radius * p.detect_radius
    count = 0
    for j in range(s.food.shape[1]):
        dx = s.food[w, j, 0] - s.pos[w, i, 0]
        dy = s.food[w, j, 1] - s.pos[w, i, 1]
        squared = dx * dx + dy * dy
        s.near[w, count] = squared
        s.order[w, count] = j
        count += (squared < limit) & s.food_active[w, j]
    for m in range(1, count):
        mine = squared = s.near[w, m]
        j = s.order[w, m]
        for n in range(min(m, p.n_detect)):
            other = s.near[w, n]
            k = s.order[w, n]
            before = mine < other  # from the place of m on, all others move up by one
            s.order[w, n] = j if before else k
            j = k if before else j
            s.near[w, n] = min(squared, other)
            squared = max(squared, other)
        if m < p.n_detect:
            s.near[w, m] = squared
            s.order[w, m] = j
    return count


@rule
def put_place(w, s, k, i, j):
    """Where agent j is, seen from agent i; zeros if j is down."""
    if s.down[w, j] != IN_PLAY:
        return put(w, s, k, 0.0, 0.0)
    return put(w, s, k, s.pos[w, j, 0] - s.pos[w, i, 0], s.pos[w, j, 1] - s.pos[w, i, 1])


@rule
def put_velocity(w, s, k, j):
    if s.down[w, j] != IN_PLAY:
        return put(w, s, k, 0.0, 0.0)
    return put(w, s, k, s.vel[w, j, 0], s.vel[w, j, 1])


@rule
def put(w, s, k, x, y):
    s.observation[w, k] = x
    s.observation[w, k + 1] = y
    return k + 2


# Loops over worlds ----------------------------------------------------------------------------------------------


@kernel
def reset_worlds(lo, hi, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    for w in range(lo, hi):
        if e.begin[w]:
            open_episode(w, e)
            reset(w, e, s, p)
            observe(w, s, p)


@kernel
def step_worlds(lo, hi, max_cycles, shared, state, rules):
    e, s, p = Shared(*shared), State(*state), Rules(*rules)
    ended = 0
    # Block by block, first the rules and then the observations: two short loops keep their values in registers where
    # one long loop spills them (an eighth faster), and a block stays in the fastest cache.
    for first in range(lo, hi, BLOCK):
        last = min(first + BLOCK, hi)
        for w in range(first, last):
            if not e.begin[w]:
                open_step(w, e)
                step(w, e, s, p)
                ended += close_step(w, e, max_cycles)
        for w in range(first, last):
            if not e.begin[w]:
                observe(w, s, p)
            e.begin[w] = False  # next-step autoreset: such a world begins instead of playing
    return ended


@kernel
def observe_worlds(lo, hi, shared, state, rules):
    s, p = State(*state), Rules(*rules)
    for w in range(lo, hi):
        observe(w, s, p)
