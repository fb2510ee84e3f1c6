"""Meeting scheduling: rules, edge cases, options, splits, and a second implementation."""

import hashlib

import numpy as np
import pytest
from conftest import CONFIGURATIONS, freeze
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_meeting import Meeting as Plain
from reference_meeting import split_of

from mpe_ext import meeting_scheduling_v0 as meeting
from mpe_ext.meeting_scheduling import splits
from mpe_ext.meeting_scheduling.game import MeetingScheduling, read

EXAMPLE = [0, 0, 1, 1, 1, 0, 1, 1]
OTHER = [1, 1, 0, 0, 0, 0, 0, 0]


def play(actions, tables=(EXAMPLE, OTHER), first=0, **params):
    """Actions given by words of the game; what each move said, and the environment."""
    env = meeting.parallel_env(**params)
    env.reset(seed=1, options={"tables": tables, "first_mover": first})
    record = []
    for t, action in enumerate(actions):
        mover = env.possible_agents[(first + t) % 2]
        assert env.acting.tolist() == [agent == mover for agent in env.possible_agents]
        _, rewards, terminated, truncated, infos = env.step({mover: number(env.game, action)})
        assert len(set(rewards.values())) == len(set(terminated.values())) == len(set(truncated.values())) == 1
        record.append((rewards[mover], terminated[mover], truncated[mover]))
    return record, infos["participant_1"], env


def number(game, action):
    """(s, e), a slot, or "reject" as an action."""
    if action == "reject":
        return game.reject
    return game.propose(action) if isinstance(action, int) else game.inform(*action)


# Rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 8, 16])
def test_actions_have_numbers(d):
    game = MeetingScheduling.make(num_slots=d)
    found = [game.inform(s, e) for s in range(d) for e in range(s, d)]
    found += [game.propose(j) for j in range(d)] + [game.reject]
    assert found == list(range(d * (d + 1) // 2 + d + 1)) and game.num_actions == len(found)
    assert game.action_spaces["participant_0"].n == len(found)
    for wrong in ((-1, 0), (0, d), (1, 0)):
        with pytest.raises(ValueError, match="must be 0 <= start <= end"):
            game.inform(*wrong)
    with pytest.raises(ValueError, match=f"slot={d}"):
        game.propose(d)


def test_numbers_of_the_default_game():
    game = MeetingScheduling.make()
    assert [game.inform(*span) for span in ((0, 0), (0, 7), (1, 1), (7, 7))] == [0, 7, 8, 35]
    assert (game.propose(0), game.propose(7), game.reject) == (36, 43, 44)
    words = [game.describe(a) for a in (0, 7, 36, 44)]
    assert words == ["busy 0", "busy 0-7", "propose 0", "no common slot"]


def test_true_informs_of_the_example():
    """Exactly nine, and all others end the game."""
    true = {(2, 2), (3, 3), (4, 4), (6, 6), (7, 7), (2, 3), (3, 4), (6, 7), (2, 4)}
    for span in MeetingScheduling.make().informs:
        record, info, env = play([span])
        assert record == ([(-0.1, False, False)] if span in true else [(-2.0, True, False)])
        assert info["success"] == (-1 if span in true else 0)
        disclosed = env.game.observations(env._worlds._state)["participant_0"][0][-19:-11]
        expected = [float(span in true and span[0] <= j <= span[1]) for j in range(8)]
        assert disclosed.tolist() == expected


@pytest.mark.parametrize(
    ("action", "tables", "reward", "success"),
    [
        (5, (EXAMPLE, OTHER), 1.0, 1),
        (0, (EXAMPLE, OTHER), -2.0, 0),  # free for the proposer only
        (2, (EXAMPLE, OTHER), -2.0, 0),  # free for the other only
        ("reject", (EXAMPLE, OTHER), -2.0, 0),
        ("reject", (EXAMPLE, [1 - x for x in EXAMPLE]), 1.0, 1),
        (3, (EXAMPLE, [1 - x for x in EXAMPLE]), -2.0, 0),
        (3, ([0] * 8, [0] * 8), 1.0, 1),
    ],
)
def test_decisions(action, tables, reward, success):
    record, info, _ = play([action], tables)
    assert record == [(reward, True, False)] and info["success"] == success
    assert info["table_0"] == sum(x << j for j, x in enumerate(tables[0]))
    assert info["table_1"] == sum(x << j for j, x in enumerate(tables[1]))


def test_informs_cost_both_and_may_be_repeated():
    record, info, _ = play([(2, 4), (0, 1), (2, 4), (0, 0), 5])
    assert [reward for reward, _, _ in record] == [-0.1, -0.1, -0.1, -0.1, 1.0]
    assert info["episode_return"] == pytest.approx(0.6) and info["messages"] == 5


def test_nothing_is_revealed_before_the_end():
    _, info, _ = play([(2, 4), (0, 1)])
    assert (info["success"], info["table_0"], info["table_1"], info["messages"]) == (-1, -1, -1, 2)


def test_the_limit_of_messages_cuts_the_game_and_loses_it():
    record, info, env = play([(2, 4), (0, 1)] * 4)
    assert record[:-1] == [(-0.1, False, False)] * 7 and record[-1] == (pytest.approx(-2.1), False, True)
    assert info["success"] == 0 and info["table_0"] == 0b11011100 and env.agents == []


def test_a_decision_in_the_last_message_counts():
    record, info, _ = play([*([(2, 4), (0, 1)] * 4)[:7], 5])
    assert record[-1] == (1.0, True, False) and info["success"] == 1


def test_a_false_inform_in_the_last_message_is_no_cut():
    record, _, _ = play([*([(2, 4), (0, 1)] * 4)[:7], (5, 5)])
    assert record[-1] == (-2.0, True, False)


def test_rewards_are_parameters():
    assert play([5], success_reward=3)[0][0][0] == 3.0
    assert play([0], failure_reward=-4.0)[0][0][0] == -4.0
    assert play(["reject"], reject_fail_reward=-1)[0][0][0] == -1.0
    assert play([(2, 2)], inform_reward=-0.5)[0][0][0] == -0.5
    assert play([(2, 2)], max_messages=1, truncation_reward=0)[0] == [(-0.1, False, True)]


def test_the_outer_limit_costs_nothing():
    record, info, _ = play([(2, 4), (0, 1)], max_cycles=2)
    assert record[-1] == (-0.1, False, True) and info["success"] == 0 and info["table_1"] == 3


def test_first_movers():
    assert [play([(2, 4)], first=0)[0], play([(0, 1)], first=1)[0]] == [[(-0.1, False, False)]] * 2
    for i in (0, 1):
        env = meeting.vector_env(num_envs=50, first_mover=f"participant_{i}")
        assert (env.reset(seed=1)[1]["acting"] == np.eye(2, dtype=bool)[i]).all()
    env = meeting.vector_env(num_envs=4000)
    share = env.reset(seed=1)[1]["acting"][:, 0].mean()
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / 4000)


@pytest.mark.parametrize("label", CONFIGURATIONS["meeting_scheduling_v0"])
def test_a_plain_implementation_says_the_same(label):
    params = {k: v for k, v in CONFIGURATIONS["meeting_scheduling_v0"][label].items() if k != "observation_format"}
    env, plain, draw = meeting.env(**params), Plain(**params), np.random.default_rng(5)
    lengths = []
    for seed in range(150):
        env.reset(seed=seed)
        plain.reset(seed)
        while True:
            for i, agent in enumerate(env.possible_agents):
                assert freeze(env.observe(agent)) == freeze(np.array(plain.observation(i), np.float32))
            assert freeze(env.state()) == freeze(np.array(plain.state(), np.float32))
            if plain.success is not None:
                break
            assert env.agent_selection == env.possible_agents[plain.mover]
            # Mostly something true, so that games last.
            table = plain.tables[plain.mover]
            true = [a for a, (kind, *s) in enumerate(plain.actions) if kind == "inform" and all(table[s[0] : s[1] + 1])]
            safe = bool(true) and draw.random() < 0.8
            action = int(draw.choice(true) if safe else draw.integers(len(plain.actions)))
            reward, terminated, truncated = plain.step(action)
            env.step(action)
            assert set(env.rewards.values()) == {reward}
            assert set(env.terminations.values()) == {terminated} and set(env.truncations.values()) == {truncated}
            info = env.infos["participant_0"]
            numbers = [sum(x << j for j, x in enumerate(t)) for t in plain.tables]
            ended = plain.success is not None
            assert [info["success"], info["table_0"], info["table_1"]] == (
                [int(plain.success), *numbers] if ended else [-1, -1, -1]
            )
        lengths.append(len(plain.history))
    assert max(lengths) == plain.t


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    tables=st.lists(st.lists(st.integers(0, 1), min_size=8, max_size=8), min_size=3, max_size=3),
    actions=st.lists(st.integers(0, 44), max_size=8),
    me=st.integers(0, 1),
    first=st.integers(0, 1),
)
def test_nobody_sees_the_others_table(tables, actions, me, first):
    """Two games that differ in the partner's table alone look the same for as long as both go on."""
    envs = [meeting.env(), meeting.env()]
    for env, partner in zip(envs, tables[1:], strict=True):
        pair = [tables[0], partner] if me == 0 else [partner, tables[0]]
        env.reset(seed=3, options={"tables": pair, "first_mover": first})
    for action in (None, *actions):
        if action is not None:
            for env in envs:
                env.step(action)
        if any(env._worlds._shared.done[0] for env in envs):
            break
        agent = f"participant_{me}"
        assert freeze(envs[0].observe(agent)) == freeze(envs[1].observe(agent))
        assert envs[0].infos[agent] == envs[1].infos[agent]


