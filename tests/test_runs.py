"""Run folders: what is written, what is refused, and resuming to the same bits."""

import json
import signal
import warnings
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch

from maddpg.algorithms import ALGORITHMS
from maddpg.collect import EpisodeSums, Rolling
from maddpg.config import ConfigError, MaddpgConfig
from maddpg.dqn_config import DqnConfig
from maddpg.errors import RunError
from maddpg.interrupt import Interruption
from maddpg.players import Trained
from maddpg.runs import Run, default_path, load_tensors
from maddpg.train import Interrupted, Trainer

SMALL = {
    "env": "simple_tag_while_c_v0",
    "num_envs": 8,
    "total_steps": 1200,
    "warmup_steps": 200,
    "batch_size": 32,
    "steps_per_update": 20,
    "hidden": (16, 16),
    "log_interval": 200,
    "eval_interval": 400,
    "eval_episodes": 16,
    "checkpoint_interval": 10_000,
}
TINY = MaddpgConfig.from_dict(SMALL)


def make(path, config=TINY):
    return Run.create(path, config, "maddpg", {"agents": {}})


def final_tensors(run):
    folder = run.latest()
    return {
        f"{name}/{key}": tensor
        for name in ("learner", "replay", "worlds")
        for key, tensor in load_tensors(folder / f"{name}.safetensors").items()
    }


def stop_at(monkeypatch, step):
    """Lets a SIGINT arrive once the training has come to `step`."""
    advance = Trainer._advance

    def and_stop(self):
        advance(self)
        if self.before < step <= self.step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_advance", and_stop)


def lines(run):
    kept = run.metrics()
    for line in kept:
        del line["seconds"]
    return kept


# Folders ------------------------------------------------------------------------------------------------------


def test_config_comes_back_as_it_went(tmp_path):
    config = MaddpgConfig.from_preset("reference", env_args=("num_J=20",), hidden=(32,), out="x", resume="y")
    run = make(tmp_path / "run", config)
    assert Run.open(tmp_path / "run").config == replace(config, out=None, resume=None)
    assert run.path == tmp_path / "run"


