"""Where the time of a step goes: each rule of the tag game by itself, on one core.

    python benchmarks/phases.py [--worlds 1024] [--rounds 60]

Every rule runs in a loop of its own over all worlds, in the order of a step, over whole episodes of random play;
printed is its best time in nanoseconds a world, mean over the steps of an episode. `detect`, which finds and sorts the
food that collectors see, is a part of `observe`; the rest of that is writing.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mpe_ext import simple_tag_while_c_v0 as tag
from mpe_ext.engine.jit import bind, kernel
from mpe_ext.simple_tag_while_c import rules

STEP = {
    "open_step": "open_step(w, e)",
    "stay_down": "stay_down(w, s)",
    "act": "act(w, e, s, p)",
    "push_apart": "push_apart(w, s, p)",
    "move": "move(w, s, p)",
    "link": "link(w, e, s, p)",
    "pick_up": "pick_up(w, s, p)",
    "pay": "pay(w, e, s, p)",
    "respawn": "respawn(w, e, s, p)",
    "close_step": "close_step(w, e, max_cycles)",
    "observe": "observe(w, s, p)",
}
PARTS = {"detect": "detect(w, s, p, 2); detect(w, s, p, 3)"}
LOOP = """
def loop(lo, hi, max_cycles, shared, state, numbers):
    e, s, p = Shared(*shared), State(*state), Rules(*numbers)
    for w in range(lo, hi):
        {rule}
"""


def compiled(rule: str, arguments: tuple) -> Callable:
    """A loop over worlds around one rule, past numba's dispatch."""
    names: dict[str, Any] = dict(vars(rules))
    exec(LOOP.format(rule=rule), names)
    return bind(kernel(names["loop"]), 0, 0, *arguments)


def measure(n: int = 1024, rounds: int = 60, cycles: int = 25) -> dict[str, float]:
    """Nanoseconds a world-step of each rule on one core; `reset` is spread over an episode's steps."""
    worlds = tag.vector_env(num_envs=n, num_threads=1, copy=False, max_cycles=cycles)
    worlds.reset(seed=0)
    shared = worlds._shared
    arguments = (cycles, *worlds._tuples)
    loops = {name: compiled(rule, arguments) for name, rule in (STEP | PARTS).items()}
    reset = worlds._kernel("reset")
    actions = np.random.default_rng(0).integers(0, 5, (cycles, *shared.actions.shape))
    best = {name: np.full(cycles, np.inf) for name in ("reset", *loops)}
    nothing = np.inf  # what a call costs that does nothing
    for _ in range(rounds):
        shared.begin[:] = True
        best["reset"][:] = min(best["reset"][0], timed(lambda: reset(0, n, *worlds._tuples)) / cycles)
        shared.begin[:] = False
        for step in range(cycles):
            shared.actions[:] = actions[step]
            for name, loop in loops.items():
                best[name][step] = min(best[name][step], timed(lambda loop=loop: loop(0, n, *arguments)))
            nothing = min(nothing, timed(lambda: loops["move"](0, 0, *arguments)))
    return {name: (t.mean() - nothing * (name != "reset")) / n * 1e9 for name, t in best.items()}


def lines(found: dict[str, float]) -> list[str]:
    """The table."""
    total = sum(cost for name, cost in found.items() if name not in PARTS)
    table = [f"{name + (' (part of observe)' if name in PARTS else ''):25} {cost:6.1f}" for name, cost in found.items()]
    return [*table, f"{'all':25} {total:6.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    print("nanoseconds a world-step, one core", *lines(measure(options.worlds, options.rounds)), sep="\n")


def timed(call: Callable) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
