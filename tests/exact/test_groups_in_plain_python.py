"""Penalties of whole rows of weights: the proximal map, and the lazy form in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.caught import caught
from support.groups import PlainRun, assert_matches_groups, group_runs

from lazynet.reference import PlainGroupsOnClock
from lazynet.reference.groups import l2_prox, shrink_row

numbers = st.integers(-60, 60).map(lambda k: k * 0.13)
vectors = st.lists(numbers, min_size=1, max_size=20)
sizes = st.integers(0, 400).map(lambda k: k * 0.07)


# --- the proximal map, in plain Python --------------------------------------------------------


@given(row=vectors, a=sizes)
def test_the_prox_is_the_least_of_its_objective(row, a):
    """row - prox is a times a subgradient of the norm at prox, which characterises the minimum."""
    found = np.array(l2_prox(row, a))
    rest = np.array(row) - found
    dual, size = np.linalg.norm(rest), np.linalg.norm(found)
    tiny = 1e-13 * (1 + a + np.abs(row).sum())
    assert dual <= a + tiny
    assert rest @ found == pytest.approx(a * size, abs=tiny * (1 + size))


@given(row=vectors, etas=st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), max_size=6))
def test_missed_shrinks_of_the_norm_are_one_and_keep_the_direction(row, etas):
    """With l2: the norm takes the map of a single weight, and the direction stays."""
    l1, l2 = 0.3, 0.25
    shrunk, rho = row, 1.0
    for eta in etas:
        shrunk = shrink_row(shrunk, eta, l1, l2)
        rho /= 1 + eta * l2
    at_once = l2_prox([rho * v for v in row], l1 / l2 * (1 - rho))
    assert shrunk == pytest.approx(at_once, rel=1e-12, abs=1e-12)
    for v, w in zip(row, shrunk, strict=True):
        assert w == pytest.approx(math.hypot(*shrunk) / (math.hypot(*row) or 1) * v, abs=1e-12)


# --- the lazy form in plain Python ----------------------------------------------------------------


def plain_runs(form):
    """Runs of a form in plain Python."""
    return group_runs(kind=type("OfForm", (PlainRun,), dict(form=form)))


@given(run=plain_runs(PlainGroupsOnClock))
def test_the_plain_lazy_form_equals_the_dense_reference(run):
    """The page for reading, in floating point, after every step."""
    assert_matches_groups(run)


# --- what is broken on purpose is caught -------------------------------------------------------


class ShrinksEachWeight(PlainGroupsOnClock):
    """Takes the shift off every weight in place of the norm."""

    def load(self, j):
        return [
            math.copysign(max(abs(v) - self.shift, 0.0) * self.scale, v) for v in self.stored[j]
        ]


def test_a_broken_form_is_caught():
    """The property finds a shrink of single weights."""

    @caught(match="away from the dense twin")
    @given(run=plain_runs(ShrinksEachWeight))
    def property_holds(run):
        assert_matches_groups(run)
