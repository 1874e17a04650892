"""The base of LazyNetClassifier and LazyNetRegressor: fit, partial_fit, verify, the weights."""

from __future__ import annotations

import copy
import os
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import check_any_weight, check_order, plain_arrays
from lazynet.data.chunks import Chunk
from lazynet.data.source import ROWS, Source, check_no_y_with_source, check_room_for_model
from lazynet.data.statistics import FeatureMoments, Units
from lazynet.data.targets import Targets
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    outputs_of,
    stacked_coefficients,
    stacked_sparse_coefficients,
)
from lazynet.engines.catalogue import EngineKind
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.linear import LinearModel
from lazynet.estimators.linear_classifier import SPARSE_FORMS, classes_of_partial_fit
from lazynet.parameters import (
    Choice,
    Flag,
    NonNegative,
    Number,
    PositiveInt,
    Threads,
    Verbosity,
    check_number,
)
from lazynet.persistence.checkpoints import EVERY, Checkpoint
from lazynet.schedules import AUTO
from lazynet.training.automatic import Choices
from lazynet.training.fit import (
    Callback,
    attributes_with_weights,
    start_identity,
    train,
    train_once,
)
from lazynet.training.loop import EpochRecord
from lazynet.training.plan import OldModel, units_of
from lazynet.training.rows import MAPPED, Rows, RowsInMemory, SourceRows
from lazynet.training.settings import (
    N_ITER_NO_CHANGE,
    TOL,
    VALIDATION_FRACTION,
    RuleOrAuto,
    Seed,
    Settings,
    Standardize,
    read_settings,
)
from lazynet.verify.online import VerificationReport, verify


