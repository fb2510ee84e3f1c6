"""How a kitchen looks: tiles, items, agents with what they hold, and beside them the program with its pointers."""

import math
from typing import TYPE_CHECKING

from mpe_ext.engine.palette import BAD, BAR, BORDER, FAINT, FIRST, GOOD, GROUND, INK, MARK, PAPER, SECOND
from mpe_ext.engine.shared import Shared
from mpe_ext.overcooked_v2 import rules
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program.kernels import RESTING
from mpe_ext.overcooked_v2.program.syntax import lines

if TYPE_CHECKING:
    from mpe_ext.engine.canvas import Canvas
    from mpe_ext.overcooked_v2.game import OvercookedV2

LEFT, TOP, CELL = 20, 78, 64
RIGHT = LEFT + 8 * CELL
TEXT, EDGE = RIGHT + 24, 982  # of the program
LOWEST = TOP + 8 * CELL
COLOURS = (FIRST, SECOND, (0, 140, 105), (150, 80, 160))  # of the agents
FLOOR, COUNTER, COUNTER_EDGE = (251, 248, 242), (203, 176, 140), (176, 147, 110)
TOMATO, TOMATO_DARK, LEAF = (214, 60, 48), (160, 34, 26), (70, 140, 60)
ONION, ONION_DARK = (240, 214, 140), (168, 124, 44)
PLATE_EDGE, DIRT, STEEL, WATER = (120, 124, 134), (124, 88, 50), (150, 156, 166), (120, 178, 214)
FLAME, FLAME_INSIDE, GOLD = (232, 92, 20), (252, 200, 60), (226, 168, 20)
_STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))


def draw(canvas: "Canvas", game: "OvercookedV2", shared: Shared, state: rules.State, w: int) -> None:
    """Draw world w on the canvas."""
    canvas.fill(GROUND)
    _head(canvas, game, shared, state, w)
    for cell in range(64):
        _tile(canvas, game, state, w, cell)
    for cell in range(64):
        if int(state.fire[w]) >> cell & 1:
            _fire(canvas, _middle(cell))
    for a in range(len(game.agents)):
        _agent(canvas, game, state, w, a)
    _program(canvas, game, state, w)
    _events(canvas, game, state, w)


def _middle(cell: int) -> tuple[float, float]:
    return LEFT + (cell % 8 + 0.5) * CELL, TOP + (cell // 8 + 0.5) * CELL


def _head(canvas: "Canvas", game: "OvercookedV2", shared: Shared, state: rules.State, w: int) -> None:
    """Title, open orders, time and reward so far."""
    canvas.text("Overcooked-v2", (LEFT, 30), 30, INK)
    x = LEFT + canvas.text("orders", (LEFT, 60), 20, FAINT) + 18
    for k, dish in enumerate(t.DISHES):
        for _ in range(int(state.orders[w, k])):
            _item(canvas, (x, 60), 11, dish)
            x += 28
    if not state.orders[w].any():
        canvas.text("none", (x - 8, 60), 20, FAINT)
    canvas.text(f"step {int(shared.steps[w])}", (RIGHT, 30), 24, FAINT, across=1.0)
    reward = float(shared.episode_return[w, 0]) if shared.steps[w] else 0.0
    canvas.text(f"reward so far {reward:.1f}", (RIGHT, 60), 20, FAINT, across=1.0)


# The kitchen ------------------------------------------------------------------------------------------------------


def _tile(canvas: "Canvas", game: "OvercookedV2", state: rules.State, w: int, cell: int) -> None:
    x, y = _middle(cell)
    half = CELL / 2
    terrain = int(state.terrain[w, cell])
    ground = FLOOR if terrain == t.FLOOR else COUNTER
    edge = BAR if terrain == t.FLOOR else COUNTER_EDGE
    canvas.rectangle(x - half, y - half, x + half, y + half, edge)
    canvas.rectangle(x - half + 1, y - half + 1, x + half - 1, y + half - 1, ground)
    if terrain == t.BOARD:
        canvas.panel(x - 22, y - 14, x + 22, y + 14, (238, 224, 196), 5)
        canvas.line((x - 12, y + 6), (x + 4, y - 6), STEEL, 5.0)
        canvas.line((x + 5, y - 7), (x + 13, y - 12), INK, 5.0)
    elif terrain == t.STAR:
        canvas.panel(x - 26, y - 26, x + 26, y + 26, (96, 100, 112), 6)
        _star(canvas, (x, y), 20)
    elif terrain == t.SINK:
        canvas.panel(x - 25, y - 22, x + 25, y + 22, STEEL, 6)
        canvas.panel(x - 20, y - 16, x + 20, y + 17, WATER, 5)
        canvas.line((x, y - 24), (x, y - 8), INK, 4.0)
    elif terrain in (t.TOMATO_SUPPLY, t.ONION_SUPPLY):
        canvas.panel(x - 27, y - 27, x + 27, y + 27, (132, 94, 58), 4)
        canvas.panel(x - 23, y - 23, x + 23, y + 23, (92, 64, 40), 3)
        fresh = t.FRESH_TOMATO if terrain == t.TOMATO_SUPPLY else t.FRESH_ONION
        for dx, dy in ((-10, -9), (10, -9), (-10, 11), (10, 11)):
            _item(canvas, (x + dx, y + dy), 9, fresh)
    elif terrain == t.BIN:
        canvas.panel(x - 20, y - 22, x + 20, y + 24, (70, 74, 84), 6)
        canvas.line((x - 20, y - 16), (x + 20, y - 16), STEEL, 4.0)
    item = int(state.item[w, cell])
    if item:
        _item(canvas, (x, y), 17, item)
        _progress(canvas, game, (x, y - 26), item, int(state.progress[w, cell]))


def _star(canvas: "Canvas", centre: tuple[float, float], radius: float) -> None:
    points = []
    for k in range(10):
        angle, reach = math.pi * k / 5 - math.pi / 2, radius if k % 2 == 0 else radius * 0.42
        points.append((centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle)))
    for k in range(0, 10, 2):
        canvas.polygon([centre, points[k - 1], points[k], points[(k + 1) % 10]], GOLD)
    canvas.disc(centre, radius * 0.4, GOLD)


