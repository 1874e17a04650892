"""The scikit-learn face: a classifier and a regressor over the engines."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError

from lazynet.averaging import AVERAGE, AverageLike, make_averaging
from lazynet.data import as_examples, check_order, touched_columns, unusable
from lazynet.engines import BUDGET, DEFAULT_BUDGET, ENGINES, Engine, check_engine
from lazynet.importances import (
    CLASS_WEIGHT,
    check_classes,
    check_sample_weight,
    importances,
)
from lazynet.linear import (
    SparseClassifier,
    SparseLinear,
    SparseRegressor,
    refuse_overflow,
    suitable_rate,
)
from lazynet.losses import LOSSES, get_loss
from lazynet.online import OwnStateEngine
from lazynet.params import (
    EPOCHS,
    FLAG,
    STRENGTH,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    check_integer,
    check_n_steps,
    table,
)
from lazynet.penalties import ElasticNet
from lazynet.rules import (
    OWN_RULES,
    RULE_PARAMETERS,
    RULES,
    AnyRule,
    Rule,
    check_own_state,
    engine_for,
    make_rule,
    warn_of_wiping,
)
from lazynet.schedules import SCHEDULE, ScheduleLike, make_schedule
from lazynet.seeds import SEED, new_generator
from lazynet.state import all_or_nothing, at_rest
from lazynet.trainer import (
    STEP_ORDERS,
    EpochRecord,
    Learner,
    Orders,
    Recipe,
    Stopping,
    run_pass,
    train,
)
from lazynet.verify import LARGEST_EPOCHS, VerificationReport, affordable_rows, verify


class _LinearLearner(SparseLinear):
    """What the two estimators share: parameters, training, coefficients."""

    _kinds = table(
        loss=Choice(accepted=LOSSES),
        l1=STRENGTH,
        l2=STRENGTH,
        rule=Choice(accepted=RULES | OWN_RULES),
        schedule=SCHEDULE,
        eta0=Number(above=0, optional=True),
        power_t=Number(),
        epsilon=STRENGTH,
        step_order=Choice(accepted=STEP_ORDERS),
        max_iter=EPOCHS,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        fit_intercept=FLAG,
        shuffle=FLAG,
        random_state=SEED,
        warm_start=FLAG,
        engine=Choice(accepted=ENGINES),
        table_budget=BUDGET,
        dense_predictions=FLAG,
        average=AVERAGE,
        **RULE_PARAMETERS,
        record_history=FLAG,
        verbose=VERBOSITY,
    )

    # Set by training.
    n_features_in_: int
    n_iter_: int
    t_: int
    eta0_: float
    history_: list[EpochRecord]
    _engines: list[Engine]
    _changed_in_place = ("_engines", "_generator")

    def __init__(
        self,
        loss: str,
        *,
        l1: float,
        l2: float,
        rule: str,
        schedule: ScheduleLike,
        eta0: float | None,
        power_t: float,
        epsilon: float,
        step_order: str,
        max_iter: int,
        tol: float | None,
        n_iter_no_change: int,
        fit_intercept: bool,
        shuffle: bool,
        random_state: int | np.random.RandomState | None,
        warm_start: bool,
        engine: str,
        table_budget: int,
        dense_predictions: bool,
        average: AverageLike,
        gamma: float | None,
        rho: float | None,
        beta: float | None,
        delta: float | None,
        period: int | None,
        threshold: float | None,
        record_history: bool,
        verbose: int,
    ) -> None:
        self.loss = loss
        self.l1 = l1
        self.l2 = l2
        self.rule = rule
        self.schedule = schedule
        self.eta0 = eta0
        self.power_t = power_t
        self.epsilon = epsilon
        self.step_order = step_order
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.engine = engine
        self.table_budget = table_budget
        self.dense_predictions = dense_predictions
        self.average = average
        self.gamma = gamma
        self.rho = rho
        self.beta = beta
        self.delta = delta
        self.period = period
        self.threshold = threshold
        self.record_history = record_history
        self.verbose = verbose

    # --- parameters -----------------------------------------------------------------------

    def _check_together(self, p: SimpleNamespace) -> None:
        _recipe(p)

    def _scale_of_rates(
        self, p: SimpleNamespace, X: sparse.csr_matrix, weights: NDArray[np.float64] | None
    ) -> float:
        """eta0, or the largest for which no gradient step on a row of X overshoots."""
        if p.eta0 is not None:
            return float(p.eta0)
        rule = _rule(p)
        if not rule.scheduled:
            return float(getattr(rule, "eta0", 1.0))  # without one, nobody asks
        if not isinstance(p.schedule, str) or p.schedule == "pegasos":
            return 1.0  # these have a scale of their own
        loss = get_loss(p.loss)
        # A loss whose slope is bounded cannot diverge, however much an example counts; holding
        # the rate down to suit one heavy example would only keep the others from learning.
        counts = weights if loss.unbounded_slope else None
        norm = as_examples(X, None, counts).largest_squared_norm(float(p.fit_intercept))
        scale = suitable_rate(norm, loss)
        # A rate that nobody asked for should not be one that the rule refuses.
        if isinstance(rule, Rule):
            scale = min(scale, rule.largest_rate(ElasticNet(p.l1, p.l2)) / 2)
        return scale

    # --- training -------------------------------------------------------------------------

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
        sample_order: ArrayLike | None,
    ) -> bool:
        """Train anew; returns whether ``tol`` was reached."""
        eta0 = self._scale_of_rates(p, X, weights)
        order = check_order(sample_order, X.shape[0])
        epoch = X.shape[0] if order is None else order.shape[-1]
        n_steps = check_n_steps("max_iter", p.max_iter, epoch)
        recipe = _recipe(p, eta0, n_steps if p.tol is None else None)
        listed = p.max_iter if order is None or order.ndim == 1 else len(order)
        if p.tol is None and listed < p.max_iter:
            raise ValueError(f"sample_order has {listed} epochs, fewer than max_iter={p.max_iter}")
        problems = self._problems(X, y, weights)
        if p.warm_start and self.__sklearn_is_fitted__():
            if len(self._engines) != len(problems) or self._engines[0].n_features != X.shape[1]:
                raise ValueError(
                    f"warm_start=True continues a model of {len(self._engines)} problem(s) with "
                    f"{self._engines[0].n_features} features, but these data make {len(problems)} "
                    f"with {X.shape[1]}; fit them with warm_start=False"
                )
            engines = [_continued(p, engine, average=False) for engine in self._engines]
            warn_of_wiping(recipe.rule, recipe.penalty, engines, stacklevel=7)
        else:
            engines = [_new_engine(p, X.shape[1]) for _ in problems]
        learners = [
            Learner(engine, as_examples(X, *problem), recipe)
            for engine, problem in zip(engines, problems, strict=True)
        ]
        generator = new_generator(p.random_state) if p.shuffle else None
        stopping = Stopping(p.tol, p.n_iter_no_change)
        t, history, stopped = train(
            learners,
            Orders(X.shape[0], order, generator),
            t=0,
            max_iter=p.max_iter,
            stopping=stopping,
            record=p.record_history,
            verbose=p.verbose,
        )
        coefficients = _stack(engines)
        intercepts = np.array([engine.model_intercept for engine in engines])
        refuse_overflow(t, "Lower eta0", coefficients, intercepts)
        self._engines = engines
        self._engine_options = _options_of_engine(p)
        self._coefficients: NDArray[np.float64] | None = coefficients
        self._generator = generator
        self.t_ = t
        self.eta0_ = eta0
        self.history_ = history
        self.n_iter_ = len(history) if history else p.max_iter
        return stopped

    def _unfinished(self, p: SimpleNamespace, stopped: bool) -> str | None:
        """What there is to warn of after a fit that ``tol`` has not stopped."""
        if p.tol is None or stopped:
            return None
        rule = _rule(p)
        rates = (
            f", or eta0 (which is {self.eta0_:.3g}) if the rates are small"
            if rule.scheduled or "eta0" in rule.takes
            else ""
        )
        return (
            f"the objective was still improving by more than tol={p.tol:g} after "
            f"max_iter={p.max_iter} epochs; raise max_iter{rates}, or see history_ for how it went"
        )

    def _partial_fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
        sample_order: ArrayLike | None,
    ) -> None:
        begun = self.__sklearn_is_fitted__()
        keep = begun and p.eta0 is None
        eta0 = self.eta0_ if keep else self._scale_of_rates(p, X, weights)
        recipe = _recipe(p, eta0, None)
        order = check_order(sample_order, X.shape[0])
        problems = self._problems(X, y, weights)
        engines = self._engines if begun else [_new_engine(p, X.shape[1]) for _ in problems]
        options = _options_of_engine(p)
        if begun and self._engine_options != options:
            same_weighing = self._engine_options[0] == options[0]
            engines = [_continued(p, engine, same_weighing) for engine in engines]
        rule = recipe.rule
        if begun:
            warn_of_wiping(rule, recipe.penalty, engines, stacklevel=6)
        t = self.t_ if begun else 0
        generator = getattr(self, "_generator", None)
        if p.shuffle and generator is None:
            generator = new_generator(p.random_state)
        learners = [
            Learner(engine, as_examples(X, *problem), recipe)
            for engine, problem in zip(engines, problems, strict=True)
        ]
        orders = Orders(X.shape[0], order, generator if p.shuffle else None)
        touched = touched_columns(X)
        if len(touched) < X.shape[1]:
            # The same columns for what is put aside and for what is looked at in the end.
            touched = touched.copy()
        with unusable("X"):
            self._protect(engines, touched)
        for engine in engines:
            if isinstance(engine, OwnStateEngine) and not isinstance(rule, Rule):
                engine.retune(rule.parameters(recipe.penalty))
        for epoch in range(1 if order is None or order.ndim == 1 else len(order)):
            t = run_pass(learners, orders.of(epoch), t)
        with unusable("X"):
            for engine in engines:
                engine.check_finite(touched, t)
        self._engines = engines
        self._engine_options = options
        self._coefficients = None
        self._generator = generator
        self.t_ = t
        self.eta0_ = eta0
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.history_ = getattr(self, "history_", [])

    # --- the model ------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_engines")

    def _trained(self) -> list[Engine]:
        try:
            return self._engines
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: "
                f"call fit or partial_fit first."
            ) from None

    @property
    @at_rest
    def coef_(self) -> NDArray[np.float64]:
        """Weights, shape (1, n_features), or (n_classes, n_features) for several classes.

        With ``average`` they are the averages of the iterates, once any has counted.  Brought
        current when asked for, so that ``partial_fit`` costs the nonzeros of its rows and no more;
        read-only, because training does not read it back.
        """
        engines = self._trained()
        if self._coefficients is None:
            self._coefficients = _stack(engines)
        return self._coefficients

    @property
    @at_rest
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``coef_``; 0 without ``fit_intercept``."""
        return np.array([engine.model_intercept for engine in self._trained()])

    @property
    @at_rest
    def last_coef_(self) -> NDArray[np.float64]:
        """The weights after the last step, of the shape of ``coef_``.

        The same numbers without ``average``.  Under an l1 penalty these are sparse and their
        averages are not: what a feature was worth at any time is in the average for good.
        """
        engines = self._trained()
        if not any(engine.averaging for engine in engines):
            return self.coef_
        return _stack(engines, last=True)

    @property
    @at_rest
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        return np.array([engine.intercept for engine in self._trained()])

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Which weights are not zero after the last step, of the shape of ``coef_``."""
        return self.last_coef_ != 0.0

    def _verify(
        self, p: SimpleNamespace, X: Any, y: Any, weights: Any, max_rows: int, epochs: int
    ) -> VerificationReport:
        max_rows = check_integer("max_rows", max_rows, 1)
        epochs = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
        targets, counts = self._problems(X, y, weights)[0]
        if _rule(p).name not in RULES:
            raise ValueError(f"verify knows the rules {sorted(RULES)}, got rule={p.rule!r}")
        n_steps = affordable_rows(X, max_rows, epochs) * epochs
        recipe = _recipe(p, self._scale_of_rates(p, X, weights), n_steps)
        return verify(recipe, partial(_new_engine, p), X, targets, counts, max_rows, epochs)


# --- what settled parameters stand for ----------------------------------------------------


def _recipe(p: SimpleNamespace, eta0: float = 1.0, n_steps: int | None = 0) -> Recipe:
    """The parameters, checked together; ``eta0`` is what None stands for.

    ``n_steps`` is the length of the whole run, None where it is not known.
    """
    penalty = ElasticNet(p.l1, p.l2)
    averaging = make_averaging(p.average, n_steps)
    check_engine(p.engine, p.table_budget, averaging is not None, p.l1)
    rule = _rule(p)
    if not isinstance(rule, Rule):
        check_own_state(
            rule,
            schedule=p.schedule,
            power_t=p.power_t,
            step_order=p.step_order,
            engine=p.engine,
            dense_predictions=p.dense_predictions,
            averaging=averaging is not None,
        )
        rule.parameters(penalty)
    return Recipe(
        get_loss(p.loss),
        penalty,
        rule,
        make_schedule(p.schedule, eta0 if p.eta0 is None else p.eta0, p.power_t, p.l2),
        p.step_order,
        p.fit_intercept,
        p.epsilon,
        averaging,
    )


def _rule(p: SimpleNamespace) -> AnyRule:
    return make_rule(p.rule, eta0=p.eta0, **{name: getattr(p, name) for name in RULE_PARAMETERS})


def _new_engine(p: SimpleNamespace, n_features: int) -> Engine:
    return engine_for(
        _rule(p),
        ElasticNet(p.l1, p.l2),
        n_features,
        engine=p.engine,
        table_budget=p.table_budget,
        dense_predictions=p.dense_predictions,
        average=make_averaging(p.average, 0) is not None,
    )


def _options_of_engine(p: SimpleNamespace) -> tuple[Any, ...]:
    weighing = make_averaging(p.average, 0)
    rule = _rule(p)
    kind = "affine" if isinstance(rule, Rule) else rule.name
    return (weighing, kind, p.engine, p.table_budget, p.dense_predictions)


def _continued(p: SimpleNamespace, engine: Engine, average: bool) -> Engine:
    """The same weights, and average if asked, in an engine of the kind that is wanted now."""
    new = _new_engine(p, engine.n_features)
    if average:
        new.go_on_from(engine)
    else:
        new.load(engine.weights(), engine.intercept)
    return new


class LazyNetClassifier(SparseClassifier, _LinearLearner):
    """Linear classification with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2`` by stochastic gradient or proximal
    steps.  A step costs the nonzeros of its example, and the weights are those of the dense
    algorithm after every step.  Several classes are trained one against the rest.

    Parameters
    ----------
    loss : str, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "modified_huber", or one of the regression losses
        "squared_error", "absolute_error", "huber", "epsilon_insensitive" on targets -1 and +1.
    l1, l2 : float, default=1e-6, 1e-6
        Strengths of the penalty, any values >= 0.  In scikit-learn's terms l1 = alpha * l1_ratio
        and l2 = alpha * (1 - l1_ratio).
    rule : {"fobos", "sgd", "truncated_gradient", "rda", "ftrl", "adagrad", "carpenter_inexact"}
        How a step shrinks: proximally ("fobos", the default; any rate), or by the subgradient
        (rates below 1 / l2).  Or another way to learn altogether, with rates of its own in place of
        ``schedule``: "rda", regularised dual averaging (``gamma``, ``rho``); "ftrl", FTRL-Proximal
        (``eta0``, ``beta``), whose l1 and l2 act once and not once per step; "adagrad", with a lazy
        elastic net (``eta0``, ``delta``).  Or "truncated_gradient", the subgradient step with l1 as
        gravity (``period``, ``threshold``).  All of these are exact; "carpenter_inexact" is not: in
        place of all the shrinks that a weight has missed it makes one linear step (``period``).
    schedule : str, array, or callable, default="power"
        The rate of step t = 0, 1, 2, ...: "constant" eta0, "inverse_time" eta0/(1+t),
        "inverse_sqrt" eta0/sqrt(1+t), "power" eta0/(1+t)^power_t, "pegasos" 1/(l2 (2+t)), the rates
        themselves, a function of t, or an object of ``lazynet.schedules``.
    eta0 : float or None, default=None
        Scale of the rate.  None: as large as it can be without a step overshooting on any row of
        the first call, 1 / (c * max |x|^2), c the largest curvature of the loss (1 where it has
        kinks) and |x|^2 the squared norm of a row, with the intercept's 1.  (Where the slope of
        the loss is unbounded, times the sample weight.)  Streams whose first rows are not typical
        should give it.
    power_t : float, default=0.25
        Exponent of schedule="power".
    epsilon : float, default=0.1
        Width of "huber" and "epsilon_insensitive".
    step_order : {"gradient_first", "shrink_first"}, default="gradient_first"
        w <- shrink(w - eta g x), or w <- shrink(w) - eta g x.
    max_iter : int, default=100
        Epochs at the most.
    tol : float or None, default=1e-4
        Stop when the objective has not improved on its best by ``tol`` for ``n_iter_no_change``
        epochs in a row.  ``tol`` is absolute, as in scikit-learn: scale a regression target, or
        ``tol`` with it.  None: exactly ``max_iter`` epochs.
    n_iter_no_change : int, default=3
        See ``tol``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.  Without it and without an intercept,
        row i of epoch e is step t = e*n + i.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    class_weight : dict, "balanced" or None, default=None
        What an example counts by its class.
    warm_start : bool, default=False
        Let ``fit`` start from the weights after the last step; t starts at 0 again, and an average
        anew.
    engine : {"clock", "tables", "rescaled", "dense"}, default="clock"
        How the weights are kept: off the clock, in Lipton & Elkan's tables, as a scale times a
        vector (l1=0 only), or all current.
    table_budget : int, default=1048576
        Steps that the tables hold before all weights are brought current (engine="tables").
    dense_predictions : bool, default=False
        Predict over all features as well (engine="dense").
    average : bool, int, "suffix" or "polynomial", default=False
        Predict with the exact mean of the weights after every step instead of the last ones: True,
        of all steps; k, from step k = 1, 2, ... on; "suffix", over the last half of the steps
        (needs ``tol=None``); "polynomial", polynomial-decay averaging, or another object of
        ``lazynet.averaging``.  A step still costs its nonzeros, under an l1 penalty too, unless it
        wipes out a good part of every weight (eta * l2 of order 1): then all weights must be
        visited every few dozen steps.  While no step has counted, ``coef_`` are the last weights.
        Changed between calls of ``partial_fit``, it begins a new average.
    gamma, rho : float or None, default=None
        Of rule="rda": the strength gamma / sqrt(t) of the proximal term (None: 1), and of an l1
        penalty gamma rho / sqrt(t) beside l1 (None: 0).
    beta : float or None, default=None
        Of rule="ftrl": the rate of a coordinate is eta0 / (beta + sqrt(sum g^2)) (None: 1; eta0
        None: 0.1).
    delta : float or None, default=None
        Of rule="adagrad": the rate of a coordinate is eta0 / (delta + sqrt(sum g^2)) (None: 1e-6;
        eta0 None: 0.1).
    period, threshold : int and float or None, default=None
        Of rule="truncated_gradient": every ``period`` steps (None: 1) weights of at most
        ``threshold`` (None: any) move towards zero by eta * period * l1.  A threshold needs l2=0.
        Of rule="carpenter_inexact": every ``period`` steps all weights are brought current (None:
        only those that a row needs; in Carpenter's paper, once in an epoch).
    record_history : bool, default=True
        Evaluate the objective after every epoch for ``history_``.  False saves that pass over the
        data where neither ``tol`` nor ``verbose`` needs it.
    verbose : int, default=0
        1: a line per epoch, and a progress bar on a terminal if tqdm is installed.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; with ``average``, the averages.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept of each row of ``coef_``.
    last_coef_, last_intercept_ : ndarray
        Those after the last step, where ``coef_`` holds averages.
    support_ : ndarray of bool, of the shape of ``coef_``
        Where ``last_coef_`` is not zero.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        Epochs trained.
    t_ : int
        Steps taken: the number of the next step.
    eta0_ : float
        The scale of the rate that was used, where ``schedule`` is a name that takes one.
    history_ : list of dict
        Per epoch: ``epoch``, ``mean_loss``, ``objective`` (both over all examples with ``coef_`` as
        of the end of the epoch, penalty exact), ``nonzeros`` (of ``last_coef_``), ``seconds``
        (training alone).

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

    Two steps that can be followed by hand: the first gives -0.5 to the first weight, the second
    1.0 to the other, and each shrink takes 0.05.

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

    With ``average`` the model is the mean of the weights after both steps, and the last are kept:

    >>> model = LazyNetClassifier(**options, average=True).fit(X, ["no", "yes"])
    >>> model.coef_.round(3), model.last_coef_.round(3)
    (array([[-0.425,  0.475]]), array([[-0.4 ,  0.95]]))
    >>> model.last_intercept_, model.support_
    (array([0.]), array([[ True,  True]]))
    """

    _kinds = table(**_LinearLearner._kinds, class_weight=CLASS_WEIGHT)

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        l1: float = 1e-6,
        l2: float = 1e-6,
        rule: str = "fobos",
        schedule: ScheduleLike = "power",
        eta0: float | None = None,
        power_t: float = 0.25,
        epsilon: float = 0.1,
        step_order: str = "gradient_first",
        max_iter: int = 100,
        tol: float | None = 1e-4,
        n_iter_no_change: int = 3,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        engine: str = "clock",
        table_budget: int = DEFAULT_BUDGET,
        dense_predictions: bool = False,
        average: AverageLike = False,
        gamma: float | None = None,
        rho: float | None = None,
        beta: float | None = None,
        delta: float | None = None,
        period: int | None = None,
        threshold: float | None = None,
        record_history: bool = True,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss,
            l1=l1,
            l2=l2,
            rule=rule,
            schedule=schedule,
            eta0=eta0,
            power_t=power_t,
            epsilon=epsilon,
            step_order=step_order,
            max_iter=max_iter,
            tol=tol,
            n_iter_no_change=n_iter_no_change,
            fit_intercept=fit_intercept,
            shuffle=shuffle,
            random_state=random_state,
            warm_start=warm_start,
            engine=engine,
            table_budget=table_budget,
            dense_predictions=dense_predictions,
            average=average,
            gamma=gamma,
            rho=rho,
            beta=beta,
            delta=delta,
            period=period,
            threshold=threshold,
            record_history=record_history,
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
        """Train from zero weights (or the present ones, with ``warm_start``).

        If it is interrupted or fails, the estimator is what it was before the call.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            A CSR matrix of float32 or float64 with int32 or int64 indices is read where it lies.
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            What each example counts: a factor of its loss.
        sample_order : array of int, shape (n_steps,) or (n_epochs, n_steps), optional
            The rows in the order to visit them, for every epoch or for each; overrides ``shuffle``.
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
        previous = getattr(self, "classes_", None)
        if p.warm_start and previous is not None and not np.array_equal(previous, classes):
            raise ValueError(
                f"warm_start=True continues a model of the classes {previous}, "
                f"but y has {classes}; fit it with warm_start=False"
            )
        weights = importances(p.class_weight, classes, X, y, sample_weight)
        stopped = self._fit(p, X, (y, classes), weights, sample_order)
        self.classes_ = classes
        return self._unfinished(p, stopped)

    @all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once, at a cost in their nonzeros.

        The first call names all ``classes``.  If it fails, the model is what it was before.

        >>> model = LazyNetClassifier("hinge", eta0=0.5, schedule="constant", l1=0.0, l2=0.0)
        >>> for row, label in (([[1.0, 0.0]], "no"), ([[0.0, 2.0]], "yes")):
        ...     _ = model.partial_fit(row, [label], classes=["no", "yes"])
        >>> model.t_, model.coef_, model.intercept_  # -0.5, then +0.5
        (2, array([[-0.5,  1. ]]), array([0.]))
        """
        p = self._settle()
        known = getattr(self, "classes_", None)
        if classes is not None:
            given = check_classes(classes)
            if known is not None and not np.array_equal(known, given):
                raise ValueError(f"classes={given} is not the same as on the last call: {known}")
            known = given
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if isinstance(p.class_weight, str):
            raise ValueError(
                f"class_weight={p.class_weight!r} needs all of y and is not supported by "
                f"partial_fit; pass a dict of weights"
            )
        if len(known) < 2:
            raise ValueError(f"classes must name at least two classes, got {known}")
        begun = self.__sklearn_is_fitted__()
        X, y, _ = self._check_training(X, y, known, reset=not begun)
        weights = importances(p.class_weight, known, X, y, sample_weight)
        self._partial_fit(p, X, (y, known), weights, sample_order)
        self.classes_ = known
        return self

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        max_rows: int = 200,
        epochs: int = 1,
    ) -> VerificationReport:
        """Train the dense twin and the lazy model side by side on the first rows of X.

        Both start from zero, take the rows as they lie with the parameters of this estimator,
        and are compared after every step.  The twin is plain Python and visits every weight;
        rows are halved until it can be done in seconds.  Nothing of the estimator changes.  With
        several classes the first against the rest is compared.

        >>> LazyNetClassifier(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]).agrees
        True
        """
        probe = type(self)(**self.get_params())
        p = probe._settle()
        X, y, classes = probe._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, sample_weight)
        return probe._verify(p, X, (y, classes), weights, max_rows, epochs)


class LazyNetRegressor(SparseRegressor, _LinearLearner):
    """Linear regression with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``.  All other parameters, and the
    attributes, are those of :class:`LazyNetClassifier`, without ``class_weight`` and ``classes_``.

    Parameters
    ----------
    loss : str, default="squared_error"
        "squared_error" (p - y)^2 / 2, "absolute_error", "huber", "epsilon_insensitive".

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X @ [1.0, 0.0, -2.0, 0.0, 0.0]
    >>> model = LazyNetRegressor(l1=1e-2, random_state=0).fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([[ 1.,  0., -2.,  0.,  0.]])
    >>> model.predict([[1.0, 1.0, 1.0, 1.0, 1.0]]).round(1)
    array([-1.])

    Two steps that can be followed by hand, the weight being 1 after the first and 1.5 after both:

    >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25, average=True,
    ...                          max_iter=2, tol=None).fit([[1.0]], [4.0])
    >>> model.coef_, model.intercept_
    (array([[1.25]]), array([1.25]))
    >>> model.last_coef_, model.last_intercept_, model.support_
    (array([[1.5]]), array([1.5]), array([[ True]]))
    """

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        l1: float = 1e-6,
        l2: float = 1e-6,
        rule: str = "fobos",
        schedule: ScheduleLike = "power",
        eta0: float | None = None,
        power_t: float = 0.25,
        epsilon: float = 0.1,
        step_order: str = "gradient_first",
        max_iter: int = 100,
        tol: float | None = 1e-4,
        n_iter_no_change: int = 3,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        engine: str = "clock",
        table_budget: int = DEFAULT_BUDGET,
        dense_predictions: bool = False,
        average: AverageLike = False,
        gamma: float | None = None,
        rho: float | None = None,
        beta: float | None = None,
        delta: float | None = None,
        period: int | None = None,
        threshold: float | None = None,
        record_history: bool = True,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss,
            l1=l1,
            l2=l2,
            rule=rule,
            schedule=schedule,
            eta0=eta0,
            power_t=power_t,
            epsilon=epsilon,
            step_order=step_order,
            max_iter=max_iter,
            tol=tol,
            n_iter_no_change=n_iter_no_change,
            fit_intercept=fit_intercept,
            shuffle=shuffle,
            random_state=random_state,
            warm_start=warm_start,
            engine=engine,
            table_budget=table_budget,
            dense_predictions=dense_predictions,
            average=average,
            gamma=gamma,
            rho=rho,
            beta=beta,
            delta=delta,
            period=period,
            threshold=threshold,
            record_history=record_history,
            verbose=verbose,
        )

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; see :meth:`LazyNetClassifier.fit`."""
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
        stopped = self._fit(p, X, y, weights, sample_order)
        return self._unfinished(p, stopped)

    @all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once, at a cost in their nonzeros.

        >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25)
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([[1.]])
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([[1.5]])
        """
        p = self._settle()
        X, y = self._check_training(X, y, reset=not self.__sklearn_is_fitted__())
        weights = check_sample_weight(sample_weight, X)
        self._partial_fit(p, X, y, weights, sample_order)
        return self

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        max_rows: int = 200,
        epochs: int = 1,
    ) -> VerificationReport:
        """Train the dense twin beside the lazy model; see :meth:`LazyNetClassifier.verify`.

        >>> LazyNetRegressor(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], [3.0, 5.0]).agrees
        True
        """
        probe = type(self)(**self.get_params())
        p = probe._settle()
        X, y = probe._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        return probe._verify(p, X, y, weights, max_rows, epochs)


def _stack(engines: list[Engine], last: bool = False) -> NDArray[np.float64]:
    coefficients = np.empty((len(engines), engines[0].n_features))
    for row, engine in zip(coefficients, engines, strict=True):
        engine.weights(out=row) if last else engine.model(out=row)
    coefficients.flags.writeable = False
    return coefficients
