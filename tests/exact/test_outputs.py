"""Outputs that learn in one pass: bits in any company, loaded weights, float32, forms of targets.

After every step they are compared with their references in test_lazy_equals_dense.py.
"""

import dataclasses

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan
from support.algorithms import BOTH_ORDERS
from support.engines import apart
from support.matrices import corpus

from lazynet import FTRL, RDA, SGD, AdaGrad, FoBoS, FromData, FromStep
from lazynet.data.targets import Classes, Columns, Labels, checked_indicator
from lazynet.engines.outputs import OutputsOnClock
from lazynet.engines.outputs_of_rules import AdaGradOutputs
from lazynet.kernels.steps import Targets
from lazynet.training.passes import Learner, run_pass

CLOCKS = {f"{kind.__name__} {order}": dict(rule=kind(step_order=order))
          for kind in (FoBoS, SGD) for order in BOTH_ORDERS}  # fmt: skip
MANY = {
    **CLOCKS,
    **{f"{name} from data": each | dict(schedule=FromData()) for name, each in CLOCKS.items()},
    **{f"average of {name}": each | dict(average=FromStep()) for name, each in CLOCKS.items()},
    "rda": dict(rule=RDA(gamma=2.0)),
    "rda follows": dict(rule=RDA()),
    "ftrl": dict(rule=FTRL(alpha=0.3)),
    "ftrl once": dict(rule=FTRL(alpha=0.3, penalty="once")),
    "ftrl follows": dict(rule=FTRL()),
    "adagrad": dict(rule=AdaGrad(alpha=0.3, delta=0.1)),
    "adagrad follows": dict(rule=AdaGrad()),
}
EVERY_MODEL = pytest.mark.parametrize("options", MANY.values(), ids=list(MANY))


def learned(options, n_outputs=11, dtype="float64", wear=None, outputs=slice(None)):
    """An engine after 200 steps on rows of very different lengths."""
    X, _ = corpus(200, 40)
    chosen = dataclasses.replace(plan(l1=1e-3, l2=1e-3, **options), dtype=dtype)
    numbers = np.where(np.random.default_rng(1).random((200, 11)) < 0.3, 1.0, -1.0)
    engine = chosen.new_engine(40, n_outputs, wear)
    examples = examples_of(chosen, X, None)
    targets = Targets(0, n_outputs, numbers=np.ascontiguousarray(numbers[:, outputs]))
    steps = chosen.steps(np.arange(200), 0)
    engine.learn(examples, targets, steps, chosen.task(engine), 0, np.zeros(n_outputs))
    return engine


@EVERY_MODEL
def test_an_output_has_the_same_bits_in_any_company(options):
    """Alone, or among ten others."""
    together = learned(options)
    for k in (0, 7, 8, 10):
        alone = learned(options, n_outputs=1, outputs=slice(k, k + 1))
        np.testing.assert_array_equal(alone.coefficients()[0], together.coefficients()[k])
        assert alone.intercepts()[0] == together.intercepts()[k]


@EVERY_MODEL
def test_loaded_weights_are_read_back(options):
    """Weights, intercepts, and the weights of some features."""
    engine = learned(options)
    rng = np.random.default_rng(3)
    weights, offsets = rng.standard_normal((11, 40)), rng.standard_normal(11)
    weights[:, ::3] = 0.0
    engine.load(weights, offsets)
    np.testing.assert_allclose(engine.coefficients(), weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(engine.intercepts(), offsets, rtol=1e-12)
    np.testing.assert_array_equal(
        engine.coefficients(np.array([5, 2])), engine.coefficients()[:, [5, 2]]
    )


@pytest.mark.parametrize("options", [one for one in MANY.values() if "average" not in one], ids=str)
def test_weights_in_float32_are_close(options):
    """The error is that of float32, some roundings of the largest weight."""
    narrow, wide = learned(options, dtype="float32"), learned(options)
    assert narrow.cells.dtype == np.float32
    for found, expected in zip(narrow.coefficients(), wide.coefficients(), strict=True):
        assert apart(found, expected) <= 2000 * np.finfo(np.float32).eps


# --- targets ------------------------------------------------------------------------------------


def test_all_forms_of_targets_say_the_same():
    """Classes, labels in CSR form and columns of numbers give the same weights."""
    X, _ = corpus(200, 40)
    codes = np.random.default_rng(0).integers(0, 11, 200)
    indicator = sparse.csr_matrix((np.ones(200), codes, np.arange(201)), shape=(200, 11))
    numbers = 2.0 * indicator.toarray() - 1.0
    chosen, found = plan(l1=1e-3), []
    for given_ in (Classes(codes, 11, None), Labels(checked_indicator(indicator), None),
                   Columns(numbers, None)):  # fmt: skip
        assert len(given_) == 11
        learners = [
            Learner(
                chosen.new_engine(40, n), examples_of(chosen, X, None), chosen,
                given_.block(first, n),
            )
            for first, n in ((0, 5), (5, 6))
        ]  # fmt: skip
        run_pass(learners, None, 0)
        found.append(np.vstack([each.engine.coefficients() for each in learners]))
        for k in (0, 10):
            np.testing.assert_array_equal(given_[k][0], numbers[:, k])
        for some in (np.array([3, 0]), np.arange(0)):
            np.testing.assert_array_equal(given_.only(some)[4][0], numbers[some, 4])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_engines_above_are_of_several_outputs():
    """Otherwise the tests would compare an engine of one output with itself."""
    assert isinstance(learned(MANY["FoBoS gradient_first"]), OutputsOnClock)
    assert isinstance(learned(MANY["adagrad"]), AdaGradOutputs)
