"""The dense engine, which visits every weight at every step, to compare lazy engines with."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import ALL, Engine, Wear, take_until_done
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import dense as dense_kernel
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task
from lazynet.parameters import check_flag


class DenseEngine(Engine):
    """An engine that visits every weight at every step, compiled and vectorised.

    With ``predictions`` the prediction and the gradient run over all features too.  With
    ``average`` every weight is added to a sum after every step.  Without ``vectorised`` the loops
    over all weights take one weight at a time and give the same bits: the difference in time is
    the gain from vector units.
    """

    name = "dense"
    _per_feature = ()
    _others = ("cells", "bias", "sums", "totals")

    def __init__(
        self,
        n_features: int,
        predictions: bool = False,
        wear: Wear | None = None,
        vectorised: bool = True,
        average: bool = False,
    ) -> None:
        super().__init__(n_features, wear)
        self.vectorised = check_flag("vectorised", vectorised)
        predictions = check_flag("predictions", predictions)
        average = check_flag("average", average)
        self.cells = np.zeros(n_features)
        self.bias = np.zeros(1)
        #: scratch memory: a row spread out over all features
        self.spread = np.zeros(n_features if predictions else 0)
        self.sums = np.zeros(n_features if average else 0)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS if average else 0)

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        run = partial(
            dense_kernel.run, examples, steps, task, self.cells, self.bias, self.spread, self.sums,
            self.totals, self.vectorised,
        )  # fmt: skip
        take_until_done(run, len(steps), t, examples, row_of=steps.row, remedy=self.remedy)

    def coefficients(
        self, which: Any = ALL, out: NDArray[np.float64] | None = None, *, last: bool = False
    ) -> NDArray[np.float64]:
        averages = not last and self.counted > 0.0
        numbers = self.sums[which] / self.counted if averages else self.cells[which]
        out = np.empty((1, len(numbers))) if out is None else out
        out[0] = numbers
        return out

    def intercepts(self, *, last: bool = False) -> NDArray[np.float64]:
        if last or not self.counted:
            return self.bias.copy()
        return self.totals[[averages_kernel.INTERCEPT_SUM_FIELD]] / self.counted

    def load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        self.cells[:], self.bias[0] = coefficients[0], intercepts[0]
        self.sums[:], self.totals[:] = 0.0, 0.0
