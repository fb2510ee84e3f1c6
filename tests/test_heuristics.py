"""Scripted policies of the tag game: how strong they are, that they play every configuration, and what they may see."""

import math

import numpy as np
import pytest

from mpe_ext import simple_tag_while_c_v0 as tag
from mpe_ext.simple_tag_while_c.heuristics import POLICIES

CONFIGURATIONS = {
    "default": {},
    "v1_0_3": {"preset": "v1_0_3"},
    "VL": {"env_quality": "VL"},
    "H": {"env_quality": "H"},
    "VH": {"env_quality": "VH", "num_collector_each": 3},
    "crowd": {"num_adversaries": 3, "num_controller": 2, "num_collector_each": 3},
    "crowd, all collectors seen": {"num_controller": 3, "observe_all_collectors": True, "env_quality": "VH"},
    "one collector": {"num_collector_each": 1},
    "no adversaries": {"num_adversaries": 0},
    "no food": {"num_J": 0},
    "blind": {"n_detect": 0},
    "much food": {"num_J": 80, "n_detect": 80},
    "velocity first": {"integrator": "velocity_first"},
    "strict": {"strict_mode": True, "num_adversaries": 2},
    "strict at random": {"strict_mode": "random"},
    "continuous": {"continuous_actions": True},
    "food runs out": {"updating_J": False, "num_J": 2},
    "whole numbers": {"hit_reward": 10, "comm_radius": 1, "collector_max_speed": 2},
}


def play(adversary, team, num_envs=4000, seed=1):
    """One episode of every world; returns mean and standard error of the adversary's and the team's return."""
    env = tag.vector_env(num_envs=num_envs)
    rng = np.random.default_rng(seed)
    names = {agent: adversary if agent.startswith("adversary") else team for agent in env.possible_agents}
    policies = {agent: POLICIES[name](env.game, agent) for agent, name in names.items() if name != "random"}
    observations, infos = env.reset(seed=seed)
    for _ in range(env.max_cycles):
        actions = {
            agent: policies[agent](observations[agent]) if agent in policies else rng.integers(0, 5, num_envs)
            for agent in env.possible_agents
        }
        observations, _, _, _, infos = env.step(actions)
    returns = {agent: infos[agent]["episode_return"] for agent in env.possible_agents}
    chased = sum(returns[agent] for agent in returns if agent != "adversary_0")
    return {
        role: (values.mean(), values.std() / math.sqrt(num_envs))
        for role, values in (("adversary", returns["adversary_0"]), ("team", chased))
    }


@pytest.mark.parametrize(
    ("adversary", "team", "role", "bound"),
    [
        ("rules", "rules", "team", 14.0),
        ("lookahead", "lookahead", "team", 47.0),
        ("lookahead", "random", "adversary", 60.0),
        ("rules", "random", "adversary", 55.0),
    ],
)
def test_strength(adversary, team, role, bound):
    mean, error = play(adversary, team)[role]
    assert mean - 4 * error > bound


def surely_more(one, other):
    """Whether mean `one` is above mean `other` by 4 standard errors of the difference."""
    return one[0] - other[0] > 4 * math.hypot(one[1], other[1])


@pytest.mark.parametrize("opponent", POLICIES)
def test_lookahead_team_is_stronger_than_rules(opponent):
    assert surely_more(play(opponent, "lookahead")["team"], play(opponent, "rules")["team"])


def test_lookahead_adversary_is_stronger_than_rules():
    assert surely_more(play("lookahead", "random")["adversary"], play("rules", "random")["adversary"])


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_plays_every_configuration(configuration, name):
    env = tag.vector_env(num_envs=16, **CONFIGURATIONS[configuration])
    policies = {agent: POLICIES[name](env.game, agent) for agent in env.possible_agents}
    observations, _ = env.reset(seed=3)
    used = set()
    for _ in range(2 * env.max_cycles):  # over the end of an episode
        actions = {agent: policies[agent](observations[agent]) for agent in env.possible_agents}
        for agent, action in actions.items():
            assert all(env.action_space(agent).contains(a) for a in action)
            used |= set((action.argmax(1) if env.game.params.continuous_actions else action).tolist())
        observations, rewards, *_ = env.step(actions)
        assert all(np.isfinite(r).all() for r in rewards.values())
    assert {1, 2, 3, 4} <= used