def test_an_existing_folder_is_never_written_to(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(RunError, match="run' exists already.*--resume"):
        make(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_default_folders_do_not_clash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = set()
    for _ in range(3):
        path = default_path(TINY, "maddpg")
        assert path.parts[:3] == ("runs", "simple_tag_while_c_v0", "maddpg")
        path.mkdir(parents=True)
        seen.add(path)
    assert len(seen) == 3


def test_folders_that_are_no_runs(tmp_path):
    with pytest.raises(RunError, match="no such folder"):
        Run.open(tmp_path / "nothing")
    with pytest.raises(RunError, match="no config.json"):
        Run.open(tmp_path)
    run = make(tmp_path / "run")
    with pytest.raises(RunError, match="no checkpoint yet"):
        run.latest()
    config = json.loads((run.path / "config.json").read_text())
    for spoiled, complaint in (
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (json.dumps(config | {"format": 7}), "format 7"),
        (json.dumps({k: v for k, v in config.items() if k != "config"}), "config"),
        (json.dumps(config | {"config": config["config"] | {"wings": 2}}), "unknown option 'wings'"),
        (json.dumps(config | {"config": config["config"] | {"tau": -1}}), "tau=-1 must be above 0"),
    ):
        (run.path / "config.json").write_text(spoiled)
        with pytest.raises(RunError, match=complaint):
            Run.open(run.path)


def test_metrics_survive_a_torn_line_and_are_cut_back(tmp_path):
    run = make(tmp_path / "run")
    assert run.metrics() == []
    for step in (100, 200, 300):
        run.log({"step": step, "seconds": step / 10})
    with open(run.metrics_path, "a") as file:
        file.write('{"step": 400, "sec')
    assert [line["step"] for line in run.metrics()] == [100, 200, 300]
    run.cut_metrics(200)
    assert [json.loads(line)["step"] for line in run.metrics_path.read_text().splitlines()] == [100, 200]
    run.metrics_path.write_text("not json\n{}\n")
    with pytest.raises(RunError, match="line 1 is not JSON"):
        run.metrics()


def test_only_the_latest_checkpoint_keeps_the_replay_buffer(tmp_path):
    run = make(tmp_path / "run")
    tensors = {"actor/x": torch.arange(3.0), "replay/rows": torch.ones(4, 2)}
    for step in (100, 200):
        # What a killed process left behind must not be in the way.
        (run.path / "checkpoints" / f".step_{step:09d}.partial").mkdir()
        run.save(step, tensors, {"acting": np.ones((2, 2), bool)}, {"rounds": 1})
    first, second = run.checkpoints()
    assert run.latest() == second
    assert not (first / "replay.safetensors").exists()
    assert torch.equal(load_tensors(second / "replay.safetensors")["replay/rows"], tensors["replay/rows"])
    assert list(load_tensors(first / "learner.safetensors")) == ["actor/x"]
    run.save(200, tensors, {}, {"rounds": 2})  # the same step again, as after an interruption
    assert json.loads((run.latest() / "state.json").read_text())["rounds"] == 2
    assert not [p for p in run.path.rglob("*partial*")]


# Resuming -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("maddpg", {}),
        ("maddpg", {"env_args": ("continuous_actions=True",), "shared_batch": False}),
        ("maddpg", {"env_args": ("strict_mode=True",), "twin_critics": True, "sharing": "role", "num_envs": 5}),
        ("maddpg", {"buffer_capacity": 300, "actor_gradient": "expected", "epsilon": 0.3, "epsilon_final": 0.1}),
        ("dqn", {"env": "chefworld_v0"}),
        ("dqn", {"env": "chefworld_v0", "memory": "gru", "memory_size": 8, "buffer_capacity": 90}),
        ("dqn", {"env": "chefworld_v0", "training": "alternating", "phase_steps": 250, "num_envs": 5}),
        ("dqn", {"env_args": ("strict_mode=True",), "sharing": "role", "memory": "gru", "memory_length": 7}),
    ],
    ids=["default", "continuous", "leaving", "ring", "dqn", "dqn-gru-ring", "dqn-alternating", "dqn-gru-shared"],
)
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, monkeypatch, algorithm, options):
    config = ALGORITHMS[algorithm].config.from_dict(SMALL | options)
    whole = Trainer(replace(config, out=str(tmp_path / "whole")), algorithm).run(quiet=True)
    with monkeypatch.context() as patch:
        # Inside an episode, and between two lines of metrics.
        stop_at(patch, 490)
        with pytest.raises(Interrupted) as stopped:
            Trainer(replace(config, out=str(tmp_path / "parts")), algorithm).run(quiet=True)
    assert stopped.value.code == 130
    for _ in range(2):
        run = Run.open(tmp_path / "parts")
        with monkeypatch.context() as patch:
            stop_at(patch, 810)
            trainer = Trainer.resume(run, run.config)
            assert trainer.notes == (["trains and evaluates on split=train"] if "chef" in config.env else [])
            try:
                parts = trainer.run(quiet=True)
            except Interrupted:
                continue
    assert lines(parts) == lines(whole)
    ended, expected = final_tensors(parts), final_tensors(whole)
    assert ended.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(ended[name], tensor), name


def test_the_same_seed_gives_the_same_run_and_another_one_another(tmp_path):
    runs = [
        Trainer(replace(TINY, seed=seed, total_steps=600, out=str(tmp_path / name))).run(quiet=True)
        for seed, name in ((3, "a"), (3, "b"), (4, "c"))
    ]
    assert lines(runs[0]) == lines(runs[1]) != lines(runs[2])


def test_extending_a_run_plans_anew_and_says_so(tmp_path):
    run = Trainer(replace(TINY, total_steps=600, out=str(tmp_path / "run"))).run(quiet=True)
    with pytest.raises(RunError, match="has done 600 steps of 600; give --total-steps above 600"):
        Trainer.resume(Run.open(run.path), run.config)
    trainer = Trainer.resume(Run.open(run.path), replace(run.config, total_steps=1000))
    assert "planned anew" in trainer.notes[0]
    longer = trainer.run(quiet=True)
    assert Run.open(run.path).config.total_steps == 1000
    assert longer.latest().name == "step_000001000"
    steps = [line["step"] for line in longer.metrics()]
    assert steps == sorted(steps) and steps[-1] == 1000


