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

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
import pygame  # noqa: E402  (the line above must come first: pygame greets on standard output)

Colour = Sequence[int]
Point = Sequence[float]

_FAR = 1e6  # pixels; a shape with a point beyond is not drawn, so that no state, however wild, breaks a picture
_SPRITE_BYTES = 32 * 2**20  # pictures of shapes kept for the next frame
# What a player types or clicks stays in pygame's queue for whoever plays by hand; the rest would fill it up.
_FOR_PLAYERS = (pygame.KEYDOWN, pygame.KEYUP, pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP)


class Canvas:
    """A picture of `size = (width, height)` pixels. Open at the first drawing, closed by `close`, open again after."""

    _shown: "weakref.WeakSet[Canvas]" = weakref.WeakSet()  # pygame has one event queue for the windows of all

    def __init__(self, size: tuple[int, int] = (700, 700), title: str = "mpe_ext"):
        self.size = size
        self.title = title
        self._surface: pygame.Surface | None = None
        self._sprites: dict[tuple, pygame.Surface] = {}
        self._sprite_bytes = 0
        self._fonts: dict[int, pygame.font.Font] = {}
        self._window: pygame.Window | None = None
        self._dismissed = False  # the user closed the window: no new one until `close`
        self._clock = pygame.time.Clock()
        self.look()

    def __reduce__(self):
        return Canvas, (self.size, self.title)  # a copied or unpickled environment draws on a canvas of its own

    # -- camera --------------------------------------------------------------------------------------------------------

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

    # -- primitives ----------------------------------------------------------------------------------------------------

    def fill(self, colour: Colour) -> None:
        """Begin a picture: one colour everywhere."""
        if self._surface is None:
            self._surface = pygame.Surface(self.size, depth=32)
        self._surface.fill(tuple(colour[:3]))

    def rectangle(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """A filled rectangle, on whole pixels."""
        if not _near(left, top, right, bottom):
            return
        box = pygame.Rect(round(left), round(top), round(right) - round(left), round(bottom) - round(top))
        box = box.clip(self._target().get_rect())
        if len(colour) == 3 or colour[3] == 255:
            self._target().fill(tuple(colour[:3]), box)
        elif box.size > (0, 0):
            veil = pygame.Surface(box.size, pygame.SRCALPHA, 32)
            veil.fill(tuple(colour))
            self._target().blit(veil, box.topleft)

    def panel(self, left: float, top: float, right: float, bottom: float, colour: Colour, corner: float = 8.0) -> None:
        """A filled rectangle with round corners."""
        width, height = round(right - left), round(bottom - top)
        if width < 1 or height < 1 or not _near(left, top, right, bottom):
            return

        def cover(x, y):
            dx = np.maximum(np.abs(x) - (width / 2 - corner), 0.0)
            dy = np.maximum(np.abs(y) - (height / 2 - corner), 0.0)
            return corner - np.hypot(dx, dy)

        self._sprite(("panel", width, height, corner), (left + right) / 2, (top + bottom) / 2, width, height, colour, cover)

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """A filled circle."""
        self._round(("disc",), centre, radius, colour, lambda distance, x, y: radius - distance)

    def ring(self, centre: Point, radius: float, colour: Colour, width: float = 2.0, dashes: int = 0) -> None:
        """A circle line whose middle has `radius`; with `dashes`, that many strokes with gaps of the same length."""

        def cover(distance, x, y):
            inside = width / 2 - np.abs(distance - radius)
            if dashes:
                turn = (np.arctan2(y, x) * (dashes / (2 * math.pi))) % 1.0
                gap = (0.25 - np.abs(turn - 0.5)) * (2 * math.pi * radius / dashes)
                inside = np.minimum(inside, gap)
            return inside

        self._round(("ring", width, dashes), centre, radius + width / 2, colour, cover)

    def glow(self, centre: Point, radius: float, colour: Colour) -> None:
        """A spot of light that fades out towards `radius`."""

        def cover(distance, x, y):
            fade = np.clip(1.0 - distance / radius, 0.0, 1.0)
            return fade * fade * (3.0 - 2.0 * fade) - 0.5  # a smooth step; coverage adds the half again

        self._round(("glow",), centre, radius, colour, cover)

    def line(self, start: Point, end: Point, colour: Colour, width: float = 2.0, dash: float = 0.0) -> None:
        """A straight line with round ends; with `dash`, strokes of that length and gaps as long."""
        (ax, ay), (bx, by) = start, end
        if not _near(ax, ay, bx, by):
            return
        along_x, along_y = bx - ax, by - ay
        long = math.hypot(along_x, along_y)
        if long < 1e-6:
            return
        ux, uy = along_x / long, along_y / long

        def cover(x, y):
            along = (x - ax) * ux + (y - ay) * uy
            beyond = along - np.clip(along, 0.0, long)
            inside = width / 2 - np.hypot((x - ax) * uy - (y - ay) * ux, beyond)
            if dash:
                inside = np.minimum(inside, dash / 2 - np.abs(along % (2 * dash) - dash / 2))
            return inside

        margin = width / 2 + 1
        self._paint(min(ax, bx) - margin, min(ay, by) - margin, max(ax, bx) + margin, max(ay, by) + margin, colour, cover)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """A filled convex polygon, its corners in either turning direction."""
        if not _near(*(number for point in points for number in point)):
            return
        corners = np.asarray(points, dtype=np.float64)
        edges = np.roll(corners, -1, axis=0) - corners
        area = float(np.sum(corners[:, 0] * np.roll(corners[:, 1], -1) - np.roll(corners[:, 0], -1) * corners[:, 1]))
        normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) * math.copysign(1.0, area)
        lengths = np.hypot(normals[:, 0], normals[:, 1])

        def cover(x, y):
            inside = np.float64(_FAR)
            for (cx, cy), (nx, ny), long in zip(corners, normals, lengths, strict=True):
                if long > 0:
                    inside = np.minimum(inside, ((x - cx) * nx + (y - cy) * ny) / long)
            return inside

        low, high = corners.min(axis=0) - 1, corners.max(axis=0) + 1
        self._paint(low[0], low[1], high[0], high[1], colour, cover)

    def arrow(self, tip: Point, direction: Point, size: float, colour: Colour) -> None:
        """A triangle of `size` whose tip points along `direction` (in pixels, not zero)."""
        long = math.hypot(*direction)
        ux, uy = direction[0] / long, direction[1] / long
        x, y = tip[0] - ux * size, tip[1] - uy * size
        half = size * 0.6
        self.polygon([tip, (x - uy * half, y + ux * half), (x + uy * half, y - ux * half)], colour)

    def cross(self, centre: Point, radius: float, colour: Colour, width: float = 2.0) -> None:
        """A diagonal cross within `radius`."""
        reach = radius / math.sqrt(2)

        def cover(distance, x, y):
            one = np.hypot((x - y) / math.sqrt(2), np.maximum(np.abs(x + y) / math.sqrt(2) - reach * math.sqrt(2), 0))
            two = np.hypot((x + y) / math.sqrt(2), np.maximum(np.abs(x - y) / math.sqrt(2) - reach * math.sqrt(2), 0))
            return width / 2 - np.minimum(one, two)

        self._round(("cross", width), centre, radius + width, colour, cover)

    def bar(
        self, left: float, top: float, right: float, bottom: float, part: float, colour: Colour, ground: Colour
    ) -> None:
        """A horizontal bar on `ground`, filled from the left up to `part` (0 to 1)."""
        self.panel(left, top, right, bottom, ground, (bottom - top) / 2)
        filled = left + (right - left) * min(max(part, 0.0), 1.0)
        if filled - left >= bottom - top:
            self.panel(left, top, filled, bottom, colour, (bottom - top) / 2)

    def text(
        self, words: str, place: Point, size: int, colour: Colour, across: float = 0.0, down: float = 0.5
    ) -> float:
        """Write one line in letters of `size` pixels. `place` is the point of the written box that lies `across` (0 left,
        1 right) and `down` (0 top, 1 bottom) in it. Returns the width in pixels."""
        key = ("text", words, size, tuple(colour))
        picture = self._sprites.get(key)
        if picture is None:
            picture = self._letters(words, size, colour)
            self._keep(key, picture)
        width, height = picture.get_size()
        self._target().blit(picture, (round(place[0] - across * width), round(place[1] - down * height)))
        return float(width)

    # -- results -------------------------------------------------------------------------------------------------------

    def frame(self) -> np.ndarray:
        """The picture, uint8 `[height, width, 3]`: a new array at every call."""
        pixels = pygame.image.tobytes(self._target(), "RGB")
        return np.frombuffer(bytearray(pixels), dtype=np.uint8).reshape(self.size[1], self.size[0], 3)

    def show(self, fps: float) -> None:
        """Show the picture in a window, and wait so that calls come at most `fps` times a second.

        Once the user has closed the window this does nothing, until `close`.
        """
        if self._dismissed:
            return
        if not pygame.display.get_init():
            pygame.display.init()
        screen = self._screen()
        _close_what_the_user_closed()
        if self._dismissed:
            return
        screen.blit(self._target(), (0, 0))
        if self._window is not None:
            self._window.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Free the window and the picture. Twice is the same as once; drawing again opens again."""
        if self._window is not None:
            self._window.destroy()
        Canvas._shown.discard(self)
        self._window = None
        self._dismissed = False
        self._surface = None
        self._sprites.clear()
        self._sprite_bytes = 0
        self._fonts.clear()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _target(self) -> pygame.Surface:
        if self._surface is None:
            self.fill((255, 255, 255))
            assert self._surface is not None
        return self._surface

    def _screen(self) -> pygame.Surface:
        """The window's surface, fetched anew each time: one kept while another library ends the display is a crash."""
        if self._window is not None:
            try:
                return self._window.get_surface()
            except pygame.error:
                pass
        self._window = pygame.Window(self.title, self.size)
        Canvas._shown.add(self)
        if pygame.display.get_driver() == "offscreen" and not os.environ.get("SDL_VIDEODRIVER"):
            warnings.warn(
                "render_mode='human' found no display, its window is invisible; 'rgb_array' gives the frames",
                stacklevel=2,
            )
        return self._window.get_surface()

    def _letters(self, words: str, size: int, colour: Colour) -> pygame.Surface:
        if not pygame.font.get_init():
            pygame.font.init()
        for again in (True, False):
            try:
                if size not in self._fonts:
                    self._fonts[size] = pygame.font.Font(None, size)
                picture = self._fonts[size].render(words, True, tuple(colour[:3]))
                break
            except pygame.error:  # another library ended the font part of pygame, and began it again
                if not again:
                    raise
                self._fonts.clear()
        if len(colour) == 4:
            picture.set_alpha(colour[3])
        return picture

    def _round(self, key: tuple, centre: Point, radius: float, colour: Colour, cover: Callable) -> None:
        """Draw a shape within `radius` of `centre`; `cover(distance, x, y)` as for `_sprite`."""
        x, y = centre
        width, height = self.size
        if not (_near(x, y, radius) and -radius < x < width + radius and -radius < y < height + radius):
            return

        def covered(dx, dy):
            return cover(np.hypot(dx, dy), dx, dy)

        if radius > max(self.size):  # larger than what is seen of it
            self._paint(0, 0, width, height, colour, lambda px, py: covered(px - x, py - y))
        else:
            self._sprite((*key, radius), x, y, 2 * radius, 2 * radius, colour, covered)

    def _sprite(
        self, key: tuple, x: float, y: float, width: float, height: float, colour: Colour, cover: Callable
    ) -> None:
        """Draw a shape around `(x, y)`, from a kept picture where there is one. `cover(dx, dy)` says how many pixels a
        place lies inside the shape, negative outside."""
        key = (*key, tuple(colour))
        picture = self._sprites.get(key)
        half_x, half_y = math.ceil(width / 2) + 1, math.ceil(height / 2) + 1
        # A shape of odd width is sharp around the middle of a pixel, one of even width between two.
        odd_x, odd_y = (round(width) % 2) / 2, (round(height) % 2) / 2
        if picture is None:
            dx = np.arange(-half_x, half_x + 1)[:, None] + (0.5 - odd_x)
            dy = np.arange(-half_y, half_y + 1)[None, :] + (0.5 - odd_y)
            picture = _picture(cover(dx, dy), colour)
            self._keep(key, picture)
        self._target().blit(picture, (round(x - odd_x) - half_x, round(y - odd_y) - half_y))

    def _paint(self, left: float, top: float, right: float, bottom: float, colour: Colour, cover: Callable) -> None:
        """Draw a shape that is not worth keeping; `cover(x, y)` in pixels of the picture."""
        x0, x1 = max(math.floor(left), 0), min(math.ceil(right), self.size[0])
        y0, y1 = max(math.floor(top), 0), min(math.ceil(bottom), self.size[1])
        if x0 >= x1 or y0 >= y1:
            return
        inside = cover(np.arange(x0, x1)[:, None] + 0.5, np.arange(y0, y1)[None, :] + 0.5)
        self._target().blit(_picture(inside, colour), (x0, y0))

    def _keep(self, key: tuple, picture: pygame.Surface) -> None:
        size = 4 * picture.get_width() * picture.get_height()
        if self._sprite_bytes + size > _SPRITE_BYTES:
            self._sprites.clear()
            self._sprite_bytes = 0
        self._sprites[key] = picture
        self._sprite_bytes += size


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
            if event.type == pygame.QUIT or (
                event.type == pygame.WINDOWCLOSE and event.window is canvas._window
            ):
                canvas.close()
                canvas._dismissed = True
