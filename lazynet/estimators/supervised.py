"""SparseClassifier and SparseRegressor: predictions of classes and of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from lazynet.data.arrays import checked_targets
from lazynet.data.targets import Classes, Columns, Targets
from lazynet.data.weights import check_sample_weight, importances
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.input_checks import are_classes_of, checked_rows
from lazynet.losses import LOSSES, SOFTMAX, Loss


class SparseClassifier(ClassifierMixin, SparseLinear):
    """Predicts classes by the sign of w.x + b; several classes are trained one against the rest."""

    _takes_margin_losses = True
    classes_: NDArray[Any]
    class_weight: dict[Any, float] | str | None

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: shape (n_samples,), or (n_samples, n_classes) for more than two classes."""
        decision = self._decision(X)
        return decision.ravel() if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        decision = self._decision(X)
        if decision.shape[1] == 1:
            return self.classes_[(decision[:, 0] > 0).astype(np.intp)]
        return self.classes_[decision.argmax(axis=1)]

    def _loss_row(self) -> Loss:
        """The loss of the parameters."""
        loss: Loss = self._kinds["loss"].settled("loss", self.loss)
        return loss

    def _has_probability(self) -> bool:
        if self._loss_row().has_probability:
            return True
        accepted = sorted(name for name, row in LOSSES.items() if row.has_probability)
        raise AttributeError(f"probabilities need loss to be one of {accepted}, got {self.loss!r}")

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, shape (n_samples, n_classes), in the order of ``classes_``.

        With p = w.x + b the probability is the logistic function of p for "log_loss", and
        (clip(p, -1, 1) + 1) / 2 for "modified_huber" (Zhang 2004).  For more than two classes the
        probabilities of each class against the rest are divided by their sum; with
        ``loss="softmax"`` they are the softmax.  With a column per label each label has
        a probability of its own, and the result has a column per label.  It is a dense array.

        >>> from lazynet import LazyNetClassifier
        >>> model = LazyNetClassifier(fit_intercept=False)
        >>> model = model.partial_fit([[0.0]], ["no"], classes=["no", "yes"])
        >>> model.predict_proba([[1.0]])  # nothing has been learned from a row of zeros
        array([[0.5, 0.5]])
        """
        return self._probabilities(self._decision(X))

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        binary = decision.shape[1] == 1
        if self._loss_row() == SOFTMAX and not binary:
            return np.asarray(softmax(decision, axis=1), dtype=np.float64)
        # Each class gets its own p, not 1 - the other, so that small probabilities keep digits.
        sides = np.hstack([-decision, decision]) if binary else decision
        positive = self._probabilities_of_positives(sides)
        if binary:
            return positive
        total = positive.sum(axis=1, keepdims=True)
        # All zero: no class claims the example, so all are equally likely.
        positive[total[:, 0] == 0] = 1.0
        return positive / positive.sum(axis=1, keepdims=True)

    def _probabilities_of_positives(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the positive class of every output, each by itself."""
        if self._loss_row().name in ("log_loss", "softmax"):
            return np.asarray(expit(decision), dtype=np.float64)
        return (np.clip(decision, -1.0, 1.0) + 1.0) / 2.0

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``.

        >>> from lazynet import LazyNetClassifier
        >>> model = LazyNetClassifier(fit_intercept=False)
        >>> model = model.partial_fit([[0.0]], ["no"], classes=["no", "yes"])
        >>> model.predict_log_proba([[1.0]]).round(2)  # log(1/2)
        array([[-0.69, -0.69]])
        """
        return self._log_probabilities(self._decision(X))

    def _log_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._loss_row().name in ("log_loss", "softmax") and decision.shape[1] == 1:
            sides = np.hstack([-decision, decision])
            return np.asarray(log_expit(sides), dtype=np.float64)
        if self._loss_row() == SOFTMAX:
            return np.asarray(log_softmax(decision, axis=1), dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(decision))

    def _check_training(
        self, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
    ) -> tuple[Any, Any, NDArray[Any]]:
        """Checked X and y, and the classes; for ``classes=None`` the classes that occur in y."""
        X, y = checked_rows(self, X, reset, y=y)
        result = np.unique(y) if classes is None and y.dtype.kind in "biuf" else None
        if result is None or not are_classes_of(result, len(y)):
            with np.errstate(invalid="ignore"):  # scikit-learn casts y to integers and back
                check_classification_targets(y)
        if classes is None:
            classes = np.unique(y) if result is None else result
            if len(classes) < 2:
                only = classes.tolist()[0]
                raise ValueError(f"y must have at least two classes, got one class: {only!r}")
        elif not np.isin(y, classes).all():
            unknown = np.setdiff1d(y, classes)
            raise ValueError(f"y has labels {unknown} that are not among the classes {classes}")
        return X, y, classes

    def _rows_to_learn(
        self, p: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[sparse.csr_matrix, Any, NDArray[np.float64] | None]:
        X, y, classes = self._check_training(X, y, None, reset=reset)
        return X, (y, classes), importances(p.class_weight, classes, X, y, sample_weight)

    def _targets(self, X: Any, y: Any, weights: Any) -> Targets:
        labels, classes = y
        if len(classes) == 2:  # a comparison takes less time than a search
            codes = np.asarray(labels == classes[1], dtype=np.int64)
        else:
            codes = np.searchsorted(classes, labels)
        return Classes(codes, len(classes), weights)


class SparseRegressor(RegressorMixin, SparseLinear):
    """Predicts w.x + b; ``coef_`` has the shape (n_features,)."""

    _takes_margin_losses = False

    def _shaped(self, rows: Any) -> Any:
        return rows if sparse.issparse(rows) else rows[0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row."""
        return self._decision(X).ravel()

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = checked_rows(self, X, reset, y=y, y_numeric=True)
        return X, checked_targets(y, warn=reset)

    def _rows_to_learn(
        self, p: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[sparse.csr_matrix, Any, NDArray[np.float64] | None]:
        X, y = self._check_training(X, y, reset=reset)
        return X, y, check_sample_weight(sample_weight, X)

    def _targets(self, X: Any, y: Any, weights: Any) -> Targets:
        return Columns(y, weights)
