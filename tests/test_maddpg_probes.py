"""Tiny games whose values are known by hand: what a learner with a given fault gets wrong is visible at once.

Each game is a function that plays uniformly at random and hands transitions to the learner, so what is probed is
the learner alone. The numbers (P1 ...) are those of the table of probes in the documents.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from maddpg.config import MaddpgConfig  # noqa: E402
from maddpg.learner import Learner  # noqa: E402
from maddpg.task import Action, Task  # noqa: E402

TWO = Action("discrete", 2)
STICK = Action("box", 1, low=(-1.0,), high=(1.0,))
KINDS = [{}, {"shared_batch": False, "activation": "relu"}, {"actor_gradient": "expected"}, {"sharing": "role"}]


def game(agents: int = 2, size: int = 2, action: Action = TWO) -> Task:
    """Agents of one role."""
    names = tuple(f"agent_{i}" for i in range(agents))
    return Task(names, (size,) * agents, (action,) * agents, ("agent",) * agents)


def make(task: Task, **options) -> Learner:
    settings = {
        "hidden": (32, 32),
        "batch_size": 128,
        "buffer_capacity": 4096,
        "reward_scale": 1.0,
        "gamma": 0.9,
        "tau": 0.05,
        "actor_lr": 5e-3,
        "critic_lr": 1e-2,
        "lr_decay": "exp",
        "lr_final": 0.05,
        "grad_clip": 5.0,
        **options,
    }
    return Learner(task, MaddpgConfig(**settings), "cpu", 600)


def train(learner: Learner, rounds: int = 600) -> Learner:
    for i in range(rounds):
        metrics = learner.update(i)
    assert all(np.isfinite(float(v)) for v in metrics.values())
    return learner


def remember(learner: Learner, observations, rewards, after, over, actions=None, valid=None) -> dict:
    """Store arrays given as lists over agents."""
    agents = learner.task.agents
    actions = learner.random_actions(len(over[0])) if actions is None else actions

    def named(arrays):
        return dict(zip(agents, arrays, strict=True))

    learner.store(
        named(observations), actions, named(rewards), named(after), named(over), None if valid is None else named(valid)
    )
    return actions


def values(learner: Learner, observations: list, actions: dict) -> np.ndarray:
    """What every critic says, [N, W], unscaled."""
    task = learner.task
    encoded = [a.encode(actions[n]) for n, a in zip(task.agents, task.actions, strict=True)]
    x = torch.from_numpy(np.concatenate([*observations, *encoded], 1).astype("f4"))
    q = learner.networks.first_critics(x.expand(len(task.agents), -1, -1))[:, 0]
    return q.numpy() / learner.config.reward_scale


@pytest.mark.parametrize(("constant", "scale"), [(1.0, 1.0), (1000.0, 0.001)])
def test_p1_constant(constant, scale):
    learner = make(game(), reward_scale=scale)
    zeros, ends = [np.zeros((2000, 2), "f4")] * 2, [np.ones(2000, bool)] * 2
    actions = remember(learner, zeros, [np.full(2000, constant)] * 2, zeros, ends)
    np.testing.assert_allclose(values(train(learner), zeros, actions), constant, rtol=0.01)


def test_p2_observation_reaches_the_right_critic():
    learner = make(game(3, 1))
    rng = np.random.default_rng(0)
    shown = [rng.choice([-1.0, 1.0], (2000, 1)).astype("f4") for _ in range(3)]
    actions = remember(learner, shown, [s[:, 0] for s in shown], shown, [np.ones(2000, bool)] * 3)
    np.testing.assert_allclose(values(train(learner), shown, actions), np.stack(shown)[..., 0], atol=0.05)


@pytest.mark.parametrize("options", KINDS)
def test_p3_delay(options):
    """A reward at the end of three steps: values gamma^2, gamma, 1."""
    learner = make(game(1, 3), **options)
    place = np.repeat(np.eye(4, 3, dtype="f4"), 600, 0)
    now, after = place[:1800], place[600:]
    ends = np.arange(1800) >= 1200
    actions = remember(learner, [now], [ends.astype(float)], [after], [ends])
    expected = np.repeat([0.81, 0.9, 1.0], 600)[None]
    np.testing.assert_allclose(values(train(learner), [now], actions), expected, atol=0.03)


@pytest.mark.parametrize("limit", [True, False])
def test_p4_time_limit_and_end_are_twins_with_different_values(limit):
    """Reward 1 a step. A time limit after step 3 does not change what lies ahead: 1 / (1 - gamma); an end does.
    The true last observation is the world's own, so the one after a reset never enters."""
    learner = make(game(1, 3), gamma=0.8, tau=0.1)
    place = np.repeat(np.eye(3, dtype="f4"), 600, 0)
    after = np.concatenate([place[600:], place[:600]])  # the time does not show: it goes round
    ends = (np.arange(1800) >= 1200) & (not limit)
    actions = remember(learner, [place], [np.ones(1800)], [after], [ends])
    expected = np.full(1800, 5.0) if limit else np.repeat([1 + 0.8 + 0.64, 1 + 0.8, 1.0], 600)
    np.testing.assert_allclose(values(train(learner), [place], actions)[0], expected, rtol=0.04)


