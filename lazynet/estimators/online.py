"""LazyNetClassifier and LazyNetRegressor: every rule of the catalogue, on any X, y and stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit, log_softmax, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lazynet.averages import AverageLike
from lazynet.data.arrays import checked_targets, unusable
from lazynet.data.chunks import Chunk
from lazynet.data.source import Source
from lazynet.data.targets import Labels, Problems, checked_indicator
from lazynet.data.weights import (
    CLASS_WEIGHT,
    Balanced,
    ClassWeightLike,
    check_classes,
    check_labels,
    check_sample_weight,
)
from lazynet.engines.catalogue import RuleLike
from lazynet.estimators.base import SparseClassifier, SparseRegressor, helpful
from lazynet.estimators.highest import highest_columns
from lazynet.estimators.label_columns import SPARSE_FORMS, form_of, has_a_column_per_label
from lazynet.estimators.planning import DTYPE
from lazynet.estimators.stacked import outputs_of
from lazynet.estimators.streams import (
    Prepare,
    are_classes,
    balanced_for,
    is_sound,
)
from lazynet.estimators.training import FittedModel
from lazynet.losses import LossLike, get_loss
from lazynet.parameters import THREADS, Choice, check_integer, table
from lazynet.persistence.attributes import attributes, flag, optional, text
from lazynet.rules.storage import FormLike
from lazynet.schedules import ScheduleLike
from lazynet.training.defaults import AUTO, N_ITER_NO_CHANGE, TOL, VALIDATION_FRACTION


def _n_columns_of(y: Any) -> int:
    return int(y.shape[1] if sparse.issparse(y) else np.shape(y)[1])


class LazyNetClassifier(SparseClassifier, FittedModel):
    """Linear classification with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2`` by stochastic gradient or proximal
    steps.  A step costs the nonzeros of its example, and after every step the weights equal the
    weights of the dense algorithm.  Several classes are trained one against the rest, or share the
    softmax; y may also have a column of 0 and 1 for each of many labels.  All of them learn in one
    pass over X.

    Rules, schedules, engines, averages and losses are named by a string, or given as an object
    that carries its own parameters, such as ``rule=RDA(gamma=5)``.  ``GridSearchCV`` searches the
    parameters of such an object as ``rule__gamma``.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "smooth_hinge" (Rennie & Srebro 2005: the hinge,
        rounded by a parabola between the margins 0 and 1), "modified_huber", "perceptron"
        (which, as in scikit-learn, moves the weights at a margin of 0, so that zero weights begin
        to learn), or a loss of :class:`LazyNetRegressor` on targets -1 and +1.
    l1, l2 : float, default=None, 0
        Strengths of the penalty, any values >= 0.  In scikit-learn's terms l1 = alpha * l1_ratio
        and l2 = alpha * (1 - l1_ratio).  l1=None: ``fit`` takes a share of the root mean square of
        the norms of the rows, divided by the number of rows (for "squared_error" also times the
        standard deviation of y); the share is 0.01 for a classifier whose rows are no table (see
        below), and otherwise 0.003.  ``partial_fit``, which does not know the rows to come, takes
        the l1 of the last ``fit``, or 0.  Where this l1 is the only penalty, and the rates too are
        computed from the rows, ``fit`` of a regressor, or of a classifier with a table (at least
        ten rows for every feature, or a quarter of all values not 0), learns from features in
        units of their own (``units_``): divided by their root mean square, and measured from
        their mean where at least half of the rows have a value that is not 0.  Several targets of
        "squared_error" or "absolute_error" are then divided by their standard deviations, too.
        ``coef_`` and ``intercept_`` belong to rows and targets as they are.
    rule : str or object, default="auto"
        The update rule.  "auto": ``AdaGrad()`` for a classifier; ``FoBoS()`` for a regressor, for
        the loss "squared_error", and wherever ``eta0``, ``schedule``, ``engine``, ``average`` or
        ``positive`` is given.  "fobos", ``FoBoS(step_order)``: the proximal map, at any rate.
        "sgd", ``SGD(step_order)``: shrink by the subgradient, at rates below 1 / l2.
        "truncated_gradient", ``TruncatedGradient(period, threshold)``: the subgradient step with l1
        as gravity.  "rda", ``RDA(gamma, rho)``: regularised dual averaging.  "ftrl",
        ``FTRL(alpha, beta, penalty)``: FTRL-Proximal; in its published form, penalty="once", l1 and
        l2 count once and not once per example.
        "adagrad", ``AdaGrad(alpha, delta, initial)``: a rate per coordinate.  "saga",
        ``SAGA(alpha)``: remembers the slope of every row and converges at a constant rate; it needs
        ``fit``, and with ``alpha=None`` a loss whose slope does not jump.  All of these are exact;
        "carpenter_inexact", ``Carpenter(period)``, is not.
    schedule : str, object, array, or callable, default="auto"
        The rate of step t = 0, 1, 2, ....  "auto": "power" if ``eta0`` is given; else
        ``FromData()`` for the rules "fobos" and "sgd" on the clock, "power" for the others.
        "constant" eta0, "inverse_time" eta0/(1+t),
        "inverse_sqrt" eta0/sqrt(1+t), "power" eta0/(1+t)^power_t with power_t = 1/4, "pegasos"
        1/(l2 (2+t)), "optimal" 1/(l2 (t0+t)) with the t0 of SGDClassifier, "adaptive" eta0 / 5^k
        after k stalls; the objects ``Constant``, ``InverseTime``, ``InverseSqrt``,
        ``Power(eta0, power_t)``, ``Pegasos(l2, t0)``, ``Optimal(l2, t0)``,
        ``Adaptive(eta0, divisor, least)``; the rates themselves; or a function of t.
        "rda", "ftrl", "adagrad" and "saga" have rates of their own.
    eta0 : float or None, default=None
        Scale of the rate of a schedule that is named by a string.  None: ``schedule="auto"`` needs
        none where it takes the rates from the data; elsewhere the largest scale for
        which no step overshoots on any row of the first call, 1 / (c * max |x|^2), c the largest
        curvature of the loss (1 where the loss has kinks) and |x|^2 the squared norm of a row, with
        the intercept's 1.  (Where the slope of the loss is unbounded, |x|^2 is multiplied by the
        sample weight.)  Give eta0 for streams whose first rows are not typical.
    engine : str or object, default="clock"
        How the weights are kept: "clock"; "tables", ``Tables(budget)``, Lipton & Elkan's form;
        "rescaled", a scale times a vector (l1=0 only); "dense", ``Dense(predictions)``, every
        weight at every step.
    average : bool, int, str or object, default=False
        Predict with the exact mean of the weights after every step instead of the last weights.
        True: of all steps; k or ``FromStep(k)``: from step k = 1, 2, ... on; "suffix",
        ``Suffix()``: over the last half of the steps (needs ``tol=None``); "polynomial",
        ``PolynomialDecay(degree)``.  A step still costs its nonzeros, under an l1 penalty too,
        unless it wipes out a good part of every weight (eta * l2 of order 1): then all weights must
        be visited every few dozen steps.  Until a step has counted, ``coef_`` holds the last
        weights.  A change of ``average`` between calls of ``partial_fit`` begins a new average.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 4, or 6 with a given penalty, or 12 where X is a
        table (see ``l1``); with a ``sample_order`` for every epoch, as many as it has.  Where no
        penalty is given, X is no table, and the rule is ``AdaGrad()``, the rates of the weights are
        divided by 5, 9, 13, ... in the epochs of ``fit`` after the fourth, because to go on at full
        rates is to learn the rows by heart.  With max_iter=None, the log loss and two classes (or
        one label), such a fit looks at its first epoch: the epoch is bad if its progressive loss is
        above (1 + tol) times the loss of the best constant prediction (without an intercept, of 0).
        After a bad epoch the fit begins anew at a quarter of the rates.  If the second epoch is not
        bad, the fit ends with its weights.  Otherwise the fit goes back to the end of the first
        epoch and ends after one more from there: labels are noisy or rows are few, and more epochs
        would learn them by heart.  ``history_`` has a line for every epoch.  None of this is done
        with tol=None, ``early_stopping``, a ``sample_order``, a given start, or ``warm_start`` on a
        fitted model.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen below (1 - tol) times its least value for
        ``n_iter_no_change`` epochs in a row; ``tol`` is a share, so that it means the same for all
        data; ``max_iter`` names one more use.  The loss is the progressive loss of the epoch (see
        ``history_``); with ``early_stopping`` it is the loss on the rows that are held out.  The
        model keeps the weights of the epoch with the least loss.  The progressive loss judges the
        weights of a whole epoch, and those at its end are kept; it cannot judge an average, so that
        without ``early_stopping`` the average of all epochs is kept.  None: exactly ``max_iter``
        epochs, and, without ``early_stopping``, the weights after the last.
    n_iter_no_change : int, default=5
        Epochs without progress after which training stops; see ``tol``.
    early_stopping : bool, default=False
        Hold out some rows, and judge every epoch by the loss on them; see ``tol``.  The held-out
        rows have every class in its share, if each row has one class; of a source a hash of the
        number of each row chooses them.  ``partial_fit`` makes one pass and holds nothing out.
    validation_fraction : float, default=0.1
        The share of the rows that ``early_stopping`` holds out, chosen by ``random_state``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    positive : bool, default=False
        Keep every weight at 0 or above: a step that would take a weight of its row below 0 sets it
        to 0.  The intercept may be negative.  For "fobos" and "sgd" with ``engine="clock"`` and
        without an average; with several classes every class has weights of one sign.
    batch_size : int, default=1
        The number of rows that a step learns from: the next rows of the epoch, predicted with the
        same weights; the gradient is the mean of their gradients, and one shrink follows.  An epoch
        of n rows has ceil(n / batch_size) steps, and the last step may have fewer rows.  Above 1,
        ``schedule="auto"`` is "power"; the rules "saga" and "carpenter_inexact", ``FromData()``,
        ``positive``, ``group``, the softmax and engines other than "clock" are refused.
    group : "l2", "max" or None, default=None
        Where there are several classes or labels, let the l1 penalty act on a norm of all weights
        of a feature, so that a feature is kept or dropped for all of them together: "l2", the
        Euclidean norm; "max", the largest size of a weight.  For "fobos" on the clock with a
        schedule, without an average; ``rule="auto"`` is "fobos" then, ``schedule="auto"`` "power".
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.  Without shuffling and without an
        intercept, row i of epoch e is step t = e*n + i.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    class_weight : dict, "balanced", Balanced or None, default=None
        The importance of an example by its class.  "balanced": every class weighs the same.
        ``Balanced(class_counts)`` computes these weights from the counts or the shares of the
        classes, for ``partial_fit``, which does not see all rows.  Not for labels in columns.
    multi_class : "ovr" or "multinomial", default="ovr"
        With more than two classes: "ovr" learns every class against the rest; "multinomial" lets
        the classes share the softmax as their loss, log(sum of exp p_k) - p_y, which needs
        ``loss="log_loss"``.
    warm_start : bool, default=False
        Let ``fit`` start from the weights after the last step; t starts at 0 again, an average
        starts anew, and "saga" remembers no slopes.  RDA, FTRL and AdaGrad go on from their own
        sums of gradients, as ``partial_fit`` does: their rates do not start anew.
    dtype : "float64" or "float32", default="float64"
        The type of the weights while several classes or labels are learned in one pass over X, by
        one of the rules "fobos", "sgd", "rda", "ftrl" and "adagrad".  "float32" takes half the
        memory and less time; its weights are inexact in the last digits of a float32.
    n_jobs : int or None, default=None
        The number of threads that share the classes or labels, at least 8 of them a thread (32 with
        ``FromData()``); -1 means one for each processor.  The model is the same, bit for bit, for
        any number.
    verbose : int, default=0
        1: a line per epoch, and a progress bar on a terminal if tqdm is installed; for several
        classes, labels or targets, first a line with the memory that the weights will take.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (1, n_features), (n_classes, ...) or (n_labels, ...)
        The weights; with ``average``, the averages of the weights.  A row per class, one row for
        two classes; with labels in columns a row per label.  Assign an array to change the model.
    intercept_ : ndarray of shape (1,), (n_classes,) or (n_labels,)
        The intercept of each row of ``coef_``.
    last_coef_, last_intercept_ : ndarray
        Weights and intercepts after the last step, where ``coef_`` holds averages.
    support_ : ndarray of bool, of the shape of ``coef_``
        Where ``last_coef_`` is not zero.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        Epochs trained.
    best_epoch_ : int
        The epoch at whose end the weights of the model were reached, from 0 on; see ``tol``.
    t_ : int
        Steps behind the weights of the model: the number of the next step.
    l1_ : float
        The l1 of the last call; where there are ``units_``, of the weights in these units.
    units_ : Units or None
        The units in which the features have been learned from: ``units_.sizes`` and
        ``units_.means``, an entry per feature, and the sizes of several targets,
        ``units_.targets``; None for features as they are.  See ``l1``.
    eta0_ : float
        The scale of the rates: eta0 of the schedule, or alpha of the rule.
    history_ : list of dict
        Per epoch: ``epoch``; ``progressive_loss``, the mean loss of predictions that are each made
        before the row is learned from; ``seconds`` of training.  With ``early_stopping`` also
        ``validation_loss`` and ``validation_score`` on the rows that are held out: the share of
        rows whose class, or whose labels one and all, are predicted right; or R^2.  A
        ``callback`` of ``fit`` can read the objective after every epoch.
        Losses are sums over classes, labels or targets (in ``units_``, where there are some), so
        that all of them stop together; sample and class weights multiply them.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import LazyNetClassifier
    >>> X = sparse.random(200, 1000, density=0.02, format="csr", random_state=0)
    >>> y = np.where(np.asarray(X[:, :500].sum(axis=1)).ravel() > 5, "yes", "no")
    >>> model = LazyNetClassifier(l1=1e-4, eta0=2.0, random_state=0).fit(X, y)
    >>> float(model.score(X, y)) > 0.95
    True
    >>> model.verify(X, y, max_rows=50).agrees
    True

    Labels in columns, learned in one pass:

    >>> Y = np.column_stack([X[:, :500].sum(axis=1) > 5, X[:, 500:].sum(axis=1) > 5]).astype(int)
    >>> labels = LazyNetClassifier(l1=1e-4, eta0=2.0, random_state=0).fit(X, Y)
    >>> labels.coef_.shape, labels.predict(X[:1]).shape
    ((2, 1000), (1, 2))

    Two steps that can be followed by hand: the first step gives -0.5 to the first weight, the
    second step gives 1.0 to the other weight, and each shrink takes 0.05.

    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    >>> options = dict(loss="modified_huber", l1=0.2, l2=0.0, schedule="constant", eta0=0.25,
    ...                fit_intercept=False, shuffle=False, max_iter=1, tol=None)
    >>> model = LazyNetClassifier(**options).fit(X, ["no", "yes"])
    >>> model.coef_.round(3), model.intercept_
    (array([[-0.4 ,  0.95]]), array([0.]))
    >>> model.decision_function(X).round(3), model.predict(X).tolist()
    (array([-0.4,  1.9]), ['no', 'yes'])
    >>> model.predict_proba(X).round(3).tolist()  # of "no" and of "yes"
    [[0.7, 0.3], [0.0, 1.0]]

    With ``average`` the model is the mean of the weights after the first and after the second
    step, and ``last_coef_`` holds the weights after the second step:

    >>> model = LazyNetClassifier(**options, average=True).fit(X, ["no", "yes"])
    >>> model.coef_.round(3), model.last_coef_.round(3)
    (array([[-0.425,  0.475]]), array([[-0.4 ,  0.95]]))
    >>> model.last_intercept_, model.support_
    (array([0.]), array([[ True,  True]]))
    """

    _kinds = table(
        **FittedModel._kinds,
        multi_class=Choice(accepted=("ovr", "multinomial")),
        class_weight=CLASS_WEIGHT,
        dtype=DTYPE,
        n_jobs=THREADS,
    )

    #: how the labels of a row were given: "dense", "sparse matrix" or "sparse array"; None: y has
    #: one class for each row
    _labels_given: str | None = None
    _saved = attributes(_labels_given=optional(text("dense", *SPARSE_FORMS)))

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1: float | None = None,
        l2: float = 0.0,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        engine: FormLike = "clock",
        average: AverageLike = False,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        early_stopping: bool = False,
        validation_fraction: float = VALIDATION_FRACTION,
        fit_intercept: bool = True,
        positive: bool = False,
        batch_size: int = 1,
        group: str | None = None,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: ClassWeightLike | None = None,
        multi_class: str = "ovr",
        warm_start: bool = False,
        dtype: str = "float64",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _check_training(
        self, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
    ) -> tuple[Any, Any, NDArray[Any]]:
        if not has_a_column_per_label(y):
            return super()._check_training(X, y, classes, reset)
        X = self._check_X(X, reset)[0]
        with unusable("y"):
            indicator = checked_indicator(y)
        if indicator.shape[0] != X.shape[0]:
            raise ValueError(
                f"y must have a row for each row of X: {X.shape[0]}, got {indicator.shape[0]}"
            )
        if classes is not None and len(classes) != indicator.shape[1]:
            raise ValueError(
                f"y must have a column for each of {len(classes)} labels, got {indicator.shape[1]}"
            )
        indicator.form = form_of(y)
        return X, indicator, np.arange(indicator.shape[1]) if classes is None else classes

    def _note_labels(self, form: str | None) -> None:
        """Remember in which form labels are to be predicted; sparse labels make weights sparse."""
        if self._labels_given in SPARSE_FORMS and form not in SPARSE_FORMS:
            self._sparse_coef = False
        self._labels_given = form
        if form in SPARSE_FORMS:
            self._sparse_coef = True

    def _importances(
        self,
        p: SimpleNamespace,
        classes: NDArray[Any],
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        some_rows: bool = False,
    ) -> NDArray[np.float64] | None:
        if not sparse.issparse(y):
            return super()._importances(p, classes, X, y, sample_weight, some_rows=some_rows)
        if p.class_weight is not None:
            raise ValueError(
                "class_weight must be None where y has a column per label, because a row has no "
                "single class: weigh the rows by sample_weight"
            )
        if p.multi_class == "multinomial":
            raise ValueError(
                "multi_class='multinomial' gives every row one class, and y has a column per "
                "label: write multi_class='ovr'"
            )
        return check_sample_weight(sample_weight, X, some_rows=some_rows)

    def _problems(self, X: Any, y: Any, weights: Any) -> Problems:
        given, _ = y
        if sparse.issparse(given):
            return Labels(given, weights)
        return super()._problems(X, y, weights)

    def _log_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None and get_loss(self.loss).name == "log_loss":
            return np.asarray(log_expit(decision), dtype=np.float64)
        if self.multi_class == "multinomial" and decision.shape[1] > 1:
            return np.asarray(log_softmax(decision, axis=1), dtype=np.float64)
        return super()._log_probabilities(decision)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: shape (n_samples,) for two classes, (n_samples, n_classes) for more.

        With a column per label: (n_samples, n_labels).
        """
        if self._labels_given is None:
            return super().decision_function(X)
        return self._decision(X)

    def predict(self, X: Any) -> Any:
        """The class of each row; or the labels of each row, in the form in which ``fit`` got them.

        Sparse labels are predicted in blocks of rows.

        >>> from scipy import sparse
        >>> X, Y = [[1.0, 0.0], [1.0, 2.0]], sparse.csr_matrix([[1, 0], [1, 1]])
        >>> LazyNetClassifier(eta0=1.0, max_iter=20, tol=None).fit(X, Y).predict(X).toarray()
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
        >>> model = LazyNetClassifier(eta0=1.0, max_iter=20, tol=None).fit(X, y)
        >>> model.predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
        [['a', 'c']]
        """
        check_is_fitted(self)
        n_outputs = len(self.classes_)
        k = check_integer("k", k, 1, n_outputs)
        found, scores = [], []
        for block in self._decisions(X):
            decision = np.hstack([-block, block]) if block.shape[1] < n_outputs else block
            best = highest_columns(decision, k)
            found.append(best)
            scores.append(np.take_along_axis(decision, best, axis=1))
        return self.classes_[np.concatenate(found)], np.concatenate(scores)

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None:
            return self._probabilities_of_positives(decision)
        if self.multi_class == "multinomial" and decision.shape[1] > 1:
            return np.asarray(softmax(decision, axis=1), dtype=np.float64)
        return super()._probabilities(decision)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _rows_to_learn(
        self, p: SimpleNamespace, X: Any, y: Any, sample_weight: Any
    ) -> tuple[sparse.csr_matrix, Any, NDArray[np.float64] | None]:
        X, (y, classes), weights = super()._rows_to_learn(p, X, y, sample_weight)
        self._begin_with(p, classes, getattr(y, "form", None))
        return X, (y, classes), weights

    def _prepare_for(self, p: SimpleNamespace, source: Source) -> Prepare:
        facts = source.facts()
        if facts.n_labels is not None:
            classes, form = np.arange(facts.n_labels), "sparse matrix"
        elif facts.classes is None or len(facts.classes) < 2:
            found = "numbers" if facts.classes is None else f"the class {facts.classes}"
            raise ValueError(f"y must have at least two classes, and the source has {found}")
        else:
            classes, form = np.array(facts.classes), None
            if isinstance(p.class_weight, Balanced) and p.class_weight.class_counts is None:
                p.class_weight = balanced_for(source)
        self._begin_with(p, classes, form)
        return partial(self._prepared, p, classes)

    def _prepared(
        self, p: SimpleNamespace, classes: NDArray[Any], chunk: Chunk
    ) -> tuple[sparse.csr_matrix, Problems]:
        """The checked rows of a chunk and their problems."""
        X, y = chunk.X, chunk.y
        if not (is_sound(chunk, self.n_features_in_) and are_classes(y, classes)):
            X, y, _ = self._check_training(X, y, classes, reset=False)
        weights = self._importances(p, classes, X, y, chunk.weight, some_rows=True)
        return X, self._problems(X, (y, classes), weights)

    def _begin_with(self, p: SimpleNamespace, classes: NDArray[Any], form: str | None) -> None:
        """Note classes and the form of y; refuse what a warm start cannot go on with."""
        previous = getattr(self, "classes_", None)
        if p.warm_start and previous is not None:
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

    @available_if(FittedModel._learns_from_streams)
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

        >>> model = LazyNetClassifier("hinge", eta0=0.5, schedule="constant", l1=0.0, l2=0.0)
        >>> for row, label in (([[1.0, 0.0]], "no"), ([[0.0, 2.0]], "yes")):
        ...     _ = model.partial_fit(row, [label], classes=["no", "yes"])
        >>> model.t_, model.coef_, model.intercept_  # -0.5, then +0.5
        (2, array([[-0.5,  1. ]]), array([0.]))
        """
        self._warn(self._learn_on(X, y, sample_weight, sample_order, classes=classes))
        return self

    def _learn_from(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sample_order: Any = None,
        *,
        classes: Any,
        of_pass: bool = False,
    ) -> list[Warning]:
        """Learn from some rows, as they are given or as those of a pass over a source."""
        p = self._settle()
        p.shuffle = p.shuffle and not of_pass
        count = partial(_n_columns_of, y) if has_a_column_per_label(y) else None
        known = self._classes_to_go_on_with(p, classes, count)
        begun = self.__sklearn_is_fitted__()
        X, y, _ = self._check_training(X, y, known, reset=not begun)
        self._go_on_with_labels(getattr(y, "form", None))
        weights = self._importances(p, known, X, y, sample_weight, some_rows=of_pass)
        warnings = self._fit_on(p, X, (y, known), weights, sample_order)
        self.classes_ = known
        return warnings

    def _classes_to_go_on_with(
        self, p: SimpleNamespace, classes: Any, count: Callable[[], int] | None
    ) -> NDArray[Any]:
        """The checked classes of a call of ``partial_fit``, or names of the columns of labels.

        ``count`` counts the columns of a y that has one for each label; None: a class per row.
        """
        known: NDArray[Any] | None = getattr(self, "classes_", None)
        if classes is None and known is None and count is not None:
            known = np.arange(count())
        if classes is not None:
            given = (check_classes if count is None else check_labels)(classes)
            if known is not None and not np.array_equal(known, given):
                raise ValueError(f"classes={given} is not the same as on the last call: {known}")
            known = given
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if isinstance(p.class_weight, Balanced) and p.class_weight.class_counts is None:
            raise ValueError(
                "class_weight='balanced' counts the rows of every class, and partial_fit sees only "
                "some of the rows: write class_weight=Balanced(class_counts={class: number of "
                "rows}), or pass a dict of weights"
            )
        if len(known) < 2 and count is None:
            raise ValueError(f"classes must name at least two classes, got {known}")
        return known

    def _go_on_with_labels(self, form: str | None) -> None:
        """Note the form of y in the first call of ``partial_fit``; refuse another kind later."""
        if not self.__sklearn_is_fitted__():
            self._note_labels(form)
        elif (form is None) != (self._labels_given is None):
            raise ValueError(
                "y must have a column per label in every call of partial_fit, or one class per "
                "row in every call"
            )


class LazyNetRegressor(SparseRegressor, FittedModel):
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

    >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25, average=True,
    ...                          max_iter=2, tol=None).fit([[1.0]], [4.0])
    >>> model.coef_, model.intercept_
    (array([1.25]), array([1.25]))
    >>> model.last_coef_, model.last_intercept_, model.support_
    (array([1.5]), array([1.5]), array([ True]))
    """

    _kinds = table(**FittedModel._kinds, dtype=DTYPE, n_jobs=THREADS)

    #: whether y has a column per target, of which there may be one
    _several_targets: bool = False
    _saved = attributes(_several_targets=flag)

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1: float | None = None,
        l2: float = 0.0,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        engine: FormLike = "clock",
        average: AverageLike = False,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        early_stopping: bool = False,
        validation_fraction: float = VALIDATION_FRACTION,
        fit_intercept: bool = True,
        positive: bool = False,
        batch_size: int = 1,
        group: str | None = None,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        dtype: str = "float64",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = self._check_X(X, reset, y=y, y_numeric=True, multi_output=True)
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

    def _rows_to_learn(
        self, p: SimpleNamespace, X: Any, y: Any, sample_weight: Any
    ) -> tuple[sparse.csr_matrix, Any, NDArray[np.float64] | None]:
        X, y, weights = super()._rows_to_learn(p, X, y, sample_weight)
        self._several_targets = y.ndim == 2
        return X, y, weights

    def _prepare_for(self, p: SimpleNamespace, source: Source) -> Prepare:
        if source.facts().n_labels is not None:
            raise ValueError("y must be a number for every row, and the source has labels")
        self._several_targets = False
        return partial(self._prepared, p, None)

    def _prepared(
        self, p: SimpleNamespace, classes: None, chunk: Chunk
    ) -> tuple[sparse.csr_matrix, Problems]:
        """The checked rows of a chunk and their problems."""
        X, y = chunk.X, chunk.y
        if not is_sound(chunk, self.n_features_in_):
            X, y = self._check_training(X, y, reset=False)
        weights = check_sample_weight(chunk.weight, X, some_rows=True)
        return X, self._problems(X, y, weights)

    @available_if(FittedModel._learns_from_streams)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; see :meth:`LazyNetClassifier.partial_fit`.

        >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25)
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.])
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.5])
        """
        self._warn(self._learn_on(X, y, sample_weight, sample_order))
        return self

    def _learn_from(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any = None, *, of_pass: bool = False
    ) -> list[Warning]:
        """Learn from some rows, as they are given or as those of a pass over a source."""
        p = self._settle()
        p.shuffle = p.shuffle and not of_pass
        begun = self.__sklearn_is_fitted__()
        X, y = self._check_training(X, y, reset=not begun)
        n_targets = y.shape[1] if y.ndim == 2 else 1
        if begun and n_targets != outputs_of(self._engines):
            raise ValueError(
                f"y must have {outputs_of(self._engines)} columns, as in the first call, got "
                f"{n_targets}"
            )
        if not begun:
            self._several_targets = y.ndim == 2
        weights = check_sample_weight(sample_weight, X, some_rows=of_pass)
        return self._fit_on(p, X, y, weights, sample_order)
