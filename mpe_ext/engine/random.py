"""Counter-based random numbers that kernels draw: one 64-bit SplitMix64 stream per world.

Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), figure 16 for the finaliser.
A stream is a key and a count of draws, both held in the world's state, so a snapshot of the state is a snapshot of
the stream. Draw number c of the stream with key k is `mix(k + c * GOLDEN)`.
"""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import rule

# Every operand is uint64: in numba, uint64 with int64 silently becomes float64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MUL_1 = np.uint64(0xBF58476D1CE4E5B9)
_MUL_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SHIFT_11, _ONE = np.uint64(11), np.uint64(1)
_TWO_TO_MINUS_53 = 1.0 / 9007199254740992.0


def _mix(z):
    z = (z ^ (z >> _SHIFT_30)) * _MUL_1
    z = (z ^ (z >> _SHIFT_27)) * _MUL_2
    return z ^ (z >> _SHIFT_31)


mix = rule(_mix)


def stream_key(seed: np.ndarray, world: np.ndarray) -> np.ndarray:
    """Keys of the streams (seed, world), elementwise over two uint64 arrays."""
    with np.errstate(over="ignore"):
        return _mix(_mix(seed + GOLDEN) + (world + _ONE) * GOLDEN)


class Stream(NamedTuple):
    """A stream beside the worlds' own: a game may keep such arrays in its state and hand them over in place of `e`."""

    key: np.ndarray  # uint64[W]
    counter: np.ndarray  # uint64[W]


@rule
def bits(w, e):
    """64 random bits from the stream of world w."""
    e.counter[w] += _ONE
    return mix(e.key[w] + e.counter[w] * GOLDEN)


@rule
def random(w, e):
    """Uniform in [0, 1), 53 bits."""
    return (bits(w, e) >> _SHIFT_11) * _TWO_TO_MINUS_53


@rule
def uniform(w, e, low, high):
    """Uniform in [low, high)."""
    return low + (high - low) * random(w, e)


@rule
def integer(w, e, n):
    """Uniform in 0 .. n-1 (for n far below 2**53 the bias is below 2**-50)."""
    return int(random(w, e) * n)
