"""The closed forms of missed shrinks are exact; what is printed is wrong, as docs/errata.md says.

E1, E2, ... number the errata of Lipton & Elkan, equations those of the early text (LE1 of
lazynet.reference.closed_forms); the numbers left out are slips of notation and of the prose.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazynet.reference import DenseReference
from lazynet.reference.affine import fobos_shrink, sgd_shrink
from lazynet.reference.closed_forms import (
    Gap,
    l2_gap_fobos,
    printed_theorem_1_eq_13,
    printed_theorem_1_proof,
    printed_theorem_1_statement,
    repeated,
    theorem_1,
    theorem_2,
    unified,
)

F = Fraction

NONE = st.just(F(0))
POSITIVE = st.fractions(F(1, 12), 3, max_denominator=12)
STRENGTHS = st.one_of(NONE, POSITIVE)

# Shares are eta * l2: below 1, up to 1 (a wipe), and on both sides of it.
BELOW_ONE = st.fractions(0, F(11, 12), max_denominator=12)
UP_TO_ONE = st.fractions(0, 1, max_denominator=12)
ANY = st.fractions(0, 4, max_denominator=12)


def constant(shares: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(lambda share, n: [share] * n, shares, st.integers(0, 8))


def either(shares: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(shares, max_size=8) | constant(shares)


@st.composite
def gaps(
    draw: Any,
    shares: st.SearchStrategy,
    l1: st.SearchStrategy = STRENGTHS,
    l2: st.SearchStrategy = STRENGTHS,
) -> tuple[Fraction, list[Fraction], Fraction, Fraction]:
    """A weight, the rates of the steps it missed, l1 and l2."""
    strength = draw(l2)
    # With l2 = 0 the shares are the rates themselves.
    etas = [share / (strength or 1) for share in draw(shares)]
    return draw(st.fractions(0, 20, max_denominator=12)), etas, draw(l1), strength


class Corrected(NamedTuple):
    """A closed form, the shrink it sums up, and the gaps for which it is claimed."""

    form: Gap
    shrink: Any
    gaps: st.SearchStrategy


CORRECTED = {
    "theorem_1_without_l2": Corrected(theorem_1, fobos_shrink, gaps(either(ANY), l2=NONE)),
    "l2_gap_fobos": Corrected(l2_gap_fobos, fobos_shrink, gaps(either(ANY), l1=NONE)),
    "theorem_1": Corrected(theorem_1, sgd_shrink, gaps(either(BELOW_ONE))),
    "theorem_2": Corrected(theorem_2, fobos_shrink, gaps(either(ANY))),
    "unified_sgd": Corrected(
        unified(lambda eta, l2: 1 - eta * l2), sgd_shrink, gaps(either(UP_TO_ONE), l2=POSITIVE)
    ),
    "unified_fobos": Corrected(
        unified(lambda eta, l2: 1 / (1 + eta * l2)), fobos_shrink, gaps(either(ANY), l2=POSITIVE)
    ),
}
true_sgd = repeated(sgd_shrink)


@pytest.mark.parametrize("case", CORRECTED.values(), ids=CORRECTED)
@given(data=st.data())
def test_corrected_form_equals_repeated_shrinks(case, data):
    """Each closed form is its shrink applied once per missed step, to the last digit."""
    x, etas, l1, l2 = data.draw(case.gaps)
    assert case.form(x, etas, l1, l2) == repeated(case.shrink)(x, etas, l1, l2)


# --- the errata: what is printed must fail -----------------------------------------------------


@given(gaps(constant(BELOW_ONE)))
def test_eq_13_is_right_for_constant_rates(gap):
    """The index shift of Eq. 12 cancels as long as the rate does not change (E3)."""
    assert printed_theorem_1_eq_13(*gap) == true_sgd(*gap)


def eq_12(x, etas, l1, l2, first, last):
    """Eq. 12: step tau's l1 part times the factors of the steps tau + first, ..., k + last."""
    k, factors = len(etas), [1 - eta * l2 for eta in etas]
    whole = [
        etas[tau] * l1 * math.prod(factors[tau + first : k + last + 1], start=F(1))
        for tau in range(k)
    ]
    return max(x * math.prod(factors, start=F(1)) - sum(whole), F(0))


def l1_then_l2(x, eta, l1, l2):
    """[ (1 - eta l2) (|w| - eta l1) ]+"""
    return max((1 - eta * l2) * (x - eta * l1), F(0))


@given(gaps(either(BELOW_ONE)))
def test_what_eqs_12_13_and_14_sum_up(gap):
    """Eq. 12 with the factors of other steps is Eq. 13 (E3), Eq. 14 (E4), and the truth.

    Eq. 14 sums up l1 first, then l2.  Each step spares l1 l2 eta^2, which later steps can only
    diminish (E1).
    """
    _, etas, l1, l2 = gap
    proof, truth = printed_theorem_1_proof(*gap), true_sgd(*gap)
    assert eq_12(*gap, first=0, last=-2) == printed_theorem_1_eq_13(*gap)
    assert eq_12(*gap, first=0, last=-1) == proof == repeated(l1_then_l2)(*gap)
    assert eq_12(*gap, first=1, last=-1) == truth
    assert 0 <= proof - truth <= l1 * l2 * sum(eta * eta for eta in etas)


