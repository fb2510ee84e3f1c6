"""DQN: networks with a memory, the replay of decisions, one round against a plain loop, and games with known values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from maddpg.actors import streams  # noqa: E402
from maddpg.algorithms import check, find  # noqa: E402
from maddpg.collect import Transition  # noqa: E402
from maddpg.config import MaddpgConfig  # noqa: E402
from maddpg.decisions import Decisions  # noqa: E402
from maddpg.dqn import DqnLearner, RowAdam  # noqa: E402
from maddpg.dqn_config import DqnConfig  # noqa: E402
from maddpg.players import Cast, Trained  # noqa: E402
from maddpg.qnets import QActors, QShape, QStack  # noqa: E402
from maddpg.stacks import initial  # noqa: E402
from maddpg.task import Action, Incompatible, Task  # noqa: E402
from maddpg.train import Trainer  # noqa: E402
from maddpg.worlds import make_worlds  # noqa: E402

SMALL = DqnConfig(
    hidden=(32, 32), batch_size=64, buffer_capacity=5000, num_envs=50, tau=0.05, lr=5e-3, grad_clip=0.0, memory_size=16
)


def task(agents: int = 2, size: int = 3, choices: int = 2) -> Task:
    """Agents of one role."""
    names = tuple(f"agent_{i}" for i in range(agents))
    return Task(names, (size,) * agents, (Action("discrete", choices),) * agents, ("agent",) * agents)


def make(about: Task | None = None, rounds: int = 400, **options) -> DqnLearner:
    return DqnLearner(about or task(), replace(SMALL, **options), "cpu", rounds)


def step(about, observations, actions, rewards, following, *, valid, deciding, ended, terminated=None) -> Transition:
    """A transition of W worlds from arrays over agents, worlds first."""
    terminated = np.zeros_like(valid) if terminated is None else terminated
    columns = (observations, actions, rewards, following, terminated, valid, deciding)
    return Transition(*({a: np.asarray(c)[:, i] for i, a in enumerate(about.agents)} for c in columns), ended)


def random_play(about: Task, worlds: int, steps: int, seed: int, turns: bool):
    """Steps of a game that means nothing: random ends, and turns taken or everybody acting at once."""
    draw = np.random.default_rng(seed)
    n, d = len(about.agents), about.observation_sizes[0]

    def who():
        return np.eye(n, dtype=bool)[draw.integers(n, size=worlds)] if turns else np.ones((worlds, n), bool)

    seen, acting = draw.normal(size=(worlds, n, d)).astype("f4"), who()
    for _ in range(steps):
        following, after = draw.normal(size=(worlds, n, d)).astype("f4"), who()
        ended = draw.random(worlds) < 0.3
        terminated = np.repeat((ended & (draw.random(worlds) < 0.5))[:, None], n, axis=1)
        actions = draw.integers(about.actions[0].size, size=(worlds, n))
        rewards = draw.integers(-3, 4, size=(worlds, n)).astype(float)
        yield step(about, seen, actions, rewards, following, valid=acting, deciding=after, ended=ended,
                   terminated=terminated)  # fmt: skip
        seen = np.where(ended[:, None, None], draw.normal(size=following.shape).astype("f4"), following)
        acting = after


# Networks -------------------------------------------------------------------------------------------------------


def stack_of(memory: int, members: int = 3) -> QStack:
    shape = QShape(5, (7,), 4, "relu", 0, memory)
    generator = torch.Generator().manual_seed(1)
    rows = torch.stack([initial(shape, generator, torch.device("cpu")) for _ in range(members)])
    return QStack(shape, rows + 0.01 * torch.randn(rows.shape, generator=generator), list(range(members)))


def test_the_memory_is_a_gru():
    stack = stack_of(memory=6)
    parts, x = stack.parts(), torch.randn(3, 8, 5, 5)
    values = stack.unroll(parts, x)
    for i in range(3):
        plain = torch.nn.GRU(7, 6, batch_first=True)
        with torch.no_grad():
            plain.weight_ih_l0.copy_(parts["gru.input.weight"][i].T)
            plain.weight_hh_l0.copy_(parts["gru.memory.weight"][i].T)
            plain.bias_ih_l0.copy_(parts["gru.input.bias"][i])
            plain.bias_hh_l0.copy_(parts["gru.memory.bias"][i])
            hidden = torch.relu(x[i] @ parts["0.weight"][i] + parts["0.bias"][i])
            expected = plain(hidden)[0] @ parts["1.weight"][i].T + parts["1.bias"][i]
        torch.testing.assert_close(values[i], expected)


def test_acting_step_by_step_remembers_what_unrolling_does():
    about = task(agents=2, size=3, choices=4)
    actors = QActors(about, replace(SMALL, memory="gru"))
    draw = np.random.default_rng(2)
    seen = draw.normal(size=(6, 2, 9, 3)).astype("f4")  # steps, agents, worlds
    acting = draw.random((6, 9, 2)) < 0.6
    memory, sequences = actors.memory(9), {(i, w): [] for i in range(2) for w in range(9)}
    for now, turns in zip(seen, acting, strict=True):
        chosen = actors.act(dict(zip(about.agents, now, strict=True)), turns, memory, {"agent_0": 0.5, "agent_1": 0.5})
        for (i, w), sequence in sequences.items():
            if turns[w, i]:
                sequence.append((now[i, w], chosen[f"agent_{i}"][w]))
    stack = actors.stacks[0]
    parts = stack.parts()
    for (i, w), sequence in sequences.items():
        if not sequence:
            assert not memory.state[0][i, w].any()
            continue
        before = torch.zeros(1, 1, 4)
        state = torch.zeros(2, 1, stack.shape.memory)
        for observation, action in sequence:
            x = torch.cat([torch.from_numpy(observation).view(1, 1, 3), before], 2).expand(2, 1, 7)
            state = stack.remember(parts, stack.hidden(parts, x), state)
            before = torch.nn.functional.one_hot(torch.tensor([[action]]), 4).float()
        torch.testing.assert_close(memory.state[0][i, w], state[i, 0])
    memory.begin(np.arange(9) == 3)
    assert not memory.state[0][:, 3].any() and memory.state[0][:, 4].any()


def test_rows_of_adam_are_as_many_optimisers():
    start, generator = torch.randn(3, 10), torch.Generator().manual_seed(1)
    ours = RowAdam(start.clone())
    plain = [torch.nn.Parameter(row.clone()) for row in start]
    theirs = [torch.optim.Adam([p], lr=0.1) for p in plain]
    for members in ([0, 1], [1], [0, 1, 2], [2], [2, 0]):
        gradient = torch.randn(3, 10, generator=generator)
        ours.step(gradient, members, 0.1)
        for m in members:
            plain[m].grad = gradient[m].clone()
            theirs[m].step()
    torch.testing.assert_close(ours.flat, torch.stack([p.detach() for p in plain]))


# Decisions ------------------------------------------------------------------------------------------------------


def plain_sequences(about: Task, steps: list[Transition], length: int) -> dict[str, list]:
    """By agent, all sequences that these steps bring to an end: one world and one decision after the other."""
    found = {a: [] for a in about.agents}
    waiting, sequence = {}, {}
    for now in steps:
        for a in about.agents:
            for w in range(len(now.ended)):
                if now.valid[a][w]:
                    waiting[a, w] = [now.observations[a][w], int(now.actions[a][w]), 0.0]
                if (a, w) not in waiting:
                    continue
                waiting[a, w][2] += now.rewards[a][w]
                over = now.ended[w] or now.terminated[a][w]
                if over or now.deciding[a][w]:
                    observation, action, reward = waiting.pop((a, w))
                    row = (observation, action, reward, float(now.terminated[a][w]), now.next_observations[a][w])
                    sequence.setdefault((a, w), []).append(row)
                    if over or len(sequence[a, w]) == length:
                        found[a].append(sequence.pop((a, w)))
    return found


def same_sequences(found: list, expected: list) -> bool:
    def key(sequence):
        return [(o.tobytes(), a, r, t, f.tobytes()) for o, a, r, t, f in sequence]

    return sorted(map(key, found)) == sorted(map(key, expected))


def held(replay: Decisions, agent: int) -> list:
    """The sequences that an agent's ring holds."""
    ring, d = replay.rings[0][agent], replay.task.observation_sizes[0]
    found = []
    for number in range(ring.first, ring.sequences):
        at, length = ring.starts[number % ring.capacity], ring.lengths[number % ring.capacity]
        rows = ring.rows[(at + np.arange(length)) % ring.capacity].numpy()
        found.append([(r[:d], int(r[2 * d]), float(r[2 * d + 1]), float(r[2 * d + 2]), r[d : 2 * d]) for r in rows])
    return found


