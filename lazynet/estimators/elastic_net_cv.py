"""LazyNetClassifierCV and LazyNetRegressorCV: a grid of settings learns in one pass over X."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.catalogue import RuleLike
from lazynet.data import has_usual_size
from lazynet.defaults import (
    AUTO,
    N_ITER_NO_CHANGE,
    TOL,
    VALIDATION_FRACTION,
)
from lazynet.estimators.base import SparseClassifier, SparseRegressor, helpful
from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.elastic_net_grid import LAST_L1, N_L1S, ElasticNetGrid
from lazynet.estimators.grid_rows import RowsInMemory
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.targets import has_a_column_per_label
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.losses import LossLike
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.params import table
from lazynet.schedules import ScheduleLike
from lazynet.undo import all_or_nothing


class LazyNetClassifierCV(SparseClassifier, ElasticNetGrid):
    """Linear classification with an elastic net, chosen from a grid that learns in one pass over X.

    Every combination of ``l1s``, ``l2s`` and ``rate_factors`` is a setting of
    :class:`LazyNetClassifier`.  All settings learn side by side from each row: a setting is a
    column of one matrix of weights, with a clock, or the numbers of its rule, of its own.  With
    ``cv`` every fold has such a matrix, and each row is a step for the folds that do not hold it
    out.  A column has the weights that a fit of this setting alone has, on the same rows in the
    same order, with features in the same units and at the same scale of the rates, which all rows
    decide on (to the digits of ``dtype``).  The matrices need memory:
    ``n_settings * n_folds * n_features`` numbers, for "ftrl" and "adagrad" twice as many, and as
    often as there are classes.

    The setting and the epoch with the least mean loss are chosen; the model is then trained with
    all rows.  Several classes are trained one against the rest, all with the same setting.  For a y
    with a column per label, fit one for each column.  A setting whose predictions or steps are not
    finite numbers has an infinite loss from then on; the others are judged.

    To repeat the last fit with :class:`LazyNetClassifier`, give it ``l1=l1_``, ``l2=l2_``,
    ``max_iter=n_iter_``, ``tol=None`` and the same ``random_state``, and where ``rate_factor_`` is
    not 1 also the scaled rates.  Where ``units_`` is not None, ``l1_`` is that of the rows in these
    units: fit on ``units_.rows(X)``.

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
    rate_factors : sequence of float, default=(1.0,)
        Factors of the rates to try: of eta0 of a schedule, of alpha of "adagrad" and "ftrl" (of the
        constant in its place where alpha follows the rows), of 1/gamma of "rda".
    n_points : int, default=11
        The number of l1 where ``l1s`` is None.
    smallest : float, default=1e-5
        The last l1 as a share of the first where ``l1s`` is None.
    rule, schedule, eta0
        As in :class:`LazyNetClassifier`.  Rules: "fobos", "sgd", "truncated_gradient" without a
        threshold, "rda", "ftrl", "adagrad".  Schedules: any but "adaptive".
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling), a splitter of
        scikit-learn, or pairs of rows to learn from, each once, and rows to hold out.  None: one
        held-out part.
    validation_fraction : float, default=0.1
        The share of the rows that are held out with ``cv=None``; every class keeps its share.
    scoring : {None, "progressive"}, default=None
        None: the loss of held-out rows judges.  "progressive": the loss of the predictions in the
        first epoch, each made before its row is learned from, judges; nothing is held out, and
        ``cv`` is not used.
    refit : bool or None, default=None
        Whether to train the chosen setting anew, with all rows and the chosen number of epochs.
        False takes the column that has learned already, which needs ``cv=None`` or
        ``scoring="progressive"``.  None: False for "progressive", else True.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 1 for "progressive", else that of
        :class:`LazyNetClassifier`.
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
    dtype : {"float64", "float32"} or None, default=None
        The type of the weights during the search.  None: float32, which needs half the memory of
        float64 and less time, where the chosen setting is trained anew; float64 where its column is
        taken, and for a regression where the largest absolute value in y is not between 1e-20 and
        1e20.  A model that is trained anew always has float64.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling and of the held-out share.
    n_jobs : int or None, default=None
        Threads that share the folds, the classes and, 32 at a time, the settings; None is one
        thread, -1 one per processor.  The model is the same, bit for bit, for any number.
    verbose : int, default=0
        1: print a line for every epoch.

    Attributes
    ----------
    l1_, l2_, rate_factor_ : float
        The setting that was chosen.  Where ``units_`` is not None, ``l1_`` and ``l1s_`` belong to
        the weights in these units, and not to the weights in ``coef_``.
    units_ : Units or None
        The units in which the features have been learned from.  ``units_.rows(X)`` are the rows in
        these units: a :class:`LazyNetClassifier` with ``l1=l1_`` that is fitted to them makes the
        same predictions for such rows.  None for features as they are.
    eta0_ : float
        The scale of its rates: eta0 of the schedule, or alpha of the rule, times the factor.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    l1s_, l2s_, rate_factors_ : ndarray of shape (n_settings,)
        The settings, the largest penalties first.
    losses_ : ndarray of shape (n_settings, n_epochs, n_folds)
        The mean loss that judges; over several classes the mean.  Without ``cv`` there is one fold.
        Infinite from the epoch on in which predictions or steps were not finite numbers.
    curves_, standard_errors_ : ndarray of shape (n_settings, n_epochs)
        The means of ``losses_`` over the folds, and their standard errors.
    nonzeros_ : ndarray of shape (n_settings, n_folds)
        The number of weights that are not 0 after the last epoch, of all classes together; 0 where
        the loss is infinite because the setting has overflowed.
    best_index_ : int
        The setting that was chosen.
    best_epoch_ : int
        The epoch with its least loss, from 0 on; for "progressive" the last.
    n_iter_ : int
        The epochs of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import LazyNetClassifierCV
    >>> X = sparse.random(1000, 200, density=0.1, format="csr", random_state=0)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.2, 1000)
    >>> y = np.asarray(X[:, :3].sum(axis=1)).ravel() + noise > 0.2
    >>> model = LazyNetClassifierCV(l2s=[0.0, 1e-3], random_state=0).fit(X, y)
    >>> model.curves_.shape[0], model.losses_.shape[2]  # settings and folds
    (22, 5)
    >>> bool(model.curves_[model.best_index_, model.best_epoch_] == model.curves_.min())
    True
    >>> len(model.plot().axes)  # losses and nonzeros against the penalty, and losses by epoch
    3
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True

    One pass over the rows, in which every prediction before a step judges:

    >>> model = LazyNetClassifierCV(scoring="progressive", random_state=0).fit(X, y)
    >>> model.n_iter_, model.losses_.shape
    (1, (11, 1, 1))
    """

    _kinds = table(**ElasticNetGrid._kinds, class_weight=CLASS_WEIGHT)
    _single = LazyNetClassifier

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        rate_factors: Sequence[float] = (1.0,),
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        validation_fraction: float = VALIDATION_FRACTION,
        scoring: str | None = None,
        refit: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        dtype: str | None = None,
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
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Choose a setting and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.streams``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row: a factor of its loss, where it is learned from and where it
            is held out.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.
        checkpoint, every : path and float, optional
            A file in which the fit is kept while it runs, and the seconds between two files; see
            :meth:`LazyNetClassifier.fit`.  It is written between two chunks of rows.

        Warns
        -----
        UserWarning
            If the best setting is at an end of the ``l1s``, ``l2s`` or ``rate_factors``, so that a
            value beyond may be better; not at a strength of 0, at an l1 that leaves no weight, or
            where the next value is as good up to ``tol``.
        ConvergenceWarning
            With ``tol``: where :class:`LazyNetClassifier` would warn after a fit of the chosen
            setting, because its loss still falls fast or its rates are too small or too large.
        """
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, groups, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    @takes_sources
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetClassifierCV chooses for one problem, or for classes one against the rest; "
                "several labels: fit one LazyNetClassifierCV for each column of y, or give its l1, "
                "l2 and rates to a LazyNetClassifier, which learns all labels in one pass"
            )
        X, y, classes = self._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, check_sample_weight(sample_weight, X))
        problems = self._problems(X, (y, classes), weights)
        rows = RowsInMemory(X, y, problems, groups, classes, mapped=self._rows_are_mapped)
        warnings = self._fit(p, rows, keeper)
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


