"""How a game of meeting scheduling looks: both tables, the messages on a time line, the decision and its outcome."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mpe_ext.engine.palette import BAD, BAR, BORDER, FAINT, FIRST, GOOD, GROUND, INK, MARK, PAPER, SECOND
from mpe_ext.engine.shared import Shared
from mpe_ext.meeting_scheduling import rules

if TYPE_CHECKING:
    from mpe_ext.engine.canvas import Canvas
    from mpe_ext.meeting_scheduling.game import MeetingScheduling

COLOURS = (FIRST, SECOND)
LEFT, RIGHT = 20, 680
SLOTS = 190  # where the slots begin
TABLES = (104, 196)  # tops of the tables
TABLE, BELIEF = 38, 26  # heights of a table and of a belief
LINE, ROW, ROWS = 322, 34, 8  # the time line: top, height of a row, rows that are shown


def draw(
    canvas: "Canvas",
    game: "MeetingScheduling",
    shared: Shared,
    state: rules.State,
    w: int,
    beliefs: Mapping[str, np.ndarray],
) -> None:
    """Draw world w on the canvas; `beliefs` float64[D] says how probably each slot of the partner is occupied."""
    picture = _Picture(canvas, game, shared, state, w)
    picture.head()
    for i, agent in enumerate(game.agents):
        picture.table(i, beliefs.get(agent))
    picture.time_line()
    picture.outcome()


class _Picture:
    """World w on a canvas."""

    def __init__(self, canvas: "Canvas", game: "MeetingScheduling", shared: Shared, state: rules.State, w: int):
        self.canvas, self.game = canvas, game
        self.tables, self.over = state.table[w].tolist(), bool(shared.done[w])
        self.said = state.said[w, : int(shared.steps[w])].tolist()
        self.first, self.success = int(state.first[w]), int(state.success[w])
        self.width = (RIGHT - SLOTS) / game.params.num_slots

    def head(self) -> None:
        """Title, slots, and (behind everything) those that are free for both."""
        self.canvas.fill(GROUND)
        self.canvas.text("Meeting scheduling", (LEFT, 34), 30, INK)
        self.canvas.text(
            "Each sees the own table only; they look for a slot that both have free.", (LEFT, 62), 20, FAINT
        )
        self.canvas.text(f"action {len(self.said)}", (RIGHT, 34), 26, FAINT, across=1.0)
        for j in range(self.game.params.num_slots):
            if not (self.tables[0] | self.tables[1]) >> j & 1:
                left = SLOTS + j * self.width
                self.canvas.rectangle(left, TABLES[0] - 4, left + self.width, LINE + ROWS * ROW, MARK)
            self.canvas.text(str(j), (self._middle(j), 88), 20, FAINT, across=0.5)

    def table(self, i: int, belief: np.ndarray | None) -> None:
        """A table: occupied slots are filled. Below it what its owner believes of the other's."""
        top = TABLES[i]
        self.canvas.text(self.game.agents[i], (LEFT, top + TABLE / 2), 21, COLOURS[i])
        for j in range(self.game.params.num_slots):
            left, right = SLOTS + j * self.width + 2, SLOTS + (j + 1) * self.width - 2
            busy = self.tables[i] >> j & 1
            self.canvas.panel(left, top, right, top + TABLE, COLOURS[i] if busy else BORDER, 6)
            if not busy:
                self.canvas.panel(left + 1.5, top + 1.5, right - 1.5, top + TABLE - 1.5, PAPER, 5)
            elif self.width > 45:
                self.canvas.text("busy", ((left + right) / 2, top + TABLE / 2), 18, PAPER, across=0.5)
        if belief is None:
            return
        top += TABLE + 8
        self.canvas.text("believes other busy", (LEFT, top + BELIEF / 2), 18, COLOURS[i])
        for j, share in enumerate(belief):
            left, right = SLOTS + j * self.width + 6, SLOTS + (j + 1) * self.width - 6
            self.canvas.rectangle(left, top, right, top + BELIEF, BAR)
            self.canvas.rectangle(left, top + BELIEF * (1 - float(share)), right, top + BELIEF, COLOURS[1 - i])
            if self.width > 45:
                self.canvas.text(
                    f"{share:.0%}",
                    ((left + right) / 2, top + BELIEF / 2),
                    16,
                    PAPER if share > 0.55 else INK,
                    across=0.5,
                )

    def time_line(self) -> None:
        """The latest actions, one row each: who, what, and where on the day."""
        self.canvas.text("what was said", (LEFT, LINE - 18), 20, INK)
        self.canvas.rectangle(LEFT, LINE - 4, RIGHT, LINE - 3, BORDER)
        hidden = max(0, len(self.said) - ROWS)
        for row, t in enumerate(range(hidden, len(self.said))):
            i = (self.first + t) % 2
            middle = LINE + (row + 0.5) * ROW
            self.canvas.text(f"{t + 1}", (LEFT, middle), 18, FAINT)
            self.canvas.text(f"{i}: {self.game.describe(self.said[t])}", (LEFT + 26, middle), 20, COLOURS[i])
            self._mark(i, self.said[t], middle)

    def _mark(self, i: int, action: int, middle: float) -> None:
        informs = len(self.game.informs)
        if action < informs:
            start, end = self.game.informs[action]
            left, right = SLOTS + start * self.width + 3, SLOTS + (end + 1) * self.width - 3
            self.canvas.panel(left, middle - 10, right, middle + 10, COLOURS[i], 10)
            for j in range(start, end + 1):  # what is not true
                if not self.tables[i] >> j & 1:
                    half = self.width / 2 - 5
                    self.canvas.rectangle(self._middle(j) - half, middle - 8, self._middle(j) + half, middle + 8, BAD)
                    self.canvas.cross((self._middle(j), middle), 8, PAPER, 4.0)
        elif action < self.game.reject:
            right = self.success == rules.WON
            self.canvas.ring((self._middle(action - informs), middle), 11, GOOD if right else BAD, 5.0)
        else:
            right = self.success == rules.WON
            self.canvas.line((SLOTS + 6, middle), (RIGHT - 6, middle), GOOD if right else BAD, 3.0, dash=8.0)

    def outcome(self) -> None:
        """In words."""
        words, colour = self._words()
        self.canvas.text(words, (LEFT, 656), 25, colour)

    def _words(self) -> tuple[str, tuple[int, ...]]:
        if not self.over:
            mover = (self.first + len(self.said)) % 2
            return f"{self.game.agents[mover]} to move", COLOURS[mover]
        action, i = self.said[-1], (self.first + len(self.said) - 1) % 2
        slot = action - len(self.game.informs)
        if self.success == rules.WON:
            return ("right: there is no common slot" if action == self.game.reject else f"met in slot {slot}"), GOOD
        if action == self.game.reject:
            return "lost: there is a common free slot", BAD
        if slot >= 0:
            busy = [k for k in (0, 1) if self.tables[k] >> slot & 1]
            return f"lost: slot {slot} is busy for {' and '.join(f'participant_{k}' for k in busy)}", BAD
        start, end = self.game.informs[action]
        told = sum(1 << j for j in range(start, end + 1))
        if told & ~self.tables[i]:
            return f"lost: participant_{i} is not busy then", BAD
        return "lost: cut, nobody has decided", BAD

    def _middle(self, slot: int) -> float:
        return SLOTS + (slot + 0.5) * self.width
