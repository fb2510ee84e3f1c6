"""The scripted policies of ChefWorld: the figures of the documents, beliefs by brute force, the exact value."""

from functools import partial

import numpy as np
import pytest

from mpe_ext import chefworld_v0 as chef
from mpe_ext.chefworld import heuristics, solver
from mpe_ext.chefworld.game import read, unique_first

GAMES = 20_000
# Success over all dishes, and how it was measured: over 20,000 games, or (tighter) exactly per recipe.
LADDER = {
    "literal:random": 0.062,
    "literal:random_recipe": 0.079,
    "literal:random_consistent": 0.619,
    "literal:elimination": 0.802,
    "literal:bayes_literal": 0.833,
    "unique_first:elimination": 0.942,
    "unique_first:bayes_literal": 0.970,
    "unique_first:bayes_unique": 0.990,
    "rarest:bayes_rarest": 0.995,
    "rsa1:rsa1": 0.9996,
    "rsa2:rsa2": 1.0,
    "code_1:code_1": 1.0,
}
HARD = {"literal:elimination": 0.688, "literal:bayes_literal": 0.717, "unique_first:bayes_unique": 0.890,
        "rarest:bayes_rarest": 0.956, "rsa1:rsa1": 0.980, "rsa2:rsa2": 0.987}  # fmt: skip


def uniform(game, agent, seed):
    draw = np.random.default_rng(seed)
    return lambda seen: draw.integers(game.params.num_ingredients, size=len(seen))


def play(names, games=GAMES, seed=7, **params):
    """Success of each game, whether the chef's first ingredient was unique (NaN: none is), by one batch."""
    env = chef.vector_env(num_envs=games, autoreset_mode="disabled", **params)
    policies = {
        agent: uniform(env.game, agent, 1) if name == "random" else heuristics.POLICIES[name](env.game, agent, seed=i)
        for i, (agent, name) in enumerate(zip(env.possible_agents, names.split(":"), strict=True))
    }
    observations, infos = env.reset(seed=seed)
    success, final = np.full(games, np.nan), np.zeros_like(observations["chef_0"])
    left = np.ones(games, bool)
    while left.any():
        actions = {a: policy(observations[a]) for a, policy in policies.items()}
        observations, _, terminated, _, infos = env.step(actions)
        ended = terminated["chef_0"] & left
        success[ended] = infos["chef_0"]["success"][ended]
        final[ended] = observations["chef_0"][ended]
        left &= ~ended
        if ended.any():
            env.reset(options={"reset_mask": terminated["chef_0"]})
            observations = {a: o.copy() for a, o in env._out(env._observations).items()}
    return success, unique_first(env.game, final)


def within(values, expected, also=0.0005):
    """Within 4 standard errors, and half a unit of the last digit that the documents give."""
    values = values[~np.isnan(values)]
    error = np.sqrt(max(expected * (1 - expected), 1e-4) / len(values))
    assert abs(values.mean() - expected) < 4 * error + also, (values.mean(), expected)


@pytest.mark.parametrize("names", LADDER)
def test_the_ladder(names):
    success, first = play(names)
    within(success, LADDER[names], 0.003 if names == "literal:bayes_literal" else 0.0006)
    chef_plays = names.partition(":")[0]
    if chef_plays == "literal":
        within(first, 0.36, 0.005)
    elif chef_plays != "code_1":
        assert np.nanmean(first) == 1.0
    else:
        assert 0.45 < np.nanmean(first) < 0.54


@pytest.mark.parametrize(("names", "low", "high"), [("code_1:code_2", 0.83, 0.88), ("code_1:rsa1", 0.85, 0.87),
                                                    ("rsa1:code_1", 0.97, 0.985)])  # fmt: skip
def test_private_codes_are_no_language(names, low, high):
    success, _ = play(names)
    assert low < success.mean() < high


def test_uniform_play_hardly_ever_wins():
    within(play("random:random")[0], 0.0014, 0.0001)


@pytest.mark.parametrize("names", HARD)
def test_the_ladder_of_the_hard_preset(names):
    within(play(names, games=3000, preset="hard")[0], HARD[names], 0.01)


@pytest.mark.parametrize(("names", "expected"), [("literal:bayes_literal", 0.833), ("unique_first:bayes_unique", 0.992),
                                                 ("rsa1:rsa1", 0.9993)])  # fmt: skip
def test_the_ladder_of_the_test_split(names, expected):
    within(play(names, games=6000, split="test")[0], expected, 0.005)


