"""The picture that every game draws on: an off-screen pygame surface, and a window only when one is asked for.

Imported at the first drawing, never before: it brings pygame. Off-screen drawing starts no display, no audio and no
other part of pygame that needs a device. Nothing here ends a part of pygame either, because pygame's parts are shared
by the whole process: a canvas frees what is its own.

All primitives take pixels, x to the right and y down, with fractions; `pixel` and `length` turn world coordinates
into pixels with one scale for both axes. Colours are `(r, g, b)` or `(r, g, b, opacity)`, each 0 to 255.
"""

import math
import os
import warnings
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from mpe_ext.engine import shapes
from mpe_ext.engine.shapes import Inside, Point

# Else a process that has opened a window ignores SIGTERM, and pools that it forks hang when they end.
os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import pygame  # noqa: E402  (the lines above must come first: SDL and pygame read them here)

Colour = Sequence[int]

_FAR = 1e6  # pixels; a shape with a point beyond is not drawn, so that no state, however wild, breaks a picture
_KEPT_BYTES = 32 * 2**20  # pictures of shapes and words kept for the next frames
_STRIP = 32  # pixels
_FINER = 4  # letters are drawn so much larger and made smaller: at their own size they stand unevenly spaced
# What a player types or clicks stays in pygame's queue for whoever plays by hand; the rest would fill it up.
_FOR_PLAYERS = (pygame.KEYDOWN, pygame.KEYUP, pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP)


