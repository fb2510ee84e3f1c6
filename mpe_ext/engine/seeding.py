"""Seeds as users give them."""

import numbers
import secrets
from typing import Any


def as_seed(seed: Any) -> int:
    """A seed as a 64-bit number.

    Raises:
        ValueError: not an integer in 0 .. 2**64 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed={seed!r}: must be an integer in 0 .. 2**64 - 1")
    return int(seed)


def entropy() -> int:
    """A fresh 64-bit seed from the operating system; nothing touches global random state."""
    return secrets.randbits(64)
