"""The learner's arithmetic: networks against automatic differentiation, rounds against a plain loop, masks,
targets, sharing, the buffer, and being put away and taken up again."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from gymnasium import spaces

torch = pytest.importorskip("torch")

from benchmarks.plain_maddpg import PlainMaddpg  # noqa: E402
from maddpg.actors import Actors, best, gumbel, sample, streams, uniform  # noqa: E402
from maddpg.algorithms import find  # noqa: E402
from maddpg.config import MaddpgConfig  # noqa: E402
from maddpg.errors import UserError  # noqa: E402
from maddpg.learner import Learner  # noqa: E402
from maddpg.replay import Replay  # noqa: E402
from maddpg.stacks import Adam, Net, Pass, Shape, Stack, clip, initial, polyak  # noqa: E402
from maddpg.task import Action, Incompatible, Task  # noqa: E402

BOX = Action("box", 2, low=(0.0, -2.0), high=(1.0, 2.0))
TAG = Task(
    ("adversary_0", "controller_0", "collector_0_0", "collector_0_1"),
    (8, 10, 20, 20),
    (Action("discrete", 5),) * 4,
    ("adversary", "controller", "collector", "collector"),
    25,
)
MIXED = Task(
    ("runner_0", "pilot_0", "runner_1"),
    (4, 6, 4),
    (Action("discrete", 3, start=1), BOX, Action("discrete", 3, start=1)),
    ("runner", "pilot", "runner"),
)
SMALL = {"hidden": (16, 12), "batch_size": 32, "buffer_capacity": 512, "warmup_steps": 32}


@pytest.fixture
def double():
    """Everything that is made anew in float64, so that two orders of summation agree to many digits."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make(task: Task = TAG, rounds: int = 100, **options) -> Learner:
    return Learner(task, MaddpgConfig(**{**SMALL, **options}), "cpu", rounds)


def arrays(task: Task, worlds: int, seed: int = 0) -> tuple[dict, dict, dict, dict]:
    """Observations, rewards, next observations and no ends, at random."""
    rng = np.random.default_rng(seed)
    sizes = dict(zip(task.agents, task.observation_sizes, strict=True))
    before, after = ({a: rng.normal(size=(worlds, d)).astype("f4") for a, d in sizes.items()} for _ in range(2))
    rewards = {a: rng.normal(size=worlds) for a in task.agents}
    return before, rewards, after, {a: np.zeros(worlds, bool) for a in task.agents}


def fill(learner: Learner, worlds: int = 200, seed: int = 0) -> Learner:
    before, rewards, after, over = arrays(learner.task, worlds, seed)
    learner.store(before, learner.random_actions(worlds), rewards, after, over)
    return learner


# ---------------------------------------------------------------------------------------------- the task


class FakeVenv:
    def __init__(self, observations: dict, actions: dict):
        self.possible_agents = list(observations)
        self.observation_space, self.action_space = observations.get, actions.get


def test_roles_are_name_prefixes_of_equal_spaces():
    box = {"agent_0": spaces.Box(-1, 1, (3,)), "agent_1": spaces.Box(-1, 1, (3,)), "agent_2": spaces.Box(-1, 1, (4,))}
    box["son_0_1"] = spaces.Box(-1, 1, (3,))
    task = Task.of(FakeVenv(box, dict.fromkeys(box, spaces.Discrete(5))))
    assert task.roles == ("agent", "agent", "agent_2", "son")
    assert task.role_names == ("agent", "agent_2", "son")
    assert [g.agents for g in task.groups] == [("agent_0", "agent_1", "son_0_1"), ("agent_2",)]
    assert task.slots == ("agent_0", "agent_1", "son_0_1", "agent_2")


