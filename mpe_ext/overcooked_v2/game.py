"""Overcooked-v2: agents, spaces and arrays. Parameters are in parameters.py, the rules in rules.py."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from mpe_ext.engine.game import Episodes, Game, Kernels
from mpe_ext.engine.shared import Shared
from mpe_ext.overcooked_v2 import fire, kitchens, observe, rules, scenes
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.levels import Level, plates, read_level
from mpe_ext.overcooked_v2.parameters import POOL, PRESETS, Parameters, read_index
from mpe_ext.overcooked_v2.program.executor import Executor
from mpe_ext.overcooked_v2.program.kernels import Pointers
from mpe_ext.overcooked_v2.program.kernels import allocate as allocate_pointers
from mpe_ext.overcooked_v2.program.resources import Needs, needs
from mpe_ext.overcooked_v2.program.syntax import (
    Do,
    If,
    Seq,
    While,
    asked,
    blocks,
    never_ends,
    walk,
)
from mpe_ext.overcooked_v2.program.tables import Tables, compiled

_MOST_RETURNS = 16  # plates on their way back at a time
_SURE_TO_FIT = 6  # items that every style has room for


class Event(NamedTuple):
    """What an agent brought about, for people."""

    agent: str
    behaviour: str
    outcome: str  # matched, ignored, violation
    pointer: int  # that it moved on, -1 for none


class OvercookedV2(Game):
    """One to four agents carry out a program in a kitchen."""

    name = "overcooked_v2_v0"
    render_fps = 5
    picture = (1000, 640)
    params_type = Parameters
    presets = PRESETS
    kernels = Kernels(rules.reset_worlds, rules.step_worlds, rules.observe_worlds)
    params: Parameters

    def __init__(self, params: Parameters):
        super().__init__(params)
        p = params
        self.agents = tuple(f"chef_{i}" for i in range(p.n_agents))
        self.planes = (*t.PLANES, t.BIN_PLANE) if p.bin else t.PLANES
        self.program = p.tree
        self._level = read_level(p.scene, p.n_agents, bin=p.bin) if isinstance(p.scene, str) else None
        self._map_shape, self._inventory_size = (len(self.planes), t.SIDE, t.SIDE), len(t.INVENTORY) + p.obs_time
        self.size = int(np.prod(self._map_shape)) + self._inventory_size
        self._map_type: Any = np.uint8 if p.t_chop == 1 else np.float32
        self.observation_spaces = {agent: self._observation_space() for agent in self.agents}
        self.action_spaces = {agent: spaces.Discrete(len(t.ACTIONS)) for agent in self.agents}
        numbers = 64 * (len(self.planes) - 2 + p.n_agents) + 3
        self.state_space = spaces.Box(0.0, 9.0, (numbers,), np.float32)
        self._check()

    def _observation_space(self) -> spaces.Space:
        """One agent's; every agent has its own, since a space samples from a stream of its own."""
        p = self.params
        most = 7.0 if p.raw_xy else 1.0
        high = np.array([most, most, *[1.0] * 4, *[np.inf] * p.obs_time], np.float32)
        mask = spaces.Box(0, 1, (len(t.ACTIONS),), np.int8)
        if p.observation_format == "dict":
            kitchen = spaces.Box(0, 1, self._map_shape, self._map_type)
            inventory = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
            return spaces.Dict({"map": kitchen, "inventory": inventory, "action_mask": mask})
        high = np.concatenate([np.ones(self.size - len(high), np.float32), high])
        vector = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
        return vector if p.observation_format == "box" else spaces.Dict({"observation": vector, "action_mask": mask})

    # What the program asks for --------------------------------------------------------------------------------

    @cached_property
    def needs(self) -> Needs:
        """What must be in the kitchen from the start."""
        return needs(self.program, self.params.dirty_return != "none")

    @cached_property
    def fire_mode(self) -> int:
        """The code of the fire mode, with `auto` decided."""
        mode = self.params.fire_mode
        if mode == "auto":
            outside, inside = _speaks_of_fire(self.program)
            mode = "initial" if outside else "once" if inside else "none"
        return fire.MODES.index(mode)

    @cached_property
    def demands(self) -> int:
        """The program's behaviours, as a bit set over their codes."""
        return sum(1 << t.EVENT_CODE[b] for b in {s.behaviour for s in walk(self.program) if isinstance(s, Do)})

    @property
    def _items(self) -> list[int]:
        """What every kitchen has beside distractors."""
        need = self.needs
        dirty = need.dirty + self.params.n_plates - need.plates
        return [t.EXTINGUISHER, *[t.PLATE] * need.clean, *[t.DIRTY_PLATE] * dirty, *need.loose]

    @property
    def tables(self) -> Tables:
        """The compiled program."""
        return compiled(self.program)

    def _check(self) -> None:
        """Raises ValueError where no kitchen could be drawn, or there is nothing to do from the start."""
        if not any(_begins(self.program, answers) for answers in self._first_answers()):
            raise ValueError(f"program={self.params.program!r}: is complete before it has begun, whatever is ordered")
        if self._level is not None:
            self.check_level(self._level)
        elif self.params.agents_same_room or len(self._items) > _SURE_TO_FIT:
            self._try_scenes()

    def _first_answers(self) -> Any:
        asked_for = sorted({str(q) for q in _queries(self.program)})
        for values in product((False, True), repeat=min(len(asked_for), 12)):
            answers = dict(zip(asked_for, values, strict=False))
            burning = answers.get("IsOnFire()", False)
            if burning and self.fire_mode not in (fire.INITIAL,) and not isinstance(self.params.scene, str):
                continue
            yield answers

    def check_level(self, level: Level) -> None:
        """Raises ValueError where this program cannot be carried out in a level."""
        (total, clean), need = plates(level), self.needs
        if total < need.plates or clean < need.clean:
            raise ValueError(
                f"scene: the level has {total} plates, {clean} of them empty and clean, but the program needs "
                f"{need.plates}, {need.clean} of them clean"
            )
        if total > _MOST_RETURNS:
            raise ValueError(f"scene: the level has {total} plates; at most {_MOST_RETURNS} are allowed")
        able, begins = kitchens.tried(self, level)
        if not able:
            raise ValueError(
                "scene: the program cannot be carried out in this level: a station or an item that it needs, or an "
                "agent, is out of the others' reach, over counters as well"
            )
        if not begins:
            raise ValueError(
                "scene: no episode can begin in this level: the program is complete at once, whatever is ordered, or "
                "nowhere could a fire be put out again"
            )

    def _try_scenes(self) -> None:
        if None in kitchens.scenes_of(self, range(4)):
            p = self.params
            alone = " with agents_same_room=True" if p.agents_same_room else ""
            raise ValueError(f"style={p.style!r}: no kitchen has room for program={p.program!r}{alone}")

    # Arrays ---------------------------------------------------------------------------------------------------

    def numbers(self) -> rules.Rules:
        p = self.params
        arrays = {k: v for k, v in self.tables._asdict().items() if isinstance(v, np.ndarray)}
        pool = POOL[p.split] if p.pool < 0 else p.pool
        return rules.Rules(
            style=scenes.STYLES.index(p.style),
            split=scenes.SPLITS.index(p.split),
            pool=pool,
            items=np.array(self._items, np.uint8),
            demands=self.demands,
            mentioned=sum(1 << k for k, dish in enumerate(t.DISHES) if dish in _dishes(self.program)),
            agents_same_room=p.agents_same_room,
            p_start_holding=p.p_start_holding,
            bin=int(p.bin),
            orders_mode=rules.ORDERS_MODES.index(p.orders_mode),
            order_rate=p.order_rate,
            fire_mode=self.fire_mode,
            fire_sites=fire.SITES.index(p.fire_sites),
            fire_hazard=p.fire_hazard,
            fire_spread=p.fire_spread,
            max_fires=p.max_fires,
            must_extinguish=p.must_extinguish,
            dirty_return=rules.DIRTY_RETURN.index(p.dirty_return),
            return_delay=p.return_delay,
            strict=rules.STRICT.index(p.strict),
            t_chop=p.t_chop,
            t_wash=p.t_wash,
            sight=observe.VIEWS.index(p.view),
            sight_radius=p.view_radius,
            raw_xy=p.raw_xy,
            obs_time=p.obs_time,
            subtask_reward=p.subtask_reward,
            completion_reward=p.completion_reward,
            **arrays,
        )

    def allocate(self, num_envs: int) -> rules.State:
        w, p, n = num_envs, self.params, self.params.n_agents
        pointers: Pointers = allocate_pointers(w, self.tables)
        if p.observation_format == "dict":
            kitchen = np.zeros((w, n, *self._map_shape), self._map_type)
            inventory = np.zeros((w, n, self._inventory_size), np.float32)
        else:  # parts of one vector
            vector = np.zeros((w, n, self.size), np.float32)
            kitchen = vector[..., : -self._inventory_size].reshape(w, n, *self._map_shape)
            inventory = vector[..., -self._inventory_size :]
        state = rules.State(
            terrain=np.zeros((w, 64), np.uint8),
            item=np.zeros((w, 64), np.uint8),
            progress=np.zeros((w, 64), np.uint8),
            floor=np.zeros(w, np.uint64),
            plain=np.zeros(w, np.uint64),
            handover=np.zeros(w, np.uint64),
            fire=np.zeros(w, np.uint64),
            fire_age=np.zeros((w, 64), np.int16),
            ignite_at=np.full(w, -1, np.int16),
            orders=np.zeros((w, 3), np.uint8),
            returns=np.full((w, _MOST_RETURNS, 2), -1, np.int16),
            cell=np.zeros((w, n), np.int64),
            hand=np.zeros((w, n), np.uint8),
            hand_progress=np.zeros((w, n), np.uint8),
            action=np.full((w, n), -1, np.int64),
            scene=np.zeros(w, np.int64),
            found=np.zeros(w, np.bool_),
            scene_key=np.zeros(w, np.uint64),
            scene_counter=np.zeros(w, np.uint64),
            scene_hash=np.zeros(w, np.uint64),
            wish=np.zeros(w, np.int64),
            given=np.zeros((w, 64), np.uint8),
            given_agents=np.zeros((w, n, 2), np.int64),
            given_orders=np.full((w, 3), -1, np.int64),
            event=np.zeros((w, n), np.int64),
            hard=np.zeros((w, n), np.bool_),
            matched=np.full((w, n), -1, np.int64),
            event_matched=np.zeros((w, n), np.int64),
            useful=np.zeros((w, n), np.int64),
            collision=np.zeros((w, n), np.int64),
            status=np.zeros((w, n), np.int64),
            told=np.full((w, n), -1, np.int64),
            goal=np.zeros((w, n), np.int64),
            planes=np.zeros((w, scenes.HASH_BITS), np.uint64),
            **pointers._asdict(),
            visible=np.zeros((w, n), np.uint64),
            map=kitchen,
            inventory=inventory,
            mask=np.zeros((w, n, len(t.ACTIONS)), np.int8),
        )
        self.before_reset(None, state, np.ones(w, np.bool_))
        return state

    def observations(self, state: rules.State) -> dict[str, Any]:
        views: dict[str, Any] = {}
        for i, agent in enumerate(self.agents):
            mask = state.mask[:, i]
            if self.params.observation_format == "dict":
                views[agent] = {"map": state.map[:, i], "inventory": state.inventory[:, i], "action_mask": mask}
                continue
            whole = state.map.base  # the vector that map and inventory are parts of
            assert whole is not None
            vector = whole[:, i]
            views[agent] = (
                vector if self.params.observation_format == "box" else {"observation": vector, "action_mask": mask}
            )
        return views

    def infos(self, state: rules.State) -> dict[str, dict[str, np.ndarray]]:
        infos = {
            agent: {
                "event": state.event[:, i],
                "event_matched": state.event_matched[:, i],
                "useful_events": state.useful[:, i],
                "program_status": state.status[:, i],
                "collision": state.collision[:, i],
            }
            for i, agent in enumerate(self.agents)
        }
        if self.params.observation_format == "box":
            for i, agent in enumerate(self.agents):
                infos[agent]["action_mask"] = state.mask[:, i]
        return infos

    def global_state(self, state: rules.State) -> np.ndarray:
        return kitchens.global_planes(state, len(t.TERRAINS) - (not self.params.bin))

    # Options of reset -----------------------------------------------------------------------------------------

    def read_options(self, options: Mapping[str, Any], num_envs: int) -> "list[int | Level] | None":
        """`{"scene": ...}`: an index, a level's text, or a sequence with one of these for each world."""
        if "scene" not in options:
            return None
        given = options["scene"]
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
            if len(given) != num_envs:
                raise ValueError(f"scene has {len(given)} entries, must have one for each of {num_envs} worlds")
        else:
            given = [given] * num_envs
        levels: dict[str, Level] = {}
        for value in given:
            if isinstance(value, str) and value not in levels:
                level = read_level(value, self.params.n_agents, bin=self.params.bin)
                self.check_level(level)
                levels[value] = level
        return [levels[value] if isinstance(value, str) else read_index(value) for value in given]

    def before_reset(self, fixed: "list[int | Level] | None", state: rules.State, mask: np.ndarray) -> None:
        scene = self.params.scene if self._level is None else self._level
        if fixed is None or all(one is fixed[0] for one in fixed):
            _fix(state, mask, scene if fixed is None else fixed[0])
            return
        for w in np.flatnonzero(mask):
            _fix(state, w, fixed[w])

    # Episodes and pictures ------------------------------------------------------------------------------------

    def events(self, state: rules.State, w: int) -> list[Event]:
        outcomes = {1: "matched", 0: "ignored", -1: "violation"}
        return [
            Event(agent, t.EVENT_NAMES[code], outcomes[int(state.event_matched[w, i])], int(state.matched[w, i]))
            for i, agent in enumerate(self.agents)
            if (code := int(state.event[w, i]))
        ]

    def metrics(self, episodes: Episodes) -> dict[str, np.ndarray]:
        status = episodes.last[self.agents[0]]["program_status"]
        useful = sum(episodes.last[agent]["useful_events"] for agent in self.agents)
        completed = status == t.COMPLETED
        return {
            "completed": completed.astype(float),
            "violated": (status == t.VIOLATED).astype(float),
            "useful events": np.asarray(useful, float),
            "steps if completed": np.where(completed, episodes.lengths, np.nan),
        }

    def draw(
        self,
        canvas: Any,
        shared: Shared,
        state: rules.State,
        w: int,
        max_cycles: int,
        beliefs: Mapping[str, np.ndarray],
    ) -> None:
        from mpe_ext.overcooked_v2.drawing import draw  # pygame comes with the first drawing

        draw(canvas, self, shared, state, w)


