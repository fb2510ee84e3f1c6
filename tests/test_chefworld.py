"""ChefWorld: example games, edge cases, options, splits, and a second implementation."""

import hashlib

import numpy as np
import pytest
from conftest import CONFIGURATIONS, freeze
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_chefworld import ChefWorld as Plain
from reference_chefworld import split_of

from mpe_ext import chefworld_v0 as chef
from mpe_ext.chefworld import splits
from mpe_ext.chefworld.game import read

EXAMPLE = [[0, 1, 2, 6], [2, 2, 4, 8, 9], [2, 3, 6, 7, 7], [1, 2, 2, 8, 9]]


def play(moves, recipe=EXAMPLE, target=2, **params):
    """Rewards of both and the flags after each move, and the last infos."""
    env = chef.parallel_env(**params)
    env.reset(seed=1, options={"recipe": recipe, "target": target})
    record = []
    for t, kind in enumerate(moves):
        mover = env.possible_agents[t % 2]
        assert env.acting.tolist() == [agent == mover for agent in env.possible_agents]
        _, rewards, terminated, truncated, infos = env.step({mover: kind})
        assert rewards["chef_0"] == rewards["assistant_0"] and len(set(terminated.values())) == 1
        record.append((rewards["chef_0"], terminated["chef_0"], truncated["chef_0"]))
    return record, infos["assistant_0"], env


# Rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "last", "success"),
    [([3, 7, 6, 2, 7], 1.0, 1), ([2, 0], -1.0, 0), ([3, 7, 7, 7], -1.0, 0)],
    ids=["won", "wrong kind", "one too many"],
)
def test_example_games(moves, last, success):
    record, info, env = play(moves)
    assert record[:-1] == [(0.0, False, False)] * (len(moves) - 1)
    assert record[-1] == (last, True, False)
    assert (info["success"], info["target"], info["messages"]) == (success, 2, len(moves))
    assert info["episode_return"] == last and env.agents == []


def test_nothing_is_revealed_before_the_end():
    _, info, _ = play([3, 7, 6])
    assert (info["success"], info["target"], info["messages"]) == (-1, -1, 3)


def test_the_game_stops_when_the_target_is_complete_though_another_dish_goes_on():
    record, info, _ = play([0, 1], recipe=[[0, 1], [0, 1, 2], [3], [4]], target=0)
    assert record[-1] == (1.0, True, False) and info["success"] == 1


def test_another_complete_dish_does_not_stop_the_game():
    record, _, env = play([0, 1, 2], recipe=[[0, 1], [0, 1, 2], [3], [4]], target=1)
    assert [terminated for _, terminated, _ in record] == [False, False, True] and record[-1][0] == 1.0


@pytest.mark.parametrize(("kind", "reward"), [(3, 1.0), (2, -1.0)])
def test_a_target_of_one_item_is_the_chefs_alone(kind, reward):
    record, _, env = play([kind], recipe=[[0, 1], [0, 1, 2], [3], [4]], target=2)
    assert record == [(reward, True, False)]
    turns = chef.env()
    turns.reset(seed=1, options={"recipe": [[0, 1], [0, 1, 2], [3], [4]], "target": 2})
    turns.step(kind)
    assert turns.agent_selection == "assistant_0" and turns.last()[1:4] == (reward, True, False)


def test_dishes_may_differ_in_how_often_only():
    record, _, _ = play([1, 1, 1], recipe=[[1], [1, 1], [1, 1, 1], [1, 1, 1, 1]], target=2)
    assert record == [(0.0, False, False), (0.0, False, False), (1.0, True, False)]


def test_rewards_are_parameters():
    assert play([3, 7, 6, 2, 7], success_reward=5)[0][-1][0] == 5.0
    assert play([2, 0], failure_reward=-0.5)[0][-1][0] == -0.5


