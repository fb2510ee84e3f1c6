"""Scripted policies: the yardsticks that learners are compared with. They act on observations alone.

`rules` pushes along one axis at a time by simple rules. `lookahead` tries all pairs of its own next two pushes with the
exact dynamics of its own body, contacts with what it sees now included, and rates where they lead; what it does not
observe it extrapolates. The weights are round numbers found by trial in the default game.

    policy = POLICIES["lookahead"](game, "collector_0_0")
    actions = policy(observations)  # float32[W, size] -> int64[W], or float32[W, 5] with continuous actions
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.engine.scripted import Policy, Scripted
from mpe_ext.simple_tag_while_c import rules as r
from mpe_ext.simple_tag_while_c.game import SimpleTagWhileC


class View(NamedTuple):
    """Columns of relative places in one agent's observation, and what it must know of the rules."""

    others: int  # whom it chases (adversary; their velocities follow), or who chases it (controller)
    num_others: int
    peers: int  # others of the own kind; a collector sees those of its controller
    num_peers: int
    team: int  # the collectors of a controller, the controller of a collector
    num_team: int
    food: int
    num_food: int
    touch: float  # bodies nearer than this are in contact: the own one and others, peers, team
    peer_touch: float
    team_touch: float
    accel: float
    top: float
    velocity_first: bool
    chaser_accel: float
    chaser_top: float
    hit: float  # what a contact of adversary and controller costs
    comm_radius: float
    lost: float  # what a lost collector costs the team: each step, or once in strict mode
    pickup_radius: float
    find: float  # what a food brings the team


def view(game: SimpleTagWhileC, agent: str) -> View:
    """The view of one agent of a game."""
    p, role = game.params, agent.split("_")[0]
    a, c, m = p.num_adversaries, p.num_controller, p.num_collector_each
    seen = m if p.env_quality != "VL" else 0
    first_son = 2 + 2 * (a + c) + (2 * m * int(agent.split("_")[1]) if p.observe_all_collectors else 0)
    columns = {  # others, peers, team, food: first column and how many
        "adversary": (2 + 2 * a, c, 4, a - 1, 0, 0, 0, 0),
        "controller": (4, a, 4 + 2 * a, c - 1, first_son, seen, 0, 0),
        "collector": (0, 0, 6, max(seen - 1, 0), 4, 1, game.observation_sizes[agent] - 2 * p.n_detect, p.n_detect),
    }[role]
    strict_lost = p.strict_collector_penalty + p.strict_controller_penalty
    return View(
        *columns,
        touch=p.adversary_size + p.controller_size,
        peer_touch=2.0 * getattr(p, f"{role}_size"),
        team_touch=p.controller_size + p.collector_size,
        accel=float(getattr(p, f"{role}_accel")),
        top=float(getattr(p, f"{role}_max_speed")),
        velocity_first=p.integrator == "velocity_first",
        chaser_accel=float(p.adversary_accel),
        chaser_top=float(p.adversary_max_speed),
        hit=float(p.hit_reward),
        comm_radius=float(p.comm_radius),
        lost=float(strict_lost if p.strict_mode is True else 2.0 * p.lost_penalty),
        pickup_radius=float(game.numbers().pickup_radius),
        find=float(p.collect_reward + p.controller_collect_reward),
    )


# Simple axis rules ------------------------------------------------------------------------------------------------


@rule
def length(x, y):
    return math.sqrt(x * x + y * y)


@rule
def toward(x, y):
    """The push along the longer axis of (x, y)."""
    if abs(x) < 1e-6 and abs(y) < 1e-6:
        return 0
    if abs(x) > abs(y):
        return 1 if x < 0 else 2
    return 3 if y < 0 else 4


@rule
def place(o, w, first, k):
    """The k-th (x, y) from column `first` on. Exact zeros are an empty slot, or an agent that is down."""
    return float(o[w, first + 2 * k]), float(o[w, first + 2 * k + 1])


@rule
def nearest(o, w, v):
    """The nearest of the others: its index, place and distance; index -1 if there is none."""
    best, bx, by, bd = -1, 0.0, 0.0, math.inf
    for k in range(v.num_others):
        x, y = place(o, w, v.others, k)
        if 0.0 < length(x, y) < bd:
            best, bx, by, bd = k, x, y, length(x, y)
    return best, bx, by, bd


@rule
def chase_rule(o, w, v):
    """Lead the nearest controller by the time it takes to reach it."""
    k, x, y, d = nearest(o, w, v)
    if k < 0:
        return 0
    vx, vy = place(o, w, v.others + 2 * v.num_others, k)
    lead = min(0.5 * d / v.top, 0.5)
    # Its own momentum counts as ground already covered.
    return toward(x + lead * vx - 0.2 * o[w, 0], y + lead * vy - 0.2 * o[w, 1])


