"""Episodes as a GIF that plays at the game's own rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from PIL import Image

from maddpg.collect import Arrays
from maddpg.errors import UserError
from maddpg.evaluate import Evaluation
from maddpg.pettingzoo_worlds import flat
from maddpg.players import Cast
from maddpg.runs import atomically
from maddpg.worlds import make_parallel
from mpe_ext.engine.one_world import OneWorld

HOLD_SECONDS = 1.5
"""How long the last frame of an episode stands."""


def record(evaluation: Evaluation, names: str, path: Path, episodes: int = 1) -> int:
    """Plays `episodes` episodes with the policies `names`, drawn by `render()`, into `path`. Returns the number
    of frames. The first episode is the one that the evaluation's first world begins with, where the game has
    our vector environment."""
    request = evaluation.request
    env = make_parallel(
        request.env,
        request.env_args,
        render_mode="rgb_array",
        shaping=False,
        max_cycles=request.max_cycles,
    )
    cast = evaluation.cast(names)
    frames: list[Image.Image] = []
    durations: list[int] = []
    step = round(1000 / float(env.metadata.get("render_fps") or 10))
    agents = list(env.possible_agents)
    inner = {a: env.observation_space(a) for a in agents}
    actions_of = {a: env.action_space(a) for a in agents}
    try:
        for episode in range(episodes):
            seen, _ = env.reset(seed=request.seed if episode == 0 else None)
            cast.begin(None)
            rows = {a: flat(inner[a], seen.get(a))[None] for a in agents}
            _add(frames, durations, _picture(env, cast, rows), step)
            while env.agents:
                chosen = cast(rows, _acting(env, agents))
                seen, *_ = env.step({a: _single(actions_of[a], chosen[a][0]) for a in env.agents})
                rows = {a: flat(inner[a], seen.get(a))[None] for a in agents}
                _add(frames, durations, _picture(env, cast, rows), step)
            durations[-1] = round(1000 * HOLD_SECONDS)
    finally:
        env.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    first, rest = frames[0], frames[1:]
    atomically(
        path,
        lambda partial: first.save(
            partial, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0
        ),
    )
    return len(frames)


def _picture(env: Any, cast: Cast, rows: Arrays) -> np.ndarray | None:
    """The world as it is, with what the players believe where the game's picture shows that."""
    if isinstance(env, OneWorld):
        env.beliefs = {agent: beliefs[0] for agent, beliefs in cast.beliefs(rows).items()}
    return env.render()


def _acting(env: Any, agents: list[str]) -> np.ndarray:
    """Who acts now, bool[1, N]: all that are there, or in turn-based games the one whose turn it is."""
    if isinstance(env, OneWorld):
        return env.acting[None]
    return np.array([[agent in env.agents for agent in agents]])


def check_path(path: Path) -> None:
    """Raises UserError where no GIF can be written."""
    if path.suffix.lower() != ".gif":
        raise UserError(f"gif={str(path)!r} must end in .gif")


def _add(frames: list[Image.Image], durations: list[int], picture: np.ndarray | None, step: int) -> None:
    if picture is None:
        raise UserError("the game draws nothing in rgb_array mode, so no GIF can be made")
    image = Image.fromarray(picture)
    # One palette for all frames: colours that are chosen anew for each flicker.
    palette = frames[0] if frames else None
    if palette is None:
        frames.append(image.quantize(128, dither=Image.Dither.NONE))
    else:
        frames.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    durations.append(step)


def _single(space: spaces.Space, action: np.ndarray) -> int | np.ndarray:
    return int(action) if isinstance(space, spaces.Discrete) else np.asarray(action)
