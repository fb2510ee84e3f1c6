"""Meeting scheduling: parameters, agents and spaces. The rules are in rules.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from mpe_ext.engine.game import Episodes, Game, Kernels
from mpe_ext.engine.params import param
from mpe_ext.engine.shared import Shared
from mpe_ext.meeting_scheduling import rules, splits

SPLITS = ("all", "train", "test")
FIRST_MOVERS = ("random", "participant_0", "participant_1")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """All parameters of the game. Defaults are those of the preset `paper`."""

    preset: str = param("paper", "where the defaults come from", choices=("paper",))
    num_slots: int = param(8, "slots of a table (D)", low=1, high=16)
    max_messages: int = param(8, "actions after which a game is cut, and lost; sizes the observation", low=1, high=64)
    include_all_free: bool = param(False, "the table without any occupied slot, which cannot inform, is drawn too")
    first_mover: str = param("random", "who moves first", choices=FIRST_MOVERS)
    split: str = param("all", "which tables are drawn", choices=SPLITS)
    split_seed: int = param(0, "which of many divisions into train and test tables", low=0)
    success_reward: float = param(1.0, "both agents' reward for a right proposal or rejection")
    failure_reward: float = param(-2.0, "both agents' reward for a wrong proposal or a false inform")
    inform_reward: float = param(-0.1, "both agents' reward for a true inform")
    reject_fail_reward: float = param(-2.0, "both agents' reward for a wrong rejection")
    truncation_reward: float = param(-2.0, "added to the reward of the last message where a game is cut")
    observation_format: str = param(
        "box", "`flat`: `{'observation', 'action_mask'}`, the mask all ones", choices=("box", "flat")
    )
    max_cycles: int = param(100, "moves after which a game is truncated without any reward for that", low=1)

    def __post_init__(self) -> None:
        _check_split(self, self.split)


def _check_split(p: Parameters, split: str) -> None:
    count = splits.how_many(p.num_slots, p.include_all_free)
    test = count * splits.TEST_SHARE[0] // splits.TEST_SHARE[1]
    if {"all": count, "train": count - test, "test": test}[split] < 1:
        raise ValueError(f"split={split!r}: there is no such table with num_slots={p.num_slots}; more slots are needed")


PRESETS: dict[str, dict[str, Any]] = {"paper": {}}


class Fixed(NamedTuple):
    """What `reset(options=...)` fixes."""

    split: int | None
    tables: np.ndarray | None  # int64[2] or int64[num_envs, 2]
    first_mover: np.ndarray | None  # int64[] or int64[num_envs]


class MeetingScheduling(Game):
    """Two participants who see their own tables only talk in turns until one of them decides."""

    name = "meeting_scheduling_v0"
    render_fps = 1
    turn_based = True
    params_type = Parameters
    presets = PRESETS
    kernels = Kernels(rules.reset_worlds, rules.step_worlds, rules.observe_worlds)
    params: Parameters

    def __init__(self, params: Parameters):
        super().__init__(params)
        d, t = params.num_slots, params.max_messages
        self.agents = ("participant_0", "participant_1")
        # inform [s..e] for every s <= e: those from slot 0 first, the shortest of them first
        self.informs = tuple((s, e) for s in range(d) for e in range(s, d))
        self.num_actions = len(self.informs) + d + 1
        self.size = d + t * (self.num_actions + 1) + 2 * d + 3
        box = {agent: spaces.Box(0.0, 1.0, (self.size,), np.float32) for agent in self.agents}
        masks = {agent: spaces.Box(0, 1, (self.num_actions,), np.int8) for agent in self.agents}
        self.observation_spaces = {
            a: spaces.Dict({"observation": box[a], "action_mask": masks[a]}) if self._flat else box[a]
            for a in self.agents
        }
        self.action_spaces = {agent: spaces.Discrete(self.num_actions) for agent in self.agents}
        self.state_space = spaces.Box(0.0, 1.0, (2 * d + t * (self.num_actions + 1) + 3,), np.float32)

    @property
    def _flat(self) -> bool:
        return self.params.observation_format == "flat"

    @property
    def tables(self) -> splits.Tables:
        """All tables and their split."""
        return splits.tables(self.params.num_slots, self.params.include_all_free, self.params.split_seed)

    def inform(self, start: int, end: int) -> int:
        """The action that informs of the slots start .. end. Raises ValueError for other slots than there are."""
        d = self.params.num_slots
        if not 0 <= start <= end < d:
            raise ValueError(f"start={start!r}, end={end!r}: must be 0 <= start <= end <= {d - 1}")
        return start * d - start * (start - 1) // 2 + end - start

    def propose(self, slot: int) -> int:
        """The action that proposes a slot. Raises ValueError for one that does not exist."""
        if not 0 <= slot < self.params.num_slots:
            raise ValueError(f"slot={slot!r}: must be in 0 .. {self.params.num_slots - 1}")
        return len(self.informs) + slot

    @property
    def reject(self) -> int:
        """The action that says that there is no common free slot."""
        return self.num_actions - 1

    def describe(self, action: int) -> str:
        """An action in words."""
        if action < len(self.informs):
            start, end = self.informs[action]
            return f"busy {start}" if start == end else f"busy {start}-{end}"
        return "no common slot" if action == self.reject else f"propose {action - len(self.informs)}"

    def numbers(self) -> rules.Rules:
        p, tables = self.params, self.tables
        return rules.Rules(
            num_slots=p.num_slots,
            num_informs=len(self.informs),
            spans=spans(self),
            first_mover=FIRST_MOVERS.index(p.first_mover) - 1,
            success_reward=p.success_reward,
            failure_reward=p.failure_reward,
            inform_reward=p.inform_reward,
            reject_fail_reward=p.reject_fail_reward,
            truncation_reward=p.truncation_reward,
            num_train=tables.num_train,
            tables=tables.numbers,
        )

    def allocate(self, num_envs: int) -> rules.State:
        w, p = num_envs, self.params
        return rules.State(
            table=np.zeros((w, 2), np.int64),
            first=np.zeros(w, np.int64),
            said=np.zeros((w, p.max_messages), np.int64),
            rows=np.zeros(w, np.int64),
            disclosed=np.zeros((w, 2), np.int64),
            split=np.full(w, SPLITS.index(p.split), np.int8),
            success=np.full(w, rules.OPEN, np.int64),
            messages=np.zeros(w, np.int64),
            revealed=np.full((w, 2), -1, np.int64),
            observation=np.zeros((w, 2, self.size), np.float32),
            mask=np.ones((w, 2, self.num_actions), np.int8),
        )

    def observations(self, state: rules.State) -> dict[str, Any]:
        views = {agent: state.observation[:, i] for i, agent in enumerate(self.agents)}
        if not self._flat:
            return views
        return {a: {"observation": views[a], "action_mask": state.mask[:, i]} for i, a in enumerate(self.agents)}

    def infos(self, state: rules.State) -> dict[str, dict[str, np.ndarray]]:
        shared = {
            "success": state.success,
            "table_0": state.revealed[:, 0],
            "table_1": state.revealed[:, 1],
            "messages": state.messages,
        }
        return {agent: dict(shared) for agent in self.agents}

    def global_state(self, state: rules.State) -> np.ndarray:
        d, (one, other) = self.params.num_slots, (state.observation[:, 0], state.observation[:, 1])
        history = slice(d, d + self.params.max_messages * (self.num_actions + 1))
        return np.concatenate(
            [one[:, :d], other[:, :d], one[:, history], one[:, -3:-2], one[:, -1:], other[:, -1:]], axis=1
        )

    # Options of reset -----------------------------------------------------------------------------------------

    def read_options(self, options: Mapping[str, Any], num_envs: int) -> Fixed | None:
        if not {"split", "tables", "first_mover"} & options.keys():
            return None
        split = tables = first = None
        if "split" in options:
            if options["split"] not in SPLITS:
                raise ValueError(f"split={options['split']!r}: must be one of {', '.join(map(repr, SPLITS))}")
            _check_split(self.params, options["split"])
            split = SPLITS.index(options["split"])
        if "tables" in options:
            tables = self._read_tables(options["tables"], num_envs)
        if "first_mover" in options:
            first = _numbers(options["first_mover"])
            if first is None or first.shape not in ((), (num_envs,)) or not ((first == 0) | (first == 1)).all():
                odd = options["first_mover"]
                raise ValueError(f"first_mover={odd!r}: must be 0 or 1, or one of them for each world")
        return Fixed(split, tables, first)

    def _read_tables(self, tables: Any, num_envs: int) -> np.ndarray:
        d = self.params.num_slots
        given = _numbers(tables)
        if given is None or given.shape not in ((2, d), (num_envs, 2, d)):
            raise ValueError(f"tables={tables!r}: must be two lists of {d} numbers, or two for each world")
        if not ((given == 0) | (given == 1)).all():
            odd = given[(given != 0) & (given != 1)][0]
            raise ValueError(f"tables={tables!r}: holds {odd}; a slot is 0 (free) or 1 (occupied)")
        return splits.number_of(given)

    def before_reset(self, fixed: Fixed | None, state: rules.State, mask: np.ndarray) -> None:
        own = SPLITS.index(self.params.split)
        state.split[mask] = own if fixed is None or fixed.split is None else fixed.split

    def after_reset(self, fixed: Fixed, shared: Shared, state: rules.State, mask: np.ndarray) -> None:
        if fixed.tables is not None:
            state.table[mask] = fixed.tables[mask] if fixed.tables.ndim == 2 else fixed.tables
        if fixed.first_mover is not None:
            state.first[mask] = fixed.first_mover[mask] if fixed.first_mover.ndim else fixed.first_mover
            shared.acting[mask] = state.first[mask][:, None] == np.arange(2)

    # Episodes and pictures ------------------------------------------------------------------------------------

    def metrics(self, episodes: Episodes) -> dict[str, np.ndarray]:
        last = episodes.last["participant_0"]
        seen = read(self, episodes.final_observations["participant_0"])
        return {
            "success": last["success"],
            "informs": ((seen.said >= 0) & (seen.said < len(self.informs))).sum(axis=1).astype(np.float64),
        }

    def outside_split(self, episodes: Episodes) -> int:
        if self.params.split == "all":
            return 0
        outside = np.zeros(len(episodes.lengths), np.bool_)
        for agent in self.agents:
            table = read(self, episodes.final_observations[agent]).table
            inside = self.tables.is_there[table] & (self.tables.is_test[table] == (self.params.split == "test"))
            outside |= ~inside
        return int(outside.sum())

    def draw(
        self,
        canvas: Any,
        shared: Shared,
        state: rules.State,
        w: int,
        max_cycles: int,
        beliefs: Mapping[str, np.ndarray],
    ) -> None:
        from mpe_ext.meeting_scheduling.drawing import draw  # pygame comes with the first drawing

        draw(canvas, self, shared, state, w, beliefs)


class Seen(NamedTuple):
    """What an observation says, for N observations."""

    table: np.ndarray  # int64[N]: one's own, bit j says that slot j is occupied
    said: np.ndarray  # int64[N, T]: the actions taken, -1 for those to come
    mine: np.ndarray  # bool[N, T]: which of them are one's own
    moves: np.ndarray  # bool[N]: whether it is one's turn


def read(game: MeetingScheduling, observations: np.ndarray) -> Seen:
    """Observations float32[N, size] in numbers. Raises ValueError for another shape."""
    d, t = game.params.num_slots, game.params.max_messages
    if observations.ndim != 2 or observations.shape[1] != game.size:
        raise ValueError(f"observations are {list(observations.shape)}, must be [worlds, {game.size}]")
    rows = observations[:, d : d + t * (game.num_actions + 1)].reshape(-1, t, game.num_actions + 1)
    actions = rows[:, :, :-1]
    return Seen(
        splits.number_of(observations[:, :d] > 0.5),
        np.where(actions.any(axis=2), actions.argmax(axis=2), -1),
        rows[:, :, -1] > 0.5,
        observations[:, -1] > 0.5,
    )


def spans(game: MeetingScheduling) -> np.ndarray:
    """The slots of each inform as bits, int64[informs]."""
    return np.array([(1 << end + 1) - (1 << start) for start, end in game.informs], np.int64)


def _numbers(value: Any) -> np.ndarray | None:
    """Whole numbers in a rectangular nesting as int64; None for anything else."""
    if not isinstance(value, int | np.integer | Sequence | np.ndarray) or isinstance(value, str | bytes):
        return None
    array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if array.dtype == object:
        if not all(isinstance(number, Real) for number in array.flat):
            return None
        array = array.astype(np.float64)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all() or (array != np.floor(array)).any():
        return None
    return array.astype(np.int64)
