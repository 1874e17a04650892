"""Rules and schedules compute their formulas, and refuse rates that break them."""

import math
import re
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.algorithms import AFFINE_RULES

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.penalties import ElasticNet
from lazynet.reference.affine import MAPS, SHRINKS
from lazynet.rules.base import LARGEST_SHRINK, lost_digits
from lazynet.schedules import (
    SCHEDULES,
    Constant,
    Formula,
    FromArray,
    FromCallable,
    InverseSqrt,
    InverseTime,
    Optimal,
    Pegasos,
    Power,
    Schedule,
    check_schedule,
    checked_rates,
)

F = Fraction
ROUNDOFF = F(1, 2**53)

RULES = {name: ALGORITHMS[name].rule() for name in AFFINE_RULES}
each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


# --- the maps of the rules -------------------------------------------------------------------

EXACT = st.fractions(0, 4, max_denominator=12)


@each_rule
@given(eta=EXACT, l1=EXACT, l2=EXACT, w=st.fractions(-9, 9, max_denominator=12))
def test_map_applied_equals_reference_shrink(rule, eta, l1, l2, w):
    """sgn(w) [a |w| - b]+ is one shrink of the reference, exactly, on both sides of eta l2 = 1."""
    keep, decay, pull = rule.shrink(eta, l1, l2)
    assert keep + decay == 1
    sign = (w > 0) - (w < 0)
    assert sign * max(keep * abs(w) - pull, F(0)) == SHRINKS[rule.name](w, eta, l1, l2)
    assert (keep, pull) == MAPS[rule.name](eta, l1, l2)


@st.composite
def floating_rates(draw: Any, rule: Any) -> tuple[float, float]:
    """A rate and an l2 whose product is anywhere between 2^-250 and the bound of the rule."""
    mantissas = st.floats(0.5, 1)
    size = draw(st.integers(-40, 40))
    product = draw(st.integers(-250, 1 if rule.name == "sgd" else 100))
    eta = math.ldexp(draw(mantissas), size)
    l2 = math.ldexp(draw(mantissas), product - size)
    assume(eta * l2 < rule.decay_below)
    return eta, l2


@each_rule
@given(data=st.data())
def test_keep_with_lost_digits_is_near_the_exact_map(rule, data):
    """The error is a few roundoffs of 1 - a, however small, and not of a: the clock rests on it.

    For SGD, keep + lost_digits is 1 - decay exactly, and to twice the precision for FoBoS.
    """
    eta, l2 = data.draw(floating_rates(rule))
    shrink = rule.shrink(eta, 0.0, l2)
    exact = rule.shrink(F(eta), F(0), F(l2))
    restored = F(shrink.keep) + F(lost_digits(shrink).item())
    difference = abs(restored - (1 - F(shrink.decay)))
    if rule.name == "sgd":
        assert difference == 0
    elif shrink.keep >= 0.5:
        assert difference <= F(1, 2**100)
    assert abs(F(shrink.decay) - exact.decay) <= 4 * ROUNDOFF * exact.decay
    # 2^-100 stands for the roundoff of the roundoff.
    assert abs(restored - exact.keep) <= 4 * ROUNDOFF * exact.decay + F(1, 2**100)
    if rule.name == "fobos" and shrink.keep < 0.5:
        assert abs(restored - exact.keep) <= 4 * ROUNDOFF * exact.keep


# --- the rates a rule refuses ----------------------------------------------------------------


