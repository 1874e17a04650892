"""DualNetClassifierCV and DualNetRegressorCV: the penalty is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lazynet.data.weights import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.base import SparseClassifier, SparseRegressor, helpful
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.penalty_search import ChosenNet, RowsInFolds
from lazynet.losses import LossLike
from lazynet.parameters import table
from lazynet.training.folds import folds_of


class DualNetClassifierCV(SparseClassifier, ChosenNet):
    """Linear classification at the minimum of the elastic net, its penalty chosen by folds.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``, as :class:`DualNetClassifier` does,
    along a path of penalties (see :func:`net_path`) in every fold of a cross-validation.  Takes the
    penalty with the least loss on held-out rows, or the sparsest model within one standard error of
    it, and minimises once more with all rows.  Several classes are trained one against the rest,
    all with the penalty that has the least mean loss over the classes.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`DualNetClassifier`.
    l1_ratios : sequence of float, default=(1.0,)
        The ratios to try, from 0 (excluded) to 1, with ``l2 = l1 * (1 - l1_ratio) / l1_ratio``: in
        the words of other libraries ``l1 = alpha * l1_ratio`` and ``l2 = alpha * (1 - l1_ratio)``.
    l1s, l2s : float or array, optional
        The penalties to try, in place of a grid of l1, and in place of ``l1_ratios``; see
        :func:`net_path`.  ``l1s=0.0, l2s=[...]`` chooses a ridge penalty.
    n_points : int, default=50
        The number of points of a path.
    smallest : float, default=1e-2
        The last l1 of a path as a share of the first, which is the least at which every weight is 0
        if all rows are learned from.
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling, as scikit-learn
        does it), a splitter of scikit-learn, or pairs of rows to learn from and rows to hold out.
        None is 5.
    scoring : str, callable or None, default=None
        None chooses by the mean loss of held-out rows, the one that is minimised.  A name or a
        scorer of scikit-learn chooses by the greatest score.
    one_standard_error : bool, default=False
        Take the sparsest model within one standard error of the best: of every ratio the largest
        penalty whose mean is that good, and of those the one with the fewest nonzeros.
    tol : float, default=1e-4
        The duality gap to arrive at, at every point, as a share of the objective at zero weights;
        what rounding alone makes of the gap there is always small enough.
    max_iter : int, default=1000
        The most epochs that a point may take.  A search gives up before, with the same warning,
        where its gap has not fallen by a tenth in 200 epochs.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        The importance of a row by its class; counts in the loss of held-out rows too, but not in
        the scores of a ``scoring``.
    random_state : int, RandomState or None, default=None
        Seed of the order in which rows are visited; the folds have a seed of their own in ``cv``.
        With None, two fits may differ, within ``tol``.
    n_jobs : int or None, default=None
        Threads that share folds and ratios, and the classes of the last fit; None is one thread, -1
        one per processor.
        Every thread has a copy of the rows of its fold.  The model is the same for any number of
        threads.
    verbose : int, default=0
        1: print a line for every path.

    Attributes
    ----------
    l1_, l2_, l1_ratio_ : float
        The penalty that was chosen.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; exactly 0 where the minimum is 0.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    l1s_, l2s_ : ndarray of shape (n_ratios, n_points)
        The penalties that were tried.
    losses_ : ndarray of shape (n_ratios, n_points, n_folds)
        The mean loss of the held-out rows; over several classes the mean.
    scores_ : ndarray of shape (n_ratios, n_points, n_folds), or None
        What ``scoring`` says of the held-out rows.
    means_, standard_errors_ : ndarray of shape (n_ratios, n_points)
        The means of ``losses_``, or with a ``scoring`` of ``scores_``, over the folds, and their
        standard errors; a fold counts by the weight of its held-out rows.
    nonzeros_ : ndarray of shape (n_ratios, n_points, n_folds)
        The number of weights that are not 0, of all classes together.
    best_index_, one_standard_error_index_ : tuple of two int
        Ratio and point of the best mean, and of the one-standard-error rule.
    objective_, dual_objective_, duality_gap_ : float, or ndarray of shape (n_classes,)
        The objective at ``coef_``, a lower bound on the least objective, and the gap between them.
    n_iter_ : int
        Epochs of the last fit, along the path down to the chosen point; the most of any class.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import DualNetClassifierCV
    >>> X = sparse.random(1000, 200, density=0.1, format="csr", random_state=0)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.2, 1000)
    >>> y = np.asarray(X[:, :3].sum(axis=1)).ravel() + noise > 0.2
    >>> model = DualNetClassifierCV(n_points=20, one_standard_error=True, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]), model.losses_.shape
    (array([0, 1, 2]), (1, 20, 5))
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    >>> len(model.plot().axes)  # loss and nonzeros against the penalty
    2
    """

    _kinds = table(**ChosenNet._kinds, class_weight=CLASS_WEIGHT)

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1_ratios: Sequence[float] = (1.0,),
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = 50,
        smallest: float = 1e-2,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        one_standard_error: bool = False,
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the penalty and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.data``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row, where it is learned from and where it is held out: a weight
            of 2 is two rows, if they are in the same fold.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.
        """
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[Warning]:
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        own = check_sample_weight(sample_weight, X)
        weights = importances(p.class_weight, classes, X, y, own)
        problems = list(self._problems(X, (y, classes), weights))
        self.classes_ = classes
        folds = folds_of(p.cv, y, groups, problems, classes)
        return self._fit(p, RowsInFolds(X, y, problems, own, classes, folds))


class DualNetRegressorCV(SparseRegressor, ChosenNet):
    """Linear regression at the minimum of the elastic net, its penalty chosen by folds.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``, as :class:`DualNetRegressor` does.  The
    parameters and attributes are the same as in :class:`DualNetClassifierCV`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`DualNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds is that many parts of the rows as they stand, without shuffling.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights; exactly 0 where the minimum is 0.
    intercept_ : ndarray of shape (1,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import DualNetRegressorCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((200, 20))
    >>> y = X @ np.r_[3.0, -2.0, np.zeros(18)] + generator.standard_normal(200)
    >>> model = DualNetRegressorCV(l1_ratios=[0.5, 1.0], one_standard_error=True).fit(X, y)
    >>> model.l1_ratio_, np.flatnonzero(model.coef_)
    (1.0, array([0, 1]))
    >>> model.predict(X).shape, len(model.plot().axes)
    ((200,), 2)
    """

    _kinds = ChosenNet._kinds

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1_ratios: Sequence[float] = (1.0,),
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = 50,
        smallest: float = 1e-2,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        one_standard_error: bool = False,
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the penalty and train; see :meth:`DualNetClassifierCV.fit`."""
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[Warning]:
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        problems = list(self._problems(X, y, weights))
        folds = folds_of(p.cv, y, groups, problems, None)
        return self._fit(p, RowsInFolds(X, y, problems, weights, None, folds))