class LazyNetRegressorCV(SparseRegressor, ElasticNetGrid):
    """Linear regression with an elastic net, chosen from a grid that learns in one pass over X.

    The parameters and attributes are the same as in :class:`LazyNetClassifierCV`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`LazyNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds is that many parts of the rows as they stand, without shuffling.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 1 for "progressive", else 100.

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
    3
    """

    _kinds = ElasticNetGrid._kinds
    _single = LazyNetRegressor

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        rate_factors: Sequence[float] = (1.0,),
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        validation_fraction: float = VALIDATION_FRACTION,
        scoring: str | None = None,
        refit: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
        dtype: str | None = None,
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
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Choose a setting and train; see :meth:`LazyNetClassifierCV.fit`."""
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, groups, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    @takes_sources
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetRegressorCV chooses for one target; several targets: fit one "
                "LazyNetRegressorCV for each column of y, or give its l1, l2 and rates to a "
                "LazyNetRegressor, which learns all targets in one pass"
            )
        X, y = self._check_training(X, y, reset=True)
        if self.dtype is None and not has_usual_size(y):
            p.dtype = "float64"
        weights = check_sample_weight(sample_weight, X)
        problems = self._problems(X, y, weights)
        rows = RowsInMemory(X, y, problems, groups, None, mapped=self._rows_are_mapped)
        return self._fit(p, rows, keeper)
