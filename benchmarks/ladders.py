"""The yardsticks of the turn-based games: what every pairing of their ladders earns; writes results/ladders.json.

    python benchmarks/ladders.py

ChefWorld: 20,000 games of each pairing, the same ones for all, over all dishes, over test dishes, and with the preset
`hard`. Meeting scheduling: exact, over all ordered pairs of tables and both first movers, by enumeration.
"""

import json
import time
from functools import partial
from typing import Any

import numpy as np
from training import RESULTS

from maddpg.players import Cast, ladder
from maddpg.rollout import EVALUATION_SEED, mean_and_interval, play
from maddpg.worlds import make_worlds
from mpe_ext.meeting_scheduling import heuristics
from mpe_ext.meeting_scheduling.game import MeetingScheduling
from mpe_ext.meeting_scheduling.solver import enumerate_games

GAMES = 20_000
CHEF: dict[str, dict[str, Any]] = {"all": {}, "test": {"split": "test"}, "hard": {"preset": "hard"}}
MEETING: dict[str, dict[str, Any]] = {"256": {"include_all_free": True}, "255": {}, "test": {"split": "test"}}


def chefworld(params: dict[str, Any]) -> list[dict[str, Any]]:
    """Success, unique-identifier rate and messages of each pairing, with 95 % intervals."""
    worlds: Any = make_worlds("chefworld_v0", GAMES, params)
    rows = []
    for names in ladder(worlds):
        episodes = play(worlds, Cast(names, worlds, EVALUATION_SEED), GAMES, EVALUATION_SEED)
        assert worlds.game.outside_split(episodes) == 0
        figures = {k: mean_and_interval(v) for k, v in worlds.game.metrics(episodes).items()}
        figures["return"] = mean_and_interval(episodes.returns["chef_0"])
        rows.append({"policy": names, **{k: np.round(v, 5).tolist() for k, v in figures.items()}})
        print(f"  {names:28} success {figures['success'][0]:.4f} ± {figures['success'][1]:.4f}", flush=True)
    return rows


def meeting(params: dict[str, Any]) -> list[dict[str, Any]]:
    """Exact success, return and informs of each policy with itself; over 256 tables only of those that play blindly,
    for which the paper has figures."""
    game: Any = MeetingScheduling.make(**params)
    rows = []
    rules: dict[str, Any] = {"random": partial(heuristics.Blind, heuristics.any_action)}
    rules |= {name: heuristics.RULES[name][0] for name in heuristics.LADDER}
    for name, make in rules.items():
        rule = make(game)
        if game.params.include_all_free and not isinstance(rule, heuristics.Blind):
            continue
        found = enumerate_games(game, (rule, rule))._asdict()
        rows.append({"policy": name, **{k: round(v, 6) for k, v in found.items()}})
        line = ", ".join(f"{k} {v:.4f}" for k, v in found.items())
        print(f"  {name:22} {line}", flush=True)
    return rows


def main() -> None:
    result: dict[str, Any] = {"games": GAMES, "chefworld": {}, "meeting": {}, "seconds": {}}
    for game, cases, make in (("chefworld", CHEF, chefworld), ("meeting", MEETING, meeting)):
        for label, params in cases.items():
            print(f"{game}, {label}")
            begin = time.perf_counter()
            result[game][label] = make(params)
            result["seconds"][f"{game} {label}"] = round(time.perf_counter() - begin, 1)
            print(f"  {result['seconds'][f'{game} {label}']} s", flush=True)
    (RESULTS / "ladders.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {RESULTS / 'ladders.json'}")


if __name__ == "__main__":
    main()
