"""LazyNetClassifier and LazyNetRegressor: every rule of the catalogue, on any X, y and stream."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from lazynet.data.source import Source
from lazynet.data.weights import Balanced, ClassWeight
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.estimators.linear import LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.estimators.online_model import OnlineModel
from lazynet.losses import LossOfClasses, LossOfNumbers
from lazynet.rules.base import Rule
from lazynet.training.rows import balanced_for
from lazynet.training.settings import Settings


def _has_partial_fit(model: OnlineModel) -> bool:
    """True, or an error that says why the rule cannot learn from a stream."""
    rule: Any = model.rule
    if isinstance(rule, str) and rule in ALGORITHMS:
        rule = ALGORITHMS[rule].rule()
    if isinstance(rule, Rule):
        rule.check_streams("partial_fit")
    return True


@dataclass(repr=False, eq=False)
class LazyNetClassifier(LinearClassifier, OnlineModel):
    r"""Linear classification with an elastic net, trained one row at a time.

    A step costs the nonzeros of its row, and the weights equal those of the dense algorithm.  y has
    one class per row, or a column of 0 and 1 for each label.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "perceptron"; a loss
        of :class:`LazyNetRegressor`; "softmax", one loss for all classes.
    l1, l2 : float, default=None, 0
        Strengths of the penalty.  None: a small l1 from the rows, ``l1_``; in ``partial_fit`` no
        l1.  For a sparser model take 10 or 100 times as much.
    rule : str or object, default="auto"
        The update rule, such as "rda" or ``FoBoS(eta0=0.1, average=True)``.  "auto" is
        ``AdaGrad()``, or ``FoBoS()`` for a squared loss or with class weights.
    standardize : "auto" or bool, default="auto"
        Divide features by their sizes; centre those that are nonzero in half of the rows.  "auto":
        sparser features share a size, unless their own is more than twice off.
    max_iter : int or None, default=None
        The largest number of epochs; None: 6.
    tol, n_iter_no_change : float or None, and int, default=1e-3 and 5
        Stop when the loss has not fallen by the share ``tol`` for so many epochs; None: never.
    early_stopping, validation_fraction : bool and float, default=False and 0.1
        Take the weights of the epoch with the least loss on held-out rows, this share of the rows.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    shuffle, random_state : bool, and int, RandomState or None, default=True and None
        Visit the rows in a new random order in each epoch; the seed.
    class_weight : dict, "balanced", Balanced or None, default=None
        A factor of the loss of a row by its class; ``Balanced(counts)`` for ``partial_fit``.
    warm_start : bool, default=False
        ``fit`` starts from the last weights.
    dtype : "float64" or "float32", default="float64"
        The type of the weights in training, if one pass learns several outputs.
    n_jobs : int or None, default=None
        Threads that share the outputs; the bits of the model do not depend on it.
    verbose : int, default=0
        1: the automatic choices, a line per epoch, and a progress bar on a terminal.

    Attributes
    ----------
    coef_, intercept_ : ndarray or CSR matrix, and ndarray
        The model, a row per output, one for two classes.  Assign to change it.
    last_coef_, last_intercept_, support_ : ndarray
        The weights after the last step, and whether each weight is not zero.
    classes_ : ndarray
        The class labels, sorted.
    n_iter_, best_epoch_, t_ : int
        Number of epochs; the epoch, from 0 on, whose weights the model has; steps up to its end.
    l1_, eta0_, auto_ : float, float, Choices
        The l1; the scale of the rates; the automatic choices with their reasons.
    units_ : Units or None
        The sizes and means of the features; ``coef_`` applies to X as passed.
    history_ : list of dict
        ``epoch``, ``progressive_loss``, ``seconds``, ``validation_loss``.

    Notes
    -----
    Stochastic gradient or proximal steps minimise, with the weights of the standardised features,

    .. math:: \frac{1}{n} \sum_{i=1}^n \ell(w \cdot x_i + w_0, y_i)
       + \mathrm{l1} \sum_j |w_j| + \frac{\mathrm{l2}}{2} \sum_j w_j^2 .

    In scikit-learn's terms l1 is alpha * l1_ratio, and l2 is alpha * (1 - l1_ratio).

    Examples
    --------
    >>> X, y = [[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]
    >>> model = LazyNetClassifier(l1=0.0, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 1.0]]).tolist(), model.verify(X, y).agrees
    (['yes'], True)
    >>> model.auto_
    rule         AdaGrad()  the default for loss='log_loss'
    standardize  auto       2 of 2 features centred
    max_iter     6          the default of classifiers
    rates        full       in the first 3 of 6 epochs; then they fall with the epochs left
    >>> model.partial_fit([[2.0, 0.0]], ["no"]).predict_proba([[3.0, 0.0]]).round(1)
    array([[1., 0.]])
    """

    _several_labels = True
    loss: LossOfClasses = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _set_outputs_of(self, settings: Settings, source: Source) -> Settings:
        facts = source.facts()
        if facts.n_labels is not None:
            self._set_outputs(settings, np.arange(facts.n_labels), "sparse matrix")
            return settings
        if facts.classes is None or len(facts.classes) < 2:
            targets = "numbers" if facts.classes is None else f"the class {facts.classes}"
            raise ValueError(f"y must have at least two classes, and {source} has {targets}")
        self._set_outputs(settings, np.array(facts.classes), None)
        if settings.class_weight == Balanced():
            settings = replace(settings, class_weight=balanced_for(source))
        return settings

    @available_if(_has_partial_fit)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once.

        The first call names all ``classes``, or the columns of a y with a column per label.  X may
        be a source of chunks, with its y.  A call that fails leaves the model as it was.

        Features are standardised by the rows so far, so that the model depends on the division of
        the rows into calls, except with ``standardize=False``.
        """
        self._warn(self._partial_fit(X, y, sample_weight, sample_order, classes))
        return self


