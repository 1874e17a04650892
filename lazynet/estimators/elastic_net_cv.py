"""LazyNetClassifierCV and LazyNetRegressorCV: a grid of settings learns in one pass over X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lazynet.catalogue import RuleLike
from lazynet.choice import FOLDS, Fold, folds_of, means_and_errors
from lazynet.data import as_examples, sizes_of
from lazynet.defaults import (
    AUTO,
    N_ITER_NO_CHANGE,
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    TOL,
    VALIDATION_FRACTION,
    found_epochs,
)
from lazynet.engines.base import refuse_overflow
from lazynet.estimators.base import SparseClassifier, SparseLinear, SparseRegressor, helpful
from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
from lazynet.grids import (
    GridTraining,
    Setting,
    check_offered,
    planned,
    settings_of,
    single_engine,
)
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances, total_of
from lazynet.losses import LOSS, LossLike
from lazynet.models.attributes import array, attributes, integer, optional, real, units
from lazynet.models.scattered import WhenAsked
from lazynet.params import (
    EPOCHS_OR_NONE,
    FLAG,
    THREADS,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    Special,
    check_array,
    check_flag,
    check_n_steps,
    check_number,
    shown,
    table,
)
from lazynet.path_figures import plot_grid
from lazynet.paths import N_POINTS, SMALLEST, STRENGTHS
from lazynet.penalties import ElasticNet
from lazynet.problems import Problems
from lazynet.schedules import ScheduleLike
from lazynet.seeds import SEED, new_generator
from lazynet.threads import Workers
from lazynet.training import Learner, Plan, Stopping, run_pass
from lazynet.transactions import all_or_nothing
from lazynet.units import Units
from lazynet.validation import split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The first l1 of the grid of l1 where none is given, in units of the l1 that a fit of one setting
#: takes where it is given none; the number of its points, and its last l1 as a share of the first.
LARGEST_L1, N_L1S, LAST_L1 = 1e4, 11, 1e-5
#: What judges a setting by the predictions that are made before their rows are learned from.
PROGRESSIVE = "progressive"


def _check_factors(name: str, value: Any) -> tuple[float, ...]:
    factors = np.atleast_1d(check_array(name, "must hold real numbers", value))
    if factors.ndim > 1 or not factors.size:
        raise ValueError(f"{name} must be a list of numbers, got {shown(value)}")
    return tuple(check_number(name, factor, above=0) for factor in factors.tolist())


class _Search(NamedTuple):
    """What a search has found."""

    #: by setting, epoch and fold
    losses: NDArray[np.float64]
    nonzeros: NDArray[np.int64]
    best: int
    epoch: int
    #: weights and intercepts of the best setting, where there is one model
    model: tuple[NDArray[np.float64], NDArray[np.float64]] | None


class _ElasticNetGrid(SparseLinear):
    """The parameters, the search and the last fit that classifier and regressor share."""

    _kinds = table(
        loss=LOSS,
        l1s=STRENGTHS,
        l2s=STRENGTHS,
        rate_factors=Special(check=_check_factors),
        n_points=N_POINTS,
        smallest=SMALLEST,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        cv=FOLDS,
        validation_fraction=Number(above=0, below=1),
        scoring=Choice(accepted=(PROGRESSIVE,), optional=True),
        refit=Special(check=check_flag, optional=True),
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        fit_intercept=FLAG,
        shuffle=FLAG,
        dtype=Choice(accepted=("float64", "float32"), optional=True),
        random_state=SEED,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )
    #: the estimator of one setting
    _single: ClassVar[type[LazyNetClassifier] | type[LazyNetRegressor]]

    # Set by training.
    l1_: float
    l2_: float
    rate_factor_: float
    eta0_: float
    units_ = WhenAsked[Units | None]()
    l1s_: NDArray[np.float64]
    l2s_: NDArray[np.float64]
    rate_factors_: NDArray[np.float64]
    losses_: NDArray[np.float64]
    curves_: NDArray[np.float64]
    standard_errors_: NDArray[np.float64]
    nonzeros_: NDArray[np.int64]
    best_index_: int
    best_epoch_: int
    n_iter_: int
    _saved = attributes(
        l1_=real,
        l2_=real,
        rate_factor_=real,
        eta0_=real,
        units_=optional(units),
        l1s_=array("f", None),
        l2s_=array("f", None),
        rate_factors_=array("f", None),
        losses_=array("f", None, None, None),
        curves_=array("f", None, None),
        standard_errors_=array("f", None, None),
        nonzeros_=array("iu", None, None),
        best_index_=integer,
        best_epoch_=integer,
        n_iter_=integer,
    )

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values; ``one`` are those of a fit of a single setting."""
        p = super()._settle()
        p.l2s = np.zeros(1) if p.l2s is None else np.atleast_1d(p.l2s)
        p.progressive = p.scoring == PROGRESSIVE
        p.refit = not p.progressive if p.refit is None else p.refit
        p.dtype = p.dtype or ("float32" if p.refit else "float64")
        if not p.refit and not p.progressive and p.cv is not None:
            raise ValueError(
                "refit=False leaves a model for every fold and none for all rows: give cv=None, "
                "or scoring='progressive', or leave refit at its default"
            )
        # The penalty that the rule is checked with: every setting is checked again.
        l1s = np.zeros(1) if p.l1s is None else np.atleast_1d(p.l1s)
        p.model = self._single(
            self.loss, l1=None if p.l1s is None else float(l1s[0]), l2=float(p.l2s[0]),
            rule=self.rule, schedule=self.schedule, eta0=self.eta0,
            fit_intercept=self.fit_intercept,
        )  # fmt: skip
        p.one = p.model._settle()
        check_offered(p.one.plan, p.rate_factors)
        for setting in settings_of(l1s, p.l2s, (1.0,)):
            Plan.of(SimpleNamespace(**{**vars(p.one), "l1": setting.l1, "l2": setting.l2}))
        return p

    def _settings(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Problems
    ) -> list[Setting]:
        """The grid: what the parameters name, or l1 in equal ratios around that of a single fit."""
        l1s = p.l1s
        if l1s is None:
            p.model._find_l1(p.one, X, problems)
            # Rows without any value ask for no penalty; one that is not 0 does no harm.
            largest = LARGEST_L1 * (p.one.l1 or 1.0)
            l1s = np.geomspace(largest, largest * p.smallest, p.n_points)
        return settings_of(np.atleast_1d(l1s), p.l2s, p.rate_factors)

    def _folds(
        self,
        p: SimpleNamespace,
        y: NDArray[Any],
        groups: Any,
        problems: Problems,
        classes: NDArray[Any] | None,
        generator: np.random.RandomState,
    ) -> list[Fold]:
        """The folds; a held-out share is one of them, and the progressive loss holds none out."""
        n = len(y)
        if p.progressive:
            return [Fold(np.arange(n), np.zeros(0, dtype=np.int64))]
        if p.cv is not None:
            return folds_of(p.cv, y, groups, problems, classes)
        weights = problems.importances
        if weights is not None:
            total_of(weights)
        strata = None if classes is None else np.searchsorted(classes, y)
        train, test = split(
            n, p.validation_fraction, generator, strata, "give scoring='progressive'"
        )
        for rows, what in ((train, "to learn from"), (test, "to hold out")):
            if weights is not None and not weights[rows].any():
                raise ValueError(
                    f"sample_weight, times class_weight, must not be zero for all {len(rows)} rows "
                    f"{what}: change validation_fraction"
                )
        return [Fold(train, test)]

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: NDArray[Any],
        problems: Problems,
        groups: Any,
        classes: NDArray[Any] | None,
    ) -> None:
        """Choose a setting, and train with it or take what it has learned."""
        generator = new_generator(p.random_state)
        # The last fit visits the rows in the orders of a fit of this setting alone.
        begun = generator.get_state()
        folds = self._folds(p, y, groups, problems, classes, generator)
        # As a fit of one setting does it: a penalty that is given acts on the weights as they are.
        units = None if p.l2s.any() else p.model._find_units(p.one, X)
        X = X if units is None else units.rows(X)
        settings = self._settings(p, X, problems)
        if p.max_iter is None:
            epochs = found_epochs(X.shape[0], X.shape[1], self._takes_margin_losses)
            p.max_iter = 1 if p.progressive else epochs
        check_n_steps("max_iter", p.max_iter, X.shape[0])
        # What suits the rows; the bound that a penalty sets differs between the settings.
        free = SimpleNamespace(**vars(p.one))
        free.plan = replace(p.one.plan, penalty=ElasticNet())
        eta0 = p.model._scale_of_rates(free, X, problems.importances)
        plans = planned(p.one, settings, eta0)
        sizes = sizes_of(X, plans[0].sizes)
        training = GridTraining(plans, settings, X, problems, folds, sizes, p.dtype)
        counts = _weights_of(p, folds, problems.importances)
        with Workers(min(effective_n_jobs(p.n_jobs), len(training.blocks))) as workers:
            found = self._search(p, training, counts, X.shape[0], generator, workers)
        best = settings[found.best]
        if found.model is None:
            orders = np.random.RandomState()
            orders.set_state(begun)
            plan = plans[found.best]
            engines = [single_engine(plan, X.shape[1], best.factor) for _ in problems]
            learners = [
                Learner(engine, as_examples(X, *problem, sizes), plan)
                for engine, problem in zip(engines, problems, strict=True)
            ]
            t = 0
            with Workers(min(effective_n_jobs(p.n_jobs), len(learners))) as workers:
                for _ in range(found.epoch + 1):
                    t = run_pass(learners, _order(p, X.shape[0], orders), t, workers=workers)
            model = (
                np.vstack([engine.model() for engine in engines]),
                np.array([engine.model_intercept for engine in engines]),
            )
            rate = engines[0].present_rate
        else:
            model, t = found.model, training.taken[0]
            rate = training.present_rate(found.best)
        refuse_overflow(t, training.blocks[0].engine.advice, *model)
        if units is not None:
            weights = units.weights(model[0])
            model = weights, np.asarray(units.intercept(weights[:, units.moved], model[1]))
        self._load(*model)
        self.units_ = units
        self.l1s_, self.l2s_, self.rate_factors_ = (
            np.array([getattr(setting, name) for setting in settings])
            for name in ("l1", "l2", "factor")
        )
        self.l1_, self.l2_, self.rate_factor_ = best.l1, best.l2, best.factor
        if rate is None and plans[0].rule.scheduled:
            rate = getattr(plans[found.best].schedule, "eta0", eta0)
        elif rate is None:
            rate = eta0 * best.factor
        self.eta0_ = float(rate)
        self.losses_, self.nonzeros_ = found.losses, found.nonzeros
        self.curves_, self.standard_errors_ = means_and_errors(found.losses, counts)
        self.best_index_, self.best_epoch_ = found.best, found.epoch
        self.n_iter_ = found.epoch + 1

    def _search(
        self,
        p: SimpleNamespace,
        training: GridTraining,
        counts: NDArray[np.float64],
        n_rows: int,
        generator: np.random.RandomState,
        workers: Workers,
    ) -> _Search:
        """Train all settings, epoch by epoch, until the least of their losses falls no more."""
        stopping = Stopping(p.tol, p.n_iter_no_change)
        losses: list[NDArray[np.float64]] = []
        least, best, best_epoch, model = np.inf, 0, 0, None
        for epoch in range(p.max_iter):
            found = training.epoch(_order(p, n_rows, generator), workers)
            if not p.progressive:
                found = training.held_out(workers)
            losses.append(np.where(np.isnan(found), np.inf, found))
            means = np.average(losses[-1], axis=1, weights=counts)
            now = int(means.argmin())
            if means[now] < least and not (p.progressive and epoch):
                least, best = float(means[now]), now
                best_epoch = epoch
                if not (p.refit or p.progressive):
                    model = training.model(best)
            if p.verbose:
                setting = f"l1={training.plans[now].penalty.l1:.3g}"
                setting += f", l2={training.plans[now].penalty.l2:.3g}"
                print(f"epoch {epoch + 1:4d}  least loss {means[now]:.6g} at {setting}")
            if stopping.after(float(means[now])):
                break
        if not np.isfinite(least):
            raise FloatingPointError(
                "the losses are not finite numbers at any setting; scale the features to "
                "comparable sizes, or lower eta0 or rate_factors"
            )
        if p.progressive:
            # Later epochs predict rows that were learned from: the first epoch chooses.
            best_epoch = len(losses) - 1
            model = None if p.refit else training.model(best)
        return _Search(
            np.stack(losses, axis=1), training.nonzeros(workers), best, best_epoch, model
        )

    def plot(self) -> Figure:
        """``plot_grid`` of this model."""
        check_is_fitted(self)
        return plot_grid(self)