def _fix(state: rules.State, worlds: Any, scene: int | Level) -> None:
    if isinstance(scene, Level):
        kitchens.put_levels(state, worlds, scene)
    else:
        state.wish[worlds] = scene


# What programs say ------------------------------------------------------------------------------------------------


def _queries(program: Seq) -> list[t.Query]:
    asks = [asked(s.condition) for s in walk(program) if isinstance(s, If | While)]
    return [ask.query for ask in asks if ask is not None]


def _dishes(program: Seq) -> set[int]:
    """The dishes that a program asks after or serves."""
    served = [s.behaviour for s in walk(program) if isinstance(s, Do) and s.behaviour.routine == "Serve"]
    return {b.items[0] for b in (*served, *_queries(program)) if b.routine in ("Serve", "is_ordered")}


def _speaks_of_fire(program: Seq, daemon: bool = False) -> tuple[bool, bool]:
    """Whether a program speaks of fire outside of daemons, and inside."""
    found = [False, False]
    for s in program.statements:
        if isinstance(s, Do):
            found[daemon] |= s.behaviour.routine == "PutOutFire"
        if isinstance(s, If | While) and (ask := asked(s.condition)) is not None:
            found[daemon] |= ask.query.routine == "IsOnFire"
        endless = isinstance(s, While) and never_ends(Seq((s,)))
        for block in blocks(s):
            inner = _speaks_of_fire(block, daemon or endless or never_ends(block))
            found = [a or b for a, b in zip(found, inner, strict=True)]
    return found[0], found[1]


def _begins(program: Seq, answers: Mapping[str, bool]) -> bool:
    """Whether there is something to do, given the answers to all queries."""
    executor = Executor(program)
    executor.reset(lambda query: answers.get(query, False))
    return executor.status == t.STATUSES[t.RUNNING]
