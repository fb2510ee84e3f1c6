"""What the plain Python rules in `reference_tag` are made of: presets, stream, bodies, forces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

CONTACT_FORCE = 100.0
CONTACT_MARGIN = 0.001

README: dict[str, Any] = {
    "num_adversaries": 1,
    "num_controller": 1,
    "num_collector_each": 2,
    "num_J": 10,
    "max_cycles": 25,
    "continuous_actions": False,
    "updating_J": True,
    "env_quality": "L",
    "n_detect": 6,
    "observe_all_collectors": False,
    "comm_radius": 0.5,
    "detect_radius": 0.8,
    "pickup_rule": "touch",
    "multiple_pickups": False,
    "hit_reward": 20.0,
    "collect_reward": 5.0,
    "controller_collect_reward": 2.0,
    "lost_penalty": 1.0,
    "strict_collector_penalty": 5.0,
    "strict_controller_penalty": 10.0,
    "strict_mode": False,
    "reward_timing": "same_step",
    "integrator": "position_first",
    "cross_layer_contacts": True,
    "adversary_distance_shaping": 0.0,
    "controller_distance_shaping": 0.0,
    "controller_comm_shaping": 0.0,
    "collector_comm_shaping": 0.0,
    "comm_shaping": "hinge",
    "adversary_size": 0.075,
    "controller_size": 0.05,
    "collector_size": 0.03,
    "food_size": 0.02,
    "adversary_accel": 3.0,
    "controller_accel": 4.0,
    "collector_accel": 10.0,
    "adversary_max_speed": 1.0,
    "controller_max_speed": 1.3,
    "collector_max_speed": 2.0,
}
V1_0_3: dict[str, Any] = README | {
    "collector_size": 0.02,
    "food_size": 0.01,
    "collector_accel": 5.0,
    "collector_max_speed": 1.5,
    "detect_radius": 0.5,
    "n_detect": 3,
    "pickup_rule": "cover",
    "multiple_pickups": True,
    "hit_reward": 10.0,
    "controller_collect_reward": 5.0,
    "strict_collector_penalty": 10.0,
    "strict_controller_penalty": 5.0,
    "controller_comm_shaping": 0.1,
    "collector_comm_shaping": 0.1,
    "comm_shaping": "distance",
}
PRESETS = {"readme": README, "v1_0_3": V1_0_3}


class Stream:
    """A counter-based stream of random numbers: SplitMix64 over a key and a counter."""

    GAMMA = 0x9E3779B97F4A7C15

    def __init__(self, seed: int, world: int = 0) -> None:
        self.key = self._mix(self._mix(seed + self.GAMMA) + (world + 1) * self.GAMMA)
        self.counter = 0

    @staticmethod
    def _mix(z: int) -> int:
        z %= 2**64
        z ^= z >> 30
        z = z * 0xBF58476D1CE4E5B9 % 2**64
        z ^= z >> 27
        z = z * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def unit(self) -> float:
        self.counter += 1
        bits = self._mix(self.key + self.counter * self.GAMMA)
        return (bits >> 11) * 2.0**-53

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.unit()

    def integer(self, n: int) -> int:
        return int(self.unit() * n)


@dataclass(eq=False)
class Body:
    """One agent: what it is, where it is, and what happened to it in the latest step."""

    name: str
    kind: str
    size: float
    accel: float
    max_speed: float
    father: Body | None = None
    x: float = 0.0
    y: float = 0.0
    vx: float = 0.0
    vy: float = 0.0
    fx: float = 0.0
    fy: float = 0.0
    down: bool = False  # strict mode: out of play, from the step on in which it was lost
    just_down: bool = False  # the step in which it went down
    lost: bool = False
    hits: int = 0
    collected: int = 0
    out_of_bounds: bool = False
    episode_return: float = 0.0
    episode_length: int = 0  # steps in which it was in play

    @property
    def in_play(self) -> bool:
        """Whether it took part in the latest step (the step of going down included)."""
        return not self.down or self.just_down


@dataclass
class Food:
    x: float = 0.0
    y: float = 0.0
    active: bool = True
    taken_by: Body | None = None


def distance(a: Body | Food, b: Body | Food) -> float:
    dx, dy = a.x - b.x, a.y - b.y
    return math.sqrt(dx * dx + dy * dy)


def softplus(z: float) -> float:
    """log(1 + e^z), written so that neither end overflows."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def contact(a: Body, b: Body) -> tuple[float, float]:
    """The force on `a` from touching `b`; coincident centres push the first towards +x (A9-19)."""
    d = distance(a, b)
    if math.isinf(d):
        return 0.0, 0.0
    ux, uy = (1.0, 0.0) if d < 1e-9 else ((a.x - b.x) / d, (a.y - b.y) / d)
    penetration = CONTACT_MARGIN * softplus(-(d - (a.size + b.size)) / CONTACT_MARGIN)
    return CONTACT_FORCE * penetration * ux, CONTACT_FORCE * penetration * uy


def bound(z: float) -> float:
    """What the controller pays for one coordinate of absolute value `z` (A7)."""
    if z < 0.9:
        return 0.0
    if z < 1.0:
        return (z - 0.9) * 10.0
    return 10.0 if z > 10.0 else min(math.exp(2.0 * z - 2.0), 10.0)