def _fire(canvas: "Canvas", centre: tuple[float, float]) -> None:
    x, y = centre
    canvas.glow(centre, 38, (*FLAME, 150))
    for colour, size in ((FLAME, 1.0), (FLAME_INSIDE, 0.55)):
        low = y + 20
        for dx, tall in ((-10, 28), (10, 30), (0, 42)):
            half = 11 * size
            canvas.polygon(
                [(x + dx * size, low - tall * size), (x + dx * size + half, low), (x + dx * size - half, low)], colour
            )


def _item(canvas: "Canvas", centre: tuple[float, float], radius: float, item: int) -> None:
    """An item; dishes show what lies on the plate."""
    x, y = centre
    parts = t.PARTS[item]
    if item == t.EXTINGUISHER:
        canvas.panel(x - radius * 0.45, y - radius * 0.5, x + radius * 0.45, y + radius, BAD, 4)
        canvas.line((x, y - radius * 0.5), (x, y - radius * 0.85), INK, radius * 0.3)
        canvas.line((x, y - radius * 0.8), (x + radius * 0.6, y - radius * 0.5), INK, radius * 0.2)
        return
    if item in (t.FRESH_TOMATO, t.FRESH_ONION):
        tomato = item == t.FRESH_TOMATO
        canvas.disc(centre, radius * 0.85, TOMATO_DARK if tomato else ONION_DARK)
        canvas.disc(centre, radius * 0.72, TOMATO if tomato else ONION)
        if tomato:
            canvas.line(
                (x - radius * 0.3, y - radius * 0.62), (x + radius * 0.3, y - radius * 0.62), LEAF, radius * 0.3
            )
        else:
            canvas.ring(centre, radius * 0.4, ONION_DARK, max(1.0, radius * 0.1))
            canvas.line((x, y - radius * 0.8), (x, y - radius * 1.05), ONION_DARK, radius * 0.2)
        return
    plate = bool(parts & {"Plate", "DirtyPlate"})
    if plate:
        canvas.disc(centre, radius, PLATE_EDGE)
        canvas.disc(centre, radius * 0.9, PAPER)
        canvas.ring(centre, radius * 0.62, BORDER, 1.0)
    if item == t.DIRTY_PLATE:
        for dx, dy, size in ((-0.3, -0.2, 0.3), (0.3, 0.1, 0.24), (-0.05, 0.4, 0.2)):
            canvas.disc((x + dx * radius, y + dy * radius), size * radius, DIRT)
    chopped = [name for name in ("ChoppedTomato", "ChoppedOnion") if name in parts]
    for k, name in enumerate(chopped):
        shift = 0.0 if len(chopped) == 1 else (-0.36, 0.36)[k] * radius
        dark, light = (TOMATO_DARK, TOMATO) if name == "ChoppedTomato" else (ONION_DARK, ONION)
        scale = radius * (0.62 if plate else 0.95) * (1.0 if len(chopped) == 1 else 0.8)
        for dx, dy in ((-0.42, 0.3), (0.42, 0.3), (0.0, -0.42)):
            place = (x + shift + dx * scale, y + dy * scale)
            canvas.disc(place, scale * 0.42, dark)
            canvas.disc(place, scale * 0.3, light)


