"""Scripted policies: the yardsticks that learners are compared with. They act on observations alone.

`rules` pushes along one axis at a time by simple rules. `lookahead` tries all pairs of its own next two actions, the second held
for the rest of a short horizon, with the exact dynamics of its own body; what it does not observe it extrapolates.

    policy = POLICIES["lookahead"](game, "collector_0_0")
    actions = policy(observations)  # float32[W, size] -> int64[W], or float32[W, 5] with continuous actions
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import kernel, rule
from mpe_ext.simple_tag_while_c import rules as r
from mpe_ext.simple_tag_while_c.game import SimpleTagWhileC

Policy = Callable[[np.ndarray], np.ndarray]


class View(NamedTuple):
    """Where things stand in one agent's observation, and what its body can do."""

    others: int  # column of the first chaser or chased, (x, y) each, relative
    num_others: int
    velocities: int  # column of the controllers' velocities (adversary), or -1
    team: int  # column of the first collector (controller) or of the controller (collector), or -1
    num_team: int
    food: int  # column of the first food slot
    num_food: int
    accel: float
    top: float
    velocity_first: bool
    touch: float  # an adversary and a controller nearer than this are in contact
    chaser_top: float
    hit: float  # what a contact costs
    comm_radius: float
    lost: float  # what a lost collector costs the team, each step
    pickup_radius: float
    find: float  # what a food brings the team


def view(game: SimpleTagWhileC, agent: str) -> View:
    """The view of one agent of a game."""
    p, n = game.params, game.numbers()
    role = agent.split("_")[0]
    adversaries, controllers, sees_team = p.num_adversaries, p.num_controller, p.env_quality != "VL"
    others = 4 + 2 * (adversaries - 1) if role == "adversary" else 4
    team, num_team = {
        "adversary": (-1, 0),
        "controller": (4 + 2 * (adversaries + controllers - 1), p.num_collector_each * sees_team),
        "collector": (4, 1),
    }[role]
    if role == "controller" and p.observe_all_collectors:
        team += 2 * p.num_collector_each * int(agent.split("_")[1])
    return View(
        others=others,
        num_others={"adversary": controllers, "controller": adversaries, "collector": 0}[role],
        velocities=others + 2 * controllers if role == "adversary" else -1,
        team=team,
        num_team=num_team,
        food=game.observation_sizes[agent] - 2 * p.n_detect,
        num_food=p.n_detect if role == "collector" else 0,
        accel=float(getattr(p, f"{role}_accel")),
        top=float(getattr(p, f"{role}_max_speed")),
        velocity_first=p.integrator == "velocity_first",
        touch=p.adversary_size + p.controller_size,
        chaser_top=p.adversary_max_speed,
        hit=p.hit_reward,
        comm_radius=p.comm_radius,
        lost=2.0 * p.lost_penalty,
        pickup_radius=n.pickup_radius,
        find=p.collect_reward + p.controller_collect_reward,
    )


# Simple axis rules ------------------------------------------------------------------------------------------------


@rule
def toward(x, y):
    """The push along the longer axis of (x, y)."""
    if abs(x) < 1e-6 and abs(y) < 1e-6:
        return 0
    if abs(x) > abs(y):
        return 1 if x < 0 else 2
    return 3 if y < 0 else 4


@rule
def nearest(o, w, first, count):
    """Index of the nearest of `count` relative places, -1 if there is none; zeros are empty slots."""
    best, best_squared = -1, math.inf
    for k in range(count):
        x, y = o[w, first + 2 * k], o[w, first + 2 * k + 1]
        squared = x * x + y * y
        if 0.0 < squared < best_squared:
            best, best_squared = k, squared
    return best


@rule
def chase_rule(o, w, v):
    """Lead the nearest controller by the time it takes to reach it."""
    k = nearest(o, w, v.others, v.num_others)
    if k < 0:
        return 0
    x, y = o[w, v.others + 2 * k], o[w, v.others + 2 * k + 1]
    lead = min(0.5 * math.sqrt(x * x + y * y) / v.top, 0.5)
    vx, vy = o[w, v.velocities + 2 * k], o[w, v.velocities + 2 * k + 1]
    # Its own momentum counts as ground already covered.
    return toward(x + lead * vx - 0.2 * o[w, 0], y + lead * vy - 0.2 * o[w, 1])


