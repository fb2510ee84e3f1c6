"""An optional mask made of an agent's own table alone; results with it are to be reported apart from those without."""

import numpy as np

from mpe_ext.meeting_scheduling.game import MeetingScheduling, read, spans


def truthful(game: MeetingScheduling, agent: str, observation: np.ndarray) -> np.ndarray:
    """int8[A]: true informs, proposals of own free slots, and reject, for one observation."""
    return truthful_actions(game, read(game, observation[None]).table)[0].astype(np.int8)


def truthful_actions(game: MeetingScheduling, tables: np.ndarray) -> np.ndarray:
    """bool[N, A]: the actions that the own tables [N] do not rule out."""
    informs = spans(game) & ~tables[:, None] == 0
    free = tables[:, None] >> np.arange(game.params.num_slots) & 1 == 0
    return np.concatenate([informs, free, np.ones((len(tables), 1), bool)], axis=1)
