"""Study accuracy has a true truth, sees planted errors, and finds known numbers."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from support.studies import tiny_run

from lazynet.reference import DenseReference, PlainTables
from lazynet.schedules import Constant, InverseSqrt
from lazynet.verify.tolerance import UNIT_ROUNDOFF
from paper_repro import extended, unwatched
from paper_repro.studies import STUDIES, accuracy
from paper_repro.study import Settings

RULES = ("sgd", "fobos")
LONG_ROUNDOFF = float(np.finfo(np.longdouble).eps)

wide = pytest.mark.skipif(
    extended.too_narrow() is not None, reason="long double is no wider than double here"
)


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A run of 3000 steps: its document and its page."""
    out = tmp_path_factory.mktemp("results")
    return tiny_run(STUDIES["accuracy"], Settings(examples=300), out)


def exact_weights(X, rule, schedule, l1, l2):
    """Every weight after every step, in fractions."""
    options = dict(loss="absolute_error", rule=rule, l1=Fraction(l1), l2=Fraction(l2))
    reference = DenseReference(
        X.shape[1], schedule=lambda t: Fraction(schedule(t)), zero=Fraction(0), **options
    )
    found = []
    for row in X:
        values = [Fraction(float(v)) for v in row.data]
        reference.step([int(j) for j in row.indices], values, Fraction(-(10**300)))
        found.append(list(reference.weights))
    return found


# --- the study as a whole --------------------------------------------------------------------


@wide
def test_the_errors_of_all_engines_are_within_their_bounds(trial):
    """Independent roundings add up like sqrt(T), systematic ones like T."""
    records = trial[0]["records"]
    for key, record in records.items():
        if not key.startswith("long run/"):
            continue
        for engine in accuracy.ENGINES:
            for steps, error in zip(record["checkpoints"], record[engine]["error"], strict=True):
                growth = 4 * math.sqrt(steps) if engine == "clock" else steps
                assert 0 <= error <= 10 * UNIT_ROUNDOFF * growth


@wide
def test_lazynets_tables_stay_exact_where_unwatched_ones_break(trial):
    records = trial[0]["records"]
    broken = 0
    for key, record in records.items():
        if key.startswith("unwatched tables/"):
            assert max(record["lazynet error"]) <= 10 * UNIT_ROUNDOFF * record["steps"]
            broken += record["NaN"] is not None
    assert broken >= 2


# --- the truth -------------------------------------------------------------------------------


@wide
@pytest.mark.parametrize("rule", RULES)
def test_extended_precision_against_fractions(rule):
    """The run differs from exact arithmetic by the rounding of long double alone."""
    X, schedule = extended.touches(12), InverseSqrt(0.5)
    penalties = list(product((0.0, 1e-2), (0.0, 0.1)))
    checkpoints = [1, 5, 12]
    found = extended.true_weights(X, rule, schedule, penalties, checkpoints)
    assert found.shape == (3, len(penalties), extended.N_WEIGHTS)
    for k, (l1, l2) in enumerate(penalties):
        exact = exact_weights(X, rule, schedule, l1, l2)
        for at, step in enumerate(checkpoints):
            for w, truth in zip(found[at, k], exact[step - 1], strict=True):
                assert abs(Fraction(*w.as_integer_ratio()) - truth) <= 8 * step * LONG_ROUNDOFF


# --- the measure -----------------------------------------------------------------------------


def relative(found, truth):
    return float(accuracy.relative_errors(np.array(found), np.array(truth, dtype=np.longdouble)))


@wide
@pytest.mark.parametrize("rule", RULES)
def test_a_table_read_off_by_one_step_is_seen(rule):
    """A weight that misses its last shrink differs by far more than any rounding."""
    X, l1, l2 = extended.touches(300), 1e-4, 1e-2
    truth = extended.true_weights(X, rule, Constant(0.1), [(l1, l2)], [300])[0, 0]
    options = dict(loss="absolute_error", rule=rule, l1=l1, l2=l2, schedule=lambda t: 0.1)
    right = PlainTables(extended.N_WEIGHTS, **options)
    for row in X:
        right.step(row.indices, row.data, -1e300)
    assert relative(right.weights, truth) <= 300 * UNIT_ROUNDOFF
    right.P.pop()
    right.B.pop()
    assert relative(right.weights, truth) >= 1e-5


# --- tables that nothing watches -------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "rate", "l2", "step"),
    [("sgd", 1.0, 0.5, 1023), ("sgd", 1.0, 0.1, 6715), ("fobos", 1.0, 0.5, 1749)],
)
def test_b_overflows_at_known_steps(rule, rate, l2, step):
    _, shifts = unwatched.tables(10_000, rule, rate, l2)
    assert accuracy.first_step(np.isinf(shifts)) == step
    assert accuracy.overflow_expected(rate, l2) * accuracy.BEYOND > step


@pytest.mark.parametrize("rule", RULES)
def test_unwatched_tables_are_the_papers_as_long_as_they_live(rule):
    """The tables give the weights of the reference's tables at every touch."""
    rate, l2 = 0.1, 0.1
    moves = extended.touches(2000)[:, [accuracy.FOLLOWED]].toarray().ravel()
    touched = np.flatnonzero(moves)
    tables = unwatched.tables(len(moves), rule, rate, l2)
    found = unwatched.followed_weight(moves, touched, *tables, rate, accuracy.UNWATCHED_L1)
    options = dict(loss="absolute_error", rule=rule, l1=accuracy.UNWATCHED_L1, l2=l2)
    plain = PlainTables(1, budget=len(moves), schedule=lambda t: rate, **options)
    expected = []
    for row in sparse.csr_matrix(moves[:, None]):
        expected += [plain.load(0)] * row.nnz
        plain.step(row.indices, row.data, -1e300)
    assert np.abs(found - expected).max() <= 100 * UNIT_ROUNDOFF


# --- the printed theorem ---------------------------------------------------------------------


@wide
def test_the_misprint_is_of_the_predicted_size():
    """Eq. 14 shrinks too little by about l1 l2 sum eta^2; corrected, only rounding is left."""
    record = accuracy.theorem_1_errors({})["0.0001/0.001"]
    for gap, error in zip(record["gaps"], record["proof"], strict=True):
        predicted = 1e-7 * sum(0.25 / (t + 1) for t in range(gap))
        assert 0.9 * predicted < error < 2 * predicted
    assert max(record["corrected"]) < 1e-13
    assert min(record["statement"]) > 0.4