def test_the_time_limit_is_a_lost_game_without_reward():
    record, info, env = play([3, 7], max_cycles=2)
    assert record[-1] == (0.0, False, True)
    assert (info["success"], info["target"]) == (0, 2) and env.agents == []


def test_turn_flags_are_zero_after_the_end():
    env = chef.env()
    env.reset(seed=1, options={"recipe": EXAMPLE, "target": 2})
    assert env.observe("assistant_0")[55:57].tolist() == [1.0, 0.0]
    env.step(2), env.step(0)
    for agent in env.possible_agents:
        assert env.observe(agent)[55:57].tolist() == [0.0, 0.0]


def test_observation_of_the_example():
    env = chef.env()
    env.reset(seed=1, options={"recipe": EXAMPLE, "target": 2})
    env.step(3), env.step(7)
    seen = {agent: env.observe(agent) for agent in env.possible_agents}
    assert seen["chef_0"].shape == (107,) and seen["chef_0"].dtype == np.float32
    assert np.nonzero(seen["chef_0"][:40])[0].tolist() == [0, 1, 2, 6, 12, 14, 18, 19, 22, 23, 26, 27, 31, 32, 38, 39]
    assert seen["chef_0"][27] == np.float32(2 / 5)  # dish 2 takes ingredient 7 twice
    assert seen["chef_0"][40:45].tolist() == [0, 0, 1, 0, 1]
    assert seen["assistant_0"][40:45].tolist() == [0, 0, 0, 0, 0]
    assert np.nonzero(seen["chef_0"][45:55])[0].tolist() == [3, 7] and seen["chef_0"][48] == np.float32(1 / 5)
    assert np.nonzero(seen["chef_0"][57:])[0].tolist() == [3, 17]
    assert freeze(env.state()) == freeze(seen["chef_0"])


@pytest.mark.parametrize("label", CONFIGURATIONS["chefworld_v0"])
def test_a_plain_implementation_says_the_same(label):
    params = {k: v for k, v in CONFIGURATIONS["chefworld_v0"][label].items() if k != "observation_format"}
    env = chef.env(**params)
    sizes = {"num_dishes": 7, "num_ingredients": 12} if params.pop("preset", None) else {}
    plain = Plain(**params | sizes)
    draw = np.random.default_rng(4)
    for seed in range(150):
        env.reset(seed=seed)
        plain.reset(seed)
        while True:
            for i, agent in enumerate(env.possible_agents):
                assert freeze(env.observe(agent)) == freeze(np.array(plain.observation(i == 0), np.float32))
            if plain.success is not None:
                break
            # Mostly what the target needs, so that games last.
            needed = [j for j, (a, b) in enumerate(zip(plain.recipe[plain.target], plain.work(), strict=True)) if a > b]
            kind = int(draw.choice(needed) if draw.random() < 0.85 else draw.integers(plain.w))
            reward = plain.step(kind)
            env.step(kind)
            assert env.rewards == {"chef_0": reward, "assistant_0": reward}
            assert env.terminations["chef_0"] == (plain.success is not None) and not env.truncations["chef_0"]
            ended = plain.success is not None
            expected = (int(plain.success), plain.target) if ended else (-1, -1)
            assert (env.infos["chef_0"]["success"], env.infos["chef_0"]["target"]) == expected
            assert env.infos["chef_0"]["messages"] == len(plain.moves)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32), moves=st.lists(st.integers(0, 9), max_size=5), other=st.integers(0, 3))
def test_the_assistant_never_sees_the_target(seed, moves, other):
    """Two games that differ in the target alone look the same to the assistant for as long as both go on."""
    envs = [chef.env(), chef.env()]
    envs[0].reset(seed=seed)
    recipe = [np.repeat(np.arange(10), counts).tolist() for counts in envs[0]._worlds._state.recipe[0]]
    for env, target in zip(envs, (int(envs[0]._worlds._state.target[0]), other), strict=True):
        env.reset(seed=seed, options={"recipe": recipe, "target": target})
    for kind in (None, *moves):
        if kind is not None:
            for env in envs:
                env.step(kind)
        if any(any(env.terminations.values()) for env in envs):
            break
        assert freeze(envs[0].observe("assistant_0")) == freeze(envs[1].observe("assistant_0"))
        assert envs[0].infos["assistant_0"] == envs[1].infos["assistant_0"]