@rule
def lead_rule(o, w, v):
    """A controller's: stay inside, flee when chased closely, else stay in the middle of the collectors."""
    x, y = o[w, 2], o[w, 3]
    if max(abs(x), abs(y)) > 0.8:
        return toward(-x if abs(x) > 0.8 else 0.0, -y if abs(y) > 0.8 else 0.0)
    k = nearest(o, w, v.others, v.num_others)
    if k >= 0:
        ax, ay = o[w, v.others + 2 * k], o[w, v.others + 2 * k + 1]
        d = math.sqrt(ax * ax + ay * ay)
        if d < 0.6:  # away, and off the walls
            return toward(-ax / d - 0.7 * x, -ay / d - 0.7 * y)
    cx = cy = 0.0
    for n in range(v.num_team):
        cx += o[w, v.team + 2 * n] / v.num_team
        cy += o[w, v.team + 2 * n + 1] / v.num_team
    return toward(cx - 0.3 * o[w, 0], cy - 0.3 * o[w, 1])


@rule
def collect_rule(o, w, v):
    """Go for the nearest food that lies in the controller's range, else back to the controller."""
    fx, fy = o[w, v.team], o[w, v.team + 1]
    limit = 0.9 * v.comm_radius
    best, best_squared = -1, math.inf
    for k in range(v.num_food):
        x, y = o[w, v.food + 2 * k], o[w, v.food + 2 * k + 1]
        squared = x * x + y * y
        in_range = (x - fx) * (x - fx) + (y - fy) * (y - fy) < limit * limit
        if 0.0 < squared < best_squared and in_range:
            best, best_squared = k, squared
    if best < 0:
        return toward(fx - 0.3 * o[w, 0], fy - 0.3 * o[w, 1])
    x, y = o[w, v.food + 2 * best], o[w, v.food + 2 * best + 1]
    x -= 0.3 * o[w, 0]  # it coasts that far: brake in time
    y -= 0.3 * o[w, 1]
    return toward(x, y) if x * x + y * y > 0.0004 else 0


# Look-ahead -------------------------------------------------------------------------------------------------------

CHASE_STEPS, LEAD_STEPS, COLLECT_STEPS = 4, 4, 3


@rule
def push(action, v):
    """Force of a discrete action."""
    fx = -v.accel if action == 1 else (v.accel if action == 2 else 0.0)
    fy = -v.accel if action == 3 else (v.accel if action == 4 else 0.0)
    return fx, fy


@rule
def chase_value(o, w, v, first, second):
    """Contacts to come and closeness, with controllers moving on as they do."""
    x = y = value = 0.0
    vx, vy = float(o[w, 0]), float(o[w, 1])
    for t in range(CHASE_STEPS):
        fx, fy = push(first if t == 0 else second, v)
        x, y, vx, vy = r.advance(x, y, vx, vy, fx, fy, v.top, v.velocity_first)
        closest = math.inf
        for k in range(v.num_others):
            tx = o[w, v.others + 2 * k] + r.DT * (t + 1) * o[w, v.velocities + 2 * k] - x
            ty = o[w, v.others + 2 * k + 1] + r.DT * (t + 1) * o[w, v.velocities + 2 * k + 1] - y
            closest = min(closest, math.sqrt(tx * tx + ty * ty))
        if closest < v.touch:
            value += v.hit
        if v.num_others > 0:
            value -= closest
    return value


@rule
def lead_value(o, w, v, first, second):
    """Contacts, the boundary and lost collectors to come; adversaries come straight at it, collectors stay."""
    x = y = value = 0.0
    vx, vy = float(o[w, 0]), float(o[w, 1])
    for t in range(LEAD_STEPS):
        fx, fy = push(first if t == 0 else second, v)
        x, y, vx, vy = r.advance(x, y, vx, vy, fx, fy, v.top, v.velocity_first)
        value -= r.bound(abs(x + o[w, 2])) + r.bound(abs(y + o[w, 3]))
        for k in range(v.num_others):
            tx, ty = o[w, v.others + 2 * k] - x, o[w, v.others + 2 * k + 1] - y
            d = math.sqrt(tx * tx + ty * ty) - r.DT * (t + 1) * v.chaser_top * 0.7
            # A contact is the more likely the nearer the chaser can be.
            value -= v.hit * min(max(1.0 - (d - v.touch) / 0.25, 0.0), 1.0) / LEAD_STEPS
        for k in range(v.num_team):
            tx, ty = o[w, v.team + 2 * k] - x, o[w, v.team + 2 * k + 1] - y
            d = math.sqrt(tx * tx + ty * ty)
            value -= v.lost * min(max((d - 0.8 * v.comm_radius) / (0.4 * v.comm_radius), 0.0), 1.0)
    return value