def test_damaged_and_foreign_checkpoints_are_refused(tmp_path):
    run = Trainer(replace(TINY, total_steps=400, out=str(tmp_path / "run"))).run(quiet=True)
    more = replace(run.config, total_steps=800)
    before = (run.path / "metrics.jsonl").read_text()
    with pytest.raises(RunError, match="was made for agents"):
        Trainer.resume(run, replace(more, env_args=("num_collector_each=3",)))
    with pytest.raises(RunError, match="does not fit"):
        Trainer.resume(run, replace(more, hidden=(8, 8)))
    with pytest.raises(RunError, match="does not fit"):
        Trainer.resume(run, replace(more, num_envs=4))
    for line in ('{"seconds": 1}', "[]"):
        (run.path / "metrics.jsonl").write_text(before + line + "\n")
        with pytest.raises(RunError, match="no whole number `step`"):
            Trainer.resume(run, more).run(quiet=True)
    (run.path / "metrics.jsonl").write_text(before)
    state = run.latest() / "state.json"
    kept = state.read_text()
    state.write_text("{}")
    with pytest.raises(RunError, match=r"state\.json is damaged"):
        Trained(run.path)
    state.write_text(kept)
    learner = run.latest() / "learner.safetensors"
    whole = learner.read_bytes()
    learner.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RunError, match="damaged"):
        Trainer.resume(run, more)
    learner.unlink()
    with pytest.raises(RunError, match="is missing"):
        Trainer.resume(run, more)
    learner.write_bytes(whole)
    (run.path / "checkpoints" / "latest.json").write_text('{"folder": "elsewhere"}')
    with pytest.raises(RunError, match="'elsewhere', which is not a checkpoint"):
        Trainer.resume(run, more)
    assert (run.path / "metrics.jsonl").read_text() == before
    assert Run.open(run.path).config.total_steps == 400


def test_a_run_goes_on_where_its_random_streams_can(tmp_path):
    run = Trainer(replace(TINY, total_steps=400, out=str(tmp_path / "run"))).run(quiet=True)
    state = run.latest() / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"device": "cuda"}))
    with pytest.raises(RunError, match="was trained on cuda, .* give --device cuda"):
        Trainer.resume(Run.open(run.path), replace(run.config, total_steps=800))


def test_games_without_snapshots_go_on_with_new_episodes(tmp_path, monkeypatch):
    config = replace(TINY, env="mpe2.simple_spread_v3", num_envs=2, total_steps=300, eval_interval=0)
    stop_at(monkeypatch, 150)
    with pytest.raises(Interrupted):
        Trainer(replace(config, out=str(tmp_path / "run"))).run(quiet=True)
    run = Run.open(tmp_path / "run")
    trainer = Trainer.resume(run, run.config)
    assert "its episodes start anew" in trainer.notes[0]
    assert trainer.step == 150 and trainer.learner.size == 150
    trainer.run(quiet=True)


# What a metrics line holds ------------------------------------------------------------------------------------


