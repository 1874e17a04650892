"""Penalties of whole rows of weights: the proximal maps, and the lazy forms in plain Python."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.caught import caught
from support.groups import NORMS, PlainRun, assert_matches_groups, group_runs

from lazynet.reference import DenseGroups, PlainGroupsOnClock, PlainGroupsWithStamps
from lazynet.reference.groups import PROXES, l2_prox, level, max_prox, shrink_row

PLAIN_FORMS = [PlainGroupsOnClock, PlainGroupsWithStamps]
numbers = st.integers(-60, 60).map(lambda k: k * 0.13)
vectors = st.lists(numbers, min_size=1, max_size=20)
sizes = st.integers(0, 400).map(lambda k: k * 0.07)
fractions = st.lists(st.fractions(-5, 5, max_denominator=12), min_size=1, max_size=9)
shares = st.fractions(0, 6, max_denominator=12)


# --- the proximal maps, in plain Python --------------------------------------------------------


@given(row=vectors, a=sizes)
@pytest.mark.parametrize("norm", NORMS)
def test_a_prox_is_the_least_of_its_objective(norm, row, a):
    """row - prox is a times a subgradient of the norm at prox, which characterises the minimum."""
    found = np.array(PROXES[norm](row, a))
    rest = np.array(row) - found
    dual = np.linalg.norm(rest) if norm == "l2" else np.abs(rest).sum()
    size = np.linalg.norm(found) if norm == "l2" else np.abs(found).max()
    tiny = 1e-13 * (1 + a + np.abs(row).sum())
    assert dual <= a + tiny
    assert rest @ found == pytest.approx(a * size, abs=tiny * (1 + size))


@pytest.mark.parametrize("l2", [Fraction(0), Fraction(1, 2)])
@given(row=fractions, etas=st.lists(shares, max_size=6))
def test_missed_shrinks_of_the_largest_weight_are_one(l2, row, etas):
    """Over fractions: a prox of the sum of the strengths; with l2 at rho times the row."""
    l1 = Fraction(2, 3)
    shrunk, rho = row, Fraction(1)
    for eta in etas:
        shrunk = shrink_row(shrunk, eta, l1, l2, "max")
        rho /= 1 + eta * l2
    strength = l1 / l2 * (1 - rho) if l2 else l1 * sum(etas)
    assert shrunk == max_prox([rho * v for v in row], strength)


@given(row=vectors, etas=st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), max_size=6))
def test_missed_shrinks_of_the_norm_are_one_and_keep_the_direction(row, etas):
    """With l2: the norm takes the map of a single weight, and the direction stays."""
    l1, l2 = 0.3, 0.25
    shrunk, rho = row, 1.0
    for eta in etas:
        shrunk = shrink_row(shrunk, eta, l1, l2, "l2")
        rho /= 1 + eta * l2
    at_once = l2_prox([rho * v for v in row], l1 / l2 * (1 - rho))
    assert shrunk == pytest.approx(at_once, rel=1e-12, abs=1e-12)
    for v, w in zip(row, shrunk, strict=True):
        assert w == pytest.approx(math.hypot(*shrunk) / (math.hypot(*row) or 1) * v, abs=1e-12)


@given(row=fractions, a=shares)
def test_the_level_has_the_mass_above_it(row, a):
    """sum_k [|v_k| - level]+ = a, over fractions."""
    if 0 < a < sum(abs(v) for v in row):
        at = level(row, a)
        assert at > 0
        assert sum(max(abs(v) - at, 0) for v in row) == a


# --- lazy forms in plain Python ----------------------------------------------------------------


def plain_runs(form):
    """Runs of a form in plain Python, with the norm that it takes."""
    return group_runs(form.norms, kind=type("OfForm", (PlainRun,), dict(form=form)))


@pytest.mark.parametrize("form", PLAIN_FORMS)
@given(data=st.data())
def test_the_plain_lazy_forms_equal_the_dense_reference(form, data):
    """The pages for reading, in floating point, after every step."""
    assert_matches_groups(data.draw(plain_runs(form)))


fraction_rows = st.lists(
    st.dictionaries(st.integers(0, 3), st.fractions(-2, 2, max_denominator=4)),
    min_size=1,
    max_size=15,
)


@given(rows=fraction_rows, data=st.data())
def test_the_stamps_equal_the_dense_reference_over_fractions(rows, data):
    """To the last digit, with rates above 1 / l2 and any rebases."""
    n_outputs = data.draw(st.integers(1, 4))
    etas = data.draw(st.lists(shares, min_size=len(rows), max_size=len(rows)))
    options = dict(
        norm="max", loss="hinge", l1=Fraction(1, 7), l2=data.draw(shares) / 9,
        schedule=lambda t: etas[t], fit_intercept=True, zero=Fraction(0),
    )  # fmt: skip
    dense = DenseGroups(4, n_outputs, **options)
    lazy = PlainGroupsWithStamps(4, n_outputs, **options)
    for row in rows:
        target = data.draw(
            st.lists(st.sampled_from([1, -1]), min_size=n_outputs, max_size=n_outputs)
        )
        for learner in (dense, lazy):
            learner.step(row.keys(), row.values(), target)
        assert (lazy.weights, lazy.intercepts) == (dense.weights, dense.intercepts)
        if data.draw(st.booleans()):
            lazy.rebase()
            assert lazy.weights == dense.weights


def test_a_form_refuses_the_other_norm():
    """The clock cannot hold the largest weight."""
    with pytest.raises(ValueError, match="norm must be one of l2, got 'max'"):
        PlainGroupsOnClock(2, 2, norm="max")


# --- what is broken on purpose is caught -------------------------------------------------------


class ShrinksEachWeight(PlainGroupsOnClock):
    """Takes the shift off every weight in place of the norm."""

    def load(self, j):
        return [
            math.copysign(max(abs(v) - self.shift, 0.0) * self.scale, v) for v in self.stored[j]
        ]


class StampsAreNotSet(PlainGroupsWithStamps):
    """Takes the shrinks of a row again at every touch."""

    def store(self, j, row):
        self.stored[j] = [v / self.scale for v in row]


@pytest.mark.parametrize("form", [ShrinksEachWeight, StampsAreNotSet])
def test_broken_forms_are_caught(form):
    """The property finds each of the ways in which a lazy group goes wrong."""

    @caught(match="away from the dense twin")
    @given(run=plain_runs(form))
    def property_holds(run):
        assert_matches_groups(run)
