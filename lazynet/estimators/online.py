"""LazyNetClassifier: classification by every rule of the catalogue, on any X, y and stream."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import unusable
from lazynet.data.chunks import Chunk
from lazynet.data.source import Source
from lazynet.data.targets import Labels, Targets, checked_indicator
from lazynet.data.weights import (
    ClassWeight,
    check_sample_weight,
    counts_rows,
    importances,
)
from lazynet.estimators.inputs import (
    SPARSE_FORMS,
    checked_classes,
    checked_rows,
    classes_to_go_on_with,
    form_of,
    has_a_column_per_label,
    targets_of_classes,
)
from lazynet.estimators.linear import LinearClassifier
from lazynet.estimators.online_model import OnlineModel
from lazynet.losses import LossOfClasses
from lazynet.parameters import check_integer
from lazynet.training.settings import Settings
from lazynet.training.stream_rows import Prepare, balanced_for, is_sound


@dataclass(repr=False, eq=False)
class LazyNetClassifier(LinearClassifier, OnlineModel):
    """Linear classification with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2`` by stochastic gradient or proximal
    steps.  A step costs the nonzeros of its example, and after every step the weights equal those
    of the dense algorithm.  y has one class per row, or a column of 0 and 1 for each label.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "perceptron", a loss
        of :class:`LazyNetRegressor` on targets -1 and +1; or "softmax", which all classes share.
    l1, l2 : float, default=None, 0
        Strengths of the penalty: alpha * l1_ratio and alpha * (1 - l1_ratio) of scikit-learn.
        l1=None: ``fit`` computes a small l1 from the rows; ``partial_fit`` takes that of ``fit``.
    rule : str or object, default="auto"
        The update rule, such as "fobos" or "rda"; or the rule with its parameters, such as
        ``FoBoS(eta0=0.1, average=True)`` or ``RDA(gamma=5)``.  "auto" is ``AdaGrad()``, or
        ``FoBoS()`` for a squared loss.
    max_iter : int or None, default=None
        The largest number of epochs; None: 4, or 6 with a given penalty, or 12 for a table.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen by this share of its least value for ``n_iter_no_change``
        epochs, and return to the best epoch; None: make ``max_iter`` epochs.
    n_iter_no_change : int, default=5
        Epochs without progress after which training stops.
    early_stopping, validation_fraction : bool and float, default=False and 0.1
        Judge every epoch by the loss on this share of the rows, held out by class.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.
    random_state : int, RandomState or None, default=None
        Seed of the order and of the held-out rows.
    class_weight : dict, "balanced", Balanced or None, default=None
        The importance of a row by its class; ``Balanced(class_counts)`` serves ``partial_fit``.
    warm_start : bool, default=False
        Let ``fit`` start from the last weights (RDA, FTRL, AdaGrad: from the sums of gradients).
    dtype : "float64" or "float32", default="float64"
        The type of the weights while several outputs are learned in one pass.
    n_jobs : int or None, default=None
        Threads that share the outputs; the model is the same, bit for bit, for any number.
    verbose : int, default=0
        1: a line per epoch, and a progress bar on a terminal if tqdm is installed.

    Attributes
    ----------
    coef_, intercept_ : ndarray or CSR matrix with a row per output, ndarray of shape (n_outputs,)
        The model, one row for two classes; with ``average`` the averages.  Assign to change it.
    last_coef_, last_intercept_, support_ : ndarray
        The weights after the last step, and where they are not zero.
    classes_ : ndarray
        The class labels, sorted.
    n_iter_, best_epoch_, t_ : int
        Epochs trained; the epoch whose weights the model has; steps behind these weights.
    l1_, eta0_, units_ : float, float, Units or None
        The l1 and the scale of the rates; the sizes and means by which features were standardised.
    history_ : list of dict
        ``epoch``, ``progressive_loss``, ``seconds``, ``validation_loss``.

    Examples
    --------
    >>> X, y = [[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]
    >>> model = LazyNetClassifier(l1=0.0, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 1.0]]).tolist(), model.verify(X, y).agrees
    (['yes'], True)
    >>> (model.last_coef_ == model.coef_).all(), model.last_intercept_ == model.intercept_
    (np.True_, array([ True]))
    >>> model.support_
    array([[ True,  True]])
    """

    loss: LossOfClasses = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight = None

    #: how the labels of a row were given: "dense", "sparse matrix" or "sparse array"; None: y has
    #: one class for each row
    _labels_given: str | None = field(init=False, default=None)

    def _read(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: NDArray[Any] | None = None,
        *,
        reset: bool = False,
        some_rows: bool = False,
        checked: bool = False,
    ) -> tuple[sparse.csr_matrix, Targets, NDArray[Any], str | None]:
        """The checked X, its targets, the classes or labels, and the form of y if it has labels.

        X and a y of classes may have been ``checked`` before.
        """
        if has_a_column_per_label(y):
            return self._read_labels(settings, X, y, sample_weight, classes, reset, some_rows)
        if not checked or classes is None:
            X, y, classes = checked_classes(self, X, y, classes, reset)
        weight_of = settings.class_weight
        weights = importances(weight_of, classes, X, y, sample_weight, some_rows=some_rows)
        return X, targets_of_classes(y, classes, weights), classes, None

    def _read_labels(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: NDArray[Any] | None,
        reset: bool,
        some_rows: bool,
    ) -> tuple[sparse.csr_matrix, Targets, NDArray[Any], str]:
        """As ``_read``, for a y with a column per label."""
        (X,) = checked_rows(self, X, reset)
        with unusable("y"):
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
        if settings.class_weight is not None:
            raise ValueError(
                "class_weight must be None where y has a column per label, because a row has no "
                "single class: weigh the rows by sample_weight"
            )
        if settings.softmax:
            raise ValueError(
                "loss='softmax' gives every row one class, and y has a column per label: write "
                "loss='log_loss'"
            )
        weights = check_sample_weight(sample_weight, X, some_rows=some_rows)
        return X, Labels(indicator, weights), classes, form_of(y)

    def _note_labels(self, form: str | None) -> None:
        """Remember in which form labels are to be predicted; sparse labels make weights sparse."""
        if self._labels_given in SPARSE_FORMS and form not in SPARSE_FORMS:
            self._sparse_coef = False
        self._labels_given = form
        if form in SPARSE_FORMS:
            self._sparse_coef = True

    def _log_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None and self._loss_row().name == "log_loss":
            return np.asarray(log_expit(decision), dtype=np.float64)
        return super()._log_probabilities(decision)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: shape (n_samples,) for two classes, (n_samples, n_classes) for more.

        With a column per label: (n_samples, n_labels).

        >>> from lazynet import FoBoS
        >>> rule = FoBoS("constant", eta0=1.0)
        >>> model = LazyNetClassifier("hinge", rule=rule, l1=0.0, fit_intercept=False)
        >>> model = model.partial_fit([[2.0]], ["yes"], classes=["no", "yes"])
        >>> model.decision_function([[1.0], [-3.0]])
        array([ 2., -6.])
        """
        if self._labels_given is None:
            return super().decision_function(X)
        return self._decision(X)

    def predict(self, X: Any) -> Any:
        """The class of each row; or the labels of each row, in the form in which ``fit`` got them.

        Sparse labels are predicted in blocks of rows.

        >>> from lazynet import FoBoS
        >>> from scipy import sparse
        >>> X, Y = [[1.0, 0.0], [1.0, 2.0]], sparse.csr_matrix([[1, 0], [1, 1]])
        >>> model = LazyNetClassifier(rule=FoBoS(eta0=1.0), max_iter=20, tol=None).fit(X, Y)
        >>> model.predict(X).toarray()
        array([[1, 0],
               [1, 1]])
        """
        if self._labels_given is None:
            return super().predict(X)
        if self._labels_given == "dense":
            return (self._decision(X) > 0).astype(np.int64)
        kind = sparse.csr_array if self._labels_given == "sparse array" else sparse.csr_matrix
        parts = [kind(decision > 0, dtype=np.int64) for decision in self._decisions(X)]
        return sparse.vstack(parts, format="csr")

    def predict_top(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ``k`` classes or labels with the highest w.x + b of each row, and these numbers.

        Returns two arrays of shape (n_samples, k), the highest first; of equal numbers the one with
        the lower column comes first, as in ``predict``.  Rows are taken in blocks, so that no array
        of all rows and all labels is made.

        >>> X, y = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ["a", "b", "c"]
        >>> from lazynet import FoBoS
        >>> model = LazyNetClassifier(rule=FoBoS(eta0=1.0), max_iter=20, tol=None).fit(X, y)
        >>> model.predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
        [['a', 'c']]
        """
        check_is_fitted(self)
        n_outputs = len(self.classes_)
        k = check_integer("k", k, 1, n_outputs)
        labels, scores = [], []
        for block in self._decisions(X):
            decision = np.hstack([-block, block]) if block.shape[1] < n_outputs else block
            best = highest_columns(decision, k)
            labels.append(best)
            scores.append(np.take_along_axis(decision, best, axis=1))
        return self.classes_[np.concatenate(labels)], np.concatenate(scores)

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None:
            return self._probabilities_of_positives(decision)
        return super()._probabilities(decision)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _rows_of_fit(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any
    ) -> tuple[sparse.csr_matrix, Targets]:
        X, targets, classes, form = self._read(settings, X, y, sample_weight, reset=True)
        self._begin_with(settings, classes, form)
        return X, targets

    def _chunk_reader(self, settings: Settings, source: Source) -> tuple[Settings, Prepare]:
        facts = source.facts()
        if facts.n_labels is not None:
            classes, form = np.arange(facts.n_labels), "sparse matrix"
        elif facts.classes is None or len(facts.classes) < 2:
            what = "numbers" if facts.classes is None else f"the class {facts.classes}"
            raise ValueError(f"y must have at least two classes, and the source has {what}")
        else:
            classes, form = np.array(facts.classes), None
            if counts_rows(settings.class_weight):
                settings = replace(settings, class_weight=balanced_for(source))
        self._begin_with(settings, classes, form)
        return settings, partial(self._rows_of_chunk, settings, classes)

    def _rows_of_chunk(
        self, settings: Settings, classes: NDArray[Any], chunk: Chunk, checked: bool = False
    ) -> tuple[sparse.csr_matrix, Targets]:
        """The checked rows of a chunk and their targets."""
        sound = is_sound(chunk, self.n_features_in_, checked, classes)
        return self._read(settings, *chunk, classes, some_rows=True, checked=sound)[:2]

    def _begin_with(self, settings: Settings, classes: NDArray[Any], form: str | None) -> None:
        """Note classes and the form of y; refuse what a warm start cannot go on with."""
        previous = getattr(self, "classes_", None)
        if settings.warm_start and previous is not None:
            if not np.array_equal(previous, classes):
                raise ValueError(
                    f"warm_start=True continues a model of the classes {previous}, "
                    f"but y has {classes}; fit it with warm_start=False"
                )
            if (form is None) != (self._labels_given is None):
                had, has = ("classes", "labels") if form else ("labels", "classes")
                raise ValueError(
                    f"warm_start=True continues a model of {had}, but y has {has}; fit it with "
                    f"warm_start=False"
                )
        self._note_labels(form)
        self.classes_ = classes

    @available_if(OnlineModel._learns_from_streams)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; a step costs the nonzeros of its row.

        The first call names all ``classes``.  For a y with a column per label ``classes`` may name
        the columns, in their order; else they are called 0, 1, 2, ....  A call that fails leaves
        the model as it was.
        X may be a source of chunks, which has y and the weights in it: one pass, in its own order.

        >>> from lazynet import FoBoS
        >>> model = LazyNetClassifier("hinge", rule=FoBoS("constant", eta0=0.5), l1=0.0)
        >>> for row, label in (([[1.0, 0.0]], "no"), ([[0.0, 2.0]], "yes")):
        ...     _ = model.partial_fit(row, [label], classes=["no", "yes"])
        >>> model.t_, model.coef_, model.intercept_  # -0.5, then +0.5
        (2, array([[-0.5,  1. ]]), array([0.]))
        """
        self._warn(self._learn_on(X, y, sample_weight, sample_order, classes))
        return self

    def _rows_of_partial_fit(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, classes: Any, of_pass: bool
    ) -> tuple[sparse.csr_matrix, Targets]:
        fitted, reset = self.__sklearn_is_fitted__(), not self.__sklearn_is_fitted__()
        known = classes_to_go_on_with(
            getattr(self, "classes_", None), classes, y, settings.class_weight
        )
        X, targets, self.classes_, form = self._read(
            settings, X, y, sample_weight, known, reset=reset, some_rows=of_pass
        )
        if not fitted:
            self._note_labels(form)
        elif (form is None) != (self._labels_given is None):
            raise ValueError(
                "y must have a column per label in every call of partial_fit, or one class per "
                "row in every call"
            )
        return X, targets


def highest_columns(numbers: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The columns of the ``k`` highest numbers of each row, the highest and leftmost first.

    >>> highest_columns(np.array([[1.0, 3.0, 1.0, 3.0]]), 3)
    array([[1, 3, 0]])
    """
    n = numbers.shape[1]
    if k < n:
        # The k-th highest number of a row may stand in several columns: the leftmost are taken.
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