@pytest.mark.parametrize("options", [*KINDS, {"twin_critics": True}, {"action_relaxation": "soft"}])
def test_p5_copy_the_observation(options):
    learner = make(game(2, 3, Action("discrete", 3)), **options)
    rng = np.random.default_rng(0)
    shown = [rng.integers(3, size=3000) for _ in range(2)]
    seen, ends = [np.eye(3, dtype="f4")[s] for s in shown], [np.ones(3000, bool)] * 2
    actions = learner.random_actions(3000)
    rewards = [(s == a).astype(float) for s, a in zip(shown, actions.values(), strict=True)]
    remember(learner, seen, rewards, seen, ends, actions)
    chosen = train(learner).act(dict(zip(learner.task.agents, seen, strict=True)), explore=False)
    assert all((chosen[a] == s).all() for a, s in zip(learner.task.agents, shown, strict=True))


def test_p5_copy_in_a_box():
    learner = make(game(2, 1, STICK))
    rng = np.random.default_rng(0)
    shown = [rng.uniform(-0.8, 0.8, (4000, 1)).astype("f4") for _ in range(2)]
    actions = learner.random_actions(4000)
    rewards = [-((s - a)[:, 0] ** 2) * 4 for s, a in zip(shown, actions.values(), strict=True)]
    remember(learner, shown, rewards, shown, [np.ones(4000, bool)] * 2, actions)
    chosen = train(learner).act(dict(zip(learner.task.agents, shown, strict=True)), explore=False)
    for agent, s in zip(learner.task.agents, shown, strict=True):
        assert np.abs(chosen[agent] - s).mean() < 0.1


@pytest.mark.parametrize("options", KINDS[:3])
def test_p6_opposed(options):
    """Agent 0's action pays it +1 and costs the other 10: it must not care."""
    learner = make(game(2, 1), **options)
    blank, ends = [np.zeros((2000, 1), "f4")] * 2, [np.ones(2000, bool)] * 2
    actions = learner.random_actions(2000)
    a = actions["agent_0"].astype(float)
    remember(learner, blank, [a, -10 * a], blank, ends, actions)
    assert (train(learner).act({n: blank[0] for n in learner.task.agents}, False)["agent_0"] == 1).all()
    np.testing.assert_allclose(values(learner, blank, actions), np.stack([a, -10 * a]), atol=0.2)


@pytest.mark.parametrize("options", KINDS[:3])
def test_p7_bystander(options):
    """Rewards depend on agent 1 only: agent 0's action has no value, and its policy has nothing to climb. (Adam
    takes steps of one length for any gradient, so it is the gradient that must vanish, with actors held still.)"""
    learner = make(game(2, 1), actor_lr=1e-12, logit_reg=0.0, **options)
    blank, ends = [np.zeros((2000, 1), "f4")] * 2, [np.ones(2000, bool)] * 2
    actions = learner.random_actions(2000)
    remember(learner, blank, [actions["agent_1"].astype(float)] * 2, blank, ends, actions)
    train(learner)
    for other in (0, 1):
        q = values(learner, [b[:2] for b in blank], {"agent_0": np.array([0, 1]), "agent_1": np.full(2, other)})
        np.testing.assert_allclose(q[0], other, atol=0.03)
    norms = []
    for _ in range(20):
        learner.networks.batch.draw(learner._batch_generators)
        norms.append(learner.networks.round(0.0).actor_norm)
    bystander, mover = torch.stack(norms).mean(0).tolist()
    # a straight-through gradient takes slopes, where the values' differences are what vanishes exactly
    assert bystander < (0.05 if options.get("actor_gradient") == "expected" else 0.4) * mover