@dataclass(repr=False, eq=False)
class LazyNetRegressor(LinearRegressor, OnlineModel):
    """Linear regression with an elastic net, trained one row at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``.  The parameters and attributes are the
    same as in :class:`LazyNetClassifier`, with these differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error" (p - y)^2 / 2, "absolute_error", "huber" or ``Huber(epsilon)``,
        "epsilon_insensitive" or ``EpsilonInsensitive(epsilon)``, "squared_epsilon_insensitive" or
        ``SquaredEpsilonInsensitive(epsilon)``.
    max_iter : int or None, default=None
        The largest number of epochs; None: 20.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features)
        The weights; with ``average``, the averages of the weights.  If y has a column per target,
        one pass over X learns all targets.
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
    >>> model.predict([[1.0, 1.0, 1.0, 1.0, 1.0]]).round(1), model.units_.sizes[:2].round(2)
    (array([-1.]), array([0.9 , 0.94]))

    The weight is 1 after the first step and 1.5 after the second, and the model is their mean:

    >>> from lazynet import FoBoS
    >>> rule = FoBoS("constant", eta0=0.25, average=True)
    >>> model = LazyNetRegressor(rule=rule, l1=0.0, standardize=False, max_iter=2, tol=None)
    >>> model = model.fit([[1.0]], [4.0])
    >>> model.coef_, model.intercept_
    (array([1.25]), array([1.25]))
    >>> model.last_coef_, model.last_intercept_, model.support_
    (array([1.5]), array([1.5]), array([ True]))
    """

    _several_targets = True
    loss: LossOfNumbers = "squared_error"

    def _shaped(self, rows: Any) -> Any:
        return rows if self._form else super()._shaped(rows)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row: shape (n_samples,), or (n_samples, n_targets)."""
        decision = self._decision(X)
        return decision if self._form else decision.ravel()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _set_outputs_of(self, settings: Settings, source: Source) -> Settings:
        if source.facts().n_labels is not None:
            raise ValueError(f"y must be a number for every row, and {source} has labels")
        self._form = None
        return settings

    @available_if(_has_partial_fit)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; see :meth:`LazyNetClassifier.partial_fit`.

        >>> from lazynet import FoBoS
        >>> rule = FoBoS("constant", eta0=0.25)
        >>> model = LazyNetRegressor(rule=rule, l1=0.0, standardize=False)
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.])
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.5])
        """
        self._warn(self._partial_fit(X, y, sample_weight, sample_order))
        return self