# Beliefs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["literal", "unique", "rarest", "rsa1", "rsa2", "code_1"])
def test_posteriors_equal_brute_force(name):
    """Bayes over whole games: for each dish as target, the product of the chances of all the chef's moves."""
    model = heuristics.MODELS[name][0]
    env = chef.vector_env(num_envs=300, autoreset_mode="disabled")
    observations, _ = env.reset(seed=8)
    chef_plays = heuristics.POLICIES["literal"](env.game, "chef_0", seed=2)
    other = heuristics.POLICIES["elimination"](env.game, "assistant_0", seed=3)
    compared = 0
    for _ in range(4):
        open_games = np.flatnonzero(~env.snapshot()["done"])
        seen = read(env.game, observations["assistant_0"])
        found = heuristics.posterior(seen, model)
        for w in open_games[:60]:
            weights = []
            for k in range(4):
                weight, work, possible = 1.0, np.zeros(10, int), np.ones((1, 4), bool)
                belief = np.full((1, 4), 0.25)
                for t, kind in enumerate(int(m) for m in seen.moves[w] if m >= 0):
                    if t % 2 == 0:
                        chances = model(seen.recipe[w][None], work[None], belief, possible, t)[0]
                        weight *= chances[k, kind] + heuristics.SMOOTH
                        belief = belief * (chances[:, kind] + heuristics.SMOOTH)
                    work[kind] += 1
                    possible = np.array([[all(d >= work) and any(d != work) for d in seen.recipe[w]]])
                    belief = belief * possible / (belief * possible).sum()
                    weight *= possible[0, k]
                weights.append(weight)
            np.testing.assert_allclose(found[w], np.array(weights) / sum(weights), atol=1e-9)
            compared += 1
        observations = step_open(env, {"chef_0": chef_plays, "assistant_0": other}, observations)
    assert compared > 150


def step_open(env, policies, observations):
    """One step in which finished worlds begin anew first."""
    done = env.snapshot()["done"]
    if done.any():
        observations, _ = env.reset(options={"reset_mask": done})
    return env.step({a: policy(observations[a]) for a, policy in policies.items()})[0]


def test_beliefs_of_the_example():
    """3 is in dish 2 only; 2 is one of four kinds of every dish; a chef who says 7 is understood at once."""
    env = chef.env()
    example = [[0, 1, 2, 6], [2, 2, 4, 8, 9], [2, 3, 6, 7, 7], [1, 2, 2, 8, 9]]
    assistant = heuristics.POLICIES["bayes_literal"](env.game, "assistant_0")
    for move, expected in ((3, [0, 0, 1, 0]), (2, [0.25, 0.25, 0.25, 0.25])):
        env.reset(seed=1, options={"recipe": example, "target": 2})
        env.step(move)
        np.testing.assert_allclose(assistant.beliefs(env.observe("assistant_0")[None])[0], expected, atol=1e-8)
    rsa = heuristics.POLICIES["rsa1"](env.game, "assistant_0")
    env.reset(seed=1, options={"recipe": example, "target": 2})
    env.step(7)
    np.testing.assert_allclose(rsa.beliefs(env.observe("assistant_0")[None])[0], [0, 0, 1, 0], atol=1e-6)


def test_policies_draw_from_their_own_seed():
    env = chef.vector_env(num_envs=200)
    observations, _ = env.reset(seed=1)
    make = partial(heuristics.POLICIES["literal"], env.game, "chef_0")
    first, same, other = (make(seed)(observations["chef_0"]) for seed in (1, 1, 2))
    assert (first == same).all() and (first != other).any()


# The exact value --------------------------------------------------------------------------------------------------


def counts(*dishes):
    return tuple(tuple(dish.count(j) for j in range(10)) for dish in dishes)


def test_the_value_of_recipes():
    assert solver.value(counts([0, 0], [0, 1], [1, 1], [2])) == 0.75
    assert solver.value(counts([0])) == 1.0
    assert solver.value(counts([0], [0, 0])) == 1.0  # the game ends, or it does not
    env = chef.vector_env(num_envs=60)
    for recipe in read(env.game, env.reset(seed=3)[0]["chef_0"]).recipe:
        assert solver.value(tuple(map(tuple, recipe.tolist()))) == 1.0


def test_representatives_are_distinct_and_contained():
    env = chef.vector_env(num_envs=500)
    recipes = read(env.game, env.reset(seed=3)[0]["chef_0"]).recipe
    chosen = solver.representatives(recipes, 5)
    assert (chosen >= 0).all()  # Hall's condition fails about once in 1e9 recipes
    assert (np.sort(chosen, axis=1)[:, 1:] > np.sort(chosen, axis=1)[:, :-1]).all()
    assert (np.take_along_axis(recipes, chosen[:, :, None], axis=2) > 0).all()
    assert (chosen == solver.representatives(recipes, 5)).all()
    assert (chosen != solver.representatives(recipes, 6)).any()
    impossible = np.array([counts([0], [0, 0], [1])])
    assert sorted(solver.representatives(impossible, 1)[0].tolist()) == [-1, 0, 1]