@pytest.mark.parametrize("turns", [True, False], ids=["turns", "simultaneous"])
@pytest.mark.parametrize("length", [1, 3, 50])
def test_decisions_equal_a_plain_record(turns, length):
    about = task()
    replay = Decisions(about, 10_000, length, torch.device("cpu"))
    steps = list(random_play(about, worlds=7, steps=60, seed=length, turns=turns))
    for now in steps:
        replay.remember(now)
    expected = plain_sequences(about, steps, length)
    for i, agent in enumerate(about.agents):
        assert len(expected[agent]) > 50
        assert same_sequences(held(replay, i), expected[agent])


@pytest.mark.parametrize("capacity", [5, 40, 97])
@pytest.mark.parametrize("length", [1, 4])
def test_the_ring_keeps_the_newest_whole_sequences(capacity, length):
    about = task(agents=1)
    replay = Decisions(about, capacity, length, torch.device("cpu"))
    steps = list(random_play(about, worlds=7, steps=40, seed=1, turns=False))
    for number, now in enumerate(steps, 1):
        replay.remember(now)
        kept = held(replay, 0)
        assert sum(map(len, kept)) <= capacity
        every = plain_sequences(about, steps[:number], length)["agent_0"]
        newest, rows = [], 0
        for sequence in reversed(every):  # what came to an end in one step stands in the order of the worlds
            rows += len(sequence)
            if rows > capacity:
                break
            newest.append(sequence)
        assert same_sequences(kept, newest)


