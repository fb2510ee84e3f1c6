"""Tag while collecting: parameters, agents and spaces. The rules are in rules.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from mpe_ext.engine.game import Episodes, Game, Kernels
from mpe_ext.engine.params import param
from mpe_ext.engine.shared import Shared
from mpe_ext.simple_tag_while_c import rules

QUALITIES = ("VL", "L", "H", "VH")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """All parameters of the game. Defaults are those of the preset `readme`; lengths are in units of the arena, whose
    box is [-1, 1] on both axes."""

    preset: str = param("readme", "where the defaults come from", choices=("readme", "v1_0_3"))
    # Who plays
    num_adversaries: int = param(1, "adversaries, who chase the controllers", low=0)
    num_controller: int = param(1, "controllers", low=1)
    num_collector_each: int = param(2, "collectors of each controller", low=1)
    num_J: int = param(10, "food in the arena", low=0)
    max_cycles: int = param(25, "steps after which the episode is truncated", low=1)
    continuous_actions: bool = param(False, "`Box(0, 1, (5,))` actions instead of `Discrete(5)`")
    # What is seen
    env_quality: str = param("L", "how much controller and collectors know of each other", choices=QUALITIES)
    n_detect: int = param(6, "food slots in a collector's observation", low=0)
    detect_radius: float = param(0.8, "a collector detects, and food appears, within this distance", above=0)
    comm_radius: float = param(0.5, "a collector at least this far from its controller is lost", above=0)
    observe_all_collectors: bool = param(False, "controllers see all collectors, not only their own")
    # Food
    updating_J: bool = param(True, "food that was taken appears again near the collector that took it")
    pickup_rule: str = param(
        "touch",
        "a collector takes food nearer than `collector_size + food_size` (touch) or `collector_size` (cover)",
        choices=("touch", "cover"),
    )
    multiple_pickups: bool = param(False, "a collector takes all food in reach at once, not only the nearest")
    # Rewards
    hit_reward: float = param(20.0, "the adversaries gain, the controller pays, for each contact and step", low=0)
    collect_reward: float = param(5.0, "the collector's reward for a food", low=0)
    controller_collect_reward: float = param(2.0, "its controller's reward for the same food", low=0)
    lost_penalty: float = param(1.0, "a lost collector pays this each step, its controller once for each", low=0)
    reward_timing: str = param(
        "same_step",
        "`legacy` pays for lost and collected one step later and drops what is open at the end",
        choices=("same_step", "legacy"),
    )
    # Strict mode
    strict_mode: bool | str = param(
        False,
        "`True`: a lost collector is out for the rest of the episode; `'random'`: it acts at random until it is back",
        choices=(False, True, "random"),
    )
    strict_collector_penalty: float = param(5.0, "strict mode: the collector pays this once", low=0)
    strict_controller_penalty: float = param(10.0, "strict mode: its controller pays this once for each", low=0)
    # Shaping (0 is off)
    adversary_distance_shaping: float = param(
        0.0, "adversaries pay this times each one's distance to the nearest controller", low=0
    )
    controller_distance_shaping: float = param(
        0.0, "a controller gains this times its distance to every adversary", low=0
    )
    controller_comm_shaping: float = param(
        0.0, "a controller pays this times how far each collector is beyond `comm_radius`", low=0
    )
    collector_comm_shaping: float = param(0.0, "a collector pays this times what `comm_shaping` says", low=0)
    comm_shaping: str = param(
        "hinge",
        "of the collectors: how far beyond `comm_radius` (hinge), or the whole distance to the controller",
        choices=("hinge", "distance"),
    )
    # Bodies and motion
    adversary_size: float = param(0.075, "radius", above=0)
    controller_size: float = param(0.05, "radius", above=0)
    collector_size: float = param(0.03, "radius", above=0)
    food_size: float = param(0.02, "radius", above=0)
    adversary_accel: float = param(3.0, "force of a full push (all masses are 1)", low=0)
    controller_accel: float = param(4.0, "force of a full push", low=0)
    collector_accel: float = param(10.0, "force of a full push", low=0)
    adversary_max_speed: float = param(1.0, "top speed, per unit of time (a step lasts 0.1)", above=0)
    controller_max_speed: float = param(1.3, "top speed", above=0)
    collector_max_speed: float = param(2.0, "top speed", above=0)
    integrator: str = param(
        "position_first",
        "what a step updates first; `velocity_first` is the order of MPE before PettingZoo 1.23",
        choices=("position_first", "velocity_first"),
    )
    cross_layer_contacts: bool = param(True, "adversaries and collectors push each other")

    def __post_init__(self) -> None:
        if self.reward_timing == "legacy" and self.strict_mode is not False:
            raise ValueError(
                f"reward_timing='legacy' with strict_mode={self.strict_mode!r}: late payments are not defined for "
                "collectors that leave; use reward_timing='same_step' or strict_mode=False"
            )


PRESETS: dict[str, dict[str, Any]] = {
    "readme": {},
    "v1_0_3": {
        "n_detect": 3,
        "detect_radius": 0.5,
        "pickup_rule": "cover",
        "multiple_pickups": True,
        "hit_reward": 10.0,
        "controller_collect_reward": 5.0,
        "strict_collector_penalty": 10.0,
        "strict_controller_penalty": 5.0,
        "controller_comm_shaping": 0.1,
        "collector_comm_shaping": 0.1,
        "comm_shaping": "distance",
        "collector_size": 0.02,
        "food_size": 0.01,
        "collector_accel": 5.0,
        "collector_max_speed": 1.5,
    },
}


class SimpleTagWhileC(Game):
    """Adversaries chase controllers, whose collectors gather food and should stay in range of their controller."""

    name = "simple_tag_while_c_v0"
    params_type = Parameters
    presets = PRESETS
    kernels = Kernels(rules.reset_worlds, rules.step_worlds, rules.observe_worlds)
    params: Parameters

    def __init__(self, params: Parameters):
        super().__init__(params)
        a, c, m = params.num_adversaries, params.num_controller, params.num_collector_each
        self.agents = (
            *(f"adversary_{i}" for i in range(a)),
            *(f"controller_{i}" for i in range(c)),
            *(f"collector_{i}_{k}" for i in range(c) for k in range(m)),
        )
        self.action_spaces = {agent: self._action_space() for agent in self.agents}
        self.observation_sizes = {agent: self._observation_size(agent) for agent in self.agents}
        self.observation_spaces = {agent: _unbounded(n) for agent, n in self.observation_sizes.items()}
        self.state_space = _unbounded(sum(self.observation_sizes.values()))

    def _action_space(self) -> spaces.Space:
        return spaces.Box(0.0, 1.0, (5,), np.float32) if self.params.continuous_actions else spaces.Discrete(5)

    def _observation_size(self, agent: str) -> int:
        p = self.params
        a, c, m = p.num_adversaries, p.num_controller, p.num_collector_each
        low, high, very_high = (QUALITIES.index(p.env_quality) >= level for level in (rules.L, rules.H, rules.VH))
        if agent.startswith("adversary"):
            return 4 + 2 * (a - 1) + 4 * c
        if agent.startswith("controller"):
            seen = c * m if p.observe_all_collectors else m
            return 4 + 2 * a + 4 * (c - 1) + 2 * seen * low + 2 * seen * very_high
        return 6 + 2 * (m - 1) * low + 2 * high + 2 * (m - 1) * very_high + 2 * p.n_detect

    def numbers(self) -> rules.Rules:
        p = self.params
        return rules.Rules(
            adversaries=p.num_adversaries,
            controllers=p.num_controller,
            collectors_each=p.num_collector_each,
            quality=QUALITIES.index(p.env_quality),
            n_detect=p.n_detect,
            observe_all=p.observe_all_collectors,
            strict={False: rules.FREE, True: rules.STRICT, "random": rules.RANDOM}[p.strict_mode],
            legacy=p.reward_timing == "legacy",
            velocity_first=p.integrator == "velocity_first",
            cross_layer=p.cross_layer_contacts,
            respawn=p.updating_J,
            many_pickups=p.multiple_pickups,
            continuous=p.continuous_actions,
            collectors_pay_distance=p.comm_shaping == "distance",
            pickup_radius=p.collector_size + (p.food_size if p.pickup_rule == "touch" else 0.0),
            **{name: getattr(p, name) for name in _SAME_NAME},
        )

    def allocate(self, num_envs: int) -> rules.State:
        w, n, foods = num_envs, len(self.agents), self.params.num_J
        size = self.state_space.shape[0]
        return rules.State(
            pos=np.zeros((w, n, 2)),
            vel=np.zeros((w, n, 2)),
            food=np.zeros((w, foods, 2)),
            food_active=np.zeros((w, foods), np.bool_),
            down=np.zeros((w, n), np.int8),
            due=np.zeros((w, n)),
            observation=np.zeros((w, size), np.float32),
            hits=np.zeros((w, n), np.int32),
            lost=np.zeros((w, n), np.int32),
            collected=np.zeros((w, n), np.int32),
            out_of_bounds=np.zeros((w, n), np.int32),
            marks=np.zeros((w, rules.MARKS, 2), np.float32),
            marks_count=np.zeros(w, np.int32),
            force=np.zeros((w, n, 2)),
            taker=np.zeros((w, foods), np.int16),
            near=np.zeros((w, foods)),
            order=np.zeros((w, foods), np.int32),
        )

    def observations(self, state: rules.State) -> dict[str, np.ndarray]:
        ends = np.cumsum(list(self.observation_sizes.values()))
        sizes = self.observation_sizes.items()
        return {agent: state.observation[:, end - n : end] for (agent, n), end in zip(sizes, ends, strict=True)}

    def infos(self, state: rules.State) -> dict[str, dict[str, np.ndarray]]:
        keys = {
            "adversary": ("hits",),
            "controller": ("hits", "lost", "out_of_bounds"),
            "collector": ("lost", "collected"),
        }
        return {
            agent: {key: getattr(state, key)[:, i] for key in keys[agent.split("_")[0]]}
            for i, agent in enumerate(self.agents)
        }

    def global_state(self, state: rules.State) -> np.ndarray:
        return state.observation

    def draw(
        self,
        canvas: Any,
        shared: Shared,
        state: rules.State,
        w: int,
        max_cycles: int,
        beliefs: Mapping[str, np.ndarray],
    ) -> None:
        from mpe_ext.simple_tag_while_c.drawing import draw  # pygame comes with the first drawing

        draw(canvas, self, shared, state, w, max_cycles)

    def metrics(self, episodes: Episodes) -> dict[str, np.ndarray]:
        def total(kind: str, key: str) -> np.ndarray:
            named = [agent for agent in self.agents if agent.startswith(kind)]
            return np.sum([np.zeros_like(episodes.lengths), *(episodes.sums[a][key] for a in named)], axis=0)

        p, steps = self.params, episodes.lengths
        collectors = p.num_controller * p.num_collector_each
        return {
            "team": np.sum([episodes.returns[a] for a in self.agents if not a.startswith("adversary")], axis=0),
            "food": total("collector", "collected"),
            "hits": total("adversary", "hits"),
            "time out of range": total("collector", "lost") / (collectors * steps),
            "time out of bounds": total("controller", "out_of_bounds") / (p.num_controller * steps),
        }


_SAME_NAME = sorted({f for f in rules.Rules._fields if f in Parameters.__dataclass_fields__} - {"n_detect"})


def _unbounded(size: int) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)