# Splits -----------------------------------------------------------------------------------------------------------


def keys(counts):
    return [",".join(map(str, dish)) for dish in counts.tolist()]


def test_the_split_is_pinned():
    dishes = splits.dishes(10, 5, 0)
    assert len(dishes.counts) == splits.how_many(10, 5) == 3002 and dishes.num_train == 2102
    test = keys(dishes.counts[2102:])
    assert test[:3] == ["2,0,0,0,0,1,0,1,0,1", "2,1,0,0,0,0,0,1,0,0", "1,0,0,0,2,0,1,0,0,0"]
    assert keys(dishes.counts[:1]) == ["0,1,0,1,0,0,0,1,0,0"]
    assert hashlib.sha256("|".join(test).encode()).hexdigest()[:16] == "e4cade82236cdbd8"
    assert np.bincount(dishes.counts[2102:].sum(axis=1).astype(int)).tolist() == [0, 5, 18, 66, 224, 587]


@pytest.mark.parametrize(("w", "m", "seed"), [(5, 3, 0), (5, 3, 1), (12, 2, 7), (1, 8, 0)])
def test_splits_of_other_sizes_equal_plain_ones(w, m, seed):
    dishes = splits.dishes(w, m, seed)
    every = [tuple(counts) for counts in dishes.counts.tolist()]
    assert (every[: dishes.num_train], every[dishes.num_train :]) == split_of(sorted(every), seed)
    numbers = splits.numbers(dishes.counts, dishes.steps)
    assert sorted(numbers.tolist()) == list(range(1, len(every) + 1))
    assert dishes.is_test[numbers].tolist() == [k >= dishes.num_train for k in range(len(every))]


@pytest.mark.parametrize("sampling", ["generator", "uniform"])
@pytest.mark.parametrize("given", ["parameter", "option"])
def test_recipes_are_made_of_dishes_of_the_split(sampling, given):
    for split in ("train", "test"):
        params = {"split": split} if given == "parameter" else {}
        env = chef.vector_env(num_envs=2000, dish_sampling=sampling, **params)
        options = {"split": split} if given == "option" else {}
        observations, _ = env.reset(seed=3, options=options)
        dishes = env.game.dishes
        recipes = read(env.game, observations["chef_0"]).recipe
        assert (dishes.is_test[splits.numbers(recipes, dishes.steps)] == (split == "test")).all()
        if given == "option":  # it holds for one reset
            again = read(env.game, env.reset()[0]["chef_0"]).recipe
            assert len(set(dishes.is_test[splits.numbers(again, dishes.steps)].ravel().tolist())) == 2


def test_the_generator_weighs_dishes_as_the_documents_say():
    env = chef.vector_env(num_envs=20_000)
    seen = read(env.game, env.reset(seed=5)[0]["chef_0"])
    dishes = env.game.dishes
    # The first dish of a recipe follows the generator alone.
    share = dishes.is_test[splits.numbers(seen.recipe[:, 0], dishes.steps)].mean()
    assert abs(share - 0.298) < 4 * np.sqrt(0.298 * 0.702 / 20_000) + 0.0005
    sizes = np.bincount(seen.recipe[:, 0].sum(axis=1), minlength=6)
    expected = np.array([5 * 10 / 11**5, 10 * 100 / 11**5, 10 * 1000 / 11**5, 5 * 10_000 / 11**5, 100_000 / 11**5])
    assert (abs(sizes[1:] / 20_000 - expected) < 4 * np.sqrt(expected / 20_000) + 1e-4).all() and sizes[0] == 0
    contained = seen.recipe > 0
    unique = (contained[np.arange(20_000), seen.target] & (contained.sum(axis=1) == 1)).any(axis=1).mean()
    assert abs(unique - 0.662) < 4 * np.sqrt(0.662 * 0.338 / 20_000) + 0.0005
    assert (abs(np.bincount(seen.target) / 20_000 - 0.25) < 4 * np.sqrt(0.1875 / 20_000)).all()