def test_metrics_lines(tmp_path):
    run = Trainer(replace(TINY, out=str(tmp_path / "run"))).run(quiet=True)
    agents = ["adversary_0", "controller_0", "collector_0_0", "collector_0_1"]
    played = [line for line in run.metrics() if "rounds" in line]
    judged = [line for line in run.metrics() if "eval/episodes" in line]
    assert [line["step"] for line in played] == list(range(200, 1201, 200))
    assert [line["step"] for line in judged] == [0, 400, 800, 1200]
    assert played[-1]["rounds"] == TINY.total_rounds == 51
    assert played[-1]["episodes"] == 8 * (1200 // (8 * 25))
    for line in played:
        assert {f"return/{a}" for a in agents} <= set(line)  # an episode of each world ends every 200 steps
    for line in played[1:]:
        assert {f"critic_loss/{a}" for a in agents} <= set(line)
    for line in judged:
        assert {f"eval/return/{a}" for a in agents} | {"eval/food", "eval/team"} <= set(line)
    seconds = [line["seconds"] for line in run.metrics()]
    assert seconds == sorted(seconds)


def test_evaluation_is_without_shaping_and_training_is_not(tmp_path):
    shaped = replace(TINY, env_args=("controller_distance_shaping=100",), total_steps=400, out=str(tmp_path / "run"))
    run = Trainer(shaped).run(quiet=True)
    line = {**run.metrics()[-2], **run.metrics()[-1]}
    assert line["return/controller_0"] > 300 > line["eval/return/controller_0"]


def test_more_worlds_than_steps_between_rounds_makes_several_rounds_a_step(tmp_path):
    run = Trainer(replace(TINY, num_envs=64, steps_per_update=10, total_steps=640, out=str(tmp_path / "r"))).run(True)
    assert json.loads((run.latest() / "state.json").read_text())["rounds"] == 45  # 200, 210, ... 640


# Pieces -------------------------------------------------------------------------------------------------------


def test_rounds_of_the_reference_preset():
    config = MaddpgConfig.from_preset("reference")
    assert config.total_rounds == 7001
    assert [config.rounds_due(s) for s in (49_999, 50_000, 50_099, 50_100)] == [0, 1, 1, 2]
    assert replace(config, batch_size=60_001).rounds_due(60_000) == 0


def test_presets_hold_known_options_only():
    for algorithm in ALGORITHMS.values():
        for name in algorithm.config.presets:
            algorithm.config.from_preset(name).validated()
    with pytest.raises(ConfigError, match="preset='fast' must be one of default, reference"):
        MaddpgConfig.from_preset("fast")


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("num_envs", 0, "num_envs=0 must be at least 1"),
        ("num_envs", 2.5, "num_envs=2.5 must be a whole number"),
        ("seed", -1, "seed=-1 must be at least 0"),
        ("gamma", 1.5, "gamma=1.5 must be at least 0 and at most 1"),
        ("tau", float("nan"), "tau=nan must be above 0"),
        ("actor_lr", float("inf"), "actor_lr=inf must be"),
        ("sharing", "some", "sharing='some' must be one of separate, role, all"),
        ("hidden", (), "hidden=.* must be one or more widths"),
        ("shared_batch", 1, "shared_batch=1 must be true or false"),
        ("memory", "lstm", "memory='lstm' must be one of none, gru"),
        ("memory_length", 0, "memory_length=0 must be at least 1"),
        ("epsilon_share", 0.0, "epsilon_share=0.0 must be above 0"),
        ("lr", 0.0, "lr=0.0 must be above 0"),
    ],
)
def test_options_out_of_range(option, value, complaint):
    config = MaddpgConfig() if hasattr(MaddpgConfig(), option) else DqnConfig()
    with pytest.raises(ConfigError, match=complaint):
        replace(config, **{option: value}).validated()


def test_mean_returns():
    sums, rolling = EpisodeSums(["a", "b"]), Rolling(episodes=3)
    assert sums.take() == {} and rolling.means() == {}
    for value in (1.0, 2.0, 9.0):
        sums.add({"a": 2 * value, "b": 0.0}, 2)
        rolling.add({"a": 2 * value, "b": 0.0}, 2)
    assert rolling.means() == {"a": 5.5, "b": 0.0}  # the last four episodes: two entries hold at least three
    again = EpisodeSums(["a", "b"])
    again.load(json.loads(json.dumps(sums.state())))
    assert again.take() == sums.take() == {"a": 4.0, "b": 0.0}
    assert sums.take() == {}


def test_an_interruption_is_a_wish_once_and_a_fact_twice():
    before = signal.getsignal(signal.SIGINT)
    with Interruption() as stop:
        assert not stop
        signal.raise_signal(signal.SIGINT)
        assert stop and stop.code == 130
        assert signal.getsignal(signal.SIGINT) is before
    with Interruption() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.code == 143
    assert signal.getsignal(signal.SIGINT) is before


def test_checkpoints_are_plain_tensors(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = Trainer(replace(TINY, total_steps=300, eval_interval=0, out=str(tmp_path / "run"))).run(quiet=True)
    assert not [p for p in run.path.rglob("*") if p.suffix in (".pt", ".pkl", ".pth", ".npy")]
    with safetensors.safe_open(run.latest() / "learner.safetensors", "pt") as file:
        assert any(name.startswith("actor/collector") for name in file.keys())  # noqa: SIM118
