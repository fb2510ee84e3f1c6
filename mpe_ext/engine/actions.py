"""Checking actions before anything is changed, and handing them to the kernels.

Discrete actions out of range are an error; continuous ones are clipped to their box, NaN is an error. Errors name the
agent, the value and the range. (PettingZoo's own out-of-bounds wrapper costs half the speed and asserts without the
value.)
"""

import numbers
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from mpe_ext.engine.params import LARGEST_INT, nearest


def positive_int(name: str, value: Any) -> int:
    """`value` as an int >= 1, or ValueError."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= LARGEST_INT:
        raise ValueError(f"{name}={value!r}: must be an integer in 1 .. {LARGEST_INT}")
    return int(value)


def check_names(actions: Mapping[str, Any], possible_agents: list[str]) -> None:
    """KeyError for a name that never existed, TypeError for something that is no dict."""
    if not isinstance(actions, Mapping):
        raise TypeError(f"actions must be a dict from agent to action, not {type(actions).__name__}")
    for name in actions:
        if name not in possible_agents:
            known = ", ".join(possible_agents)
            raise KeyError(f"no agent is called {name!r}{nearest(name, possible_agents)} (agents: {known})")


def look_up(by_agent: Mapping[str, Any], agent: str) -> Any:
    """An agent's entry, or a KeyError that names the agents there are."""
    if agent not in by_agent:
        check_names({agent: None}, list(by_agent))
    return by_agent[agent]


# One world ----------------------------------------------------------------------------------------------------


def check_one(agent: str, space: spaces.Space, action: Any) -> Any:
    """One world's action in the form that `store_one` takes: an int, or a clipped float array."""
    if isinstance(space, spaces.Discrete):
        try:
            value = operator.index(action)  # ints, numpy ints and 0-d integer arrays
        except TypeError:
            raise TypeError(
                f"action of {agent!r} is {action!r} ({_kind(action)}): must be one integer in 0 .. {space.n - 1}"
            ) from None
        if not 0 <= value < space.n:
            raise ValueError(f"action of {agent!r} is {value}: must be an integer in 0 .. {space.n - 1}")
        return value
    assert isinstance(space, spaces.Box)
    array = _numbers(agent, action, space.shape)
    if np.isnan(array).any():
        raise ValueError(f"action of {agent!r} is {action!r}: NaN is not an action")
    return np.clip(array, space.low, space.high)


# A batch ------------------------------------------------------------------------------------------------------


def write(env: Any, actions: Mapping[str, Any]) -> None:
    """Check all actions of a vector environment, then store them for its kernels."""
    e = env._shared
    check_names(actions, env.possible_agents)
    integers, boxes = np.zeros_like(e.actions), []
    for i, agent in enumerate(env.possible_agents):
        if agent not in actions:
            if e.acting[:, i].any():
                raise KeyError(f"no action for {agent!r}, which acts in {int(e.acting[:, i].sum())} worlds")
        elif isinstance(env.action_space(agent), spaces.Discrete):
            integers[:, i] = _integers(agent, actions[agent], env.num_envs)
        else:
            boxes.append((i, _boxed(agent, env.action_space(agent), actions[agent], e.acting[:, i])))
    # One look at all agents: a negative number is huge when read without its sign.
    wrong = integers.view(np.uint64) >= env._choices
    if wrong.any() and (wrong := wrong & e.acting).any():
        i = int(wrong.any(axis=0).argmax())
        w, agent = int(wrong[:, i].argmax()), env.possible_agents[i]
        n, value = env.action_space(agent).n, np.asarray(actions[agent])[w]
        raise ValueError(f"action of {agent!r} in world {w} is {value}: must be an integer in 0 .. {n - 1}")
    # What nobody looks at stays out of snapshots.
    np.copyto(e.actions, integers, where=e.acting)
    for i, array in boxes:
        np.copyto(e.controls[:, i, : array.shape[1]], array, where=e.acting[:, i, None])


def choices(action_spaces: list[spaces.Space]) -> np.ndarray:
    """How many actions each agent has, uint64[N]; 1 where they are not discrete: their entries stay 0."""
    return np.array([s.n if isinstance(s, spaces.Discrete) else 1 for s in action_spaces], np.uint64)


def _integers(agent: str, value: Any, n: int) -> np.ndarray:
    array = _as_array(agent, value, f"integers [{n}]")
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise _shape_error(agent, array, f"integers [{n}]")
    return array


def _boxed(agent: str, space: spaces.Space, value: Any, acting: np.ndarray) -> np.ndarray:
    assert isinstance(space, spaces.Box)
    array = _numbers(agent, value, (len(acting), *space.shape))
    if np.isnan(array).any():
        wrong = np.flatnonzero(np.isnan(array).any(axis=1) & acting)
        if wrong.size:
            raise ValueError(f"action of {agent!r} in world {wrong[0]} is {array[wrong[0]]}: NaN is not an action")
    return np.clip(array, space.low, space.high)


def _numbers(agent: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    wanted = f"numbers {list(shape)}"
    array = _as_array(agent, value, wanted)
    if array.shape != shape or array.dtype.kind not in "fiu":
        raise _shape_error(agent, array, wanted)
    return array


def _as_array(agent: str, value: Any, wanted: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # rows of unequal length
        raise TypeError(f"action of {agent!r} is {value!r}: must be {wanted}") from None


def _shape_error(agent: str, array: np.ndarray, wanted: str) -> TypeError:
    return TypeError(f"action of {agent!r} is {array.dtype}{list(array.shape)}: must be {wanted}")


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.dtype}{list(value.shape)}"
    return type(value).__name__
