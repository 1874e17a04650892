"""What every linear estimator shares: the door for X and y, and what is done with coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lazynet.data import checked_csr, unusable, usable_rows
from lazynet.losses import LOSSES, Loss, get_loss
from lazynet.params import Kind, check_array, settle
from lazynet.rules import LARGEST_SHRINK
from lazynet.state import Transactional, at_rest


def suitable_rate(squared_norm: float, loss: Loss) -> float:
    """1 / (c |x|^2), c the largest curvature: a step on a row of this length does not overshoot."""
    if not np.isfinite(squared_norm):
        raise ValueError(
            "X has rows whose squared norm is not a finite number, so no rate suits them; "
            "scale the features to comparable sizes, or give eta0"
        )
    if squared_norm == 0:
        return 1.0
    divisor = (loss.curvature or 1.0) * squared_norm
    # Rows whose squared norm is next to nothing: the largest rate that any rule takes.
    return min(1.0 / divisor, LARGEST_SHRINK) if divisor else LARGEST_SHRINK


def refuse_overflow(t: int, lever: str, *arrays: NDArray[np.float64]) -> None:
    """Raise if one of the arrays holds a number that is not finite; ``lever`` is what may help."""
    for numbers in arrays:
        # Not np.isfinite(numbers).all(), which would make another array of their size.
        if not (np.isfinite(numbers.min()) and np.isfinite(numbers.max())):
            raise FloatingPointError(
                f"the model overflowed by step {t}: a weight is not a finite number. "
                f"{lever}, or scale the features to comparable sizes."
            )


class SparseLinear(Transactional, BaseEstimator):
    """Rows in, w.x + b out; ``coef_`` and ``intercept_`` have one row per binary problem."""

    #: whether a loss over margins can be trained
    _takes_margin_losses: ClassVar[bool]
    #: what each parameter may be
    _kinds: ClassVar[Mapping[str, Kind]]

    loss: str
    random_state: int | np.random.RandomState | None
    n_features_in_: int
    #: coefficients and intercepts, of the model of one moment
    _predictor: tuple[NDArray[np.float64], NDArray[np.float64]]

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain Python values: every call begins here, and uses only these.

        ``get_params`` and ``clone`` go on giving what the user passed.
        """
        p = settle(self._kinds, {name: getattr(self, name) for name in self._kinds})
        self._check_loss(p.loss)
        self._check_together(p)
        return p

    def _check_together(self, p: SimpleNamespace) -> None:
        """Refuse parameters that do not go together, before anything is read."""

    def _check_loss(self, name: str) -> None:
        if get_loss(name).margin and not self._takes_margin_losses:
            accepted = sorted(other for other, row in LOSSES.items() if not row.margin)
            raise ValueError(
                f"loss={name!r} is for targets of -1 and +1; a regressor takes one of {accepted}"
            )

    def _check_X(self, X: Any, reset: bool, *, for_training: bool = True, **options: Any) -> Any:
        """X as CSR, and whatever else ``validate_data`` was asked to check, as a tuple.

        The one door for X.  Predicting needs neither the order of the columns nor a second look at
        the values.
        """
        already_checked = False
        if not sparse.issparse(X) and getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise ValueError("Complex data not supported: X must hold real numbers")
        if getattr(getattr(options.get("y"), "dtype", None), "kind", "") == "c":
            raise ValueError("Complex data not supported: y must hold real numbers")
        if sparse.issparse(X):
            # First of all: nothing else may follow indices that leave the matrix.
            X = checked_csr(X, only_range=not for_training)
            already_checked = for_training and X.dtype in (np.float32, np.float64)
        # What a cast to float64 makes infinite or NaN is refused as such.
        casts = np.errstate(over="ignore", invalid="ignore")
        with casts, unusable("X or y" if "y" in options else "X"):
            checked = validate_data(
                self,
                X,
                accept_sparse="csr",
                accept_large_sparse=True,
                dtype=[np.float64, np.float32],
                order="C",  # a dense product gives other bits in another order
                ensure_all_finite=not already_checked,
                reset=reset,
                **options,
            )
        X, *rest = checked if isinstance(checked, tuple) else (checked,)
        if not already_checked and for_training:
            X = usable_rows(X if sparse.issparse(X) else sparse.csr_matrix(X))
        return X, *rest

    def _problems(self, X: Any, y: Any, weights: Any) -> list[tuple[NDArray[np.float64], Any]]:
        """Targets and importances of each binary or regression problem."""
        raise NotImplementedError

    def _generators(self) -> list[np.random.RandomState]:
        own = (getattr(self, "random_state", None), self.__dict__.get("_generator"))
        return [generator for generator in own if isinstance(generator, np.random.RandomState)]

    @at_rest
    def _now(self) -> Self:
        """The model of this moment, to predict with, whatever other threads do to it later."""
        check_is_fitted(self)
        now = object.__new__(type(self))
        now.__dict__.update(self.__dict__)
        now._predictor = self.coef_, self.intercept_
        return now

    def _warn(self, warning: str | None) -> None:
        """Said when the model is trained: a warning that is an error costs no training."""
        if warning is not None:
            warnings.warn(warning, ConvergenceWarning, stacklevel=3)

    def _decision(self, X: Any) -> NDArray[np.float64]:
        """w.x + b of each row and problem; to be asked of the model of one moment."""
        X, *_ = self._check_X(X, reset=False, for_training=False)
        coefficients, intercepts = self._predictor
        with np.errstate(over="ignore", invalid="ignore"):
            decision = np.asarray(X @ coefficients.T) + intercepts
        if np.isnan(decision).any():
            row = int(np.isnan(decision).any(axis=1).argmax())
            raise FloatingPointError(
                f"the prediction of row {row} of X overflows: it is not a number. "
                f"Scale the features to comparable sizes."
            )
        return decision

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SparseClassifier(ClassifierMixin, SparseLinear):
    """Classes from the side of the hyperplane; several classes one against the rest."""

    _takes_margin_losses = True
    classes_: NDArray[Any]
    class_weight: dict[Any, float] | str | None

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Signed distances w.x + b: shape (n_samples,), or (n_samples, n_classes) for several."""
        decision = self._now()._decision(X)
        return decision.ravel() if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        now = self._now()
        decision = now._decision(X)
        if decision.shape[1] == 1:
            return now.classes_[(decision[:, 0] > 0).astype(np.intp)]
        return now.classes_[decision.argmax(axis=1)]

    def _has_probability(self) -> bool:
        if get_loss(self.loss).has_probability:
            return True
        accepted = sorted(name for name, row in LOSSES.items() if row.has_probability)
        raise AttributeError(f"probabilities need loss to be one of {accepted}, got {self.loss!r}")

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, shape (n_samples, n_classes), in the order of ``classes_``.

        The logistic function for "log_loss"; (clip(p, -1, 1) + 1) / 2 for "modified_huber" (Zhang
        2004).  Several classes: one against the rest, normalised.

        >>> from lazynet import LazyNetClassifier
        >>> model = LazyNetClassifier(fit_intercept=False)
        >>> model = model.partial_fit([[0.0]], ["no"], classes=["no", "yes"])
        >>> model.predict_proba([[1.0]])  # nothing has been learned from a row of zeros
        array([[0.5, 0.5]])
        """
        now = self._now()
        return now._probabilities(now._decision(X))

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        binary = decision.shape[1] == 1
        # Both classes from their own side, so that small probabilities keep their digits.
        sides = np.hstack([-decision, decision]) if binary else decision
        if self.loss == "log_loss":
            positive = expit(sides)
        else:
            positive = (np.clip(sides, -1.0, 1.0) + 1.0) / 2.0
        if binary:
            return positive
        total = positive.sum(axis=1, keepdims=True)
        # All zero: no class claims the example, so all are equally likely.
        positive[total[:, 0] == 0] = 1.0
        return positive / positive.sum(axis=1, keepdims=True)

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``.

        >>> from lazynet import LazyNetClassifier
        >>> model = LazyNetClassifier(fit_intercept=False)
        >>> model = model.partial_fit([[0.0]], ["no"], classes=["no", "yes"])
        >>> model.predict_log_proba([[1.0]]).round(2)  # log(1/2)
        array([[-0.69, -0.69]])
        """
        now = self._now()
        decision = now._decision(X)
        if now.loss == "log_loss" and decision.shape[1] == 1:
            return log_expit(np.hstack([-decision, decision]))
        with np.errstate(divide="ignore"):
            return np.log(now._probabilities(decision))

    def _check_training(
        self, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
    ) -> tuple[Any, Any, NDArray[Any]]:
        X, y = self._check_X(X, reset, y=y)
        with np.errstate(invalid="ignore"):  # it looks whether a cast to integers changes y
            check_classification_targets(y)
        if classes is None:
            classes = np.unique(y)
            if len(classes) < 2:
                raise ValueError(f"y must have at least two classes, got one class: {classes[0]!r}")
        elif not np.isin(y, classes).all():
            unknown = np.setdiff1d(y, classes)
            raise ValueError(f"y has labels {unknown} that are not among the classes {classes}")
        return X, y, classes

    def _problems(self, X: Any, y: Any, weights: Any) -> list[tuple[NDArray[np.float64], Any]]:
        labels, classes = y
        # Two classes are one problem, the second class positive.
        positives = classes[1:] if len(classes) == 2 else classes
        return [(np.where(labels == positive, 1.0, -1.0), weights) for positive in positives]


class SparseRegressor(RegressorMixin, SparseLinear):
    """w.x + b itself."""

    _takes_margin_losses = False

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row."""
        return self._now()._decision(X).ravel()

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = self._check_X(X, reset, y=y, y_numeric=True)
        return X, np.ascontiguousarray(check_array("y", "must hold real numbers", y, masks=True))

    def _problems(self, X: Any, y: Any, weights: Any) -> list[tuple[NDArray[np.float64], Any]]:
        return [(y, weights)]
