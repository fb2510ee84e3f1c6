"""Scripted policies: the yardsticks that learners are compared with. They act on observations alone.

`rules` pushes along one axis at a time by simple rules. `lookahead` tries all pairs of its own next two pushes with the
exact dynamics of its own body, contacts with what it sees included, and rates where they lead; what it does not observe
it extrapolates. The numbers in both were set by hand in steps; play changes little around them.

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
    """Where things stand in one agent's observation, and what it must know of the rules. Places are relative."""

    others: int  # column of the first chaser (controller) or chased (adversary), (x, y) each
    num_others: int
    velocities: int  # column of the controllers' velocities (adversary), or -1
    team: int  # column of the first collector (controller) or of the controller (collector), or -1
    num_team: int
    peers: int  # column of the first other of the own kind: a collector sees those of its controller
    num_peers: int
    food: int  # column of the first food slot
    num_food: int
    accel: float
    top: float
    velocity_first: bool
    touch: float  # bodies nearer than this are in contact: own and others, own and team, own and peers
    team_touch: float
    peer_touch: float
    chaser_accel: float
    chaser_top: float
    hit: float  # what a contact of adversary and controller costs
    comm_radius: float
    lost: float  # what a lost collector costs the team: each step, or once in strict mode
    pickup_radius: float
    find: float  # what a food brings the team


