"""Averaged SGD on centered rows that stay sparse: Dekel's ASGD and CASGD as estimators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import as_examples, check_order, read_only
from lazynet.data.products import products
from lazynet.data.targets import CheckedRows, OutputTargets
from lazynet.data.weights import ClassWeight
from lazynet.engines.base import refuse_overflow
from lazynet.engines.dekel import RAISE_L2, DekelEngine, Model
from lazynet.estimators.linear import LinearModel, LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.losses import AnyLoss, LossOfNumbers
from lazynet.parameters import Flag, Positive, PositiveInt, check_n_steps
from lazynet.training.passes import total_loss_of
from lazynet.training.settings import Seed, new_generator

# Steps of a call of the kernel: Ctrl-C acts between two calls.
_STEPS_PER_CALL = 2**16


@dataclass(repr=False, eq=False)
class _Averaged(LinearModel):
    """The training and the models that the classifier and the regressor share."""

    _: KW_ONLY
    l2: Positive = 1e-3
    average: Flag = True
    center: Flag = True
    max_iter: PositiveInt = 100
    replace: Flag = True
    random_state: Seed | None = None

    # Set by training.
    mean_: NDArray[np.float64] | None = field(init=False)
    t_: int = field(init=False)
    n_iter_: int = field(init=False)
    #: weights and intercepts after the last step
    _last: tuple[NDArray[np.float64], NDArray[np.float64]] = field(init=False)

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; an interrupted call leaves the estimator as it was.

        X holds the rows, y a class label or a number for each, ``sample_weight`` a factor of each
        row's loss.  ``sample_order`` names the row of each step; None: ``max_iter * n_samples``
        random rows.  X may be a source of ``lazynet.data``, which contains y and the sample
        weights: its rows are mapped into memory from a temporary file.
        """
        self._warn(self._learn(X, y, sample_weight, sample_order))
        return self

    def _train(  # type: ignore[override]
        self, p: SimpleNamespace, rows: CheckedRows, sample_order: Any
    ) -> list[Warning]:
        X, outputs = rows.X, rows.targets
        order = check_order(sample_order, X.shape[0])
        if order is not None and order.ndim != 1:
            raise ValueError(f"sample_order must list all steps in one dimension, got {order.ndim}")
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0]) if order is None else len(order)
        # X.mean would add up float32 values in single precision.
        mean = as_examples(X).column_sums() / X.shape[0] if p.center else None
        if mean is not None and not np.isfinite(mean).all():
            raise ValueError(
                "X has features whose sum overflows, so that they have no mean; scale them, or "
                "set center=False"
            )
        engines = [DekelEngine(X.shape[1], p.loss, p.l2, mean) for _ in range(outputs.n_outputs)]
        examples = [as_examples(X, *output) for output in outputs]
        orders = [order] if order is not None else _drawn(p, X.shape[0])
        for drawn in orders:
            for begin in range(0, len(drawn), _STEPS_PER_CALL):
                for engine, output in zip(engines, examples, strict=True):
                    engine.take(output, drawn[begin : begin + _STEPS_PER_CALL])
        last = _stacked(engine.last() for engine in engines)
        averages = _stacked(engine.average() for engine in engines)
        refuse_overflow(n_steps, RAISE_L2, *last, *averages)
        self._last = last
        self._coefficients, self._offsets = averages if p.average else last
        self.mean_ = mean
        self.t_ = n_steps
        self.n_iter_ = max(1, n_steps // X.shape[0])
        models = zip(outputs, self._coefficients, self._offsets, strict=True)
        warnings = (_warning_of(p, X, *model) for model in models)
        return list(filter(None, warnings))[:1]

    @property
    def last_coef_(self) -> NDArray[np.float64]:
        """The weights after the last step, of the shape of ``coef_``."""
        check_is_fitted(self)
        return self._shaped(read_only(self._last[0]))

    @property
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        check_is_fitted(self)
        return read_only(self._last[1])


def _drawn(p: SimpleNamespace, n_rows: int) -> Iterator[NDArray[np.int64]]:
    """The rows of every epoch."""
    generator = new_generator(p.random_state)
    for _ in range(p.max_iter):
        if p.replace:
            yield generator.randint(n_rows, size=n_rows, dtype=np.int64)
        else:
            yield generator.permutation(n_rows).astype(np.int64, copy=False)


def _warning_of(
    p: SimpleNamespace,
    X: sparse.csr_matrix,
    output: OutputTargets,
    weights: NDArray[np.float64],
    intercept: float,
) -> Warning | None:
    """A warning about a model that is worse than a prediction of 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        predictions = products(X, weights[None])[:, 0] + intercept
        trained = total_loss_of(predictions, *output, p.loss) / X.shape[0]
        zero = total_loss_of(np.zeros(X.shape[0]), *output, p.loss) / X.shape[0]
    if trained <= 1.1 * zero:
        return None
    centered = "" if p.loss.margin else ", or subtract its mean from y"
    return ConvergenceWarning(
        f"the model is worse than a prediction of 0: its mean loss is {trained:.3g}, that of 0 is "
        f"{zero:.3g}. If the first steps, of rate 1 / l2, are too long, scale the "
        f"rows to length 1, or raise l2 or max_iter; if the slope of the loss is unbounded, l2 "
        f"must be of the order of the rows' squared norms. If the penalty, which includes the "
        f"intercept, is too strong, lower l2{centered}"
    )


def _stacked(models: Iterable[Model]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read-only weights and intercepts of all outputs."""
    weights, intercepts = zip(*models, strict=True)
    return read_only(np.vstack(weights)), read_only(np.array(intercepts))


@dataclass(repr=False, eq=False)
class ASGDClassifier(LinearClassifier, _Averaged):
    """Linear classification by averaged SGD, on rows that are centered without becoming dense.

    Dekel's ASGD and CASGD (2016): minimises ``mean loss + l2/2 * (|w|^2 + b^2)`` with steps of
    rate 1/(l2 t) on rows drawn with replacement, and predicts with the mean of all iterates.  T
    steps cost O(n_features + T k), k the nonzeros of a row: neither averaging nor centering costs
    more.  Several classes are trained one against the rest.

    Scale the rows to length 1, or the features to comparable sizes: the first steps are 1/l2 long,
    and they count in the average.  For an l1 penalty, other rates, other averages, or streams, use
    ``LazyNetClassifier(rule=FoBoS(average=...))``.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`LazyNetClassifier` except "softmax".  A loss with an unbounded slope
        overshoots unless l2 is of the order of the rows' squared norms.
    l2 : float, default=1e-3
        Strength of the penalty, greater than 0, and the scale of the rates.  If l2 * T is large,
        the long steps at the beginning of the run have little effect on the average.
    average : bool, default=True
        Predict with the mean of the iterates 1, ..., T; False: with the last iterate.
    center : bool, default=True
        Train on x - mean, the mean over the rows of ``fit``.  ``intercept_`` is for rows that are
        not centered.  Adding a constant to a feature changes no weight, except by rounding, which
        grows with the squared norm of the mean.
    max_iter : int, default=100
        Epochs: ``fit`` takes T = max_iter * n_samples steps.
    replace : bool, default=True
        Draw the rows with replacement, as Dekel does; False: visit each row once in an epoch.
    random_state, class_weight
        As in :class:`LazyNetClassifier`; the seed is for drawing the rows.

    Attributes
    ----------
    coef_, intercept_, classes_ : ndarray
        The model, one row for two classes, with ``average`` the averages; the labels, sorted.
    last_coef_, last_intercept_ : ndarray
        Weights and intercepts after the last step.
    mean_ : ndarray of shape (n_features,) or None
        The mean that was subtracted from the rows; None without ``center``.
    t_, n_iter_ : int
        Steps taken, and epochs: ``t_ / n_samples``, rounded down, at least 1.

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

    loss: AnyLoss = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight | None = None


@dataclass(repr=False, eq=False)
class ASGDRegressor(LinearRegressor, _Averaged):
    """Linear regression by averaged SGD, on rows that are centered without becoming dense.

    Dekel's ASGD and CASGD.  The parameters and attributes are the same as in
    :class:`ASGDClassifier`, with these differences.

    Parameters
    ----------
    loss : str or object, default="absolute_error"
        "absolute_error", "huber", "epsilon_insensitive"; or "squared_error" (p - y)^2 / 2 and
        "squared_epsilon_insensitive", which overshoot unless l2 is of the order of the rows'
        squared norms.
    l2 : float, default=1e-2
        Strength of the penalty, greater than 0, and the scale of the rates.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import ASGDRegressor
    >>> X = np.random.default_rng(0).standard_normal((500, 3)) + 10.0
    >>> y = X @ [1.0, 0.0, -2.0] + 5.0
    >>> model = ASGDRegressor(random_state=0).fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([ 1.,  0., -2.])
    >>> model.predict([[10.0, 10.0, 10.0]]).round(1)  # 10 - 20 + 5
    array([-5.])
    >>> model.intercept_.round(1), model.last_intercept_.round(1), model.last_coef_.round(1) + 0.0
    (array([5.]), array([5.]), array([ 1.,  0., -2.]))
    """

    loss: LossOfNumbers = "absolute_error"
    _: KW_ONLY
    l2: Positive = 1e-2
