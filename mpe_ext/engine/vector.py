"""VectorEnv: a batch of worlds of one game, with Gymnasium's vector conventions for each agent."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from mpe_ext.engine import actions as act
from mpe_ext.engine import shared as sh
from mpe_ext.engine import threads
from mpe_ext.engine.game import Game
from mpe_ext.engine.jit import announce_compilation, bind
from mpe_ext.engine.random import stream_key
from mpe_ext.engine.seeding import as_seed, entropy
from mpe_ext.engine.views import arrays, copied, keep_rows, zeros_like

Arrays = dict[str, np.ndarray]


class VectorEnv:
    """`num_envs` worlds of one game, stepped together.

    Observations, rewards, terminations and truncations are dicts by agent of arrays with `num_envs` first
    (float32 observations, or dicts of arrays; float64 rewards, bool flags). `infos[agent][key]` are arrays as well;
    beside the agents stand `infos["acting"]`, bool[num_envs, agents], and, with same-step autoreset on steps in which
    episodes ended, `infos["final_obs"][agent]` (full width; rows of `infos["_final_obs"]` count). Rewards, flags and
    infos of such a step speak of the episode that ended, the observations of the new one.

    Args:
        game: what to play.
        num_envs: number of worlds.
        num_threads: threads to use; None for all cores. Results do not depend on it.
        autoreset_mode: `gymnasium.vector.AutoresetMode` or its name in lower case.
        copy: False hands out views of arrays that the next call overwrites.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int = 1,
        num_threads: int | None = None,
        autoreset_mode: AutoresetMode | str = "same_step",
        copy: bool = True,
    ):
        self.num_envs = act.positive_int("num_envs", num_envs)
        self.num_threads = None if num_threads is None else act.positive_int("num_threads", num_threads)
        self._threads = self.num_threads or threads.available_cpus()
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        if not isinstance(copy, bool):
            raise ValueError(f"copy={copy!r}: must be True or False")
        self.copy = copy
        self.game = game
        self.possible_agents = list(game.agents)
        self.metadata = {
            "name": game.name,
            "render_fps": game.render_fps,
            "autoreset_mode": self.autoreset_mode,
        }
        self._max_cycles = game.params.max_cycles
        self._rules = game.numbers()
        self._choices = act.choices([game.action_spaces[agent] for agent in game.agents])
        self._shared = sh.allocate(self.num_envs, len(game.agents), game.control_width)
        self._state = game.allocate(self.num_envs)
        self._seeded = False  # streams exist
        self._started = False  # every world has been reset
        self._connect()

    def _connect(self) -> None:
        """Views that are handed out, and the tuples that kernels take."""
        e, game = self._shared, self.game
        self._tuples = (tuple(e), tuple(self._state), tuple(self._rules))
        self._observations = game.observations(self._state)
        own = game.infos(self._state)
        self._infos: dict[str, Arrays] = {}
        for i, agent in enumerate(self.possible_agents):
            engine = {"episode_return": e.episode_return[:, i], "episode_length": e.episode_length[:, i]}
            self._infos[agent] = own[agent] | engine
        every = {id(view): view for infos in self._infos.values() for view in infos.values()}  # agents may share one
        # Masks are written by the rules like observations.
        self._info_at_reset = [(view, view[0]) for view in every.values() if view.ndim == 1]
        self._final: dict[str, Any] = {}  # observations at the end of episodes, 0 in worlds where none ended just now
        self._ended = np.zeros(self.num_envs, np.bool_)  # these worlds' just did
        self._bound: dict[str, Callable] = {}

    # Spaces ---------------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Space:
        """Space of one world's observation; always the same object."""
        return act.look_up(self.game.observation_spaces, agent)

    def action_space(self, agent: str) -> spaces.Space:
        """Space of one world's action; always the same object."""
        return act.look_up(self.game.action_spaces, agent)

    @property
    def state_space(self) -> spaces.Box:
        """Space of one world's row of `state()`."""
        return self.game.state_space

    @property
    def max_cycles(self) -> int:
        """Steps after which an episode is truncated. May be assigned; counts from the next step on."""
        return self._max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int) -> None:
        self._max_cycles = act.positive_int("max_cycles", value)

    # Episodes -------------------------------------------------------------------------------------------------

    def reset(
        self, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: an int s gives world w the stream (s, w), world 0 the one of the single environment with seed s;
                a sequence gives world w the stream of the single environment with the w-th seed; None goes on with
                the streams as they are (the first time: from the system's entropy).
            options: `{"reset_mask": bool[num_envs]}` begins anew in these worlds only. What else may be fixed is the
                game's to say, and holds for this reset, not for automatic ones. Other keys are ignored.
        """
        mask = self._reset_mask(options)
        fixed = self.game.read_options(options or {}, self.num_envs)
        if not self._started:
            announce_compilation(self.game.name, [self.game.kernels.reset, self.game.kernels.step])
        if seed is not None or not self._seeded:
            self._seed(seed, mask)
        self.game.before_reset(fixed, self._state, mask)
        self._begin(mask)
        if fixed is not None:
            self.game.before_reset(None, self._state, mask)  # automatic resets are free again
            self.game.after_reset(fixed, self._shared, self._state, mask)
            self._run("observe")
        self._started = True
        return self._out(self._observations), self._info_dict()

    def _begin(self, mask: np.ndarray) -> None:
        """New episodes in these worlds."""
        self._shared.begin[:] = mask
        self._clear_returned(... if mask.all() else mask)  # a mask costs ten times as much
        self._run("reset")
        self._shared.begin[:] = False

    def _begin_all(self) -> None:
        """The same in all worlds, on this thread."""
        self._shared.begin[:] = True
        self._clear_returned(...)
        self._kernel("reset")(0, self.num_envs, *self._tuples)
        self._shared.begin[:] = False

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict[str, Any]]:
        """Play one step in every world.

        Args:
            actions: by agent, integers [num_envs] for `Discrete`, numbers [num_envs, k] for `Box` (clipped to it).
                Whoever acts in no world may be missing; entries of worlds where an agent does not act do not matter.

        Raises:
            RuntimeError: before `reset`, or with `autoreset_mode="disabled"` when a world's episode is over.
            KeyError, TypeError, ValueError: an unknown or missing agent, a wrong dtype, shape or value; nothing has
                changed then.
        """
        e, mode = self._shared, self.autoreset_mode
        if not self._started:
            raise RuntimeError("step() before reset(): call reset() first")
        if mode is AutoresetMode.DISABLED and e.done.any():
            over = np.flatnonzero(e.done)
            raise RuntimeError(
                f"the episodes of {over.size} worlds are over (the first is world {over[0]}): "
                "reset them with options={'reset_mask': ...} before the next step"
            )
        act.write(self, actions)
        if mode is AutoresetMode.NEXT_STEP and e.done.any():
            e.begin[:] = e.done
            self._clear_returned(e.begin)
            self._run("reset")
        if mode is not AutoresetMode.SAME_STEP:
            self._run("step", self._max_cycles)
            return (*self._returned(), self._info_dict())
        ended, infos = self._step_and_reset(), self._info_dict()
        if ended:
            infos["final_obs"] = self._out(self._final)
            infos["_final_obs"] = self._ended.copy() if self.copy else self._ended
        return (*self._returned(), infos)

    def state(self) -> np.ndarray:
        """The global state, [num_envs, size]."""
        if not self._started:
            raise RuntimeError("state() before reset(): call reset() first")
        view = self.game.global_state(self._state)
        return view.copy() if self.copy else view

    def events(self, world: int) -> list[Any]:
        """What happened in the latest step of one world, for people; empty for games without events."""
        return self.game.events(self._state, world)

    # Snapshots ------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that the future depends on, mid-episode or not, as copies of arrays by name."""
        arrays = {**self._shared._asdict(), **self._state._asdict()}
        flags = {"max_cycles": self._max_cycles, "seeded": self._seeded, "started": self._started}
        return {k: v.copy() for k, v in arrays.items()} | {k: np.array(v) for k, v in flags.items()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Return to a `snapshot()` (of this game, with as many worlds). Observations are written anew from the state.

        Raises:
            ValueError: an array is missing, unknown, of another shape or dtype, or not finite. Nothing changes then.
        """
        mine = {**self._shared._asdict(), **self._state._asdict()}
        known = {*mine, "max_cycles", "seeded", "started"}
        if known != set(snapshot):
            odd = ", ".join(sorted(known ^ set(snapshot)))
            raise ValueError(f"the snapshot is not one of {self.game.name}: missing or unknown {odd}")
        for name, array in mine.items():
            new = np.asarray(snapshot[name])
            if new.shape != array.shape or new.dtype != array.dtype:
                raise ValueError(
                    f"snapshot[{name!r}] is {new.dtype}{list(new.shape)}, must be {array.dtype}{list(array.shape)}"
                )
            if new.dtype.kind == "f" and not np.isfinite(new).all():
                raise ValueError(f"snapshot[{name!r}] holds NaN or infinity; all values must be finite")
        if self.autoreset_mode is AutoresetMode.SAME_STEP and np.any(snapshot["done"]):
            raise ValueError("the snapshot holds finished worlds; with autoreset_mode='same_step' there are none")
        self.max_cycles = int(snapshot["max_cycles"])
        for name, array in mine.items():
            array[...] = snapshot[name]
        self._seeded, self._started = bool(snapshot["seeded"]), bool(snapshot["started"])
        if self._started:
            self._run("observe")

    def __getstate__(self) -> dict[str, Any]:
        make = {k: getattr(self, k) for k in ("num_envs", "num_threads", "autoreset_mode", "copy")}
        return {"game": type(self.game), "arguments": self.game.arguments(), "make": make,
                "snapshot": self.snapshot()}  # fmt: skip

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        VectorEnv.__init__(self, pickled["game"].make(**pickled["arguments"]), **pickled["make"])
        self.restore(pickled["snapshot"])

    def close(self) -> None:
        """Nothing is held open; for symmetry with Gymnasium. May be called any number of times."""

    def __repr__(self) -> str:
        return f"VectorEnv({self.game.name}, num_envs={self.num_envs})"

    # ----------------------------------------------------------------------------------------------------------

    def _kernel(self, name: str) -> Callable:
        """The game's kernel `name` (see `Kernels`), bound to the arrays' types at its first use."""
        if name not in self._bound:
            limit = (self._max_cycles,) if name == "step" else ()
            self._bound[name] = bind(getattr(self.game.kernels, name), 0, 0, *limit, *self._tuples)
        return self._bound[name]

    def _run(self, name: str, *arguments: Any) -> int:
        kernel, tuples = self._kernel(name), self._tuples

        def part(lo: int, hi: int) -> int:
            return kernel(lo, hi, *arguments, *tuples)

        return threads.run(part, self.num_envs, self._threads)

    def _seed(self, seed: int | Sequence[int] | None, mask: np.ndarray) -> None:
        e, worlds = self._shared, np.arange(self.num_envs, dtype=np.uint64)
        if seed is None or not isinstance(seed, Sequence | np.ndarray) or np.ndim(seed) == 0:
            number = entropy() if seed is None else as_seed(seed)
            key = stream_key(np.full(self.num_envs, number, np.uint64), worlds)
        else:
            if len(seed) != self.num_envs:
                raise ValueError(f"seed has {len(seed)} entries, must have one for each of {self.num_envs} worlds")
            numbers = np.array([as_seed(s) for s in seed], np.uint64)
            key = stream_key(numbers, np.zeros_like(worlds))
        if not self._seeded:
            mask = np.ones(self.num_envs, np.bool_)  # worlds outside the mask need a stream as well
        e.key[mask] = key[mask]
        e.counter[mask] = 0
        self._seeded = True

    def _reset_mask(self, options: Mapping[str, Any] | None) -> np.ndarray:
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"options={options!r}: must be a dict or None")
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(f"reset_mask is {mask.dtype}{list(mask.shape)}, must be bool[{self.num_envs}]")
        if not self._started and not mask.all():
            raise ValueError("reset_mask leaves worlds out, but no episode has begun: reset all of them first")
        return mask

    def _clear_returned(self, where: Any) -> None:
        """What reset() reports of the worlds of a mask (`...`: of all): no reward, no flag, the infos of an episode in
        which nothing happened."""
        e = self._shared
        for array in (e.rewards, e.terminated, e.truncated):
            array[where] = 0
        for view, value in self._info_at_reset:
            view[where] = value

    def _step_and_reset(self) -> int:
        """Step, keep the final observations of the worlds whose episode ended, reset these; how many they are."""
        if not self._final:
            self._final = {agent: zeros_like(view) for agent, view in self._observations.items()}
        pairs = [
            (source.reshape(self.num_envs, -1), target.reshape(self.num_envs, -1))
            for agent, view in self._observations.items()
            for source, target in zip(arrays(view), arrays(self._final[agent]), strict=True)
        ]
        step, reset, tuples, limit = self._kernel("step"), self._kernel("reset"), self._tuples, self._max_cycles
        done, begin, kept = self._shared.done, self._shared.begin, self._ended

        def part(lo: int, hi: int) -> int:  # all of it at once: handing work over takes as long as many worlds do
            ended = step(lo, hi, limit, *tuples)
            if ended or kept[lo:hi].any():
                for source, target in pairs:
                    keep_rows(lo, hi, done, kept, source, target)
                kept[lo:hi] = done[lo:hi]
            if ended:
                begin[lo:hi] = done[lo:hi]
                reset(lo, hi, *tuples)
                begin[lo:hi] = False
            return ended

        return threads.run(part, self.num_envs, self._threads)

    def _out(self, views: Mapping[str, Any]) -> dict[str, Any]:
        return {k: copied(v) for k, v in views.items()} if self.copy else dict(views)

    def _by_agent(self, array: np.ndarray) -> Arrays:
        array = array.copy() if self.copy else array
        return {agent: array[:, i] for i, agent in enumerate(self.possible_agents)}

    def _returned(self) -> tuple[Arrays, Arrays, Arrays, Arrays]:
        e = self._shared
        return (
            self._out(self._observations),
            self._by_agent(e.rewards),
            self._by_agent(e.terminated),
            self._by_agent(e.truncated),
        )

    def _info_dict(self) -> dict[str, Any]:
        infos: dict[str, Any] = {agent: self._out(views) for agent, views in self._infos.items()}
        infos["acting"] = self._shared.acting.copy() if self.copy else self._shared.acting
        return infos


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    modes = {m.name.lower(): m for m in AutoresetMode}
    if not isinstance(mode, str) or mode not in modes:
        raise ValueError(f"autoreset_mode={mode!r}: must be one of {', '.join(map(repr, modes))}")
    return modes[mode]
