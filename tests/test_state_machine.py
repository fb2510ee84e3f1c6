"""Whatever is called in whatever order, a batch does what as many single environments do.

Hypothesis draws sequences of calls to a vector environment; the model is one Parallel environment for each world, which
is reset by hand where the batch does it by itself.
"""

import copy
import importlib
import pickle

import numpy as np
from conftest import CONFIGURATIONS, choose, freeze, row_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mpe_ext.all_modules import MODULES
from mpe_ext.engine.random import stream_key

WORLDS = 3
MASKS = st.lists(st.booleans(), min_size=WORLDS, max_size=WORLDS).map(np.array)
SEEDS = st.integers(0, 2**64 - 1)
CASES = [(name, params) for name, cases in CONFIGURATIONS.items() for params in cases.values()]


class BatchAgainstSingles(RuleBasedStateMachine):
    @initialize(
        case=st.sampled_from(CASES),
        mode=st.sampled_from(["same_step", "next_step", "disabled"]),
        copies=st.booleans(),
        max_cycles=st.integers(1, 6),
        seeds=st.lists(SEEDS, min_size=WORLDS, max_size=WORLDS),
    )
    def begin(self, case, mode, copies, max_cycles, seeds):
        name, params = case
        module, params = importlib.import_module(MODULES[name]), params | {"max_cycles": max_cycles}
        self.mode = mode
        self.batch = module.vector_env(WORLDS, autoreset_mode=mode, copy=copies, **params)
        self.singles = [module.parallel_env(**params) for _ in range(WORLDS)]
        self.waiting = np.zeros(WORLDS, bool)  # the episode is over and the world not yet reset
        self.shelf = []
        self.reset(np.ones(WORLDS, bool), seeds)

    # Calls ------------------------------------------------------------------------------------------------------

    @rule(mask=MASKS, seeds=st.one_of(st.none(), st.lists(SEEDS, min_size=WORLDS, max_size=WORLDS)))
    def reset(self, mask, seeds):
        observations, infos = self.batch.reset(seed=seeds, options=None if mask.all() else {"reset_mask": mask})
        assert "final_obs" not in infos
        for w in np.flatnonzero(mask):
            one, its_infos = self.singles[w].reset(seed=None if seeds is None else seeds[w])
            self.agree(w, observations, one)
            assert {a: {k: v[w].item() for k, v in infos[a].items()} for a in one} == its_infos
        self.waiting &= ~mask

    @rule(seed=SEEDS)
    def reset_with_one_seed(self, seed):
        """World w has the stream (seed, w), which only a snapshot can give to a single environment."""
        observations, _ = self.batch.reset(seed=seed)
        keys = stream_key(np.full(WORLDS, seed, np.uint64), np.arange(WORLDS, dtype=np.uint64))
        for w, single in enumerate(self.singles):
            single.restore(single.snapshot() | {"key": keys[w : w + 1], "counter": np.zeros(1, np.uint64)})
            self.agree(w, observations, single.reset()[0])
        self.waiting[:] = False

    @precondition(lambda self: not (self.mode == "disabled" and self.waiting.any()))
    @rule(seed=st.integers(0, 2**32 - 1))
    def step(self, seed):
        numbers = np.random.default_rng(seed).random((WORLDS, len(self.batch.possible_agents), 8))
        observations, rewards, terminated, truncated, infos = self.batch.step(choose(self.batch, numbers))
        for w, single in enumerate(self.singles):
            if self.waiting[w]:  # next_step: this world begins
                one, its_infos = single.reset()
                self.agree(w, observations, one)
                for agent in one:
                    assert rewards[agent][w] == 0 and not terminated[agent][w] and not truncated[agent][w]
                    assert {k: v[w].item() for k, v in infos[agent].items()} == its_infos[agent]
                self.waiting[w] = False
                continue
            one, *rest = single.step(choose(single, numbers[w]))
            ended = not single.agents
            if self.mode == "same_step":
                assert ended == infos.get("_final_obs", np.zeros(WORLDS, bool))[w]
            self.agree(w, infos["final_obs"] if ended and self.mode == "same_step" else observations, one)
            for agent in self.batch.possible_agents:
                said = [part[agent][w].item() for part in (rewards, terminated, truncated)]
                assert said == ([part[agent] for part in rest[:3]] if agent in one else [0, True, False])
            for agent, info in rest[3].items():
                assert {key: values[w].item() for key, values in infos[agent].items()} == info
            self.waiting[w] = ended
            if ended and self.mode == "same_step":
                self.agree(w, observations, single.reset()[0])
                self.waiting[w] = False

    @rule(value=st.integers(1, 8))
    def assign_max_cycles(self, value):
        for env in (self.batch, *self.singles):
            env.max_cycles = value

    @rule()
    def snapshot(self):
        self.shelf.append((self.batch.snapshot(), pickle.dumps(self.singles), self.waiting.copy()))

    @precondition(lambda self: self.shelf)
    @rule(data=st.data())
    def restore(self, data):
        snapshot, singles, waiting = data.draw(st.sampled_from(self.shelf))
        self.batch.restore(snapshot)
        self.singles, self.waiting = pickle.loads(singles), waiting.copy()

    @rule(deep=st.booleans())
    def replace_by_a_copy(self, deep):
        self.batch = copy.deepcopy(self.batch) if deep else pickle.loads(pickle.dumps(self.batch))

    @precondition(lambda self: not (self.mode == "disabled" and self.waiting.any()))
    @rule(kind=st.sampled_from(["missing", "unknown", "shape", "value"]))
    def mistake(self, kind):
        """An error changes nothing: the invariants and all later steps would notice."""
        numbers = np.zeros((WORLDS, len(self.batch.possible_agents), 8))
        actions = choose(self.batch, numbers)
        acts = self.batch.snapshot()["acting"].any(axis=0)
        if not acts.any():  # all worlds wait
            return
        agent = self.batch.possible_agents[int(acts.argmax())]
        if kind == "missing":
            del actions[agent]
        elif kind == "unknown":
            actions["nobody_0"] = actions[agent]
        elif kind == "shape":
            actions[agent] = actions[agent][:-1]
        elif self.waiting.any():
            return
        else:
            actions[agent] = actions[agent] + (99 if actions[agent].dtype.kind == "i" else np.nan)
        before = freeze(self.batch.snapshot())
        try:
            self.batch.step(actions)
        except (KeyError, TypeError, ValueError) as error:
            assert "nobody_0" in str(error) or agent in str(error)
        else:
            raise AssertionError(f"{kind}: no error")
        assert freeze(self.batch.snapshot()) == before

    # What must hold after each ----------------------------------------------------------------------------------

    @invariant()
    def same_state(self):
        if hasattr(self, "batch"):
            state = self.batch.state()
            for w, single in enumerate(self.singles):
                assert freeze(state[w]) == freeze(single.state())
                assert self.waiting[w] == (not single.agents)

    def agree(self, w, observations, one):
        for agent, array in observations.items():
            its = row_of(array, w)
            assert freeze(its) == freeze(one[agent] if agent in one else np.zeros_like(its))


TestBatchAgainstSingles = BatchAgainstSingles.TestCase
TestBatchAgainstSingles.settings = settings(
    max_examples=100,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
