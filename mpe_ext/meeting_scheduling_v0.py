"""meeting_scheduling: two participants look for a common free slot (see `mpe_ext.meeting_scheduling`)."""

from typing import Any

from mpe_ext.engine.faces import faces
from mpe_ext.meeting_scheduling.game import MeetingScheduling

env, parallel_env, vector_env = faces(MeetingScheduling, __name__)
raw_env = env


def truthful_mask(env: Any) -> Any:
    """`env` (AEC or Parallel) with a mask of the actions that an agent's own table does not rule out: true informs,
    proposals of its own free slots, reject."""
    from mpe_ext.engine.masks import masked
    from mpe_ext.meeting_scheduling.masks import truthful

    return masked(env, truthful)


__all__ = ["env", "parallel_env", "raw_env", "truthful_mask", "vector_env"]
