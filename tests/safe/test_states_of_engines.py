"""``set_state`` takes the state of an engine of the same kind, and refuses every other one."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lazynet import Clock, Dense, FromStep, Rescaled, Tables
from lazynet.engines.catalogue import ALGORITHMS, EngineKind
from lazynet.engines.undo import Undo
from lazynet.kernels import cells

D = 4
ENGINE_KINDS = {
    **{name: EngineKind(None, name, Clock(), False, False, "float64", None)
       for name, row in ALGORITHMS.items() if row.engine is not None},
    **{type(storage).__name__: EngineKind(None, "affine", storage, False, False, "float64", None)
       for storage in (Clock(), Dense(predictions=True), Rescaled(), Tables(budget=20))},
    "average": EngineKind(FromStep(1), "affine", Clock(), False, False, "float64", None),
    "dense average": EngineKind(FromStep(1), "affine", Dense(), False, False, "float64", None),
    "float32": EngineKind(None, "affine", Clock(), True, False, "float32", None),
    **{f"{group} groups": EngineKind(None, "affine", Clock(), False, False, "float64", group)
       for group in ("l2", "max")},
}  # fmt: skip
SEVERAL = {"rda", "ftrl", "adagrad", "Clock", "average", "float32", "l2 groups", "max groups"}
KINDS = [
    *((name, None) for name in ENGINE_KINDS if not name.endswith(("groups", "float32"))),
    *((name, 3) for name in ENGINE_KINDS if name in SEVERAL),
]


def filled(kind):
    """An engine with weights."""
    name, n_outputs = kind
    engine = ENGINE_KINDS[name].new_engine(D, n_outputs)
    weights = np.arange(1.0, 1.0 + D * engine.n_outputs).reshape(-1, D)
    engine.load_rows(weights, np.ones(engine.n_outputs))
    return engine


def bits_of(state):
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in state.items()}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_state_makes_a_copy(kind):
    """Another engine has the same weights, and does not share its arrays."""
    engine, other = filled(kind), ENGINE_KINDS[kind[0]].new_engine(D, kind[1])
    undo = Undo(other, np.arange(D))
    blank = bits_of(other.state())
    other.set_state(engine.state())
    assert bits_of(other.state()) == bits_of(engine.state())
    np.testing.assert_array_equal(other.rows(), engine.rows())
    assert not any(map(np.shares_memory, other.state().values(), engine.state().values()))
    assert bits_of(undo.state()) == blank
    undo.rollback()
    assert bits_of(other.state()) == blank


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data())
def test_what_is_no_state_of_the_engine_is_refused(kind, data):
    """An array too few or too many, of another shape or type, or no array: nothing changes."""
    engine = filled(kind)
    state = dict(engine.state())
    name = data.draw(st.sampled_from(sorted(state)))
    array, free = state[name], name in engine._of_any_length
    change = data.draw(st.sampled_from(["missing", "more", "shape", "length", "type", "none"]))
    if change == "missing":
        del state[name]
    elif change == "more":
        state["more"] = array
    elif change == "length" and not free:
        # The entries of a table beyond those that the state counts are not read.
        assume(len(array) or name not in engine.tables)
        state[name] = array[:-1] if len(array) else np.zeros(1, array.dtype)
    elif change == "none":
        state[name] = data.draw(st.sampled_from([None, 1.0, [0.0], "text"]))
    elif change == "type":
        state[name] = array.astype(np.float16)
    else:
        state[name] = array[None]
    before = bits_of(engine.state())
    with pytest.raises(ValueError, match=r"has the arrays|must be an array|cannot have"):
        engine.set_state(state)
    assert bits_of(engine.state()) == before


@pytest.mark.parametrize("kind", [("Tables", None), ("average", None), ("average", 3)], ids=str)
@pytest.mark.parametrize("length", [np.nan, np.inf, -2.0, 2.0**40])
def test_tables_have_room_for_the_entries_that_the_state_counts(kind, length):
    engine = filled(kind)
    counts, place = "totals", 0
    if kind[0] == "Tables":
        counts, place = "fields", cells.fields("tables").index("now")
    array = engine.state()[counts].copy()
    array[place] = length
    with pytest.raises(ValueError, match=r"cannot have|no length"):
        engine.set_state({**engine.state(), counts: array})
