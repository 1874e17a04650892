"""Chunks, copies, types of numbers, other outputs and vector units change no bit of any engine.

A case is a plan, and the number of outputs that learn in one pass; None: one output.
"""

import copy
import dataclasses
import itertools
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import apart, plan
from support.algorithms import BOTH_ORDERS, GIVEN, RULES_WITH_CELLS, penalty_of
from support.matrices import corpus
from support.runs import RESTLESS

from lazynet import (
    FTRL,
    RDA,
    SGD,
    AdaGrad,
    Dense,
    FoBoS,
    FromData,
    FromStep,
    Tables,
    TruncatedGradient,
)
from lazynet.data.arrays import row_sizes_of
from lazynet.engines import catalogue
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.undo import Undo
from lazynet.kernels.examples import Examples
from lazynet.kernels.objective import loss_of_predictions
from lazynet.kernels.slopes import derivatives
from lazynet.kernels.steps import OutputTargets, Steps
from lazynet.kernels.sums import add_rows, total_conjugate
from lazynet.kernels.sums import margins as margins_of_rows
from lazynet.losses import LOSSES

N, D, N_OUTPUTS = 120, 300, 11
X, Y = corpus(N, D)
X = X.astype(np.float32).astype(np.float64)
NUMBERS = np.where(np.random.default_rng(1).random((N, N_OUTPUTS)) < 0.3, 1.0, -1.0)
IMPORTANCES = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], N)
#: Rules whose rates follow the rows.
FOLLOWING = {"rda": RDA(rho=0.01), "ftrl": FTRL(penalty="once"), "adagrad": AdaGrad()}
_RULES = {
    **{
        f"{kind.__name__} {order}": kind(step_order=order)
        for kind in (FoBoS, SGD)
        for order in BOTH_ORDERS
    },
    "gravity": TruncatedGradient(period=3),
    **{name: GIVEN[name] for name in RULES_WITH_CELLS},
    **{f"{name} follows": rule for name, rule in FOLLOWING.items()},
}
ONE = {
    **{name: dict(rule=rule) for name, rule in _RULES.items()},
    **{f"{storage.name} {order}": dict(rule=FoBoS(step_order=order, storage=storage))
       for storage in (Tables(25), Dense(), Dense(predictions=True)) for order in BOTH_ORDERS},
    "positive": dict(positive=True),
    "from data": dict(schedule=FromData()),
    "average": dict(average=FromStep(2)),
    "average from data": dict(average=FromStep(2), schedule=FromData()),
    "dense average": dict(average=FromStep(2), storage=Dense()),
}  # fmt: skip
SEVERAL = {
    **{name: dict(rule=rule) for name, rule in _RULES.items()
       if rule.name in ("fobos", "sgd", "rda", "ftrl", "adagrad")},
    "from data": dict(schedule=FromData()),
    "groups": dict(group="l2"),
}  # fmt: skip
SEVERAL |= {f"{name} in float32": each | dict(dtype="float32") for name, each in SEVERAL.items()}
SEVERAL["average"] = dict(average=FromStep(2))
CASES = {
    **{name: (options, None) for name, options in ONE.items()},
    **{f"outputs: {name}": (options, N_OUTPUTS) for name, options in SEVERAL.items()},
}
EVERY_CASE = pytest.mark.parametrize(("options", "n_outputs"), CASES.values(), ids=list(CASES))


def plan_of(options):
    """The plan of a case; without l2 where the rule refuses l2."""
    given = {"rule": "fobos", "l1": 1e-3, "l2": 1e-3} | options
    dtype = given.pop("dtype", "float64")
    chosen = dataclasses.replace(plan(fit_intercept=True, **given), dtype=dtype)
    without_l2 = penalty_of(chosen.rule, chosen.penalty.l1, chosen.penalty.l2).l2
    return dataclasses.replace(chosen, penalty=dataclasses.replace(chosen.penalty, l2=without_l2))


def new_engine(chosen, n_outputs, limits=None):
    """An engine with all weights zero."""
    engine = catalogue.new_engine(chosen.engine_kind, D, n_outputs, chosen.constants)
    if limits is not None:
        engine.limits = limits
    return engine


def examples_of(chosen, n_outputs, values=np.float64, indices=np.int32, measured=False):
    """The rows in these types, with the sizes that rates follow, or with their name alone."""
    starts = X.indptr.astype(indices)
    rows = X.data.astype(values), X.indices.astype(indices), starts, D
    targets = Y if n_outputs is None else None
    sizes = chosen.size_kind if measured else row_sizes_of(X, chosen.size_kind)
    return Examples(*rows, targets, IMPORTANCES, sizes)


