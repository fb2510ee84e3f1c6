"""simple_tag_while_c: tag while collecting (see `mpe_ext.simple_tag_while_c`)."""

from mpe_ext.engine.faces import faces
from mpe_ext.simple_tag_while_c.game import SimpleTagWhileC

env, parallel_env, vector_env = faces(SimpleTagWhileC, __name__)
raw_env = env

__all__ = ["env", "parallel_env", "raw_env", "vector_env"]