def test_draws_are_padded_and_uniform():
    about = task(agents=2)
    replay = Decisions(about, 10_000, 4, torch.device("cpu"))
    for now in random_play(about, worlds=5, steps=30, seed=3, turns=True):
        replay.remember(now)
    batch = replay.draw(streams(about, 1, torch.device("cpu")), 20_000, 0)
    for i in range(2):
        counts = dict.fromkeys(range(replay.rings[0][i].sequences), 0)
        numbers = {s[0][0].tobytes(): k for k, s in enumerate(held(replay, i))}
        kept = held(replay, i)
        for b in range(20_000):
            number = numbers[batch.observation[i, b, 0].numpy().tobytes()]
            counts[number] += 1
            if b < 500:
                length = int(batch.valid[i, b].sum())
                assert length == len(kept[number])
                for t, (o, a, r, ended, f) in enumerate(kept[number]):
                    assert np.array_equal(batch.observation[i, b, t], o) and np.array_equal(batch.following[i, b, t], f)
                    assert (batch.action[i, b, t], batch.reward[i, b, t], batch.terminated[i, b, t]) == (a, r, ended)
                assert not batch.valid[i, b, length:].any()
        expected = 20_000 / len(counts)
        assert max(abs(c - expected) for c in counts.values()) < 5 * np.sqrt(expected)


def test_after_a_switch_only_new_sequences_are_drawn_once_there_are_enough():
    about = task(agents=2)
    replay = Decisions(about, 10_000, 1, torch.device("cpu"))
    steps = list(random_play(about, worlds=5, steps=40, seed=3, turns=False))
    for now in steps[:20]:
        replay.remember(now)
    replay.renew(1, enough=30)
    generators = streams(about, 1, torch.device("cpu"))
    for now in steps[20:25]:
        replay.remember(now)
    old = {now.observations["agent_1"][w].tobytes() for now in steps[:20] for w in range(5)}

    def share_of_old(agent):
        batch = replay.draw(generators, 500, 0)
        return np.mean([row.numpy().tobytes() in old for row in batch.observation[agent, :, 0]])

    assert 0.7 < share_of_old(1) < 0.9  # 25 new ones are not enough
    replay.remember(steps[25])
    assert share_of_old(1) == 0.0
    old = {now.observations["agent_0"][w].tobytes() for now in steps[:20] for w in range(5)}
    assert share_of_old(0) > 0.6  # the other agent goes on with all that it has


