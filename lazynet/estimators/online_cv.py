"""LazyNetClassifierCV and LazyNetRegressorCV: the penalty is chosen by cross-validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.data.weights import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.engines.catalogue import RuleLike
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.base import SparseClassifier, SparseRegressor, helpful
from lazynet.estimators.labels import has_a_column_per_label
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.online import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.setting_search import LAST_L1, N_L1S, ChosenSetting
from lazynet.losses import LossLike
from lazynet.parameters import table
from lazynet.schedules import ScheduleLike
from lazynet.training.defaults import AUTO, N_ITER_NO_CHANGE, TOL
from lazynet.training.folds import folds_of


class LazyNetClassifierCV(SparseClassifier, ChosenSetting):
    """Linear classification with an elastic net, its penalty chosen by cross-validation.

    Every combination of ``l1s`` and ``l2s`` is a setting of :class:`LazyNetClassifier`.  In each
    pass over the rows all settings of all folds learn side by side: a setting is a column of one
    matrix of weights per fold, and each row is a step for the folds that do not hold it out.  A
    column has the weights that a fit of this setting alone has, on the same rows in the same order
    (up to the digits of float32).  The matrices need memory: ``n_settings * n_folds * n_features``
    numbers, for "ftrl" and "adagrad" twice as many, and as often as there are classes.

    After every epoch the mean loss of the held-out rows judges the settings.  The setting and the
    number of epochs with the least mean over the folds are chosen; then ``LazyNetClassifier``, with
    ``l1=l1_``, ``l2=l2_``, ``max_iter=n_iter_`` and ``tol=None``, is fitted to all rows.  Several
    classes are trained one against the rest, all with the same setting.  For a y with a column per
    label, fit one estimator for each column.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`LazyNetClassifier`.
    l1s : float or array, optional
        The strengths l1 to try.  None: ``n_points`` of them in equal ratios, from 10,000 times the
        l1 that :class:`LazyNetClassifier` takes by itself, down to ``smallest`` times the first;
        without l2, features are learned from in units of their own where it does so (``units_``).
    l2s : float or array, optional
        The strengths l2 to try; None is 0.
    n_points : int, default=11
        The number of l1 where ``l1s`` is None.
    smallest : float, default=1e-5
        The last l1 as a share of the first where ``l1s`` is None.
    rule, schedule, eta0
        As in :class:`LazyNetClassifier`.  Rules: "fobos", "sgd", "truncated_gradient" without a
        threshold, "rda", "ftrl", "adagrad".  Schedules: any but "adaptive".
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling), a splitter of
        scikit-learn, or pairs of rows to learn from, each once, and rows to hold out.  None is 5.
    max_iter : int or None, default=None
        The largest number of epochs.  None: that of :class:`LazyNetClassifier`.
    tol : float or None, default=1e-3
        Stop when the least loss of any setting has not fallen below (1 - tol) times its least value
        for ``n_iter_no_change`` epochs in a row; None: exactly ``max_iter`` epochs.
    n_iter_no_change : int, default=5
        See ``tol``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.
    class_weight : dict, "balanced" or None, default=None
        The importance of a row by its class, in the loss of held-out rows too.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Threads that share the folds and the classes; None is one thread, -1 one per processor.  The
        model is the same, bit for bit, for any number.
    verbose : int, default=0
        1: print a line for every epoch.

    Attributes
    ----------
    l1_, l2_ : float
        The setting that was chosen.  Where ``units_`` is not None, ``l1_`` and ``l1s_`` belong to
        the weights in these units, and not to the weights in ``coef_``.
    units_ : Units or None
        The units in which the features have been learned from.  ``units_.rows(X)`` are the rows in
        these units: a :class:`LazyNetClassifier` with ``l1=l1_`` that is fitted to them makes the
        same predictions for such rows.  None for features as they are.
    eta0_ : float
        The scale of the rates of the last fit: eta0 of the schedule, or alpha of the rule.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    l1s_, l2s_ : ndarray of shape (n_settings,)
        The settings, the largest penalties first.
    losses_ : ndarray of shape (n_settings, n_folds)
        The mean loss of held-out rows after ``n_iter_`` epochs; over several classes the mean.
    means_, standard_errors_ : ndarray of shape (n_settings,)
        The means of ``losses_`` over the folds, and their standard errors.
    nonzeros_ : ndarray of shape (n_settings, n_folds)
        The number of weights that are not 0 after the last epoch, of all classes together.
    best_index_ : int
        The setting that was chosen.
    n_iter_ : int
        The number of epochs that was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import LazyNetClassifierCV
    >>> X = sparse.random(1000, 200, density=0.1, format="csr", random_state=0)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.2, 1000)
    >>> y = np.asarray(X[:, :3].sum(axis=1)).ravel() + noise > 0.2
    >>> model = LazyNetClassifierCV(l2s=[0.0, 1e-3], random_state=0).fit(X, y)
    >>> model.losses_.shape  # settings and folds
    (22, 5)
    >>> bool(model.means_[model.best_index_] == model.means_.min())
    True
    >>> len(model.plot().axes)  # losses and nonzeros against the penalty
    2
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    """

    _kinds = table(**ChosenSetting._kinds, class_weight=CLASS_WEIGHT)
    _single = LazyNetClassifier

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
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
        """Choose a setting and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.data``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row: a factor of its loss, where it is learned from and where it
            is held out.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.

        Warns
        -----
        UserWarning
            If the best setting is at an end of the ``l1s`` or ``l2s``, so that a value beyond may
            be better; not at a strength of 0, at an l1 that leaves no weight, or where the next
            value is as good up to ``tol``.
        ConvergenceWarning
            With ``tol``: where the least loss still falls fast in the last epoch, or where nothing
            has been learned because the rates are too small or too large.
        """
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetClassifierCV chooses for one problem, or for classes one against the rest; "
                "several labels: fit one LazyNetClassifierCV for each column of y, or give its l1 "
                "and l2 to a LazyNetClassifier, which learns all labels in one pass"
            )
        X, y, classes = self._check_training(X, y, None, reset=True)
        sample_weight = check_sample_weight(sample_weight, X)
        weights = importances(p.class_weight, classes, X, y, sample_weight)
        problems = self._problems(X, (y, classes), weights)
        folds = folds_of(p.cv, y, groups, problems, classes)
        warnings = self._fit(p, X, y, sample_weight, problems, folds)
        self.classes_ = classes
        return warnings

    def predict_top(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ``k`` classes with the highest w.x + b; see :meth:`LazyNetClassifier.predict_top`.

        >>> X, y = np.eye(3).repeat(4, axis=0), ["a", "b", "c"] * 4
        >>> y = np.sort(y)
        >>> model = LazyNetClassifierCV(l1s=0.0, cv=2, max_iter=20, random_state=0).fit(X, y)
        >>> model.predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
        [['a', 'c']]
        """
        # It needs nothing of LazyNetClassifier but predictions and classes_.
        return LazyNetClassifier.predict_top(self, X, k)  # type: ignore[arg-type]


