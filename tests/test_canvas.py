"""The shared canvas and its shapes."""

import math

import numpy as np
import pytest

from mpe_ext.engine import canvas as module
from mpe_ext.engine import shapes
from mpe_ext.engine.canvas import Canvas


def covered(inside, reach=40):
    """Pixels that a shape covers, parts added up."""
    grid = np.arange(-reach, reach) + 0.5
    return np.clip(inside(grid[:, None], grid[None, :]) + 0.5, 0, 1).sum()


def test_shapes_cover_their_area():
    assert covered(shapes.disc(20)) == pytest.approx(math.pi * 400, rel=2e-3)
    assert covered(shapes.ring(20, 3)) == pytest.approx(math.pi * 40 * 3, rel=5e-3)
    assert covered(shapes.ring(20, 3, dashes=8)) == pytest.approx(math.pi * 20 * 3, rel=2e-2)
    stroke = shapes.line((-20, -11), (19, 13), 4)
    assert covered(stroke) == pytest.approx(4 * math.hypot(39, 24) + math.pi * 4, rel=5e-3)
    triangle = [(-20, -10), (25, 0), (-5, 30)]
    assert covered(shapes.polygon(triangle)) == pytest.approx(825, rel=1e-2)
    assert covered(shapes.polygon(triangle[::-1])) == pytest.approx(825, rel=1e-2)
    assert covered(shapes.panel(40, 20, 5)) == pytest.approx(800 - (4 - math.pi) * 25, rel=5e-3)
    assert 0 < covered(shapes.glow(20)) < math.pi * 400


def test_canvas_draws_nothing_for_wild_numbers():
    canvas = Canvas((60, 40))
    canvas.fill((9, 9, 9))
    for wild in (math.nan, math.inf, -1e300, 1e9):
        ink = (255, 0, 0)
        canvas.disc((wild, 5), 3, ink)
        canvas.disc((5, 5), wild, ink)
        canvas.ring((5, wild), 3, ink)
        canvas.line((0, 0), (wild, 3), ink)
        canvas.polygon([(0, 0), (5, wild), (5, 5)], ink)
        canvas.rectangle(wild, 0, 5, 5, ink)
        canvas.cross((wild, wild), 3, ink)
        canvas.glow((wild, 1), 3, ink)
    canvas.line((3, 3), (3, 3), ink)
    assert (canvas.frame() == 9).all()
    assert canvas.frame().shape == (40, 60, 3)


@pytest.mark.parametrize(
    "end", [(190, 130), (190, 20), (20, 130), (11, 140), (190, 11), (60, 10), (500, -400), (-50, 90)]
)
@pytest.mark.parametrize("width, dash", [(1.0, 0), (6.0, 0), (3.0, 7)])
def test_line_in_strips_is_the_whole_line(end, width, dash):
    canvas = Canvas((200, 150))
    for start, stop in (((10, 10), end), (end, (10, 10))):
        canvas.fill((255, 255, 255))
        canvas.line(start, stop, (0, 0, 0), width, dash)
        x, y = np.arange(200)[None, :] + 0.5, np.arange(150)[:, None] + 0.5
        covered = np.clip(shapes.line(start, stop, width, dash)(x, y) + 0.5, 0, 1)
        assert abs(255 * (1 - covered) - canvas.frame()[..., 0]).max() <= 1.5


def test_bar_panel_and_text():
    canvas = Canvas((200, 50))
    canvas.bar(10, 10, 110, 20, 0.5, (0, 0, 200), (200, 200, 200))
    frame = canvas.frame()
    assert tuple(frame[15, 30]) == (0, 0, 200)
    assert tuple(frame[15, 90]) == (200, 200, 200)
    assert tuple(frame[30, 30]) == (255, 255, 255)
    width = canvas.text("words", (150, 40), 20, (0, 0, 0), across=0.5)
    words = canvas.frame()[30:50, 100:]
    assert 25 < width < 60
    assert len(np.unique(words)) > 8  # smooth letters


def test_kept_pictures_are_bounded():
    canvas = module.Canvas((300, 300))
    for i in range(400):
        canvas.disc((150, 150), 100 + i / 7, (i % 256, 0, 0))
        canvas.text(str(i), (50, 50), 20, (0, 0, 0))
        held = sum(4 * s.get_width() * s.get_height() for s in canvas._kept.values())
        assert held == canvas._kept_bytes <= module._KEPT_BYTES
