"""LazyNetClassifierCV and LazyNetRegressorCV: the penalty is chosen by cross-validation.

All settings of all folds learn side by side in each pass over X.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.catalogue import RuleLike
from lazynet.choice import FOLDS, Fold, folds_of, means_and_errors
from lazynet.data import has_usual_size, sizes_of
from lazynet.defaults import (
    AUTO,
    N_ITER_NO_CHANGE,
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    TOL,
    found_epochs,
)
from lazynet.epochs import Stopping
from lazynet.estimators.base import SparseClassifier, SparseLinear, SparseRegressor, helpful
from lazynet.estimators.doubts import Rate, stalled
from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.planned import shape_to_learn
from lazynet.estimators.targets import has_a_column_per_label
from lazynet.grids import GridTraining, Setting, check_offered, planned, settings_of
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.learners import new_learners
from lazynet.losses import LOSS, LossLike
from lazynet.models.attributes import array, attributes, integer, optional, real, units
from lazynet.params import (
    EPOCHS_OR_NONE,
    FLAG,
    THREADS,
    VERBOSITY,
    Integer,
    Number,
    check_n_steps,
    table,
)
from lazynet.path_figures import plot_grid
from lazynet.paths import N_POINTS, SMALLEST, STRENGTHS
from lazynet.penalties import ElasticNet
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.schedules import ScheduleLike
from lazynet.seeds import SEED, new_generator
from lazynet.stalls import NOTHING_LEARNED, look_closely, loss_of_constants, still_falls
from lazynet.threads import Workers
from lazynet.undo import all_or_nothing
from lazynet.units import Units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The first l1 of the grid where none is given, in units of the l1 that a fit of one setting takes
#: where it is given none; the number of its points, and its last l1 as a share of the first.
LARGEST_L1, N_L1S, LAST_L1 = 1e4, 11, 1e-5


class _Search(NamedTuple):
    """What a search has found."""

    #: by setting and fold, after the epoch with the least mean loss
    losses: NDArray[np.float64]
    #: by setting and fold, after the last epoch
    nonzeros: NDArray[np.int64]
    best: int
    n_epochs: int
    #: the least mean loss of a setting after each epoch
    curve: list[float]
    ended_early: bool


class _ChosenSetting(SparseLinear):
    """The parameters, the search and the last fit that classifier and regressor share."""

    _kinds = table(
        loss=LOSS,
        l1s=STRENGTHS,
        l2s=STRENGTHS,
        n_points=N_POINTS,
        smallest=SMALLEST,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        cv=FOLDS,
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        fit_intercept=FLAG,
        shuffle=FLAG,
        random_state=SEED,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )
    #: the estimator of one setting
    _single: ClassVar[type[LazyNetClassifier] | type[LazyNetRegressor]]

    # Set by training.
    l1_: float
    l2_: float
    eta0_: float
    units_: Units | None = None
    l1s_: NDArray[np.float64]
    l2s_: NDArray[np.float64]
    losses_: NDArray[np.float64]
    means_: NDArray[np.float64]
    standard_errors_: NDArray[np.float64]
    nonzeros_: NDArray[np.int64]
    best_index_: int
    n_iter_: int
    _saved = attributes(
        l1_=real,
        l2_=real,
        eta0_=real,
        units_=optional(units),
        l1s_=array("f", None),
        l2s_=array("f", None),
        losses_=array("f", None, None),
        means_=array("f", None),
        standard_errors_=array("f", None),
        nonzeros_=array("iu", None, None),
        best_index_=integer,
        n_iter_=integer,
    )

    def _single_of(self, l1: float | None, l2: float, **more: Any) -> Any:
        """The estimator of one setting; ``more`` are parameters that differ from this one's."""
        shared = set(self._single._kinds) & set(self._kinds)
        given = {name: getattr(self, name) for name in shared} | more
        return self._single(l1=l1, l2=l2, **given)

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values; ``one`` are those of a fit of a single setting."""
        p = super()._settle()
        p.l2s = np.zeros(1) if p.l2s is None else np.atleast_1d(p.l2s)
        # The penalty that the rule is checked with: every setting is checked again.
        l1s = np.zeros(1) if p.l1s is None else np.atleast_1d(p.l1s)
        p.model = self._single_of(None if p.l1s is None else float(l1s[0]), float(p.l2s[0]))
        p.one = p.model._settle()
        p.one.may_begin_anew = False
        check_offered(p.one.plan)
        for setting in settings_of(l1s, p.l2s):
            Plan.of(SimpleNamespace(**{**vars(p.one), "l1": setting.l1, "l2": setting.l2}))
        return p

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: NDArray[Any],
        sample_weight: Any,
        problems: Problems,
        folds: list[Fold],
    ) -> list[Warning]:
        """Choose a setting and train with it; returns the warnings to give."""
        for number, fold in enumerate(folds):
            _refuse_repeated(number, fold.train)
        shape = shape_to_learn(X, None)
        # As a fit of one setting: a penalty that is given acts on the weights as they are, and
        # features of a source are learned from as they are.
        as_given = p.l2s.any() or self._rows_are_mapped
        in_units = None if as_given else p.model._find_units(p.one, X, problems)
        rows = X if in_units is None else in_units.rows(X)
        settings = self._settings(p, rows, problems, shape)
        if p.max_iter is None:
            p.max_iter = found_epochs(*shape, self._takes_margin_losses, penalised=True)
        check_n_steps("max_iter", p.max_iter, len(y))
        # What suits the rows; the bound that a penalty sets differs between the settings.
        free = SimpleNamespace(**vars(p.one))
        free.plan = replace(p.one.plan, penalty=ElasticNet())
        eta0 = p.model._scale_of_rates(free, rows, problems.importances)
        plans = planned(p.one, settings, eta0)
        # float32 needs half the memory and less time; the chosen setting is trained in float64.
        narrow = self._takes_margin_losses or has_usual_size(y)
        training = GridTraining(
            plans, rows, problems, folds, sizes_of(rows, plans[0].sizes),
            np.float32 if narrow else np.float64,
        )  # fmt: skip
        n_threads = min(effective_n_jobs(p.n_jobs), len(training.matrices))
        with Workers(n_threads) as workers:
            found = _search(p, training, settings, workers)
        best = settings[found.best]
        model = self._single_of(*best, max_iter=found.n_epochs, tol=None)
        model.fit(rows, y, sample_weight)
        weights, intercepts = model._dense_coef(), model._intercepts()
        if in_units is not None:
            weights = in_units.weights(weights)
            intercepts = np.asarray(in_units.intercept(weights[:, in_units.moved], intercepts))
        self._load(weights, intercepts)
        self.units_, self.eta0_, self.n_iter_ = in_units, float(model.eta0_), found.n_epochs
        self.l1_, self.l2_ = best
        self.l1s_, self.l2s_ = (np.array(values) for values in zip(*settings, strict=True))
        self.losses_, self.nonzeros_, self.best_index_ = found.losses, found.nonzeros, found.best
        self.means_, self.standard_errors_ = means_and_errors(found.losses, training.counts)
        doubt = [] if p.tol is None else self._doubt(p, model, rows, problems, found)
        return [*doubt, *_warnings_of_ends(p, self)]

    def _settings(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        shape: tuple[int, int, int],
    ) -> list[Setting]:
        """The grid: what the parameters name, or l1 in equal ratios around that of a single fit."""
        if p.l1s is not None:
            return settings_of(np.atleast_1d(p.l1s), p.l2s)
        p.model._find_l1(p.one, X, problems, shape)
        # Rows without any value ask for no penalty; one that is not 0 does no harm.
        largest = LARGEST_L1 * (p.one.l1 or 1.0)
        return settings_of(np.geomspace(largest, largest * p.smallest, p.n_points), p.l2s)

    def _doubt(
        self,
        p: SimpleNamespace,
        model: Any,
        X: sparse.csr_matrix,
        problems: Problems,
        found: _Search,
    ) -> list[Warning]:
        """The warning about a search that has learned nothing, or that has ended too early."""
        plan = model._settle().plan
        constant = loss_of_constants(problems, plan)
        counted = problems.n_rows / problems.weights.sum()
        curve = [loss * len(problems) / counted for loss in found.curve]
        if min(curve) >= NOTHING_LEARNED * constant:
            learners = new_learners(model._engines, X, problems, plan, None)
            verdict = look_closely(learners, X, problems, None)
            if verdict.too_small or verdict.too_large:
                rate = Rate(self.eta0_, in_units=self.units_ is not None)
                return [stalled(p.one, rate, verdict, min(curve), constant)]
        if found.ended_early or not still_falls(curve, constant):
            return []
        return [
            ConvergenceWarning(
                f"the least loss of held-out rows still fell by {1 - curve[-1] / curve[-2]:.0%} in "
                f"the last of max_iter={p.max_iter} epochs; raise max_iter"
            )
        ]

    def plot(self) -> Figure:
        """``plot_grid`` of this model."""
        check_is_fitted(self)
        return plot_grid(self)


def _search(
    p: SimpleNamespace, training: GridTraining, settings: list[Setting], workers: Workers
) -> _Search:
    """Train all settings, epoch by epoch, until the least of their losses falls no more."""
    generator, stopping = new_generator(p.random_state), Stopping(p.tol, p.n_iter_no_change)
    n_rows = training.n_rows
    curve: list[Any] = []
    losses, best, n_epochs, ended_early = np.zeros((0, 0)), 0, 0, False
    for epoch in range(p.max_iter):
        order = generator.permutation(n_rows) if p.shuffle else np.arange(n_rows)
        training.epoch(order.astype(np.int64, copy=False), workers)
        found = training.held_out(workers)
        means = np.average(found, axis=1, weights=training.counts)
        now = int(means.argmin())
        if not curve or means[now] < min(curve):
            losses, best, n_epochs = found, now, epoch + 1
        curve.append(float(means[now]))
        if p.verbose:
            setting = f"l1={settings[now].l1:.3g}, l2={settings[now].l2:.3g}"
            print(f"epoch {epoch + 1:4d}  least loss {means[now]:.6g} at {setting}")
        ended_early = stopping.after(float(means[now]))
        if ended_early:
            break
    if not np.isfinite(min(curve)):
        raise FloatingPointError(
            f"no setting of the grid predicts held-out rows with a finite loss. "
            f"{training.matrices[0].engine.advice}"
        )
    return _Search(losses, training.nonzeros(workers), best, n_epochs, curve, ended_early)


def _refuse_repeated(number: int, rows: NDArray[np.int64]) -> None:
    """Refuse a fold that would learn from a row more often than once in an epoch."""
    sorted_rows = np.sort(rows)
    repeated = sorted_rows[1:][sorted_rows[1:] == sorted_rows[:-1]]
    if len(repeated):
        raise ValueError(
            f"cv must name a row to learn from once, and its split {number} names row "
            f"{repeated[0]} several times: every epoch visits a row once, so that bootstrap "
            f"splits cannot be used"
        )


def _warnings_of_ends(p: SimpleNamespace, model: _ChosenSetting) -> list[Warning]:
    """Warnings about a best setting at an end of the l1s or l2s that were tried.

    No warning is given where going on could change nothing: at a strength of 0, at an l1 that
    leaves no weight, and where the next value towards the middle is as good up to ``tol``.
    """
    best, found = model.best_index_, []
    for name, values, others in (
        ("l1", model.l1s_, model.l2s_), ("l2", model.l2s_, model.l1s_),
    ):  # fmt: skip
        tried = np.unique(values)
        if len(tried) == 1 or values[best] == 0 or tried[0] < values[best] < tried[-1]:
            continue
        smallest = values[best] == tried[0]
        if name == "l1" and not smallest and not model.nonzeros_[best].any():
            continue
        next_one = (values == tried[1 if smallest else -2]) & (others == others[best])
        if model.means_[next_one].min() <= model.means_[best] * (1.0 + (p.tol or 0.0)):
            continue
        end, size = ("smallest", "smaller") if smallest else ("largest", "larger")
        remedy = f"give {size} {name}s"
        if name == "l1" and p.l1s is None and smallest:
            remedy = f"lower smallest={p.smallest:g}"
        found.append(
            UserWarning(
                f"the best {name}, {values[best]:.3g}, is the {end} one that was tried: a {size} "
                f"one may be better: {remedy}"
            )
        )
    return [*found]


class LazyNetClassifierCV(SparseClassifier, _ChosenSetting):
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

    _kinds = table(**_ChosenSetting._kinds, class_weight=CLASS_WEIGHT)
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
            The rows to learn from.  Or a source of ``lazynet.streams``, which has y and the weights
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


class LazyNetRegressorCV(SparseRegressor, _ChosenSetting):
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

    _kinds = _ChosenSetting._kinds
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
