"""The losses by name: what the estimators, the tests and the documentation know of each.

A new loss is one inline pair in ``kernels/losses.pxd`` with its arm in the two switches there, its
twin in ``reference/losses.py`` and one row here.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazynet.params import check_choice


@dataclass(frozen=True)
class Loss:
    """One row of the table.

    ``margin`` losses take y = -1 or +1 and depend on m = p*y; the others take any real y.
    ``curvature`` bounds the second derivative in p; None marks a derivative that jumps.
    ``kinks`` are where it jumps, in m or in p - y, as multiples (constant, epsilon).
    """

    name: str
    code: int
    margin: bool
    formula: str
    source: str
    curvature: float | None
    kinks: tuple[tuple[float, float], ...] = ()
    has_probability: bool = False
    uses_epsilon: bool = False
    unbounded_slope: bool = False


_ROWS = (
    Loss(
        "log_loss", 0, True, "log(1 + exp(-m))", "logistic regression",
        curvature=0.25, has_probability=True,
    ),
    Loss(
        "hinge", 1, True, "max(0, 1 - m)", "linear support vector machine",
        curvature=None, kinks=((1.0, 0.0),),
    ),
    Loss(
        "squared_hinge", 2, True, "max(0, 1 - m)^2", "L2 support vector machine",
        curvature=2.0, unbounded_slope=True,
    ),
    Loss(
        "modified_huber", 3, True, "max(0, 1 - m)^2 if m >= -1 else -4m", "Zhang 2004",
        curvature=2.0, has_probability=True,
    ),
    Loss(
        "squared_error", 4, False, "(p - y)^2 / 2", "least squares",
        curvature=1.0, unbounded_slope=True,
    ),
    Loss(
        "absolute_error", 5, False, "|p - y|", "median regression",
        curvature=None, kinks=((0.0, 0.0),),
    ),
    Loss(
        "huber", 6, False, "(p - y)^2 / 2 if |p - y| <= e else e (|p - y| - e/2)", "Huber 1964",
        curvature=1.0, uses_epsilon=True,
    ),
    Loss(
        "epsilon_insensitive", 7, False, "max(0, |p - y| - e)", "support vector regression",
        curvature=None, kinks=((0.0, 1.0), (0.0, -1.0)), uses_epsilon=True,
    ),
)  # fmt: skip

#: Every loss by the name scikit-learn gives it.
LOSSES: dict[str, Loss] = {loss.name: loss for loss in _ROWS}


def get_loss(name: str) -> Loss:
    """The row called ``name``.

    >>> get_loss("hinge").formula
    'max(0, 1 - m)'
    """
    return LOSSES[check_choice("loss", name, LOSSES)]