def view(game: SimpleTagWhileC, agent: str) -> View:
    """The view of one agent of a game."""
    p, n = game.params, game.numbers()
    role = agent.split("_")[0]
    adversaries, controllers, collectors = p.num_adversaries, p.num_controller, p.num_collector_each
    sees_team = p.env_quality != "VL"
    others, num_others, peers, num_peers, team, num_team = {
        "adversary": (2 + 2 * adversaries, controllers, 4, adversaries - 1, -1, 0),
        "controller": (
            4, adversaries, 4 + 2 * adversaries, controllers - 1,
            2 + 2 * (adversaries + controllers), collectors * sees_team,
        ),
        "collector": (-1, 0, 6, (collectors - 1) * sees_team, 4, 1),
    }[role]  # fmt: skip
    if role == "controller" and p.observe_all_collectors:
        team += 2 * collectors * int(agent.split("_")[1])
    strict_lost = p.strict_collector_penalty + p.strict_controller_penalty
    return View(
        others=others,
        num_others=num_others,
        velocities=others + 2 * controllers if role == "adversary" else -1,
        team=team,
        num_team=num_team,
        peers=peers,
        num_peers=num_peers,
        food=game.observation_sizes[agent] - 2 * p.n_detect,
        num_food=p.n_detect if role == "collector" else 0,
        accel=float(getattr(p, f"{role}_accel")),
        top=float(getattr(p, f"{role}_max_speed")),
        velocity_first=p.integrator == "velocity_first",
        touch=float(p.adversary_size + p.controller_size),
        team_touch=float(p.controller_size + p.collector_size),
        peer_touch=2.0 * getattr(p, f"{role}_size"),
        chaser_accel=float(p.adversary_accel),
        chaser_top=float(p.adversary_max_speed),
        hit=float(p.hit_reward),
        comm_radius=float(p.comm_radius),
        lost=float(strict_lost if p.strict_mode is True else 2.0 * p.lost_penalty),
        pickup_radius=float(n.pickup_radius),
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
def nearest(o, w, first, count):
    """Index of the nearest of `count` places, -1 if there is none."""
    best, best_distance = -1, math.inf
    for k in range(count):
        x, y = place(o, w, first, k)
        if 0.0 < length(x, y) < best_distance:
            best, best_distance = k, length(x, y)
    return best


@rule
def chase_rule(o, w, v):
    """Lead the nearest controller by the time it takes to reach it."""
    k = nearest(o, w, v.others, v.num_others)
    if k < 0:
        return 0
    x, y = place(o, w, v.others, k)
    vx, vy = place(o, w, v.velocities, k)
    lead = min(0.5 * length(x, y) / v.top, 0.5)
    # Its own momentum counts as ground already covered.
    return toward(x + lead * vx - 0.2 * o[w, 0], y + lead * vy - 0.2 * o[w, 1])


@rule
def lead_rule(o, w, v):
    """A controller's: away from a near chaser, toward the middle of the box and of its collectors, less what it has
    as momentum; the sum says which way."""
    x = -0.4 * o[w, 2] - 0.3 * o[w, 0]
    y = -0.4 * o[w, 3] - 0.3 * o[w, 1]
    for n in range(v.num_team):
        x += 0.5 * o[w, v.team + 2 * n] / v.num_team
        y += 0.5 * o[w, v.team + 2 * n + 1] / v.num_team
    k = nearest(o, w, v.others, v.num_others)
    if k >= 0:
        ax, ay = place(o, w, v.others, k)
        d = length(ax, ay)
        fear = max(0.0, 1.0 - d / 0.6)
        x -= fear * ax / d
        y -= fear * ay / d
    return toward(x, y)


@rule
def collect_rule(o, w, v):
    """Go for the nearest food that lies in the controller's range, else back to the controller."""
    fx, fy = place(o, w, v.team, 0)
    cx, cy = 0.2 * o[w, 0], 0.2 * o[w, 1]  # about what it coasts until a push shows
    best, best_distance = -1, math.inf
    for k in range(v.num_food):
        x, y = place(o, w, v.food, k)
        in_range = length(x - fx, y - fy) < 0.9 * v.comm_radius
        if in_range and (x != 0.0 or y != 0.0) and length(x - cx, y - cy) < best_distance:
            best, best_distance = k, length(x - cx, y - cy)
    if best < 0:
        return toward(fx - cx, fy - cy)
    x, y = place(o, w, v.food, best)
    return toward(x - cx, y - cy) if best_distance >= v.pickup_radius else 0


# Look-ahead -------------------------------------------------------------------------------------------------------

CHASE_STEPS, LEAD_STEPS, COLLECT_STEPS = STEPS = 4, 6, 3
FADE = 0.85  # what a food is worth one step later
FAR = 1e9


@rule
def push(action, v):
    """Force of a discrete action."""
    fx = -v.accel if action == 1 else (v.accel if action == 2 else 0.0)
    fy = -v.accel if action == 3 else (v.accel if action == 4 else 0.0)
    return fx, fy


@rule
def contact(o, w, first, count, touch):
    """Force of `count` bodies on the own one, as in the rules but for their soft edge."""
    fx = fy = 0.0
    for k in range(count):
        x, y = place(o, w, first, k)
        d = length(x, y)
        if 0.0 < d < touch:
            fx -= r.CONTACT_FORCE * (touch - d) * x / d
            fy -= r.CONTACT_FORCE * (touch - d) * y / d
    return fx, fy


@rule
def ride(o, w, v, first, second, steps, path):
    """Own way, as rows (x, y, vx, vy) relative to the present place: first push, then the second one held."""
    ax, ay = contact(o, w, v.others, v.num_others, v.touch)
    bx, by = contact(o, w, v.team, v.num_team, v.team_touch)
    cx, cy = contact(o, w, v.peers, v.num_peers, v.peer_touch)
    fx, fy = push(first, v)
    fx, fy = fx + ax + bx + cx, fy + ay + by + cy
    x = y = 0.0
    vx, vy = float(o[w, 0]), float(o[w, 1])
    for t in range(steps):
        x, y, vx, vy = r.advance(x, y, vx, vy, fx, fy, v.top, v.velocity_first)
        path[t, 0], path[t, 1], path[t, 2], path[t, 3] = x, y, vx, vy
        fx, fy = push(second, v)


@rule
def lost_soon(x, y, v):
    """How likely a collector is lost, (x, y) away from where its controller was: both move on."""
    return min(max(length(x, y) / v.comm_radius - 0.7, 0.0) / 0.6, 1.0)


@rule
def chase_value(o, w, v, path):
    """Contacts to come and closeness, with controllers moving on as they do."""
    value = 0.0
    for t in range(CHASE_STEPS):
        closest = math.inf
        for k in range(v.num_others):
            x, y = place(o, w, v.others, k)
            vx, vy = place(o, w, v.velocities, k)
            time = r.DT * (t + 1)
            closest = min(closest, length(x + time * vx - path[t, 0], y + time * vy - path[t, 1]))
        if closest < v.touch:
            value += v.hit
        if v.num_others > 0:
            value -= closest
    return value


@rule
def lead_value(o, w, v, path, chasers):
    """Contacts, the boundary and lost collectors to come: chasers chase, from a guessed speed on, collectors stay."""
    value = 0.0
    for k in range(v.num_others):
        x, y = place(o, w, v.others, k)
        d = max(length(x, y), 1e-9)
        chasers[k, 0], chasers[k, 1] = x, y
        chasers[k, 2], chasers[k, 3] = -0.5 * v.chaser_top * x / d, -0.5 * v.chaser_top * y / d
    for t in range(LEAD_STEPS):
        x, y = path[t, 0], path[t, 1]
        value -= r.bound(abs(x + o[w, 2])) + r.bound(abs(y + o[w, 3]))
        for k in range(v.num_others):
            ax, ay = x - chasers[k, 0], y - chasers[k, 1]
            pull = v.chaser_accel / max(length(ax, ay), 1e-9)
            chasers[k, 0], chasers[k, 1], chasers[k, 2], chasers[k, 3] = r.advance(
                chasers[k, 0], chasers[k, 1], chasers[k, 2], chasers[k, 3],
                pull * ax, pull * ay, v.chaser_top, v.velocity_first,
            )  # fmt: skip
            # A contact is the more likely the nearer the guessed place of the chaser.
            danger = max(1.0 - max(length(x - chasers[k, 0], y - chasers[k, 1]) - v.touch, 0.0) / 0.2, 0.0)
            value -= 0.65 * v.hit * danger * danger
        for n in range(v.num_team):
            tx, ty = place(o, w, v.team, n)
            if tx != 0.0 or ty != 0.0:
                value -= v.lost * lost_soon(tx - x, ty - y, v)
    # Walls and corners ahead take room to flee.
    x, y = max(abs(x + o[w, 2]) - 0.75, 0.0), max(abs(y + o[w, 3]) - 0.75, 0.0)
    return value - 80.0 * (x * x + y * y)


WORTH, TOUR, LEFT = range(3)  # columns of `foods`


@rule
def rate_foods(o, w, v, foods):
    """What each food brings, and with it the best next one; 0 for empty slots."""
    for k in range(v.num_food):
        x, y = place(o, w, v.food, k)
        foods[k, WORTH] = v.find if x != 0.0 or y != 0.0 else 0.0
        for n in range(v.num_peers):
            px, py = place(o, w, v.peers, n)
            if (px != 0.0 or py != 0.0) and length(x - px, y - py) < length(x, y):
                foods[k, WORTH] *= 0.2  # likely another's
    for k in range(v.num_food):
        x, y = place(o, w, v.food, k)
        best = 0.0
        for j in range(v.num_food):
            if j != k and foods[j, WORTH] > 0.0:
                gx, gy = place(o, w, v.food, j)
                best = max(best, foods[j, WORTH] * fade(length(x - gx, y - gy), v))
        foods[k, TOUR] = foods[k, WORTH] + 0.8 * best


@rule
def fade(distance, v):
    """What is left of a food's worth on the way to it, half a step added for aiming."""
    return math.exp(math.log(FADE) * (distance / (r.DT * v.top) + 0.5))


@rule
def collect_value(o, w, v, path, foods):
    """Food taken and steps out of range on the way, then the best tour ahead, its third push chosen for the food."""
    fx, fy = place(o, w, v.team, 0)
    value, worth = 0.0, 1.0
    for k in range(v.num_food):
        foods[k, LEFT] = FAR
    # These places follow from two pushes: where the position moves first, a push shows in the place after the next.
    places = 2 if v.velocity_first else 3
    for t in range(places):
        x, y = path[t, 0], path[t, 1]
        value -= v.lost * lost_soon(x - fx, y - fy, v)
        for k in range(v.num_food):
            gx, gy = place(o, w, v.food, k)
            if foods[k, WORTH] > 0.0 and foods[k, LEFT] > 0.0 and length(gx - x, gy - y) < v.pickup_radius:
                foods[k, LEFT] = -1.0  # taken
                value += v.find * worth
                break
        worth *= FADE
    for third in range(5):
        px, py = push(third, v)
        x, y, vx, vy = r.advance(path[1, 0], path[1, 1], path[1, 2], path[1, 3], px, py, v.top, v.velocity_first)
        if not v.velocity_first:
            x, y = x + r.DT * vx, y + r.DT * vy
        for k in range(v.num_food):
            gx, gy = place(o, w, v.food, k)
            foods[k, LEFT] = min(foods[k, LEFT], length(gx - x, gy - y))
    ahead = 0.0
    for k in range(v.num_food):
        if foods[k, WORTH] > 0.0 and foods[k, LEFT] >= 0.0:
            left = 1.0 if foods[k, LEFT] < v.pickup_radius else fade(foods[k, LEFT], v)
            ahead = max(ahead, foods[k, TOUR] * left)
    # With nothing ahead, home.
    return value + worth * ahead - 0.5 * length(path[places - 1, 0] - fx, path[places - 1, 1] - fy)


# Loops over worlds ------------------------------------------------------------------------------------------------

CHASE, LEAD, COLLECT = range(3)
_ROLES = {"adversary": CHASE, "controller": LEAD, "collector": COLLECT}


@kernel
def play_rules(role, observations, numbers, path, things, actions):
    v = View(*numbers)
    for w in range(observations.shape[0]):
        if role == CHASE:
            actions[w] = chase_rule(observations, w, v)
        elif role == LEAD:
            actions[w] = lead_rule(observations, w, v)
        else:
            actions[w] = collect_rule(observations, w, v)


@kernel
def play_lookahead(role, observations, numbers, path, things, actions):
    v = View(*numbers)
    for w in range(observations.shape[0]):
        if role == COLLECT:
            rate_foods(observations, w, v, things)
        best = -math.inf
        for first in range(5):
            for second in range(5):
                ride(observations, w, v, first, second, len(path), path)
                if role == CHASE:
                    value = chase_value(observations, w, v, path)
                elif role == LEAD:
                    value = lead_value(observations, w, v, path, things)
                else:
                    value = collect_value(observations, w, v, path, things)
                if value > best:
                    best = value
                    actions[w] = first


def _make(play: Callable, game: SimpleTagWhileC, agent: str) -> Policy:
    role, numbers = _ROLES[agent.split("_")[0]], view(game, agent)
    size, continuous = game.observation_sizes[agent], game.params.continuous_actions

    def policy(observations: np.ndarray) -> np.ndarray:
        observations = np.ascontiguousarray(observations, np.float32)
        if observations.ndim != 2 or observations.shape[1] != size:
            raise ValueError(f"observations of {agent!r} are {list(observations.shape)}, must be [worlds, {size}]")
        actions = np.zeros(len(observations), np.int64)
        path, things = np.zeros((STEPS[role], 4)), np.zeros((max(numbers.num_others, numbers.num_food), 4))
        play(role, observations, tuple(numbers), path, things, actions)
        return np.eye(5, dtype=np.float32)[actions] if continuous else actions

    return policy


def axis_rules(game: SimpleTagWhileC, agent: str) -> Policy:
    """Simple axis rules for one agent."""
    return _make(play_rules, game, agent)


def lookahead(game: SimpleTagWhileC, agent: str) -> Policy:
    """Look-ahead over the own next two pushes, for one agent."""
    return _make(play_lookahead, game, agent)


POLICIES: dict[str, Callable[[SimpleTagWhileC, str], Policy]] = {"rules": axis_rules, "lookahead": lookahead}
