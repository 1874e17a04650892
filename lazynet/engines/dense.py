"""The dense engine, which visits every weight at every step, to compare lazy engines with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import ALL, Engine, Wear
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
    _others = ("current", "bias", "sums", "totals")

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
        self.current = np.zeros(n_features)
        self.bias = np.zeros(1)
        #: scratch memory: a row spread out over all features
        self.spread = np.zeros(n_features if predictions else 0)
        self.sums = np.zeros(n_features if average else 0)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS if average else 0)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return dense_kernel.run(
            examples,
            steps,
            task,
            self.current,
            self.bias,
            self.spread,
            self.sums,
            self.totals,
            self.vectorised,
            first,
        )

    def weights(
        self, which: Any = ALL, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        return _copied(self.current[which], out)

    def _sums(
        self, which: Any = ALL, out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        return _copied(self.sums[which], out)

    @property
    def intercept(self) -> float:
        return float(self.bias[0])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.current[:], self.bias[0] = weights, intercept
        self.sums[:], self.totals[:] = 0.0, 0.0


def _copied(numbers: NDArray[np.float64], out: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """A copy of the numbers, in ``out`` if given."""
    if out is None:
        return numbers.copy()
    np.copyto(out, numbers)
    return out
