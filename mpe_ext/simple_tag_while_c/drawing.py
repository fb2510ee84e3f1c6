"""How a world of tag-while-collecting looks. A function of the state alone: links, losses and contacts are computed
from positions when drawing, and the camera never moves, so that what stands still in the world stands still here.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from mpe_ext.engine.shared import Shared
from mpe_ext.simple_tag_while_c import rules

if TYPE_CHECKING:
    from mpe_ext.engine.canvas import Canvas
    from mpe_ext.simple_tag_while_c.game import SimpleTagWhileC

Colour = tuple[int, ...]

VIEW = 1.2  # the camera shows [-VIEW, VIEW] on both axes
PENALTY_FROM = 0.9  # here the controller's penalty for leaving the box begins

# Told apart by the colour-blind as well: dark red, light gold, middle green, blue (after Okabe, Ito and Tol).
ADVERSARY = (204, 51, 17)
CONTROLLER = (240, 178, 0)
COLLECTOR = (0, 148, 116)
LINK = (0, 105, 190)
FOOD = (58, 58, 66)
TAKEN = (170, 68, 153)
DOWN = (178, 180, 186)
INK = (44, 46, 54)
FAINT = (106, 110, 121)
OUTSIDE = (243, 244, 246)
BOX = (255, 255, 255)
BORDER = (196, 200, 208)

LETTERS = 22  # pixels; half of it must still be read in a picture of half the size
MARGIN = 29  # middle of the strips above and below the box


def draw(
    canvas: "Canvas", game: "SimpleTagWhileC", shared: Shared, state: rules.State, w: int, max_cycles: int
) -> None:
    """Draw world w on the canvas. Changes nothing else."""
    canvas.look((0.0, 0.0), VIEW)
    scene = _Scene(game, state, w)
    strict = scene.params.strict_mode is True
    canvas.backdrop(f"arena, {strict=}", lambda fresh: _arena(fresh, strict))
    _ranges(canvas, scene)
    _head(canvas, game, shared, w, max_cycles)
    _links(canvas, scene)
    _food(canvas, scene)
    _bodies(canvas, scene)
    _far_away(canvas, scene)


class _Scene:
    """What there is to see in world w."""

    def __init__(self, game: "SimpleTagWhileC", state: rules.State, w: int):
        p = self.params = game.params
        a, c, m = p.num_adversaries, p.num_controller, p.num_collector_each
        self.positions = state.pos[w]
        self.adversaries = range(a)
        self.controllers = range(a, a + c)
        self.collectors = range(a + c, a + c + c * m)
        self.father = {i: a + (i - a - c) // m for i in self.collectors}
        self.down = state.down[w] != rules.IN_PLAY
        self.collected = state.collected[w]
        self.food = state.food[w][state.food_active[w]]
        taken = int(state.marks_count[w])
        kept = range(max(taken - rules.MARKS, 0), taken)
        self.marks = [(taken - 1 - k, state.marks[w, k % rules.MARKS]) for k in kept]  # (age, place), oldest first

    def distance(self, i: int, k: int) -> float:
        return math.dist(self.positions[i], self.positions[k])

    def lost(self, collector: int) -> bool:
        return self.distance(collector, self.father[collector]) >= self.params.comm_radius

    def hit(self, controller: int) -> bool:
        reach = self.params.adversary_size + self.params.controller_size
        return any(self.distance(controller, a) < reach for a in self.adversaries)

    def size(self, i: int) -> float:
        p = self.params
        if i in self.collectors:
            return p.collector_size
        return p.controller_size if i in self.controllers else p.adversary_size

    def colour(self, i: int) -> Colour:
        if i in self.collectors:
            return DOWN if self.down[i] else COLLECTOR
        return CONTROLLER if i in self.controllers else ADVERSARY


def _arena(canvas: "Canvas", strict: bool) -> None:
    """What never changes: the box, where its penalty begins, the legend."""
    canvas.fill(OUTSIDE)
    left, top = canvas.pixel((-1, 1))
    right, bottom = canvas.pixel((1, -1))
    canvas.rectangle(left - 1, top - 1, right + 1, bottom + 1, BORDER)
    canvas.rectangle(left + 1, top + 1, right - 1, bottom - 1, BOX)
    corners = [canvas.pixel((x * PENALTY_FROM, y * PENALTY_FROM)) for x, y in ((-1, 1), (1, 1), (1, -1), (-1, -1))]
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        canvas.line(start, end, (*BORDER, 150), width=1.5, dash=5)
    _legend(canvas, strict)


def _ranges(canvas: "Canvas", scene: _Scene) -> None:
    p = scene.params
    for i in scene.collectors:
        if not scene.down[i]:
            canvas.ring(canvas.pixel(scene.positions[i]), canvas.length(p.detect_radius), (*COLLECTOR, 70), width=1.5)
    for i in scene.controllers:
        centre, radius = canvas.pixel(scene.positions[i]), canvas.length(p.comm_radius)
        canvas.disc(centre, radius, (*LINK, 9))
        canvas.ring(centre, radius, (*LINK, 120), width=2)


def _links(canvas: "Canvas", scene: _Scene) -> None:
    for i in scene.collectors:
        if scene.down[i]:
            continue
        ends = canvas.pixel(scene.positions[scene.father[i]]), canvas.pixel(scene.positions[i])
        if scene.lost(i):
            canvas.line(*ends, (*FAINT, 170), width=2, dash=6)
        else:
            canvas.line(*ends, LINK, width=3.5)


def _food(canvas: "Canvas", scene: _Scene) -> None:
    radius = max(canvas.length(scene.params.food_size), 3.0)
    for age, place in scene.marks:
        canvas.ring(canvas.pixel(place), radius, (*TAKEN, 210 - 12 * age), width=2)
    for place in scene.food:
        canvas.disc(canvas.pixel(place), radius, FOOD)


def _bodies(canvas: "Canvas", scene: _Scene) -> None:
    for i in scene.controllers:
        if scene.hit(i):
            centre = canvas.pixel(scene.positions[i])
            canvas.glow(centre, canvas.length(scene.size(i)) * 4.5, (*ADVERSARY, 230))
    for i in scene.collectors:
        if scene.collected[i]:
            canvas.glow(canvas.pixel(scene.positions[i]), canvas.length(scene.size(i)) * 4.5, (*TAKEN, 220))
    for i in (*scene.adversaries, *scene.controllers, *scene.collectors):
        centre, radius = canvas.pixel(scene.positions[i]), max(canvas.length(scene.size(i)), 4.0)
        _body(canvas, centre, radius, scene.colour(i))
        if i in scene.collectors:
            if scene.down[i]:
                _down_sign(canvas, centre, radius)
            elif scene.lost(i):
                _lost_sign(canvas, centre, radius)


def _body(canvas: "Canvas", centre: tuple[float, float], radius: float, colour: Colour) -> None:
    canvas.disc(centre, radius + 1.5, BOX)
    canvas.disc(centre, radius, _darker(colour))
    canvas.disc(centre, radius - 1.5, colour)


def _lost_sign(canvas: "Canvas", centre: tuple[float, float], radius: float) -> None:
    canvas.ring(centre, radius + 6, INK, width=2.5, dashes=6)


def _down_sign(canvas: "Canvas", centre: tuple[float, float], radius: float) -> None:
    canvas.cross(centre, radius * 0.6, INK, width=3)


def _far_away(canvas: "Canvas", scene: _Scene) -> None:
    """An arrow at the edge of the picture for each agent of which nothing is seen."""
    width, height = canvas.size
    for i in (*scene.adversaries, *scene.controllers, *scene.collectors):
        x, y = scene.positions[i]
        if max(abs(x), abs(y)) < VIEW + scene.size(i):
            continue
        px, py = canvas.pixel(np.clip(scene.positions[i], -10 * VIEW, 10 * VIEW))
        tip = min(max(px, 4), width - 4), min(max(py, 4), height - 4)
        canvas.arrow(tip, (px - tip[0], py - tip[1]), 22, scene.colour(i))


def _head(canvas: "Canvas", game: "SimpleTagWhileC", shared: Shared, w: int, max_cycles: int) -> None:
    """The strip above the box: who is who, returns so far, steps."""
    p = game.params
    steps = int(shared.steps[w])
    # Until the first step the engine's array still holds the returns of the episode before.
    returns = shared.episode_return[w] if steps else np.zeros(len(game.agents))
    first, second = p.num_adversaries, p.num_adversaries + p.num_controller
    roles = (
        ("adversary", "adversaries", ADVERSARY, 10, returns[:first]),
        ("controller", "controllers", CONTROLLER, 9, returns[first:second]),
        ("collector", "collectors", COLLECTOR, 7, returns[second:]),
    )
    x: float = 22
    for one, many, colour, radius, values in roles:
        if len(values):
            _body(canvas, (x, MARGIN), radius, colour)
            name = one if len(values) == 1 else many
            width = canvas.text(name, (x + 16, MARGIN), LETTERS, FAINT)
            canvas.text(_number(float(values.sum())), (x + 16 + width + 7, MARGIN), LETTERS, INK)
            x += width + 98
    canvas.text(f"step {steps}/{max_cycles}", (canvas.size[0] - 14, MARGIN), LETTERS, INK, across=1.0)


def _legend(canvas: "Canvas", strict: bool) -> None:
    """The strip below the box: what the signs mean."""
    y = canvas.size[1] - MARGIN
    x: float = 22

    def name(words: str, after: float) -> None:
        nonlocal x
        x += after
        x += canvas.text(words, (x, y), LETTERS, FAINT) + 30

    canvas.disc((x, y), 6, FOOD)
    name("food", 14)
    canvas.ring((x, y), 6, TAKEN, width=2)
    name("collected", 14)
    canvas.line((x - 6, y), (x + 18, y), LINK, width=3.5)
    name("linked", 28)
    _body(canvas, (x, y), 7, DOWN if strict else COLLECTOR)
    if strict:
        _down_sign(canvas, (x, y), 7)
        name("down", 14)
    else:
        _lost_sign(canvas, (x, y), 7)
        name("lost", 20)
    canvas.disc((x, y), 8, (*LINK, 12))
    canvas.ring((x, y), 8, (*LINK, 120), width=2)
    name("comm range", 16)
    canvas.ring((x, y), 8, (*COLLECTOR, 110), width=1.5)
    name("detection", 16)


def _darker(colour: Colour) -> Colour:
    return tuple(round(0.72 * part) for part in colour)


def _number(value: float) -> str:
    """A return with a true minus sign, and without digits after the point where there is no room for them."""
    digits = f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0f}"
    return digits.replace("-", "\N{MINUS SIGN}")
