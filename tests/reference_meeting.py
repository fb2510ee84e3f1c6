"""Meeting scheduling once more, one game at a time in plain Python, from the rules as the documents have them."""

import hashlib
from itertools import product

from reference_parts import Stream


def split_of(num_slots, include_all_free, seed):
    """(train tables, test tables), tuples of 0 and 1, each in the order of their hashes."""
    prefix = f"tomgames/meeting/v1/{seed}/"
    tables = [t for t in product((0, 1), repeat=num_slots) if include_all_free or any(t)]
    ordered = sorted(tables, key=lambda t: hashlib.sha256((prefix + "".join(map(str, t))).encode()).hexdigest())
    tests = len(ordered) * 3 // 10
    return ordered[tests:], ordered[:tests]


class Meeting:
    """One game."""

    def __init__(self, num_slots=8, max_messages=8, include_all_free=False, first_mover="random", split="all",
                 split_seed=0, success_reward=1.0, failure_reward=-2.0, inform_reward=-0.1, reject_fail_reward=-2.0,
                 truncation_reward=-2.0):  # fmt: skip
        self.d, self.t = num_slots, max_messages
        self.first_mover = first_mover
        self.success_reward, self.failure_reward, self.inform_reward = success_reward, failure_reward, inform_reward
        self.reject_fail_reward, self.truncation_reward = reject_fail_reward, truncation_reward
        train, test = split_of(num_slots, include_all_free, split_seed)
        self.drawn = {"all": train + test, "train": train, "test": test}[split]
        informs = [("inform", s, e) for s in range(self.d) for e in range(s, self.d)]
        self.actions = [*informs, *(("propose", j) for j in range(self.d)), ("reject",)]

    def reset(self, seed):
        """Two tables and a first mover from the stream of this seed."""
        stream = Stream(seed)
        self.tables = [self.drawn[stream.integer(len(self.drawn))] for _ in range(2)]
        self.mover = stream.integer(2) if self.first_mover == "random" else int(self.first_mover[-1])
        self.history, self.told = [], [set(), set()]
        self.success = None  # while open

    def step(self, action):
        """The mover's action; returns (reward of both, terminated, truncated)."""
        kind, *slots = self.actions[action]
        table = self.tables[self.mover]
        common = [j for j in range(self.d) if not self.tables[0][j] and not self.tables[1][j]]
        self.history.append((self.mover, action))
        terminated, truncated = True, False
        if kind == "inform":
            run = range(slots[0], slots[1] + 1)
            if all(table[j] for j in run):
                terminated, reward = False, self.inform_reward
                self.told[self.mover] |= set(run)
                if len(self.history) == self.t:
                    truncated, self.success = True, False
                    reward += self.truncation_reward
            else:
                self.success, reward = False, self.failure_reward
        elif kind == "propose":
            self.success = slots[0] in common
            reward = self.success_reward if self.success else self.failure_reward
        else:
            self.success = not common
            reward = self.success_reward if self.success else self.reject_fail_reward
        self.mover = 1 - self.mover
        return reward, terminated, truncated

    def observation(self, i):
        """A list of numbers."""
        found = [float(x) for x in self.tables[i]]
        found += self._rows(i)
        for told in (self.told[i], self.told[1 - i]):
            found += [float(j in told) for j in range(self.d)]
        moves = self.success is None and self.mover == i
        return [*found, len(self.history) / self.t, float(i == 0), float(moves)]

    def state(self):
        """Both tables, history, step, mover."""
        movers = [float(self.success is None and self.mover == i) for i in (0, 1)]
        tables = [float(x) for table in self.tables for x in table]
        return [*tables, *self._rows(0), len(self.history) / self.t, *movers]

    def _rows(self, me):
        found = []
        for t in range(self.t):
            who, said = self.history[t] if t < len(self.history) else (None, None)
            found += [float(said == a) for a in range(len(self.actions))] + [float(who == me)]
        return found