# Splits -----------------------------------------------------------------------------------------------------------


def test_the_split_is_pinned():
    tables = splits.tables(8, False, 0)
    test = [splits.key(int(t), 8) for t in tables.numbers[tables.num_train :]]
    assert test[:5] == ["11100010", "11111001", "11000100", "11000110", "11101011"]
    assert (len(test), tables.num_train) == (76, 179)
    assert hashlib.sha256("|".join(test).encode()).hexdigest()[:16] == "5eab639f6274478a"


@pytest.mark.parametrize(("d", "free", "seed"), [(4, False, 0), (4, True, 3), (8, False, 2), (2, True, 0)])
def test_splits_of_other_sizes_equal_plain_ones(d, free, seed):
    tables = splits.tables(d, free, seed)
    found = [tuple(row) for row in splits.slots_of(tables.numbers, d).tolist()]
    assert (found[: tables.num_train], found[tables.num_train :]) == split_of(d, free, seed)


def test_tables_of_a_split():
    for split, expected in zip(("train", "test"), split_of(5, False, 4), strict=True):
        params = MeetingScheduling.make(num_slots=5, split_seed=4, split=split).params
        assert [tuple(row) for row in splits.tables_of(params).tolist()] == expected


@pytest.mark.parametrize("given", ["parameter", "option"])
def test_both_tables_are_of_the_split(given):
    for split in ("train", "test"):
        env = meeting.vector_env(num_envs=3000, **({"split": split} if given == "parameter" else {}))
        observations, _ = env.reset(seed=3, options={"split": split} if given == "option" else {})
        for agent in env.possible_agents:
            table = read(env.game, observations[agent]).table
            assert (env.game.tables.is_test[table] == (split == "test")).all()
            counts = np.bincount(table)
            expected = 3000 / (76 if split == "test" else 179)
            assert abs(counts[counts > 0] - expected).max() < 5 * np.sqrt(expected)
        if given == "option":  # it holds for one reset
            table = read(env.game, env.reset()[0]["participant_0"]).table
            assert len(set(env.game.tables.is_test[table].tolist())) == 2


def test_the_all_free_table_is_drawn_on_request_only():
    for free in (False, True):
        env = meeting.vector_env(num_envs=4000, include_all_free=free)
        table = read(env.game, env.reset(seed=1)[0]["participant_0"]).table
        assert (table == 0).any() == free


# Options and parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tables": [EXAMPLE]}, "must be two lists of 8 numbers"),
        ({"tables": [EXAMPLE, OTHER[:7]]}, "must be two lists of 8 numbers"),
        ({"tables": [EXAMPLE[:7], OTHER[:7]]}, "must be two lists of 8 numbers"),
        ({"tables": [EXAMPLE, [2, *OTHER[1:]]]}, "holds 2; a slot is 0"),
        ({"tables": [EXAMPLE, [-1, *OTHER[1:]]]}, "holds -1"),
        ({"tables": [EXAMPLE, [0.5, *OTHER[1:]]]}, "must be two lists of 8 numbers"),
        ({"tables": ["00111011", "11000000"]}, "must be two lists of 8 numbers"),
        ({"tables": None}, "tables=None"),
        ({"first_mover": 2}, "first_mover=2: must be 0 or 1"),
        ({"first_mover": "participant_0"}, "first_mover='participant_0'"),
        ({"first_mover": [0, 1, 1, 0]}, "first_mover="),
        ({"split": "dev"}, "split='dev': must be one of 'all', 'train', 'test'"),
    ],
)
def test_wrong_options_change_nothing(options, complaint):
    for env in (meeting.env(), meeting.parallel_env(), meeting.vector_env(num_envs=3)):
        env.reset(seed=4)
        before = freeze(env.snapshot())
        with pytest.raises(ValueError, match=complaint):
            env.reset(seed=9, options=options)
        assert freeze(env.snapshot()) == before