@rule
def collect_value(o, w, v, first, second):
    """Food taken, steps out of range, and at the end the food still ahead, discounted by the way to it."""
    x = y = value = 0.0
    vx, vy = float(o[w, 0]), float(o[w, 1])
    taken = 0  # one bit for each slot
    for t in range(COLLECT_STEPS):
        fx, fy = push(first if t == 0 else second, v)
        if t > 1:
            fx = fy = 0.0
        x, y, vx, vy = r.advance(x, y, vx, vy, fx, fy, v.top, v.velocity_first)
        fx, fy = x - o[w, v.team], y - o[w, v.team + 1]
        if fx * fx + fy * fy >= v.comm_radius * v.comm_radius:
            value -= v.lost
        for k in range(min(v.num_food, 60)):
            gx, gy = o[w, v.food + 2 * k], o[w, v.food + 2 * k + 1]
            if gx == 0.0 and gy == 0.0:
                continue
            if (gx - x) * (gx - x) + (gy - y) * (gy - y) < v.pickup_radius * v.pickup_radius and not (taken >> k) & 1:
                taken |= 1 << k
                value += v.find * (1.0 - 0.02 * t)
                break
    ahead = 0.0
    for k in range(min(v.num_food, 60)):
        gx, gy = o[w, v.food + 2 * k], o[w, v.food + 2 * k + 1]
        if (gx == 0.0 and gy == 0.0) or (taken >> k) & 1:
            continue
        tx, ty = gx - x - 2.0 * r.DT * vx, gy - y - 2.0 * r.DT * vy  # where it coasts to
        steps = (abs(tx) + abs(ty)) / (r.DT * v.top * 0.7)
        fx, fy = gx - o[w, v.team], gy - o[w, v.team + 1]
        away = math.sqrt(fx * fx + fy * fy) - v.comm_radius
        worth = v.find - v.lost * max(0.0, away) / (r.DT * v.top) * 2.0
        ahead = max(ahead, worth * 0.85**steps)
    fx, fy = x - o[w, v.team], y - o[w, v.team + 1]
    away = math.sqrt(fx * fx + fy * fy) - v.comm_radius
    return value + ahead - v.lost * max(0.0, away) / (r.DT * v.top)


# Loops over worlds ----------------------------------------------------------------------------------------------

CHASE, LEAD, COLLECT = range(3)
_ROLES = {"adversary": CHASE, "controller": LEAD, "collector": COLLECT}


@kernel
def play_rules(role, observations, numbers, actions):
    v = View(*numbers)
    for w in range(observations.shape[0]):
        if role == CHASE:
            actions[w] = chase_rule(observations, w, v)
        elif role == LEAD:
            actions[w] = lead_rule(observations, w, v)
        else:
            actions[w] = collect_rule(observations, w, v)


@kernel
def play_lookahead(role, observations, numbers, actions):
    v = View(*numbers)
    for w in range(observations.shape[0]):
        best = -math.inf
        for first in range(5):
            for second in range(5):
                if role == CHASE:
                    value = chase_value(observations, w, v, first, second)
                elif role == LEAD:
                    value = lead_value(observations, w, v, first, second)
                else:
                    value = collect_value(observations, w, v, first, second)
                if value > best:
                    best = value
                    actions[w] = first


def _make(play: Callable, game: SimpleTagWhileC, agent: str) -> Policy:
    role, numbers = _ROLES[agent.split("_")[0]], tuple(view(game, agent))
    size, continuous = game.observation_sizes[agent], game.params.continuous_actions

    def policy(observations: np.ndarray) -> np.ndarray:
        observations = np.ascontiguousarray(observations, np.float32)
        if observations.ndim != 2 or observations.shape[1] != size:
            raise ValueError(f"observations of {agent!r} are {list(observations.shape)}, must be [worlds, {size}]")
        actions = np.zeros(len(observations), np.int64)
        play(role, observations, numbers, actions)
        return np.eye(5, dtype=np.float32)[actions] if continuous else actions

    return policy


def axis_rules(game: SimpleTagWhileC, agent: str) -> Policy:
    """Simple axis rules for one agent."""
    return _make(play_rules, game, agent)


def lookahead(game: SimpleTagWhileC, agent: str) -> Policy:
    """Look-ahead over the own next two actions, for one agent."""
    return _make(play_lookahead, game, agent)


POLICIES: dict[str, Callable[[SimpleTagWhileC, str], Policy]] = {"rules": axis_rules, "lookahead": lookahead}