class Canvas:
    """A picture of `size = (width, height)` pixels. The first drawing opens it, also after `close`."""

    _shown: "weakref.WeakSet[Canvas]" = weakref.WeakSet()  # pygame has one event queue for the windows of all

    def __init__(self, size: tuple[int, int] = (700, 700), title: str = "mpe_ext"):
        self.size = size
        self.title = title
        self._surface: pygame.Surface | None = None
        self._backdrops: dict[str, pygame.Surface] = {}
        self._kept: dict[tuple, pygame.Surface] = {}
        self._kept_bytes = 0
        self._fonts: dict[int, pygame.font.Font] = {}
        self._window: pygame.Window | None = None
        self._dismissed = False  # the user closed the window: no new one until `close`
        self._clock = pygame.time.Clock()
        self.look()

    def __reduce__(self):
        return Canvas, (self.size, self.title)  # a copy draws on a picture of its own

    # Camera -----------------------------------------------------------------------------------------------------------

    def look(self, centre: Point = (0.0, 0.0), half_width: float = 1.0) -> None:
        """Show the square of the world of `half_width` around `centre`, as large as the picture allows."""
        self.centre = (float(centre[0]), float(centre[1]))
        self.scale = min(self.size) / (2.0 * half_width)

    def pixel(self, point: Point) -> tuple[float, float]:
        """Where a point of the world (y up) lies in the picture."""
        x = self.size[0] / 2 + (float(point[0]) - self.centre[0]) * self.scale
        y = self.size[1] / 2 - (float(point[1]) - self.centre[1]) * self.scale
        return x, y

    def length(self, distance: float) -> float:
        """A distance of the world in pixels."""
        return float(distance) * self.scale

    # Shapes -----------------------------------------------------------------------------------------------------------

    def fill(self, colour: Colour) -> None:
        """Begin a picture: one colour everywhere."""
        if self._surface is None:
            self._surface = pygame.Surface(self.size, depth=32)
        self._surface.fill(tuple(colour[:3]))

    def backdrop(self, name: str, draw: Callable[["Canvas"], None]) -> None:
        """Begin a picture with one that never changes: `draw(canvas)` is called once and its result kept as `name`."""
        kept = self._backdrops.get(name)
        if kept is None:
            draw(self)
            self._backdrops[name] = self._target().copy()
        else:
            self._target().blit(kept, (0, 0))

    def rectangle(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """A filled opaque rectangle, on whole pixels."""
        if _near(left, top, right, bottom):
            x, y = round(left), round(top)
            self._target().fill(tuple(colour[:3]), (x, y, round(right) - x, round(bottom) - y))

    def panel(self, left: float, top: float, right: float, bottom: float, colour: Colour, corner: float = 8.0) -> None:
        """A filled rectangle with round corners, its size rounded to even numbers of pixels."""
        width, height = 2 * round((right - left) / 2), 2 * round((bottom - top) / 2)
        corner = min(corner, width / 2, height / 2)
        inside = shapes.panel(width, height, corner)
        key = ("panel", width, height, corner)
        self._stamp(key, ((left + right) / 2, (top + bottom) / 2), (width / 2, height / 2), colour, inside)

    def bar(
        self, left: float, top: float, right: float, bottom: float, part: float, colour: Colour, ground: Colour
    ) -> None:
        """A horizontal bar on `ground`, filled from the left up to `part` (0 to 1)."""
        self.panel(left, top, right, bottom, ground, (bottom - top) / 2)
        filled = (right - left) * min(max(part, 0.0), 1.0)
        if filled >= 1:
            self.panel(left, top, left + filled, bottom, colour, (bottom - top) / 2)

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """A filled circle."""
        self._stamp(("disc", radius), centre, (radius, radius), colour, shapes.disc(radius))

    def ring(self, centre: Point, radius: float, colour: Colour, width: float = 2.0, dashes: int = 0) -> None:
        """A circle line whose middle has `radius`; with `dashes`, so many strokes with gaps as long."""
        reach = radius + width / 2
        inside = shapes.ring(radius, width, dashes)
        self._stamp(("ring", radius, width, dashes), centre, (reach, reach), colour, inside)

    def glow(self, centre: Point, radius: float, colour: Colour) -> None:
        """A spot of light that fades out towards `radius`."""
        self._stamp(("glow", radius), centre, (radius, radius), colour, shapes.glow(radius))

    def cross(self, centre: Point, radius: float, colour: Colour, width: float = 2.0) -> None:
        """A diagonal cross whose strokes reach to `radius`."""
        reach = radius + width
        self._stamp(("cross", radius, width), centre, (reach, reach), colour, shapes.cross(radius, width))

    def line(self, start: Point, end: Point, colour: Colour, width: float = 2.0, dash: float = 0.0) -> None:
        """A straight line with round ends; with `dash`, strokes of that length and gaps as long."""
        if not _near(*start, *end) or math.dist(start, end) < 1e-6:
            return
        inside = shapes.line(start, end, width, dash)
        # In strips along its longer side: nearly all of the box around a long slanted line is empty.
        along = int(abs(end[1] - start[1]) > abs(end[0] - start[0]))
        low, high = sorted((start[along], end[along]))
        slope = (end[1 - along] - start[1 - along]) / (end[along] - start[along])
        margin = width + 1
        stop = min(math.ceil(high + margin), self.size[along])
        for first in range(max(math.floor(low - margin), 0), stop, _STRIP):
            last = min(first + _STRIP, stop)
            sides = [start[1 - along] + slope * (min(max(k, low), high) - start[along]) for k in (first, last)]
            near, far = min(sides) - margin, max(sides) + margin
            left, top, right, bottom = (near, first, far, last) if along else (first, near, last, far)
            self._paint(left, top, right, bottom, colour, inside)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """A filled convex polygon."""
        if _near(*(number for point in points for number in point)):
            xs, ys = zip(*points, strict=True)
            self._paint(min(xs) - 1, min(ys) - 1, max(xs) + 1, max(ys) + 1, colour, shapes.polygon(points))

    def arrow(self, tip: Point, direction: Point, size: float, colour: Colour) -> None:
        """A triangle of `size` whose tip points along `direction` (in pixels, not zero)."""
        long = math.hypot(*direction)
        ux, uy = direction[0] / long, direction[1] / long
        x, y = tip[0] - ux * size, tip[1] - uy * size
        half = size * 0.6
        self.polygon([tip, (x - uy * half, y + ux * half), (x + uy * half, y - ux * half)], colour)

    def text(
        self, words: str, place: Point, size: int, colour: Colour, across: float = 0.0, down: float = 0.5
    ) -> float:
        """Write one line in letters of `size` pixels; returns its width in pixels.

        `place` is the point of the written box that lies `across` (0 left, 1 right) and `down` (0 top, 1 bottom) in it.
        """
        key = ("text", words, size, tuple(colour))
        picture = self._kept.get(key)
        if picture is None:
            picture = self._keep(key, self._letters(words, size, colour))
        width, height = picture.get_size()
        self._target().blit(picture, (round(place[0] - across * width), round(place[1] - down * height)))
        return float(width)

    # Results ----------------------------------------------------------------------------------------------------------

    def frame(self) -> np.ndarray:
        """The picture, uint8[height, width, 3]: a new array at every call."""
        pixels = pygame.surfarray.pixels3d(self._target())
        frame = np.empty((self.size[1], self.size[0], 3), np.uint8)
        for channel in range(3):  # five times as fast as one copy of the whole, whose bytes stand in another order
            frame[..., channel] = pixels[..., channel].T
        return frame

    def show(self, fps: float) -> None:
        """Show the picture in a window, then wait so that calls come at most `fps` times a second.

        Once the user has closed the window this does nothing, until `close`.
        """
        if self._dismissed:
            return
        self._open_window()
        _close_what_the_user_closed()
        if self._window is None:
            return
        self._window.get_surface().blit(self._target(), (0, 0))
        self._window.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Free the window and the picture. Twice is the same as once; drawing again opens again."""
        self._close_window()
        self._dismissed = False
        self._surface = None
        self._backdrops.clear()
        self._kept.clear()
        self._kept_bytes = 0
        self._fonts.clear()

    # ------------------------------------------------------------------------------------------------------------------

    def _target(self) -> pygame.Surface:
        if self._surface is None:
            self.fill((255, 255, 255))
        assert self._surface is not None
        return self._surface

    def _open_window(self) -> None:
        """Make sure that `_window` lives. Its surface is never held: after another library has ended and begun the
        display, the old window reports an error, but its old surface crashes the process."""
        if not pygame.display.get_init():
            pygame.display.init()
        if self._window is not None:
            try:
                self._window.get_surface()
                return
            except pygame.error:
                self._window = None
        self._window = pygame.Window(self.title, self.size)
        Canvas._shown.add(self)
        if pygame.display.get_driver() == "offscreen" and not os.environ.get("SDL_VIDEODRIVER"):
            warnings.warn(
                "there is no display: the window is invisible (render_mode='rgb_array' gives frames)", stacklevel=4
            )

    def _close_window(self) -> None:
        if self._window is not None:
            self._window.destroy()
        self._window = None
        Canvas._shown.discard(self)

    def _letters(self, words: str, size: int, colour: Colour) -> pygame.Surface:
        if not pygame.font.get_init():
            pygame.font.init()
        try:
            picture = self._font(size).render(words, True, tuple(colour[:3]))
        except pygame.error:  # another library has ended pygame's fonts: those from before are dead
            self._fonts.clear()
            picture = self._font(size).render(words, True, tuple(colour[:3]))
        width, height = picture.get_size()
        picture = pygame.transform.smoothscale(picture, (math.ceil(width / _FINER), math.ceil(height / _FINER)))
        if len(colour) == 4:
            picture.set_alpha(colour[3])
        return picture

    def _font(self, size: int) -> pygame.font.Font:
        if size not in self._fonts:
            self._fonts[size] = pygame.font.Font(None, size * _FINER)  # the one that comes with pygame
        return self._fonts[size]

    def _stamp(self, key: tuple, centre: Point, reach: Point, colour: Colour, inside: Inside) -> None:
        """Draw a shape that lies within `reach` of `centre`, from its kept picture where there is one."""
        (x, y), (reach_x, reach_y), (width, height) = centre, reach, self.size
        if not (_near(x, y, reach_x, reach_y) and -reach_x < x < width + reach_x and -reach_y < y < height + reach_y):
            return
        if max(reach) > max(self.size):  # its picture would be larger than what is seen of it
            self._paint(0, 0, width, height, colour, lambda px, py: inside(px - x, py - y))
            return
        half_x, half_y = math.ceil(reach_x) + 1, math.ceil(reach_y) + 1
        key = (*key, *colour)
        picture = self._kept.get(key)
        if picture is None:
            dx, dy = np.arange(-half_x, half_x)[:, None] + 0.5, np.arange(-half_y, half_y)[None, :] + 0.5
            picture = self._keep(key, _picture(inside(dx, dy), colour))
        self._target().blit(picture, (round(x) - half_x, round(y) - half_y))

    def _paint(self, left: float, top: float, right: float, bottom: float, colour: Colour, inside: Inside) -> None:
        """Draw what of a shape lies in a box, without keeping a picture."""
        x0, x1 = max(math.floor(left), 0), min(math.ceil(right), self.size[0])
        y0, y1 = max(math.floor(top), 0), min(math.ceil(bottom), self.size[1])
        if x0 < x1 and y0 < y1:
            depth = inside(np.arange(x0, x1)[:, None] + 0.5, np.arange(y0, y1)[None, :] + 0.5)
            self._target().blit(_picture(depth, colour), (x0, y0))

    def _keep(self, key: tuple, picture: pygame.Surface) -> pygame.Surface:
        size = 4 * picture.get_width() * picture.get_height()
        if self._kept_bytes + size > _KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept[key] = picture
        self._kept_bytes += size
        return picture


def _near(*numbers: float) -> bool:
    """Whether all are finite and not absurdly far away."""
    return all(abs(number) < _FAR for number in numbers)


def _picture(inside: np.ndarray, colour: Colour) -> pygame.Surface:
    """One colour, as opaque as each pixel is covered: half where the edge runs through its middle."""
    opacity = colour[3] if len(colour) == 4 else 255
    picture = pygame.Surface(inside.shape, pygame.SRCALPHA, 32)
    picture.fill((*colour[:3], 0))
    pygame.surfarray.pixels_alpha(picture)[:] = np.clip(inside + 0.5, 0.0, 1.0) * opacity + 0.5
    return picture


def _close_what_the_user_closed() -> None:
    """Let the windows live, and close those whose cross was clicked: the environment goes on without."""
    for event in pygame.event.get(exclude=_FOR_PLAYERS):
        for canvas in list(Canvas._shown):
            if event.type == pygame.QUIT or (event.type == pygame.WINDOWCLOSE and event.window is canvas._window):
                canvas._close_window()
                canvas._dismissed = True
