"""A game's parameters: one frozen dataclass is the source of signature, validation, docs table and pickling.

Each field is declared with `param`; `make` builds the dataclass from a preset and the user's keyword arguments.
"""

import dataclasses
import difflib
import math
import numbers
from collections.abc import Callable
from typing import Any

LARGEST_INT = 2**31 - 1


def param(default: Any, doc: str, *, low: float | None = None, high: float | None = None, above: float | None = None,
          choices: tuple = (), read: Callable[[Any], Any] | None = None, allowed: str = "") -> Any:  # fmt: skip
    """A dataclass field. `low` and `high` are the least and the largest value allowed, `above` must be exceeded.

    The type that is demanded is the default's: bool, int, float (finite) or, with `choices`, one of those. With `read`
    it is whatever `read(value)` accepts, which returns the value to keep (a string or a number) or raises ValueError;
    `allowed` says in words what that is.
    """
    metadata = {"doc": doc, "low": low, "high": high, "above": above, "choices": choices, "read": read,
                "allowed": allowed}  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


def nearest(name: str, known) -> str:
    """`did you mean` for an error message, or nothing."""
    match = difflib.get_close_matches(str(name), [str(k) for k in known], n=1)
    return f"; did you mean {match[0]!r}?" if match else ""


def _allowed(field: dataclasses.Field) -> str:
    limits = field.metadata
    if limits["allowed"]:
        return limits["allowed"]
    if limits["choices"]:
        return "one of " + ", ".join(repr(c) for c in limits["choices"])
    kind = type(field.default)
    text = {bool: "True or False", int: "an integer", float: "a finite number"}[kind]
    if limits["low"] is not None:
        text += f" >= {limits['low']:g}"
    if limits["high"] is not None:
        text += f" and <= {limits['high']:g}"
    if limits["above"] is not None:
        text += f" > {limits['above']:g}"
    return text


def _coerce(field: dataclasses.Field, value: Any) -> Any:
    """The value in the field's own type, or None if it is not allowed (no parameter has None as a value)."""
    limits = field.metadata
    if limits["read"]:
        return limits["read"](value)
    if limits["choices"]:
        # True == 1, so compare types as well.
        matches = [c for c in limits["choices"] if type(c) is type(value) and c == value]
        return matches[0] if matches else None
    kind = type(field.default)
    if kind is bool:
        return bool(value) if type(value).__name__ in ("bool", "bool_") else None
    number: Any = numbers.Integral if kind is int else numbers.Real
    if not isinstance(value, number) or type(value).__name__ in ("bool", "bool_"):
        return None
    try:
        value = int(value) if kind is int else float(value)
    except OverflowError:
        return None
    if value > LARGEST_INT if kind is int else not math.isfinite(value):
        return None
    if limits["low"] is not None and value < limits["low"]:
        return None
    if limits["high"] is not None and value > limits["high"]:
        return None
    if limits["above"] is not None and value <= limits["above"]:
        return None
    return value


def make(cls: type, presets: dict[str, dict[str, Any]], arguments: dict[str, Any], also: tuple[str, ...] = ()) -> Any:
    """Build `cls`: the preset's values, overridden by `arguments`. `also` names what the caller takes itself.

    Raises:
        TypeError: an argument that does not exist.
        ValueError: a value that is not allowed; whatever `cls.__post_init__` finds contradictory.
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for name in arguments:
        if name not in fields:
            known = [*also, *fields]
            raise TypeError(f"unknown argument {name!r}{nearest(name, known)} (known: {', '.join(known)})")
    preset = arguments.get("preset", next(iter(presets)))
    if not isinstance(preset, str) or preset not in presets:
        raise ValueError(f"preset={preset!r}: must be one of {', '.join(map(repr, presets))}")
    values = {"preset": preset} | presets[preset] | arguments
    checked = {}
    for name, value in values.items():
        checked[name] = _coerce(fields[name], value)
        if checked[name] is None:
            raise ValueError(f"{name}={value!r}: must be {_allowed(fields[name])}")
    return cls(**checked)


def table(cls: type, presets: dict[str, dict[str, Any]]) -> str:
    """The Markdown table of all parameters, with one column of defaults for each preset."""
    lines = [
        "| parameter | " + " | ".join(f"`{p}`" for p in presets) + " | allowed | meaning |",
        "|---" * (len(presets) + 3) + "|",
    ]
    for field in dataclasses.fields(cls):
        if field.name == "preset":
            defaults = [f"`{p!r}`" for p in presets]
        else:
            defaults = [f"`{values.get(field.name, field.default)!r}`" for values in presets.values()]
        cells = [f"`{field.name}`", *defaults, _allowed(field).replace("|", "\\|"), field.metadata["doc"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