def _progress(canvas: "Canvas", game: "OvercookedV2", centre: tuple[float, float], item: int, progress: int) -> None:
    if progress:
        needed = game.params.t_wash if item == t.DIRTY_PLATE else game.params.t_chop
        x, y = centre
        canvas.bar(x - 20, y - 3, x + 20, y + 3, progress / needed, GOOD, BAR)


def _agent(canvas: "Canvas", game: "OvercookedV2", state: rules.State, w: int, a: int) -> None:
    """A disc with its number, a triangle towards where it has acted, what it holds, and its latest operation."""
    x, y = _middle(int(state.cell[w, a]))
    colour, action = COLOURS[a], int(state.action[w, a])
    if action >= 0:
        dx, dy = _STEPS[action % 4]
        canvas.arrow((x + dx * 31, y + dy * 31), (dx, dy), 13, colour)
    canvas.disc((x, y), 22, PAPER)
    canvas.disc((x, y), 20, colour)
    held = int(state.hand[w, a])
    canvas.text(str(a), (x - (9 if held else 0), y - (8 if held else 0)), 24, PAPER, across=0.5)
    if held:
        canvas.disc((x + 9, y + 9), 17, colour)
        canvas.disc((x + 9, y + 9), 15.5, PAPER)
        _item(canvas, (x + 9, y + 9), 12, held)
        _progress(canvas, game, (x, y - 26), held, int(state.hand_progress[w, a]))


# The program ------------------------------------------------------------------------------------------------------


def _program(canvas: "Canvas", game: "OvercookedV2", state: rules.State, w: int) -> None:
    """The program's text; lines that pointers rest on are marked, with the agents who serve them."""
    tables = game.tables
    resting: dict[int, list[int]] = {}
    for slot in range(state.mode.shape[1]):
        if state.mode[w, slot] == RESTING:
            resting.setdefault(int(tables.b[state.place[w, slot]]), []).append(int(state.pid[w, slot]))
    text = list(lines(game.program))
    height = min(22.0, (LOWEST - TOP) / len(text))
    size = max(11, round(height * 0.92))
    longest = max(len(line) for line, _ in text)
    size = min(size, int((EDGE - TEXT - 20) / longest / 0.40))
    status = t.STATUSES[int(state.status[w, 0])]
    canvas.text("program", (TEXT, 60), 20, FAINT)
    colour = {"completed": GOOD, "running": FAINT}.get(status, BAD)
    canvas.text(status, (EDGE, 60), 22, colour, across=1.0)
    for number, (line, do) in enumerate(text):
        y = TOP + (number + 0.5) * height
        pointers = resting.get(do, []) if do is not None else []
        if pointers and status == "running":
            canvas.panel(TEXT - 6, y - height / 2 + 1, EDGE, y + height / 2 - 1, MARK, 4)
            canvas.arrow((TEXT + 6, y), (1, 0), min(10.0, height * 0.5), GOOD)
        words = line.lstrip()
        indent = (len(line) - len(words)) * size * 0.24
        canvas.text(words, (TEXT + 12 + indent, y), size, INK if pointers else FAINT)
        serving = [a for a in range(len(game.agents)) if int(state.told[w, a]) in pointers]
        for k, a in enumerate(serving):
            radius = min(9.0, height * 0.42)
            canvas.disc((EDGE - 12 - k * 20, y), radius, COLOURS[a])
            canvas.text(str(a), (EDGE - 12 - k * 20, y), round(radius * 1.8), PAPER, across=0.5)


def _events(canvas: "Canvas", game: "OvercookedV2", state: rules.State, w: int) -> None:
    """What the latest step brought about."""
    x = float(LEFT)
    for event in game.events(state, w):
        colour = {"matched": GOOD, "ignored": FAINT, "violation": BAD}[event.outcome]
        a = game.agents.index(event.agent)
        canvas.disc((x + 9, LOWEST + 24), 9, COLOURS[a])
        canvas.text(str(a), (x + 9, LOWEST + 24), 17, PAPER, across=0.5)
        x += 24 + canvas.text(event.behaviour, (x + 24, LOWEST + 24), 20, colour) + 18
