"""Finding games, and running any PettingZoo environment with the interface of our vector environments."""

import sys
import types

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from maddpg.collect import Collector
from maddpg.errors import EnvError
from maddpg.pettingzoo_worlds import PettingZooWorlds, flat
from maddpg.rollout import mean_and_interval, play
from maddpg.worlds import evaluation_width, find, make_parallel, make_worlds, parse_env_args


class Countdown(ParallelEnv):
    """Two agents. The early one leaves (terminated) after `leave` steps, the late one is truncated after `length`,
    which `vary` makes random. Observation and reward of a step t are t, plus 100 for the late agent's observation.
    Actions are kept."""

    metadata = {"name": "countdown", "render_modes": []}

    def __init__(self, length=4, leave=2, vary=False, observation="box"):
        self.possible_agents = ["early_0", "late_0"]
        self.length, self.leave, self.vary, self.observation = length, leave, vary, observation
        self.seeds, self.actions, self.agents = [], [], []
        self.max_cycles = length

    def observation_space(self, agent):
        if self.observation == "dict":
            return spaces.Dict({"observation": spaces.Discrete(3)})
        return spaces.Discrete(7) if agent == "early_0" else spaces.Box(-np.inf, np.inf, (2, 2), np.float64)

    def action_space(self, agent):
        return spaces.Discrete(3, start=5) if agent == "early_0" else spaces.Box(0, 1, (2,), np.float32)

    def reset(self, seed=None, options=None):
        self.seeds.append(seed)
        self.end = self.length + (np.random.default_rng(seed).integers(4) if self.vary else 0)
        self.t, self.agents = 0, list(self.possible_agents)
        return self._observe(), {a: {} for a in self.agents}

    def _observe(self):
        late = np.full((2, 2), 100.0 + self.t)
        return {a: (self.t if a == "early_0" else late) for a in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.actions.append(actions)
        self.t += 1
        observations = self._observe()
        terminated = {a: a == "early_0" and self.t == self.leave for a in self.agents}
        truncated = {a: self.t == self.end for a in self.agents}
        rewards = {a: float(self.t) for a in self.agents}
        infos = {a: {} for a in self.agents}
        self.agents = [a for a in self.agents if not (terminated[a] or truncated[a])]
        return observations, rewards, terminated, truncated, infos


def actions(worlds, late=0.5):
    return {"early_0": np.ones(worlds, np.int64), "late_0": np.full((worlds, 2), late, np.float32)}


def test_an_episode_with_an_agent_that_leaves_early():
    envs = [Countdown(), Countdown(length=6)]
    worlds = PettingZooWorlds(envs)
    assert worlds.observation_space("late_0").shape == (4,) and worlds.action_space("early_0").n == 3
    observations, infos = worlds.reset(seed=1)
    assert observations["early_0"].tolist() == [[1, 0, 0, 0, 0, 0, 0]] * 2
    assert infos["acting"].all() and "_final_obs" not in infos
    # step: terminated early, observation early, observation late, reward early, acting, for the first world
    expected = [(False, 1, 101, 1, [1, 1]), (True, 2, 102, 2, [0, 1]), (True, None, 103, 0, [0, 1])]
    for gone, early, late, reward, acting in expected:
        observations, rewards, terminated, truncated, infos = worlds.step(actions(2))
        assert terminated["early_0"].tolist() == [gone] * 2 and not truncated["early_0"].any()
        row = observations["early_0"][0]
        assert row.argmax() == early if early is not None else not row.any()
        assert observations["late_0"][0].tolist() == [late] * 4
        assert rewards["early_0"].tolist() == [reward] * 2
        assert infos["acting"].tolist() == [acting] * 2 and "_final_obs" not in infos
    observations, rewards, terminated, truncated, infos = worlds.step(actions(2))
    assert infos["_final_obs"].tolist() == [True, False]
    assert infos["final_obs"]["late_0"][0].tolist() == [104] * 4 and not infos["final_obs"]["early_0"][0].any()
    assert observations["late_0"][:, 0].tolist() == [100, 104]  # a new episode beside one that goes on
    assert truncated["late_0"].tolist() == [True, False] and not terminated["late_0"].any()
    assert terminated["early_0"].tolist() == [True, True]  # its own end, whatever ends the episode
    assert infos["late_0"]["episode_return"].tolist() == [10, 10]
    assert infos["early_0"]["episode_return"].tolist() == [3, 3]
    assert infos["late_0"]["episode_length"].tolist() == [4, 4]
    assert infos["early_0"]["episode_length"].tolist() == [2, 2]
    assert infos["acting"].tolist() == [[True, True], [False, True]]
    *_, infos = worlds.step(actions(2))
    assert infos["late_0"]["episode_return"].tolist() == [1, 15]


def test_actions_reach_the_game_as_it_wants_them():
    env = Countdown()
    worlds = PettingZooWorlds([env])
    worlds.reset(seed=0)
    worlds.step(actions(1, late=1.0 + 1e-6))
    assert env.actions[0]["early_0"] == 6 and type(env.actions[0]["early_0"]) is int
    assert env.actions[0]["late_0"].dtype == np.float32 and env.actions[0]["late_0"].tolist() == [1.0, 1.0]


def test_every_world_and_episode_has_a_seed_of_its_own():
    def seeds(worlds, count=3, seed=7):
        envs = [Countdown() for _ in range(worlds)]
        batch = PettingZooWorlds(envs)
        batch.reset(seed=seed)
        for _ in range(4 * count):
            batch.step(actions(worlds))
        return [env.seeds for env in envs]

    two = seeds(2)
    assert two == seeds(2) and len({s for world in two for s in world}) == 8
    assert seeds(1) == two[:1] == seeds(1, seed=[7])
    assert seeds(2, seed=[7, 7]) == [two[0]] * 2
    assert seeds(1, seed=8) != two[:1]


def test_reset_without_a_seed_goes_on_and_with_one_begins_again():
    worlds = PettingZooWorlds([Countdown()])
    worlds.reset(seed=3)
    worlds.reset()
    worlds.reset(seed=3)
    seeds = worlds.envs[0].seeds
    assert seeds[0] == seeds[2] != seeds[1]
    with pytest.raises(ValueError, match="seed has 2 entries for 1 worlds"):
        worlds.reset(seed=[1, 2])


def test_observations_that_would_lose_something_are_refused():
    with pytest.raises(EnvError, match="observations of early_0 are Dict, which cannot be trained on"):
        PettingZooWorlds([Countdown(observation="dict")])
    assert flat(spaces.Box(0, 1, (2, 3)), None).tolist() == [0] * 6


def test_the_collector_hands_on_true_next_observations():
    collector = Collector(PettingZooWorlds([Countdown(), Countdown(length=6)]), seed=0)
    seen = [collector.step(lambda observations: actions(2)) for _ in range(6)]
    assert seen[3].next_observations["late_0"][:, 0].tolist() == [104, 104]
    assert seen[4].observations["late_0"][:, 0].tolist() == [100, 104]
    assert [t.valid["early_0"].tolist() for t in seen[:5]] == [[1, 1], [1, 1], [0, 0], [0, 0], [1, 0]]
    assert all(t.valid["late_0"].all() for t in seen)
    assert seen[1].terminated["early_0"].all() and not seen[3].terminated["late_0"].any()
    assert collector.episodes == 2 and collector.recent.take() == {"early_0": 3.0, "late_0": (10 + 21) / 2}


def test_episodes_are_counted_without_favouring_short_ones():
    def lengths(width, episodes):
        worlds = PettingZooWorlds([Countdown(vary=True) for _ in range(width)])
        return play(worlds, lambda o, acting: actions(width), episodes, seed=5)

    result = lengths(3, 20)
    assert result.lengths.min() >= 4 and len(set(result.lengths)) > 1
    assert result.returns["late_0"].tolist() == [n * (n + 1) / 2 for n in result.lengths]
    assert (result.returns["early_0"] == 3).all()
    firsts = [play(PettingZooWorlds([Countdown(vary=True)]), lambda o, acting: actions(1), 7, seed=[5]).lengths]
    assert result.lengths[0::3].tolist() == firsts[0].tolist()  # the first episodes of world 0, in order


def test_mean_and_interval():
    mean, half = mean_and_interval(np.array([1.0, 3.0]))
    assert mean == 2.0 and half == pytest.approx(1.96)
    assert mean_and_interval(np.array([4.0])) == (4.0, 0.0)


# Names and arguments ------------------------------------------------------------------------------------------


def test_games_by_any_of_their_names(monkeypatch):
    ours = find("simple_tag_while_c_v0")
    for name in ("mpe_ext/simple_tag_while_c-v0", "mpe_ext.simple_tag_while_c_v0"):
        assert find(name).vector is ours.vector is not None
    assert find("mpe2.simple_spread_v3").vector is None
    module = types.ModuleType("a_game")
    module.make = Countdown
    monkeypatch.setitem(sys.modules, "a_game", module)
    worlds = make_worlds("a_game:make", 2, {"length": 3})
    assert worlds.num_envs == 2 and worlds.max_cycles == 3


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("simple_tag_while_v0", "did you mean 'simple_tag_while_c_v0'"),
        ("mpe2.simple_spred_v3", "did you mean 'mpe2.simple_spread_v3'"),
        ("mpe2.simple_spread_v3:maker", "has no maker to call"),
        ("numpy", "has no parallel_env to call"),
        ("nothing/like_it-v0", "nothing/like_it-v0"),
        ("", "is not the name of a module"),
        ("..", "is not"),
    ],
)
def test_unknown_games(name, complaint):
    with pytest.raises(EnvError, match=complaint):
        find(name)


