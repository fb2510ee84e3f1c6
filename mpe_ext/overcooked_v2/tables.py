"""The names and codes of Overcooked-v2: the one source for rules, observations, programs, docs and tests."""

from itertools import combinations
from typing import NamedTuple

# Items (what a hand or a counter may hold; 0 is nothing) ----------------------------------------------------------

NOTHING, FRESH_TOMATO, FRESH_ONION, CHOPPED_TOMATO, CHOPPED_ONION, PLATE, DIRTY_PLATE = range(7)
TOMATO_DISH, ONION_DISH, MIX, MIX_DISH, EXTINGUISHER = range(7, 12)
ITEMS = (
    "Nothing",
    "FreshTomato",
    "FreshOnion",
    "ChoppedTomato",
    "ChoppedOnion",
    "Plate",
    "DirtyPlate",
    "ChoppedTomato+Plate",
    "ChoppedOnion+Plate",
    "ChoppedOnion+ChoppedTomato",
    "ChoppedOnion+ChoppedTomato+Plate",
    "Extinguisher",
)
SIMPLE = (FRESH_TOMATO, FRESH_ONION, CHOPPED_TOMATO, CHOPPED_ONION, PLATE, DIRTY_PLATE, EXTINGUISHER)
PARTS = {code: frozenset(ITEMS[code].split("+")) for code in range(1, len(ITEMS))}  # by item, the names it consists of
_BY_PARTS = {parts: code for code, parts in PARTS.items()}

DISHES = (ONION_DISH, TOMATO_DISH, MIX_DISH)  # in the order of the inventory's flags
NAMEABLE = tuple(c for c in range(1, len(ITEMS)) if c not in (DIRTY_PLATE, EXTINGUISHER))  # what programs may speak of
_MERGEABLE = frozenset({"ChoppedTomato", "ChoppedOnion", "Plate"})


def merged(first: int, second: int) -> int:
    """What merging gives, NOTHING if these cannot be merged: nothing twice, all food chopped, the plate clean."""
    if not first or not second:
        return NOTHING
    a, b = PARTS[first], PARTS[second]
    return NOTHING if a & b or not (a | b) <= _MERGEABLE else _BY_PARTS[a | b]


def with_parts(names: frozenset[str]) -> int:
    """The item that consists of these simple items, NOTHING if there is none."""
    return _BY_PARTS.get(names, NOTHING)


# Unordered pairs, each written as programs are printed: what has no plate first, onion before tomato.
MERGES = tuple(
    sorted(
        (tuple(sorted(pair, key=lambda c: (c == PLATE, -len(PARTS[c]), -c))) for pair in combinations(range(1, 12), 2)
         if merged(*pair)),
        key=lambda pair: (merged(*pair) != ONION_DISH, merged(*pair), pair),
    )
)  # fmt: skip

# Behaviours (what a program may demand) and events (what a step may bring about) -----------------------------------


class Behaviour(NamedTuple):
    """A behaviour primitive, or a query, with its arguments."""

    routine: str
    items: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.routine}({', '.join(ITEMS[i] for i in self.items)})"


Query = Behaviour

BEHAVIOURS = (
    *(Behaviour("Pick", (i,)) for i in NAMEABLE),
    *(Behaviour("Chop", (i,)) for i in (FRESH_TOMATO, FRESH_ONION)),
    *(Behaviour("Merge", pair) for pair in MERGES),
    *(Behaviour("Serve", (i,)) for i in DISHES),
    Behaviour("WashDirtyPlate"),
    Behaviour("PutOutFire"),
)
QUERIES = (
    Query("IsOnFire"),
    *(Query("is_ordered", (i,)) for i in DISHES),
    *(Query("is_there", (i,)) for i in NAMEABLE),
)
# Events are numbered from 1 (0 is none): the behaviours, then what no program can demand.
EVENTS = (*BEHAVIOURS, Behaviour("Pick", (DIRTY_PLATE,)), Behaviour("Pick", (EXTINGUISHER,)))
EVENT_CODE = {event: code for code, event in enumerate(EVENTS, start=1)}
ROUTINES = tuple(dict.fromkeys(b.routine for b in BEHAVIOURS))  # in the order of BEHAVIOURS
QUERY_KINDS = tuple(dict.fromkeys(q.routine for q in QUERIES))

EVENT_NAMES = ("none", *map(str, EVENTS))  # by code

# The kitchen ------------------------------------------------------------------------------------------------------

FLOOR, COUNTER, BOARD, STAR, SINK, TOMATO_SUPPLY, ONION_SUPPLY, BIN = range(8)
TERRAINS = ("floor", "counter", "cutting board", "star", "sink", "tomato supply", "onion supply", "bin")
OPERATIONS = ("move", "pick", "place", "serve", "merge", "interact")
MOVE, PICK, PLACE, SERVE, MERGE, INTERACT = range(6)
DIRECTIONS = ("up", "right", "down", "left")
ACTIONS = tuple(f"{operation} {direction}" for operation in OPERATIONS for direction in DIRECTIONS)  # by number
COLLISIONS = ("none", "solid", "fire", "swap", "contested", "occupied")  # why a move was not made, by code
FREE, SOLID, ON_FIRE, SWAP, CONTESTED, OCCUPIED = range(6)

SIDE = 8  # cells; cell number = SIDE * row + column
MOST_AGENTS = 4


class Plane(NamedTuple):
    """One plane of the observation's map: 1 at the cells that it speaks of."""

    name: str
    item: int = NOTHING  # that lies there or is held there
    terrain: int = FLOOR
    other: str = ""  # fire, self, others


PLANES = (
    Plane("counter", terrain=COUNTER),
    *(Plane(ITEMS[i], item=i) for i in range(1, 12)),
    Plane("fire", other="fire"),
    *(Plane(TERRAINS[k], terrain=k) for k in (BOARD, STAR, SINK, TOMATO_SUPPLY, ONION_SUPPLY)),
    Plane("self", other="self"),
    Plane("other agents", other="others"),
)
BIN_PLANE = Plane(TERRAINS[BIN], terrain=BIN)  # the 21st, of kitchens that have a bin
FIRE_PLANE, SELF_PLANE, OTHERS_PLANE = (
    next(k for k, plane in enumerate(PLANES) if plane.other == name) for name in ("fire", "self", "others")
)
INVENTORY = ("column", "row", "holding", *(f"ordered {ITEMS[i]}" for i in DISHES))

# Letters of text levels: terrain, then what may lie on a counter.
TERRAIN_LETTERS = {
    FLOOR: ".",
    COUNTER: "#",
    BOARD: "K",
    STAR: "D",
    SINK: "S",
    TOMATO_SUPPLY: "T",
    ONION_SUPPLY: "O",
    BIN: "B",
}
ITEM_LETTERS = dict(zip(range(1, 12), "tocnpdqrmfx", strict=True))
FIRE_LETTER = "F"

# The program's state ----------------------------------------------------------------------------------------------

RUNNING, COMPLETED, VIOLATED, TRUNCATED = range(4)
STATUSES = ("running", "completed", "violated", "truncated")