@dataclass(repr=False, eq=False)
class OnlineModel(LinearModel):
    """A linear model that engines train, one row at a time.

    >>> from lazynet import FoBoS, LazyNetClassifier
    >>> X, y = [[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]
    >>> rule = FoBoS("constant", eta0=0.5)
    >>> model = LazyNetClassifier("hinge", rule=rule, l1=0.0, standardize=False)
    >>> for row, label in zip(X, y):
    ...     _ = model.partial_fit([row], [label], classes=["no", "yes"])
    >>> model.t_, model.coef_, model.intercept_  # -0.5, then +0.5
    (2, array([[-0.5,  1. ]]), array([0.]))
    >>> model.support_.all(), (model.last_coef_ == model.coef_).all(), model.last_intercept_
    (np.True_, np.True_, array([0.]))
    >>> model = LazyNetClassifier(rule=FoBoS(eta0=0.4), max_iter=100, tol=None, random_state=0)
    >>> model.fit(X, y, callback=lambda epoch: epoch.objective < 0.5).n_iter_ < 100
    True
    >>> model.units_.means, model.verify(X, y).agrees
    (array([0.5, 1. ]), True)
    """

    _: KW_ONLY
    l1: NonNegative | None = None
    l2: NonNegative = 0.0
    rule: RuleOrAuto = AUTO
    standardize: Standardize = AUTO
    max_iter: PositiveInt | None = None
    tol: NonNegative | None = TOL
    n_iter_no_change: PositiveInt = N_ITER_NO_CHANGE
    early_stopping: Flag = False
    validation_fraction: Annotated[float, Number(above=0, below=1)] = VALIDATION_FRACTION
    fit_intercept: Flag = True
    shuffle: Flag = True
    random_state: Seed | None = None
    warm_start: Flag = False
    dtype: Annotated[str, Choice(accepted=("float64", "float32"))] = "float64"
    n_jobs: Threads | None = None
    verbose: Verbosity = 0

    # Set by training.
    n_iter_: int = field(init=False)
    best_epoch_: int = field(init=False)
    t_: int = field(init=False)
    eta0_: float = field(init=False)
    l1_: float = field(init=False)
    auto_: Choices = field(init=False)
    #: the moments of the features, which give their units; None: the features as passed
    _moments: FeatureMoments | None = field(init=False, default=None)
    history_: list[EpochRecord] = field(init=False)
    _engines: list[Engine] = field(init=False)
    _engine_kind: EngineKind = field(init=False)
    #: the generator of the orders of the rows; None: no call has shuffled rows
    _generator: np.random.RandomState | None = field(init=False, default=None)
    #: the scale of the rates; None: the rates have no scale
    _eta0: float | None = field(init=False, default=None)

    @property
    def units_(self) -> Units | None:
        """The units of the features during training, a copy; None: the features as passed."""
        units = copy.deepcopy(self._units)
        return units and replace(units, names=getattr(self, "feature_names_in_", None))

    @property
    def _units(self) -> Units | None:
        return units_of(self._moments)

    # --- training ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train from zero weights, or from the present weights with ``warm_start``.

        A call that is interrupted or fails leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            Or a source of chunks with its y, such as ``lazynet.data.SvmlightFile(path)``.
        y : array of shape (n_samples,), or matrix of shape (n_samples, n_outputs)
            Numbers, with a column per target; class labels; or a column of 0 and 1 per label.
            With a sparse y, ``coef_`` and predictions are sparse.
        sample_weight : array of shape (n_samples,), optional
            A factor of the loss of each row.
        sample_order : array of int, shape (n_steps,) or (n_epochs, n_steps), optional
            The order of the rows, for all epochs or for each.
        coef_init, intercept_init : array, optional
            Weights and intercepts to start from.
        callback : callable, optional
            Called after every epoch with an object that has the entries of ``history_``, ``t``,
            ``mean_loss``, ``objective``, ``nonzeros``, ``coef`` and ``intercept``.  A true value
            ends the training.
        checkpoint : path, optional
            A file for the state of the fit, from which the same call resumes after the process was
            killed.  It ends with the same bits.
        every : float, default=60
            The least number of seconds between two writes of this file.

        Warns
        -----
        ConvergenceWarning
            With ``tol``: the loss still fell fast in the last of ``max_iter`` epochs.
        """
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, got {type(callback).__name__}")
        start = coef_init, intercept_init
        every = check_number("every", every, least=0)
        file = None if checkpoint is None else Checkpoint(checkpoint, every)
        warnings = self._fit(X, y, sample_weight, sample_order, start, callback, file)
        if file is not None:
            file.remove()
        self._warn(warnings)
        return self

    @all_or_nothing
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, start: tuple[Any, Any],
        callback: Callback | None, checkpoint: Checkpoint | None,
    ) -> list[Warning]:  # fmt: skip
        """Run ``fit`` on a copy of the estimator; returns the warnings to give.

        ``self`` is the copy.  At the end ``all_or_nothing`` assigns the attributes of the copy to
        the estimator.
        """
        settings = read_settings(self)
        model = self._old_model() if settings.warm_start and self.__sklearn_is_fitted__() else None
        rows: Rows
        if isinstance(X, Source):
            check_no_y_with_source(y, sample_weight, sample_order)
            instead = f"take another rule, or let {MAPPED} map the rows into memory"
            settings.rule.check_streams("fit from a source", instead)
            check_room_for_model(X)
            self.n_features_in_ = X.facts().n_features
            self.__dict__.pop("feature_names_in_", None)
            settings = replace(self._set_outputs_of(settings, X), shuffle=False)
            settings, rows = self._rows_of_source(settings, X)
        else:
            read = self._checked_data(settings, Chunk(X, y, sample_weight), reset=True)
            self._set_outputs(settings, read.classes, read.form)
            rows = RowsInMemory(read.X, read.targets, check_order(sample_order, read.X.shape[0]))
        if checkpoint is not None:
            identity = rows.identity() | start_identity(model, *start)
            settings = checkpoint.begin(self, settings, identity)
        (coef, intercept), n_outputs = start, rows.targets.n_outputs
        if coef is not None:
            coef = self._checked_weights(coef, "coef_init", (n_outputs, rows.n_features))
        if intercept is not None:
            intercept = self._checked_weights(intercept, "intercept_init", (n_outputs,))
        checked = None if coef is intercept is None else (coef, intercept)
        result, warnings = train(
            settings, rows, model, checked, callback, checkpoint, self._sparse_coef
        )
        self.__dict__.update(result)
        return warnings

    def _old_model(self) -> OldModel:
        """The model as the last call trained it."""
        return OldModel(
            self._engines, self._engine_kind, self._moments, self.t_, self._eta0, self._generator
        )  # fmt: skip

    def _set_outputs(self, settings: Settings, classes: Any, form: str | None) -> None:
        """Set ``classes_`` and the form of y; refuse a y that a warm start cannot continue with."""
        previous = getattr(self, "classes_", None)
        if settings.warm_start and previous is not None:
            if not np.array_equal(previous, classes):
                raise ValueError(
                    f"warm_start=True continues a model of the classes {previous}, "
                    f"but y has {classes}; fit it with warm_start=False"
                )
            if (form is None) != (self._form is None):
                had, has = ("classes", "labels") if form else ("labels", "classes")
                raise ValueError(
                    f"warm_start=True continues a model of {had}, but y has {has}; fit it with "
                    f"warm_start=False"
                )
        # Sparse labels make the weights sparse.
        if form in SPARSE_FORMS or self._form in SPARSE_FORMS:
            self._sparse_coef = form in SPARSE_FORMS
        if classes is not None:
            self.classes_ = classes
        self._form = form

    def _set_outputs_of(self, settings: Settings, source: Source) -> Settings:
        """Set ``classes_`` and the form of y of a source; returns the settings for them."""
        raise NotImplementedError

    def _rows_of_source(self, settings: Settings, source: Source) -> tuple[Settings, SourceRows]:
        """The rows of a source, and the settings for these rows."""
        return settings, SourceRows(source, partial(self._rows_of_chunk, settings))

    def _rows_of_chunk(
        self, settings: Settings, chunk: Chunk, checked: bool = False
    ) -> tuple[sparse.csr_matrix, Targets]:
        """The checked rows of a chunk of a source and their targets.

        Rows that were ``checked`` in an earlier pass are not read again: the kernel checks them.
        """
        X, y, classes = chunk.X, chunk.y, getattr(self, "classes_", None)
        if checked:
            checked = X.shape[1] == self.n_features_in_ and plain_arrays(X) is X
        if checked and classes is not None:
            checked = not sparse.issparse(y) and bool(np.isin(y, classes).all())
        rows = self._checked_data(settings, chunk, classes, some_rows=True, checked=checked)
        return rows.X, rows.targets

    @all_or_nothing
    def _partial_fit(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, classes: Any = None
    ) -> list[Warning]:
        """Continue training with one pass over the rows; a classifier passes ``classes``."""
        settings = read_settings(self)
        settings.rule.check_streams("partial_fit")
        if not isinstance(X, Source):
            rows = Chunk(X, y, sample_weight)
            return self._train_on_rows(settings, rows, classes, sample_order)[0]
        check_no_y_with_source(y, sample_weight, sample_order)
        check_room_for_model(X)
        settings, n_iter = replace(settings, shuffle=False), getattr(self, "n_iter_", 0)
        if self.__sklearn_is_fitted__():
            # The model before the call keeps its engines until the pass is done.
            self._engines = copy.deepcopy(self._engines)
            self._moments = copy.deepcopy(self._moments)
        warnings: list[Warning] = []
        any_weight, n_rows = False, 0
        # The model equals, bit for bit, a model that is trained by calls with ROWS rows each.
        with closing(X.chunks(ROWS, 0)) as chunks:
            for chunk in chunks:
                given, counts = self._train_on_rows(settings, chunk, classes, some_rows=True)
                warnings, any_weight = warnings + given, any_weight or counts
                n_rows += chunk.X.shape[0]
        if not n_rows:
            raise ValueError(f"X must have at least one row, and {X} has none")
        check_any_weight(any_weight)
        self.n_iter_ = n_iter + 1
        return warnings[:1]

    def _train_on_rows(
        self, settings: Settings, rows: Chunk, classes: Any, order: Any = None, *,
        some_rows: bool = False,
    ) -> tuple[list[Warning], bool]:  # fmt: skip
        """Continue training with rows in memory; ``some_rows``: they are a part of a source.

        Returns the warnings to give, and whether a row has a weight above 0.
        """
        if settings.classifies:
            classes = classes_of_partial_fit(
                getattr(self, "classes_", None), classes, rows.y, settings.class_weight
            )
        model = self._old_model() if self.__sklearn_is_fitted__() else None
        read = self._checked_data(settings, rows, classes, reset=model is None, some_rows=some_rows)
        if model is None:
            self._set_outputs(settings, read.classes, read.form)
        elif classes is not None and (read.form is None) != (self._form is None):
            raise ValueError(
                "y must have a column per label in every call of partial_fit, or one class per "
                "row in every call"
            )
        elif classes is None and read.targets.n_outputs != outputs_of(self._engines):
            raise ValueError(
                f"y must have {outputs_of(self._engines)} columns, as in the first call, got "
                f"{read.targets.n_outputs}"
            )
        data = RowsInMemory(read.X, read.targets, check_order(order, read.X.shape[0]))
        l1, undo = getattr(self, "l1_", 0.0), None if some_rows else self._undo
        result, warnings = train_once(settings, data, model, l1, undo)
        self.__dict__.update(result)
        self.n_iter_, self.history_ = getattr(self, "n_iter_", 0) + 1, getattr(self, "history_", [])
        importances = read.targets.importances
        return warnings, importances is None or bool(importances.any())

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Any = None,
        *,
        max_rows: int = 200,
        epochs: int = 1,
    ) -> VerificationReport:
        """Train the lazy model and its dense reference side by side on the first rows of X.

        Both start from zero weights, and their weights are compared after every step.  Of several
        outputs the first is compared.  The number of rows is halved until the comparison takes
        seconds.  The estimator does not change, and its own ``coef_`` is not compared.
        """
        probe = type(self)(**self.get_params(deep=False))
        settings = read_settings(probe)
        rows = probe._checked_data(settings, Chunk(X, y, sample_weight), reset=True)
        return verify(settings, RowsInMemory(rows.X, rows.targets), max_rows, epochs)

    # --- the weights ------------------------------------------------------------------------

    def _weights(self) -> Any:
        if self._coefficients is None:
            stacked = stacked_sparse_coefficients if self._sparse_coef else stacked_coefficients
            self._coefficients = stacked(self._engines, self._units)
        return super()._weights()

    def _weights_at(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        return stacked_coefficients(self._engines, self._units, columns)

    def _intercepts(self) -> NDArray[np.float64]:
        return intercepts_of(self._engines, self._units)

    def _load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        # New engines: the model has the old engines until this call is done.
        settings, l1 = read_settings(self), getattr(self, "l1_", 0.0)
        changed = attributes_with_weights(settings, self._old_model(), l1, coefficients, intercepts)
        self.__dict__.update(changed)

    @property
    def last_coef_(self) -> Any:
        """The weights after the last step; without an average the same as ``coef_``."""
        check_is_fitted(self)
        return self._shaped(stacked_coefficients(self._engines, self._units, last=True))

    @property
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        check_is_fitted(self)
        return intercepts_of(self._engines, self._units, last=True)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Whether each weight is not zero after the last step, in the shape of ``coef_``."""
        return self.last_coef_ != 0.0
