"""Linear classifiers: classes and labels in y, their predictions and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import check_any_weight, check_sample_weight, checked_rows, errors_about
from lazynet.data.chunks import Chunk
from lazynet.data.targets import CheckedRows, Classes, Labels, check_classes, checked_indicator
from lazynet.data.weights import Balanced, row_importances
from lazynet.estimators.linear import LinearModel
from lazynet.losses import SOFTMAX, Loss
from lazynet.parameters import check_integer, kinds_of
from lazynet.training.settings import Settings

#: The forms of y with a column per label for which predictions and weights are sparse.
SPARSE_FORMS = ("sparse matrix", "sparse array")


class LinearClassifier(ClassifierMixin, LinearModel):
    """Predicts classes by the sign of w.x + b; several classes are trained one against the rest.

    >>> from lazynet import FoBoS, LazyNetClassifier
    >>> X, y = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ["a", "b", "c"]
    >>> model = LazyNetClassifier(rule=FoBoS(eta0=1.0), max_iter=20, tol=None)
    >>> model.fit(X, y).predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
    [['a', 'c']]
    >>> Y = sparse.csr_matrix([[1, 0], [1, 1], [1, 0]])
    >>> model.fit(X, Y).predict(X).toarray()
    array([[1, 0],
           [1, 1],
           [1, 0]])
    >>> model = LazyNetClassifier(fit_intercept=False).partial_fit([[0.0]], ["no"], ["no", "yes"])
    >>> model.decision_function([[1.0]])  # nothing has been learned from a row of zeros
    array([0.])
    >>> model.predict_proba([[1.0]]), model.predict_log_proba([[1.0]]).round(2)
    (array([[0.5, 0.5]]), array([[-0.69, -0.69]]))
    """

    #: whether y may have a column for each of several labels
    _several_labels: bool = False
    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: shape (n_samples,) for two classes, (n_samples, n_classes) for more.

        With a column per label: (n_samples, n_labels).
        """
        decision = self._decision(X)
        return decision.ravel() if self._form is None and decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> Any:
        """The class of each row; or the labels of each row, in the form of the y of ``fit``."""
        if self._form in SPARSE_FORMS:
            kind = sparse.csr_array if self._form == "sparse array" else sparse.csr_matrix
            parts = [kind(decision > 0, dtype=np.int64) for decision in self._decisions(X)]
            return sparse.vstack(parts, format="csr")
        decision = self._decision(X)
        if self._form is not None:
            return (decision > 0).astype(np.int64)
        if decision.shape[1] == 1:
            return self.classes_[(decision[:, 0] > 0).astype(np.intp)]
        return self.classes_[decision.argmax(axis=1)]

    def predict_top(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ``k`` classes or labels with the highest w.x + b of each row, and these numbers.

        Two arrays of shape (n_samples, k), the highest first; of equal numbers the lower column
        comes first.  The rows are visited in blocks, so that little memory is needed.
        """
        check_is_fitted(self)
        n_outputs = len(self.classes_)
        k = check_integer("k", k, 1, n_outputs)
        labels, scores = [], []
        for block in self._decisions(X):
            decision = self._decision_by_class(block)
            best = highest_columns(decision, k)
            labels.append(best)
            scores.append(np.take_along_axis(decision, best, axis=1))
        return self.classes_[np.concatenate(labels)], np.concatenate(scores)

    def _decision_by_class(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """The decision for every class or label; for two classes it has one column."""
        is_one_of_two = self._form is None and decision.shape[1] == 1
        return np.hstack([-decision, decision]) if is_one_of_two else decision

    def _settled_loss(self) -> Loss:
        """The loss of the parameters."""
        loss: Loss = kinds_of(type(self))["loss"].settled("loss", self.loss)
        return loss

    def _has_probability(self) -> bool:
        if self._settled_loss().probability is not None:
            return True
        raise AttributeError(
            f"predict_proba needs a loss with probabilities, and loss={self.loss!r} has none: "
            f"write loss='log_loss'"
        )

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, shape (n_samples, n_classes), in the order of ``classes_``.

        With p = w.x + b: the logistic function of p for "log_loss", and (clip(p, -1, 1) + 1) / 2
        for "modified_huber".  For several classes these are divided by their sum, except with
        "softmax"; for labels they are not.
        """
        return self._probabilities(self._decision(X))

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        loss = self._settled_loss()
        # Whether the probabilities of the columns add up to 1.
        sum_to_one = self._form is None and decision.shape[1] > 1
        if loss == SOFTMAX and sum_to_one:
            return np.asarray(softmax(decision, axis=1), dtype=np.float64)
        # Each class gets its own p, not 1 - the other, so that small probabilities keep digits.
        by_class = self._decision_by_class(decision)
        if loss.probability == "logistic":
            positive = np.asarray(expit(by_class), dtype=np.float64)
        else:
            positive = (np.clip(by_class, -1.0, 1.0) + 1.0) / 2.0
        if not sum_to_one:
            return positive
        total = positive.sum(axis=1, keepdims=True)
        # If the probabilities of all classes are 0, all classes are equally likely.
        positive[total[:, 0] == 0] = 1.0
        return positive / positive.sum(axis=1, keepdims=True)

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of ``predict_proba``."""
        decision, loss = self._decision(X), self._settled_loss()
        sum_to_one = self._form is None and decision.shape[1] > 1
        if loss.probability == "logistic" and not sum_to_one:
            return np.asarray(log_expit(self._decision_by_class(decision)), dtype=np.float64)
        if loss == SOFTMAX:
            return np.asarray(log_softmax(decision, axis=1), dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(decision))

    def _checked_data(
        self, parameters: Any, rows: Chunk, classes: Any = None, *,
        reset: bool = False, some_rows: bool = False, checked: bool = False,
    ) -> CheckedRows:  # fmt: skip
        X, y, sample_weight = rows
        form = form_of(y) if self._several_labels else None
        if form is not None:
            X, indicator, classes = checked_labels(self, X, y, classes, reset)
            _check_settings_with_labels(parameters)
            weights = check_sample_weight(sample_weight, X, some_rows=some_rows)
            return CheckedRows(X, indicator, Labels(indicator, weights), weights, classes, form)
        if not checked:
            X, y = checked_rows(self, X, reset, y=y)
            classes = checked_classes(y, classes)
        importances = weights = check_sample_weight(sample_weight, X, some_rows=some_rows)
        class_weight = getattr(parameters, "class_weight", None)
        if class_weight is not None:
            importances = row_importances(class_weight, classes, y, weights)
            check_any_weight(some_rows or importances.any())
        # For two classes a comparison takes less time than a search.
        codes = y == classes[1] if len(classes) == 2 else np.searchsorted(classes, y)
        return CheckedRows(X, y, Classes(codes, len(classes), importances), weights, classes, None)


# --- classes ---------------------------------------------------------------------------


def checked_classes(y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[Any]:
    """The given classes, which must contain all of y; for ``None`` the classes that occur in y.

    >>> checked_classes(np.array(["b", "a", "b"]), None).tolist()
    ['a', 'b']
    """
    numbers = y.dtype.kind in "biuf"
    candidates = _values_of(y) if classes is None and numbers else classes
    sound = False
    if numbers and candidates is not None and candidates.dtype.kind in "biuf":
        # Few whole numbers are classes.
        values = candidates.astype(np.float64)
        sound = bool(((values == np.floor(values)) & (np.abs(values) < 2.0**53)).all())
        if classes is None:
            sound = sound and 2 * len(candidates) <= len(y)
        else:
            sound = sound and bool(np.isin(y, classes).all())
    if not sound:
        # scikit-learn refuses values that are no classes, and warns of as many classes as rows.
        with np.errstate(invalid="ignore"):  # it casts y to integers and back
            check_classification_targets(y)
    if classes is None:
        classes = np.unique(y) if candidates is None else candidates
        if len(classes) < 2:
            only = classes.tolist()[0]
            raise ValueError(f"y must have at least two classes, got one class: {only!r}")
    elif not sound and not np.isin(y, classes).all():
        unknown = np.setdiff1d(y, classes)
        raise ValueError(f"y has labels {unknown} that are not among the classes {classes}")
    return classes


def _values_of(y: NDArray[Any]) -> NDArray[Any]:
    """The values in y, sorted.

    >>> _values_of(np.array([1, 0, 1])), _values_of(np.array([2.0, 0.0, 1.0]))
    (array([0, 1]), array([0., 1., 2.]))
    """
    if len(y):
        # Two classes are found in a tenth of the time of a sort.
        low, high = y.min(), y.max()
        if low < high and bool(((y == low) | (y == high)).all()):
            return np.array([low, high], y.dtype)
    return np.unique(y)


# --- labels in columns ------------------------------------------------------------------


def checked_labels(
    estimator: Any, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
) -> tuple[sparse.csr_matrix, sparse.csr_matrix, NDArray[Any]]:
    """The checked X and y, and the names of the columns of y: ``classes``, or 0, 1, 2, ...."""
    (X,) = checked_rows(estimator, X, reset)
    with errors_about("y"):
        indicator = checked_indicator(y)
    if indicator.shape[0] != X.shape[0]:
        raise ValueError(
            f"y must have a row for each row of X: {X.shape[0]}, got {indicator.shape[0]}"
        )
    if classes is None:
        classes = np.arange(indicator.shape[1])
    if len(classes) != indicator.shape[1]:
        raise ValueError(
            f"y must have a column for each of {len(classes)} labels, got {indicator.shape[1]}"
        )
    return X, indicator, classes


def _check_settings_with_labels(settings: Settings) -> None:
    """Refuse settings that need one class per row."""
    if settings.class_weight is not None:
        raise ValueError(
            "class_weight must be None if y has a column per label, because a row has several "
            "classes or none: weigh the rows by sample_weight"
        )
    if settings.softmax:
        raise ValueError(
            "loss='softmax' gives every row one class, and y has a column per label: write "
            "loss='log_loss'"
        )


def form_of(y: Any) -> str | None:
    """The form of a y with a column per label; None: one class for each row.

    A matrix of one column is a column of classes, unless it is sparse.

    >>> form_of([[0, 1], [1, 1]]), form_of(sparse.csr_array([[1]])), form_of(np.zeros((2, 1)))
    ('dense', 'sparse array', None)
    """
    if sparse.issparse(y):
        return "sparse array" if isinstance(y, sparse.sparray) else "sparse matrix"
    shape = getattr(y, "shape", None)
    if isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple, np.ndarray)):
        shape = (len(y), len(y[0]))
    in_columns = isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1
    return "dense" if in_columns else None


def classes_of_partial_fit(
    classes: NDArray[Any] | None, named: Any, y: Any, class_weight: Any
) -> NDArray[Any]:
    """The checked classes of a call of ``partial_fit``, or names of the columns of labels.

    ``classes`` are the classes of the model so far, ``named`` the classes that the call names.
    """
    of_labels = form_of(y) is not None
    if named is not None:
        named = check_classes(named, of_columns=of_labels)
        if classes is not None and not np.array_equal(classes, named):
            raise ValueError(f"classes={named} is not the same as on the last call: {classes}")
        classes = named
    elif classes is None and of_labels:
        classes = np.arange(y.shape[1] if sparse.issparse(y) else np.shape(y)[1])
    if classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit")
    if class_weight == Balanced():
        raise ValueError(
            "class_weight='balanced' counts the rows of every class, and partial_fit sees only "
            "some of the rows: write class_weight=Balanced(class_counts={class: number of "
            "rows}), or pass a dict of weights"
        )
    if len(classes) < 2 and not of_labels:
        raise ValueError(f"classes must name at least two classes, got {classes}")
    return classes


def highest_columns(numbers: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The columns of the ``k`` highest numbers of each row, the highest and leftmost first.

    >>> highest_columns(np.array([[1.0, 3.0, 1.0, 3.0]]), 3)
    array([[1, 3, 0]])
    """
    n = numbers.shape[1]
    if k < n:
        # Several columns may hold the k-th highest number of a row: take the leftmost ones.
        least = np.partition(numbers, n - k, axis=1)[:, n - k, None]
        above, equal = numbers > least, numbers == least
        room = k - above.sum(axis=1, keepdims=True)
        taken = above | (equal & (np.cumsum(equal, axis=1) <= room))
        columns = np.nonzero(taken)[1].reshape(len(numbers), k)
    else:
        columns = np.tile(np.arange(n), (len(numbers), 1))
    reached = np.take_along_axis(numbers, columns, axis=1)
    order = np.argsort(-reached, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(columns, order, axis=1), dtype=np.int64)
