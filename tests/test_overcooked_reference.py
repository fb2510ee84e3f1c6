"""Overcooked-v2 against the slow second implementation, step by step over whole episodes of random play."""

import numpy as np
import pytest
from reference_overcooked import Kitchen, name

from mpe_ext import overcooked_v2_v0
from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program.corpus import load

CONFIGURATIONS = {
    "default": {},
    "no violations": {"strict": "off", "style": "two_room"},
    "lenient": {"strict": "lenient", "program": "U1", "style": "mixed"},
    "four agents": {"strict": "off", "style": "three_room", "n_agents": 4, "program": "U2"},
    "one agent": {"program": "H1c", "style": "corridor", "n_agents": 1, "strict": "off"},
    "fire": {"program": "H3", "fire_mode": "once", "strict": "off", "style": "noise2"},
    "fires": {
        "program": "H1c",
        "fire_mode": "hazard",
        "max_fires": 4,
        "fire_hazard": 0.2,
        "strict": "off",
        "n_agents": 3,
    },
    "plates to counters": {
        "program": "S1",
        "strict": "off",
        "dirty_return": "counter",
        "n_plates": 4,
        "return_delay": 2,
    },
    "plates gone": {"program": "U3", "strict": "off", "dirty_return": "none"},
    "slow work": {"strict": "off", "t_chop": 3, "t_wash": 2, "bin": True},
    "hands": {"p_start_holding": 1.0, "strict": "off", "style": "legacy_two_room"},
    "orders": {"program": "E2", "orders_mode": "stream", "order_rate": 0.5, "strict": "off"},
}


def eager(rng, mask):
    """Mostly something that has an effect, so that much happens; at times anything at all."""
    if rng.random() < 0.15:
        return int(rng.integers(24))
    useful = np.flatnonzero(mask[4:]) + 4
    return int(rng.choice(useful)) if len(useful) and rng.random() < 0.6 else int(rng.integers(4))


def cell(number):
    return number // 8, number % 8


def adopting(state, w, modes, before):
    """Takes fires and orders from world w into the reference, after checking them."""

    def adopt(kitchen):
        burning = {cell(k) for k in range(64) if int(state.fire[w]) >> k & 1}
        assert burning >= kitchen.fire
        for new in burning - kitchen.fire:
            assert kitchen.may_burn(new)
            kitchen.fire.add(new)
        orders = state.orders[w].tolist()
        if modes["orders_mode"] == "stream":
            assert all(ours >= theirs for ours, theirs in zip(orders, kitchen.orders, strict=True))
            assert sum(orders) <= max(3, sum(kitchen.orders))
            kitchen.orders = orders

    return adopt


def compare(state, w, kitchen, context):
    items = {cell(k): t.ITEMS[state.item[w, k]] for k in range(64) if state.item[w, k]}
    assert items == {at: name(item) for at, (item, _) in kitchen.item.items()}, context
    assert {cell(k): int(state.progress[w, k]) for k in range(64) if state.progress[w, k]} == {
        at: progress for at, (_, progress) in kitchen.item.items() if progress
    }, context
    assert [cell(c) for c in state.cell[w]] == kitchen.at, context
    hands = [("Nothing", 0) if hand is None else (name(hand[0]), hand[1]) for hand in kitchen.hand]
    assert [t.ITEMS[i] for i in state.hand[w]] == [h for h, _ in hands], context
    assert state.hand_progress[w].tolist() == [p for _, p in hands], context
    assert state.orders[w].tolist() == kitchen.orders, context
    assert {cell(k) for k in range(64) if int(state.fire[w]) >> k & 1} == kitchen.fire, context
    assert t.STATUSES[state.status[w, 0]] == kitchen.status, context


def play(name_, steps, worlds=24, seed=5):
    """So many joint steps in all; how many of them had an event."""
    arguments = CONFIGURATIONS[name_]
    env = overcooked_v2_v0.vector_env(num_envs=worlds, num_threads=1, autoreset_mode="next_step", **arguments)
    game, state = env.game, env._state
    own = {k: v for k, v in arguments.items() if k in ("strict", "dirty_return", "return_delay", "t_chop", "t_wash")}
    program = load(arguments.get("program", "H2")).program
    observations, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)

    def kitchen(w):
        return Kitchen(overcooked_v2_v0.level(env, w), program, **own)

    modes = {"orders_mode": game.params.orders_mode}
    kitchens: list = [kitchen(w) for w in range(worlds)]
    played = eventful = 0
    while played < steps:
        actions = {
            a: np.array([eager(rng, observations[a]["action_mask"][w]) for w in range(worlds)]) for a in game.agents
        }
        observations, rewards, terminations, truncations, infos = env.step(actions)
        for w in range(worlds):
            if kitchens[w] is None:  # this step began the next episode
                kitchens[w] = kitchen(w)
                compare(state, w, kitchens[w], "reset")
                continue
            k = kitchens[w]
            reward, events = k.step([int(actions[a][w]) for a in game.agents], adopting(state, w, modes, k))
            context = f"{name_}, world {w}, step {k.time}"
            compare(state, w, k, context)
            for i, agent in enumerate(game.agents):
                event, pointer = events.get(i, ("none", None))
                assert t.EVENT_NAMES[infos[agent]["event"][w]] == event, context
                assert state.matched[w, i] == (-1 if pointer is None else pointer), context
                assert rewards[agent][w] == pytest.approx(reward), context
                assert terminations[agent][w] == (k.status in ("completed", "violated")), context
                assert truncations[agent][w] == (k.status == "truncated"), context
            played += 1
            eventful += bool(events)
            if k.status != "running":
                kitchens[w] = None
    return eventful / played


@pytest.mark.parametrize("name_", CONFIGURATIONS)
def test_agrees_with_the_second_implementation(name_):
    assert play(name_, 3_000) > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name_", CONFIGURATIONS)
def test_agrees_over_a_million_joint_actions(name_):
    play(name_, 1_000_000 // len(CONFIGURATIONS), worlds=64, seed=11)
