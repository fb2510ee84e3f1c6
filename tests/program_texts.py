"""Random programs, for the tests of the language and of both executors."""

from hypothesis import strategies as st

from mpe_ext.overcooked_v2 import tables as t
from mpe_ext.overcooked_v2.program.syntax import Ask, Constant, Do, If, Not, Parallel, Repeat, Seq, While, renumbered


def conditions():
    leaves = st.sampled_from(t.QUERIES).map(lambda q: Ask(q, 0)) | st.booleans().map(Constant)
    return st.recursive(leaves, lambda inner: inner.map(Not), max_leaves=3)


def _block(statements, most=3):
    return st.lists(statements, min_size=1, max_size=most).map(lambda s: Seq(tuple(s)))


def programs(behaviours=t.BEHAVIOURS, most_leaves=8):
    """Programs of all kinds of statements, with ids in order; not all of them pass the static checks."""
    do = st.sampled_from(behaviours).map(lambda b: Do(b, 0))
    forever = _block(do | st.builds(If, conditions(), _block(do))).map(lambda body: While(Constant(True), body))

    def larger(inner):
        block = _block(inner)
        return (
            st.builds(If, conditions(), block, st.none() | block)
            | st.builds(While, conditions(), block)
            | st.lists(block | _block(forever, 1), min_size=1, max_size=3).map(lambda b: Parallel(tuple(b)))
            | st.builds(Repeat, block, st.integers(1, 3))
        )

    return _block(st.recursive(do, larger, max_leaves=most_leaves)).map(renumbered)
