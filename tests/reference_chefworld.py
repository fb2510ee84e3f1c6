"""ChefWorld once more, one game at a time in plain Python, from the rules as they are written in the documents.

Nothing of the package is used but the random stream's definition, which reference_parts has in plain Python.
"""

import hashlib
from itertools import combinations_with_replacement

from reference_parts import Stream


def all_dishes(num_ingredients, max_items):
    """Count vectors of all dishes."""
    kinds = range(num_ingredients)
    bags = [bag for size in range(1, max_items + 1) for bag in combinations_with_replacement(kinds, size)]
    return [tuple(bag.count(kind) for kind in kinds) for bag in bags]


def split_of(dishes, seed):
    """(train dishes, test dishes), each in the order of their hashes."""
    prefix = f"tomgames/chef/v1/{seed}/"
    ordered = sorted(dishes, key=lambda d: hashlib.sha256((prefix + ",".join(map(str, d))).encode()).hexdigest())
    tests = len(ordered) * 3 // 10
    return ordered[tests:], ordered[:tests]


class ChefWorld:
    """One game with the default rewards unless told otherwise."""

    def __init__(self, num_dishes=4, num_ingredients=10, max_items=5, split="all", split_seed=0,
                 dish_sampling="generator", success_reward=1.0, failure_reward=-1.0):  # fmt: skip
        self.k, self.w, self.m = num_dishes, num_ingredients, max_items
        self.sampling, self.rewards = dish_sampling, {True: success_reward, False: failure_reward}
        train, test = split_of(all_dishes(num_ingredients, max_items), split_seed)
        self.dishes = {"all": train + test, "train": train, "test": test}[split]

    def reset(self, seed):
        """A recipe and a target from the stream of this seed."""
        stream = Stream(seed)
        self.recipe = []
        while len(self.recipe) < self.k:
            dish = self.draw(stream)
            if dish not in self.recipe:
                self.recipe.append(dish)
        self.target = stream.integer(self.k)
        self.moves, self.success = [], None

    def draw(self, stream):
        """One dish of the split."""
        if self.sampling == "uniform":
            return self.dishes[stream.integer(len(self.dishes))]
        while True:
            counts, left = [0] * self.w, stream.integer((self.w + 1) ** self.m)
            for _ in range(self.m):
                left, digit = divmod(left, self.w + 1)
                if digit < self.w:
                    counts[digit] += 1
            if tuple(counts) in self.inside:
                return tuple(counts)

    @property
    def inside(self):
        """The dishes of the split, for looking them up."""
        if not hasattr(self, "_inside"):
            self._inside = set(self.dishes)
        return self._inside

    def step(self, kind):
        """Add one ingredient; returns the reward of both."""
        self.moves.append(kind)
        work, target = self.work(), self.recipe[self.target]
        if any(have > want for have, want in zip(work, target, strict=True)):
            self.success = False
        elif work == target:
            self.success = True
        return 0.0 if self.success is None else self.rewards[self.success]

    def work(self):
        """What the workplace holds."""
        return tuple(self.moves.count(kind) for kind in range(self.w))

    def observation(self, chef):
        """A list of numbers."""
        over, turn = self.success is not None, len(self.moves) % 2
        found = [count / self.m for dish in self.recipe for count in dish]
        found += [float(chef and k == self.target) for k in range(self.k)]
        found += [float(chef)]
        found += [count / self.m for count in self.work()]
        found += [float(not over and turn == 0), float(not over and turn == 1)]
        for t in range(self.m):
            found += [float(t < len(self.moves) and self.moves[t] == kind) for kind in range(self.w)]
        return found