@pytest.mark.parametrize("sharing", ["separate", "role"])
def test_p11_different_roles(sharing):
    """Reward where the two choose differently: a shared policy can do it, because it knows who it is."""
    learner = make(game(2, 1), sharing=sharing, epsilon=0.0)
    blank, ends = [np.zeros((500, 1), "f4")] * 2, [np.ones(500, bool)] * 2
    seen = dict(zip(learner.task.agents, blank, strict=True))
    for _ in range(20):  # it takes on-policy play for the two to agree on who does what
        actions = learner.act(seen, explore=True)
        differ = (actions["agent_0"] != actions["agent_1"]).astype(float)
        remember(learner, blank, [differ] * 2, blank, ends, actions)
        for i in range(20):
            learner.update(i)
    chosen = learner.act(seen, explore=True)
    assert (chosen["agent_0"] != chosen["agent_1"]).mean() > 0.8


@pytest.mark.parametrize("gradient", ["gumbel", "expected"])
def test_p15_strangers(gradient):
    """Other sizes and kinds of spaces in one game: each solves its own copying."""
    actions = (Action("discrete", 3), Action("box", 2, low=(0.0, 0.0), high=(1.0, 4.0)), Action("discrete", 2, start=5))
    task = Task(("a_0", "b_0", "c_0"), (3, 7, 2), actions, ("a", "b", "c"))
    learner = make(task, actor_gradient=gradient)
    rng, rows = np.random.default_rng(0), 4000
    a, c = rng.integers(3, size=rows), rng.integers(2, size=rows)
    b = rng.normal(size=(rows, 7)).astype("f4") * 0.3
    seen = [np.eye(3, dtype="f4")[a], b, np.eye(2, dtype="f4")[c]]
    played = learner.random_actions(rows)
    goal = np.stack([0.5 + 0.3 * np.sign(b[:, 0]), np.full(rows, 1.0)], 1)
    far = ((played["b_0"] - goal) / [1, 4]) ** 2
    rewards = [(played["a_0"] == a).astype(float), -4 * far.sum(1), (played["c_0"] == c + 5).astype(float)]
    remember(learner, seen, rewards, seen, [np.ones(rows, bool)] * 3, played)
    chosen = train(learner).act(dict(zip(task.agents, seen, strict=True)), explore=False)
    assert (chosen["a_0"] == a).all() and (chosen["c_0"] == c + 5).all()
    clear = np.abs(b[:, 0]) > 0.15
    assert np.abs((chosen["b_0"] - goal) / [1, 4])[clear].mean() < 0.12


def test_p17_death():
    """Three steps of reward 1 for both; agent 1 ends after the second. Agent 0's value does not depend on what
    stands in the rows of the dead, and agent 1's ends with it."""
    learner = make(game(2, 3), gamma=0.5)
    place = np.repeat(np.eye(4, 3, dtype="f4"), 600, 0)
    now, after = place[:1800], place[600:]
    time = np.repeat([0, 1, 2], 600)
    ends, valid = [time == 2, time >= 1], [np.ones(1800, bool), time < 2]
    junk = np.where(valid[1][:, None], now, 7.0).astype("f4")
    actions = remember(
        learner, [now, junk], [np.ones(1800), np.where(valid[1], 1.0, 50.0)], [after] * 2, ends, None, valid
    )
    train(learner)
    gone = [now, np.where(valid[1][:, None], now, 0.0)]
    # a dead agent's action columns are zero: ask for them by an action that no column stands for
    q = values(learner, gone, {"agent_0": actions["agent_0"], "agent_1": np.where(valid[1], actions["agent_1"], -1)})
    np.testing.assert_allclose(q[0], np.repeat([1.75, 1.5, 1.0], 600), atol=0.04)
    np.testing.assert_allclose(q[1][valid[1]], np.repeat([1.5, 1.0], 600), atol=0.04)


def test_p20_scale():
    """Rewards times 1000 with the scale divided by as much: the same learner."""
    played = []
    for constant in (1.0, 1000.0):
        learner = make(game(1, 2), reward_scale=1 / constant)
        shown = np.random.default_rng(0).integers(2, size=1000)
        seen = np.eye(2, dtype="f4")[shown]
        actions = learner.random_actions(1000)
        reward = constant * (actions["agent_0"] == shown)
        remember(learner, [seen], [reward], [seen], [np.ones(1000, bool)], actions)
        played.append(train(learner, 100).act({"agent_0": seen}, False)["agent_0"])
    assert (played[0] == played[1]).all()