def take(engine, chosen, examples, start, stop, numbers=NUMBERS):
    """Take the steps from ``start`` up to ``stop`` as one chunk."""
    steps = chosen.steps(np.arange(start, stop), start)
    if isinstance(engine, OutputsEngine):
        targets, losses = (
            OutputTargets(0, engine.n_outputs, numbers=numbers),
            np.zeros(engine.n_outputs),
        )
        engine.learn(examples, targets, steps, chosen.task(engine), start, losses)
    else:
        engine.take(examples, steps, chosen.task(engine), start)


def read(engine):
    """Weights and intercepts after the last step, and those of the model."""
    return [
        engine.coefficients(last=True),
        engine.intercepts(last=True),
        engine.coefficients(),
        engine.intercepts(),
    ]


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def learned(options, n_outputs, limits=None, **types):
    """What an engine has after an epoch in one chunk."""
    chosen = plan_of(options)
    engine = new_engine(chosen, n_outputs, limits)
    take(engine, chosen, examples_of(chosen, n_outputs, **types), 0, N)
    return read(engine)


@pytest.mark.every_case
@EVERY_CASE
@given(data=st.data())
def test_chunks_copies_and_undone_calls_change_no_bit(options, n_outputs, data):
    """Before each chunk the engine is copied and read, and takes steps that are undone.

    Later steps change neither what has been read nor the state from which a copy has started.
    """
    chosen, limits = plan_of(options), data.draw(st.sampled_from([None, RESTLESS]))
    cuts = sorted(data.draw(st.sets(st.integers(1, N - 1), min_size=1, max_size=4)))
    engine, examples = new_engine(chosen, n_outputs, limits), examples_of(chosen, n_outputs)
    for start, stop in itertools.pairwise([0, *cuts, N]):
        state = copy.deepcopy(engine.state())
        engine = pickle.loads(pickle.dumps(engine))
        if data.draw(st.booleans()):
            engine = new_engine(chosen, n_outputs, limits)
            engine.set_state(state)
        found = read(engine)
        held = copy.deepcopy([*found, *state.values()])
        undo = Undo(engine, np.unique(X[start:stop].indices))
        for _ in range(2):
            take(engine, chosen, examples, start, stop)
            undo.rollback()
            assert_same(read(engine), held[: len(found)])
        take(engine, chosen, examples, start, stop)
        assert_same([*found, *state.values()], held)
    assert_same(read(engine), learned(options, n_outputs, limits))
    features = np.array([7, 3, D - 1])
    np.testing.assert_array_equal(engine.coefficients(features), engine.coefficients()[:, features])


@pytest.mark.every_case
@EVERY_CASE
def test_an_engine_that_loads_weights_forgets_what_it_has_learned(options, n_outputs):
    """They are read back, and it goes on as a new engine does; rates from the data go on."""
    chosen = plan_of(options)
    used, new = (new_engine(chosen, n_outputs) for _ in range(2))
    examples = examples_of(chosen, n_outputs)
    rng = np.random.default_rng(3)
    weights = np.abs(rng.standard_normal((N_OUTPUTS, D))) * (rng.random(D) < 0.5)
    intercepts = rng.standard_normal(N_OUTPUTS)
    close = dict(rtol=1e-12, atol=1e-14)
    if chosen.dtype == "float32":
        close = dict(rtol=0, atol=2000 * np.finfo(np.float32).eps)
    take(used, chosen, examples, 0, N)
    new.continue_rates(used)
    for engine in (used, new):
        engine.set_coefficients(weights[: engine.n_outputs], intercepts[: engine.n_outputs])
        np.testing.assert_allclose(engine.coefficients(), weights[: engine.n_outputs], **close)
        np.testing.assert_allclose(engine.intercepts(), intercepts[: engine.n_outputs], **close)
    for name, array in new.state().items():
        np.testing.assert_array_equal(used.state()[name], array, name)
    for engine in (used, new):
        take(engine, chosen, examples, 0, N)
    assert_same(read(used), read(new))


@pytest.mark.parametrize("name", [name for name in SEVERAL if "groups" not in name])
def test_an_output_has_the_same_bits_in_any_company(name):
    """Alone, or among ten others."""
    together, chosen = learned(SEVERAL[name], N_OUTPUTS), plan_of(SEVERAL[name])
    for k in (0, 7, 8, 10):
        alone, numbers = new_engine(chosen, 1), NUMBERS[:, k : k + 1].copy()
        take(alone, chosen, examples_of(chosen, 1), 0, N, numbers)
        assert_same(read(alone), [array[k : k + 1] for array in together])


