"""A vector environment against single ones, whatever is called in whatever order (hypothesis chooses and shrinks it)."""

import copy
import importlib
import pickle

import numpy as np
import pytest
from conftest import choose, freeze
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mpe_ext.all_modules import MODULES
from mpe_ext.engine.random import stream_key

WORLDS = 3
PARAMETERS = {
    "simple_tag_while_c_v0": [
        {"max_cycles": 4},
        {"max_cycles": 6, "strict_mode": True, "comm_radius": 0.5},  # agents leave at different steps
        {"max_cycles": 3, "strict_mode": "random", "comm_radius": 0.2, "continuous_actions": True},
    ]
}
MODES = st.sampled_from(["same_step", "next_step", "disabled"])
SEEDS = st.lists(st.integers(0, 2**64 - 1), min_size=WORLDS, max_size=WORLDS)
MASKS = st.lists(st.booleans(), min_size=WORLDS, max_size=WORLDS).map(np.array)
PLAY = st.integers(0, 2**32 - 1)  # what the actions of a step are made of
COPIES = st.sampled_from([copy.deepcopy, copy.copy, lambda env: pickle.loads(pickle.dumps(env))])


class Worlds(RuleBasedStateMachine):
    """`batch` is tested; `singles`, one Parallel environment for each world, say what is right."""

    name: str

    @initialize(data=st.data(), mode=MODES, seeds=SEEDS)
    def make(self, data, mode, seeds):
        module = importlib.import_module(MODULES[self.name])
        params = data.draw(st.sampled_from(PARAMETERS[self.name]))
        self.mode = mode
        self.batch = module.vector_env(num_envs=WORLDS, autoreset_mode=mode, copy=data.draw(st.booleans()), **params)
        self.singles = [module.parallel_env(**params) for _ in range(WORLDS)]
        self.kept = []
        self.check_reset(self.batch.reset(seed=seeds), range(WORLDS), seeds)

    # Resets -------------------------------------------------------------------------------------------------------

    def check_reset(self, said, worlds, seeds=(None,) * WORLDS):
        observations, infos = said
        for w in worlds:
            self.check_begun(w, observations, infos, self.singles[w].reset(seed=seeds[w]))

    def check_begun(self, w, observations, infos, single):
        for agent in self.batch.possible_agents:
            assert freeze(observations[agent][w]) == freeze(single[0][agent])
            assert {key: values[w].item() for key, values in infos[agent].items()} == single[1][agent]

    @rule(seeds=st.none() | SEEDS)
    def reset(self, seeds):
        self.check_reset(self.batch.reset(seed=seeds), range(WORLDS), seeds or (None,) * WORLDS)

    @rule(seed=st.integers(0, 2**64 - 1))
    def reset_with_one_seed(self, seed):
        """World w has the stream (seed, w), which only a snapshot can give to a single environment."""
        keys = stream_key(np.full(WORLDS, seed, np.uint64), np.arange(WORLDS, dtype=np.uint64))
        for single, key in zip(self.singles, keys, strict=True):
            stream = {"key": np.array([key]), "counter": np.zeros(1, np.uint64)}
            single.restore(single.snapshot() | stream)
        self.check_reset(self.batch.reset(seed=seed), range(WORLDS))

    @rule(mask=MASKS, seeds=st.none() | SEEDS)
    def reset_some(self, mask, seeds):
        before = self.batch.snapshot()
        said = self.batch.reset(seed=seeds, options={"reset_mask": mask})
        self.check_reset(said, np.flatnonzero(mask), seeds or (None,) * WORLDS)
        for name, array in self.batch.snapshot().items():
            if array.ndim:
                assert freeze(array[~mask]) == freeze(before[name][~mask]), name

    # Steps --------------------------------------------------------------------------------------------------------

    def over(self):
        return np.array([not single.agents for single in self.singles])

    @precondition(lambda self: self.mode != "disabled" or not self.over().any())
    @rule(play=PLAY)
    def step(self, play):
        over = self.over()
        row = np.random.default_rng(play).random((WORLDS, len(self.batch.possible_agents), 8))
        observations, rewards, terminated, truncated, infos = self.batch.step(choose(self.batch, row))
        ended = np.zeros(WORLDS, bool)
        for w, single in enumerate(self.singles):
            if over[w]:  # next_step: this one only begins the new episode
                self.check_begun(w, observations, infos, single.reset())
                for part in (rewards, terminated, truncated):
                    assert not any(array[w] for array in part.values())
                continue
            one = single.step(choose(single, row[w]))
            ended[w] = not single.agents
            last = infos["final_obs"] if ended[w] and self.mode == "same_step" else observations
            for agent in self.batch.possible_agents:
                flags = rewards[agent][w], terminated[agent][w], truncated[agent][w]
                if agent in one[0]:
                    assert freeze(last[agent][w]) == freeze(one[0][agent])
                    assert flags == tuple(part[agent] for part in one[1:4])
                    assert {key: values[w].item() for key, values in infos[agent].items()} == one[4][agent]
                else:
                    assert flags == (0, True, False) and not last[agent][w].any()
            if ended[w] and self.mode == "same_step":
                new, _ = single.reset()
                assert all(freeze(observations[agent][w]) == freeze(new[agent]) for agent in new)
        assert ("final_obs" in infos) == (self.mode == "same_step" and ended.any())
        if "final_obs" in infos:
            assert infos["_final_obs"].tolist() == ended.tolist()
        acting = [[agent in single.agents for agent in single.possible_agents] for single in self.singles]
        assert infos["acting"].tolist() == acting

    @precondition(lambda self: not self.over().all())
    @rule(play=PLAY)
    def refused_step(self, play):
        """A missing action of the last agent that acts: an error, and no trace of the others' actions."""
        before = freeze(self.batch.snapshot())
        row = np.random.default_rng(play).random((WORLDS, len(self.batch.possible_agents), 8))
        actions = choose(self.batch, row)
        acting = {agent for single in self.singles for agent in single.agents}
        del actions[[agent for agent in self.batch.possible_agents if agent in acting][-1]]
        with pytest.raises((KeyError, RuntimeError)):
            self.batch.step(actions)
        assert freeze(self.batch.snapshot()) == before

    @rule(cycles=st.integers(1, 7))
    def assign_max_cycles(self, cycles):
        for env in (self.batch, *self.singles):
            env.max_cycles = cycles

    # Copies -------------------------------------------------------------------------------------------------------

    @rule()
    def keep(self):
        self.kept.append([env.snapshot() for env in (self.batch, *self.singles)])

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def go_back(self, data):
        kept = data.draw(st.sampled_from(range(len(self.kept))))
        for env, snapshot in zip((self.batch, *self.singles), self.kept[kept], strict=True):
            env.restore(snapshot)

    @rule(make=COPIES, also_singles=st.booleans(), play=PLAY)
    def go_on_with_a_copy(self, make, also_singles, play):
        original = self.batch
        self.batch = make(original)
        if also_singles:
            self.singles = [make(single) for single in self.singles]
        original.reset(seed=play)  # what happens to the original is no concern of the copy

    # Always -------------------------------------------------------------------------------------------------------

    @invariant()
    def the_states_are_the_same(self):
        if not hasattr(self, "batch"):
            return
        state, snapshot = self.batch.state(), self.batch.snapshot()
        assert snapshot["done"].tolist() == self.over().tolist()
        for w, single in enumerate(self.singles):
            assert freeze(state[w]) == freeze(single.state())
            for name in ("key", "counter", "steps", "terminated"):
                assert freeze(snapshot[name][w]) == freeze(single.snapshot()[name][0]), name
            assert single.max_cycles == self.batch.max_cycles


@pytest.mark.parametrize("name", MODULES)
def test_any_order_of_calls(name):
    machine = type(f"Worlds of {name}", (Worlds,), {"name": name})
    # The same examples at every run, so that a failure is one of the change that is tested.
    few = settings(max_examples=40, stateful_step_count=30, deadline=None, derandomize=True, database=None)
    machine.TestCase.settings = few
    machine.TestCase("runTest").runTest()
