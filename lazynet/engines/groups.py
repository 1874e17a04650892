"""Engines of several outputs whose penalty acts on whole rows of weights: joint feature selection.

The penalty of the row v of a feature is l1 ||v||_2 + (l2 / 2) ||v||_2^2.  A feature is kept or
dropped for all outputs together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.outputs import OutputsOnClock
from lazynet.engines.wear import Wear
from lazynet.kernels import outputs as kernel
from lazynet.rules.affine import FoBoS
from lazynet.rules.base import Rule

# Above this scale the squares of stored weights are in the range of doubles.
_SMALLEST_SCALE = 2.0**-200


class GroupedOutputs(OutputsOnClock):
    """One clock for all outputs, and rows of weights that are shrunk as a whole.

    ``rule`` must be FoBoS with "gradient_first".  ``cells`` has a number per weight.

    >>> engine = GroupedOutputs(3, 2)
    >>> engine.load_coefficients(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.5, 0.0]))
    >>> engine.weights_at(np.array([2])), engine.intercepts
    (array([[3.],
           [6.]]), array([0.5, 0. ]))
    """

    kind = "groups"

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        rule: Rule | None = None,
        dtype: Any = np.float64,
        wear: Wear | None = None,
    ) -> None:
        check_rule_of_groups(FoBoS() if rule is None else rule)
        wear = wear if wear is not None else Wear()
        wear = replace(wear, smallest_scale=max(wear.smallest_scale, _SMALLEST_SCALE))
        super().__init__(n_features, n_outputs, dtype, wear)

    def _block_to_read(self, which: Any) -> kernel.Block:
        return self._block_of(np.ascontiguousarray(self.cells[which]), which)

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        # The norm of a row may overflow where its entries do not.
        return bool(np.isfinite(self.weights_at(indices)).all())


def check_rule_of_groups(rule: Rule) -> None:
    """Refuse every rule but FoBoS with the gradient first.

    >>> from lazynet import SGD
    >>> check_rule_of_groups(SGD())
    Traceback (most recent call last):
    ...
    ValueError: rule must be FoBoS() where the penalty acts on rows of weights, got SGD()
    """
    if type(rule) is not FoBoS or rule.step_order != "gradient_first":
        raise ValueError(
            f"rule must be FoBoS() where the penalty acts on rows of weights, got {rule!r}"
        )