def test_uniform_sampling_draws_all_dishes_alike():
    env = chef.vector_env(num_envs=60_000, dish_sampling="uniform", num_dishes=1, num_ingredients=4, max_items=3)
    seen = read(env.game, env.reset(seed=5)[0]["chef_0"])
    counts = np.bincount(splits.numbers(seen.recipe[:, 0], env.game.dishes.steps), minlength=35)
    assert counts[0] == 0 and (abs(counts[1:] - 60_000 / 34) < 4 * np.sqrt(60_000 / 34)).all()


def test_dishes_of_a_recipe_differ():
    for params in ({}, {"num_dishes": 9, "num_ingredients": 2, "max_items": 3}):
        env = chef.vector_env(num_envs=500, **params)
        recipes = read(env.game, env.reset(seed=2)[0]["chef_0"]).recipe
        numbers = np.sort(splits.numbers(recipes, env.game.dishes.steps), axis=1)
        assert (np.diff(numbers, axis=1) > 0).all()


# Options and parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"recipe": EXAMPLE[:3]}, "recipe=.* must be a list of 4 dishes"),
        ({"recipe": "0123"}, "recipe='0123': must be a list of 4 dishes"),
        ({"recipe": [*EXAMPLE[:3], EXAMPLE[1][::-1]]}, "recipe: dishes 1 and 3 are equal"),
        ({"recipe": [*EXAMPLE[:3], []]}, r"dish 3 is \[\]: must be a list of 1 .. 5 ingredients"),
        ({"recipe": [*EXAMPLE[:3], [1] * 6]}, "dish 3 is .* must be a list of 1 .. 5 ingredients"),
        ({"recipe": [*EXAMPLE[:3], [10]]}, "dish 3 holds 10: ingredients are integers in 0 .. 9"),
        ({"recipe": [*EXAMPLE[:3], [-1]]}, "dish 3 holds -1"),
        ({"recipe": [*EXAMPLE[:3], [1.5]]}, "dish 3 holds 1.5"),
        ({"recipe": [*EXAMPLE[:3], [True]]}, "dish 3 holds True"),
        ({"recipe": [*EXAMPLE[:3], 4]}, "dish 3 is 4"),
        ({"target": 4}, "target=4: must be an integer in 0 .. 3"),
        ({"target": -1}, "target=-1"),
        ({"target": 1.0}, "target=1.0"),
        ({"target": None}, "target=None"),
        ({"split": "dev"}, "split='dev': must be one of 'all', 'train', 'test'"),
    ],
)
def test_wrong_options_change_nothing(options, complaint):
    for env in (chef.env(), chef.parallel_env(), chef.vector_env(num_envs=3)):
        env.reset(seed=4)
        before = freeze(env.snapshot())
        with pytest.raises(ValueError, match=complaint):
            env.reset(seed=9, options=options)
        assert freeze(env.snapshot()) == before


