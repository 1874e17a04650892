"""Which method a problem gets: Newton steps on a Gram matrix or on columns, or dual ascent.

A Gram matrix is formed by rows, at the cost of the pairs of nonzeros of a row in the working set.
It pays where rows are many beside the square of the working set.  Elsewhere the columns of the
working set are visited.  Dual ascent visits rows, and is the fastest method where most of X lies in
the columns of the working set, if l2 is not small beside the squared lengths of the rows.

An *epoch* of a search visits all rows at least once.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from lazynet.kernels.columns import MOST_ROWS
from lazynet.minimum.columns import Columns, Multipliers
from lazynet.minimum.dual import Ascent
from lazynet.minimum.gram import (
    LEAST_SAMPLE,
    NewtonSteps,
    WorkingSet,
    rows_of_hessian,
    start_on_sample,
)
from lazynet.minimum.iterate import Iterate, at, proved
from lazynet.minimum.objective import MeanLoss
from lazynet.minimum.screening import Compact
from lazynet.penalties import ElasticNet

# Nanoseconds, about, in one row of a Gram matrix: a value, a pair of heads, a tail, and a pair of
# tails for each tail feature, because the table of pairs grows with these; a visit of a head and of
# a tail in a column; a product in the descent on a Gram matrix.
_VALUE, _HEADS, _TAIL, _TAILS = 2.5, 0.06, 20.0, 0.011
_HEAD_VISIT, _TAIL_VISIT, _PRODUCT = 0.6, 1.5, 0.3
# Visits of a column, and of a row of the matrix, in one epoch.
_VISITS, _SWEEPS = 65.0, 80.0
# About the share of the features with |u_j| > l1 at zero weights that have a weight at the minimum.
_REMAIN = 0.25
# The share of X in the columns of the weights from which dual ascent is the faster method; about so
# many features per row can have a weight; the epochs that dual ascent gets.
_DENSE, _PER_ROW, _EPOCHS_OF_ASCENT = 0.5, 7.0, 60
# The curvature of the loss along the longest row, in units of n l2, up to which dual ascent needs
# few epochs.
_STEEPEST = 20.0
#: The nonzeros of X up to which a problem is solved to the last digits.
SMALL = 2**13


class Search:
    """Goes from iterate to iterate until the caller is content.

    ``columns`` are those that a path of penalties shares.  What dual ascent has not finished in its
    epochs, Newton's method finishes.
    """

    def __init__(
        self,
        mean: MeanLoss,
        compact: Compact,
        columns: Columns,
        penalty: ElasticNet,
        target: float,
        at_zero: float,
        seed: int,
    ) -> None:
        self.compact, self.columns, self.penalty, self.target = compact, columns, penalty, target
        self.smooth, self.at_zero = mean.loss.curvature is not None, at_zero
        self.gram = NewtonSteps(compact, penalty, target, at_zero)
        self._use_columns()
        self.seed, self.mean = seed, mean
        # The columns have row numbers of 32 bits.
        self.many = mean.n_rows > MOST_ROWS
        large = mean.n_values > SMALL and penalty.l2 > 0.0
        self.ascents_left = _EPOCHS_OF_ASCENT if large else 0
        #: the method of the last epoch: "gram", "columns" or "ascent"
        self.name = "gram" if self.smooth else "columns"

    @cached_property
    def ascent(self) -> Ascent:
        """Dual ascent; most searches need none, and its start visits all rows and features."""
        return Ascent(self.mean, self.penalty, self.seed)

    def _use_columns(self, known_gap: float = np.inf) -> None:
        arguments = self.columns, self.penalty, self.target, self.at_zero
        self.multipliers = None if self.smooth else Multipliers(*arguments, known_gap)

    def start(self, gap: float, max_iter: int) -> None:
        """Go on from duals of another search, which ended with this gap."""
        self._use_columns(gap)
        # A few epochs of dual ascent may lead away from where they began.
        if max_iter < _EPOCHS_OF_ASCENT:
            self.ascents_left = 0

    def pays(self, chosen: WorkingSet) -> bool:
        """Whether a Gram matrix of these features pays."""
        if self.many or not len(chosen.features):
            return True
        n, n_heads, tails = len(chosen.features), chosen.n_heads, chosen.of_tails
        values = n if self.compact.is_full else self.compact.of_all
        gram = _VALUE * values + _HEADS * n_heads**2 + _TAIL * tails
        gram += _TAILS * (n - n_heads) * tails * (tails + 1.0)
        columns = _VISITS * (_HEAD_VISIT * n_heads + _TAIL_VISIT * tails)
        saved = self.compact.mean.n_rows * (columns - gram)
        return _SWEEPS * _PRODUCT * n**2 <= saved

    def _likely(self, zero: Iterate) -> WorkingSet:
        """About the features that will have a weight, from u at zero weights."""
        sizes = np.abs(zero.correlations)
        sizes = sizes[sizes > self.penalty.l1]
        n = int(_REMAIN * len(sizes))
        least = np.nextafter(np.partition(sizes, -n)[-n], 0.0) if n else np.inf
        return self.gram.above(zero, least)

    def _ascent_pays(self, last: Iterate) -> bool:
        """Whether dual ascent is faster: most of X lies in columns of weights, or soon will."""
        l1, l2, frequencies = self.penalty.l1, self.penalty.l2, self.compact.frequencies
        whole = max(self.compact.of_all, 1e-300)
        if l1 == 0.0:
            return True
        mean, curvature = self.compact.mean, self.compact.mean.loss.curvature
        if curvature is not None:
            if l2 == 0.0:
                return False
            # Those of X, which dual ascent needs, too.
            longest = self.mean.squared_norms.max(initial=0.0)
            if curvature * longest * mean.share > _STEEPEST * l2:
                return False
        if frequencies[last.weights != 0.0].sum() > _DENSE * whole:
            return True
        if l2 < l1:
            return False
        # An l2 as strong as l1 keeps most features that l1 lets in, but few for each row.
        entering = np.abs(last.correlations) > l1
        kept = min(1.0, _PER_ROW * len(last.duals) / max(int(np.count_nonzero(entering)), 1))
        return kept * float(frequencies[entering].sum()) > _DENSE * whole

    def epoch(self, last: Iterate) -> Iterate:
        """The next iterate."""
        cold = not last.weights.any()
        if self.name == "gram" and not len(last.correlations):
            # The last step had only the duals of its model, and rounding refused their gap.
            last = proved(self.compact.mean, self.penalty, last)
        if self.name == "gram" and not (cold and not self.pays(self._likely(last))):
            start = last
            if cold and self.compact.mean.n_rows >= 2 * LEAST_SAMPLE:
                mean, begin = self.compact.mean, start_on_sample(self.gram, last, self.pays)
                start = proved(mean, self.penalty, at(mean, self.penalty, *begin))
            chosen = self.gram.working_set(start)
            if self.pays(chosen):
                n = rows_of_hessian(self.gram, start, chosen, sampled=start is not last)
                return self.gram.step(start, chosen, n)
        goes_on = self.name == "ascent" or self._ascent_pays(last)
        if self.many or (self.ascents_left and goes_on):
            self.ascents_left -= 1
            self.name = "ascent"
            return self.ascent.epoch(last, self.compact)
        if self.name == "ascent":
            last = self._without_ascent(last)
        self.name = "columns"
        if self.multipliers:
            return self.multipliers.epoch(last)
        return self.columns.epoch(self.penalty, last, self.target)

    def _without_ascent(self, last: Iterate) -> Iterate:
        """The iterate for Newton's method, which finishes what dual ascent has begun."""
        self._use_columns()
        mean = self.compact.mean
        now = at(mean, self.penalty, last.weights, last.intercept)
        if not self.smooth:
            now = now.changed(duals=last.duals)
        return proved(mean, self.penalty, now)
