"""How a world of ChefWorld looks: the recipe with its target, the assistant's belief, and who added what."""

import math
from typing import TYPE_CHECKING

import numpy as np

from mpe_ext.chefworld import rules
from mpe_ext.engine.palette import BAD, BAR, BORDER, FAINT, FIRST, GOOD, GROUND, INK, MARK, PAPER, SECOND
from mpe_ext.engine.shared import Shared

if TYPE_CHECKING:
    from mpe_ext.chefworld.game import ChefWorld
    from mpe_ext.engine.canvas import Canvas

NAMES, COLOURS = ("chef", "assistant"), (FIRST, SECOND)
# Kinds differ in shape and colour, and their number stands on them: eight of each are enough for all pairs.
KINDS = ((215, 120, 0), (60, 150, 210), (0, 140, 105), (190, 170, 20), (0, 95, 160), (195, 80, 20), (180, 100, 150),
         (120, 120, 128))  # fmt: skip
SIDES = (0, 4, 3, 4, 5, 3, 6, 8)  # of the shapes; 0 is a circle
TURNS = (0.0, 0.125, 0.25, 0.0, 0.25, 0.75, 0.0, 0.0625)  # a first corner's direction, in whole turns

LEFT, RIGHT = 20, 680
TOP, BOTTOM = 92, 480  # of the recipe
ITEMS, BELIEF = 130, 520  # where a dish's items begin, and the last column
WORK = 560  # middle of the workplace


def draw(
    canvas: "Canvas", game: "ChefWorld", shared: Shared, state: rules.State, w: int, belief: np.ndarray | None
) -> None:
    """Draw world w on the canvas; `belief` float64[K] is what the assistant thinks of each dish, if it says so."""
    belief = None if shared.done[w] else belief  # at the end everybody knows
    canvas.fill(GROUND)
    _head(canvas, shared, w, belief is not None)
    height = min((BOTTOM - TOP) / game.params.num_dishes, 72.0)
    for k in range(game.params.num_dishes):
        share = None if belief is None else float(belief[k])
        _dish(canvas, game, shared, state, w, k, TOP + k * height, height, share)
    _workplace(canvas, game, shared, state, w)
    _outcome(canvas, shared, state, w)


def _head(canvas: "Canvas", shared: Shared, w: int, believes: bool) -> None:
    canvas.text("ChefWorld", (LEFT, 34), 30, INK)
    canvas.text("Only the chef knows the target; both add ingredients in turns.", (LEFT, 64), 21, FAINT)
    canvas.text(f"move {int(shared.steps[w])}", (RIGHT, 34), 26, FAINT, across=1.0)
    canvas.text("assistant's belief" if believes else "", (BELIEF, 82), 19, SECOND)


def _dish(
    canvas: "Canvas",
    game: "ChefWorld",
    shared: Shared,
    state: rules.State,
    w: int,
    k: int,
    top: float,
    height: float,
    belief: float | None,
) -> None:
    """One row: name, items (those that the workplace holds already are underlined), belief."""
    dish, work = state.recipe[w, k].astype(int), state.work[w].astype(int)
    target, middle = k == state.target[w], top + height / 2
    over = bool(shared.done[w])
    possible = bool((dish >= work).all()) and (over or bool((dish != work).any()))
    edge = FIRST if target else BORDER
    canvas.panel(LEFT, top + 1, RIGHT, top + height - 1, edge, 7)
    canvas.panel(LEFT + 2, top + 3, RIGHT - 2, top + height - 3, MARK if target else PAPER, 6)
    letters = 22 if height > 40 else 17
    ink = INK if possible or target else FAINT
    canvas.text(f"dish {k}", (LEFT + 12, middle - (9 if target and height > 40 else 0)), letters, ink)
    if target:
        place = (LEFT + 12, middle + 11) if height > 40 else (LEFT + 58, middle)
        canvas.text("target", place, letters - (3 if height > 40 else 0), FIRST)
    width = min(50.0, (BELIEF - ITEMS) / game.params.max_items)
    radius = min(height * 0.36, width * 0.42)
    there, at = work.copy(), 0
    for j in np.flatnonzero(dish):
        for _ in range(dish[j]):
            x = ITEMS + (at + 0.5) * width
            _item(canvas, (x, middle - 1), radius, int(j), 255 if possible or target else 105)
            if there[j] > 0:
                canvas.rectangle(x - radius, top + height - 6, x + radius, top + height - 4, INK)
                there[j] -= 1
            at += 1
    if belief is not None:
        half = min(7.0, height * 0.2)
        canvas.bar(BELIEF, middle - half, RIGHT - 58, middle + half, belief, SECOND, BAR)
        canvas.text(f"{belief:.0%}", (RIGHT - 10, middle), letters - 2, SECOND, across=1.0)
    elif not possible:
        canvas.text("ruled out" if not over else "", (RIGHT - 12, middle), letters - 3, FAINT, across=1.0)


