"""Kitchens as text: eight lines of eight letters, a legend, and what letters cannot say.

    ####S###
    #..p#..#      p is a plate that lies on a counter, 0 and 1 are agents
    ...

What follows the first blank line is a legend for readers, and `orders:` and `hands:`.
"""

from typing import Any, NamedTuple

import numpy as np

from mpe_ext.overcooked_v2 import tables as t

LETTERS = {
    **{letter: (terrain, t.NOTHING) for terrain, letter in t.TERRAIN_LETTERS.items()},
    **{letter: (t.COUNTER, item) for item, letter in t.ITEM_LETTERS.items()},
}
AGENTS = "0123"


class Level(NamedTuple):
    """A kitchen and its agents at the beginning."""

    cells: np.ndarray  # uint8[64]: terrain, item << 3, fire << 7
    agents: np.ndarray  # int64[N, 2]: cell and item in hand
    orders: np.ndarray  # int64[3]: open orders by dish, -1 where they are to be drawn


def legend() -> str:
    """What the letters mean."""
    terrain = [f"{letter} {t.TERRAINS[code]}" for code, letter in t.TERRAIN_LETTERS.items()]
    items = [f"{letter} {t.ITEMS[code]}" for code, letter in t.ITEM_LETTERS.items()]
    return "\n".join(
        (
            "legend: " + ", ".join([*terrain, f"{t.FIRE_LETTER} fire", "0-3 agents"]),
            "legend: on counters " + ", ".join(items),
        )
    )


def read_level(text: Any, n_agents: int | None = None, *, bin: bool = False) -> Level:
    """A level from its text.

    Args:
        text: eight lines of eight letters; after a blank line may follow `orders: ITEM, ITEM` (all that are open;
            `none`), `hands: AGENT LETTER, ...` and lines that begin with `legend:`.
        n_agents: how many agents there must be; None for any number from 1 to 4.
        bin: whether the letter `B` is allowed.

    Raises:
        ValueError: what is wrong, and where.
    """
    if not isinstance(text, str):
        raise ValueError(f"scene={text!r}: a level is a text of 8 lines")
    lines = [line.strip() for line in text.strip().splitlines()]
    end = lines.index("") if "" in lines else len(lines)
    rows, rest = lines[:end], lines[end:]
    if len(rows) != t.SIDE or any(len(row) != t.SIDE for row in rows):
        sizes = " ".join(str(len(row)) for row in rows)
        raise ValueError(f"scene: a level has 8 lines of 8 letters; this one has {len(rows)}, with {sizes} letters")
    cells, places = np.zeros(64, np.uint8), {}
    for cell, letter in enumerate("".join(rows)):
        where = f"line {cell // 8 + 1}, letter {cell % 8 + 1}"
        if letter in AGENTS:
            if letter in places:
                raise ValueError(f"scene: {where}: agent {letter} is there twice")
            places[letter] = cell
        elif letter != t.FIRE_LETTER and letter not in LETTERS:
            raise ValueError(f"scene: {where}: {letter!r} is no letter of levels\n{legend()}")
        terrain, item = LETTERS.get(letter, (t.FLOOR, t.NOTHING))
        if terrain == t.FLOOR and (cell // 8 in (0, 7) or cell % 8 in (0, 7)):
            raise ValueError(f"scene: {where}: {letter!r} lies on the border, which cannot be floor")
        if terrain == t.BIN and not bin:
            raise ValueError(f"scene: {where}: a bin is there only with bin=True")
        cells[cell] = terrain | item << 3 | (letter == t.FIRE_LETTER) << 7
    if sorted(places) != list(AGENTS[: len(places)]) or not places:
        there = ", ".join(sorted(places)) or "none"
        raise ValueError(f"scene: the agents are numbered from 0 on, without gaps; there are {there}")
    if n_agents is not None and len(places) != n_agents:
        raise ValueError(f"scene: the level has {len(places)} agents, but n_agents={n_agents}")
    agents = np.array([[places[name], t.NOTHING] for name in sorted(places)], np.int64)
    orders = np.full(3, -1, np.int64)
    for line in rest:
        _read_line(line, agents, orders)
    _check_items(cells, agents)
    return Level(cells, agents, orders)


def _read_line(line: str, agents: np.ndarray, orders: np.ndarray) -> None:
    key, _, words = line.partition(":")
    entries = [word.strip() for word in words.split(",") if word.strip()]
    if key == "orders":
        orders[:] = 0
        for name in entries if entries != ["none"] else []:
            if name not in t.ITEMS or t.ITEMS.index(name) not in t.DISHES:
                allowed = ", ".join(t.ITEMS[code] for code in t.DISHES)
                raise ValueError(f"scene: {name!r} cannot be ordered (allowed: {allowed})")
            orders[t.DISHES.index(t.ITEMS.index(name))] += 1
        if orders.max() > 9:
            raise ValueError("scene: at most 9 orders of a dish can be open")
    elif key == "hands":
        items = {letter: code for code, letter in t.ITEM_LETTERS.items()}
        for entry in entries:
            agent, _, letter = entry.partition(" ")
            if agent not in AGENTS[: len(agents)] or not agent or letter.strip() not in items:
                raise ValueError(f"scene: hands: {entry!r} must be an agent and the letter of an item, such as `0 t`")
            agents[int(agent), 1] = items[letter.strip()]
    elif key not in ("legend", ""):
        raise ValueError(f"scene: {line!r}: what follows the level begins with `orders:`, `hands:` or `legend:`")


def _check_items(cells: np.ndarray, agents: np.ndarray) -> None:
    items = [*(cells >> 3 & 15), *agents[:, 1]]
    if items.count(t.EXTINGUISHER) > 1:
        raise ValueError(f"scene: there are {items.count(t.EXTINGUISHER)} extinguishers; one at most is allowed")


def plates(level: Level) -> tuple[int, int]:
    """How many plates there are in all, and how many of them are empty and clean."""
    items = [int(i) for i in (*(level.cells >> 3 & 15), *level.agents[:, 1])]
    clean = items.count(t.PLATE)
    return sum(bool(t.PARTS[i] & {"Plate", "DirtyPlate"}) for i in items if i), clean


def print_level(level: Level) -> str:
    """The text that `read_level` reads."""
    letters = []
    for code in level.cells.tolist():
        item = code >> 3 & 15
        letters.append(t.ITEM_LETTERS[item] if item else t.FIRE_LETTER if code >> 7 else t.TERRAIN_LETTERS[code & 7])
    for number, (cell, _) in enumerate(level.agents.tolist()):
        letters[cell] = AGENTS[number]
    rows = ["".join(letters[8 * r : 8 * r + 8]) for r in range(8)]
    hands = [f"{number} {t.ITEM_LETTERS[hand]}" for number, (_, hand) in enumerate(level.agents.tolist()) if hand]
    names = [t.ITEMS[dish] for k, dish in enumerate(t.DISHES) for _ in range(level.orders[k])]
    notes = [] if (level.orders < 0).any() else ["orders: " + (", ".join(names) or "none")]
    notes += ["hands: " + ", ".join(hands)] if hands else []
    return "\n".join([*rows, "", *notes, legend()]) + "\n"
