"""Study accuracy has a true truth, sees planted errors, and finds known numbers."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")

from scipy import sparse
from support.studies import tiny_run

from lazynet.reference import DenseReference, PlainTables
from lazynet.reference.closed_forms import printed_theorem_1_proof, theorem_1
from lazynet.schedules import Constant, InverseSqrt
from lazynet.verify.tolerance import UNIT_ROUNDOFF
from paper_repro import extended, results, unwatched
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
    reference = DenseReference(
        X.shape[1],
        loss="absolute_error",
        rule=rule,
        l1=Fraction(l1),
        l2=Fraction(l2),
        schedule=lambda t: Fraction(schedule(t)),
        zero=Fraction(0),
    )
    found = []
    for row in X:
        values = [Fraction(float(v)) for v in row.data]
        reference.step([int(j) for j in row.indices], values, Fraction(-(10**300)))
        found.append(list(reference.weights))
    return found


# --- the study as a whole --------------------------------------------------------------------


@wide
def test_a_trial_run_writes_everything(trial):
    for part in ("## Long runs", "## Tables that nothing watches", "## Theorem 1 as printed"):
        assert part in trial[1]


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


def test_steps_follow_the_settings():
    assert accuracy.steps_of(Settings()) == 1_000_000
    assert accuracy.steps_of(Settings(full=True, examples=1_000_000)) == 1_000_000
    assert accuracy.steps_of(Settings(examples=300)) == 3000
    assert accuracy.steps_of(Settings(examples=1)) == accuracy.FEWEST_STEPS


def test_without_long_doubles_the_study_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(accuracy, "too_narrow", lambda: "long double is a double")
    document = results.run(STUDIES["accuracy"], Settings(examples=300), tmp_path)
    assert document["records"] == {"setting": {"skipped": "long double is a double"}}
    assert "Skipped: long double is a double" in (tmp_path / "accuracy.md").read_text()


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


@wide
@pytest.mark.parametrize("rule", RULES)
def test_one_weight_is_the_same_truth(rule):
    X = extended.touches(5000)[:, [accuracy.FOLLOWED]]
    checkpoints = [1, 1999, 2000, 2001, 5000]
    expected = extended.true_weights(X, rule, Constant(0.1), [(1e-4, 0.1)], checkpoints)
    found = extended.one_weight(X.toarray().ravel(), 0.1, 1e-4, 0.1, rule)
    assert found[0] == 0
    assert np.array_equal(found[checkpoints], expected.ravel())


def test_blocks_end_at_every_checkpoint():
    pieces = extended.blocks([1, 1999, 2000, 4500])
    assert pieces == [(0, 1), (1, 1999), (1999, 2000), (2000, 4000), (4000, 4500)]


# --- the measure -----------------------------------------------------------------------------


def relative(found, truth):
    return float(accuracy.relative_errors(np.array(found), np.array(truth, dtype=np.longdouble)))


def test_the_measure_is_relative_to_one_and_the_largest_weight():
    assert relative([3.0, 1.0], [3.0, 1.5]) == 0.125
    assert math.isnan(relative([math.nan, 1.0], [3.0, 1.5]))


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


@wide
def test_worst_names_the_penalty():
    truth = np.zeros((2, 3, 1), dtype=np.longdouble)  # checkpoints, penalties, weights
    found = np.zeros((3, 2, 1))
    found[1, 0], found[2, 1] = 0.25, -0.5
    record = accuracy.worst(found, truth, [(0.0, 0.0), (1.0, 2.0), (3.0, 4.0)])
    assert record == {"error": [0.25, 0.5], "l1": [1.0, 3.0], "l2": [2.0, 4.0]}


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
    plain = PlainTables(
        1,
        budget=len(moves),
        loss="absolute_error",
        rule=rule,
        l1=accuracy.UNWATCHED_L1,
        l2=l2,
        schedule=lambda t: rate,
    )
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


@wide
def test_gap_errors_are_those_of_the_closed_forms():
    rates = InverseSqrt(0.5).rates(0, 40).tolist()
    record = accuracy.gap_errors(rates, 1e-2, 1e-1)
    exact_rates = [Fraction(rate) for rate in rates]
    l1, l2 = Fraction(1e-2), Fraction(1e-1)
    assert record["gaps"][-1] == record["longest"] == 40
    for gap, error in zip(record["gaps"], record["proof"], strict=True):
        truth = theorem_1(Fraction(1), exact_rates[:gap], l1, l2)
        printed = printed_theorem_1_proof(Fraction(1), exact_rates[:gap], l1, l2)
        assert error == pytest.approx(float(printed / truth - 1), rel=1e-9)
