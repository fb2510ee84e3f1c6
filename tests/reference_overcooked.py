"""A second implementation of a step of Overcooked-v2: plain Python on lists and sets, slow, after the rules' text.

What is random (where a fire breaks out, which order comes) it does not draw: `adopt` takes it from the world under test
after checking that it is one of the outcomes that the rules allow.
"""

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program import Event, Executor

MOVES = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1)}
SOLIDS = {
    ".": "floor",
    "#": "counter",
    "K": "board",
    "D": "star",
    "S": "sink",
    "T": "supply",
    "O": "supply",
    "B": "bin",
}
ITEM_OF_LETTER = {
    "t": {"FreshTomato"},
    "o": {"FreshOnion"},
    "c": {"ChoppedTomato"},
    "n": {"ChoppedOnion"},
    "p": {"Plate"},
    "d": {"DirtyPlate"},
    "q": {"ChoppedTomato", "Plate"},
    "r": {"ChoppedOnion", "Plate"},
    "m": {"ChoppedTomato", "ChoppedOnion"},
    "f": {"ChoppedTomato", "ChoppedOnion", "Plate"},
    "x": {"Extinguisher"},
}
DISHES = ({"ChoppedOnion", "Plate"}, {"ChoppedTomato", "Plate"}, {"ChoppedOnion", "ChoppedTomato", "Plate"})
FOOD = {"FreshTomato", "FreshOnion", "ChoppedTomato", "ChoppedOnion"}


def name(item):
    """An item as programs spell it."""
    order = ["ChoppedOnion", "ChoppedTomato", "FreshOnion", "FreshTomato", "Plate", "DirtyPlate", "Extinguisher"]
    return "+".join(part for part in order if part in item)


MERGE_TEXT = {frozenset(name(t.PARTS[i]) for i in b.items): str(b) for b in t.BEHAVIOURS if b.routine == "Merge"}