@pytest.mark.parametrize(
    ("observation", "action", "word"),
    [
        (spaces.Discrete(3), spaces.Discrete(2), "flatten"),
        (spaces.Box(0, 1, (2, 2)), spaces.Discrete(2), "flatten"),
        (spaces.Box(0, 1, (2,)), spaces.MultiDiscrete([2, 3]), "Discrete"),
        (spaces.Box(0, 1, (2,)), spaces.Box(-np.inf, np.inf, (2,)), "finite"),
    ],
)
def test_spaces_that_cannot_be_trained_are_refused(observation, action, word):
    with pytest.raises(Incompatible, match=word):
        Task.of(FakeVenv({"a": observation}, {"a": action}))


@pytest.mark.parametrize("number", [2, np.int64(2), np.int8(2), np.array(2), np.array([2]), np.uint8(2)])
def test_any_integer_becomes_one_hot(number):
    assert Action("discrete", 5).encode(number).tolist() == [[0, 0, 1, 0, 0]]
    assert Action("discrete", 3, start=1).encode(number).tolist() == [[0, 1, 0]]


def test_box_actions_go_there_and_back():
    actions = np.float32([[0.0, -2.0], [0.25, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(BOX.encode(actions), [[-1, -1], [-0.5, 0.5], [1, 1]])
    np.testing.assert_allclose(BOX.decode(BOX.encode(actions)), actions)


def test_refusals_of_the_table():
    with pytest.raises(UserError, match="maddpg"):
        find("madpg")
    with pytest.raises(Incompatible, match="sharing=role"):
        make(TAG, sharing="all")
    with pytest.raises(Incompatible, match="buffer_capacity"):
        make(TAG, buffer_capacity=16)


# --------------------------------------------------------------------------------------------- the stacks


def differentiable(shape: Shape, rows: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The same networks out of einsum, for automatic differentiation."""
    parts = Net(shape, rows)
    for i, (w, b) in enumerate(zip(parts.weights[:-1], parts.biases[:-1], strict=True)):
        b = b[:, None]
        if i == 0 and parts.identity is not None:
            b = b + torch.stack([parts.identity[k, k] for k in range(len(rows))])[:, None]
        x = torch.einsum("nbi,nio->nbo", x, w) + b
        x = torch.nn.functional.leaky_relu(x, 0.1) if shape.activation == "leaky_relu" else x.relu()
    return torch.einsum("nbi,noi->nob", x, parts.weights[-1]) + parts.biases[-1][..., None]


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
@pytest.mark.parametrize("hidden", [(7,), (7, 5), (7, 5, 6)])
@pytest.mark.parametrize(("outputs", "index"), [(1, None), (4, None), (4, [0, 1, 0])])
def test_gradients_equal_automatic_ones(double, activation, hidden, outputs, index):
    shape = Shape(3, hidden, outputs, activation, identities=0 if index is None else 3)
    flat = torch.randn(3 if index is None else 2, shape.size)
    stack, gradient = Stack(shape, flat.clone(), index), Stack(shape, torch.zeros_like(flat), index)
    x, pull = torch.randn(3, 20, 3), torch.randn(3, outputs, 20)
    room = Pass(shape, 3, 20, x.device)
    y = room.forward(stack.net, x)
    leaf = flat.clone().requires_grad_()
    rows = leaf if index is None else leaf[torch.tensor(index)]
    expected = differentiable(shape, rows, x)
    torch.testing.assert_close(y, expected)
    if index is not None:  # a shared policy's gradient is the mean over the agents that play it
        pull[0], pull[2] = pull[0] / 2, pull[2] / 2
    (expected * pull).sum().backward()
    if index is not None:
        pull[0], pull[2] = pull[0] * 2, pull[2] * 2
    room.back_all(stack.net, pull, x, gradient.net)
    gradient.collect()
    torch.testing.assert_close(gradient.flat, leaf.grad)


def test_first_parameters_are_xavier_and_belong_to_one_stream():
    shape = Shape(30, (64,), 5)
    row = initial(shape, torch.Generator().manual_seed(1), torch.device("cpu"))
    net = Net(shape, row[None])
    bound = np.sqrt(2) * np.sqrt(6 / 94)
    assert bound * 0.98 < float(net.weights[0].abs().max()) <= bound
    assert all((b == 0.01).all() for b in map(lambda b: b.round(decimals=6), net.biases))


def test_a_stack_equals_its_members_trained_alone():
    torch.manual_seed(0)
    shape = Shape(6, (16, 16), 2)
    flat = torch.randn(3, shape.size) * 0.3
    x, y = torch.randn(3, 40, 6), torch.randn(3, 2, 40) * torch.tensor([1.0, 100.0, 0.01])[:, None, None]

    def train(members: slice) -> torch.Tensor:
        stack = Stack(shape, flat[members].clone())
        adam, room = Adam([stack]), Pass(shape, len(stack.flat), 40, x.device)
        for _ in range(50):
            error = room.forward(stack.net, x[members]) - y[members]
            room.back_all(stack.net, error / 40, x[members], adam.gradients[0].net)
            adam.step(1e-2, 0.5)
        return stack.flat

    together = train(slice(0, 3))
    for i in range(3):
        torch.testing.assert_close(together[i : i + 1], train(slice(i, i + 1)), rtol=1e-4, atol=1e-6)


def test_clipping_is_per_member():
    gradients = torch.tensor([[3.0, 4.0], [0.03, 0.04]])
    norms = clip(gradients, 0.5)
    torch.testing.assert_close(norms, torch.tensor([5.0, 0.05]))
    torch.testing.assert_close(gradients, torch.tensor([[0.3, 0.4], [0.03, 0.04]]))
    untouched = torch.full((1, 2), 9.0)
    clip(untouched, 0.0)
    assert (untouched == 9.0).all()


def test_polyak():
    shape = Shape(2, (3,), 1)
    target, stack = Stack(shape, torch.full((2, shape.size), 1.0)), Stack(shape, torch.full((2, shape.size), 3.0))
    polyak([target], [stack], 0.1)
    torch.testing.assert_close(target.flat, torch.full((2, shape.size), 1.2))


def test_best_takes_the_first_of_equals():
    values = torch.tensor([[0.0, 2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]]).T[None]  # [1, 4, 2]
    assert best(values)[0].T.int().tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


def test_samples_are_one_hots_drawn_by_their_probabilities():
    p = torch.tensor([0.1, 0.2, 0.0, 0.7])
    hot = sample(p.log()[None, :, None].expand(1, 4, 50_000), [torch.Generator().manual_seed(0)])
    assert (hot.sum(1) == 1).all()
    torch.testing.assert_close(hot[0].float().mean(1), p, atol=0.01, rtol=0)
    assert not hot[0, 2].any()


# ------------------------------------------------------------------------------ rounds against a plain loop


class SameNoise:
    """Gumbel noise for the plain loop, drawn as the learner draws it."""

    def __init__(self, learner: Learner):
        self.generators = [torch.Generator() for _ in learner.task.slots]
        self.batch = torch.Generator()

    def follow(self, learner: Learner) -> torch.Tensor:
        """Take over the learner's streams; returns the rows it will draw, [M, B, row]."""
        for mine, its in zip(self.generators, learner.actors.generators, strict=True):
            mine.set_state(its.get_state())
        self.batch.set_state(learner._shared.get_state())
        b, n = learner.config.batch_size, len(self.generators)
        m = 1 if learner.config.shared_batch else n
        rows = torch.empty(m * b, learner.replay.width)
        learner.replay.sample(rows, [self.batch] if m == 1 else self.generators)
        share = uniform(self.generators, m, b)
        own = gumbel(self.generators, 5, b).transpose(1, 2)
        targets = [(j, share[j, 0 if m == 1 else i], True) for i in range(n) for j in range(n)]
        self.queue = targets + [(i, own[i], False) for i in range(n)]
        return rows.view(m, b, -1)

    def __call__(self, agent: int, logits: torch.Tensor) -> torch.Tensor:
        due, noise, by_share = self.queue.pop(0)
        assert due == agent
        if by_share:  # the learner draws targets by one uniform number, not by noise on each logit
            reached = logits.softmax(1).cumsum(1)
            index = (reached <= noise[:, None] * reached[:, -1:]).sum(1)
            noise = 1e6 * torch.nn.functional.one_hot(index, 5)
        return noise


def copy_into(plain: torch.nn.Module, net: Net, i: int) -> None:
    linear = [layer for layer in plain if isinstance(layer, torch.nn.Linear)]
    for k, layer in enumerate(linear):
        weight = net.weights[k][i]
        layer.weight.data.copy_(weight if k == len(linear) - 1 else weight.T)
        layer.bias.data.copy_(net.biases[k][i])


def flatten(plain: torch.nn.Module) -> torch.Tensor:
    linear = [layer for layer in plain if isinstance(layer, torch.nn.Linear)]
    parts = [(m.weight if m is linear[-1] else m.weight.T, m.bias) for m in linear]
    return torch.cat([p.detach().reshape(-1) for pair in parts for p in pair])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
def test_rounds_equal_a_plain_loop_over_agents(double, shared, activation):
    options = {"lr_decay": "none", "actor_lr": 0.01, "critic_lr": 0.01, "actor_gradient": "gumbel"}
    learner = fill(make(shared_batch=shared, activation=activation, **options))
    task, noise = learner.task, SameNoise(learner)
    plain = PlainMaddpg(
        [8, 10, 20, 20], 5, (16, 12), activation == "leaky_relu", gamma=0.9, tau=0.01, logit_reg=1e-3, noise=noise
    )
    stacks = [s.net for s in learner.actors.stacks]
    members = [(stacks[g], i) for g, group in enumerate(task.groups) for i in range(len(group.agents))]
    for i, (net, k) in enumerate(members):
        for nets in (plain.actors, plain.actor_targets):
            copy_into(nets[i], net, k)
        for nets in (plain.critics, plain.critic_targets):
            copy_into(nets[i], learner.networks.critics.net, i)
    for index in range(50):
        batch = noise.follow(learner)
        learner.update(index)
        batches = []
        for rows in batch.expand(4, -1, -1):
            r = learner.replay
            rows = rows.double()
            split = [rows[:, r.observation], rows[:, r.action], rows[:, r.reward], rows[:, r.next_observation]]
            sizes = list(task.observation_sizes)
            batches.append(
                (
                    list(split[0].split(sizes, 1)),
                    list(split[1].split(5, 1)),
                    [0.1 * x for x in split[2].unbind(1)],
                    list(split[3].split(sizes, 1)),
                    list(rows[:, r.terminated].unbind(1)),
                )
            )
        plain.round(batches)
    for i, (net, k) in enumerate(members):
        torch.testing.assert_close(net.rows[k], flatten(plain.actors[i]), rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(learner.networks.critics.flat[i], flatten(plain.critics[i]), rtol=1e-6, atol=1e-8)
        targets = learner.networks.critic_targets.flat[i]
        torch.testing.assert_close(targets, flatten(plain.critic_targets[i]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("task", [TAG, MIXED])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("gradient", "relaxation"), [("expected", "hard"), ("gumbel", "soft"), ("gumbel", "hard")])
def test_actor_gradients_equal_automatic_ones(double, task, shared, gradient, relaxation):
    """All kinds of actors: the exact mean over actions, soft and straight-through samples, tanh."""
    learner = fill(
        make(task, shared_batch=shared, actor_gradient=gradient, action_relaxation=relaxation, grad_clip=0.0)
    )
    networks = learner.networks
    networks.batch.draw(learner._batch_generators)
    joint = networks.batch.joint.clone()
    weight = torch.rand(len(task.agents), 32)
    saved = [g.get_state() for g in learner.actors.generators]
    critics = networks.critics.flat.clone()
    before = [stack.flat.clone() for stack in learner.actors.stacks]
    networks._actor_step(weight, 1.0)
    assert torch.equal(critics, networks.critics.flat), "the critics are constants in the actors' pass"
    for generator, state in zip(learner.actors.generators, saved, strict=True):
        generator.set_state(state)
    width = task.observation_width
    for g, (group, flat) in enumerate(zip(task.groups, before, strict=True)):
        shape, k, d = learner.actors.stacks[g].shape, group.action.size, group.observation_size
        leaf = flat.clone().requires_grad_()
        loss = torch.zeros(())
        for i, slot in enumerate(range(group.lo, group.hi)):
            at = group.observation_at + i * d
            out = differentiable(shape, leaf[i : i + 1], joint[slot : slot + 1, :, at : at + d])[0]  # [k, B]

            def value(action, slot=slot, at=width + group.action_at + i * k, k=k):
                x = torch.cat([joint[slot, :, :at], action.T, joint[slot, :, at + k :]], 1)
                return differentiable(networks.critics.shape, critics[slot : slot + 1], x[None])[0, 0]

            if group.action.kind == "box":
                q = value(out.tanh())
            elif gradient == "expected":
                each = [value(torch.eye(k)[a][:, None].expand(k, 32)) for a in range(k)]
                q = (out.softmax(0) * torch.stack(each)).sum(0)
            else:
                noisy = (out + gumbel(learner.actors.generators[slot : slot + 1], k, 32)[0]).softmax(0)
                hard = torch.nn.functional.one_hot(noisy.argmax(0), k).T
                q = value(noisy if relaxation == "soft" else hard + noisy - noisy.detach())
            loss = loss - (weight[slot] * q).sum() + 1e-3 * (weight[slot] * (out**2).mean(0)).sum()
        loss.backward()
        assert float(leaf.grad.abs().sum(1).min()) > 1e-4, "the gradient reaches every actor"
        torch.testing.assert_close(networks.actor_adam.gradients[g].flat, leaf.grad)


# -------------------------------------------------------------------------------- targets and masks


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("twin", [False, True])
def test_targets_bootstrap_unless_terminated(shared, twin):
    learner = make(shared_batch=shared, twin_critics=twin, reward_scale=0.5, target_action="argmax")
    before, rewards, after, over = arrays(TAG, 64)
    over["controller_0"][:32] = True
    learner.store(before, learner.random_actions(64), rewards, after, over)
    learner.networks.batch.draw(learner._batch_generators)
    target = learner.networks.targets().clone()
    batch = learner.networks.batch.rows.view(1 if shared else 4, 32, -1)
    acted = {a: learner.actors.act(after, explore=False)[a] for a in TAG.agents}
    for i, agent in enumerate(TAG.agents):
        rows = batch[0 if shared else i]
        for row, y in zip(rows, target[i], strict=True):
            w = int(np.flatnonzero(before[agent][:, 0] == row[i and sum(TAG.observation_sizes[:i])].item())[0])
            nexts = {a: after[a][w] * (not over[a][w]) for a in TAG.agents}
            hots = [np.eye(5)[acted[a][w]] * (not over[a][w]) for a in TAG.agents]
            x = torch.tensor(np.concatenate([*nexts.values(), *hots]), dtype=torch.float32)
            q = learner.networks.critics.net(x.expand(len(learner.networks.critics.flat), 1, -1)).view(-1, 4).amin(0)[i]
            expected = 0.5 * rewards[agent][w] + (0.0 if over[agent][w] else 0.9 * float(q))
            assert abs(expected - float(y)) < 1e-4


@pytest.mark.parametrize("gradient", ["gumbel", "expected"])
def test_an_agent_that_has_left_neither_learns_nor_matters(gradient):
    """Whatever stands in the columns of an agent that had left, no bit of any network depends on it."""
    after_training = []
    for noise in (0.0, 1e6):
        learner = make(actor_gradient=gradient)
        before, rewards, after, over = arrays(TAG, 200)
        valid = {a: np.ones(200, bool) for a in TAG.agents}
        gone = valid["collector_0_0"] = np.arange(200) % 2 == 0
        for field in (before, rewards, after):
            field["collector_0_0"][~gone] += noise
        over["collector_0_0"][~gone] = True
        learner.store(before, learner.random_actions(200), rewards, after, over, valid)
        for i in range(5):
            metrics = learner.update(i)
        assert all(np.isfinite(float(v)) for v in metrics.values())
        after_training.append(learner.state(replay=False)[0])
    assert all(torch.equal(after_training[0][k], after_training[1][k]) for k in after_training[0])


def test_losses_are_means_over_present_transitions_only():
    learner = make(reward_scale=1.0, gamma=0.0)
    before, rewards, after, over = arrays(TAG, 32)
    valid = {a: np.ones(32, bool) for a in TAG.agents}
    valid["adversary_0"] = np.arange(32) < 3
    actions = learner.random_actions(32)
    learner.store(before, actions, rewards, after, over, valid)
    batch = learner.networks.batch
    batch.draw(learner._batch_generators)
    q = learner.networks.critics.net(batch.joint)[0, 0]
    here = batch.valid[0] > 0
    assert 0 < here.sum() < 32
    expected = ((q - batch.reward[0]) ** 2)[here].mean()
    loss = learner.networks.round(1.0).critic[0]
    torch.testing.assert_close(loss, expected)


def test_a_batch_without_an_agent_leaves_its_gradient_zero():
    learner = make()
    before, rewards, after, over = arrays(TAG, 64)
    valid = {a: np.full(64, a != "controller_0") for a in TAG.agents}
    learner.store(before, learner.random_actions(64), rewards, after, over, valid)
    actor, critic = learner.actors.stacks[1].flat.clone(), learner.networks.critics.flat[1].clone()
    metrics = learner.update(0)
    assert float(metrics["critic_loss/controller_0"]) == 0
    assert torch.equal(actor, learner.actors.stacks[1].flat)
    assert torch.equal(critic, learner.networks.critics.flat[1])


def test_critics_see_all_observations_and_actions():
    for task, width in ((TAG, 58 + 20), (MIXED, 14 + 8)):
        learner = make(task)
        assert learner.networks.critics.shape.inputs == width
        assert learner.replay.joint == slice(0, width)


# ------------------------------------------------------------------------------------------- the buffer


def test_the_ring_wraps_and_keeps_the_newest():
    learner = make(buffer_capacity=40)
    before, rewards, after, over = arrays(TAG, 15)
    for step in range(5):
        rewards = {a: np.full(15, float(step)) for a in TAG.agents}
        learner.store(before, learner.random_actions(15), rewards, after, over)
    assert learner.size == 40
    kept = learner.replay.rows[:, learner.replay.reward.start]
    assert sorted(np.bincount(kept.int().numpy(), minlength=5).tolist()) == [0, 0, 10, 15, 15]
    big = make(buffer_capacity=40)
    fill(big, 100)
    assert big.size == 40 and big.replay.cursor == 0


@pytest.mark.parametrize("capacity", [20, 40, 80])
def test_a_buffer_of_another_capacity_takes_over_the_newest_rows(capacity):
    old, new = Replay(TAG, 40, torch.device("cpu")), Replay(TAG, capacity, torch.device("cpu"))
    old._append(torch.arange(55.0)[:, None].expand(55, old.width)[:30])
    old._append(torch.arange(30.0, 55.0)[:, None].expand(25, old.width))
    new.load(*old.state())
    assert sorted(new.rows[: new.size, 0].tolist()) == list(range(55 - min(40, capacity), 55))
    for buffer in (old, new):
        buffer._append(torch.full((1, old.width), 99.0))
    assert 99.0 in new.rows[: new.size, 0] and (capacity == 80 or 55.0 - min(40, capacity) not in new.rows[:, 0])


def test_actions_are_stored_as_one_hots():
    learner = fill(make(MIXED), 50)
    actions = learner.replay.rows[:50, learner.replay.action]
    runners = actions[:, :6].view(50, 2, 3)
    assert torch.equal(runners.sum(-1), torch.ones(50, 2)) and set(runners.unique().tolist()) == {0.0, 1.0}
    assert float(actions[:, 6:].abs().max()) <= 1


# ------------------------------------------------------------------------------------------------ acting


def test_actions_have_the_environments_types_and_ranges():
    learner = make(MIXED, noise_sigma=3.0)
    observations = arrays(MIXED, 400)[0]
    for actions in (learner.act(observations, True), learner.act(observations, False), learner.random_actions(400)):
        assert list(actions) == list(MIXED.agents)
        assert actions["runner_0"].dtype == np.int64 and actions["runner_0"].shape == (400,)
        assert set(np.unique(actions["runner_0"])) <= {1, 2, 3}
        assert actions["pilot_0"].dtype == np.float32 and actions["pilot_0"].shape == (400, 2)
        assert spaces.Box(np.float32(BOX.low), np.float32(BOX.high)).contains(actions["pilot_0"][0])
        assert (actions["pilot_0"] >= np.float32(BOX.low)).all() and (actions["pilot_0"] <= np.float32(BOX.high)).all()


def test_exploration_samples_the_policy_and_epsilon_mixes_in_uniform_play():
    learner = make()
    observation = {a: np.repeat(x, 20_000, 0) for a, x in arrays(TAG, 1)[0].items()}
    greedy = learner.act(observation, False)["adversary_0"]
    assert (greedy == greedy[0]).all()
    net = learner.actors.stacks[0].net
    p = net(torch.from_numpy(observation["adversary_0"][None, :1]))[0, :, 0].softmax(0).numpy()
    for epsilon in (0.0, 0.5):
        drawn = learner.actors.act(observation, True, epsilon)["adversary_0"]
        share = np.bincount(drawn, minlength=5) / 20_000
        np.testing.assert_allclose(share, (1 - epsilon) * p + epsilon / 5, atol=0.02)


def test_greedy_play_draws_nothing():
    learner = make(MIXED)
    states = [g.get_state() for g in learner.actors.generators]
    learner.act(arrays(MIXED, 8)[0], False)
    assert all(torch.equal(s, g.get_state()) for s, g in zip(states, learner.actors.generators, strict=True))


def test_an_agents_stream_does_not_depend_on_the_others():
    alone = dataclasses.replace(
        TAG, agents=TAG.agents[:1], observation_sizes=(8,), actions=TAG.actions[:1], roles=TAG.roles[:1]
    )
    both = [streams(t, 3, torch.device("cpu"))[0].get_state() for t in (TAG, alone)]
    assert torch.equal(*both)
    assert make(TAG).random_actions(9)["adversary_0"].tolist() == make(alone).random_actions(9)["adversary_0"].tolist()


def test_sharing_is_an_index():
    role, every = make(TAG, sharing="role"), make(dataclasses.replace(MIXED, actions=(BOX,) * 3), sharing="role")
    assert [s.flat.shape[0] for s in role.actors.stacks] == [1, 1, 1]
    assert [s.index is None for s in role.actors.stacks] == [True, True, False]
    assert [s.flat.shape[0] for s in every.actors.stacks] == [1, 1]
    same = dataclasses.replace(TAG, observation_sizes=(6,) * 4)
    learner = make(same, sharing="all")
    (stack,) = learner.actors.stacks
    assert stack.flat.shape[0] == 1 and learner.networks.critics.flat.shape[0] == 4
    stack.flat.copy_(stack.flat)
    Net(stack.shape, stack.flat).identity.zero_()
    stack.refresh()
    observations = dict.fromkeys(same.agents, np.random.default_rng(0).normal(size=(50, 6)).astype("f4"))
    actions = learner.act(observations, False)
    assert all((actions[a] == actions["adversary_0"]).all() for a in same.agents)
    two = make(dataclasses.replace(same, roles=("a", "b", "a", "b")), sharing="role")
    assert two.actors.stacks[0].index.tolist() == [0, 1, 0, 1]
    for learner in (role, two):
        fill(learner)
        before = [s.flat.clone() for s in learner.actors.stacks]
        learner.update(0)
        assert all(not torch.equal(b, s.flat) for b, s in zip(before, learner.actors.stacks, strict=True))


# ------------------------------------------------------------------------- schedules, seeds, state


def test_learning_rates_follow_the_plan():
    learner = make(rounds=101, lr_decay="linear", lr_final=0.1)
    assert [round(learner.lr_factor(i), 6) for i in (0, 50, 100, 200)] == [1.0, 0.55, 0.1, 0.1]
    learner = make(rounds=101, lr_decay="exp", lr_final=0.01)
    assert [round(learner.lr_factor(i), 6) for i in (0, 50, 100)] == [1.0, 0.1, 0.01]
    assert make(rounds=101, lr_decay="none").lr_factor(70) == 1.0


def run(learner: Learner, first: int, last: int) -> list[float]:
    values = []
    for i in range(first, last):
        observations = arrays(learner.task, 16, i)[0]
        actions = learner.act(observations, True)
        _, rewards, after, over = arrays(learner.task, 16, 1000 + i)
        learner.store(observations, actions, rewards, after, over)
        values += [float(v) for v in learner.update(i).values()]
    return values


OPTIONS = [
    {},
    {"shared_batch": False, "activation": "relu"},
    {"sharing": "role", "twin_critics": True},
    {"actor_gradient": "expected", "epsilon": 0.2, "target_action": "argmax"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("task", [TAG, MIXED])
def test_stop_and_go_on_with_the_same_bits(task, options):
    whole = fill(make(task, buffer_capacity=256, **options))
    values = run(whole, 0, 6)
    first = fill(make(task, buffer_capacity=256, **options))
    assert run(first, 0, 3) == values[: len(values) // 2]
    tensors, meta = first.state()
    tensors, meta = {k: v.clone() for k, v in tensors.items()}, json.loads(json.dumps(meta))
    assert all(t.is_contiguous() and t.device.type == "cpu" for t in tensors.values())
    run(first, 3, 5)  # what was put away is not touched by going on
    second = make(task, buffer_capacity=256, seed=99, **options)
    second.load(tensors, meta)
    assert run(second, 3, 6) == values[len(values) // 2 :]
    end, other = whole.state()[0], second.state()[0]
    assert end.keys() == other.keys() and all(torch.equal(end[k], other[k]) for k in end)


def test_seeds():
    assert run(fill(make()), 0, 3) == run(fill(make()), 0, 3)
    assert run(fill(make(seed=1)), 0, 3) != run(fill(make()), 0, 3)


def test_global_random_state_is_neither_used_nor_changed():
    torch.manual_seed(5)
    np.random.seed(5)
    one, state = run(fill(make()), 0, 2), (torch.get_rng_state(), np.random.get_state()[1].copy())
    torch.manual_seed(5)
    np.random.seed(5)
    assert torch.equal(state[0], torch.get_rng_state()) and (state[1] == np.random.get_state()[1]).all()
    torch.manual_seed(6)
    assert run(fill(make()), 0, 2) == one


@pytest.mark.parametrize("task", [TAG, MIXED])
@pytest.mark.parametrize("sharing", ["separate", "role"])
def test_actors_alone_act_like_the_learner(task, sharing):
    learner = fill(make(task, sharing=sharing))
    for i in range(5):
        learner.update(i)
    tensors, _ = learner.state(replay=False)
    policy = {k: v for k, v in tensors.items() if k.startswith("actor/")}
    assert policy.keys() == learner.actors.tensors().keys()
    actors = Actors.from_tensors(task, learner.config, policy)
    observations = arrays(task, 64)[0]
    one, two = learner.act(observations, False), actors.act(observations, False)
    assert all(np.array_equal(one[a], two[a]) for a in task.agents)
    with pytest.raises(Incompatible, match="does not fit"):
        Actors.from_tensors(TAG if task is MIXED else MIXED, learner.config, policy)
