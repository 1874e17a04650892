"""Linear models: predictions of classes and of numbers, coefficients and intercepts."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from inspect import getattr_static
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lazynet._version import __version__
from lazynet.data.arrays import check_sample_weight, checked_rows, checked_targets, read_only
from lazynet.data.chunks import Chunk
from lazynet.data.mapped_matrix import in_memory
from lazynet.data.products import only_named_columns, own_rows, products
from lazynet.data.targets import CheckedRows, Columns
from lazynet.engines.undo import UndoLog, all_or_nothing
from lazynet.estimators.advice import advice_about
from lazynet.losses import LossLike
from lazynet.parameters import check_array, kinds_of, settle
from lazynet.persistence import files

# Columns are read one by one if X has fewer nonzeros than this share of the features.
_FEW = 1 / 8
# The number of predictions in memory at once, if only a part of all predictions is kept.
_NUMBERS_OF_A_BLOCK = 2**22


def _check_nested(estimator: Any, key: str, params: Mapping[str, Any]) -> None:
    """Refuse a parameter ``key`` of a value without parameters: ``rule__gamma`` of "rda".

    ``params`` are all parameters that are to be set.
    """
    owner, names = estimator, key.split("__")
    for end, (name, nested) in enumerate(pairwise(names), start=1):
        place = "__".join(names[:end])
        value = params.get(place, getattr(owner, name, None))
        kind = kinds_of(type(owner)).get(name)
        if kind is not None and not hasattr(value, "set_params"):
            classes = [cls for cls in kind.objects if nested in kinds_of(cls)]
            named = [cls for cls in classes if getattr(cls, "name", None) == value]
            write = " or ".join(f"{name}={cls.__name__}()" for cls in named or classes)
            advice = f"write {write}" if write else f"no {name} has a parameter {nested}"
            raise ValueError(f"{key} needs an object, and {place} is {value!r}: {advice}")
        owner = value


class LinearModel(BaseEstimator):
    """Predicts w.x + b; a model has one row of weights and one intercept per output.

    >>> import os, tempfile
    >>> import lazynet
    >>> model = lazynet.DualNetRegressor(l1=0.1).fit([[1.0, 0.0], [2.0, 0.0]], [2.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     loaded = lazynet.load(os.path.join(folder, "model"))
    >>> (loaded.predict([[3.0, 0.0]]) == model.predict([[3.0, 0.0]])).tolist()
    [True]
    >>> model.sparsify().coef_.nnz, model.densify().coef_.shape, model.intercept_.shape
    (1, (2,), (1,))
    """

    #: whether ``coef_`` is a sparse matrix
    _sparse_coef: bool = False
    #: the form of a y with a column per label or target: "dense", "sparse matrix" or "sparse
    #: array"; None: y has one class or number for each row
    _form: str | None = None

    loss: LossLike
    random_state: int | np.random.RandomState | None
    n_features_in_: int
    classes_: NDArray[Any]
    #: the weights, an array or CSR with a row per output; None: not read from the engines yet
    _coefficients: Any
    #: the intercept of every output
    _offsets: NDArray[np.float64]
    #: the changes that the present call has made in place
    _undo: UndoLog

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """A new estimator; refuses a parameter that it does not have, and says what to write."""
        for name in options:
            advice = advice_about(cls, name)
            if advice is not None:
                raise TypeError(advice)
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        """Raise the reason why a method is not available."""
        check = getattr(getattr_static(type(self), name, None), "check", None)
        if check is not None:
            try:
                check(self)
            except ValueError as error:
                raise AttributeError(str(error)) from None
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``rule__gamma`` is the gamma of the object ``rule``.

        >>> from lazynet import RDA, LazyNetClassifier
        >>> LazyNetClassifier(rule=RDA()).set_params(rule__gamma=5)
        LazyNetClassifier(rule=RDA(gamma=5))
        """
        for key in params:
            advice = advice_about(type(self), key.partition("__")[0])
            if advice is not None:
                raise ValueError(advice)
            _check_nested(self, key, params)
        return super().set_params(**params)

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on the rows; an interrupted call leaves the estimator as it was.

        X holds the rows, y a class label or a number for each, ``sample_weight`` a factor of each
        row's loss: a row of weight 2 counts as two rows.  X may be a source of ``lazynet.data``,
        which contains y and the sample weights: its rows are mapped into memory from a temporary
        file.
        """
        self._warn(self._learn(X, y, sample_weight))
        return self

    @all_or_nothing
    def _learn(self, X: Any, y: Any, sample_weight: Any, *more: Any) -> list[Warning]:
        """Train on rows in memory or of a source; returns the warnings to give."""
        p = settle(type(self), vars(self))
        continues = getattr(p, "warm_start", False) and self.__sklearn_is_fitted__()
        with in_memory(X, y, sample_weight) as chunk:
            rows = self._checked_data(p, chunk, reset=not continues)
            if rows.classes is not None:
                self.classes_ = rows.classes
            return self._train(p, rows, *more)

    def _checked_data(
        self, parameters: Any, rows: Chunk, classes: Any = None, *,
        reset: bool = False, some_rows: bool = False, checked: bool = False,
    ) -> CheckedRows:  # fmt: skip
        """The checked X, y and sample weights; ``parameters`` are checked already.

        ``classes`` are the classes of earlier rows.  With ``reset`` the model takes the features of
        X.  ``some_rows``: the rows are a part of all rows, so all their weights may be 0.
        ``checked``: the rows were checked before, and are not checked again.
        """
        raise NotImplementedError

    def _train(self, p: SimpleNamespace, rows: CheckedRows, *more: Any) -> list[Warning]:
        """Train on rows in memory with the checked parameters; returns the warnings to give."""
        raise NotImplementedError

    def _warn(self, warnings_: Iterable[Warning]) -> None:
        """Give the warnings after the training, so that one raised as an error does not undo it."""
        for warning in warnings_:
            warnings.warn(warning, stacklevel=3)

    # --- predictions ----------------------------------------------------------------------

    def _to_predict(self, X: Any) -> tuple[Any, Any, NDArray[np.float64]]:
        """The checked X, and the weights and intercepts that predict."""
        check_is_fitted(self)
        given_sparse = sparse.issparse(X)
        X, *_ = checked_rows(self, X, reset=False, for_training=False)
        few = given_sparse and X.nnz < _FEW * self.n_features_in_
        if few and self._coefficients is None:
            # Bring current only the weights of the columns in X.
            columns, X = only_named_columns(X)
            return X, self._weights_at(columns), self._intercepts()
        return X, self._weights(), self._intercepts()

    def _decision(self, X: Any) -> NDArray[np.float64]:
        """w.x + b of each row and output."""
        return _predictions(*self._to_predict(X))

    def _decisions(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """``_decision`` of blocks of rows, so small that no block needs much memory."""
        X, *model = self._to_predict(X)
        rows = max(1, _NUMBERS_OF_A_BLOCK // max(1, len(model[1])))
        for start in range(0, X.shape[0], rows):
            stop = min(start + rows, X.shape[0])
            part = own_rows(X, start, stop) if sparse.issparse(X) else X[start:stop]
            yield _predictions(part, *model)

    # --- the model ------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_coefficients" in self.__dict__

    def _weights(self) -> Any:
        """The weights, a row per output, read-only: an array, or CSR after ``sparsify``."""
        weights = self._coefficients
        if sparse.issparse(weights) != self._sparse_coef:
            weights = sparse.csr_matrix(weights) if self._sparse_coef else weights.toarray()
            self._coefficients = weights
        # A copy of a read-only array can be changed.
        return read_only(self._coefficients)

    def _dense_weights(self) -> NDArray[np.float64]:
        """The weights as an array, a row per output."""
        weights = self._weights()
        return weights.toarray() if sparse.issparse(weights) else weights

    def _weights_at(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        """The weights of some features, read from the engines."""
        raise NotImplementedError

    def _intercepts(self) -> NDArray[np.float64]:
        """The intercept of every output."""
        return self._offsets

    def _load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        """Make these coefficients and intercepts the model."""
        self._coefficients, self._offsets = read_only(coefficients), intercepts

    def __copy__(self) -> Self:
        """A copy that learns alone; both have the same objects as parameters."""
        copied = object.__new__(type(self))
        copied.__dict__.update(vars(self))
        for changed_in_place in vars(self).keys() & {"_engines", "_generator", "_moments"}:
            setattr(copied, changed_in_place, copy.deepcopy(getattr(self, changed_in_place)))
        return copied

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "_lazynet_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = {k: v for k, v in state.items() if k != "_lazynet_version"}
        version = state.get("_lazynet_version", "of an unknown version")
        if version != __version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by lazynet {version}, and this is lazynet "
                f"{__version__}: a pickle may mean something else in another version.  model.save "
                f"writes files that later versions read",
                stacklevel=2,
            )
        super().__setstate__(attributes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to the file ``path``; ``lazynet.load`` reads it, bit for bit.

        The file appears as a whole or not at all, and holds no code.  A parameter that is a Python
        function is refused.
        """
        check_is_fitted(self)
        files.save(self, path)

    def _shaped(self, rows: Any) -> Any:
        """The ``rows`` of weights in the shape of ``coef_``."""
        return rows

    @property
    def coef_(self) -> Any:
        """The weights: shape (1, n_features), or (n_classes, n_features) for several classes.

        With ``average`` the averages.  Assign a whole array to change the model, which resets
        averages, sums of gradients and the slopes of SAGA.
        """
        check_is_fitted(self)
        return self._shaped(self._weights())

    @coef_.setter
    def coef_(self, value: Any) -> None:
        self._assign("coef_", value)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each output; 0 without ``fit_intercept``."""
        check_is_fitted(self)
        intercepts = self._intercepts()
        intercepts.flags.writeable = False
        return intercepts

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        self._assign("intercept_", value)

    @all_or_nothing
    def _assign(self, name: str, value: Any) -> None:
        """Replace ``coef_`` or ``intercept_``; the other one does not change."""
        check_is_fitted(self)
        if value is None:
            raise TypeError(f"{name} must hold real numbers, got None")
        model = {"coef_": self._dense_weights(), "intercept_": self._intercepts()}
        model[name] = self._checked_weights(value, name, model[name].shape)
        self._load(model["coef_"], model["intercept_"])

    def _checked_weights(
        self, values: Any, name: str, shape: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """A checked copy of weights or intercepts that the user gives."""
        values = values.toarray() if sparse.issparse(values) else values
        array = check_array(name, "must hold real numbers", values)
        size = int(np.prod(shape))
        if array.size != size or (array.ndim > 1 and array.shape != shape):
            wanted = np.shape(self._shaped(np.empty(shape))) if len(shape) > 1 else shape
            raise ValueError(f"{name} must have the shape {wanted}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
        return array.reshape(shape).copy()

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, and predict with it."""
        check_is_fitted(self)
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array, which is the default."""
        check_is_fitted(self)
        self._sparse_coef = False
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _predictions(X: Any, coefficients: Any, intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
    """w.x + b of each row and output."""
    with np.errstate(over="ignore", invalid="ignore"):
        decision = products(X, coefficients) + intercepts
    if np.isnan(decision).any():
        row = int(np.isnan(decision).any(axis=1).argmax())
        raise FloatingPointError(
            f"the prediction of row {row} of X overflows: it is not a number. "
            f"Scale the features to comparable sizes."
        )
    return decision


class LinearRegressor(RegressorMixin, LinearModel):
    """Predicts w.x + b; ``coef_`` has the shape (n_features,).

    >>> import lazynet
    >>> model = lazynet.DualNetRegressor(l1=0.0, l2=1e-9).fit([[1.0], [2.0]], [2.0, 4.0])
    >>> model.predict([[3.0]]).round(3)
    array([6.])
    """

    #: whether y may have a column for each of several targets
    _several_targets: bool = False

    def _shaped(self, rows: Any) -> Any:
        return rows if sparse.issparse(rows) else rows[0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row."""
        return self._decision(X).ravel()

    def _checked_data(
        self, parameters: Any, rows: Chunk, classes: Any = None, *,
        reset: bool = False, some_rows: bool = False, checked: bool = False,
    ) -> CheckedRows:  # fmt: skip
        X, y, sample_weight = rows
        if not checked:
            X, y = checked_rows(
                self, X, reset, y=y, y_numeric=True, multi_output=self._several_targets
            )
            if sparse.issparse(y):
                raise ValueError(
                    "y must be an array of numbers, got a sparse matrix: write y.toarray()"
                )
            y = checked_targets(y, warn=reset)
        weights = check_sample_weight(sample_weight, X, some_rows=some_rows)
        form = "dense" if y.ndim == 2 else None
        return CheckedRows(X, y, Columns(y, weights), weights, None, form)
