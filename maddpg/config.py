"""Every option of a run, its default and one line of meaning: the command line is made of these classes.

`RunConfig` has what all algorithms share, a subclass for each algorithm the rest. Its `presets` hold the values in
which a preset differs from the class; options given by hand win over both.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_type_hints

from tyro.conf import arg

from maddpg.errors import UserError


class ConfigError(UserError):
    """An option whose value cannot work. The message is one sentence naming option, value and what is allowed."""


@dataclass(frozen=True)
class RunConfig:
    """What every algorithm needs to know of a run."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}}

    env: Annotated[str, arg(metavar="ID")] = "simple_tag_while_c_v0"
    """The game: an id of mpe_ext, or a module with a parallel_env such as mpe2.simple_spread_v3."""
    env_args: Annotated[tuple[str, ...], arg(metavar="KEY=VALUE ...")] = ()
    """Constructor arguments of the game as key=value, for example num_J=20 strict_mode=True."""
    preset: str = "default"
    """Where the other options come from."""
    num_envs: int = 32
    """Worlds that collect side by side."""
    total_steps: int = 600_000
    """Environment steps of the whole run, counted over all worlds."""
    seed: int = 0
    """Drives worlds, networks, batches and exploration: the same seed on a CPU gives the same run."""
    device: str = "auto"
    """Where networks and replay buffer live: auto, cpu, cuda or cuda:N."""
    threads: int = 1
    """Threads of torch on the CPU; networks of this size are fastest with one."""
    out: Annotated[str | None, arg(metavar="DIR")] = None
    """The run folder itself, which must not exist yet; default runs/<env>/<algorithm>/<time>-s<seed>."""
    resume: Annotated[str | None, arg(metavar="RUN")] = None
    """A run folder to go on with; only --total-steps, --device and --threads may be given beside it."""

    gamma: float = 0.9
    """Discount of rewards per step."""
    tau: float = 0.01
    """Share of the networks that moves into the target networks at each round."""
    lr_decay: Literal["none", "linear", "exp"] = "linear"
    """How learning rates fall over the planned rounds."""
    lr_final: float = 0.1
    """Factor on learning rates at the last round."""
    batch_size: int = 256
    """Transitions an agent learns from in a round."""
    buffer_capacity: int = 1_000_000
    """Transitions that the replay buffer holds (it never takes more memory than total_steps need)."""
    warmup_steps: int = 10_000
    """Steps of uniformly random play before learning starts (at least batch_size)."""
    steps_per_update: int = 10
    """Environment steps for each round."""

    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of all networks."""
    activation: Literal["relu", "leaky_relu"] = "leaky_relu"
    """Activation of the hidden layers; the leaky one has slope 0.1 and keeps units from dying."""
    sharing: Literal["separate", "role", "all"] = "separate"
    """Which agents share one policy: none, those of a role, or all (only where all spaces are equal)."""
    grad_clip: float = 0.5
    """Largest L2 norm of a gradient, for each network; 0 is off."""
    reward_scale: float = 0.1
    """Factor on rewards inside the learner; what is printed is never scaled."""

    epsilon: float = 0.7
    """Share of uniformly random actions."""
    epsilon_final: float = 0.0
    """The same share at the end, reached linearly."""

    log_interval: int = 10_000
    """Steps between two lines of metrics.jsonl."""
    eval_interval: int = 50_000
    """Steps between two evaluations on fixed episodes (greedy, without shaping terms); 0 is off."""
    eval_episodes: int = 256
    """Episodes of each evaluation, always the same ones."""
    checkpoint_interval: int = 100_000
    """Steps between two checkpoints; the replay buffer is kept with the latest only."""

    @property
    def learning_starts(self) -> int:
        """The first step at which a round may happen."""
        return max(self.warmup_steps, self.batch_size)

    def rounds_due(self, step: int) -> int:
        """Rounds that `step` environment steps call for: one at every multiple of `steps_per_update` from
        `learning_starts` on (750,000 steps of the reference preset make 7,001)."""
        if step < self.learning_starts:
            return 0
        return step // self.steps_per_update - (-(-self.learning_starts // self.steps_per_update) - 1)

    @property
    def total_rounds(self) -> int:
        """Rounds of the whole run: what the schedules are planned over."""
        return self.rounds_due(self.total_steps)

    def lr_factor(self, round_index: int, total_rounds: int) -> float:
        """Factor on learning rates in that round: 1 in the first, `lr_final` in the last of `total_rounds`."""
        t = min(1.0, round_index / max(1, total_rounds - 1))
        if self.lr_decay == "linear":
            return 1.0 + t * (self.lr_final - 1.0)
        return self.lr_final**t if self.lr_decay == "exp" else 1.0

    def to_dict(self) -> dict[str, Any]:
        """All options as JSON-able values."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The config that `to_dict` wrote. Raises ConfigError for options that do not exist."""
        names = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - names):
            raise ConfigError(f"unknown option {unknown[0]!r}")
        options: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**options).validated()

    @classmethod
    def from_preset(cls, preset: str, **options: Any) -> Self:
        """The options of a preset, with `options` winning over it."""
        if preset not in cls.presets:
            raise ConfigError(f"preset={preset!r} must be one of {', '.join(cls.presets)}")
        values: dict[str, Any] = {"preset": preset, **cls.presets[preset], **options}
        return cls(**values)

    def validated(self) -> Self:
        """Itself, once every value has been looked at. Raises ConfigError naming the first bad one."""
        hints = get_type_hints(type(self))
        names = [field.name for field in dataclasses.fields(self)]
        for name in names:
            _check_type(name, getattr(self, name), hints[name])
        for name in names:
            if name in _POSITIVE_INT and getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")
        for name in names:
            if name not in _RANGES:
                continue
            value, (low, high, open_low) = getattr(self, name), _RANGES[name]
            if not (low < value if open_low else low <= value) or value > high or not math.isfinite(value):
                ends = f"{'above' if open_low else 'at least'} {low:g}"
                ends += "" if math.isinf(high) else f" and at most {high:g}"
                raise ConfigError(f"{name}={value} must be {ends}")
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden={self.hidden} must be one or more widths of at least 1")
        return self


