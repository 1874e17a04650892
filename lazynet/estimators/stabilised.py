"""Stabilised truncated SGD as an estimator: sparse models that choose the same features again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, columns_with_values
from lazynet.data.targets import Problem
from lazynet.data.weights import CLASS_WEIGHT
from lazynet.engines.base import LOWER_ETA0
from lazynet.engines.stabilised import (
    Data,
    Permutations,
    StabilisedEngine,
    StageRecord,
    Stages,
)
from lazynet.engines.threads import Workers
from lazynet.estimators.base import helpful
from lazynet.estimators.staged import StagedClassifier
from lazynet.losses import LOSS, LossLike
from lazynet.parameters import (
    EPOCHS,
    FLAG,
    THREADS,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    table,
)
from lazynet.schedules import (
    SCHEDULE,
    Pegasos,
    ScheduleLike,
    check_scale,
    known_schedule,
    needs_scale,
)
from lazynet.training.make_plan import suitable_rate
from lazynet.training.random_state import SEED, new_generator

_GRAVITIES = ("universal", "informative")
# With a bounded slope no step can diverge, and short steps leave the margins small for long.
_LONG_STEPS = 8.0


class StabilisedSGDClassifier(StagedClassifier):
    """Linear classification by SGD that keeps the features which survive truncation every time.

    Ma & Zheng's stabilised truncated SGD (2017): several paths of SGD visit the rows in
    permutations of their own.  After every burst of steps, gravity pulls the weights towards zero,
    far enough to set a given share of the weights to zero; after a stage of bursts, features that
    survived too few of the bursts informing them are purged for good.  The model is the mean of the
    paths.  A burst costs the nonzeros of its rows, for any number of features.  Several classes
    are trained one against the rest.

    The algorithm is reconstructed from the text of the paper.  One default is not the paper's: the
    truncation is that of its Algorithm 1, see ``gravity``.  The program that its authors
    released computes another algorithm, :class:`ReleasedStabilisedSGDClassifier`.  The parameters
    of the program belong to the program's algorithm: with them this estimator may purge every
    feature, so its defaults differ.  The page of ``python -m paper_repro stability`` compares both
    algorithms.  A higher ``rejection_rate`` gives sparser models.

    Parameters
    ----------
    loss : str or object, default="hinge"
        Any loss of :class:`LazyNetClassifier`; the paper has "hinge" and "log_loss".
    n_paths : int, default=4
        Number of paths (M).
    max_iter : int, default=20
        Epochs of every path; the end of the last epoch cuts the last stage short.
    burst_size : int, default=1000
        Steps of a burst in the first stage (K0).  In later stages a burst has
        ``ceil(burst_size * log(p / (theta * d)))`` steps, where d of p features are left.
    bursts_per_stage : int, default=5
        Bursts of every path between two judgements (n_K).
    rejection_rate : float, default=0.3
        Share of the informed weights that a truncation sets to zero while all features are left
        (beta0), less than 1.
    annealing : float, default=-9.0
        How the rejected share falls as features are purged (gamma), from -20 to 20: at 0 in
        proportion to the share of features left, below 0 later, above 0 sooner.
    stability : float, default=0.7
        Share of the bursts informing it that a feature must survive to be kept (pi0).
    theta : float, default=0.5
        Between 0 and 1: a smaller theta makes later bursts longer, see ``burst_size``.
    min_informed : int, default=1
        Bursts that must have informed a feature before it is judged (nu); until then the counts of
        the feature are carried over to the next stage.
    gravity : {"universal", "informative"}, default="universal"
        Truncate all weights by the same amount (Algorithm 1), or each weight by how often it was
        informed in the burst (Algorithm 2, which the paper's Algorithms 3 and 4 use).  With
        "informative" the reconstruction truncates frequent features first and predicts badly unless
        ``rejection_rate`` is small; the page of ``python -m paper_repro stability`` has figures.
    schedule : str, object, array, or callable, default="inverse_sqrt"
        The rate of step t, as in :class:`LazyNetClassifier`.
    eta0 : float or None, default=None
        Scale of the rate of a schedule that is named by a string.  None: 8 / (c * |x|^2), c the
        largest curvature of the loss (1 where the loss has kinks) and |x|^2 the median squared norm
        of the rows, with the intercept's 1.  Where the slope of the loss is unbounded, None means
        1 / (c * max s|x|^2), with the importance s of the row.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is neither truncated nor purged.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
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
        The mean of the paths' weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The mean of the paths' intercepts.
    support_ : ndarray of bool, of the shape of ``coef_``
        Where ``coef_`` is not zero.
    stable_ : ndarray of bool, of the shape of ``coef_``
        Features that occur and were never purged.
    selection_frequency_ : ndarray, of the shape of ``coef_``
        When a feature was last judged, the share of the bursts informing it that it had survived;
        NaN for a feature that was never judged.
    trace_ : list of dict
        Per stage: ``problem`` (row of ``coef_``), ``stage``, ``steps`` of each path so far,
        ``rejection_rate``, ``realised_rate``, ``gravity`` (None in the first stage, where each
        burst has its own gravity), ``burst_size``, ``n_stable``, and ``purged``, the features that
        the stage purged.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    eta0_ : float
        The scale of the rate that was used, where ``schedule`` is a name that takes one.
    n_iter_ : int
        Epochs of every path, rounded up: fewer than ``max_iter`` if everything was purged.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import StabilisedSGDClassifier
    >>> X = sparse.random(2000, 500, density=0.05, format="csr", random_state=0)
    >>> y = np.asarray(X[:, :5].sum(axis=1) - X[:, 5:10].sum(axis=1)).ravel() > 0
    >>> model = StabilisedSGDClassifier(rejection_rate=0.8, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_[0])
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    """

    _kinds = table(
        loss=LOSS,
        # Every path has weights of its own.
        n_paths=Integer(least=1, most=2**20),
        max_iter=EPOCHS,
        **{name: kind for name, kind in Stages._kinds.items() if name != "universal"},
        gravity=Choice(accepted=_GRAVITIES),
        schedule=SCHEDULE,
        eta0=Number(above=0, optional=True),
        fit_intercept=FLAG,
        random_state=SEED,
        class_weight=CLASS_WEIGHT,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )

    _advice = LOWER_ETA0

    @helpful
    def __init__(
        self,
        loss: LossLike = "hinge",
        *,
        n_paths: int = 4,
        max_iter: int = 20,
        burst_size: int = 1000,
        bursts_per_stage: int = 5,
        rejection_rate: float = 0.3,
        annealing: float = -9.0,
        stability: float = 0.7,
        theta: float = 0.5,
        min_informed: int = 1,
        gravity: str = "universal",
        schedule: ScheduleLike = "inverse_sqrt",
        eta0: float | None = None,
        fit_intercept: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _settle(self) -> SimpleNamespace:
        p = super()._settle()
        check_scale(self.schedule, p.eta0)
        if isinstance(p.schedule, Pegasos) and p.schedule.l2 is None:
            raise ValueError(
                "schedule='pegasos' is 1/(l2 (2+t)), and there is no l2 here; "
                "use 'inverse_sqrt' or 'inverse_time' with eta0"
            )
        return p

    def _scale_of_rates(
        self, p: SimpleNamespace, X: sparse.csr_matrix, weights: NDArray[np.float64] | None
    ) -> float:
        """The given eta0, or a scale that suits a row of median length."""
        if p.eta0 is not None:
            return float(p.eta0)
        if not needs_scale(p.schedule):
            return 1.0  # the schedule has a scale of its own
        loss = p.loss
        if loss.unbounded_slope:
            norm = as_examples(X, None, weights).largest_squared_norm(float(p.fit_intercept))
        else:
            norms = as_examples(X).squared_norms()
            norms = norms[norms > 0] + float(p.fit_intercept)
            norm = float(np.median(norms)) / _LONG_STEPS if len(norms) else 0.0
        return suitable_rate(norm, loss)

    def _new_engines(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: list[Problem],
        eta0: float,
        random_state: Any,
    ) -> Iterator[StabilisedEngine]:
        """An engine for every problem, with paths of its own; made when the one before is done."""
        schedule = known_schedule(p.schedule, eta0, 0.0)
        occurs = np.zeros(X.shape[1], dtype=bool)
        occurs[columns_with_values(X)] = True
        seeds = np.random.SeedSequence(int(new_generator(random_state).randint(2**31)))
        for row, problem in enumerate(problems):
            yield StabilisedEngine(
                Data(as_examples(X, *problem), p.loss, p.fit_intercept),
                _stages(p),
                schedule,
                [
                    Permutations(X.shape[0], np.random.default_rng(seed))
                    for seed in seeds.spawn(p.n_paths)
                ],
                occurs,
                row,
            )

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
    ) -> list[int]:
        """Train from zero weights; returns the number of stable features in each problem."""
        eta0 = self._scale_of_rates(p, X, weights)
        problems = list(self._problems(X, y, weights))
        engines = self._new_engines(p, X, problems, eta0, p.random_state)
        n_stable = self._run_stages(p, X, engines, len(problems))
        self.eta0_ = eta0
        return n_stable

    def _visits(self, p: SimpleNamespace) -> float:
        return 0.5  # the twin visits the nonzeros, and the weights of every step are kept

    def _maker_of_engines(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problem: Problem, seed: int
    ) -> Callable[[sparse.csr_matrix], StabilisedEngine]:
        eta0 = self._scale_of_rates(p, X, problem[1])
        return lambda rows: next(self._new_engines(p, rows, [problem], eta0, seed))

    def _take_stage(
        self, engine: StabilisedEngine, workers: Workers, n_steps: int
    ) -> StageRecord | None:
        """Run a stage and return its record, or None if the run is over."""
        if engine.t >= n_steps or not engine.n_stable:
            return None
        return engine.take_stage(workers, n_steps_left=n_steps - engine.t)


def _stages(p: SimpleNamespace) -> Stages:
    given = {name: getattr(p, name) for name in Stages._kinds if name != "universal"}
    return Stages(**given, universal=p.gravity == "universal")