def test_a_game_whose_own_imports_are_missing(monkeypatch, tmp_path):
    (tmp_path / "broken_game.py").write_text("import a_module_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EnvError, match="needs the module 'a_module_that_is_not_there', which is not installed"):
        find("broken_game")


def test_arguments_from_the_command_line():
    given = ["num_J=20", "env_quality=VH", "strict_mode=True", "updating_J=false", "x=None", "y=[1, 2.5]", "z="]
    expected = {"num_J": 20, "env_quality": "VH", "strict_mode": True, "updating_J": False, "x": None}
    assert parse_env_args(given) == {**expected, "y": [1, 2.5], "z": ""}
    for wrong, complaint in (("num_J", "must have the form key=value"), ("=3", "key=value"), ("a b=3", "key=value")):
        with pytest.raises(EnvError, match=complaint):
            parse_env_args([wrong])
    with pytest.raises(EnvError, match="num_J is given twice"):
        parse_env_args(["num_J=1", "num_J=2"])


@pytest.mark.parametrize("name", ["simple_tag_while_c_v0", "mpe2.simple_spread_v3"])
def test_constructor_arguments_that_do_not_exist(name):
    with pytest.raises(EnvError, match=f"{name}.*wings"):
        make_worlds(name, 1, {"wings": 2})
    with pytest.raises(EnvError, match="wings"):
        make_parallel(name, {"wings": 2})
    with pytest.raises(EnvError, match="render_mode is set by the trainer|argument 'render_mode'"):
        make_parallel(name, {"render_mode": "human"})


def test_shaping_terms_can_be_left_out():
    args = {"preset": "v1_0_3", "adversary_distance_shaping": 0.1}
    params = make_worlds("simple_tag_while_c_v0", 1, args).game.params
    assert (params.adversary_distance_shaping, params.controller_comm_shaping) == (0.1, 0.1)
    for made in (make_worlds("simple_tag_while_c_v0", 1, args, shaping=False), make_parallel(
        "simple_tag_while_c_v0", args, shaping=False
    )):  # fmt: skip
        params = made.game.params
        assert params.adversary_distance_shaping == params.controller_comm_shaping == 0
        assert (params.preset, params.comm_shaping) == ("v1_0_3", "distance")


def test_length_of_episodes_and_width_of_evaluations():
    assert make_worlds("simple_tag_while_c_v0", 1, {"max_cycles": 9}, max_cycles=7).max_cycles == 7
    assert make_worlds("mpe2.simple_spread_v3", 1, max_cycles=7).max_cycles == 7
    assert evaluation_width("simple_tag_while_c_v0", 500) == 500
    assert evaluation_width("mpe2.simple_spread_v3", 500) == 16


def test_both_kinds_of_worlds_speak_alike():
    looped = PettingZooWorlds([make_parallel("simple_tag_while_c_v0") for _ in range(2)])
    ours = make_worlds("simple_tag_while_c_v0", 2)
    rng = np.random.default_rng(0)
    for worlds in (looped, ours):
        worlds.reset(seed=0)
    for step in range(25):
        chosen = {a: rng.integers(5, size=2) for a in ours.possible_agents}
        results = [worlds.step(chosen) for worlds in (looped, ours)]
        for mine, theirs in zip(*(r[:4] for r in results), strict=True):
            assert {a: (v.dtype, v.shape) for a, v in mine.items()} == {
                a: (v.dtype, v.shape) for a, v in theirs.items()
            }
        infos = [r[4] for r in results]
        assert infos[0]["acting"].shape == infos[1]["acting"].shape and infos[0]["acting"].dtype == bool
        assert ("_final_obs" in infos[0]) == ("_final_obs" in infos[1]) == (step == 24)
    assert infos[0]["final_obs"]["adversary_0"].shape == infos[1]["final_obs"]["adversary_0"].shape
    assert looped.action_space("adversary_0") == ours.action_space("adversary_0")
