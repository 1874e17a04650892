"""LazyNetRegressor: regression by every rule of the catalogue, on any X, y and stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from lazynet.data.arrays import checked_targets
from lazynet.data.chunks import Chunk
from lazynet.data.source import Source
from lazynet.data.targets import Columns, Targets
from lazynet.data.weights import check_sample_weight
from lazynet.engines.stacked import outputs_of
from lazynet.estimators.inputs import checked_rows
from lazynet.estimators.linear import LinearRegressor
from lazynet.estimators.online_model import OnlineModel
from lazynet.losses import AnyLoss
from lazynet.training.settings import Settings
from lazynet.training.stream_rows import Prepare, is_sound


@dataclass(repr=False, eq=False)
class LazyNetRegressor(LinearRegressor, OnlineModel):
    """Linear regression with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``.  The parameters and attributes are the
    same as in :class:`LazyNetClassifier`, with these differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error" (p - y)^2 / 2, "absolute_error", "huber" or ``Huber(epsilon)``,
        "epsilon_insensitive" or ``EpsilonInsensitive(epsilon)``, "squared_epsilon_insensitive" or
        ``SquaredEpsilonInsensitive(epsilon)``.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 100; with a ``sample_order`` for every epoch, as many
        as it has.  Where neither rates nor a penalty are given, the loss is "squared_error", and X
        is no table, ``fit`` multiplies its rates by sqrt(100 / max_iter), at least 1: a fit of few
        epochs gets farther with high rates.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features)
        The weights; with ``average``, the averages of the weights.  A y with a column for each
        target is learned in one pass over X.
    intercept_ : ndarray of shape (1,), or (n_targets,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X @ [1.0, 0.0, -2.0, 0.0, 0.0]
    >>> model = LazyNetRegressor(l1=1e-2, random_state=0).fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([ 1.,  0., -2.,  0.,  0.])
    >>> model.predict([[1.0, 1.0, 1.0, 1.0, 1.0]]).round(1)
    array([-1.])

    Two steps that can be followed by hand: the weight is 1 after the first and 1.5 after the
    second, and the model is their mean:

    >>> from lazynet import FoBoS
    >>> rule = FoBoS("constant", eta0=0.25, average=True)
    >>> model = LazyNetRegressor(rule=rule, l1=0.0, max_iter=2, tol=None).fit([[1.0]], [4.0])
    >>> model.coef_, model.intercept_
    (array([1.25]), array([1.25]))
    >>> model.last_coef_, model.last_intercept_, model.support_
    (array([1.5]), array([1.5]), array([ True]))
    """

    loss: AnyLoss = "squared_error"

    #: whether y has a column per target, of which there may be one
    _several_targets: bool = field(init=False, default=False)

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = checked_rows(self, X, reset, y=y, y_numeric=True, multi_output=True)
        if sparse.issparse(y):
            raise ValueError(
                "y must be an array of numbers, got a sparse matrix: write y.toarray()"
            )
        return X, checked_targets(y, warn=reset)

    def _shaped(self, rows: Any) -> Any:
        return rows if self._several_targets else super()._shaped(rows)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row: shape (n_samples,), or (n_samples, n_targets)."""
        decision = self._decision(X)
        return decision if self._several_targets else decision.ravel()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _rows_of_fit(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any
    ) -> tuple[sparse.csr_matrix, Targets]:
        X, y, targets = self._read_rows(settings, X, y, sample_weight)
        self._several_targets = y.ndim == 2
        return X, targets

    def _chunk_reader(self, settings: Settings, source: Source) -> tuple[Settings, Prepare]:
        if source.facts().n_labels is not None:
            raise ValueError("y must be a number for every row, and the source has labels")
        self._several_targets = False
        return settings, partial(self._rows_of_chunk, settings, None)

    def _rows_of_chunk(
        self, settings: Settings, classes: None, chunk: Chunk, checked: bool = False
    ) -> tuple[sparse.csr_matrix, Targets]:
        """The checked rows of a chunk and their problems."""
        X, y = chunk.X, chunk.y
        if not is_sound(chunk, self.n_features_in_, checked):
            X, y = self._check_training(X, y, reset=False)
        weights = check_sample_weight(chunk.weight, X, some_rows=True)
        return X, Columns(y, weights)

    @available_if(OnlineModel._learns_from_streams)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; see :meth:`LazyNetClassifier.partial_fit`.

        >>> from lazynet import FoBoS
        >>> model = LazyNetRegressor(rule=FoBoS("constant", eta0=0.25), l1=0.0)
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.])
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.5])
        """
        self._warn(self._learn_on(X, y, sample_weight, sample_order))
        return self

    def _rows_of_partial_fit(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, classes: None, of_pass: bool
    ) -> tuple[sparse.csr_matrix, Targets]:
        fitted = self.__sklearn_is_fitted__()
        X, y = self._check_training(X, y, reset=not fitted)
        n_targets = y.shape[1] if y.ndim == 2 else 1
        if not fitted:
            self._several_targets = y.ndim == 2
        elif n_targets != outputs_of(self._engines):
            raise ValueError(
                f"y must have {outputs_of(self._engines)} columns, as in the first call, got "
                f"{n_targets}"
            )
        weights = check_sample_weight(sample_weight, X, some_rows=of_pass)
        return X, Columns(y, weights)
