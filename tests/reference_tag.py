"""The rules of tag while collecting a second time: slow, plain Python, one object per body.

Nothing is shared with the compiled version, so a slip in either shows up as a disagreement in
`test_against_reference.py`. numpy is used for casts to float32 only; everything else is Python
floats, which are IEEE doubles, and Python ints reduced modulo 2**64 by hand.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from reference_parts import PRESETS, README, Body, Food, Stream, bound, contact, distance

Infos = dict[str, dict[str, float]]
Step = tuple[dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool], Infos]

DT = 0.1
DAMPING = 0.25
MAX_TRIES = 64
QUALITIES = ("VL", "L", "H", "VH")


class ReferenceTag:
    """One world. `reset` first, then `step` with an action for every agent in play."""

    def __init__(self, preset: str = "readme", **params: Any) -> None:
        unknown = set(params) - set(README)
        if unknown:
            raise TypeError(f"unknown parameters {sorted(unknown)}")
        self.params = PRESETS[preset] | params
        p = self.params
        self.adversaries = [self._body(f"adversary_{i}") for i in range(p["num_adversaries"])]
        self.controllers = [self._body(f"controller_{i}") for i in range(p["num_controller"])]
        self.collectors = [
            self._body(f"collector_{i}_{k}", father)
            for i, father in enumerate(self.controllers)
            for k in range(p["num_collector_each"])
        ]
        self.bodies = self.adversaries + self.controllers + self.collectors
        self.possible_agents = [body.name for body in self.bodies]
        self.food: list[Food] = []
        self.steps = 0
        self.stream = Stream(0)

    def _body(self, name: str, father: Body | None = None) -> Body:
        kind = name.split("_")[0]
        names = [f"{kind}_{what}" for what in ("size", "accel", "max_speed")]
        size, accel, speed = (self.params[key] for key in names)
        return Body(name, kind, size, accel, speed, father)

    # What a test looks at -----------------------------------------------------------------------

    @property
    def positions(self) -> list[tuple[float, float]]:
        return [(body.x, body.y) for body in self.bodies]

    @property
    def velocities(self) -> list[tuple[float, float]]:
        return [(body.vx, body.vy) for body in self.bodies]

    @property
    def food_positions(self) -> list[tuple[float, float]]:
        return [(food.x, food.y) for food in self.food]

    @property
    def food_active(self) -> list[bool]:
        return [food.active for food in self.food]

    @property
    def down(self) -> list[bool]:
        return [body.down for body in self.bodies]

    # Reset --------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, world: int = 0) -> tuple[dict[str, np.ndarray], Infos]:
        """A new episode (A4); without a seed the stream goes on where it was."""
        if seed is not None:
            self.stream = Stream(seed, world)
        self.steps = 0
        for body in self.bodies:
            body.vx = body.vy = 0.0
            body.down = body.just_down = body.lost = body.out_of_bounds = False
            body.hits = body.collected = 0
            body.episode_return = 0.0
            body.episode_length = 0
            if body.father is None:
                body.x = self.stream.uniform(-0.9, 0.9)
                body.y = self.stream.uniform(-0.9, 0.9)
            else:
                body.x = body.father.x + self.stream.uniform(-0.05, 0.05)
                body.y = body.father.y + self.stream.uniform(-0.05, 0.05)
        self.food = []
        count = len(self.collectors)
        for i in range(self.params["num_J"]):
            owner = self.collectors[i % count if i < 2 * count else self.stream.integer(count)]
            self.food.append(Food())
            self._place(self.food[-1], owner)
        return self.observations(), self.infos()

    def _place(self, food: Food, owner: Body) -> None:
        """Uniform in the owner's detection disc and the box; clamped after 64 tries (A9-20)."""
        radius = self.params["detect_radius"]
        for _ in range(MAX_TRIES):
            ux = self.stream.uniform(-1.0, 1.0)
            uy = self.stream.uniform(-1.0, 1.0)
            food.x = owner.x + radius * ux
            food.y = owner.y + radius * uy
            if ux * ux + uy * uy < 1.0 and abs(food.x) <= 1.0 and abs(food.y) <= 1.0:
                return
        food.x = min(max(food.x, -1.0), 1.0)
        food.y = min(max(food.y, -1.0), 1.0)

    # Step, in the order of A7.2 -----------------------------------------------------------------

    def step(self, actions: dict[str, Any]) -> Step:
        """One step. Returns observations, rewards, terminations, truncations, infos of ALL agents.

        `actions[agent]` is an int 0..4, or five floats with continuous actions; agents that went
        down earlier need none.
        """
        before = {body.name: (body.lost, body.collected) for body in self.bodies}
        for body in self.bodies:
            if body.just_down:  # its last observation has shown the ordinary velocity; now it stops
                body.vx = body.vy = 0.0
            body.just_down = False
        self._act(actions)
        self._push()
        for body in self.bodies:
            if not body.down:
                self._integrate(body)
        self._update_links()
        self._pick_up()
        self._count_hits()
        rewards = {body.name: self._reward(body, before) for body in self.bodies}
        self._respawn()
        self.steps += 1
        for body in self.bodies:
            body.episode_return += rewards[body.name]
            body.episode_length += body.in_play
        over = self.steps >= self.params["max_cycles"]
        terminations = {body.name: body.down for body in self.bodies}
        truncations = {body.name: over and not body.down for body in self.bodies}
        return self.observations(), rewards, terminations, truncations, self.infos()

    def _act(self, actions: dict[str, Any]) -> None:
        for body in self.bodies:
            body.fx = body.fy = 0.0
            if body.down:
                continue
            # Draws are made in agent order; only collectors can be lost.
            at_random = self.params["strict_mode"] == "random" and body.lost
            if self.params["continuous_actions"]:
                if at_random:
                    raw = [self.stream.uniform(0.0, 1.0) for _ in range(5)]
                else:
                    raw = [min(max(float(value), 0.0), 1.0) for value in actions[body.name]]
                a = [np.float32(value) for value in raw]
                # Differences of float32, as mpe2 takes them of an action from a float32 Box.
                body.fx, body.fy = float(a[2] - a[1]), float(a[4] - a[3])
            else:
                action = self.stream.integer(5) if at_random else int(actions[body.name])
                directions = [(0.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)]
                body.fx, body.fy = directions[action]
            body.fx *= body.accel
            body.fy *= body.accel

    def _push(self) -> None:
        for i, a in enumerate(self.bodies):
            for b in self.bodies[i + 1 :]:
                if a.down or b.down:
                    continue
                if not self.params["cross_layer_contacts"] and {a.kind, b.kind} == {
                    "adversary",
                    "collector",
                }:
                    continue
                fx, fy = contact(a, b)
                a.fx += fx
                a.fy += fy
                b.fx -= fx
                b.fy -= fy

    def _integrate(self, body: Body) -> None:
        if self.params["integrator"] == "position_first":
            body.x += body.vx * DT
            body.y += body.vy * DT
        body.vx = body.vx * (1.0 - DAMPING) + body.fx * DT
        body.vy = body.vy * (1.0 - DAMPING) + body.fy * DT
        speed = math.sqrt(body.vx * body.vx + body.vy * body.vy)
        if speed > body.max_speed:
            body.vx = body.vx / speed * body.max_speed
            body.vy = body.vy / speed * body.max_speed
        if self.params["integrator"] == "velocity_first":
            body.x += body.vx * DT
            body.y += body.vy * DT

    def _update_links(self) -> None:
        """Who is out of range now; in strict mode, who goes down for it (A10)."""
        for body in self.collectors:
            if body.down:
                continue  # stays lost
            body.lost = distance(body, body.father) >= self.params["comm_radius"]
            if self.params["strict_mode"] is True and body.lost:
                body.down = body.just_down = True

    def _pick_up(self) -> None:
        for body in self.collectors:
            body.collected = 0
            if not body.in_play:
                continue
            reach = body.size
            if self.params["pickup_rule"] == "touch":
                reach += self.params["food_size"]
            free = [food for food in self.food if food.active and food.taken_by is None]
            touching = [food for food in free if distance(body, food) < reach]
            touching.sort(key=lambda food, body=body: distance(body, food))
            if not self.params["multiple_pickups"]:
                touching = touching[:1]
            for food in touching:
                food.taken_by = body
                body.collected += 1

    def _respawn(self) -> None:
        for food in self.food:
            if food.taken_by is None:
                continue
            if self.params["updating_J"]:
                self._place(food, food.taken_by)
            else:
                food.active = False
            food.taken_by = None

    def _count_hits(self) -> None:
        for body in self.adversaries + self.controllers:
            body.hits = 0
            body.out_of_bounds = abs(body.x) > 1.0 or abs(body.y) > 1.0
        for controller in self.controllers:
            for adversary in self.adversaries:
                if distance(controller, adversary) < controller.size + adversary.size:
                    controller.hits += 1
                    adversary.hits += 1

    # Rewards (A7) -------------------------------------------------------------------------------

    def _reward(self, body: Body, before: dict[str, tuple[bool, int]]) -> float:
        if body.kind == "adversary":
            return self._adversary_reward()
        if body.kind == "controller":
            return self._controller_reward(body, before)
        return self._collector_reward(body, before) if body.in_play else 0.0

    def _paid(self, son: Body, before: dict[str, tuple[bool, int]]) -> tuple[bool, int]:
        """The loss and the pick-ups of one collector that are paid for in this step."""
        if self.params["reward_timing"] == "legacy":
            return before[son.name]
        if self.params["strict_mode"] is True:
            return son.just_down, son.collected
        return son.lost, son.collected

    def _penalties(self) -> tuple[float, float]:
        """Per lost collector: what its controller pays, what it pays itself."""
        p = self.params
        if p["strict_mode"] is True:
            return p["strict_controller_penalty"], p["strict_collector_penalty"]
        return p["lost_penalty"], p["lost_penalty"]

    def _adversary_reward(self) -> float:
        reward = 0.0
        for adversary in self.adversaries:
            nearest = min(distance(adversary, controller) for controller in self.controllers)
            reward -= self.params["adversary_distance_shaping"] * nearest
        hits = sum(controller.hits for controller in self.controllers)
        return reward + self.params["hit_reward"] * hits

    def _controller_reward(self, body: Body, before: dict[str, tuple[bool, int]]) -> float:
        p = self.params
        reward = 0.0
        for adversary in self.adversaries:
            reward += p["controller_distance_shaping"] * distance(body, adversary)
        reward -= p["hit_reward"] * body.hits
        reward -= bound(abs(body.x)) + bound(abs(body.y))
        for son in self.collectors:
            if son.father is not body:
                continue
            lost, collected = self._paid(son, before)
            if son.in_play:
                excess = max(0.0, distance(body, son) - p["comm_radius"])
                reward -= p["controller_comm_shaping"] * excess
            reward -= self._penalties()[0] * lost
            reward += p["controller_collect_reward"] * collected
        return reward

    def _collector_reward(self, body: Body, before: dict[str, tuple[bool, int]]) -> float:
        p = self.params
        lost, collected = self._paid(body, before)
        apart = distance(body, body.father)
        if p["comm_shaping"] == "hinge":
            apart = max(0.0, apart - p["comm_radius"])
        reward = -p["collector_comm_shaping"] * apart
        return reward - self._penalties()[1] * lost + p["collect_reward"] * collected

    # What agents see (A6) -----------------------------------------------------------------------

    def observations(self) -> dict[str, np.ndarray]:
        """float32 arrays by agent; zeros for a collector that went down in an earlier step."""
        views = {"adversary": self._see_adversary, "controller": self._see_controller}
        result = {}
        for body in self.bodies:
            values = views.get(body.kind, self._see_collector)(body)
            if not body.in_play:
                values = [0.0] * len(values)
            result[body.name] = np.array(values, dtype=np.float32)
        return result

    def state(self) -> np.ndarray:
        return np.concatenate([self.observations()[name] for name in self.possible_agents])

    def _quality(self, at_least: str) -> bool:
        return QUALITIES.index(self.params["env_quality"]) >= QUALITIES.index(at_least)

    @staticmethod
    def _towards(body: Body, others: list[Body]) -> list[float]:
        values: list[float] = []
        for other in others:
            values += [0.0, 0.0] if other.down else [other.x - body.x, other.y - body.y]
        return values

    @staticmethod
    def _velocities(others: list[Body]) -> list[float]:
        values: list[float] = []
        for other in others:
            values += [0.0, 0.0] if other.down else [other.vx, other.vy]
        return values

    def _see_adversary(self, body: Body) -> list[float]:
        rest = [other for other in self.adversaries if other is not body]
        values = [body.vx, body.vy, body.x, body.y]
        values += self._towards(body, rest + self.controllers)
        return values + self._velocities(self.controllers)

    def _see_controller(self, body: Body) -> list[float]:
        peers = [other for other in self.controllers if other is not body]
        sons = self.collectors
        if not self.params["observe_all_collectors"]:
            sons = [son for son in sons if son.father is body]
        values = [body.vx, body.vy, body.x, body.y]
        values += self._towards(body, self.adversaries + peers)
        values += self._towards(body, sons) if self._quality("L") else []
        values += self._velocities(peers)
        return values + (self._velocities(sons) if self._quality("VH") else [])

    def _see_collector(self, body: Body) -> list[float]:
        siblings = [son for son in self.collectors if son.father is body.father and son is not body]
        values = [body.vx, body.vy, body.x, body.y]
        values += self._towards(body, [body.father])
        values += self._towards(body, siblings) if self._quality("L") else []
        values += self._velocities([body.father]) if self._quality("H") else []
        values += self._velocities(siblings) if self._quality("VH") else []
        near = [food for food in self.food if food.active]
        near = [food for food in near if distance(body, food) < self.params["detect_radius"]]
        near.sort(key=lambda food: distance(body, food))  # stable: ties keep the list's order
        slots = self.params["n_detect"]
        for food in near[:slots]:
            values += [food.x - body.x, food.y - body.y]
        return values + [0.0, 0.0] * (slots - len(near[:slots]))

    def infos(self) -> Infos:
        result: Infos = {}
        for body in self.bodies:
            info: dict[str, float] = {}
            if body.kind == "adversary":
                info["hits"] = body.hits
            elif body.kind == "controller":
                info["hits"] = body.hits
                info["lost"] = sum(son.lost for son in self.collectors if son.father is body)
                info["out_of_bounds"] = int(body.out_of_bounds)
            else:
                info["lost"] = int(body.lost)
                info["collected"] = body.collected
            info["episode_return"] = body.episode_return
            info["episode_length"] = body.episode_length
            result[body.name] = info
        return result