def refusal(rule: str, rates: list[float], first: int = 0, **strengths: Any) -> str | None:
    """What the rule says against the rates, None if it takes them; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            RULES[rule].check_rates(np.array(rates), ElasticNet(**strengths), first)
        except ValueError as refused:
            return str(refused)
    return None


STRENGTHS = st.just(0.0) | st.floats(0, 1e300)


@pytest.mark.parametrize("rule", RULES)
@given(l1=STRENGTHS, l2=STRENGTHS, first=st.integers(0, 10**9))
def test_largest_rate_is_the_bound_that_is_enforced(rule, l1, l2, first):
    """Below ``largest_rate`` nothing is refused; above it, what the penalty does not allow is.

    The error names the bound, the penalty, the rate and the step, without a warning at any rate;
    that of SGD, which would wipe, also names remedies.
    """
    largest = RULES[rule].largest_rate(ElasticNet(l1, l2))
    assert refusal(rule, [0.0, largest * (1 - 1e-9)], first, l1=l1, l2=l2) is None
    if largest < LARGEST_SHRINK:
        for rate in (1e300, largest * (1 + 1e-9)):
            message = refusal(rule, [0.0, rate, 0.0], first, l1=l1, l2=l2)
            assert f"gives {rate:.6g} at step {first + 1}." in message
        assert f"eta must be less than {largest:.6g} " in message
        assert f"l1={l1:.6g}" in message or f"l2={l2:.6g}" in message
        if rule == "sgd" and l2 and largest == 1 / l2:
            assert "eta0" in message
            assert "rule='fobos'" in message
    if rule == "sgd" and l2:
        assert largest <= 1 / l2


@pytest.mark.parametrize("strengths", [{"l1": 4.0}, {"l2": 4.0}], ids=str)
@pytest.mark.parametrize("rule", RULES)
def test_the_largest_rate_itself_is_refused(rule, strengths):
    """With a strength of 4, a power of two, the bound is computed without rounding."""
    largest = RULES[rule].largest_rate(ElasticNet(**strengths))
    assert refusal(rule, [np.nextafter(largest, 0.0)], **strengths) is None
    assert refusal(rule, [largest], **strengths)


# --- schedules: what they compute ------------------------------------------------------------

FORMULAS = {
    "constant": (Constant(0.3), lambda t: 0.3),
    "inverse_time": (InverseTime(0.3), lambda t: 0.3 / (1 + t)),
    "inverse_sqrt": (InverseSqrt(0.3), lambda t: 0.3 / math.sqrt(1 + t)),
    "power": (Power(0.3), lambda t: 0.3 / (1 + t) ** 0.25),
    "power_of_0.7": (Power(0.3, 0.7), lambda t: 0.3 / (1 + t) ** 0.7),
    "pegasos": (Pegasos(0.1), lambda t: 1 / (0.1 * (2 + t))),
    "optimal": (Optimal(0.1), lambda t: 1 / (0.1 * (0.1**-0.75 + t))),
    "optimal_from_2": (Optimal(0.3, t0=2), lambda t: 1 / (0.3 * (2 + t))),
    "pegasos_from_1": (Pegasos(0.3, t0=1), lambda t: 1 / (0.3 * (1 + t))),
    "array": (FromArray([1 / (2 + t) for t in range(501)]), lambda t: 1 / (2 + t)),
    "callable": (FromCallable(lambda t: 0.9**t), lambda t: 0.9**t),
}


@pytest.mark.parametrize(("schedule", "formula"), FORMULAS.values(), ids=list(FORMULAS))
@given(data=st.data())
def test_rates_are_the_formula_whatever_the_split(schedule, formula, data):
    """eta_0, eta_1, eta_2, ... are what the docstring says, counted from t = 0.

    A chunk of rates is, bit for bit, its calls one by one and its parts end to end.
    """
    assert isinstance(schedule, Schedule)
    start, middle, stop = sorted(data.draw(st.tuples(*[st.integers(0, 500)] * 3)))
    rates = schedule.rates(start, stop)
    assert rates.dtype == np.float64
    assert rates.tolist() == [schedule(t) for t in range(start, stop)]
    parts = [schedule.rates(start, middle), schedule.rates(middle, stop)]
    assert rates.tolist() == np.concatenate(parts).tolist()
    assert checked_rates(schedule, start, stop).tolist() == rates.tolist()
    for t in {0, start, 500}:
        assert schedule(t) == pytest.approx(formula(t), rel=1e-15)


def test_array_is_copied():
    """Writing to the array afterwards does not change the schedule, nor the other way round."""
    array = np.array([0.5, 0.25])
    schedule = FromArray(array)
    array[0] = 9.0
    assert schedule(0) == 0.5
    with pytest.raises(ValueError, match="read-only"):
        schedule.rates(0, 2)[0] = 9.0


# --- schedules by name -----------------------------------------------------------------------


def made(schedule, eta0=0.1, l2=0.0):
    """The schedule of a model whose rates have the scale ``eta0`` and whose penalty has ``l2``."""
    made = check_schedule("schedule", schedule)
    return made.completed(eta0, l2) if isinstance(made, Formula) else made


@pytest.mark.parametrize("name", sorted(SCHEDULES.keys() & FORMULAS.keys()))
def test_schedule_by_name(name):
    """Each name gives its formula with the numbers of the model that belong to it."""
    expected, _ = FORMULAS[name]
    assert made(name, eta0=0.3, l2=0.1) == expected
    # As an object without a scale, and as an object with one, which stays what it is.
    assert made(SCHEDULES[name](), eta0=0.3, l2=0.1) == expected
    assert made(expected, eta0=0.5, l2=0.5) == expected


# --- schedules: what they refuse -------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in SCHEDULES.values() if issubclass(kind, Formula)])
def test_an_object_without_a_scale_needs_a_model(kind):
    """There is no rate to give, and the message says what to write."""
    missing = kind._from_model
    message = re.escape(
        f"{kind.__name__} has no {missing} and is used without a model: write "
        f"{kind.__name__}({missing}=...)"
    )
    with pytest.raises(ValueError, match=message):
        kind()(0)


def test_array_too_short_is_refused():
    """The message says how many rates there are and which step has none."""
    for start, stop in ((1, 5), (2, 3)):
        with pytest.raises(ValueError, match="schedule has 2 rates, but step 2 needs a rate"):
            made([0.5, 0.25]).rates(start, stop)


def test_own_schedule_with_too_few_rates_is_refused():
    """What a schedule of one's own returns is counted before it is used."""

    class OneShort(Constant):
        def rates(self, start, stop):
            return super().rates(start, stop - 1)

    with pytest.raises(ValueError, match=re.escape("schedule.rates(2, 5) must give 3 rates")):
        checked_rates(OneShort(0.1), 2, 5)


@pytest.mark.parametrize("schedule", [None, 0.1, {0: 0.1}, {0.1}, iter([0.1])])
@pytest.mark.every_case
def test_schedule_of_wrong_type_is_refused(schedule):
    """A number is not a schedule, nor is what has no order or no length."""
    with pytest.raises(TypeError, match=r"schedule must be one of .*, an array of rates, or"):
        made(schedule)