class LazyNetRegressorCV(SparseRegressor, ChosenSetting):
    """Linear regression with an elastic net, its penalty chosen by cross-validation.

    The parameters and attributes are the same as in :class:`LazyNetClassifierCV`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`LazyNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds is that many parts of the rows as they stand, without shuffling.
    max_iter : int or None, default=None
        The largest number of epochs.  None is 100.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : ndarray of shape (1,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetRegressorCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((200, 20))
    >>> y = X @ np.r_[3.0, -2.0, np.zeros(18)] + generator.standard_normal(200)
    >>> model = LazyNetRegressorCV(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(), model.predict(X).shape
    (array([ 3., -2.]), (200,))
    >>> len(model.plot().axes)
    2
    """

    _kinds = ChosenSetting._kinds
    _single = LazyNetRegressor

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
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
        """Choose a setting and train; see :meth:`LazyNetClassifierCV.fit`."""
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetRegressorCV chooses for one target; several targets: fit one "
                "LazyNetRegressorCV for each column of y, or give its l1 and l2 to a "
                "LazyNetRegressor, which learns all targets in one pass"
            )
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        problems = self._problems(X, y, weights)
        folds = folds_of(p.cv, y, groups, problems, None)
        return self._fit(p, X, y, weights, problems, folds)
