"""Sets of cells of the kitchen as 64-bit numbers: bit 8 * row + column stands for a cell.

Every operand is uint64: in numba, uint64 with int64 silently becomes float64.
"""

import numpy as np

from mpe_ext.engine.jit import helper, rule

NO_CELLS, ONE = np.uint64(0), np.uint64(1)
_NOT_LEFT = np.uint64(0xFEFEFEFEFEFEFEFE)  # all columns but the first
_NOT_RIGHT = np.uint64(0x7F7F7F7F7F7F7F7F)
INTERIOR = np.uint64(0x007E7E7E7E7E7E00)  # rows and columns 1 .. 6: nothing else is ever floor
_ROW = np.uint64(8)
STEPS = np.array([-8, 1, 8, -1])  # to the next cell: up, right, down, left

_PAIRS, _FOURS, _EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES, _TWO, _FOUR, _TOP = np.uint64(0x0101010101010101), np.uint64(2), np.uint64(4), np.uint64(56)
_TRANSPOSE = (
    (np.uint64(7), np.uint64(0x00AA00AA00AA00AA)),
    (np.uint64(14), np.uint64(0x0000CCCC0000CCCC)),
    (np.uint64(28), np.uint64(0x00000000F0F0F0F0)),
)
_HALVES, _QUARTERS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_16, _32 = np.uint64(16), np.uint64(32)


@rule
def bit(cell):
    """The set of one cell."""
    return ONE << np.uint64(cell)


@rule
def has(cells, cell):
    """Whether a cell is in a set."""
    return (cells >> np.uint64(cell)) & ONE != NO_CELLS


@rule
def count(cells):
    """How many."""
    x = cells - ((cells >> ONE) & _PAIRS)
    x = (x & _FOURS) + ((x >> _TWO) & _FOURS)
    x = (x + (x >> _FOUR)) & _EIGHTS
    return np.int64((x * _BYTES) >> _TOP)


@rule
def first(cells):
    """The lowest cell of a set that is not empty."""
    return count((cells & (~cells + ONE)) - ONE)


@helper
def nth(cells, n):
    """The n-th lowest cell, from 0; there must be more than n."""
    for _ in range(n):
        cells &= cells - ONE
    return first(cells)


@rule
def grown(cells):
    """The cells and those beside them (four neighbours)."""
    sides = ((cells & _NOT_RIGHT) << ONE) | ((cells & _NOT_LEFT) >> ONE)
    return cells | (cells << _ROW) | (cells >> _ROW) | sides


@rule
def beside(cells):
    """The neighbours of the cells, which may be some of them."""
    return (cells << _ROW) | (cells >> _ROW) | ((cells & _NOT_RIGHT) << ONE) | ((cells & _NOT_LEFT) >> ONE)


@rule
def wide(cells):
    """The cells and their eight neighbours."""
    cells |= ((cells & _NOT_RIGHT) << ONE) | ((cells & _NOT_LEFT) >> ONE)
    return cells | (cells << _ROW) | (cells >> _ROW)


@helper
def flood(free, seed):
    """The cells of `free` that can be walked to from those of `seed` that are in it."""
    reached, before = seed & free, NO_CELLS
    while reached != before:
        before = reached
        reached = grown(reached) & free
    return reached


@helper
def mirrored(cells):
    """Left and right exchanged."""
    x = ((cells >> ONE) & _PAIRS) | ((cells & _PAIRS) << ONE)
    x = ((x >> _TWO) & _FOURS) | ((x & _FOURS) << _TWO)
    return ((x >> _FOUR) & _EIGHTS) | ((x & _EIGHTS) << _FOUR)


@helper
def flipped(cells):
    """Top and bottom exchanged."""
    x = ((cells >> _ROW) & _HALVES) | ((cells & _HALVES) << _ROW)
    x = ((x >> _16) & _QUARTERS) | ((x & _QUARTERS) << _16)
    return (x >> _32) | (x << _32)


@helper
def transposed(cells):
    """Rows and columns exchanged."""
    for shift, mask in _TRANSPOSE:
        swap = (cells ^ (cells >> shift)) & mask
        cells ^= swap ^ (swap << shift)
    return cells