class Kitchen:
    """One world. `level` is the text of its beginning (with orders), `program` the tree."""

    def __init__(self, level, program, strict="paper", dirty_return="hand", return_delay=5, t_chop=1, t_wash=1,
                 max_cycles=128):  # fmt: skip
        grid, _, notes = level.partition("\n\n")
        self.rows = grid.split("\n")
        self.item, self.fire, agents = {}, set(), {}
        self.kind = {}
        for r, row in enumerate(self.rows):
            for c, letter in enumerate(row):
                self.kind[r, c] = SOLIDS.get(letter, "floor" if letter in "0123F" else "counter")
                if letter in ITEM_OF_LETTER:
                    self.item[r, c] = (frozenset(ITEM_OF_LETTER[letter]), 0)
                if letter == "F":
                    self.fire.add((r, c))
                if letter in "0123":
                    agents[int(letter)] = (r, c)
        self.at = [agents[i] for i in sorted(agents)]
        self.hand = [None] * len(self.at)
        self.orders = [0, 0, 0]
        for line in notes.split("\n"):
            if line.startswith("orders: ") and "none" not in line:
                for dish in line[len("orders: ") :].split(", "):
                    self.orders[[name(d) for d in DISHES].index(dish)] += 1
            if line.startswith("hands: "):
                for entry in line[len("hands: ") :].split(", "):
                    self.hand[int(entry[0])] = (frozenset(ITEM_OF_LETTER[entry[2]]), 0)
        self.strict, self.dirty_return, self.return_delay = strict, dirty_return, return_delay
        self.t_chop, self.t_wash = t_chop, t_wash
        self.max_cycles, self.time, self.coming = max_cycles, 0, []
        self.status = "running"
        self.executor = Executor(program, strict=strict)
        self.executor.reset(self.answer)

    # Queries

    def answer(self, query):
        if query == "IsOnFire()":
            return bool(self.fire)
        kind, _, wanted = query.rstrip(")").partition("(")
        if kind == "is_ordered":
            return self.orders[[name(d) for d in DISHES].index(wanted)] > 0
        there = [i for i, _ in self.item.values()] + [h[0] for h in self.hand if h]
        return wanted in [name(i) for i in there]

    # A step

    def step(self, actions, adopt=None):
        """Actions by agent; (reward, event names by agent or None, pointer by agent or None)."""
        n = len(self.at)
        order = [(self.time + k) % n for k in range(n)]
        events = []
        for a in order:
            op, d = divmod(actions[a], 4)
            if op:
                front = (self.at[a][0] + MOVES[d][0], self.at[a][1] + MOVES[d][1])
                event = getattr(self, ("", "pick", "place", "serve", "merge", "interact")[op])(a, front)
                if event:
                    events.append(Event(a, *event))
        self.move(actions, order)
        self.bring_back()
        if adopt is not None:
            adopt(self)
        self.time += 1
        matched = self.executor.step(events, self.answer)
        self.status = self.executor.status
        reward = 0.2 * sum(m is not None for m in matched) + (self.status == "completed")
        if self.status == "running" and self.time >= self.max_cycles:
            self.status = "truncated"
        by_agent = {event.actor: (event.behaviour, m) for event, m in zip(events, matched, strict=True)}
        return reward, by_agent

    def pick(self, a, front):
        if self.hand[a] or front in self.fire:
            return None
        if self.kind[front] == "supply":
            fresh = "FreshTomato" if self.rows[front[0]][front[1]] == "T" else "FreshOnion"
            self.hand[a] = (frozenset({fresh}), 0)
            return f"Pick({fresh})", True
        if front in self.item:
            self.hand[a] = self.item.pop(front)
            return f"Pick({name(self.hand[a][0])})", False
        return None

    def place(self, a, front):
        if not self.hand[a] or front in self.fire:
            return
        if self.kind[front] == "counter" and front not in self.item:
            self.item[front], self.hand[a] = self.hand[a], None
        elif self.kind[front] == "bin" and self.hand[a][0] & FOOD:
            self.hand[a] = (frozenset({"DirtyPlate"}), 0) if "Plate" in self.hand[a][0] else None

    def serve(self, a, front):
        if self.kind[front] != "star" or front in self.fire or not self.hand[a] or set(self.hand[a][0]) not in DISHES:
            return None
        dish = DISHES.index(set(self.hand[a][0]))
        self.orders[dish] = max(0, self.orders[dish] - 1)
        self.hand[a] = (frozenset({"DirtyPlate"}), 0) if self.dirty_return == "hand" else None
        if self.dirty_return == "counter":
            self.coming.append([self.return_delay, front])
        return f"Serve({name(DISHES[dish])})", True

    def merge(self, a, front):
        if not self.hand[a] or front not in self.item or front in self.fire:
            return None
        held, lying = self.hand[a][0], self.item[front][0]
        if held & lying or not (held | lying) <= {"ChoppedTomato", "ChoppedOnion", "Plate"}:
            return None
        del self.item[front]
        self.hand[a] = (held | lying, 0)
        return MERGE_TEXT[frozenset({name(held), name(lying)})], True

    def interact(self, a, front):
        if not self.hand[a]:
            return None
        held, progress = self.hand[a]
        if front in self.fire:
            if held == {"Extinguisher"}:
                self.fire.remove(front)
                return "PutOutFire()", True
            return None
        if self.kind[front] == "board" and held <= {"FreshTomato", "FreshOnion"}:
            done = progress + 1 == self.t_chop
            fresh = next(iter(held))
            self.hand[a] = (frozenset({fresh.replace("Fresh", "Chopped")}), 0) if done else (held, progress + 1)
            return (f"Chop({fresh})", True) if done else None
        if self.kind[front] == "sink" and held == {"DirtyPlate"}:
            done = progress + 1 == self.t_wash
            self.hand[a] = (frozenset({"Plate"}), 0) if done else (held, progress + 1)
            return ("WashDirtyPlate()", True) if done else None
        return None

    def move(self, actions, order):
        goal = {}
        for a, here in enumerate(self.at):
            goal[a] = here
            if actions[a] < 4:
                front = (here[0] + MOVES[actions[a]][0], here[1] + MOVES[actions[a]][1])
                if self.kind[front] == "floor" and front not in self.fire:
                    goal[a] = front
        # A move cannot be made if one before it in this chain of reasons cannot: take back until nothing is wrong.
        while True:
            movers = [a for a in order if goal[a] != self.at[a]]
            bad = {a for a in movers for b in movers if goal[a] == self.at[b] and goal[b] == self.at[a]}
            bad |= {a for a in movers for b in goal if b != a and b not in movers and goal[a] == self.at[b]}
            if not bad:
                for cell in {goal[a] for a in movers}:
                    claims = [a for a in movers if goal[a] == cell]
                    bad |= set(claims[1:])
            if not bad:
                break
            for a in bad:
                goal[a] = self.at[a]
        self.at = [goal[a] for a in range(len(self.at))]

    def bring_back(self):
        for plate in list(self.coming):
            if plate[0] > 0:
                plate[0] -= 1
                continue
            distance, ring = {}, {n for n in self.neighbours(plate[1]) if self.kind[n] == "floor"}
            steps = 0
            while ring:
                distance |= {cell: steps for cell in ring}
                ring = {n for c in ring for n in self.neighbours(c) if self.kind[n] == "floor" and n not in distance}
                steps += 1
            free = [
                (min(distance[n] for n in self.neighbours(c) if n in distance), c)
                for c, kind in self.kind.items()
                if kind == "counter" and c not in self.item and c not in self.fire
                and any(n in distance for n in self.neighbours(c))
            ]  # fmt: skip
            if free:
                self.item[min(free)[1]] = (frozenset({"DirtyPlate"}), 0)
                self.coming.remove(plate)

    def neighbours(self, cell):
        around = [(cell[0] + dr, cell[1] + dc) for dr, dc in MOVES.values()]
        return [n for n in around if n in self.kind]

    # What is random

    def rooms(self, blocked=frozenset()):
        """The floor without the blocked cells, as sets of cells that hang together."""
        left = {c for c, kind in self.kind.items() if kind == "floor"} - blocked
        rooms = []
        while left:
            room, ring = set(), {next(iter(left))}
            while ring:
                room |= ring
                ring = {n for c in ring for n in self.neighbours(c) if n in left} - room
            left -= room
            rooms.append(room)
        return rooms

    def may_burn(self, cell):
        """Whether a fire may break out on a floor cell."""
        if cell in self.at or cell in self.fire or self.kind[cell] != "floor":
            return False
        blocked = self.fire | {cell}
        before, after = self.rooms(), self.rooms(blocked)
        counters = [c for c, kind in self.kind.items() if kind == "counter" and c not in blocked]
        for here in self.at:
            around = self.neighbours(here)
            if not any((self.kind[n] == "floor" and n not in blocked) or n in counters for n in around):
                return False
        side = next(room for room in before if cell in room)
        for counter in self.neighbours(cell):
            between = [room for room in before if room & set(self.neighbours(counter))]
            shared = self.kind[counter] == "counter" and len(between) > 1
            if shared and not set(self.neighbours(counter)) & (side - blocked):
                return False
        manned = [room for room in after if room & set(self.at)]
        held = [here for here, hand in zip(self.at, self.hand, strict=True) if hand and "Extinguisher" in hand[0]]
        lying = [c for c, (item, _) in self.item.items() if "Extinguisher" in item]
        can = [room for room in manned if room & set(held) or any(room & set(self.neighbours(c)) for c in lying)]
        grows = True
        while grows:
            grows = False
            for room in manned:
                if room not in can and any(
                    set(self.neighbours(c)) & room and any(set(self.neighbours(c)) & other for other in can)
                    for c in counters
                ):
                    can.append(room)
                    grows = True
        return any(set(self.neighbours(cell)) & room for room in can)