@rule
def lead_rule(o, w, v):
    """Away from a near chaser, to the middle of the box and of its collectors, against its momentum: their sum."""
    x = -0.4 * o[w, 2] - 0.3 * o[w, 0]
    y = -0.4 * o[w, 3] - 0.3 * o[w, 1]
    for n in range(v.num_team):
        x += 0.5 * o[w, v.team + 2 * n] / v.num_team
        y += 0.5 * o[w, v.team + 2 * n + 1] / v.num_team
    _, ax, ay, d = nearest(o, w, v)
    fear = max(0.0, 1.0 - d / 0.6)
    x -= fear * ax / d
    y -= fear * ay / d
    return toward(x, y)


@rule
def collect_rule(o, w, v):
    """Go for the nearest food that lies in the controller's range, else back to the controller."""
    fx, fy = place(o, w, v.team, 0)
    cx, cy = 0.2 * o[w, 0], 0.2 * o[w, 1]  # about what it coasts until a push shows
    tx, ty, best = fx - cx, fy - cy, math.inf
    for k in range(v.num_food):
        x, y = place(o, w, v.food, k)
        in_range = length(x - fx, y - fy) < 0.9 * v.comm_radius
        if in_range and (x != 0.0 or y != 0.0) and length(x - cx, y - cy) < best:
            tx, ty, best = x - cx, y - cy, length(x - cx, y - cy)
    return toward(tx, ty) if best >= v.pickup_radius else 0  # else it coasts there


# Look-ahead -------------------------------------------------------------------------------------------------------

STEPS = (4, 5, 3)  # to look ahead, by role
PUSH_X, PUSH_Y = (0.0, -1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, -1.0, 1.0)


@rule
def ride(o, w, v, first, second, path):
    """Own way, as rows (x, y, vx, vy) relative to the present place: first push, then the second one held."""
    fx, fy = v.accel * PUSH_X[first], v.accel * PUSH_Y[first]
    near = ((v.others, v.num_others, v.touch), (v.peers, v.num_peers, v.peer_touch), (v.team, v.num_team, v.team_touch))
    for column, count, touch in near:  # contacts in this step, as in the rules but for their soft edge
        for k in range(count):
            x, y = place(o, w, column, k)
            d = length(x, y)
            if 0.0 < d < touch:
                fx -= r.CONTACT_FORCE * (touch - d) * x / d
                fy -= r.CONTACT_FORCE * (touch - d) * y / d
    x = y = 0.0
    vx, vy = float(o[w, 0]), float(o[w, 1])
    for t in range(len(path)):
        x, y, vx, vy = r.advance(x, y, vx, vy, fx, fy, v.top, v.velocity_first)
        path[t, 0], path[t, 1], path[t, 2], path[t, 3] = x, y, vx, vy
        fx, fy = v.accel * PUSH_X[second], v.accel * PUSH_Y[second]


@rule
def lost_soon(x, y, v):
    """How likely a collector is lost, (x, y) away from where its controller was: both move on."""
    return min(max(length(x, y) / v.comm_radius - 0.7, 0.0) / 0.6, 1.0)


@rule
def chase_value(o, w, v, path):
    """Contacts to come and closeness, with controllers moving on as they do."""
    value = 0.0
    for t in range(len(path)):
        closest = math.inf
        for k in range(v.num_others):
            x, y = place(o, w, v.others, k)
            vx, vy = place(o, w, v.others + 2 * v.num_others, k)
            ahead = r.DT * (t + 1)
            closest = min(closest, length(x + ahead * vx - path[t, 0], y + ahead * vy - path[t, 1]))
        value += (v.hit if closest < v.touch else 0.0) - closest
    return value


@rule
def lead_value(o, w, v, path):
    """Contacts, the boundary and lost collectors to come: chasers chase, from a guessed speed on, collectors stay."""
    value = 0.0
    for t in range(len(path)):
        value -= r.bound(abs(path[t, 0] + o[w, 2])) + r.bound(abs(path[t, 1] + o[w, 3]))
        for n in range(v.num_team):
            x, y = place(o, w, v.team, n)
            if x != 0.0 or y != 0.0:
                value -= v.lost * lost_soon(x - path[t, 0], y - path[t, 1], v)
    for k in range(v.num_others):
        x, y = place(o, w, v.others, k)
        d = max(length(x, y), 1e-9)
        vx, vy = -0.5 * v.chaser_top * x / d, -0.5 * v.chaser_top * y / d
        for t in range(len(path)):
            ax, ay = path[t, 0] - x, path[t, 1] - y
            pull = v.chaser_accel / max(length(ax, ay), 1e-9)
            x, y, vx, vy = r.advance(x, y, vx, vy, pull * ax, pull * ay, v.chaser_top, v.velocity_first)
            # A contact is the more likely the nearer this guess of the chaser's place.
            danger = max(1.0 - max(length(path[t, 0] - x, path[t, 1] - y) - v.touch, 0.0) / 0.2, 0.0)
            value -= 0.65 * v.hit * danger * danger
    # Walls and corners ahead take room to flee.
    x = max(abs(path[-1, 0] + o[w, 2]) - 0.75, 0.0)
    y = max(abs(path[-1, 1] + o[w, 3]) - 0.75, 0.0)
    return value - 80.0 * (x * x + y * y)


