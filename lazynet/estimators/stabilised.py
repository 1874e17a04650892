"""Stable selections of features: stabilised truncated SGD, and the stability of any selection."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import as_examples
from lazynet.data.products import own_rows
from lazynet.data.targets import CheckedRows
from lazynet.engines.base import LOWER_ETA0, refuse_overflow
from lazynet.engines.stabilised import (
    Annealing,
    BurstSize,
    Gravity,
    RejectionRate,
    StabilisedEngine,
    Stability,
    Stages,
)
from lazynet.engines.threads import Workers
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.losses import AnyLoss
from lazynet.parameters import (
    Integer,
    Positive,
    PositiveInt,
    Threads,
    check_n_steps,
    kinds_of,
    refuse_masked,
    settle,
)
from lazynet.schedules import InverseSqrt
from lazynet.training.automatic import rate_without_overshoot
from lazynet.training.settings import Seed, new_generator

# With a bounded slope no step can diverge, and with short steps the margins grow slowly.
_LONG_STEPS = 8.0
# More runs would make too many pairs: every pair of runs is compared.
_LARGEST_N_RUNS = 2**20


@dataclass(repr=False, eq=False)
class StabilisedSGDClassifier(LinearClassifier):
    """Linear classification by SGD that removes the features which truncation often sets to zero.

    Ma & Zheng's stabilised truncated SGD (2017): each of several paths of SGD visits the rows in
    its own permutations.  After every burst of steps, gravity pulls the weights towards zero, far
    enough to set a given share of the weights to zero.  After a stage of bursts, a feature is
    purged for good if its weight was set to zero in too many of the bursts that visited it.  The
    model is the mean of the paths.  A burst costs the nonzeros of its rows, for any number of
    features.  Several classes are trained one against the rest.  The rate of step t is
    ``eta0 / sqrt(t + 1)``.

    The algorithm is reconstructed from the text of the paper, with its Theta = 0.5 and nu = 1; the
    page of ``python -m paper_repro stability`` compares it with the released program.

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
        ``ceil(burst_size * log(2 p / d))`` steps, if d of p features are left.
    bursts_per_stage : int, default=5
        Bursts of every path between two purges (n_K).
    rejection_rate : float, default=0.3
        Share of the informed weights that a truncation sets to zero while all features are left
        (beta0), less than 1.  A higher rate gives sparser models.
    annealing : float, default=-9.0
        How the rejected share falls as features are purged (gamma), from -20 to 20: at 0 in
        proportion to the share of features left, below 0 later, above 0 sooner.
    stability : float, default=0.7
        A feature is purged if its weight stays nonzero in less than this share of the bursts that
        visit the feature (pi0).
    gravity : {"universal", "informative"}, default="universal"
        Truncate all weights by the same amount (Algorithm 1), or each weight by how often it was
        informed in the burst (Algorithm 2, which the paper's Algorithms 3 and 4 use).  With
        "informative", frequent features are truncated first: use a small ``rejection_rate``.
    eta0 : float or None, default=None
        Scale of the rates.  None: computed from the lengths of the rows and the loss.
    random_state, n_jobs
        The seed of the permutations, and the threads that share the paths; see
        :class:`LazyNetClassifier`.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,), or n_classes rows
        The means of the paths' weights and intercepts.
    classes_, support_, stable_ : ndarray
        The labels, sorted; whether each weight is not zero; the features that were never purged.
    selection_frequency_ : ndarray, of the shape of ``coef_``
        The share of the bursts that visited a feature and in which its weight stayed nonzero, at
        the last decision about the feature; NaN for a feature without a decision.
    trace_ : list of dict
        Per stage: ``output`` (row of ``coef_``), ``stage``, ``steps`` of each path so far,
        ``rejection_rate``, ``realised_rate``, ``gravity`` (None in the first stage, whose bursts
        have different gravities), ``burst_size``, ``n_stable``, and ``purged``, the features that
        the stage purged.
    eta0_, n_iter_ : float, int
        The scale of the rates, and the epochs of every path, rounded up.

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

    loss: AnyLoss = "hinge"
    _: KW_ONLY
    # Every path has its own weights.
    n_paths: Annotated[int, Integer(least=1, most=2**20)] = 4
    max_iter: PositiveInt = 20
    burst_size: BurstSize = 1000
    bursts_per_stage: PositiveInt = 5
    rejection_rate: RejectionRate = 0.3
    annealing: Annealing = -9.0
    stability: Stability = 0.7
    gravity: Gravity = "universal"
    eta0: Positive | None = None
    random_state: Seed | None = None
    n_jobs: Threads | None = None

    def _train(self, p: SimpleNamespace, rows: CheckedRows, *more: Any) -> list[Warning]:
        X, outputs = rows.X, rows.targets
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0])
        eta0 = _scale_of_rates(p, X, outputs[0][1]) if p.eta0 is None else p.eta0
        stages = Stages(**{name: getattr(p, name) for name in kinds_of(Stages)})
        occurs = np.zeros(X.shape[1], dtype=bool)
        occurs[own_rows(X).indices[X.data != 0.0]] = True
        seeds = np.random.SeedSequence(new_generator(p.random_state).randint(2**31))
        trace: list[dict[str, Any]] = []
        # The list holds results, not engines, because the paths of an engine need more memory.
        models, steps = [], []
        with Workers(min(effective_n_jobs(p.n_jobs), p.n_paths)) as workers:
            for row, output in enumerate(outputs):
                engine = StabilisedEngine(
                    as_examples(X, *output),
                    p.loss,
                    stages,
                    InverseSqrt(eta0),
                    [np.random.default_rng(seed) for seed in seeds.spawn(p.n_paths)],
                    occurs,
                )
                while engine.t < n_steps and engine.n_stable:
                    trace.append({"output": row, **engine.take_stage(workers, n_steps)})
                models.append((engine.weights(), engine.intercept, engine.stable, engine.frequency))
                steps.append(engine.t)
        weights, intercepts, stable, frequencies = map(np.stack, zip(*models, strict=True))
        refuse_overflow(max(steps), LOWER_ETA0, weights, intercepts)
        self._load(weights, intercepts)
        self.stable_, self.selection_frequency_ = stable, frequencies
        self.trace_, self.eta0_ = trace, eta0
        self.n_iter_ = max(1, math.ceil(max(steps) / X.shape[0]))
        if not occurs.any():
            text = "no feature occurs: X has no values but zeros, and the model is zero"
            return [ConvergenceWarning(text)]
        return _warnings_of_purged(p, stable)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Whether each weight is not zero, of the shape of ``coef_``."""
        check_is_fitted(self)
        return self._dense_weights() != 0.0


def _warnings_of_purged(p: SimpleNamespace, stable: NDArray[np.bool_]) -> list[Warning]:
    """A warning if a class has no stable features."""
    n_purged = int(np.count_nonzero(~stable.any(axis=1)))
    if not n_purged:
        return []
    which = "all features" if len(stable) == 1 else f"all features of {n_purged} classes"
    text = (
        f"{which} were purged: only the intercept predicts. Lower stability (now {p.stability:g}) "
        f"or rejection_rate (now {p.rejection_rate:g}), or raise burst_size (now {p.burst_size}); "
        f"trace_ says what each stage purged"
    )
    return [ConvergenceWarning(text)]


def _scale_of_rates(
    p: SimpleNamespace, X: sparse.csr_matrix, importances: NDArray[np.float64] | None
) -> float:
    """The default scale of the rates.

    If the slope of the loss is unbounded, it is 1 / (c * max s|x|^2), s the importance of a row and
    c the largest curvature of the loss.  Else it is 8 / (c * |x|^2), |x|^2 the median squared norm
    of the rows with the intercept's 1, and c = 1 for a loss with kinks.
    """
    if p.loss.unbounded_slope:
        sizes = as_examples(X).squared_norms() + 1.0
        norm = float((sizes if importances is None else sizes * importances).max(initial=0.0))
    else:
        norms = as_examples(X).squared_norms()
        norms = norms[norms > 0] + 1.0
        norm = float(np.median(norms)) / _LONG_STEPS if len(norms) else 0.0
    return rate_without_overshoot(norm, p.loss)


@dataclass(frozen=True)
class SelectionReport:
    """The test errors and the chosen features of many runs; ``selection_stability`` returns one.

    >>> report = SelectionReport(
    ...     errors=np.array([0.1, 0.3]), nonzeros=np.array([1, 2]), kappas=np.array([0.5]),
    ...     frequency=np.array([1.0, 0.5, 0.0, 0.0]))
    >>> print(report)
    2 runs: test error 0.2 (sd 0.141), 1.5 nonzeros (sd 0.707), kappa 0.5 (sd 0)
    """

    errors: NDArray[np.float64]
    """Per run the share of misclassified rows, or the mean squared error; empty without a test."""
    nonzeros: NDArray[np.int64]
    """The number of features with a nonzero weight in any class, per run."""
    kappas: NDArray[np.float64]
    """Cohen's kappa of every pair of runs; also 1 if both runs chose nothing, or everything."""
    frequency: NDArray[np.float64]
    """The share of runs that chose each feature."""
    row_losses: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Per test row the share of runs that misclassify it, or its mean squared error over the runs;
    empty without a test."""

    def __str__(self) -> str:
        """The means and standard deviations over the runs, in one line."""
        parts = [("test error {}", self.errors), ("{} nonzeros", self.nonzeros)]
        parts.append(("kappa {}", self.kappas))
        pieces = [
            f"{text.format(_short(values.mean()))} (sd {_short(_spread(values))})"
            for text, values in parts
            if len(values)
        ]
        return f"{len(self.nonzeros)} runs: {', '.join(pieces)}"


def _spread(values: NDArray[Any]) -> float:
    # Equal values have the spread 0, although the rounding of their mean could give another.
    return float(values.std(ddof=1)) if np.ptp(values) > 0 else 0.0


def _short(number: float) -> str:
    """Three significant figures; large numbers are whole and have no exponent."""
    return f"{number:,.0f}" if abs(number) >= 999.5 else f"{number:.3g}"


def pairwise_kappa(selected: sparse.csr_matrix) -> NDArray[np.float64]:
    """Cohen's kappa of every pair of rows; each row is a selection of the columns.

    >>> pairwise_kappa(sparse.csr_matrix([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]]))
    array([0., 1., 0.])
    """
    # Products of the sizes of selections need 64 bits.
    selected = sparse.csr_matrix(selected, dtype=np.int64)
    p = selected.shape[1]
    left, right = np.triu_indices(selected.shape[0], 1)
    both = (selected @ selected.T).toarray()
    sizes = both.diagonal()
    common, a, b = both[left, right], sizes[left], sizes[right]
    # Computed in integers, so that equal selections have the kappa 1 exactly.
    agreed = p + 2 * common - a - b
    by_chance = a * b + (p - a) * (p - b)
    room = p * p - by_chance
    return np.where(room == 0, 1.0, (p * agreed - by_chance) / np.where(room == 0, 1, room))


def selection_stability(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    n_runs: Annotated[int, Integer(least=1, most=_LARGEST_N_RUNS)] = 50,
    random_state: Seed | None = 0,
    n_jobs: Threads | None = None,
) -> SelectionReport:
    """Train ``estimator`` under many seeds and compare the features that it chooses.

    Parameters
    ----------
    estimator : estimator or Pipeline
        An estimator with ``coef_`` and a ``random_state`` for the order of the rows; it does not
        change.  A feature is chosen if its weight is not zero in some class; for a model that is an
        average, in the weights after the last step (``support_``).
    X, y : arrays
        Training rows and their targets.
    X_test, y_test : arrays, optional
        Test rows and their targets.
    n_runs : int, default=50
        The number of runs, each with another seed.
    random_state : int, RandomState or None, default=0
        The source of the seeds.
    n_jobs : int or None, default=None
        Threads that share the runs (kernels release the GIL): None is one, -1 one per processor.

    Examples
    --------
    >>> from lazynet import FoBoS, LazyNetClassifier
    >>> X = sparse.random(300, 50, density=0.2, format="csr", random_state=0)
    >>> y = np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.5
    >>> model = LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=1.0), max_iter=20, tol=None)
    >>> report = selection_stability(model, X[:200], y[:200], X[200:], y[200:], n_runs=5)
    >>> len(report.errors), len(report.kappas), report.frequency[:5].tolist()
    (5, 10, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    p = settle(selection_stability, locals())
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together: give both or neither")
    refuse_masked("y_test", y_test)
    names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    if not names:
        raise ValueError(
            f"estimator must have a random_state to vary, and {type(estimator).__name__} has none"
        )

    def run(seed: int) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
        model = clone(estimator).set_params(**dict.fromkeys(names, seed)).fit(X, y)
        losses = np.empty(0) if X_test is None else _losses(model, X_test, y_test)
        return _chosen(model[-1] if isinstance(model, Pipeline) else model), losses

    seeds = new_generator(p.random_state).randint(2**31, size=p.n_runs).tolist()
    # No more threads than runs: joblib would start them all.
    n_threads = p.n_jobs if p.n_jobs is None or p.n_jobs < 0 else min(p.n_jobs, p.n_runs)
    runs = Parallel(n_jobs=n_threads, prefer="threads")(delayed(run)(seed) for seed in seeds)
    chosen, losses = zip(*runs, strict=True)
    selected = sparse.vstack(chosen, format="csr")
    return SelectionReport(
        errors=np.array([of_run.mean() for of_run in losses if len(of_run)]),
        nonzeros=np.diff(selected.indptr).astype(np.int64),
        kappas=pairwise_kappa(selected),
        frequency=np.bincount(selected.indices, minlength=selected.shape[1]) / p.n_runs,
        row_losses=np.mean(losses, axis=0),
    )


def _chosen(model: Any) -> sparse.csr_matrix:
    """The features that have a weight in any class, as a row."""
    if not hasattr(model, "coef_"):
        raise TypeError(f"estimator must have a coef_ once fitted; {type(model).__name__} has none")
    weights = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    chosen = np.atleast_2d(weights) != 0.0
    # In this package ``support_`` belongs to the weights after the last step, which are sparse even
    # if their average is dense; in other libraries the name means something else.
    if np.shape(getattr(model, "support_", ())) == chosen.shape:
        chosen = np.asarray(model.support_, dtype=bool)
    return sparse.csr_matrix(chosen.any(axis=0))


def _losses(model: Any, X: Any, y: Any) -> NDArray[np.float64]:
    """Per row whether it is misclassified, in any of its labels, or its mean squared error."""
    predicted = model.predict(X)
    check_consistent_length(y, predicted)
    pair = (
        array.toarray() if sparse.issparse(array) else np.asarray(array) for array in (y, predicted)
    )
    truth, predicted = (array.reshape(len(array), -1) for array in pair)
    if is_classifier(model):
        return (truth != predicted).any(axis=1).astype(np.float64)
    return np.square(np.subtract(truth, predicted, dtype=np.float64)).mean(axis=1)