@pytest.mark.parametrize("name", POLICIES)
def test_every_agent_finds_what_it_is_after(name):
    """In a crowd the columns of every agent differ: a contact, a food and a flight must still come about."""
    env = tag.vector_env(num_envs=400, num_adversaries=2, num_controller=2, num_collector_each=3, num_J=20)
    policies = {agent: POLICIES[name](env.game, agent) for agent in env.possible_agents}
    rng = np.random.default_rng(5)
    sums = {}
    for scripted in ("none", "adversary", "controller", "collector"):
        observations, _ = env.reset(seed=5)
        hits = {agent: 0 for agent in env.possible_agents}
        for _ in range(env.max_cycles):
            observations, _, _, _, infos = env.step(
                {
                    agent: policies[agent](observations[agent])
                    if agent.startswith(scripted)
                    else rng.integers(0, 5, 400)
                    for agent in env.possible_agents
                }
            )
            for agent in hits:
                hits[agent] += infos[agent]["collected" if agent.startswith("collector") else "hits"].mean()
        sums[scripted] = hits
    for agent in env.possible_agents:
        if agent.startswith("adversary"):
            assert sums["adversary"][agent] > 5 * sums["none"][agent]
        elif agent.startswith("controller"):
            assert sums["controller"][agent] < sums["none"][agent]
        else:
            assert sums["collector"][agent] > 3 * sums["none"][agent]


@pytest.mark.parametrize("name", POLICIES)
def test_acts_on_the_observation_alone(name):
    env = tag.vector_env(num_envs=64)
    observations, _ = env.reset(seed=8)
    rng = np.random.default_rng(8)
    for _ in range(5):
        observations, *_ = env.step({agent: rng.integers(0, 5, 64) for agent in env.possible_agents})
    observations = {agent: o.copy() for agent, o in observations.items()}
    other = tag.parallel_env()  # another game object, never reset
    order = rng.permutation(64)
    for agent in env.possible_agents:
        policy, seen = POLICIES[name](env.game, agent), observations[agent].copy()
        actions = policy(seen)
        env.step({a: rng.integers(0, 5, 64) for a in env.possible_agents})  # the world moves on, unseen
        np.testing.assert_array_equal(policy(seen), actions)  # nor does it remember
        np.testing.assert_array_equal(policy(seen[order]), actions[order])  # each world by itself
        np.testing.assert_array_equal(np.concatenate([policy(row[None]) for row in seen]), actions)
        np.testing.assert_array_equal(POLICIES[name](other.game, agent)(seen), actions)
        np.testing.assert_array_equal(seen, observations[agent])  # and it changes nothing


@pytest.mark.parametrize("name", POLICIES)
def test_continuous_pushes_are_the_discrete_ones(name):
    discrete, continuous = tag.vector_env(num_envs=32), tag.vector_env(num_envs=32, continuous_actions=True)
    (one, _), (other, _) = discrete.reset(seed=4), continuous.reset(seed=4)
    for _ in range(discrete.max_cycles - 1):
        actions, pushes = {}, {}
        for agent in discrete.possible_agents:
            np.testing.assert_array_equal(one[agent], other[agent])
            actions[agent] = POLICIES[name](discrete.game, agent)(one[agent])
            pushes[agent] = POLICIES[name](continuous.game, agent)(other[agent])
            assert pushes[agent].dtype == np.float32
            np.testing.assert_array_equal(pushes[agent], np.eye(5)[actions[agent]])
        one, other = discrete.step(actions)[0], continuous.step(pushes)[0]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("shape", [(8,), (3, 7), (3, 9), (1, 3, 8), ()])
def test_another_shape_is_an_error(name, shape):
    policy = POLICIES[name](tag.parallel_env().game, "adversary_0")
    with pytest.raises(ValueError, match=r"observations of 'adversary_0' are \[.*\], must be \[worlds, 8\]"):
        policy(np.zeros(shape, np.float32))


@pytest.mark.parametrize("name", POLICIES)
def test_no_worlds_no_actions(name):
    policy = POLICIES[name](tag.parallel_env().game, "collector_0_0")
    assert policy(np.zeros((0, 20), np.float32)).shape == (0,)