@rule
def collect_value(o, w, v, path, chance):
    """Food taken and steps out of range on the way, then the best food ahead, a third push chosen for it."""
    fx, fy = place(o, w, v.team, 0)
    value, worth, ahead = 0.0, 1.0, 0.0
    for k in range(v.num_food):  # chance[k]: that it is there, and likely not another's
        x, y = place(o, w, v.food, k)
        chance[k] = 1.0 if x != 0.0 or y != 0.0 else 0.0
        for n in range(v.num_peers):
            px, py = place(o, w, v.peers, n)
            if (px != 0.0 or py != 0.0) and length(x - px, y - py) < length(x, y):
                chance[k] *= 0.2
    # These places follow from two pushes: where the position moves first, a push shows in the place after the next.
    places = 2 if v.velocity_first else 3
    for t in range(places):
        x, y = path[t, 0], path[t, 1]
        value -= v.lost * lost_soon(x - fx, y - fy, v)
        for k in range(v.num_food):
            gx, gy = place(o, w, v.food, k)
            if chance[k] > 0.0 and length(gx - x, gy - y) < v.pickup_radius:
                chance[k] = 0.0  # taken
                value += v.find * worth
                break
        worth *= 0.85
    value -= 0.5 * length(x - fx, y - fy)  # with nothing ahead, home
    for third in range(5):
        px, py = v.accel * PUSH_X[third], v.accel * PUSH_Y[third]
        x, y, vx, vy = r.advance(path[1, 0], path[1, 1], path[1, 2], path[1, 3], px, py, v.top, v.velocity_first)
        if not v.velocity_first:
            x, y = x + r.DT * vx, y + r.DT * vy
        for k in range(v.num_food):
            gx, gy = place(o, w, v.food, k)
            d = length(gx - x, gy - y)
            steps = d / (r.DT * v.top) + 0.5 if d >= v.pickup_radius else 0.0
            ahead = max(ahead, chance[k] * v.find / (1.0 + 0.2 * steps))
    return value + worth * ahead


# Loops over worlds ------------------------------------------------------------------------------------------------

CHASE, LEAD, COLLECT = range(3)
ROLES = ("adversary", "controller", "collector")


@kernel
def play_rules(role, o, numbers, path, chance, actions):
    v = View(*numbers)
    for w in range(len(o)):
        if role == CHASE:
            actions[w] = chase_rule(o, w, v)
        else:
            actions[w] = lead_rule(o, w, v) if role == LEAD else collect_rule(o, w, v)


@kernel
def play_lookahead(role, o, numbers, path, chance, actions):
    v = View(*numbers)
    for w in range(len(o)):
        best = -math.inf
        for first in range(5):
            for second in range(5):
                ride(o, w, v, first, second, path)
                if role == CHASE:
                    value = chase_value(o, w, v, path)
                elif role == LEAD:
                    value = lead_value(o, w, v, path)
                else:
                    value = collect_value(o, w, v, path, chance)
                if value > best:
                    best, actions[w] = value, first


def _make(play: Callable, game: SimpleTagWhileC, agent: str, seed: int) -> Policy:
    """The policy of one agent of a game, without chance. Raises ValueError for observations of another shape."""
    role, numbers = ROLES.index(agent.split("_")[0]), view(game, agent)
    size, continuous = game.observation_sizes[agent], game.params.continuous_actions

    def policy(observations: np.ndarray) -> np.ndarray:
        observations = np.ascontiguousarray(observations, np.float32)
        if observations.ndim != 2 or observations.shape[1] != size:
            raise ValueError(f"observations of {agent!r} are {list(observations.shape)}, must be [worlds, {size}]")
        actions = np.zeros(len(observations), np.int64)
        path, chance = np.zeros((STEPS[role], 4)), np.zeros(numbers.num_food)
        play(role, observations, tuple(numbers), path, chance, actions)
        return np.eye(5, dtype=np.float32)[actions] if continuous else actions

    return policy


POLICIES = {
    "rules": Scripted(partial(_make, play_rules), (), "pushes along one axis at a time by simple rules"),
    "lookahead": Scripted(
        partial(_make, play_lookahead),
        (),
        "tries its own next two pushes with the exact dynamics and rates the outcome",
    ),
}
