"""Options of DQN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tyro.conf import arg

from maddpg.config import RunConfig


@dataclass(frozen=True)
class DqnConfig(RunConfig):
    """Options of one run. A step is one environment step of one world; a round updates every agent that learns once."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        # For the tag game, whose agents all act at every step and whose episodes are long.
        "tag": {
            "env": "simple_tag_while_c_v0",
            "num_envs": 32,
            "total_steps": 750_000,
            "gamma": 0.95,
            "lr": 2e-3,
            "batch_size": 512,
            "buffer_capacity": 1_000_000,
            "warmup_steps": 10_000,
            "steps_per_update": 10,
            "hidden": (64, 64),
            "grad_clip": 0.5,
            "reward_scale": 0.1,
            "epsilon": 1.0,
            "epsilon_share": 0.3,
        },
    }

    env: Annotated[str, arg(metavar="ID")] = "chefworld_v0"
    """The game: an id of mpe_ext, or a module with a parallel_env such as mpe2.simple_spread_v3."""
    preset: Literal["default", "tag"] = "default"
    """Where the other options come from: the default suits short turn-based games, `tag` the tag game."""
    num_envs: int = 128
    """Worlds that collect side by side."""
    total_steps: int = 1_000_000
    """Environment steps of the whole run, counted over all worlds."""
    gamma: float = 0.6
    """Discount of an agent's rewards from one of its decisions to its next. Small, so that it pays to go on."""
    lr: float = 5e-3
    """Learning rate (Adam)."""
    batch_size: int = 256
    """Decisions an agent learns from in a round; with a memory, episodes."""
    buffer_capacity: int = 200_000
    """Decisions of each agent that its replay buffer holds."""
    warmup_steps: int = 2_000
    """Steps of uniformly random play before learning starts (at least batch_size)."""
    steps_per_update: int = 64
    """Environment steps for each round."""
    hidden: tuple[int, ...] = (256, 64)
    """Widths of the hidden layers of all networks."""
    grad_clip: float = 10.0
    """Largest L2 norm of a gradient, for each network; 0 is off."""
    reward_scale: float = 1.0
    """Factor on rewards inside the learner; what is printed is never scaled."""
    epsilon: float = 0.2
    """Share of uniformly random actions of agents that learn."""
    epsilon_final: float = 0.05
    """The same share from `epsilon_share` of the run on, reached linearly."""
    epsilon_share: float = 0.1
    """Share of the run (alternating: of each phase) over which epsilon falls."""
    double: bool = True
    """The network chooses the next action, the target network values it; otherwise the latter does both."""
    memory: Literal["none", "gru"] = "none"
    """What an agent knows of the past: what its observation holds, or a GRU over its own observations and actions."""
    memory_size: int = 64
    """Units of the GRU."""
    memory_length: int = 32
    """Decisions over which a GRU is unrolled at most; longer episodes are learned from in pieces."""
    training: Literal["simultaneous", "alternating"] = "simultaneous"
    """All policies learn all the time; or one at a time, while the others play greedily and stay as they are."""
    phase_steps: int = 100_000
    """Steps after which the next policy learns, where they alternate."""
