"""The compiled steps of dual ascent equal the dense reference after every step.

The tolerance is 1e-9 of 1 + the largest number.  No bound of rounding is derived: the steps do not
amplify what rounding changes, and what one step rounds is some ten thousand times less.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from support import apart, rows
from support.dual import MINIMISED, dual_within
from support.matrices import corpus

from lazynet.data.arrays import as_examples
from lazynet.losses import LOSSES, get_loss
from lazynet.minimum import screening
from lazynet.minimum.certificate import certify
from lazynet.minimum.dual import Ascent, DualAscent, Progress
from lazynet.minimum.iterate import at
from lazynet.minimum.objective import MeanLoss
from lazynet.penalties import ElasticNet
from lazynet.reference.dual import DenseDualAscent
from lazynet.reference.losses import best_dual
from lazynet.verify.strategies import problems

TOLERANCE = 1e-9
#: One value in X: its square is the curvature of the dual.
ALONE = dict(l1=0.0, l2=0.0, kappa=1.0, fit_intercept=False, kappa_intercept=1.0)

each_loss = pytest.mark.parametrize("loss", LOSSES)


def compiled(X, y, importances, *, loss, l1, l2, kappa, fit_intercept, kappa_intercept, level=None):
    """The compiled steps on one problem, with the options that the reference has."""
    examples = as_examples(X, y, importances)
    mean = MeanLoss(examples, y, importances, get_loss(loss), fit_intercept=fit_intercept)
    if level is not None:
        examples.at_level(level)
    return DualAscent(mean, ElasticNet(l1, l2), kappa, kappa_intercept)


def reference_of(X, y, importances, *, loss, **options):
    """The dense reference of the same problem."""
    loss = get_loss(loss)
    return DenseDualAscent(
        X.toarray().astype(float).tolist(), y.tolist(), loss=loss.name, epsilon=loss.epsilon,
        importances=None if importances is None else importances.tolist(), **options,
    )  # fmt: skip


@st.composite
def cases(draw, losses):
    """A problem of ``verify.strategies``, kappas, new centres, and how the matrix is stored.

    A new centre is a step before which it is made, and the factor of the kappas there.
    """
    problem = draw(problems(losses, intercepts=(False, True), max_steps=30))
    importances = draw(st.sampled_from([problem.importances, None]))
    if importances is not None and not importances.any():
        importances = np.ones_like(importances)
    X = problem.X.astype(draw(st.sampled_from([np.float64, np.float32])))
    integers = draw(st.sampled_from([np.int32, np.int64]))
    X.indices, X.indptr = X.indices.astype(integers), X.indptr.astype(integers)
    kappas = st.sampled_from([1.0, 0.03, 30.0] + [0.0] * (problem.l2 >= 1e-2))
    options = dict(
        loss=problem.loss, l1=problem.l1, l2=problem.l2, kappa=draw(kappas),
        fit_intercept=problem.fit_intercept, kappa_intercept=draw(st.sampled_from([1.0, 0.1])),
    )  # fmt: skip
    factors = st.sampled_from([1.0, 1.5, 1.0 / 1.5, 8.0])
    centres = draw(st.dictionaries(st.integers(0, len(problem.order)), factors, max_size=4))
    return (X, problem.y, importances), options, problem.order, centres


def assert_equal(built, twin):
    """Weights, intercept and dual variables.

    Where a loss has a kink, a dual variable moves by 1/q times what the prediction changes by, and
    the prediction by no more than that again: so a difference counts times q, if q is less than 1.
    The dual variable of an example without importance has no effect, and may jump at a kink.
    """
    assert apart(built.weights(), twin.weights) <= TOLERANCE
    assert apart(built.intercept, twin.intercept) <= TOLERANCE
    heed = [
        0.0 if s == 0 else min(1.0, twin.curvature(i) or 1.0)
        for i, s in enumerate(twin.importances)
    ]
    assert apart(heed * built.duals, np.multiply(heed, twin.duals)) <= TOLERANCE


def recentre(built, twin, factor):
    """Move the centres of both, and multiply their kappas."""
    built.recentre(factor)
    twin.recentre(factor * twin.kappa, factor * twin.kappa_intercept)


def start_anywhere(draw, built, twin, fit_intercept):
    """Any weights as the centre, any intercept, and dual variables where they are finite."""
    numbers = st.sampled_from([0.0, -1.5, 0.25])
    twin.centre = [draw(numbers) for _ in twin.centre]
    twin.centre_intercept = draw(numbers) if fit_intercept else 0.0
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    twin.duals = [dual_within(twin.loss, share, y, twin.epsilon) for y in twin.targets]
    built.start_from(np.array(twin.centre), twin.centre_intercept, np.array(twin.duals))
    assert_equal(built, twin)


@each_loss
@given(data=st.data(), anywhere=st.booleans())
def test_every_step_equals_the_reference(loss, data, anywhere):
    """Any sparsity, importances, strengths, centres and starts; with an intercept or without.

    Every step and every new centre is compared.
    """
    given, options, order, centres = data.draw(cases([loss]))
    built, twin = compiled(*given, **options), reference_of(*given, **options)
    if anywhere:
        start_anywhere(data.draw, built, twin, options["fit_intercept"])
    for step, row in enumerate(order):
        if step in centres:
            recentre(built, twin, centres[step])
            assert_equal(built, twin)
            assert apart(built.z, twin.z) <= TOLERANCE
            assert apart(built.centre, twin.centre) <= TOLERANCE
        built.take(order[step : step + 1])
        twin.step(row)
        assert_equal(built, twin)


@each_loss
@given(
    exponent=st.integers(-162, 54),
    prediction=st.sampled_from([0.0, 0.3, -1.0, 30.0, -400.0, 1e4]),
    share=st.sampled_from([0.0, 1e-300, 1e-20, 0.3, 1.0 - 1e-9, 1.0]),
    y=st.sampled_from([1.0, -1.0]),
)
@example(exponent=-155, prediction=0.0, share=0.0, y=1.0)  # epsilon / q is infinite
@example(exponent=-156, prediction=-1.0, share=0.3, y=-1.0)  # q has few digits
@example(exponent=15, prediction=-400.0, share=0.3, y=1.0)  # the bracket of log_loss is 1e30 long
def test_an_update_of_any_curvature_is_the_one_of_the_reference(
    loss, exponent, prediction, share, y
):
    """q from 1e-324 to 1e108, with one value x in X: q = x^2."""
    x = 10.0**exponent
    X, y = sparse.csr_matrix([[x]]), np.array([y])
    built = compiled(X, y, None, loss=loss, **ALONE)
    built.duals[0] = dual_within(loss, share, y[0], built.mean.loss.epsilon)
    built.z[0] = prediction / x
    given = float(built.duals[0]), float(x * built.z[0]), float(y[0]), float(x * x)
    built.take(rows(1))
    expected = best_dual(loss, *given, built.mean.loss.epsilon)
    assert built.duals[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_root_of_the_logistic_loss_is_found_everywhere(share):
    """Where Newton's steps alone go back and forth over the bend of the logistic function too."""
    for q in np.geomspace(1e-2, 1e5, 20):
        x = float(np.sqrt(q))
        built = compiled(sparse.csr_matrix([[x]]), np.ones(1), None, loss="log_loss", **ALONE)
        for prediction in np.linspace(-20.0, 20.0, 31):
            built.duals[0], built.z[0] = share, prediction / x
            given = share, float(x * built.z[0]), 1.0, x * x
            built.take(rows(1))
            assert built.duals[0] == pytest.approx(best_dual("log_loss", *given), rel=1e-10)


