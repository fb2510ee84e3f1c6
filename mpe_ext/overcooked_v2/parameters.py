"""The parameters of Overcooked-v2, and how programs and scenes among them are read."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from mpe_ext.engine.params import param
from mpe_ext.overcooked_v2 import fire, observe, rules, scenes
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.levels import print_level, read_level
from mpe_ext.overcooked_v2.program.corpus import corpus, load
from mpe_ext.overcooked_v2.program.parse import Parsed, parse
from mpe_ext.overcooked_v2.program.resources import needs
from mpe_ext.overcooked_v2.program.syntax import Seq, print_program, renumbered

POOL = {"train": 0, "val": 500, "test": 1000}  # kitchens of a split and style; 0: as many as there are


def read_program(value: Any) -> str:
    """A program as the parameter keeps it: its name in the corpus, else its canonical text."""
    if isinstance(value, Parsed):
        value = value.program
    if isinstance(value, Seq):
        return print_program(renumbered(value))
    if not isinstance(value, str):
        raise ValueError(f"program={value!r}: must be a name from the corpus, the text of a program, or a parsed one")
    if value in corpus():
        return value
    if "(" not in value:
        load(value)  # raises: says what there is
    parsed = parse(value)
    for warning in parsed.warnings:
        warnings.warn(f"program: {warning}", stacklevel=2)
    return print_program(parsed.program)


def read_scene(value: Any) -> int | str:
    """A scene as the parameter keeps it: an index, -1 for a new one at each reset, or the text of a level."""
    return print_level(read_level(value, bin=True)) if isinstance(value, str) else read_index(value)


def read_index(value: Any) -> int:
    """The index of a scene, or -1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not -1 <= int(value) < 2**53:
        raise ValueError(f"scene={value!r}: must be an index from 0 on, the text of a level, or -1 for any")
    return int(value)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """All parameters of the game."""

    preset: str = param("default", "where the defaults come from", choices=("default",))
    program: str = param(
        "H2",
        "what the team must do: a name from the corpus, the text of a program, or a parsed program",
        read=read_program,
        allowed="a name from the corpus, or a program",
    )
    style: str = param("open", "of the kitchens' walls", choices=scenes.STYLES)
    split: str = param("train", "which kitchens are drawn; no two splits share one", choices=scenes.SPLITS)
    scene: Any = param(
        -1,
        "index of the one kitchen of style and split to play in, or a level as text; -1: a new one at each reset",
        read=read_scene,
        allowed="an index, the text of a level, or -1",
    )
    pool: int = param(
        -1, "kitchens that are drawn from; -1: 500 of `val`, 1000 of `test`, of `train` all; 0: all", low=-1
    )
    n_agents: int = param(2, "agents (1 to 4, no fewer than rooms)", low=1, high=t.MOST_AGENTS)
    agents_same_room: bool = param(False, "all agents begin in one room, where all that is needed can be done")
    p_start_holding: float = param(0.0, "probability that an agent begins with an item in its hand", low=0.0, high=1.0)
    n_plates: int = param(
        2, "plates in the kitchen; those that the program does not need clean are dirty", low=0, high=6
    )
    bin: bool = param(False, "a bin that destroys food")
    t_chop: int = param(1, "interactions that chopping takes", low=1, high=100)
    t_wash: int = param(1, "interactions that washing takes", low=1, high=100)
    dirty_return: str = param(
        "hand",
        "where a served dish's plate comes back, dirty: to the server's `hand` at once, to the `counter` nearest to "
        "the star, or not at all",
        choices=rules.DIRTY_RETURN,
    )
    return_delay: int = param(5, "steps until then, with `dirty_return='counter'`", low=0, high=10_000)
    orders_mode: str = param(
        "static",
        "`static`: each dish of the program is ordered with probability 0.5, others 0.3; `all`; `stream`: as "
        "`static`, and more during the episode",
        choices=rules.ORDERS_MODES,
    )
    order_rate: float = param(0.02, "new orders a step, with `orders_mode='stream'`", low=0.0, high=10.0)
    fire_mode: str = param(
        "auto",
        "`initial`: one fire from the start; `once`: one within the first 40 steps; `hazard`: at any step; `legacy`: "
        "after step 60; `auto`: `initial` or `once`, as the program speaks of fire outside of daemons or in them",
        choices=("auto", *fire.MODES),
    )
    fire_sites: str = param("floor", "what may burn", choices=fire.SITES)
    fire_hazard: float = param(0.02, "probability of a fire at a step, with `fire_mode='hazard'`", low=0.0, high=1.0)
    max_fires: int = param(1, "fires that hazard and spreading lead to at most", low=1, high=64)
    fire_spread: float = param(0.0, "probability a step that a fire older than 10 steps spreads", low=0.0, high=1.0)
    must_extinguish: bool = param(False, "the program is not complete as long as something burns")
    strict: str = param(
        "paper",
        "which unwanted events are violations: `paper`: all but picks from counters; `lenient`: no pick; `off`: none",
        choices=rules.STRICT,
    )
    view: str = param(
        "full",
        "what an agent sees: `component`: the room that it is in and what is around that; `radius`: a square",
        choices=observe.VIEWS,
    )
    view_radius: int = param(2, "cells to each side, with `view='radius'`", low=0, high=7)
    raw_xy: bool = param(False, "column and row in the inventory are cells, not shares of 7")
    obs_time: bool = param(False, "the inventory ends with the steps played, divided by 128")
    subtask_reward: float = param(0.2, "everybody's reward for an event that moves the program on")
    completion_reward: float = param(1.0, "everybody's reward for its completion")
    observation_format: str = param(
        "dict",
        "`dict`: `{'map', 'inventory', 'action_mask'}`; `flat`: `{'observation', 'action_mask'}`, map and inventory as "
        "one vector; `box`: that vector",
        choices=("dict", "flat", "box"),
    )
    max_cycles: int = param(128, "steps after which an episode is truncated", low=1)

    def __post_init__(self) -> None:
        rooms = (
            1 if self.agents_same_room or isinstance(self.scene, str) else scenes.ROOMS[scenes.STYLES.index(self.style)]
        )
        if self.n_agents < rooms:
            raise ValueError(f"n_agents={self.n_agents}: style={self.style!r} has {rooms} rooms, each with an agent")
        need = needs(self.tree, self.dirty_return != "none")
        if self.n_plates < need.plates:
            raise ValueError(f"n_plates={self.n_plates}: the program needs {need.plates} plates")

    @property
    def tree(self) -> Seq:
        """The program."""
        return load(self.program).program if self.program in corpus() else parse(self.program).program


PRESETS: dict[str, dict[str, Any]] = {"default": {}}