def _order(p: SimpleNamespace, n_rows: int, generator: np.random.RandomState) -> NDArray[np.int64]:
    """The order of the rows in the next epoch."""
    if not p.shuffle:
        return np.arange(n_rows, dtype=np.int64)
    return generator.permutation(n_rows).astype(np.int64, copy=False)


def _weights_of(
    p: SimpleNamespace, folds: Sequence[Fold], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """What every fold counts in a mean: the weight of its held-out rows."""
    if p.progressive:
        return np.ones(1)
    return np.array(
        [float(len(fold.test) if weights is None else weights[fold.test].sum()) for fold in folds]
    )


class LazyNetClassifierCV(SparseClassifier, _ElasticNetGrid):
    """Linear classification with an elastic net, chosen from a grid that learns in one pass over X.

    Every combination of ``l1s``, ``l2s`` and ``rate_factors`` is a setting of
    :class:`LazyNetClassifier`.  All settings learn side by side from each row: a setting is a
    column of one matrix of weights, with a clock, or the numbers of its rule, of its own.  With
    ``cv`` every fold has such a matrix, and each row is a step for the folds that do not hold it
    out.  A column has the weights that a fit of this setting alone has, in the same order of rows
    (to the digits of ``dtype``).  The matrices need memory: ``n_settings * n_folds * n_features``
    numbers, for "ftrl" and "adagrad" twice as many, and as often as there are classes.

    The setting and the epoch with the least mean loss are chosen; the model is then trained with
    all rows.  Several classes are trained one against the rest, all with the same setting.

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
        scikit-learn, or pairs of rows to learn from and rows to hold out.  None: one held-out part.
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
        taken.  A model that is trained anew always has float64.
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
        The setting that was chosen.
    units_ : Units or None
        The units in which the features have been learned from; ``l1_`` is that of the weights in
        these units.  None for features as they are.
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
    curves_, standard_errors_ : ndarray of shape (n_settings, n_epochs)
        The means of ``losses_`` over the folds, and their standard errors.
    nonzeros_ : ndarray of shape (n_settings, n_folds)
        The number of weights that are not 0 after the last epoch, of all classes together.
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

    _kinds = table(**_ElasticNetGrid._kinds, class_weight=CLASS_WEIGHT)
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
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose a setting and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            The rows to learn from.
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row: a factor of its loss, where it is learned from and where it
            is held out.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.
        """
        self._learn(X, y, sample_weight, groups)
        return self

    @all_or_nothing
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Choose a setting and train."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, check_sample_weight(sample_weight, X))
        self._fit(p, X, y, self._problems(X, (y, classes), weights), groups, classes)
        self.classes_ = classes


class LazyNetRegressorCV(SparseRegressor, _ElasticNetGrid):
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

    _kinds = _ElasticNetGrid._kinds
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
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose a setting and train; see :meth:`LazyNetClassifierCV.fit`."""
        self._learn(X, y, sample_weight, groups)
        return self

    @all_or_nothing
    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Choose a setting and train."""
        p = self._settle()
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        self._fit(p, X, y, self._problems(X, y, weights), groups, None)
