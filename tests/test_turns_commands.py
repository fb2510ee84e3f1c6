"""Training and evaluating on games with turns, splits and ladders, as a user does it."""

import json

import numpy as np
import pytest
from PIL import Image
from test_worlds import Countdown

from maddpg import rollout
from maddpg.cli import evaluate_main, train_main
from maddpg.errors import EnvError
from maddpg.pettingzoo_worlds import PettingZooWorlds
from maddpg.players import Cast
from maddpg.rollout import mean_and_interval, play
from maddpg.worlds import make_worlds

TINY = "--total-steps 3000 --batch-size 32 --eval-episodes 8 --eval-interval 1500 --log-interval 1000 --hidden 16"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A DQN run on ChefWorld."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    assert train_main(["dqn", *TINY.split(), "--memory", "gru", "--out", str(folder)]) == 0
    return folder


def test_training_says_what_it_does(tmp_path, capsys):
    assert train_main(["dqn", *TINY.split(), "--env", "meeting_scheduling_v0", "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "dqn: 128 worlds of meeting_scheduling_v0" in out and "trains and evaluates on split=train" in out
    assert "td loss" in out and f"python evaluate.py {tmp_path / 'run'}" in out
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert {"td_loss/participant_0", "lr_factor", "return/participant_1"} <= set(lines[-2])
    assert {"eval/success", "eval/informs"} <= set(lines[-1])


def test_a_run_beside_the_ladder_on_held_out_dishes(trained, tmp_path, capsys):
    arguments = ["--episodes", "60", "--json", str(tmp_path / "all.json"), "--gif", str(tmp_path / "play.gif")]
    assert evaluate_main([str(trained), *arguments]) == 0
    out = capsys.readouterr().out
    for word in ("split test", "success", "unique first", "messages", "random", "rsa1:rsa1", "code_1:code_2"):
        assert word in out
    found = json.loads((tmp_path / "all.json").read_text())
    assert found["split"] == "test" and found["env_args"] == {"split": "test"}
    by_name = {p["policy"]: p for p in found["policies"]}
    assert by_name["code_1:code_1"]["extras"]["success"] == {"mean": 1.0, "interval": 0.0}
    with Image.open(tmp_path / "play.gif") as picture:
        assert picture.size == (700, 700) and 2 <= picture.n_frames <= 6
        assert picture.info["duration"] == 1000


def test_splits_are_chosen_and_checked(trained, tmp_path, capsys):
    path = str(tmp_path / "a.json")
    for arguments, split in ((["--split", "all"], "all"), (["--env-args", "split=train"], "train"), ([], "test")):
        line = ["--env", "chefworld_v0", "--policy", "literal:elimination", "--episodes", "20", "--json", path]
        assert evaluate_main([*line, *arguments]) == 0
        assert json.loads((tmp_path / "a.json").read_text())["split"] == split
    worlds = make_worlds("chefworld_v0", 300, {"split": "test"})
    episodes = play(worlds, Cast("random", worlds), 300, 1)
    assert worlds.game.outside_split(episodes) == 0
    other = make_worlds("chefworld_v0", 1, {"split": "train"}).game
    assert other.outside_split(episodes) == 300  # it would be seen
    meeting = make_worlds("meeting_scheduling_v0", 300, {"split": "test"})
    episodes = play(meeting, Cast("random", meeting), 300, 1)
    assert meeting.game.outside_split(episodes) == 0
    assert make_worlds("meeting_scheduling_v0", 1, {"split": "train"}).game.outside_split(episodes) == 300


def test_cross_tables(tmp_path, capsys):
    path = tmp_path / "cross.json"
    pairs = "literal,rsa1:elimination,rsa1"
    assert evaluate_main(["--env", "chefworld_v0", "--policy", pairs, "--episodes", "400", "--json", str(path)]) == 0
    assert "success, the first role below, the second beside" in capsys.readouterr().out
    found = json.loads(path.read_text())
    (cross,) = found["cross_tables"]
    assert (cross["rows"], cross["columns"]) == (["literal", "rsa1"], ["elimination", "rsa1"])
    by_name = {p["policy"]: p["extras"]["success"] for p in found["policies"]}
    assert len(by_name) == 4
    for i, row in enumerate(cross["rows"]):
        for j, column in enumerate(cross["columns"]):
            assert cross["values"][i][j] == by_name[f"{row}:{column}"]


@pytest.mark.parametrize(
    ("game", "roles", "there", "not_there"),
    [
        ("chefworld_v0", ["chef:", "assistant:"], ["unique_first", "bayes_rarest", "random_consistent"], ["tom_90"]),
        ("meeting_scheduling_v0", ["participant:"], ["tom_90_repeat", "random_free", "one_code"], ["literal:"]),
        ("simple_tag_while_c_v0", ["adversary:", "collector:"], ["rules", "lookahead"], ["rsa1"]),
    ],
)
def test_policies_are_listed_with_their_meaning(game, roles, there, not_there, capsys):
    assert evaluate_main(["--env", game, "--list-policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert set(roles) <= set(lines)
    named = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line.startswith("  ")}
    assert set(there) <= set(named) and not any(line.strip().startswith(n) for line in lines for n in not_there)
    assert all(len(meaning) > 10 for meaning in named.values())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--env chefworld_v0 --policy bayes_literal:literal", "'bayes_literal' is one for assistant, not for chef_0"),
        ("--env chefworld_v0 --policy literal", "'literal' is one for chef, not for assistant_0"),
        ("--env chefworld_v0 --policy random --split dev", "split='dev': must be one of"),
        ("--policy random --split test", "split='test': simple_tag_while_c_v0 has no splits"),
        ("--env chefworld_v0 --env-args split=all --policy random --split test", "contradicts env_args split=all"),
        ("RUN --env meeting_scheduling_v0", "does not fit: participant_0 has"),
        ("RUN --env-args num_dishes=3", "does not fit: chef_0 has"),
    ],
)
def test_mistakes_in_evaluation(arguments, complaint, trained, capsys):
    assert evaluate_main([str(trained) if a == "RUN" else a for a in arguments.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and complaint in error


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("maddpg --env chefworld_v0", "maddpg needs agents that act at the same time, here they take turns; use dqn"),
        ("dqn --env-args num_dishes=99", "num_dishes=99: must be an integer >= 1 and <= 16"),
        ("dqn --env-args split=test observation_format=flat", "the observation space of chef_0 is Dict"),
        ("dqn --preset tag --env-args continuous_actions=True", "dqn needs discrete actions"),
        ("dqn --training alternating --sharing role --env meeting_scheduling_v0", "use training=simultaneous"),
        ("dqm", "unknown algorithm 'dqm'; did you mean 'dqn'"),
        ("maddpg --resume RUN", "was trained by dqn: use main.py dqn --resume"),
        ("dqn --resume RUN --memory none --total-steps 9000", "--memory none cannot be changed by --resume"),
    ],
)
def test_mistakes_in_training(arguments, complaint, trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert train_main([str(trained) if a == "RUN" else a for a in arguments.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and complaint in error
    assert list(tmp_path.iterdir()) == []


def test_agents_of_one_role_may_have_policies_of_their_own(tmp_path, capsys):
    path = tmp_path / "cross.json"
    line = ["--env", "meeting_scheduling_v0", "--policy", "literal_60_stop,tom_90_stop:literal_60_stop,tom_90_stop"]
    assert evaluate_main([*line, "--episodes", "300", "--json", str(path)]) == 0
    capsys.readouterr()
    (cross,) = json.loads(path.read_text())["cross_tables"]
    values = np.array([[cell["mean"] for cell in row] for row in cross["values"]])
    assert values[0, 0] > 0.9 and values[1, 1] > 0.99 and values[0, 1] < values[1, 1]
    assert evaluate_main(["--env", "meeting_scheduling_v0", "--policy", "random:random:random"]) == 2
    assert "names 3 policies; give one, or one a role: participant" in capsys.readouterr().err


def test_seeds_of_a_run_can_play_with_others(trained, capsys):
    line = ["--env", "chefworld_v0", "--policy", f"{trained}:rsa1", "--policy", f"literal:{trained}"]
    assert evaluate_main([*line, "--episodes", "20"]) == 0
    assert "run:rsa1" in capsys.readouterr().out


def test_games_that_never_end_are_noticed(monkeypatch):
    monkeypatch.setattr(rollout, "LONGEST_EPISODE", 5)
    worlds = PettingZooWorlds([Countdown(length=10**9, leave=10**9)])
    with pytest.raises(EnvError, match="no episode has ended within 5 steps"):
        play(worlds, Cast("random", worlds), 1, 0)


def test_figures_that_do_not_apply_are_left_out():
    mean, half = mean_and_interval(np.array([1.0, np.nan, 0.0, np.nan]))
    assert mean == 0.5 and half == pytest.approx(1.96 * np.sqrt(0.5 / 2))
    assert all(np.isnan(mean_and_interval(np.array([np.nan]))))
