"""The arrays that the engine and every game share, and what happens to them around a step.

A game's kernels see these as `e`. Actions come in here, rewards and flags go out. Worlds are on the leading axis.
"""

from typing import NamedTuple

import numpy as np

from mpe_ext.engine.jit import rule


class Shared(NamedTuple):
    """W worlds, N agents, K numbers in the widest continuous action."""

    key: np.ndarray  # uint64[W]: the world's random stream
    counter: np.ndarray  # uint64[W]: numbers drawn from it
    begin: np.ndarray  # bool[W]: reset these worlds; a step in which a world begins is not played
    done: np.ndarray  # bool[W]: the episode is over
    steps: np.ndarray  # int64[W]: steps played in this episode
    actions: np.ndarray  # int64[W, N]: of agents with Discrete spaces
    controls: np.ndarray  # float32[W, N, K]: of agents with Box spaces
    acting: np.ndarray  # bool[W, N]: who may act now; the others' actions are never looked at
    rewards: np.ndarray  # float64[W, N]
    terminated: np.ndarray  # bool[W, N]: stays true until the episode ends
    truncated: np.ndarray  # bool[W, N]
    episode_return: np.ndarray  # float64[W, N]: undiscounted, so far
    episode_length: np.ndarray  # int64[W, N]: steps that the agent took part in


def allocate(num_envs: int, num_agents: int, control_width: int) -> Shared:
    """Fresh arrays: no episode has begun."""
    w, n = num_envs, num_agents
    return Shared(
        key=np.zeros(w, np.uint64),
        counter=np.zeros(w, np.uint64),
        begin=np.zeros(w, np.bool_),
        done=np.zeros(w, np.bool_),
        steps=np.zeros(w, np.int64),
        actions=np.zeros((w, n), np.int64),
        controls=np.zeros((w, n, control_width), np.float32),
        acting=np.zeros((w, n), np.bool_),
        rewards=np.zeros((w, n)),
        terminated=np.zeros((w, n), np.bool_),
        truncated=np.zeros((w, n), np.bool_),
        episode_return=np.zeros((w, n)),
        episode_length=np.zeros((w, n), np.int64),
    )


@rule
def open_episode(w, e):
    """Before a game's reset of world w. What the last step returned stays: same-step autoreset still hands it out."""
    e.steps[w] = 0
    e.done[w] = False
    for a in range(e.acting.shape[1]):
        e.acting[w, a] = True


@rule
def open_step(w, e):
    """Before a game's step: rewards start at zero; the first step of an episode clears what the last one left."""
    first = e.steps[w] == 0
    e.steps[w] += 1
    for a in range(e.rewards.shape[1]):
        e.rewards[w, a] = 0.0
        if first:
            e.terminated[w, a] = False
            e.truncated[w, a] = False
            e.episode_return[w, a] = 0.0
            e.episode_length[w, a] = 0
        if not e.terminated[w, a]:
            e.episode_length[w, a] += 1


@rule
def close_step(w, e, max_cycles):
    """After a game's step: add up returns, truncate at the time limit, end the world when no agent is left.

    Returns 1 if the episode is over, else 0. Agents that the game let terminate are never also truncated; those that
    it truncated itself (a limit of its own) stay so.
    """
    limit = e.steps[w] >= max_cycles
    over = True
    for a in range(e.rewards.shape[1]):
        e.episode_return[w, a] += e.rewards[w, a]
        e.truncated[w, a] = (limit or e.truncated[w, a]) and not e.terminated[w, a]
        if not (e.truncated[w, a] or e.terminated[w, a]):
            over = False
    for a in range(e.rewards.shape[1]):
        e.acting[w, a] = not (over or e.terminated[w, a])
    e.done[w] = over
    return 1 if over else 0


@rule
def give_turn(w, e, mover):
    """In a turn-based game, after `open_episode` and after `close_step`: only `mover` may act next."""
    for a in range(e.acting.shape[1]):
        e.acting[w, a] = a == mover and not e.done[w]