_POSITIVE_INT = (
    *("num_envs", "total_steps", "threads", "batch_size", "buffer_capacity", "steps_per_update"),
    *("log_interval", "eval_episodes", "checkpoint_interval"),
    *("memory_size", "memory_length", "phase_steps"),
)
# name: lowest, highest, whether the lowest itself is excluded
_RANGES: dict[str, tuple[float, float, bool]] = {
    "seed": (0, 2**63 - 1, False),
    "gamma": (0, 1, False),
    "tau": (0, 1, True),
    "lr": (0, math.inf, True),
    "actor_lr": (0, math.inf, True),
    "critic_lr": (0, math.inf, True),
    "lr_final": (0, 1, True),
    "warmup_steps": (0, math.inf, False),
    "grad_clip": (0, math.inf, False),
    "logit_reg": (0, math.inf, False),
    "reward_scale": (0, math.inf, True),
    "epsilon": (0, 1, False),
    "epsilon_final": (0, 1, False),
    "epsilon_share": (0, 1, True),
    "noise_sigma": (0, math.inf, False),
    "noise_final": (0, math.inf, False),
    "eval_interval": (0, math.inf, False),
}


def _check_type(name: str, value: Any, hint: Any) -> None:
    choices = get_args(hint)
    if choices and all(isinstance(c, str) for c in choices):
        if value not in choices:
            raise ConfigError(f"{name}={value!r} must be one of {', '.join(choices)}")
    elif hint is int and (not isinstance(value, int) or isinstance(value, bool)):
        raise ConfigError(f"{name}={value!r} must be a whole number")
    elif hint is float and (not isinstance(value, (int, float)) or isinstance(value, bool)):
        raise ConfigError(f"{name}={value!r} must be a number")
    elif hint is bool and not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r} must be true or false")
    elif hint == tuple[int, ...] and not all(isinstance(v, int) for v in value):
        raise ConfigError(f"{name}={value!r} must be whole numbers")


@dataclass(frozen=True)
class MaddpgConfig(RunConfig):
    """Options of one run. A step is one environment step of one world; a round updates every agent once."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        # Git-123-Hub/maddpg-pettingzoo-pytorch: the numbers of the code that the tag game was first trained with.
        "reference": {
            "num_envs": 1,
            "total_steps": 750_000,
            "gamma": 0.95,
            "tau": 0.02,
            "actor_lr": 1e-2,
            "critic_lr": 1e-2,
            "lr_decay": "none",
            "batch_size": 1024,
            "shared_batch": False,
            "buffer_capacity": 1_000_000,
            "warmup_steps": 50_000,
            "steps_per_update": 100,
            "hidden": (64, 64),
            "activation": "relu",
            "actor_gradient": "gumbel",
            "action_relaxation": "hard",
            "target_action": "sample",
            "grad_clip": 0.5,
            "logit_reg": 1e-3,
            "reward_scale": 1.0,
            "epsilon": 0.0,
        },
    }

    preset: Literal["default", "reference"] = "default"
    """Where the other options come from: `reference` has the numbers of the widely used MADDPG code."""
    actor_lr: float = 2e-3
    """Learning rate of the actors (Adam)."""
    critic_lr: float = 5e-3
    """Learning rate of the critics (Adam)."""
    shared_batch: bool = True
    """One batch a round for all agents; otherwise every agent draws its own."""
    twin_critics: bool = False
    """Two critics for each agent, the smaller value in the targets."""
    actor_gradient: Literal["gumbel", "expected"] = "expected"
    """Gradient of discrete actors: straight-through Gumbel-softmax, or the exact mean over own actions."""
    action_relaxation: Literal["hard", "soft"] = "hard"
    """Gumbel-softmax samples in the actor loss: one-hot with straight-through gradient, or soft."""
    target_action: Literal["sample", "argmax"] = "sample"
    """Next actions in the targets, from the target actors (discrete agents)."""
    logit_reg: float = 1e-3
    """Weight of mean(logits^2) in the actor loss (for continuous agents, of the values before the squash)."""
    epsilon: float = 0.7
    """Share of uniformly random actions of discrete agents, on top of sampling from the policy."""
    noise_sigma: float = 0.2
    """Standard deviation of the exploration noise of continuous agents, where the action range is 2."""
    noise_final: float = 0.05
    """The same at the end of the run, reached linearly."""