# A round ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("memory", ["none", "gru"])
def test_losses_equal_a_plain_loop(double, memory):
    about = task(agents=2, size=3, choices=4)
    learner = make(about, double=double, memory=memory, gamma=0.7, reward_scale=0.5, memory_length=5)
    for now in random_play(about, worlds=50, steps=30, seed=5, turns=True):
        learner.remember(now)
    for target in learner.targets:
        target.flat += 0.05 * torch.randn(target.flat.shape, generator=torch.Generator().manual_seed(1))
    batch = learner.replay.draw(learner._batch_generators, 40, 0)
    stack, target = learner.actors.stacks[0], learner.targets[0]
    losses = learner._losses(0, batch, stack.flat)

    def along(net: QStack, i: int, b: int, length: int) -> torch.Tensor:
        """Values at the decisions of one sequence and at what followed the last one."""
        parts = net.parts()
        seen = [batch.observation[i, b, t] for t in range(length)] + [batch.following[i, b, length - 1]]
        values, state, before = [], torch.zeros(2, 1, net.shape.memory), torch.zeros(4)
        for t, observation in enumerate(seen):
            x = torch.cat([observation, before]) if memory == "gru" else observation
            hidden = net.hidden(parts, x.expand(2, 1, -1))
            if memory == "gru":
                state = hidden = net.remember(parts, hidden, state)
            values.append(net.values(parts, hidden)[i, 0])
            if t < length:
                before = torch.nn.functional.one_hot(batch.action[i, b, t], 4).float()
        return torch.stack(values)

    for i in range(2):
        errors = []
        for b in range(40):
            length = int(batch.valid[i, b].sum())
            online, slow = along(stack, i, b, length), along(target, i, b, length)
            for t in range(length):
                best = (online if double else slow)[t + 1].argmax()
                ahead = 0.0 if batch.terminated[i, b, t] else slow[t + 1][best]
                error = online[t][batch.action[i, b, t]] - (0.5 * batch.reward[i, b, t] + 0.7 * ahead)
                errors.append(0.5 * error**2 if abs(error) < 1 else abs(error) - 0.5)
        torch.testing.assert_close(losses[i], torch.stack(errors).mean(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_an_agent_learns_the_same_whoever_learns_beside_it(memory):
    both, other = (make(memory=memory) for _ in range(2))
    for number, now in enumerate(random_play(both.task, worlds=50, steps=60, seed=6, turns=True)):
        both.remember(now)
        now.rewards = {**now.rewards, "agent_1": now.rewards["agent_1"] * -5.0}
        other.remember(now)
        if number >= 20:
            both.update(number), other.update(number)
    mine, its = both.actors.stacks[0].flat, other.actors.stacks[0].flat
    assert torch.equal(mine[0], its[0]) and not torch.equal(mine[1], its[1])


def test_a_shared_policy_takes_the_mean_over_its_agents():
    shared = make(sharing="role", lr_decay="none")
    for now in random_play(shared.task, worlds=50, steps=30, seed=7, turns=False):
        shared.remember(now)
    stack = shared.actors.stacks[0]
    assert stack.flat.shape[0] == 1 and stack.index == [0, 0]
    batch = shared.replay.draw(shared._batch_generators, 64, 0)
    flat = stack.flat.clone().requires_grad_()
    (expected,) = torch.autograd.grad(shared._losses(0, batch, flat).mean(), flat)
    before = stack.flat.clone()
    shared._step(0, batch, [0], 1.0)
    optimiser = torch.optim.Adam([parameter := torch.nn.Parameter(before)], lr=shared.config.lr)
    parameter.grad = expected
    optimiser.step()
    torch.testing.assert_close(stack.flat, parameter.detach())


def test_alternating_freezes_all_but_one():
    learner = make(training="alternating", phase_steps=1000, epsilon=0.5, epsilon_final=0.5)
    frozen, active, plays = [], [], random_play(learner.task, worlds=50, steps=80, seed=8, turns=False)
    rows = learner.actors.stacks[0].flat
    seen = {a: np.random.default_rng(1).normal(size=(4000, 3)).astype("f4") for a in learner.task.agents}
    for number, now in enumerate(plays):
        turn = learner.steps // 1000 % 2
        assert learner.learning() == [(0, turn)]
        if number in (5, 25):  # who learns explores, the other plays its best
            learner.memory = learner.actors.memory(4000)
            acting = np.ones((4000, 2), bool)
            best, tried = learner.player()(seen, acting), learner.explore(seen, acting, warm=False)
            share = [np.mean(best[a] != tried[a]) for a in learner.task.agents]
            assert share[1 - turn] == 0.0 and abs(share[turn] - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
            learner.memory = learner.actors.memory(50)
        learner.remember(now)
        before, target = rows.clone(), learner.targets[0].flat.clone()
        turn = learner.steps // 1000 % 2
        metrics = learner.update(number)
        assert f"td_loss/agent_{turn}" in metrics and f"td_loss/agent_{1 - turn}" not in metrics
        frozen += [before[1 - turn].equal(rows[1 - turn]), target[1 - turn].equal(learner.targets[0].flat[1 - turn])]
        active.append(before[turn].equal(rows[turn]))
    assert all(frozen) and not any(active)


def test_epsilon_falls_over_its_share_of_the_run():
    learner = make(total_steps=1000, epsilon=1.0, epsilon_final=0.2, epsilon_share=0.5)
    found = []
    for steps in (0, 250, 500, 900):
        learner.steps = steps
        found.append(learner.epsilon)
    assert found == pytest.approx([1.0, 0.6, 0.2, 0.2])
    again = make(
        training="alternating", phase_steps=100, total_steps=1000, epsilon=1.0, epsilon_final=0.2, epsilon_share=0.5
    )
    found = []
    for steps in (0, 25, 99, 100, 125):
        again.steps = steps
        found.append(again.epsilon)
    assert found == pytest.approx([1.0, 0.6, 0.2, 1.0, 0.6])


# Games with known values ------------------------------------------------------------------------------------------


def learn(learner: DqnLearner, play, rounds: int = 400) -> DqnLearner:
    for now in play:
        learner.remember(now)
    for i in range(rounds):
        metrics = learner.update(i)
    assert all(np.isfinite(float(v)) for v in metrics.values())
    return learner


def value(learner: DqnLearner, agent: int, observation) -> np.ndarray:
    stack = learner.actors.stacks[0]
    parts = stack.parts()
    x = torch.tensor(observation, dtype=torch.float32).expand(len(stack.index), 1, -1)
    return stack.values(parts, stack.hidden(parts, x))[agent, 0].detach().numpy()


def turns_game(seed: int, count: int, terminated: bool):
    """Two agents in turns, three moves: agent 0 (sees 1), agent 1 (sees 2), agent 0 (sees 3). Every move earns both 1
    for action 1 and 0 for action 0; then the game ends, or is cut."""
    about, draw = task(agents=2, size=3), np.random.default_rng(seed)
    marks = np.eye(3, dtype="f4")
    for _ in range(count):
        for t in range(3):
            worlds, mover = 50, t % 2
            acting = np.tile(np.arange(2) == mover, (worlds, 1))
            actions = draw.integers(2, size=(worlds, 2))
            rewards = np.repeat(actions[:, [mover]], 2, axis=1).astype(float)
            ended = np.full(worlds, t == 2)
            over = np.repeat((ended & terminated)[:, None], 2, axis=1)
            seen, following = (np.tile(marks[k], (worlds, 2, 1)) for k in (t, (t + 1) % 3))
            # After the end comes a new game, whose first mover is agent 0 again.
            after = acting if t == 2 else ~acting
            yield step(about, seen, actions, rewards, following, valid=acting, deciding=after, ended=ended,
                       terminated=over)  # fmt: skip


def test_rewards_between_decisions_are_added_and_ends_cut():
    learner = learn(make(lr_decay="exp", lr_final=0.05, gamma=0.5), turns_game(1, 20, terminated=True))
    # Agent 0: its last move earns its action. Its first one earns its action, what the other's random action earns
    # (1/2 on average), and half of the best that follows at its next decision, 1.
    assert value(learner, 0, [0, 0, 1]) == pytest.approx([0.0, 1.0], abs=0.05)
    assert value(learner, 0, [1, 0, 0]) == pytest.approx([1.0, 2.0], abs=0.05)
    # Agent 1 decides once; what agent 0 earns afterwards is part of that.
    assert value(learner, 1, [0, 1, 0]) == pytest.approx([0.5, 1.5], abs=0.05)


def test_a_time_limit_does_not_cut():
    learner = learn(make(lr_decay="exp", lr_final=0.05, gamma=0.5), turns_game(1, 20, terminated=False), 1000)
    # Cut games go on with what was seen last, the mark of the first move: V0 = 1 + 1/2 + V2 / 2, V2 = 1 + V0 / 2.
    first, last = 2.0 / 0.75, 1.0 + 1.0 / 0.75
    assert value(learner, 0, [0, 0, 1])[1] == pytest.approx(last, abs=0.1)
    assert value(learner, 0, [1, 0, 0])[1] == pytest.approx(first, abs=0.1)


def recall_game(seed: int, count: int):
    """One agent is shown a sign at the first of three decisions; at the last it earns 1 for naming it, else -1."""
    about, draw = task(agents=1, size=3), np.random.default_rng(seed)
    ones = np.ones((50, 1), bool)
    for _ in range(count):
        sign = draw.integers(2, size=50)
        signs = np.stack([1 - sign, sign, np.zeros(50)], axis=1).astype("f4")[:, None]
        blank, ask = (np.tile(np.array(v, "f4"), (50, 1, 1)) for v in ([0, 0, 0], [0, 0, 1]))
        for t, (seen, following) in enumerate(((signs, blank), (blank, ask), (ask, blank))):
            actions = draw.integers(2, size=(50, 1))
            rewards = np.where(actions == sign[:, None], 1.0, -1.0) * (t == 2)
            ended = np.full(50, t == 2)
            yield step(about, seen, actions, rewards, following, valid=ones, deciding=ones, ended=ended,
                       terminated=ended[:, None])  # fmt: skip


@pytest.mark.parametrize(("memory", "least", "most"), [("gru", 1.0, 1.0), ("none", 0.3, 0.7)])
def test_only_a_memory_recalls(memory, least, most):
    learner = learn(make(task(agents=1, size=3), memory=memory, gamma=0.9, tau=0.1), recall_game(1, 40), 300)
    sign = np.random.default_rng(5).integers(2, size=400)
    player, acting = learner.player(), np.ones((400, 1), bool)
    player.begin(None)
    for seen in (np.stack([1 - sign, sign, 0 * sign], 1), np.zeros((400, 3)), np.tile([0, 0, 1], (400, 1))):
        chosen = player({"agent_0": seen.astype("f4")}, acting)["agent_0"]
    assert least <= np.mean(chosen == sign) <= most


# What it can do ---------------------------------------------------------------------------------------------------


def test_refusals():
    with pytest.raises(Incompatible, match="maddpg needs agents that act at the same time.* use dqn"):
        check(find("maddpg"), replace(task(), turn_based=True), MaddpgConfig())
    box = replace(task(agents=1), actions=(Action("box", 1, low=(-1.0,), high=(1.0,)),))
    with pytest.raises(Incompatible, match="dqn needs discrete actions, but those of agent_0 are box"):
        make(box)
    with pytest.raises(Incompatible, match="needs two policies at least.* use training=simultaneous"):
        make(training="alternating", sharing="role")
    with pytest.raises(Incompatible, match="buffer_capacity=10 must be at least batch_size=64"):
        make(buffer_capacity=10)


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_run_folder_and_its_export_play_like_the_learner(tmp_path, memory):
    config = replace(SMALL, memory=memory, total_steps=2000, eval_interval=0, out=str(tmp_path / "run"))
    trainer = Trainer(config, "dqn")
    run = trainer.run(quiet=True)
    Trained(run.path).export(tmp_path / "policy.safetensors")
    worlds = make_worlds("chefworld_v0", 30)
    players = [
        Cast(str(run.path), worlds),
        Cast(str(tmp_path / "policy.safetensors"), worlds),
        trainer.learner.player(),
    ]
    observations, infos = worlds.reset(seed=4)
    for _ in range(12):
        actions = [play(observations, infos["acting"]) for play in players]
        for agent in worlds.possible_agents:
            assert np.array_equal(actions[0][agent], actions[1][agent])
            assert np.array_equal(actions[0][agent], actions[2][agent])
        observations, _, _, _, infos = worlds.step(actions[0])
        for play in players:
            play.begin(infos.get("_final_obs", np.zeros(30, bool)))


def test_training_sees_the_train_split_only(tmp_path):
    trainer = Trainer(replace(SMALL, total_steps=5000, eval_interval=2500, out=str(tmp_path / "run")), "dqn")
    game, seen = trainer.worlds.game, []
    remember = trainer.learner.remember

    def look(now):
        seen.append(now.observations["chef_0"].copy())
        remember(now)

    trainer.learner.remember = look
    trainer.run(quiet=True)
    from mpe_ext.chefworld import splits
    from mpe_ext.chefworld.game import read

    dishes = game.dishes
    recipes = read(game, np.concatenate(seen)).recipe
    assert not dishes.is_test[splits.numbers(recipes, dishes.steps)].any()
    assert trainer.eval_worlds.game.params.split == "train"