def test_options_fix_what_they_name_and_nothing_else():
    env, free = chef.parallel_env(split="train"), chef.parallel_env(split="train")
    env.reset(seed=6, options={"target": 3, "whatever": 1})
    free.reset(seed=6)
    assert env._worlds._state.target[0] == 3
    assert freeze(env._worlds._state.recipe) == freeze(free._worlds._state.recipe)
    # What is fixed may lie outside the split, and the next reset is free again.
    test_dish = np.repeat(np.arange(10), env.game.dishes.counts[-1]).tolist()
    recipe = [test_dish, [0], [1], [2]]
    env.reset(seed=6, options={"recipe": recipe})
    assert env._worlds._state.recipe[0, 0].tolist() == env.game.dishes.counts[-1].tolist()
    env.reset(seed=6)
    assert freeze(env.state()) == freeze(free.state())


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"num_dishes": 0}, "num_dishes=0: must be an integer >= 1 and <= 16"),
        ({"num_ingredients": 33}, "num_ingredients=33"),
        ({"max_items": 9}, "max_items=9"),
        ({"num_ingredients": 32, "max_items": 8}, "make 76,904,684 dishes; at most 200,000 are allowed"),
        ({"num_dishes": 4, "num_ingredients": 1, "max_items": 3}, "split='all' has only 3 different dishes"),
        ({"num_dishes": 4, "num_ingredients": 2, "max_items": 3, "split": "test"}, "split='test' has only 2"),
        ({"split": "dev"}, "split='dev': must be one of"),
        ({"split_seed": -1}, "split_seed=-1"),
        ({"preset": "easy"}, "preset='easy': must be one of 'paper', 'hard'"),
        ({"observation_format": "dict"}, "observation_format='dict': must be one of 'box', 'flat'"),
    ],
)
def test_wrong_parameters(wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        chef.env(**wrong)


def test_arguments_that_do_not_exist():
    for make in (chef.env, chef.parallel_env, chef.vector_env):
        with pytest.raises(
            TypeError, match="unknown argument 'num_dishs'; did you mean 'num_dishes'.*known: .*split_seed"
        ):
            make(num_dishs=4)


def test_the_largest_sizes_work():
    for params in ({"num_dishes": 16, "num_ingredients": 32, "max_items": 3}, {"num_ingredients": 12, "max_items": 7}):
        env = chef.vector_env(num_envs=20, **params)
        env.reset(seed=1)
        for step in range(10):
            env.step({a: np.full(20, step % 12) for a in env.possible_agents})


def test_the_plausible_mask_is_public_knowledge():
    """Of the mover: kinds that some dish still needs which is neither exceeded nor complete; ones for the other."""
    for make in (chef.env, chef.parallel_env):
        env = chef.plausible_mask(make())
        env.reset(seed=1, options={"recipe": [[0, 1], [0, 1, 2], [0, 3], [4]], "target": 1})
        world = env.unwrapped

        def masks(env=env, world=world):
            seen = {a: world._look[a]() for a in world.possible_agents}
            return {a: np.flatnonzero(env._with_mask(a, seen[a])["action_mask"]).tolist() for a in seen}

        assert masks() == {"chef_0": [0, 1, 2, 3, 4], "assistant_0": list(range(10))}
        step = (lambda a, k, env=env: env.step(k)) if make is chef.env else (lambda a, k, env=env: env.step({a: k}))
        step("chef_0", 0)
        assert masks() == {"chef_0": list(range(10)), "assistant_0": [1, 2, 3]}
        step("assistant_0", 1)  # dish 0 is complete, and the game goes on: it is not the target
        assert masks()["chef_0"] == [2]
        for agent in env.possible_agents:
            space = env.observation_space(agent)
            assert space["action_mask"].shape == (10,) and space["observation"].shape == (107,)
    with pytest.raises(ValueError, match="observation_format='flat'"):
        chef.plausible_mask(chef.env(observation_format="flat"))


def test_the_flat_form_has_a_mask_of_ones():
    flat, box = chef.env(observation_format="flat"), chef.env()
    for env in (flat, box):
        env.reset(seed=3)
        env.step(1)
    for agent in flat.possible_agents:
        seen = flat.observe(agent)
        assert freeze(seen["observation"]) == freeze(box.observe(agent))
        assert seen["action_mask"].dtype == np.int8 and seen["action_mask"].all()
