"""Stabilised truncated SGD as its authors released it, as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.data.targets import Problem
from lazynet.data.weights import CLASS_WEIGHT
from lazynet.engines.released import SCALE_ROWS, Draws, ReleasedEngine, ReleasedRecord
from lazynet.engines.stabilised import Bursts
from lazynet.engines.threads import Workers
from lazynet.estimators.base import helpful
from lazynet.estimators.staged import StagedClassifier
from lazynet.losses import Loss, get_loss
from lazynet.parameters import EPOCHS, THREADS, VERBOSITY, Integer, Special, table
from lazynet.training.random_state import SEED, new_generator

_ACCEPTED = ("hinge", "log_loss")


def _check_loss(name: str, value: Any) -> Loss:
    loss = get_loss(value, name)
    if loss.name not in _ACCEPTED:
        raise ValueError(f"{name} must be one of {list(_ACCEPTED)}, got {value!r}")
    return loss


# A stage runs to its end, however many bursts it has.
_BURSTS = Integer(least=1, most=2**20)


class ReleasedStabilisedSGDClassifier(StagedClassifier):
    """Linear classification by stabilised truncated SGD, as the program of its authors computes it.

    The program that Ma & Zheng released with their paper (2017) is another algorithm than the one
    that the paper describes (:class:`StabilisedSGDClassifier`).  Several paths of SGD draw rows
    with replacement, at the rate 1 / sqrt(t + 1).  A burst has a number of updates: with the hinge
    loss, rows within the margin.  After every update the program rejects the weights that are not
    larger than a quantile of the sizes of all weights: it counts them and leaves them as they are.
    After every burst it truncates the weights by this quantile and divides them by their norm.
    After a stage of bursts, features that were rejected too often are purged for good.
    :mod:`lazynet.reference.released` has the program step by step, and ``docs/errata.md`` lists
    where it differs from the paper.

    An update costs the nonzeros of its row and of the path's weights: the quantile belongs to all
    weights, so that this algorithm is not lazy.  Several classes are trained one against the rest.
    The defaults are the parameters of the authors' example, which are made for 300 rows of 7,751
    features.

    Parameters
    ----------
    loss : {"hinge", "log_loss"}, default="hinge"
        With "log_loss" every row is an update.  (The authors' program for this loss cannot run;
        this is their program for the hinge loss with another slope.)
    n_paths : int, default=4
        Number of paths (n_chain in the program).
    max_iter : int, default=20
        Every path draws at least ``max_iter`` times as many rows as there are; the last stage runs
        to its end.
    burst_size : int, default=20
        Updates of a burst until features are purged (K_0).  In later stages a burst has
        ``ceil(burst_size * log(p / (theta * d)))`` updates, where d of p features are left.
    bursts_per_stage : int, default=5
        Bursts of every path between two judgements (nK), up to 2^20.
    rejection_rate : float, default=0.8
        The share of the features, those with weight 0 among them, whose weights are below the
        quantile while all features are left (beta_0), less than 1.
    annealing : float, default=-9.0
        How this share falls as features are purged (gamma), from -20 to 20: at 0 in proportion to
        the share of features left, below 0 later, above 0 sooner.
    stability : float, default=0.85
        A feature is purged if it was rejected after ``1 - stability`` or more of the updates of a
        stage (pi_0).
    theta : float, default=0.5
        Between 0 and 1: a smaller theta makes later bursts longer, see ``burst_size``.
    random_state : int, RandomState or None, default=None
        Seed of the draws.
    class_weight : dict, "balanced" or None, default=None
        The importance of an example by its class.
    n_jobs : int or None, default=None
        Threads that share the paths; None is one thread, -1 one per processor.  The model is the
        same for any number of threads.
    verbose : int, default=0
        1: a progress bar on a terminal if tqdm is installed.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The mean of the paths' weights.  (The program has no such mean: it reports the paths.)
    coef_of_paths_ : ndarray of shape (1, n_paths, n_features) or (n_classes, ...)
        For every row of ``coef_``, the weights of each path.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        0: the program has no intercept.
    support_ : ndarray of bool, of the shape of ``coef_``
        Where ``coef_`` is not zero.
    stable_ : ndarray of bool, of the shape of ``coef_``
        Features that occur and were never purged.
    selection_frequency_ : ndarray, of the shape of ``coef_``
        When a feature was last judged, 1 less its rejections, divided by the updates of a full
        stage; NaN for a feature that was never judged.  Rejections add up until a stage purges
        something: the number can be below 0.
    trace_ : list of dict
        Per stage: ``problem`` (row of ``coef_``), ``stage``, ``steps`` that every path has passed
        so far, ``rejection_rate``, ``burst_size``, ``n_stable``, ``purged``, the features that the
        stage purged, and ``went_back``: whether the stage purged nothing and the weights went back
        to what they were after the last purge, as in the program.  The last stage is not judged.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        Epochs that every path has passed, rounded up.

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
        loss=Special(check=_check_loss),
        # Every path has weights of its own.
        n_paths=Integer(least=1, most=2**20),
        max_iter=EPOCHS,
        **{**Bursts._kinds, "bursts_per_stage": _BURSTS},
        random_state=SEED,
        class_weight=CLASS_WEIGHT,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )

    _advice = SCALE_ROWS

    @helpful
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
        theta: float = 0.5,
        random_state: int | np.random.RandomState | None = None,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _new_engines(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: list[Problem],
        random_state: Any,
    ) -> Iterator[ReleasedEngine]:
        """An engine for every problem, with draws of its own; made when the one before is done."""
        bursts = Bursts(**{name: getattr(p, name) for name in Bursts._kinds})
        seeds = np.random.SeedSequence(int(new_generator(random_state).randint(2**31)))
        for row, problem in enumerate(problems):
            draws = [
                Draws(X.shape[0], p.max_iter, np.random.default_rng(seed))
                for seed in seeds.spawn(p.n_paths)
            ]
            yield ReleasedEngine(as_examples(X, *problem), X, p.loss, bursts, draws, row)

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
    ) -> list[int]:
        """Train from zero weights; returns the number of stable features in each problem."""
        problems = list(self._problems(X, y, weights))
        self._paths: list[NDArray[np.float64]] = []
        engines = self._new_engines(p, X, problems, p.random_state)
        counts = self._run_stages(p, X, engines, len(problems))
        self.coef_of_paths_ = np.stack(self._paths)
        del self._paths
        return counts

    def _visits(self, p: SimpleNamespace) -> float:
        return float(p.n_paths)  # the twin sorts the weights of a path after every update

    def _maker_of_engines(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problem: Problem, seed: int
    ) -> Callable[[sparse.csr_matrix], ReleasedEngine]:
        return lambda rows: next(self._new_engines(p, rows, [problem], seed))

    def _take_stage(
        self, engine: ReleasedEngine, workers: Workers, n_steps: int
    ) -> ReleasedRecord | None:
        """Run a stage and return its record, or None if the run is over."""
        return None if engine.over else engine.take_stage(workers)

    def _keep_result(self, engine: ReleasedEngine) -> None:
        self._paths.append(engine.weights_of_paths())
