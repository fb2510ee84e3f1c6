"""From names as people spell them to the canonical ones, and what an argument means where it stands."""

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.tables import Behaviour

TAUTOLOGY = "Tautology"
ROUTINES = (*t.ROUTINES, *t.QUERY_KINDS, TAUTOLOGY)
_ROUTINE_ALIASES = {
    "putofffire": "PutOutFire",
    "wash": "WashDirtyPlate",
    "washplate": "WashDirtyPlate",
    "checkdemand": "is_ordered",
    "isordered": "is_ordered",
    "is_on_fire": "IsOnFire",
    "onfire": "IsOnFire",
    "isthere": "is_there",
}
_SIMPLE = tuple(t.ITEMS[code] for code in t.SIMPLE)
_RAW = ("Tomato", "Onion")  # fresh or chopped, as the routine demands
_ITEM_ALIASES: dict[str, tuple[str, ...]] = {
    "ft": ("FreshTomato",),
    "fo": ("FreshOnion",),
    "ct": ("ChoppedTomato",),
    "co": ("ChoppedOnion",),
    "p": ("Plate",),
    "pct": ("ChoppedTomato", "Plate"),
    "pco": ("ChoppedOnion", "Plate"),
    "coct": ("ChoppedOnion", "ChoppedTomato"),
    "pcoct": ("ChoppedOnion", "ChoppedTomato", "Plate"),
    "t": ("Tomato",),
    "o": ("Onion",),
}
# By routine: what may stand there.
ALLOWED: dict[str, tuple[tuple[int, ...], ...]] = {}
for _b in (*t.BEHAVIOURS, *t.QUERIES):
    ALLOWED[_b.routine] = (*ALLOWED.get(_b.routine, ()), _b.items)
ARGUMENTS = {routine: len(items[0]) for routine, items in ALLOWED.items()} | {TAUTOLOGY: 0}


def distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def nearest(name: str, known: tuple[str, ...], limit: int) -> list[str]:
    """The known names nearest to `name`, upper and lower case alike, at most `limit` changes away."""
    by_distance = {k: distance(name.lower(), k.lower()) for k in known}
    least = min(by_distance.values())
    return [k for k, d in by_distance.items() if d == least] if least <= limit else []


def routine(name: str) -> str | None:
    """The canonical name of a routine, None if that is not clear."""
    if name in ROUTINES:
        return name
    if name.lower() in _ROUTINE_ALIASES:
        return _ROUTINE_ALIASES[name.lower()]
    close = nearest(name, ROUTINES, 2)
    return close[0] if len(close) == 1 else None


def suggestion(name: str) -> str:
    """`did you mean` for an unknown routine, or the list of those there are."""
    close = nearest(name, ROUTINES, max(2, len(name) // 2))
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(ROUTINES)}"


def parts(text: str) -> frozenset[str] | None:
    """The simple items that an argument names (`Tomato` and `Onion` still undecided), None for anything else."""
    found: list[str] = []
    for name in (piece.strip() for piece in text.split("+")):
        if name.lower() in _ITEM_ALIASES:
            found.extend(_ITEM_ALIASES[name.lower()])
            continue
        # Two changes would make a tomato of a potato.
        close = (nearest(name, _RAW, 1) or nearest(name, _SIMPLE, 2)) if name else []
        if len(close) != 1:
            return None
        found.append(close[0])
    return frozenset(found) if len(set(found)) == len(found) else None


def item(name: str, text: str) -> int:
    """The item that the argument `text` means for routine `name`, NOTHING if it means none there."""
    names = parts(text)
    if names is None:
        return t.NOTHING
    if name == "is_ordered":
        names = frozenset(f"Chopped{n}" if n in _RAW else n for n in names) | {"Plate"}
    elif name == "Serve":
        names |= {"Plate"}
    elif name in ("Chop", "Pick") and len(names) == 1:
        names = frozenset(f"Fresh{n}" if n in _RAW else n for n in names)
    return t.with_parts(names)


def behaviour(name: str, items: tuple[int, ...]) -> Behaviour | None:
    """The behaviour or query of a routine with these items, None if it is not legal. The order of a pair is free."""
    for candidate in (items, items[::-1]):
        if candidate in ALLOWED[name]:
            return Behaviour(name, candidate)
    return None


def allowed(name: str) -> str:
    """The legal arguments of a routine, for messages."""
    return "; ".join(", ".join(t.ITEMS[i] for i in items) for items in ALLOWED[name])
