"""Stabilised truncated SGD as its authors released it, as an estimator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import OutputTargets
from lazynet.engines.released import SCALE_ROWS, Draws, ReleasedEngine
from lazynet.engines.stabilised import Bursts
from lazynet.estimators.stabilised import StagedClassifier
from lazynet.losses import Loss, get_loss
from lazynet.parameters import Integer, Kind, table


def _check_loss(name: str, value: Any) -> Loss:
    loss = get_loss(value, name)
    if loss.name not in ("hinge", "log_loss"):
        raise ValueError(f"{name} must be one of ['hinge', 'log_loss'], got {value!r}")
    return loss


class ReleasedStabilisedSGDClassifier(StagedClassifier):
    """Linear classification by stabilised truncated SGD, as the program of its authors computes it.

    The program that Ma & Zheng released with their paper (2017) is another algorithm than the one
    that the paper describes (:class:`StabilisedSGDClassifier`).  Paths of SGD draw rows with
    replacement, at the rate 1 / sqrt(t + 1).  A burst has a number of updates: with the hinge loss,
    rows within the margin.  After every update the program rejects the weights that are not larger
    than a quantile of the sizes of all weights: it counts them and does not change them.  After
    every burst it truncates the weights by this quantile and divides them by their norm.  After a
    stage of bursts, features that were rejected too often are purged for good.
    :mod:`lazynet.reference.released` has the program step by step, and ``docs/errata.md`` lists
    where it differs from the paper.

    An update costs the nonzeros of its row and of the path's weights: this algorithm is not lazy.
    The defaults are those of the authors' example, made for 300 rows of 7,751 features.  The
    parameters and attributes are the same as in :class:`StabilisedSGDClassifier`, without
    ``gravity`` and ``eta0``, and with these differences.

    Parameters
    ----------
    loss : {"hinge", "log_loss"}, default="hinge"
        With "log_loss" every row is an update.  (The authors' program for this loss cannot run;
        this is their program for the hinge loss with another slope.)
    max_iter : int, default=20
        Every path draws at least ``max_iter`` times as many rows as there are; the last stage runs
        to its end.
    burst_size, bursts_per_stage : int, default=20 and 5
        Updates, not steps, of a burst; and bursts of a stage, up to 2^20.
    rejection_rate : float, default=0.8
        The share of all features, those with weight 0 among them, whose weights are below the
        quantile while all features are left, less than 1.
    stability : float, default=0.85
        A feature is purged if it was rejected after ``1 - stability`` or more of the updates of a
        stage.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,), or n_classes rows
        The mean of the paths' weights, which the program does not compute; zeros.
    coef_of_paths_ : ndarray of shape (1, n_paths, n_features) or (n_classes, ...)
        For every row of ``coef_``, the weights of each path.
    selection_frequency_ : ndarray, of the shape of ``coef_``
        When a feature was last judged, 1 less its rejections, divided by the updates of a full
        stage; NaN for a feature that was never judged.  Rejections add up until a stage purges
        something: the number can be below 0.
    trace_ : list of dict
        Per stage as in :class:`StabilisedSGDClassifier`, and ``went_back``: whether the stage
        purged nothing and the weights went back to what they were after the last purge, as in the
        program.  The last stage is not judged.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import ReleasedStabilisedSGDClassifier
    >>> X = sparse.random(2000, 500, density=0.05, format="csr", random_state=0)
    >>> y = np.asarray(X[:, :5].sum(axis=1) - X[:, 5:10].sum(axis=1)).ravel() > 0
    >>> model = ReleasedStabilisedSGDClassifier(burst_size=500, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_[0])  # five of the ten that decide, and no other
    array([0, 1, 3, 4, 8])
    >>> model.coef_of_paths_.shape
    (1, 4, 500)
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    """

    _kinds = table(
        loss=Kind(_check_loss),
        **StagedClassifier._kinds,
        # A stage runs to its end, however many bursts it has.
        **{**Bursts.of_estimators(), "bursts_per_stage": Integer(least=1, most=2**20)},
    )
    _advice = SCALE_ROWS

    def __init__(
        self,
        loss: str = "hinge",
        *,
        n_paths: int = 4,
        max_iter: int = 20,
        burst_size: int = 20,
        bursts_per_stage: int = 5,
        rejection_rate: float = 0.8,
        annealing: float = -9.0,
        stability: float = 0.85,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    def _new_engine(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problem: OutputTargets,
        generators: list[np.random.Generator],
        row: int,
    ) -> ReleasedEngine:
        draws = [Draws(X.shape[0], p.max_iter, generator) for generator in generators]
        bursts = Bursts(**Bursts.values_of(p))
        return ReleasedEngine(as_examples(X, *problem), X, p.loss, bursts, draws, row)

    def _results_of(self, engine: ReleasedEngine) -> dict[str, NDArray[Any]]:
        return {**super()._results_of(engine), "coef_of_paths_": engine.weights_of_paths()}
