"""Scripted policies and belief tools: the yardsticks that learners are compared with.

A model of the chef says how likely each ingredient is for each dish that might be the target; `posterior` turns the
public history and a model into what an observer believes. Policies act on observations alone; their random choices,
ties among them, come from their own generator.

The rational-speech-act models follow Frank & Goodman, "Predicting pragmatic reasoning in language games" (Science,
2012).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from mpe_ext.chefworld.game import ChefWorld, Seen, read
from mpe_ext.chefworld.solver import representatives
from mpe_ext.engine.scripted import Policy, Scripted

SMOOTH = 1e-9  # added to every likelihood, so that no move, however odd, leaves an observer without any belief

# (recipe int64[N, K, W], work int64[N, W], belief float64[N, K], possible bool[N, K], move) -> float64[N, K, W]: how
# likely a chef whose target is k adds j
Model = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def consistent(recipe: np.ndarray, work: np.ndarray) -> np.ndarray:
    """bool[N, K]: dishes that may still be the target while the game goes on: none of their kinds is exceeded, and the
    workplace is not the whole dish, because then the game would have ended."""
    return np.logical_and((recipe >= work[:, None]).all(axis=2), (recipe != work[:, None]).any(axis=2))


# Models of the chef -----------------------------------------------------------------------------------------------


def literal(recipe: np.ndarray, work: np.ndarray, belief: np.ndarray, possible: np.ndarray, move: int) -> np.ndarray:
    """Any needed kind, all alike."""
    return _shares(recipe > work[:, None])


def unique_first(
    recipe: np.ndarray, work: np.ndarray, belief: np.ndarray, possible: np.ndarray, move: int
) -> np.ndarray:
    """Needed kinds that no other dish that may be the target still needs; any needed kind where there is none."""
    needed = recipe > work[:, None]
    wanted = needed & possible[:, :, None]
    alone = needed & (wanted.sum(axis=1, keepdims=True) == wanted)
    return _shares(np.where(alone.any(axis=2, keepdims=True), alone, needed))


def rarest(recipe: np.ndarray, work: np.ndarray, belief: np.ndarray, possible: np.ndarray, move: int) -> np.ndarray:
    """Needed kinds that the fewest dishes that may be the target still need."""
    needed = recipe > work[:, None]
    counts = (needed & possible[:, :, None]).sum(axis=1, keepdims=True)
    counts = np.where(needed, counts, len(recipe[0]) + 1)
    return _shares(needed & (counts == counts.min(axis=2, keepdims=True)))


def speaker(
    level: int, recipe: np.ndarray, work: np.ndarray, belief: np.ndarray, possible: np.ndarray, move: int
) -> np.ndarray:
    """Rational speech act of that level: needed kinds from which a listener a level below infers the target best."""
    needed = recipe > work[:, None]
    chances = _shares(needed)
    for _ in range(level):
        heard = belief[:, :, None] * (chances + SMOOTH)
        heard /= np.maximum(heard.sum(axis=1, keepdims=True), 1e-300)
        heard = np.where(needed, heard, -1.0)
        chances = _shares(needed & (heard >= heard.max(axis=2, keepdims=True) - 1e-12))
    return chances


def code(
    seed: int, recipe: np.ndarray, work: np.ndarray, belief: np.ndarray, possible: np.ndarray, move: int
) -> np.ndarray:
    """A private code: the first move is the target's own representative among kinds that are agreed on beforehand, one
    for each dish and all different; what comes later means nothing more than what it is."""
    chances = literal(recipe, work, belief, possible, move)
    if move == 0:
        chosen = representatives(recipe, seed)
        spoken = chosen[:, :, None] == np.arange(recipe.shape[2])
        chances = np.where(chosen[:, :, None] >= 0, spoken, chances)
    return chances


def _shares(chosen: np.ndarray) -> np.ndarray:
    """Equal probabilities over what is True along the last axis (zeros where nothing is)."""
    return chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), 1)


# Beliefs ----------------------------------------------------------------------------------------------------------


def posterior(seen: Seen, model: Model | None) -> np.ndarray:
    """float64[N, K]: how likely each dish is the target, given the public history and the model of the chef (None: the
    chef's choices say nothing beyond what they rule out). The assistant's own moves are no evidence but for what they
    rule out. Uniform where nothing is possible any more, which is after a lost game only."""
    n, dishes, kinds = seen.recipe.shape
    belief, possible = np.full((n, dishes), 1.0 / dishes), np.ones((n, dishes), bool)
    work = np.zeros((n, kinds), np.int64)
    for move in range(seen.moves.shape[1]):
        rows = np.flatnonzero(seen.moves[:, move] >= 0)
        if not len(rows):
            break
        added, now = seen.moves[rows, move], belief[rows]
        if model is not None and move % 2 == 0:
            chances = model(seen.recipe[rows], work[rows], now, possible[rows], move)
            now = now * (np.take_along_axis(chances, added[:, None, None], axis=2)[:, :, 0] + SMOOTH)
        work[rows, added] += 1
        possible[rows] = consistent(seen.recipe[rows], work[rows])
        belief[rows] = _normalised(now * possible[rows])
    return belief


def _normalised(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / weights.shape[1])


# Policies ---------------------------------------------------------------------------------------------------------


class Chef:
    """Draws from its model's probabilities for the true target."""

    def __init__(self, model: Model, game: ChefWorld, agent: str, seed: int):
        self.model, self.game, self.generator = model, game, np.random.default_rng(seed)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        seen = read(self.game, observations)
        actions = np.zeros(len(observations), np.int64)
        for move in range(0, seen.moves.shape[1], 2):
            rows = np.flatnonzero(seen.chefs_turn & ((seen.moves >= 0).sum(axis=1) == move) & (seen.target >= 0))
            if len(rows):
                part = Seen(*(array[rows] for array in seen))
                belief = posterior(part, self.model)
                chances = self.model(part.recipe, part.work, belief, consistent(part.recipe, part.work), move)
                actions[rows] = _drawn(chances[np.arange(len(rows)), part.target], self.generator)
        return actions


class Assistant:
    """Adds the kind that the target still needs most probably, given what it believes; ties at random."""

    def __init__(self, model: Model | None, game: ChefWorld, agent: str, seed: int):
        self.model, self.game, self.generator = model, game, np.random.default_rng(seed)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        seen = read(self.game, observations)
        return _where_it_moves(seen, self._choose)

    def _choose(self, seen: Seen) -> np.ndarray:
        needed = seen.recipe > seen.work[:, None]
        scores = (posterior(seen, self.model)[:, :, None] * needed).sum(axis=1)
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-12
        return _drawn(_shares(best), self.generator)

    def beliefs(self, observations: np.ndarray) -> np.ndarray:
        """float64[N, K]: how likely each dish is the target."""
        return posterior(read(self.game, observations), self.model)


class Guess:
    """Draws from kinds that make some sense, all alike."""

    def __init__(self, among: Callable[[Seen], np.ndarray], game: ChefWorld, agent: str, seed: int):
        self.among, self.game, self.generator = among, game, np.random.default_rng(seed)

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        return _where_it_moves(read(self.game, observations), self._choose)

    def _choose(self, seen: Seen) -> np.ndarray:
        return _drawn(_shares(self.among(seen)), self.generator)


def in_recipe(seen: Seen) -> np.ndarray:
    """bool[N, W]: kinds that some dish contains."""
    return np.any(seen.recipe > 0, axis=1)


def in_question(seen: Seen) -> np.ndarray:
    """bool[N, W]: kinds that some dish that may be the target still needs."""
    needed = seen.recipe > seen.work[:, None]
    return (needed & consistent(seen.recipe, seen.work)[:, :, None]).any(axis=1)


def _where_it_moves(seen: Seen, choose: Callable[[Seen], np.ndarray]) -> np.ndarray:
    """The assistant's choices where it moves, 0 elsewhere."""
    rows = np.flatnonzero((seen.moves >= 0).sum(axis=1) % 2 == 1)
    actions = np.zeros(len(seen.work), np.int64)
    if len(rows):
        actions[rows] = choose(Seen(*(array[rows] for array in seen)))
    return actions


def _drawn(chances: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One index for each row of probabilities [N, W]."""
    reached = chances.cumsum(axis=1)
    return (reached[:, :-1] <= generator.random((len(chances), 1)) * reached[:, -1:]).sum(axis=1)


MODELS: dict[str, tuple[Model, str]] = {
    "literal": (literal, "any kind that the target needs"),
    "unique": (unique_first, "a kind that no other possible dish needs, if there is one"),
    "rarest": (rarest, "the needed kind that the fewest possible dishes need"),
    "rsa1": (partial(speaker, 1), "the kind from which a literal listener infers the target best"),
    "rsa2": (partial(speaker, 2), "the kind from which a listener to rsa1 infers the target best"),
    "code_1": (partial(code, 1), "a private code names the target with the first move"),
    "code_2": (partial(code, 2), "another private code names the target with the first move"),
}
_CHEFS = {"literal": "literal", "unique_first": "unique", "rarest": "rarest"}
_ASSISTANTS = {"bayes_literal": "literal", "bayes_unique": "unique", "bayes_rarest": "rarest"}
_BOTH = ("rsa1", "rsa2", "code_1", "code_2")


def _either(model: Model, game: ChefWorld, agent: str, seed: int) -> Policy:
    return (Chef if agent == "chef_0" else Assistant)(model, game, agent, seed)


POLICIES: dict[str, Scripted] = {
    name: Scripted(partial(Chef, MODELS[model][0]), ("chef",), MODELS[model][1]) for name, model in _CHEFS.items()
}
POLICIES |= {
    "random_recipe": Scripted(partial(Guess, in_recipe), ("assistant",), "any kind that some dish contains"),
    "random_consistent": Scripted(
        partial(Guess, in_question), ("assistant",), "any kind that some possible dish needs"
    ),
    "elimination": Scripted(
        partial(Assistant, None), ("assistant",), "the kind that most possible dishes need; dishes are only ruled out"
    ),
}
POLICIES |= {
    name: Scripted(
        partial(Assistant, MODELS[model][0]), ("assistant",), f"exact Bayes; takes the chef to add {MODELS[model][1]}"
    )
    for name, model in _ASSISTANTS.items()
}
POLICIES |= {name: Scripted(partial(_either, MODELS[name][0]), (), MODELS[name][1]) for name in _BOTH}

LADDER = (
    "literal:random",
    "literal:random_recipe",
    "literal:random_consistent",
    "literal:elimination",
    "literal:bayes_literal",
    "unique_first:elimination",
    "unique_first:bayes_literal",
    "unique_first:bayes_unique",
    "rarest:bayes_rarest",
    "rsa1:rsa1",
    "rsa2:rsa2",
    "code_1:code_1",
    "code_1:code_2",
    "code_1:rsa1",
    "rsa1:code_1",
)
