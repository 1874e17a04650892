"""Rules of your own in the affine family: ``register_rule`` adds one to the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from lazynet.engines.catalogue import ALGORITHMS, Algorithm
from lazynet.engines.outputs import OutputsOnClock
from lazynet.parameters import shown
from lazynet.reference import DenseReference
from lazynet.rules.affine import Proximal
from lazynet.rules.base import Shrink
from lazynet.schedules import AUTO

_TAKEN = frozenset({AUTO, *ALGORITHMS})
# The rates of the trials, and the largest eta * l2 in them.
_RATES = np.array([1.0, 0.5, 2.0**-100])
_LARGEST = 2.0**20


def register_rule(
    rule: type[Proximal],
    *,
    shrink: Callable[[Any, Any, Any], tuple[Any, Any, Any]],
    reference: Callable[[Any, Any, Any, Any], Any],
) -> None:
    """Add a rule that shrinks all weights by one map, |w| <- [a |w| - b]+.

    From then on ``rule=`` of every estimator, of ``Stepper`` and of ``problems`` takes the rule, by
    its name or as an object, and ``verify`` compares it with its reference after every step.  A
    rule of this name that was registered before is replaced.

    Parameters
    ----------
    rule : type
        A subclass of ``lazynet.rules.affine.Proximal`` with a ``name``.  If the map needs
        eta * l2 < c, also ``decay_below = c``, and the reason ``why``, for error messages.
    shrink : callable
        (eta, l1, l2) -> (a, 1 - a, b), where eta is an array of rates.  Compute 1 - a without the
        difference: a near 1 has lost the digits.
    reference : callable
        (w, eta, l1, l2) -> the weight w after the shrink, as the paper writes it.

    Examples
    --------
    >>> from lazynet import Stepper
    >>> class PullFirst(Proximal):
    ...     name = "pull_first"
    ...     decay_below = 1.0
    ...     why = "eta*l2 >= 1 would flip every weight"
    >>> def shrink(eta, l1, l2):
    ...     return 1 - eta * l2, eta * l2, (1 - eta * l2) * eta * l1
    >>> def reference(w, eta, l1, l2):
    ...     return float(np.sign(w)) * max(abs(w) - eta * l1, 0.0) * (1 - eta * l2)
    >>> register_rule(PullFirst, shrink=shrink, reference=reference)
    >>> stepper = Stepper(1, loss="squared_error", rule="pull_first", l1=0.5, l2=0.5)
    >>> stepper.step([0], [1.0], target=4.0), stepper.weights
    (0.0, array([1.3125]))
    >>> del ALGORITHMS["pull_first"]  # other examples do not know the rule
    """
    if not (isinstance(rule, type) and issubclass(rule, Proximal)):
        raise TypeError(f"rule must be a subclass of Proximal, got {shown(rule)}")
    name, kind = getattr(rule, "name", None), rule.__name__
    if not isinstance(name, str) or name in _TAKEN:
        raise ValueError(f"{kind}.name must be a name besides {sorted(_TAKEN)}, got {name!r}")
    if own := {field.name for field in fields(rule)} - {field.name for field in fields(Proximal)}:
        raise ValueError(
            f"{kind} has the parameters {sorted(own)}, but its shrink depends on eta, l1, l2 alone"
        )
    limit = min(rule.decay_below, _LARGEST)
    for l1, l2 in ((0.0, 0.0), (0.1, 0.0), (0.1, 0.01 * limit), (0.1, 0.999 * limit)):
        fault = _fault_of(shrink, l1, l2)
        if fault:
            raise ValueError(f"shrink must return (a, 1 - a, b) {fault}; l1={l1:.4g}, l2={l2:.4g}")
        weight = reference(1.0, 0.5, l1, l2)
        if not (isinstance(weight, (int, float)) and 0 <= weight <= 1):
            raise ValueError(
                "reference must return the weight after the shrink, from 0 to w; "
                f"reference(w=1.0, eta=0.5, l1={l1:.4g}, l2={l2:.4g}) is {weight!r}"
            )
    setattr(rule, "shrink", staticmethod(lambda *given: Shrink(*shrink(*given))))  # noqa: B010
    ALGORITHMS[name] = Algorithm(
        rule, None, partial(DenseReference, rule=reference), "", outputs=OutputsOnClock
    )


def _fault_of(shrink: Callable[..., Any], l1: float, l2: float) -> str | None:
    """What is wrong with the maps of a shrink at these strengths; None: nothing."""
    try:
        keep, decay, pull = parts = [np.asarray(part, float) for part in shrink(_RATES, l1, l2)]
    except (ArithmeticError, TypeError, ValueError) as error:
        return f"for an array of rates: {error}"
    if any(part.shape != _RATES.shape for part in parts):
        return f"with a number for each rate, got the shapes {[part.shape for part in parts]}"
    if not ((keep > 0) & (keep <= 1)).all():
        return f"with 0 < a <= 1, or the rule needs a lower decay_below: a is {keep.tolist()}"
    if not (np.isfinite(pull) & (pull >= 0)).all():
        return f"with a finite b >= 0, got {pull.tolist()}"
    # The last rate is so small that a is rounded to 1.
    if (decay[0] > 0 and decay[-1] == 0) or np.abs(1 - keep - decay).max() > 2.0**-51:
        return f"with all digits of 1 - a: a is {keep.tolist()}, and 1 - a is {decay.tolist()}"
    return None
