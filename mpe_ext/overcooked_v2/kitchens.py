"""Kitchens outside of episodes: by index, as text, with their labels."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mpe_ext.engine import shared as sh
from mpe_ext.engine.jit import kernel
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.levels import Level, print_level
from mpe_ext.overcooked_v2.rules import GIVEN, State
from mpe_ext.overcooked_v2.zones import certified, needs_team


class Scene(NamedTuple):
    """One kitchen of a split and style."""

    number: int  # its index
    level: str  # as text
    hash: int  # canonical: equal for kitchens that are mirrored or turned
    forced_coop: bool  # no agent could do alone what the program demands
    certified: bool  # all of it can be done by the team


def scenes_of(game: Any, indices: Iterable[int]) -> list[Scene | None]:
    """The scenes of a game's split and style with these indices; None where none was found."""
    wanted = np.array(list(indices), np.int64)
    state = game.allocate(len(wanted))
    state.wish[:] = wanted
    _begin(game, state)
    able, team = certify(game, state)
    return [
        Scene(int(i), print_level(level_of(state, w)), int(state.scene_hash[w]), bool(team[w]), bool(able[w]))
        if state.found[w]
        else None
        for w, i in enumerate(wanted)
    ]


def tried(game: Any, level: Level) -> tuple[bool, bool]:
    """Whether the team can do in a level what the program demands, and whether an episode can begin there: there is
    something to do, and a place for a fire that burns from the start."""
    state = game.allocate(1)
    put_levels(state, np.ones(1, np.bool_), level)
    _begin(game, state)
    return bool(certify(game, state)[0][0]), bool(state.found[0])


def _begin(game: Any, state: State) -> None:
    """Reset all worlds, outside of any environment."""
    shared = sh.allocate(len(state.cell), len(game.agents), 0)
    shared.begin[:] = True
    game.kernels.reset(0, len(state.cell), tuple(shared), tuple(state), tuple(game.numbers()))


def level_of(state: State, w: int) -> Level:
    """World w as it is now. What is not in a level (progress, plates under way, the program) is left out."""
    burning = np.array([int(state.fire[w]) >> cell & 1 for cell in range(64)], np.uint8)
    cells = state.terrain[w] | state.item[w] << np.uint8(3) | burning << np.uint8(7)
    agents = np.stack([state.cell[w], state.hand[w].astype(np.int64)], axis=1)
    return Level(cells, agents, state.orders[w].astype(np.int64))


def put_levels(state: State, worlds: np.ndarray, level: Level) -> None:
    """Let the next reset of these worlds begin with a level."""
    state.wish[worlds] = GIVEN
    state.given[worlds], state.given_agents[worlds], state.given_orders[worlds] = level


def certify(game: Any, state: State) -> tuple[np.ndarray, np.ndarray]:
    """For kitchens at the beginning of an episode, (bool[W] can the team do what the program demands, bool[W] would no
    agent be able to do it alone)."""
    able, team = (np.zeros(len(state.cell), np.bool_) for _ in range(2))
    _certify(0, len(able), tuple(state), game.demands, able, team)
    return able, team


@kernel
def _certify(lo, hi, state, demands, able, team):
    s = State(*state)
    for w in range(lo, hi):
        able[w] = certified(w, s, demands)
        team[w] = needs_team(w, s, demands)


def global_planes(state: State, num_terrains: int) -> np.ndarray:
    """float32[W, planes * 64 + 3]: a plane for each terrain but floor, each item, fire and each agent, and the open
    orders. Items are shown where they lie and where they are held."""
    worlds, agents = state.cell.shape
    rows, cells = np.arange(worlds), np.arange(64)
    items = np.zeros((worlds, len(t.ITEMS), 64), np.float32)
    items[rows[:, None], state.item, cells] = 1
    places = np.zeros((worlds, agents, 64), np.float32)
    for a in range(agents):
        items[rows, state.hand[:, a], state.cell[:, a]] = 1
        places[rows, a, state.cell[:, a]] = 1
    terrain = state.terrain[:, None] == np.arange(1, num_terrains)[:, None]
    fire = (state.fire[:, None] >> cells.astype(np.uint64) & np.uint64(1))[:, None]
    planes = np.concatenate([terrain, items[:, 1:], fire, places], axis=1, dtype=np.float32)
    return np.concatenate([planes.reshape(worlds, -1), state.orders.astype(np.float32)], axis=1)
