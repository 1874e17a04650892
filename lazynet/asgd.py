"""Averaged SGD on centered rows that stay sparse: Dekel's ASGD and CASGD as estimators."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lazynet.data import as_examples, check_order
from lazynet.dekel import DekelLearner, Model
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.kernels.examples import Examples
from lazynet.linear import SparseClassifier, SparseLinear, SparseRegressor, refuse_overflow
from lazynet.losses import LOSSES, get_loss
from lazynet.params import (
    EPOCHS,
    FLAG,
    POSITIVE,
    STRENGTH,
    VERBOSITY,
    Choice,
    check_n_steps,
    table,
)
from lazynet.progress import Progress
from lazynet.seeds import SEED, new_generator
from lazynet.state import all_or_nothing
from lazynet.trainer import mean_loss, spans

# Weights and intercepts of all binary problems.
Models = tuple[NDArray[np.float64], NDArray[np.float64]]
# Steps between two advances of the progress bar.
_STEPS_PER_CALL = 2**16


class _AveragedSGD(SparseLinear):
    """What the two estimators share."""

    _kinds = table(
        loss=Choice(accepted=LOSSES),
        l2=POSITIVE,
        average=FLAG,
        center=FLAG,
        epsilon=STRENGTH,
        max_iter=EPOCHS,
        replace=FLAG,
        random_state=SEED,
        verbose=VERBOSITY,
    )

    # Set by training.
    mean_: NDArray[np.float64] | None
    t_: int
    n_iter_: int
    _last: Models
    _model: Models

    def __init__(
        self,
        loss: str,
        *,
        l2: float,
        average: bool,
        center: bool,
        epsilon: float,
        max_iter: int,
        replace: bool,
        random_state: int | np.random.RandomState | None,
        verbose: int,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.average = average
        self.center = center
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.replace = replace
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
        sample_order: ArrayLike | None,
    ) -> str | None:
        """Train anew; returns what there is to warn of."""
        order = check_order(sample_order, X.shape[0])
        if order is not None and order.ndim != 1:
            raise ValueError(f"sample_order must list all steps in one dimension, got {order.ndim}")
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0]) if order is None else len(order)
        # Not X.mean, which adds up float32 values as such.
        mean = as_examples(X).column_sums() / X.shape[0] if p.center else None
        if mean is not None and not np.isfinite(mean).all():
            raise ValueError(
                "X has features whose sum overflows, so that they have no mean; scale them, or "
                "set center=False"
            )
        problems = self._problems(X, y, weights)
        learners = [
            DekelLearner(X.shape[1], get_loss(p.loss), p.l2, mean, p.epsilon) for _ in problems
        ]
        examples = [as_examples(X, *problem) for problem in problems]
        generator = new_generator(p.random_state)
        progress = Progress(n_steps, p.verbose > 0, "steps")
        try:
            for start, stop in spans(n_steps, X.shape[0] if order is None else n_steps):
                if order is not None:
                    rows = order
                elif p.replace:
                    rows = generator.randint(X.shape[0], size=stop - start, dtype=np.int64)
                else:
                    rows = generator.permutation(X.shape[0]).astype(np.int64, copy=False)
                for begin, end in spans(len(rows), _STEPS_PER_CALL):
                    for learner, problem in zip(learners, examples, strict=True):
                        learner.take(problem, rows[begin:end])
                    progress.advance(end - begin)
        finally:
            progress.close()
        last, averages = (
            _stacked(learner.last() for learner in learners),
            _stacked(learner.average() for learner in learners),
        )
        refuse_overflow(n_steps, "Raise l2", *last, *averages)
        self._last, self._model = last, averages if p.average else last
        self.mean_ = mean
        self.t_ = n_steps
        self.n_iter_ = max(1, n_steps // X.shape[0])
        return self._warning(p, examples)

    def _warning(self, p: SimpleNamespace, examples: list[Examples]) -> str | None:
        """The first steps are 1 / l2 long: what to say if the model has not recovered from them."""
        loss = get_loss(p.loss)
        for problem, weights, intercept in zip(examples, *self._model, strict=True):
            # Huge weights make an infinite objective, which is worse than that of no model.
            with np.errstate(over="ignore", invalid="ignore"):
                # Of the centered objective, in which the intercept is that of the center.
                shift = 0.0 if self.mean_ is None else float(weights @ self.mean_)
                center = float(intercept) + shift
                penalty = p.l2 / 2 * (float(weights @ weights) + center * center)
            trained, untrained = (
                mean_loss(problem, of, float(b), loss, p.epsilon)
                for of, b in ((weights, intercept), (np.zeros_like(weights), 0.0))
            )
            if not trained + penalty <= untrained:
                return (
                    f"after {self.t_} steps the model is still worse than no model at all (its "
                    f"objective is {trained + penalty:.3g}, that of zero weights {untrained:.3g}): "
                    f"steps begin with a length of 1 / l2. Scale the rows to length 1, or raise l2 "
                    f"or max_iter; where the slope of the loss is unbounded, l2 must be of the "
                    f"order of the rows' squared norms"
                )
        return None

    # --- the model ------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _trained(self, which: str) -> Models:
        check_is_fitted(self)
        return getattr(self, which)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights, shape (1, n_features), or (n_classes, n_features) for several classes."""
        return self._trained("_model")[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``coef_``, for rows as they are."""
        return self._trained("_model")[1]

    @property
    def last_coef_(self) -> NDArray[np.float64]:
        """The weights after the last step, of the shape of ``coef_``."""
        return self._trained("_last")[0]

    @property
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        return self._trained("_last")[1]


def _stacked(models: Iterable[Model]) -> Models:
    weights, intercepts = zip(*models, strict=True)
    stacked, offsets = np.vstack(weights), np.array(intercepts)
    stacked.flags.writeable = offsets.flags.writeable = False
    return stacked, offsets


class ASGDClassifier(SparseClassifier, _AveragedSGD):
    """Linear classification by averaged SGD, on rows that are centered without becoming dense.

    Dekel's ASGD and CASGD (2016): minimises ``mean loss + l2/2 * (|w|^2 + b^2)`` with steps of
    rate 1/(l2 t) on rows drawn with replacement, and predicts with the mean of all iterates.  T
    steps cost O(n_features + T k), k the nonzeros of a row: neither averaging nor centering costs
    more.  Several classes are trained one against the rest.

    Rows should be scaled to length 1, or their features to comparable sizes: the first steps are
    1/l2 long, and a plain average remembers them.  For an l1 penalty, other rates, other averages,
    or streams, use ``LazyNetClassifier(average=...)``.

    Parameters
    ----------
    loss : str, default="log_loss"
        Any loss of :class:`LazyNetClassifier`; Dekel's note has "log_loss", "hinge",
        "squared_error" and "absolute_error".  The first steps are as long as 1/l2: a loss whose
        slope is unbounded overshoots unless l2 is of the order of the rows' squared norms.
    l2 : float, default=1e-3
        Strength of the penalty, greater than 0, and the scale of the rates.  The beginning of the
        run, when steps are long, is forgotten once l2 * T is large.
    average : bool, default=True
        Predict with the mean of the iterates 1, ..., T; without, with the last of them.
    center : bool, default=True
        Train on x - mean, the mean over the rows of ``fit``.  ``intercept_`` is for rows as they
        are.  A constant that is added to a feature changes no weight, up to rounding, which grows
        with the squared norm of the mean.
    epsilon : float, default=0.1
        Width of "huber" and "epsilon_insensitive".
    max_iter : int, default=100
        T = max_iter * n_samples steps.
    replace : bool, default=True
        Draw the rows with replacement, as the note does; False: each once in every epoch.
    random_state : int, RandomState or None, default=None
        Seed of the drawing.
    class_weight : dict, "balanced" or None, default=None
        What an example counts by its class.
    verbose : int, default=0
        1: a progress bar on a terminal if tqdm is installed.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; with ``average``, the averages.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept of each row of ``coef_``.
    last_coef_, last_intercept_ : ndarray
        Those after the last step.
    mean_ : ndarray of shape (n_features,), or None
        Where the rows were centered.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    t_ : int
        Steps taken.
    n_iter_ : int
        The same in epochs.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import ASGDClassifier
    >>> X = sparse.random(200, 1000, density=0.02, format="csr", random_state=0)
    >>> y = np.where(np.asarray(X[:, :500].sum(axis=1)).ravel() > 5, "yes", "no")
    >>> model = ASGDClassifier(l2=1e-3, random_state=0).fit(X, y)
    >>> float(model.score(X, y)) > 0.95
    True

    The first row twice, at the rates 1 and 1/2: the weight and the intercept are 1, then 1/2.

    >>> model = ASGDClassifier("hinge", l2=1.0, center=False)
    >>> model = model.fit([[1.0], [-3.0]], ["yes", "no"], sample_order=[0, 0])
    >>> model.coef_, model.intercept_
    (array([[0.75]]), array([0.75]))
    >>> model.last_coef_, model.last_intercept_
    (array([[0.5]]), array([0.5]))
    >>> model.decision_function([[1.0], [-3.0]]), model.predict([[1.0], [-3.0]]).tolist()
    (array([ 1.5, -1.5]), ['yes', 'no'])
    """

    _kinds = table(**_AveragedSGD._kinds, class_weight=CLASS_WEIGHT)

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        l2: float = 1e-3,
        average: bool = True,
        center: bool = True,
        epsilon: float = 0.1,
        max_iter: int = 100,
        replace: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss,
            l2=l2,
            average=average,
            center=center,
            epsilon=epsilon,
            max_iter=max_iter,
            replace=replace,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; interrupted, the estimator is what it was before the call.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            The rows to learn from.
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            What each example counts: a factor of its loss.
        sample_order : array of int, shape (n_steps,), optional
            The rows of all steps, instead of drawing ``max_iter * n_samples`` of them.
        """
        self._warn(self._learn(X, y, sample_weight, sample_order))
        return self

    @all_or_nothing
    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        sample_order: ArrayLike | None,
    ) -> str | None:
        """Train anew; returns what there is to warn of."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, sample_weight)
        warning = self._fit(p, X, (y, classes), weights, sample_order)
        self.classes_ = classes
        return warning


class ASGDRegressor(SparseRegressor, _AveragedSGD):
    """Linear regression by averaged SGD, on rows that are centered without becoming dense.

    Dekel's ASGD and CASGD.  All other parameters, and the attributes, are those of
    :class:`ASGDClassifier`, without ``class_weight`` and ``classes_``.

    Parameters
    ----------
    loss : str, default="absolute_error"
        "absolute_error", "huber", "epsilon_insensitive", or "squared_error" (p - y)^2 / 2, which
        overshoots unless l2 is of the order of the rows' squared norms: for it,
        ``LazyNetRegressor(average="polynomial")`` is the better choice.
    l2 : float, default=1e-2
        As there.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import ASGDRegressor
    >>> X = np.random.default_rng(0).standard_normal((500, 3)) + 10.0
    >>> y = X @ [1.0, 0.0, -2.0] + 5.0
    >>> model = ASGDRegressor(random_state=0).fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([[ 1.,  0., -2.]])
    >>> model.predict([[10.0, 10.0, 10.0]]).round(1)  # 10 - 20 + 5
    array([-5.])
    >>> model.intercept_.round(1), model.last_intercept_.round(1), model.last_coef_.round(1) + 0.0
    (array([5.]), array([5.]), array([[ 1.,  0., -2.]]))
    """

    def __init__(
        self,
        loss: str = "absolute_error",
        *,
        l2: float = 1e-2,
        average: bool = True,
        center: bool = True,
        epsilon: float = 0.1,
        max_iter: int = 100,
        replace: bool = True,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss,
            l2=l2,
            average=average,
            center=center,
            epsilon=epsilon,
            max_iter=max_iter,
            replace=replace,
            random_state=random_state,
            verbose=verbose,
        )

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; see :meth:`ASGDClassifier.fit`."""
        self._warn(self._learn(X, y, sample_weight, sample_order))
        return self

    @all_or_nothing
    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        sample_order: ArrayLike | None,
    ) -> str | None:
        """Train anew; returns what there is to warn of."""
        p = self._settle()
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        return self._fit(p, X, y, weights, sample_order)