def assert_same_bits(one, other):
    for name in ("z", "duals", "centre", "fields"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


OPTIONS = dict(l1=1e-4, l2=1e-3, kappa=1e-2, fit_intercept=True, kappa_intercept=1e-2)


def learned(X, y, loss, cuts=(), **options):
    """Two epochs over long and short rows, with a new centre in between."""
    importances = 0.5 + np.arange(len(y)) % 3
    built = compiled(X, y, importances, loss=loss, **OPTIONS, **options)
    for factor in (2.0, 0.25):
        for start, stop in itertools.pairwise([0, *cuts, len(y)]):
            built.take(rows(len(y))[start:stop])
            assert np.isfinite(built.weights()).all()
        built.recentre(factor)
    assert built.weights().any()
    return built


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("loss", MINIMISED)
def test_long_rows_are_split_with_the_same_bits(loss, values):
    """Rows longer than every vector and block, in calls that end between them, on all vector units.

    The reference agrees.
    """
    X, y = corpus(n_rows=16)
    X, first = X.astype(values), learned(X.astype(values), y, loss)
    for level, indices in itertools.product(range(8), (np.int32, np.int64)):
        X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
        assert_same_bits(learned(X, y, loss, cuts=range(3, 16, 5), level=level), first)
    twin = reference_of(X, y, 0.5 + np.arange(len(y)) % 3, loss=loss, **OPTIONS)
    for factor in (2.0, 0.25):
        for i in range(len(y)):
            twin.step(i)
        twin.recentre(factor * twin.kappa, factor * twin.kappa_intercept)
    assert_equal(first, twin)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("loss", MINIMISED)
def test_the_gap_after_an_epoch_is_at_least_the_one_of_a_certificate(loss, l2):
    """Also far from the minimum, where many |u_j| exceed l1.  A certificate tries two duals."""
    X, y = corpus(60, 20, seed=3)
    options = dict(loss=loss, l1=1e-3, l2=l2, kappa=1.0, fit_intercept=False, kappa_intercept=0.0)
    built = compiled(X, y, None, **options)
    built.take(rows(60))
    found = built.progress()
    proof = certify(built.mean, built.penalty, found.weights, 0.0, built.duals.copy())
    assert np.abs(built.mean.correlations(built.duals)).max() > 2e-3
    assert found.gap >= proof.gap * (1.0 - 1e-9)
    assert l2 or found.gap == pytest.approx(proof.gap, rel=1e-9)


def test_the_inner_gap_vanishes_at_the_minimum_around_a_centre():
    """The proximal term does not."""
    X, y = corpus(60, 20, seed=3)
    options = dict(l1=1e-3, l2=1e-3, kappa=1.0, fit_intercept=False, kappa_intercept=0.0)
    built = compiled(X, y, None, loss="log_loss", **options)
    for epoch in range(50):
        if epoch == 1:
            built.recentre()
        built.take(rows(60))
    found = built.progress()
    assert built.centre.any()
    assert found.distance > 1e-3
    assert abs(found.inner_gap) < 1e-9


def test_an_epoch_leaves_the_iterate_of_the_epoch_before_as_it_was():
    """The best iterate so far is kept."""
    X, y = corpus(20, 5)
    mean = MeanLoss(as_examples(X, y), y, None, get_loss("log_loss"), fit_intercept=False)
    compact, penalty = screening.compact(mean, None, 0.0), ElasticNet(1e-3, 1e-3)
    ascent = Ascent(mean, penalty, seed=0)
    first = ascent.epoch(at(compact.mean, penalty, np.zeros(5), 0.0), compact)
    weights, duals = first.weights.copy(), first.duals.copy()
    second = ascent.epoch(first, compact)
    assert apart(second.weights, weights) > TOLERANCE
    assert apart(second.duals, duals) > TOLERANCE
    np.testing.assert_array_equal(first.weights, weights)
    np.testing.assert_array_equal(first.duals, duals)


@pytest.mark.parametrize(("loss", "waits"), [("log_loss", False), ("hinge", True)])
def test_the_centre_waits_where_the_loss_has_no_curvature(loss, waits):
    """Until the inner gap is below the proximal term."""
    X, y = corpus(20, 5)
    mean = MeanLoss(as_examples(X, y), y, None, get_loss(loss), fit_intercept=False)
    ascent = Ascent(mean, ElasticNet(1e-3, 0.0), seed=0)
    far = Progress(np.zeros(5), 0.0, objective=1.0, gap=1.0, inner_gap=2.0, distance=1.0)
    assert (ascent._after(far) is None) is waits
    assert ascent._after(replace(far, inner_gap=0.5)) is not None