@pytest.mark.parametrize(
    ("l1", "l2", "n_steps", "excess"),
    [(1e-4, 1e-3, 10_000, "2.5e-07"), (1e-2, 0.1, 100, "2.1e-03")],
)
def test_size_of_the_error_of_theorem_1(l1, l2, n_steps, excess):
    """From w = 1, rates 0.5 / sqrt(t + 1): four figures show only the second excess (E1).

    They always show the error of Eq. 10, which lacks l1 (E2).
    """
    gap = 1.0, [0.5 / math.sqrt(t + 1) for t in range(n_steps)], l1, l2
    relative = printed_theorem_1_proof(*gap) / true_sgd(*gap) - 1
    assert f"{relative:.1e}" == excess
    assert abs(printed_theorem_1_statement(*gap) / true_sgd(*gap) - 1) > 0.1


HALF = F(1, 2)


def test_E7_products_that_are_not_positive():
    """E7: P(t) > 0 needs eta l2 < 1; at 1 the form divides by zero, beyond 1 it is wrong."""
    beyond = F(8), [F(3), F(3)], F(1), F(1)
    assert true_sgd(*beyond) == 0
    assert theorem_1(*beyond) == 35
    assert printed_theorem_1_statement(*beyond) == printed_theorem_1_proof(*beyond) == 26
    with pytest.raises(ZeroDivisionError):
        theorem_1(F(8), [F(1), HALF], F(1), F(1))


def test_E9_algorithm_1_shrinks_touched_weights_twice():
    """E9: a step along the gradient of F_i shrinks at once, and the catch-up shrinks again."""
    w, eta, l1, gradient = F(3), HALF, F(1), F(1)
    dense = DenseReference(1, loss="hinge", rule="sgd", l1=l1, schedule=lambda t: eta, zero=F(0))
    dense.weights = [w]
    dense.step([0], [F(1)], target=-1)  # the hinge at p y = -3 has the slope 1
    dense.step([], [], target=-1)
    assert dense.weights == [F(3, 2)]

    along_F = w - eta * (gradient + l1)
    assert theorem_1(along_F, [eta, eta], l1, 0) == 1
    # Two ways out: leave the penalty to the catch-up, or stamp the weight one step later.
    assert theorem_1(w - eta * gradient, [eta, eta], l1, 0) == F(3, 2)
    assert theorem_1(along_F, [eta], l1, 0) == F(3, 2)


def test_E10_steps_from_1_with_stamps_from_0():
    """E10: psi = 0 and a flush at k = T add a shrink before step 1 and drop that of step T."""
    etas, w, l1 = [F(1), HALF, F(1, 4)], F(3), F(1)
    first, last = 1, 2
    assert true_sgd(w, etas[first : last + 1], l1, 0) == F(9, 4)
    assert theorem_1(w, etas[0:last], l1, 0) == F(3, 2)


def test_E11_algorithm_1_of_version_3_has_no_rate():
    """E11: w <- w - gradient, where the rate 1/2 is meant."""
    w, eta, gradient = F(3), HALF, F(1)
    dense = DenseReference(1, loss="hinge", rule="sgd", schedule=lambda t: eta, zero=F(0))
    dense.weights = [w]
    dense.step([0], [gradient], target=-1)  # the hinge at p y = -3 has the slope 1
    assert dense.weights == [w - eta * gradient] == [F(5, 2)]
    assert w - gradient == 2


def harmonic(n: int) -> Fraction:
    return sum((F(1, i) for i in range(1, n + 1)), F(0))


@given(t=st.integers(1, 30), n=st.integers(0, 30), eta0=POSITIVE)
def test_E12_harmonic_identity(t, n, eta0):
    """E12: the identity holds for eta0 / (tau + 1); eta0 / tau needs both indices one lower.

    As printed, with eta_tau = 1 / tau and t = n = 1, the sum 1 is said to be 1/2.
    """
    assert harmonic(2) - harmonic(1) == HALF
    steps = range(t, t + n)
    assert sum(eta0 / (tau + 1) for tau in steps) == eta0 * (harmonic(t + n) - harmonic(t))
    assert sum(eta0 / tau for tau in steps) == eta0 * (harmonic(t + n - 1) - harmonic(t - 1))


def test_E14_squares_of_1_over_sqrt_t_have_an_infinite_sum():
    """E14: both versions say that the sum is finite; after 2^k steps it is at least 1 + k / 2."""
    total, passed = F(0), 0
    for t in range(1, 2**10 + 1):
        total += F(1, t)  # eta_t^2 of eta_t = 1 / sqrt(t)
        if t == 2**passed:
            assert total >= 1 + F(passed, 2)
            passed += 1
    assert passed == 11
    # The squares of 1 / t do have a finite sum: it stays below 2.
    assert sum(F(1, t * t) for t in range(1, 2**10 + 1)) < 2
