"""Choices of l1 and l2 by cross-validation; LazyNet*CV train all settings side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from lazynet.data.arrays import has_usual_size, row_sizes_of
from lazynet.data.targets import CheckedRows
from lazynet.data.weights import ClassWeight
from lazynet.engines.threads import Workers
from lazynet.estimators.linear import LinearModel, LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.estimators.online import LazyNetClassifier, LazyNetRegressor
from lazynet.losses import AnyLoss, LossOfNumbers
from lazynet.parameters import Flag, Kind, NonNegative, PositiveInt, Threads, kinds_of
from lazynet.penalties import check_l1s, check_strengths, falling
from lazynet.schedules import AUTO
from lazynet.training.fit import make_plan
from lazynet.training.folds import (
    Fold,
    Folds,
    best_setting,
    folds_of,
    refuse_repeated,
    results_of,
    settings_of,
    warnings_of_ends,
)
from lazynet.training.grid import GridTraining, check_rule_of_grid, grid_plans
from lazynet.training.plan import units_of
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import (
    TOL,
    RuleOrAuto,
    Seed,
    Standardize,
    new_generator,
    read_settings,
)

#: If ``l1s`` is a number: the first l1 of the grid, in units of the default l1 of a fit of one
#: setting; and the last l1 as a share of the first.
LARGEST_L1, LAST_L1 = 1e4, 1e-5


@dataclass(repr=False, eq=False)
class LinearModelCV(LinearModel):
    """Chooses l1 and l2 by cross-validation."""

    _: KW_ONLY
    l1s: Annotated[int | ArrayLike, Kind(check_l1s)] = 50
    l2s: Annotated[ArrayLike, Kind(check_strengths)] = 0.0
    cv: Folds | None = 5
    one_standard_error: Flag = False
    fit_intercept: Flag = True
    random_state: Seed | None = None
    n_jobs: Threads | None = None

    # Set by training.
    l1_: float = field(init=False)
    l2_: float = field(init=False)
    cv_results_: dict[str, NDArray[np.float64]] = field(init=False)
    best_index_: int = field(init=False)
    n_iter_: int = field(init=False)

    def _train_in_folds(
        self, p: SimpleNamespace, rows: CheckedRows, folds: list[Fold]
    ) -> list[Warning]:
        """Choose l1 and l2 by the folds, and train with all rows; returns the warnings to give."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose l1 and l2, and train; an interrupted call leaves the estimator as it was.

        X holds the rows, y a class label or a number for each, ``sample_weight`` a factor of the
        loss of each row, also of held-out rows, and ``groups`` the group of each, for a ``cv`` that
        does not divide groups.  X may be a source of ``lazynet.data``, which contains y and the
        sample weights: its rows are mapped into memory from a temporary file.

        Warns
        -----
        UserWarning
            If the best l1 or l2 is the smallest or the largest one, and one beyond may be better.
        ConvergenceWarning
            If a fit has stopped too early.
        """
        self._warn(self._learn(X, y, sample_weight, groups))
        return self

    def _train(  # type: ignore[override]
        self, p: SimpleNamespace, rows: CheckedRows, groups: Any
    ) -> list[Warning]:
        folds = folds_of(p.cv, rows.y, groups, rows.targets.importances, rows.classes)
        if p.one_standard_error and len(folds) == 1:
            raise ValueError(
                "one_standard_error=True needs at least two splits from cv: one has no "
                "standard error"
            )
        return self._train_in_folds(p, rows, folds)

    def _choose(self, p: SimpleNamespace, results: dict[str, NDArray[np.float64]]) -> None:
        """Set the table of results and the best setting by this table."""
        self.cv_results_, self.best_index_ = results, best_setting(results, p.one_standard_error)
        self.l1_, self.l2_ = (float(results[name][self.best_index_]) for name in ("l1", "l2"))


def grid_of(p: SimpleNamespace, largest_l1: float, smallest: float) -> list[tuple[float, float]]:
    """The settings that the parameters l1s and l2s name; see ``falling``."""
    return settings_of(falling(p.l1s, largest_l1, smallest), p.l2s)


@dataclass(repr=False, eq=False)
class _LazyNetCV(LinearModelCV):
    """Chooses l1 and l2 by settings that learn side by side."""

    #: the estimator of one setting
    _single: ClassVar[type[Any]]

    _: KW_ONLY
    l1s: Annotated[int | ArrayLike, Kind(check_l1s)] = 11
    rule: RuleOrAuto = AUTO
    standardize: Standardize = AUTO
    max_iter: PositiveInt | None = None
    tol: NonNegative | None = TOL

    def _single_of(self, l1: float | None, l2: float, **options: Any) -> Any:
        """The estimator of one setting; ``options`` replace parameters of this estimator."""
        shared = set(kinds_of(self._single)) & set(kinds_of(type(self)))
        options = {name: getattr(self, name) for name in shared} | options
        return self._single(l1=l1, l2=l2, **options)

    def _train_in_folds(
        self, p: SimpleNamespace, rows: CheckedRows, folds: list[Fold]
    ) -> list[Warning]:
        """Train a grid of settings, and the chosen one of them with all rows."""
        refuse_repeated(folds)
        # The settings of a single fit, whose defaults the grid follows; each setting is checked.
        counted = isinstance(p.l1s, int)
        single = self._single_of(None if counted else float(p.l1s[0]), float(p.l2s[0]))
        base = read_settings(single)
        check_rule_of_grid(base.rule)
        for l2 in p.l2s:
            base.rule.check(float(l2), base.loss)
        data = RowsInMemory(rows.X, rows.targets)
        moments = data.moments(base)
        data = data.standardised(units_of(moments))
        plan, *_ = make_plan(base, data, moments, compares_first_epoch=False)
        # The default l1 of rows without nonzeros is 0; the grid needs another number.
        settings = grid_of(p, LARGEST_L1 * (plan.penalty.l1 or 1.0), LAST_L1)
        plans = grid_plans(plan, base, settings, data.statistics(base, False))
        # float32 needs half the memory and less time; the chosen setting is trained in float64.
        narrow = isinstance(self, ClassifierMixin) or has_usual_size(rows.y)
        training = GridTraining(
            plans, data.X, data.targets, folds, row_sizes_of(data.X, plan.size_kind),
            "float32" if narrow else "float64",
        )  # fmt: skip
        with Workers(min(base.n_threads, len(training.matrices))) as workers:
            training.train(new_generator(p.random_state), workers)
            losses, nonzeros = training.held_out(workers), training.nonzeros(workers)
        weights = training.weights_of_folds
        self._choose(p, results_of(settings, "loss", losses, nonzeros, weights))
        best = self._single_of(self.l1_, self.l2_).fit(rows.X, rows.y, rows.sample_weight)
        self._load(best._dense_weights(), best._intercepts())
        names = getattr(self, "feature_names_in_", None)
        self.units_, self.auto_ = best.units_ and replace(best.units_, names=names), best.auto_
        self.eta0_, self.n_iter_ = float(best.eta0_), best.n_iter_
        return warnings_of_ends(self.cv_results_, p.l1s, p.tol)


@dataclass(repr=False, eq=False)
class LazyNetClassifierCV(LinearClassifier, _LazyNetCV):
    """Linear classification with an elastic net, its l1 and l2 chosen by cross-validation.

    Every combination of ``l1s`` and ``l2s`` is a setting of :class:`LazyNetClassifier`.  All
    settings of all folds learn in the same passes over the rows: a setting is a column of one
    matrix of weights per fold, equal to a fit of this setting alone (up to the digits of float32).
    For every class the matrices need memory for ``n_settings * n_folds * n_features`` numbers, for
    "ftrl" and "adagrad" twice as many.

    After the last epoch the mean loss of every setting on the held-out rows is computed, and the
    setting with the least loss is chosen.  The model is that of ``LazyNetClassifier(l1=l1_,
    l2=l2_)`` after a fit to all rows, with the other parameters of this estimator.  Several classes
    are trained one against the rest, all with the same setting.

    Parameters
    ----------
    loss, rule, standardize, fit_intercept, random_state
        As in :class:`LazyNetClassifier`, with the rules "fobos", "sgd", "truncated_gradient"
        without a threshold, "rda", "ftrl" and "adagrad".  All folds have the units of all rows.
    l1s : int or array, default=11
        The l1 to try.  A number n: n values in equal ratios, from 10,000 times the default l1
        of :class:`LazyNetClassifier` down to a tenth of this l1.
    l2s : float or array, default=0.0
        The l2 to try.
    cv, one_standard_error, class_weight
        As in :class:`DualNetClassifierCV`; a fold names each of the rows to learn from once.
    max_iter : int or None, default=None
        The number of epochs in the folds, and the largest number in the last fit; None: 6.
    tol : float or None, default=1e-3
        When the last fit stops, as in :class:`LazyNetClassifier`.
    n_jobs : int or None, default=None
        Threads that share folds and classes; -1 is one per processor.  They change no bit.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, eta0_, units_, auto_
        Of the last fit, as in :class:`LazyNetClassifier`.
    l1_, l2_, best_index_, cv_results_
        As in :class:`DualNetClassifierCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetClassifier, LazyNetClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((500, 20))
    >>> model = LazyNetClassifierCV(random_state=0).fit(X, X[:, 0] > 0.1)
    >>> model.best_index_ == model.cv_results_["mean_loss"].argmin()
    np.True_
    >>> single = LazyNetClassifier(l1=model.l1_, random_state=0).fit(X, X[:, 0] > 0.1)
    >>> bool((single.predict(X) == model.predict(X)).all())
    True
    """

    _single = LazyNetClassifier
    loss: AnyLoss = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight | None = None


@dataclass(repr=False, eq=False)
class LazyNetRegressorCV(LinearRegressor, _LazyNetCV):
    """Linear regression with an elastic net, its l1 and l2 chosen by cross-validation.

    Parameters and attributes are those of :class:`LazyNetClassifierCV` without ``class_weight`` and
    ``classes_``; ``coef_`` has the shape (n_features,).

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`LazyNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds divides the rows in their order, without shuffling.
    max_iter : int or None, default=None
        As in :class:`LazyNetClassifierCV`; None: 20.

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
    """

    _single = LazyNetRegressor
    loss: LossOfNumbers = "squared_error"
