"""Clocks stay near extended precision over long runs.

Long runs of all storages, with rows that touch the weights, are the study accuracy of paper_repro.
"""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan
from support.algorithms import AFFINE_RULES

from lazynet import FromData, FromStep
from lazynet.engines.catalogue import new_engine
from lazynet.kernels.steps import OutputTargets
from lazynet.reference.affine import MAPS
from lazynet.schedules import Constant
from lazynet.verify.tolerance import UNIT_ROUNDOFF

N_WEIGHTS = 8


# --- millions of steps in which no row touches a weight -------------------------------------------

#: The weights at the start, and the intercept.
START, INTERCEPT = np.arange(1.0, N_WEIGHTS + 1), 0.1
#: Engines on the clock: of one output or of two, with an average or with rates from the data.
CLOCKS = ["clock", "average", "from data", "outputs", "average of outputs", "outputs from data"]


def idle(kind, rule, l1, l2, n_steps):
    """An engine after steps that touch no weight, and its rate.

    The first row has a size and no importance: it sets the scale of rates from the data.
    """
    average = FromStep() if "average" in kind else None
    schedule = FromData() if "data" in kind else Constant(0.1)
    chosen = plan(l1=l1, l2=l2, rule=rule, schedule=schedule, average=average)
    if "outputs" in kind:
        engine = new_engine(chosen.engine_kind, N_WEIGHTS, 2, chosen.constants)
        engine.set_coefficients(np.tile(START, (2, 1)), np.full(2, INTERCEPT))
    else:
        engine = chosen.new_engines(N_WEIGHTS)[0]
        engine.set_coefficients(START[None], np.array([INTERCEPT]))
    if average is not None:
        # One block for all steps: its sums are as long as they can be.
        engine.past = np.zeros((3, n_steps + 1))
    X = sparse.csr_matrix(([1.0], ([0], [0])), shape=(2, N_WEIGHTS))
    targets = None if "outputs" in kind else np.ones(2)
    examples = examples_of(chosen, X, targets, np.zeros(2))
    block = 2**18
    for start in range(0, n_steps, block):
        order = np.ones(block, dtype=np.int64)
        order[0] = min(start, 1)
        steps, task = chosen.steps(order, start), chosen.task(engine)
        if "outputs" in kind:
            numbers = OutputTargets(0, 2, numbers=np.ones((2, 2)))
            engine.learn(examples, numbers, steps, task, start, np.zeros(2))
        else:
            engine.take(examples, steps, task, start)
    return engine, 0.1 if engine.present_rate is None else engine.present_rate


def after_decay(weight, eta, l1, l2, rule, n_steps):
    """An untouched weight after n steps at a constant rate, and its mean, to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        keep, pull = MAPS[rule](Decimal(eta), Decimal(l1), Decimal(l2))
        rho = (keep.ln() * n_steps).exp()
        fixed_point = -pull / (1 - keep)
        start = Decimal(weight) - fixed_point
        mean = start * keep * (1 - rho) / (1 - keep) / n_steps
        return float(start * rho + fixed_point), float(mean + fixed_point)


#: Rates from the data are for FoBoS and SGD.
CASES = [
    (kind, rule, 4 * 2**20 if kind == "clock" else 2**20)
    for kind in CLOCKS
    for rule in AFFINE_RULES
    if "data" not in kind or rule in ("fobos", "sgd")
]
#: After 10^9 steps too.
THOROUGH = pytest.mark.thorough
LONG = [pytest.param("clock", rule, 954 * 2**20, marks=THOROUGH) for rule in AFFINE_RULES]


@pytest.mark.every_case
@pytest.mark.parametrize(("kind", "rule", "n_steps"), [*CASES, *LONG])
def test_the_clock_keeps_true_time_over_millions_of_steps(kind, rule, n_steps):
    """Scalars and sums are exact to a few units in the last place, not to so many per step.

    A handful of roundings, however many steps: of l1 / l2, of the rate, of the read.
    """
    # An l1 as large as l2: the low digits of the shift decide on the last digits of the weights.
    strength = 5.0 / n_steps / (100.0 if "data" in kind else 1.0)
    engine, eta = idle(kind, rule, strength, strength, n_steps)
    last, model = engine.coefficients(last=True)[0], engine.coefficients()[0]
    for j, weight in enumerate(START):
        truth, mean = after_decay(weight, eta, strength, strength, rule, n_steps)
        assert abs(last[j] - truth) <= 8 * UNIT_ROUNDOFF * (abs(truth) + 1.0)
        if "average" in kind:
            assert abs(model[j] - mean) <= 16 * UNIT_ROUNDOFF * (abs(mean) + 1.0)
    assert abs(engine.intercepts()[0] - INTERCEPT) <= 4 * UNIT_ROUNDOFF * INTERCEPT
