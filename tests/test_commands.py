"""main.py and evaluate.py as a user meets them: output, files, errors and exit codes."""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import torch
from PIL import Image

from maddpg import commands
from maddpg.algorithms import ALGORITHMS
from maddpg.cli import evaluate_main, parse_config, train_main
from maddpg.config import MaddpgConfig
from maddpg.curves import main as curves_main
from maddpg.runs import Run

ROOT = Path(__file__).parents[1]
TINY = "--num-envs 8 --total-steps 600 --warmup-steps 200 --batch-size 32 --eval-episodes 8 --log-interval 200"
AGENTS = ["adversary_0", "controller_0", "collector_0_0", "collector_0_1"]


def command(script, *arguments, cwd):
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONUNBUFFERED": "1"}
    line = [sys.executable, str(ROOT / script), *map(str, arguments)]
    return subprocess.Popen(line, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run folder, made by the command itself."""
    folder = tmp_path_factory.mktemp("trained")
    code, out, err = finish(command("main.py", "maddpg", *TINY.split(), "--out", "run", cwd=folder))
    assert code == 0, err
    assert "600 steps (100%)" in out and "python evaluate.py run" in out and "greedy return adversary" in out
    return folder / "run"


# Training -----------------------------------------------------------------------------------------------------


def test_what_the_commands_need_is_what_the_extra_brings():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["train"]
    names = [re.match(r"[A-Za-z]+", requirement).group() for requirement in extra]
    assert sorted({"Pillow": "PIL"}.get(name, name) for name in names) == sorted(commands.NEEDED)


@pytest.mark.parametrize("command", [commands.train, commands.evaluate])
def test_without_the_trainers_libraries(command, monkeypatch, capsys):
    monkeypatch.setattr(commands, "NEEDED", ("torch", "no_such_library"))
    assert command() == 2
    error = capsys.readouterr().err
    assert error.startswith("error: the trainer needs no_such_library") and "pip install" in error
    assert error.count("\n") == 1


def test_what_a_run_leaves_behind(trained):
    assert {p.name for p in trained.iterdir()} == {"config.json", "metrics.jsonl", "checkpoints", "curves.png"}
    assert Image.open(trained / "curves.png").size[0] > 500
    lines = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert all({"step", "seconds"} <= set(line) for line in lines)
    assert {f"return/{a}" for a in AGENTS} <= set(lines[-2])
    config = json.loads((trained / "config.json").read_text())
    assert config["algorithm"] == "maddpg" and config["config"]["total_steps"] == 600


def test_ctrl_c_saves_and_resume_goes_on(tmp_path):
    process = command("main.py", "--num-envs", "8", "--warmup-steps", "200", "--out", "run", cwd=tmp_path)
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, err) == (130, "")
    assert "checkpoint saved" in out and "python main.py maddpg --resume run" in out
    run = Run.open(tmp_path / "run")
    step = json.loads((run.latest() / "state.json").read_text())["step"]
    assert 0 < step < 1_000_000
    code, out, err = finish(command("main.py", "maddpg", "--resume", "run", "--total-steps", step + 400, cwd=tmp_path))
    assert code == 0, err
    assert "planned anew" in out
    assert Run.open(tmp_path / "run").metrics()[-1]["step"] >= step + 400


def test_any_pettingzoo_game_can_be_trained(tmp_path, capsys):
    arguments = "maddpg --env mpe2.simple_speaker_listener_v4 --num-envs 2 --total-steps 120 --warmup-steps 50"
    more = "--batch-size 16 --eval-episodes 2 --env-args max_cycles=10"
    assert train_main([*arguments.split(), *more.split(), "--out", str(tmp_path / "run")]) == 0
    assert "speaker" in capsys.readouterr().out
    assert evaluate_main([str(tmp_path / "run"), "--episodes", "3", "--gif", str(tmp_path / "a.gif")]) == 0
    assert "random" in capsys.readouterr().out
    with Image.open(tmp_path / "a.gif") as picture:
        assert picture.n_frames <= 11  # equal frames may be joined


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_help_lists_every_option_with_its_default(capsys, algorithm):
    with pytest.raises(SystemExit) as left:
        train_main([algorithm, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    for field in dataclasses.fields(ALGORITHMS[algorithm].config):
        assert f"--{field.name.replace('_', '-')}" in text
    assert "(default: 1000000)" in " ".join(text.split())


def test_presets_and_options_that_win_over_them():
    config = parse_config("maddpg", ["--preset", "reference", "--tau", "0.5"])
    assert dataclasses.asdict(config) == dataclasses.asdict(MaddpgConfig()) | dict(
        MaddpgConfig.presets["reference"]
    ) | {
        "preset": "reference",
        "tau": 0.5,
    }
    given = "--total-steps 1.5e3 --buffer-capacity=1e4 --env-args num_J=3 x=1e3"
    config = parse_config("maddpg", given.split())
    assert (config.total_steps, config.buffer_capacity) == (1500, 10_000)
    assert parse_config("maddpg", []) == MaddpgConfig()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("madpg", "unknown algorithm 'madpg'; did you mean 'maddpg'"),
        ("maddpg --env simple_tag_while_v0", "did you mean 'simple_tag_while_c_v0'"),
        ("maddpg --env-args num_J", "must have the form key=value"),
        ("maddpg --env-args wings=2", "unknown argument 'wings'"),
        ("maddpg --env-args num_J=-1", "num_J=-1"),
        ("maddpg --env-args reward_timing=legacy strict_mode=True", "strict_mode"),
        ("maddpg --tau 2", "tau=2.0 must be above 0 and at most 1"),
        ("maddpg --device tpu", "device='tpu' must be auto, cpu, cuda or cuda:N"),
        ("maddpg --sharing all", "sharing=all needs equal spaces"),
        ("maddpg --buffer-capacity 10", "buffer_capacity=10 must be at least batch_size=256"),
        ("maddpg --resume nowhere", "'nowhere' is not a run folder"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert train_main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and complaint in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", ["--wings 2", "--num-envs two", "--sharing some", "--preset fast"])
def test_options_that_do_not_parse(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        train_main(["maddpg", *arguments.split()])
    assert left.value.code == 2
    assert arguments.split()[0] in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_where_there_is_none(tmp_path, capsys):
    assert train_main(["--device", "cuda", "--out", str(tmp_path / "run")]) == 2
    assert "no CUDA device; use --device auto or cpu" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_exists_is_left_alone(trained, capsys):
    before = sorted((p, p.stat().st_mtime_ns) for p in trained.rglob("*"))
    assert train_main(["--out", str(trained)]) == 2
    assert "exists already" in capsys.readouterr().err
    for arguments, complaint in (
        ("--num-envs 4 --total-steps 900", "--num-envs 4 cannot be changed by --resume: the run has 8"),
        ("--preset reference", "--preset reference cannot be changed by --resume"),
        ("--total-steps 600", "has done 600 steps of 600"),
        ("", "has done 600 steps"),
    ):
        assert train_main(["maddpg", "--resume", str(trained), *arguments.split()]) == 2
        assert complaint in capsys.readouterr().err
    assert sorted((p, p.stat().st_mtime_ns) for p in trained.rglob("*")) == before


def test_the_exit_code_of_a_mistake(tmp_path):
    code, out, err = finish(command("main.py", "maddpg", "--env", "tag", cwd=tmp_path))
    assert (code, out) == (2, "") and err.startswith("error: env='tag'")


# Evaluation ---------------------------------------------------------------------------------------------------


def test_a_run_beside_its_yardsticks(trained, tmp_path):
    arguments = [trained, "--episodes", "50", "--json", "all.json", "--gif", "play.gif", "--max-cycles", "12"]
    code, out, err = finish(command("evaluate.py", *arguments, cwd=tmp_path))
    assert code == 0, err
    for word in ("run", "random", "rules", "lookahead", "collector (mean of 2)", "food", "hits", "out of range %"):
        assert word in out
    found = json.loads((tmp_path / "all.json").read_text())
    assert (found["episodes"], found["max_cycles"]) == (50, 12)
    assert [p["policy"] for p in found["policies"]] == ["run", "random", "rules", "lookahead"]
    first = found["policies"][0]
    assert first["length"] == 12 and set(first["agents"]) == set(AGENTS)
    assert first["roles"]["adversary"] == first["agents"]["adversary_0"]
    with Image.open(tmp_path / "play.gif") as picture:
        assert picture.size == (700, 700) and picture.n_frames == 13
        assert picture.info["duration"] == 100


def evaluated(capsys, tmp_path, *arguments):
    path = tmp_path / "numbers.json"
    assert evaluate_main([*map(str, arguments), "--episodes", "40", "--json", str(path)]) == 0
    capsys.readouterr()
    return json.loads(path.read_text())["policies"]


def test_greedy_play_is_repeatable_and_sampled_play_differs(trained, tmp_path, capsys):
    greedy, again = (evaluated(capsys, tmp_path, trained, "--policy", "rules") for _ in range(2))
    assert greedy == again and [p["policy"] for p in greedy] == ["run", "rules"]
    sampled = evaluated(capsys, tmp_path, trained, "--policy", "rules", "--stochastic")
    assert sampled[0] != greedy[0] and sampled[1] == greedy[1]
    assert evaluated(capsys, tmp_path, "--policy", trained, "--policy", "rules") == greedy
    assert evaluated(capsys, tmp_path, trained, "--policy", "rules", "--seed", 3) != greedy


def test_policies_by_role(trained, tmp_path, capsys):
    mixed = evaluated(capsys, tmp_path, "--policy", f"lookahead:{trained}:{trained}", "--policy", "random:rules:rules")
    assert [p["policy"] for p in mixed] == ["lookahead:run:run", "random:rules:rules"]
    alone = evaluated(capsys, tmp_path, "--policy", trained, "--policy", f"{trained}:{trained}:{trained}")
    assert alone[0]["roles"] == alone[1]["roles"] != mixed[0]["roles"]


def test_an_exported_policy_plays_as_its_run(trained, tmp_path, capsys):
    path = tmp_path / "policy.safetensors"
    assert evaluate_main([str(trained), "--export", str(path), "--episodes", "2"]) == 0
    assert path.stat().st_size < 200_000
    numbers = evaluated(capsys, tmp_path, path, "--policy", trained)
    assert numbers[0]["roles"] == numbers[1]["roles"]
    about = json.loads(path.with_suffix(".json").read_text())
    for spoiled in ({"config": []}, {"config": about["config"]}, about | {"step": None}):
        path.with_suffix(".json").write_text(json.dumps(spoiled))
        assert evaluate_main([str(path)]) == 2
        assert "policy.json is damaged" in capsys.readouterr().err
    path.with_suffix(".json").unlink()
    assert evaluate_main([str(path)]) == 2
    assert "policy.json cannot be read" in capsys.readouterr().err


def test_a_checkpoint_of_a_run_can_be_evaluated(trained, tmp_path, capsys):
    (checkpoint,) = (trained / "checkpoints").glob("step_*")
    numbers = evaluated(capsys, tmp_path, checkpoint, "--policy", trained)
    assert numbers[0]["roles"] == numbers[1]["roles"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("nowhere", "'nowhere' is not a run folder"),
        ("--policy lookahed", "policy='lookahed' is neither a run folder nor one of"),
        ("--policy random:rules", "names 2 policies; give one, or one a role: adversary:controller:collector"),
        ("--policy rules --env mpe2.simple_spread_v3", "'rules' is neither a run folder nor one of random"),
        ("--policy random --episodes 0", "episodes=0 must be at least 1"),
        ("--policy random --seed -1", "seed=-1 must be in 0 .. 2**63 - 1"),
        (f"--policy random --seed {2**64}", f"seed={2**64} must be in"),
        ("--policy random --gif a.png", "must end in .gif"),
        ("--policy random --json nowhere/a.json", "there is no folder 'nowhere'"),
        ("--policy random --env-args num_J=-1", "num_J=-1"),
        ("--policy random --export a.safetensors", "export needs a RUN"),
        ("RUN --env-args num_collector_each=3", "does not fit: controller_0 has"),
        ("RUN --env mpe2.simple_spread_v3", "does not fit: agent_0 has"),
    ],
)
def test_mistakes_in_evaluation(arguments, complaint, trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert evaluate_main([str(trained) if a == "RUN" else a for a in arguments.split()]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and complaint in error
    assert list(tmp_path.iterdir()) == []


def test_curves_of_several_runs(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert curves_main([str(trained), str(trained)]) == 0
    assert Image.open("curves.png").format == "PNG"
    assert curves_main(["nowhere"]) == 2
    assert "not a run folder" in capsys.readouterr().err
