"""Measures the speed of the turn-based games, side by side in one run, and writes results/turns_speed.json.

    python benchmarks/turns_speed.py            # about six minutes
    python benchmarks/turns_speed.py --quick    # about a minute, without the training run; prints only

Batches play random actions drawn beforehand, same-step resets included; a move of a batch counts once for each world.
One world is driven through AEC beside PettingZoo's own tictactoe_v3, in turns: once with random games and their resets
(those of ChefWorld last 1.5 moves, of tictactoe 7.6), once with one game of 5 to 7 moves of which `last` and `step`
alone are timed. What is printed is the median over rounds. The training run is 1 million moves of ChefWorld with all
updates of DQN.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import Chunk, cores, median_ratio, rate, timed

from mpe_ext import chefworld_v0, meeting_scheduling_v0

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "turns_speed.json"
GAMES: dict[str, Any] = {"chefworld_v0": chefworld_v0, "meeting_scheduling_v0": meeting_scheduling_v0}
GOALS = {"chefworld_v0": 5e6, "meeting_scheduling_v0": 3e6}
SIZES = (256, 512, 1_024, 2_048, 4_096, 16_384, 65_536)
STEPS = 16


def batch(module: Any, num_envs: int, copy: bool) -> Chunk:
    """Some steps of a batch."""
    env = module.vector_env(num_envs=num_envs, copy=copy)
    draw = np.random.default_rng(0)
    plans = [
        {agent: draw.integers(env.action_space(agent).n, size=num_envs) for agent in env.possible_agents}
        for _ in range(STEPS)
    ]
    env.reset(seed=0)

    def work() -> None:
        for plan in plans:
            env.step(plan)

    return timed(work, STEPS * num_envs)


def turns(env: Any, masked: bool = False) -> Chunk:
    """Episodes of one world through AEC. `masked`: only actions that the mask allows, for games with illegal moves."""
    draw = np.random.default_rng(0)
    plan = draw.integers(env.action_space(env.possible_agents[0]).n, size=4096).tolist()
    at = 0

    def chunk() -> tuple[int, float]:
        nonlocal at
        moves, start = 0, time.perf_counter()
        for _ in range(50):
            env.reset()
            while True:
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    break
                action = plan[at]
                at = (at + 1) % len(plan)
                if masked:
                    mask = observation["action_mask"]
                    while not mask[action]:
                        action = (action + 1) % len(mask)
                env.step(action)
                moves += 1
        return moves, time.perf_counter() - start

    return chunk


def moves(env: Any, actions: list[int], options: dict[str, Any] | None = None) -> Chunk:
    """One game again and again; only `last` and `step` are timed."""

    def chunk() -> tuple[int, float]:
        spent = 0.0
        for _ in range(50):
            env.reset(options=options)
            start = time.perf_counter()
            for action in actions:
                env.last()
                env.step(action)
            spent += time.perf_counter() - start
        return 50 * len(actions), spent

    return chunk


def long_games(tictactoe: Any) -> dict[str, Chunk]:
    """A game of each."""
    recipe = [[0, 1, 2, 6], [2, 2, 4, 8, 9], [2, 3, 6, 7, 7], [1, 2, 2, 8, 9]]
    tables = [[0, 0, 1, 1, 1, 0, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0]]
    meeting = meeting_scheduling_v0.env()
    talk = [meeting.game.inform(2, 4), meeting.game.inform(0, 1)] * 3 + [meeting.game.propose(5)]
    return {
        "tictactoe_v3": moves(tictactoe, [0, 3, 1, 4, 8, 5]),
        "chefworld_v0": moves(chefworld_v0.env(), [3, 7, 6, 2, 7], {"recipe": recipe, "target": 2}),
        "meeting_scheduling_v0": moves(meeting, talk, {"tables": tables, "first_mover": 0}),
    }


def training() -> float:
    """Seconds of a DQN run of 1 million moves of ChefWorld, start to end."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--env", "chefworld_v0", "--total-steps", "1000000", "--out", f"{folder}/run"]
        begin = time.perf_counter()
        subprocess.run([sys.executable, str(ROOT / "main.py"), "dqn", *options], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()
    rounds, seconds = (2, 0.3) if arguments.quick else (arguments.rounds, arguments.seconds)

    result: dict[str, Any] = {"cores": cores(), "numpy": np.__version__, "vector": {}, "one_world": {}}
    for name, module in GAMES.items():
        found: dict[str, Any] = {"goal": GOALS[name]}
        for copy in (False, True):
            swept = {size: rate(batch(module, size, copy), seconds / 2) for size in SIZES}
            size = max(swept, key=lambda s: swept[s])
            chunk = batch(module, size, copy)
            measured = [rate(chunk, seconds) for _ in range(rounds)]
            kind = "copies" if copy else "views"
            found[kind] = {"num_envs": size, "rate": statistics.median(measured), "rounds": measured, "sweep": swept}
        result["vector"][name] = found
        views, copies = found["views"], found["copies"]
        print(
            f"{name}: {views['rate'] / 1e6:.2f} M world-moves/s at {views['num_envs']:,} worlds "
            f"(asked {GOALS[name] / 1e6:.0f} M; rounds {min(views['rounds']) / 1e6:.2f} to "
            f"{max(views['rounds']) / 1e6:.2f}), with copies {copies['rate'] / 1e6:.2f} M at {copies['num_envs']:,}",
            flush=True,
        )

    from pettingzoo.classic import tictactoe_v3

    whole = {"tictactoe_v3": turns(tictactoe_v3.env(), masked=True)}
    whole |= {name: turns(module.env()) for name, module in GAMES.items()}
    for kind, chunks in (("with resets", whole), ("last and step", long_games(tictactoe_v3.env()))):
        rates: dict[str, list[float]] = {name: [] for name in chunks}
        for chunk in chunks.values():
            chunk()
        for _ in range(rounds):
            for name, chunk in chunks.items():
                rates[name].append(rate(chunk, seconds))
        for name, values in rates.items():
            found = {"rate": statistics.median(values), "ratio": median_ratio(values, rates["tictactoe_v3"])}
            result["one_world"].setdefault(name, {})[kind] = found
            print(f"{name}, {kind}: {found['rate']:,.0f} moves/s, {found['ratio']:.1f} x tictactoe_v3", flush=True)

    if not arguments.quick:
        result["training_seconds"] = training()
        print(f"DQN, 1,000,000 moves of ChefWorld: {result['training_seconds']:.0f} s (asked under 180)")
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
        print(f"written: {RESULT}")


if __name__ == "__main__":
    main()
