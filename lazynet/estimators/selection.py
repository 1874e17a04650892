"""Which features an algorithm chooses, and whether it chooses them again from other orders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length

from lazynet.parameters import Integer, Threads, kinds_of, settle
from lazynet.training.settings import Seed, new_generator

# More runs would make too many pairs: every pair of runs is compared.
_LARGEST_N_RUNS = 2**20


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
    """Cohen's kappa of every pair of runs; also 1 where both runs chose nothing, or everything."""
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
        Anything with ``coef_`` and a ``random_state`` that decides the order of the rows; not
        changed.  A feature is chosen if its weight is not zero in any class; where the model is an
        average, in the weights after the last step (``support_``).
    X, y : arrays
        Training rows and their targets.
    X_test, y_test : arrays, optional
        Test rows and their targets.
    n_runs : int, default=50
        The number of runs, each with a seed of its own.
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
    p = settle(kinds_of(selection_stability), locals())
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together: give both or neither")
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
    # ``support_`` of this package belongs to the weights after the last step, which stay sparse
    # where an average is dense; in other libraries the name means something else.
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
