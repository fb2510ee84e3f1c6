"""ChefWorld: parameters, agents and spaces. The rules are in rules.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from mpe_ext.chefworld import rules, splits
from mpe_ext.engine.game import Episodes, Game, Kernels
from mpe_ext.engine.params import param
from mpe_ext.engine.shared import Shared

SPLITS = ("all", "train", "test")
MOST_DISHES = 200_000  # so many can be split within a second


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """All parameters of the game. Defaults are those of the preset `paper`."""

    preset: str = param("paper", "where the defaults come from", choices=("paper", "hard"))
    num_dishes: int = param(4, "dishes of a recipe, one of which is the target (K)", low=1, high=16)
    num_ingredients: int = param(10, "kinds of ingredients (W)", low=1, high=32)
    max_items: int = param(5, "items of a dish at most (M)", low=1, high=8)
    dish_sampling: str = param(
        "generator",
        "`generator`: each of `max_items` items is any kind or none, all alike; `uniform`: all dishes alike",
        choices=("generator", "uniform"),
    )
    split: str = param("all", "which dishes recipes are made of", choices=SPLITS)
    split_seed: int = param(0, "which of many divisions into train and test dishes", low=0)
    success_reward: float = param(1.0, "both agents' reward for the complete target")
    failure_reward: float = param(-1.0, "both agents' reward for an ingredient that the target does not need")
    observation_format: str = param(
        "box", "`flat`: `{'observation', 'action_mask'}`, the mask all ones", choices=("box", "flat")
    )
    max_cycles: int = param(100, "moves after which a game is truncated; no game takes more than `max_items`", low=1)

    def __post_init__(self) -> None:
        count = splits.how_many(self.num_ingredients, self.max_items)
        if count > MOST_DISHES:
            raise ValueError(
                f"num_ingredients={self.num_ingredients} with max_items={self.max_items} make {count:,} dishes; "
                f"at most {MOST_DISHES:,} are allowed"
            )
        _check_split(self, self.split)


def _check_split(p: Parameters, split: str) -> None:
    count = splits.how_many(p.num_ingredients, p.max_items)
    test = count * splits.TEST_SHARE[0] // splits.TEST_SHARE[1]
    there = {"all": count, "train": count - test, "test": test}[split]
    if there < p.num_dishes:
        raise ValueError(
            f"num_dishes={p.num_dishes}: with num_ingredients={p.num_ingredients} and max_items={p.max_items} "
            f"split={split!r} has only {there} different dishes"
        )


PRESETS: dict[str, dict[str, Any]] = {"paper": {}, "hard": {"num_dishes": 7, "num_ingredients": 12}}


class Fixed(NamedTuple):
    """What `reset(options=...)` fixes."""

    split: int | None
    recipe: np.ndarray | None  # uint8[K, W]
    target: int | None


class ChefWorld(Game):
    """A chef who knows the target dish and an assistant who does not add ingredients in turns."""

    name = "chefworld_v0"
    render_fps = 1
    turn_based = True
    params_type = Parameters
    presets = PRESETS
    kernels = Kernels(rules.reset_worlds, rules.step_worlds, rules.observe_worlds)
    params: Parameters

    def __init__(self, params: Parameters):
        super().__init__(params)
        p = params
        self.agents = ("chef_0", "assistant_0")
        self.size = p.num_dishes * (p.num_ingredients + 1) + 3 + p.num_ingredients * (p.max_items + 1)
        box = {agent: spaces.Box(0.0, 1.0, (self.size,), np.float32) for agent in self.agents}
        masks = {agent: spaces.Box(0, 1, (p.num_ingredients,), np.int8) for agent in self.agents}
        self.observation_spaces = {
            a: spaces.Dict({"observation": box[a], "action_mask": masks[a]}) if self._flat else box[a]
            for a in self.agents
        }
        self.action_spaces = {agent: spaces.Discrete(p.num_ingredients) for agent in self.agents}
        self.state_space = spaces.Box(0.0, 1.0, (self.size,), np.float32)

    @property
    def _flat(self) -> bool:
        return self.params.observation_format == "flat"

    @property
    def dishes(self) -> splits.Dishes:
        """All dishes and their split."""
        return splits.dishes(self.params.num_ingredients, self.params.max_items, self.params.split_seed)

    def numbers(self) -> rules.Rules:
        p, dishes = self.params, self.dishes
        return rules.Rules(
            max_items=p.max_items,
            uniform=p.dish_sampling == "uniform",
            success_reward=p.success_reward,
            failure_reward=p.failure_reward,
            draws=(p.num_ingredients + 1) ** p.max_items,
            num_train=dishes.num_train,
            steps=dishes.steps,
            by_number=dishes.by_number,
            drawn=dishes.drawn,
            is_test=dishes.is_test,
            order=dishes.order,
        )

    def allocate(self, num_envs: int) -> rules.State:
        w, p = num_envs, self.params
        return rules.State(
            recipe=np.zeros((w, p.num_dishes, p.num_ingredients), np.uint8),
            dish=np.zeros((w, p.num_dishes), np.int64),
            target=np.zeros(w, np.int64),
            work=np.zeros((w, p.num_ingredients), np.uint8),
            moves=np.zeros((w, p.max_items), np.int64),
            split=np.full(w, SPLITS.index(p.split), np.int8),
            success=np.full(w, rules.OPEN, np.int64),
            messages=np.zeros(w, np.int64),
            revealed=np.full(w, -1, np.int64),
            observation=np.zeros((w, 2, self.size), np.float32),
            mask=np.ones((w, 2, p.num_ingredients), np.int8),
        )

    def observations(self, state: rules.State) -> dict[str, Any]:
        views = {agent: state.observation[:, i] for i, agent in enumerate(self.agents)}
        if not self._flat:
            return views
        return {a: {"observation": views[a], "action_mask": state.mask[:, i]} for i, a in enumerate(self.agents)}

    def infos(self, state: rules.State) -> dict[str, dict[str, np.ndarray]]:
        shared = {"success": state.success, "target": state.revealed, "messages": state.messages}
        return {agent: dict(shared) for agent in self.agents}

    def global_state(self, state: rules.State) -> np.ndarray:
        return state.observation[:, rules.CHEF]

    # Options of reset -----------------------------------------------------------------------------------------

    def read_options(self, options: Mapping[str, Any], num_envs: int) -> Fixed | None:
        if not {"split", "recipe", "target"} & options.keys():
            return None
        split = recipe = target = None
        if "split" in options:
            if options["split"] not in SPLITS:
                raise ValueError(f"split={options['split']!r}: must be one of {', '.join(map(repr, SPLITS))}")
            _check_split(self.params, options["split"])
            split = SPLITS.index(options["split"])
        if "recipe" in options:
            recipe = self._read_recipe(options["recipe"])
        if "target" in options:
            target, last = options["target"], self.params.num_dishes - 1
            if not _is_number(target, last):
                raise ValueError(f"target={target!r}: must be an integer in 0 .. {last}")
        return Fixed(split, recipe, None if target is None else int(target))

    def _read_recipe(self, recipe: Any) -> np.ndarray:
        p = self.params
        if not _is_list(recipe) or len(recipe) != p.num_dishes:
            raise ValueError(f"recipe={recipe!r}: must be a list of {p.num_dishes} dishes")
        counts = np.zeros((p.num_dishes, p.num_ingredients), np.uint8)
        for k, dish in enumerate(recipe):
            if not _is_list(dish) or not 1 <= len(dish) <= p.max_items:
                raise ValueError(f"recipe: dish {k} is {dish!r}: must be a list of 1 .. {p.max_items} ingredients")
            for item in dish:
                if not _is_number(item, p.num_ingredients - 1):
                    raise ValueError(
                        f"recipe: dish {k} holds {item!r}: ingredients are integers in 0 .. {p.num_ingredients - 1}"
                    )
                counts[k, item] += 1
        for k in range(p.num_dishes):
            for i in range(k):
                if (counts[i] == counts[k]).all():
                    raise ValueError(f"recipe: dishes {i} and {k} are equal ({recipe[k]!r}): all must be different")
        return counts

    def before_reset(self, fixed: Fixed | None, state: rules.State, mask: np.ndarray) -> None:
        part = None if fixed is None else fixed.split
        state.split[mask] = SPLITS.index(self.params.split) if part is None else part

    def after_reset(self, fixed: Fixed, shared: Shared, state: rules.State, mask: np.ndarray) -> None:
        if fixed.recipe is not None:
            state.recipe[mask] = fixed.recipe
            state.dish[mask] = splits.numbers(fixed.recipe, self.dishes.steps)
        if fixed.target is not None:
            state.target[mask] = fixed.target

    # Episodes and pictures ------------------------------------------------------------------------------------

    def metrics(self, episodes: Episodes) -> dict[str, np.ndarray]:
        last = episodes.last["chef_0"]
        return {
            "success": last["success"],
            "unique first": unique_first(self, episodes.final_observations["chef_0"]),
            "messages": last["messages"],
        }

    def outside_split(self, episodes: Episodes) -> int:
        if self.params.split == "all":
            return 0
        recipes = read(self, episodes.final_observations["chef_0"]).recipe
        test = self.dishes.is_test[splits.numbers(recipes, self.dishes.steps)]
        return int((test != (self.params.split == "test")).any(axis=1).sum())

    def draw(
        self,
        canvas: Any,
        shared: Shared,
        state: rules.State,
        w: int,
        max_cycles: int,
        beliefs: Mapping[str, np.ndarray],
    ) -> None:
        from mpe_ext.chefworld.drawing import draw  # pygame comes with the first drawing

        draw(canvas, self, shared, state, w, beliefs.get("assistant_0"))


class Seen(NamedTuple):
    """What an observation says, for N observations."""

    recipe: np.ndarray  # int64[N, K, W]
    target: np.ndarray  # int64[N], -1 for the assistant
    work: np.ndarray  # int64[N, W]
    chefs_turn: np.ndarray  # bool[N]
    moves: np.ndarray  # int64[N, M]: the ingredients added, -1 for moves to come


def read(game: ChefWorld, observations: np.ndarray) -> Seen:
    """Observations float32[N, size] in numbers. Raises ValueError for another shape."""
    p = game.params
    k, j, m = p.num_dishes, p.num_ingredients, p.max_items
    if observations.ndim != 2 or observations.shape[1] != game.size:
        raise ValueError(f"observations are {list(observations.shape)}, must be [worlds, {game.size}]")
    recipe, target, _, work, turn, moves = np.split(observations, np.cumsum([k * j, k, 1, j, 2]), axis=1)
    moves = moves.reshape(-1, m, j)
    return Seen(
        np.rint(recipe.reshape(-1, k, j) * m).astype(np.int64),
        np.where(target.any(axis=1), target.argmax(axis=1), -1),
        np.rint(work * m).astype(np.int64),
        turn[:, 0] == 1,
        np.where(moves.any(axis=2), moves.argmax(axis=2), -1),
    )


def unique_first(game: ChefWorld, final: np.ndarray) -> np.ndarray:
    """Whether the chef's first ingredient is one that no other dish contains, float64[E] for the chef's final
    observations; NaN where the target has no such kind."""
    seen = read(game, final)
    rows = np.arange(len(final))
    contained = seen.recipe > 0
    unique = contained[rows, seen.target] & (contained.sum(axis=1) == 1)
    return np.where(unique.any(axis=1), unique[rows, seen.moves[:, 0]], np.nan)


def _is_number(value: Any, last: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= last


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