def _item(canvas: "Canvas", centre: tuple[float, float], radius: float, kind: int, opacity: int = 255) -> None:
    """An ingredient: a shape, a colour, and the number of its kind."""
    shape, colour = kind % 8, (*KINDS[(kind + kind // 8) % 8], opacity)
    if SIDES[shape]:
        reach = radius * (1.12 if SIDES[shape] < 5 else 1.05)
        directions = [2 * math.pi * (TURNS[shape] + i / SIDES[shape]) for i in range(SIDES[shape])]
        corners = [(centre[0] + reach * math.cos(a), centre[1] - reach * math.sin(a)) for a in directions]
        canvas.polygon(corners, colour)
    else:
        canvas.disc(centre, radius * 0.95, colour)
    # A triangle's middle lies where it is wide.
    down = {2: 0.18, 5: -0.18}.get(shape, 0.0) * radius
    canvas.text(str(kind), (centre[0], centre[1] + down), max(13, round(radius * 1.15)), (*PAPER, opacity), across=0.5)


def _workplace(canvas: "Canvas", game: "ChefWorld", shared: Shared, state: rules.State, w: int) -> None:
    """What was added, in order, each with who added it; empty places for what may follow."""
    places = game.params.max_items
    width = min(84.0, (RIGHT - LEFT - 110) / places)
    canvas.text("workplace", (LEFT, WORK - 8), 22, INK)
    for t in range(places):
        x = LEFT + 110 + (t + 0.5) * width
        half = width / 2 - 4
        canvas.panel(x - half, WORK - 36, x + half, WORK + 24, BORDER, 8)
        canvas.panel(x - half + 1.5, WORK - 34.5, x + half - 1.5, WORK + 22.5, PAPER, 7)
        if t >= shared.steps[w]:
            continue
        kind = int(state.moves[w, t])
        _item(canvas, (x, WORK - 6), min(20.0, half - 5), kind)
        canvas.text(NAMES[t % 2], (x, WORK + 40), 19, COLOURS[t % 2], across=0.5)
        if t == shared.steps[w] - 1 and state.work[w, kind] > state.recipe[w, state.target[w], kind]:
            canvas.cross((x, WORK - 6), min(24.0, half - 2), BAD, 4.0)


def _outcome(canvas: "Canvas", shared: Shared, state: rules.State, w: int) -> None:
    target, steps = int(state.target[w]), int(shared.steps[w])
    if not shared.done[w]:
        mover = steps % 2
        canvas.text(f"{NAMES[mover]} to move", (LEFT, 650), 26, COLOURS[mover])
        return
    kind = int(state.moves[w, steps - 1])
    needed = int(state.recipe[w, target, kind])
    if (state.work[w] == state.recipe[w, target]).all():
        canvas.text(f"won: dish {target} is complete", (LEFT, 650), 26, GOOD)
    elif needed == 0:
        canvas.text(f"lost: dish {target} needs no ingredient {kind}", (LEFT, 650), 26, BAD)
    elif state.work[w, kind] > needed:
        canvas.text(f"lost: dish {target} needs ingredient {kind} only {needed} x", (LEFT, 650), 26, BAD)
    else:
        canvas.text("cut by the time limit", (LEFT, 650), 26, BAD)