def test_options_fix_what_they_name_and_nothing_else():
    env, free = meeting.parallel_env(split="train"), meeting.parallel_env(split="train")
    free.reset(seed=6)
    first = int(free.acting.argmax())
    env.reset(seed=6, options={"first_mover": 1 - first, "whatever": 1})
    assert env.acting.tolist() == free.acting.tolist()[::-1]
    assert freeze(env._worlds._state.table) == freeze(free._worlds._state.table)
    env.reset(seed=6, options={"tables": [[0] * 8, np.ones(8, bool).astype(int)]})  # outside every split
    assert env._worlds._state.table[0].tolist() == [0, 255] and env.acting.tolist() == free.acting.tolist()
    env.reset(seed=6)
    assert freeze(env.state()) == freeze(free.state())


def test_a_batch_may_have_tables_and_first_movers_for_each_world():
    env = meeting.vector_env(num_envs=3)
    tables = np.random.default_rng(1).integers(2, size=(3, 2, 8))
    observations, infos = env.reset(seed=1, options={"tables": tables, "first_mover": [1, 0, 1]})
    for i, agent in enumerate(env.possible_agents):
        assert observations[agent][:, :8].tolist() == tables[:, i].tolist()
        assert infos["acting"][:, i].tolist() == [i == 1, i == 0, i == 1] == (observations[agent][:, -1] == 1).tolist()
    before = env.state()
    mask = np.array([False, True, False])
    env.reset(options={"tables": 1 - tables, "first_mover": 1, "reset_mask": mask})
    assert freeze(env.state()[~mask]) == freeze(before[~mask])
    assert env.state()[1, :16].tolist() == (1 - tables[1]).ravel().tolist()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"num_slots": 0}, "num_slots=0: must be an integer >= 1 and <= 16"),
        ({"num_slots": 17}, "num_slots=17"),
        ({"max_messages": 0}, "max_messages=0"),
        ({"num_slots": 1, "split": "test"}, "split='test': there is no such table with num_slots=1"),
        ({"first_mover": 0}, "first_mover=0: must be one of 'random', 'participant_0', 'participant_1'"),
        ({"include_all_free": 1}, "include_all_free=1: must be True or False"),
        ({"observation_format": "dict"}, "observation_format='dict'"),
    ],
)
def test_wrong_parameters(wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        meeting.env(**wrong)


def test_what_was_written_is_cleared_at_resets():
    """Observations are changed in place; written anew from the state they are the same."""
    env = meeting.vector_env(num_envs=40, num_slots=5, max_messages=6, copy=False)
    env.reset(seed=2)
    draw = np.random.default_rng(0)
    for _ in range(200):
        env.step({a: draw.integers(env.game.num_actions, size=40) for a in env.possible_agents})
        before = env._state.observation.copy()
        env._run("observe")
        assert freeze(env._state.observation) == freeze(before)


def test_the_truthful_mask_is_made_of_the_own_table():
    for make in (meeting.env, meeting.parallel_env):
        env = meeting.truthful_mask(make())
        env.reset(seed=1, options={"tables": [EXAMPLE, OTHER], "first_mover": 0})
        world = env.unwrapped
        game = world.game
        true = [(2, 2), (3, 3), (4, 4), (6, 6), (7, 7), (2, 3), (3, 4), (6, 7), (2, 4)]
        expected = {number(game, a) for a in (*true, 0, 1, 5, "reject")}
        seen = {a: env._with_mask(a, world._look[a]()) for a in world.possible_agents}
        assert set(np.flatnonzero(seen["participant_0"]["action_mask"]).tolist()) == expected
        assert seen["participant_1"]["action_mask"].all()  # it is not its turn
        assert env.observation_space("participant_0").contains(seen["participant_0"])