@pytest.mark.parametrize("name", [name for name in SEVERAL if f"{name} in float32" in SEVERAL])
def test_weights_in_float32_are_close(name):
    """The error is that of float32, some roundings of the largest weight."""
    narrow, wide = (learned(SEVERAL[each], N_OUTPUTS)[0] for each in (f"{name} in float32", name))
    assert not np.array_equal(narrow, wide)
    assert max(map(apart, narrow, wide)) <= 2000 * np.finfo(np.float32).eps


@EVERY_CASE
def test_types_of_numbers_and_vector_units_change_no_bit(options, n_outputs, monkeypatch):
    """float32 or float64, int32 or int64: the values are what counts.

    Nor do sizes that a kernel computes as it visits a row, in place of sizes that it is handed; nor
    the generic loops, AVX2, AVX-512 and gathers, as far as this machine has them.
    """
    wanted, chosen, used = learned(options, n_outputs), plan_of(options), set()
    assert np.count_nonzero(wanted[0]) > 0
    assert_same(learned(options, n_outputs, measured=True), wanted)
    for values in (np.float32, np.float64):
        for indices in (np.int32, np.int64):
            assert_same(learned(options, n_outputs, values=values, indices=indices), wanted)
        for level in range(5):
            engine, examples = new_engine(chosen, n_outputs), examples_of(chosen, n_outputs, values)
            if n_outputs is None:
                used.add(examples.at_level(level))
            else:
                block = engine._block()
                used.add(block.at_level(level))
                monkeypatch.setattr(engine, "_block", lambda block=block: block)
            take(engine, chosen, examples, 0, N)
            assert_same(read(engine), wanted)
    assert 0 in used


@pytest.mark.skipif(os.environ.get("LAZYNET_LEVELS") == "1", reason="a build of one vector level")
def test_the_loops_of_the_vector_units_of_this_machine_are_built():
    """Otherwise the generic loops would be compared with themselves, and fits would be slow."""
    path = Path("/proc/cpuinfo")
    units = set(path.read_text().split()) if path.exists() else set()
    for unit, level in (("avx2", "_v3"), ("avx512vl", "_v4")):
        name = f"lazynet.kernels.row_loops{level}"
        assert unit not in units or find_spec(name), f"{name} is not built: see setup.py"


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_vector_units_change_no_bit_of_a_loss(loss):
    """Losses with derivatives, conjugates, norms of rows, and products of rows and of columns."""
    found, ones, margins = [], np.ones(N), np.linspace(-40.0, 40.0, N)
    # Duals in the domain of the conjugate.
    duals = min(1.0, loss.largest_slope) * (Y * abs(margins) if loss.margin else margins) / 40.0
    steps = Steps(np.arange(N), ones, ones, 0 * ones, 0 * ones, None, np.linspace(-9.0, 9.0, N))
    for level in range(5):
        examples = examples_of(plan_of({}), None)
        examples.at_level(level)
        assert examples.first_defect() is None
        total = loss_of_predictions(examples, steps, loss.code, loss.epsilon)
        arrays = np.empty((3, N))
        parts = derivatives(examples, margins, 0.1, loss.code, loss.epsilon, 0.01, *arrays)
        whole = total_conjugate(examples, duals, 0.9, loss.code, loss.epsilon, 0.01)
        products, exact = np.empty((2, N))
        sums = np.zeros((D, 1)), np.zeros((D, 2))
        for by_rows, by_columns, compensated in ((products, sums[0], 0), (exact, sums[1], 1)):
            margins_of_rows(examples, np.linspace(-1.0, 2.0, D), by_rows, 0, compensated)
            add_rows(examples, duals, by_columns, 0)
        bits = [array.tobytes() for array in (arrays, products, exact, *sums)]
        found.append((total, examples.squared_norms().max(), parts, whole, bits))
    assert all(each == found[0] for each in found)


# --- targets --------------------------------------------------------------------------------------


def test_loops_of_float32_that_are_used_first_are_not_those_of_float64():
    """The compiled loops of each type of weights are found in any order; in a new process."""
    code = """
import importlib
import numpy as np
from lazynet.engines.outputs import OutputsOnClock
OutputsOnClock(3, 2, np.float32)._block()
name = "lazynet.kernels.many_outputs_loop"
modules = [importlib.import_module(name + end) for end in ("", "_f32")]
assert modules[0].address() != modules[1].address()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
