"""Shapes with smooth edges, as arithmetic: how many pixels a place lies inside, negative outside.

Each function returns `inside(x, y)`: arrays of pixel coordinates that broadcast, relative to the shape's centre where
it has one, give an array of distances to the edge. A pixel is covered by `clip(inside + 0.5, 0, 1)`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

Point = Sequence[float]
Inside = Callable[[np.ndarray, np.ndarray], np.ndarray]


def disc(radius: float) -> Inside:
    """A filled circle around (0, 0)."""
    return lambda x, y: radius - np.hypot(x, y)


def ring(radius: float, width: float, dashes: int = 0) -> Inside:
    """A circle line around (0, 0) whose middle has `radius`; with `dashes`, so many strokes with gaps as long."""

    def inside(x, y):
        line = width / 2 - np.abs(np.hypot(x, y) - radius)
        if not dashes:
            return line
        turn = (np.arctan2(y, x) * (dashes / (2 * math.pi))) % 1.0
        return np.minimum(line, (0.25 - np.abs(turn - 0.5)) * (2 * math.pi * radius / dashes))

    return inside


def glow(radius: float) -> Inside:
    """A spot around (0, 0) that fades out towards `radius`: all of it is edge."""

    def inside(x, y):
        light = np.clip(1.0 - np.hypot(x, y) / radius, 0.0, 1.0)
        return light * light * (3.0 - 2.0 * light) - 0.5

    return inside


def cross(radius: float, width: float) -> Inside:
    """Two diagonal strokes through (0, 0), each from `radius` to `radius` with round ends."""

    def inside(x, y):
        u, v = np.abs(x + y) / math.sqrt(2), np.abs(x - y) / math.sqrt(2)
        falling = np.hypot(v, np.maximum(u - radius, 0.0))
        rising = np.hypot(u, np.maximum(v - radius, 0.0))
        return width / 2 - np.minimum(falling, rising)

    return inside


def panel(width: float, height: float, corner: float) -> Inside:
    """A filled rectangle around (0, 0) with corners of radius `corner`."""

    def inside(x, y):
        dx = np.maximum(np.abs(x) - (width / 2 - corner), 0.0)
        dy = np.maximum(np.abs(y) - (height / 2 - corner), 0.0)
        return corner - np.hypot(dx, dy)

    return inside


def line(start: Point, end: Point, width: float, dash: float = 0.0) -> Inside:
    """A stroke with round ends between two different points; with `dash`, strokes of that length and gaps as long."""
    long = math.dist(start, end)
    ux, uy = (end[0] - start[0]) / long, (end[1] - start[1]) / long

    def inside(x, y):
        along = (x - start[0]) * ux + (y - start[1]) * uy
        across = (x - start[0]) * uy - (y - start[1]) * ux
        stroke = width / 2 - np.hypot(across, along - np.clip(along, 0.0, long))
        if not dash:
            return stroke
        return np.minimum(stroke, dash / 2 - np.abs(along % (2 * dash) - dash / 2))

    return inside


def polygon(points: Sequence[Point]) -> Inside:
    """A filled convex polygon, its corners in either turning direction."""
    corners = np.asarray(points, dtype=np.float64)
    ahead = np.roll(corners, -1, axis=0)
    area = np.sum(corners[:, 0] * ahead[:, 1] - ahead[:, 0] * corners[:, 1])
    edges = (ahead - corners) * math.copysign(1.0, area)

    def inside(x, y):
        sides = [
            ((y - cy) * ex - (x - cx) * ey) / math.hypot(ex, ey)
            for (cx, cy), (ex, ey) in zip(corners, edges, strict=True)
            if ex or ey
        ]
        return np.minimum.reduce(sides)

    return inside
