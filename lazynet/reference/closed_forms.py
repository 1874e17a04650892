"""The composition of missed shrinks: corrected, and as the papers print it.

The weight |w| = x has missed the shrinks with the rates etas = (eta_psi, ..., eta_{k-1}), the gap;
each function gives |w| at step k.  LE1 is the early text of Lipton & Elkan ("612 times faster") and
LE3 is arXiv:1505.06449v3; ``test_closed_forms.py`` proves their errata E1, E2, ...  All functions
take exact fractions.  Under weak penalties a comparison to four significant figures cannot
distinguish Eq. 14 from the corrected formula; it can distinguish Eq. 10, which lacks l1.

>>> from lazynet.reference.affine import sgd_shrink
>>> gap = 4.0, [0.5, 0.5], 1.0, 1.0  # 4, 3/2, 1/4
>>> repeated(sgd_shrink)(*gap), theorem_1(*gap), unified(lambda eta, l2: 1 - eta * l2)(*gap)
(0.25, 0.25, 0.25)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Gap = Callable[[Any, Sequence[Any], Any, Any], Any]


def _clip(v: Any) -> Any:
    return v if v > 0 else v * 0


def _product(values: Sequence[Any]) -> Any:
    result: Any = 1
    for v in values:
        result = result * v
    return result


# --- corrected -------------------------------------------------------------------------------


def repeated(shrink: Callable[[Any, Any, Any, Any], Any]) -> Gap:
    """The definition of a gap: apply one shrink after another."""

    def gap(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
        for eta in etas:
            x = shrink(x, eta, l1, l2)
        return x

    return gap


def l2_gap_fobos(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Eq. 15, printed correctly: x prod 1 / (1 + eta l2)  (l1 = 0)."""
    return x * _product([1 / (1 + eta * l2) for eta in etas])


def theorem_1(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """SGD with an elastic net, corrected: B(t) = B(t-1) + eta_t / P(t), with the NEW product."""
    P, B = _one_and_zero(x)
    for eta in etas:
        P = P * (1 - eta * l2)
        B = B + eta / P
    return _clip(x * P - l1 * P * B)


def theorem_2(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """FoBoS with an elastic net, LE3: beta(t) = beta(t-1) + eta_t / Phi(t-1), the OLD product."""
    Phi, beta = _one_and_zero(x)
    for eta in etas:
        beta = beta + eta / Phi
        Phi = Phi / (1 + eta * l2)
    return _clip(x * Phi - l1 * Phi * beta)


def unified(keep: Callable[[Any, Any], Any]) -> Gap:
    """Both rules in one formula, for l2 > 0: x rho - (l1 / l2) (1 - rho), rho = prod a."""

    def gap(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
        rho = _product([keep(eta, l2) for eta in etas])
        return _clip(x * rho - l1 / l2 * (1 - rho))

    return gap


# --- as printed ------------------------------------------------------------------------------


def printed_theorem_1_statement(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Eq. 10, the same in LE3 (errata E1, E2): eta_t / P(t-1), and no l1 before B.

    >>> gap = 4.0, [0.5], 2.0, 1.0
    >>> printed_theorem_1_statement(*gap), theorem_1(*gap)
    (1.75, 1.0)
    """
    P, B = _printed_tables(x, etas, l2)
    return _clip(x * P - P * B)


def printed_theorem_1_proof(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Eq. 14, the same in LE3 (erratum E1): eta_t / P(t-1).

    The formula is the exact closed form of another step, [ (1 - eta l2) (|w| - eta l1) ]+.  It
    shrinks by about l1 l2 sum eta^2 too little.

    >>> gap = 4.0, [0.5], 2.0, 1.0
    >>> printed_theorem_1_proof(*gap), theorem_1(*gap)  # 2 * 1 * 1/4 apart
    (1.5, 1.0)
    """
    P, B = _printed_tables(x, etas, l2)
    return _clip(x * P - l1 * P * B)


def printed_theorem_1_eq_12_sign(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Eq. 12, second line (erratum E5): a w - b with b = -eta l1, so that l1 makes w grow.

    >>> gap = 4.0, [0.5], 2.0, 1.0
    >>> printed_theorem_1_eq_12_sign(*gap), theorem_1(*gap)
    (3.0, 1.0)
    """
    for eta in etas:
        x = (1 - eta * l2) * x - (-eta * l1)
    return x


def printed_theorem_1_eq_13(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Eq. 12 and 13 (erratum E3): the products of Eq. 12 start and end one step early.

    Eq. 12 multiplies the l1 part of step tau by the factors of the steps tau, ..., k-2, instead of
    the steps tau+1, ..., k-1; Eq. 13 is the same sum, written with P and B.  It is right for a
    constant rate, because the shift cancels, and wrong otherwise.

    >>> from fractions import Fraction
    >>> gap = Fraction(6), [Fraction(1, 2), Fraction(1, 3)], 1, 1
    >>> printed_theorem_1_eq_13(*gap), theorem_1(*gap)
    (Fraction(17, 12), Fraction(4, 3))
    """
    P, B = _printed_tables(x, etas, l2)
    one_short = P / (1 - etas[-1] * l2) if etas else P
    return _clip(x * P - l1 * one_short * B)


def printed_theorem_2(x: Any, etas: Sequence[Any], l1: Any, l2: Any) -> Any:
    """LE1 Theorem 2 taken literally (erratum E6): B' divides by the P of SGD instead of P'.

    >>> from fractions import Fraction
    >>> gap = Fraction(6), [Fraction(1, 2), Fraction(1, 2)], 1, 1
    >>> printed_theorem_2(*gap), theorem_2(*gap)
    (Fraction(2, 1), Fraction(19, 9))
    """
    _, B = _printed_tables(x, etas, l2)
    Phi = l2_gap_fobos(_one_and_zero(x)[0], etas, 0, l2)
    return _clip(x * Phi - l1 * Phi * B)


def _printed_tables(x: Any, etas: Sequence[Any], l2: Any) -> tuple[Any, Any]:
    """P and B of LE1: B(t) = B(t-1) + eta_t / P(t-1)."""
    P, B = _one_and_zero(x)
    for eta in etas:
        B = B + eta / P
        P = P * (1 - eta * l2)
    return P, B


def _one_and_zero(x: Any) -> tuple[Any, Any]:
    """The start of the tables in the type of x: P(-1) = 1 and B(-1) = 0."""
    return x * 0 + 1, x * 0
