"""The settings of an online fit: every parameter as a plain value, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from lazynet.data.statistics import RowStatistics
from lazynet.data.weights import Balanced
from lazynet.engines.catalogue import ALGORITHMS, RULE_OBJECTS, RuleLike, check_rule
from lazynet.losses import LOSSES, SOFTMAX, Loss
from lazynet.parameters import Kind, check_choice, check_integer, settle, shown
from lazynet.penalties import ElasticNet
from lazynet.rules.adagrad import AdaGrad
from lazynet.rules.base import Rule
from lazynet.schedules import AUTO, FromData, needs_scale
from lazynet.training import automatic
from lazynet.training.plan import Plan, joins_outputs

#: An epoch makes progress if it lowers the least loss by more than this share.
TOL = 1e-3
#: Epochs in a row without progress that end a fit.
N_ITER_NO_CHANGE = 5
#: The share of the rows that early stopping holds out.
VALIDATION_FRACTION = 0.1
# The names of the rules with which one pass can learn several outputs.
_RULES_OF_ONE_PASS = ", ".join(repr(row.rule.name) for row in ALGORITHMS.values() if row.outputs)
#: The largest seed that NumPy's RandomState takes.
_LARGEST_SEED = 2**32 - 1


def _check_rule(name: str, value: Any) -> Any:
    if isinstance(value, str) and check_choice(name, value, {AUTO, *ALGORITHMS}) == AUTO:
        return AUTO
    return check_rule(name, value)


def _check_random_state(name: str, value: Any) -> int | np.random.RandomState:
    if isinstance(value, np.random.RandomState):
        return value
    if value is np.random:
        return check_random_state(value)
    try:
        return check_integer(name, value, 0, _LARGEST_SEED)
    except TypeError:
        raise TypeError(
            f"{name} must be None, an integer from 0 to {_LARGEST_SEED} or a "
            f"numpy.random.RandomState, got {shown(value)}"
        ) from None


#: The types of the parameters ``rule`` and ``random_state`` of the estimators.
RuleOrAuto = Annotated[RuleLike, Kind(_check_rule, objects=RULE_OBJECTS)]
Seed = Annotated[int | np.random.RandomState, Kind(_check_random_state)]


def _check_standardize(name: str, value: Any) -> str | bool:
    if value is True or value is False or isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, str) and value == AUTO:
        return AUTO
    raise ValueError(f"{name} must be 'auto', True or False, got {shown(value)}")


#: The type of the parameter ``standardize``.
Standardize = Annotated[str | bool, Kind(_check_standardize)]


def new_generator(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """The given generator, or a new one from the seed; None: the seed is a random number.

    >>> new_generator(0).randint(10) == np.random.RandomState(0).randint(10)
    True
    """
    if random_state is None:
        return np.random.RandomState(np.random.randint(2**31))  # noqa: NPY002
    return check_random_state(random_state)


def new_seeds(random_state: int | np.random.RandomState | None, *shape: int) -> NDArray[np.int64]:
    """Different seeds that follow from the given one, or random numbers from the generator.

    >>> new_seeds(np.random.RandomState(0), 3).tolist()
    [209652396, 398764591, 924231285]
    """
    if isinstance(random_state, int):
        # A new generator would take a tenth of the time of a small certified fit.
        return (1_000_003 * random_state + np.arange(math.prod(shape)).reshape(shape)) % 2**31
    source = np.random if random_state is None else random_state
    return source.randint(2**31, size=shape)


@dataclass(frozen=True)
class Settings:
    """The parameters of an online estimator; each "auto" that needs no rows has its value."""

    loss: Loss
    l1: float | None
    """None: ``fit`` computes it from the rows."""
    l2: float
    rule: Rule
    schedule: Any
    """None: the rule computes its rates without a schedule."""
    eta0: float | None
    """The scale of the rates, 1 if the rates have no scale; None: it is computed from the rows."""
    max_iter: int | None
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    fit_intercept: bool
    shuffle: bool
    random_state: Any
    warm_start: bool
    verbose: int
    dtype: str
    n_threads: int
    classifies: bool
    softmax: bool
    class_weight: Balanced | dict[Any, float] | None
    standardize: str | bool
    """Whether training standardises the features: "auto", True or False."""
    # Fields that follow from the parameters.
    choices: tuple[automatic.Choice, ...]
    """The automatic choices that need no rows."""
    has_automatic_rates: bool
    """Whether the rates follow the data, so that they may fall in the last epochs."""
    has_eta0: bool
    """Whether the rates have a scale eta0, of the schedule or computed from the rows."""

    @property
    def units(self) -> tuple[bool, bool] | None:
        """Whether features have their own sizes, and whether they are centred; None: no units."""
        if self.standardize is False:
            return None
        return self.standardize is True, self.fit_intercept

    def plan(
        self,
        n_outputs: int,
        l1: float,
        eta0: float | None,
        statistics: RowStatistics | None = None,
        **options: Any,
    ) -> Plan:
        """The plan with this ``l1`` if the settings have no l1; ``options`` are fields of the plan.

        ``eta0`` is the scale of the rates; None: the default for rows with these ``statistics``.
        The softmax of two classes is the logistic loss of one output.
        """
        l1 = l1 if self.l1 is None else self.l1
        penalty = ElasticNet(l1, self.l2, self.rule.positive)
        if eta0 is None:
            assert statistics is not None
            eta0 = automatic.scale_of_rates(self.rule, self.loss, penalty, statistics)
        fields: dict[str, Any] = {
            "schedule": self.schedule,
            "average": self.rule.average,
            "fit_intercept": self.fit_intercept,
            "softmax": self.softmax and n_outputs != 1,
            "dtype": self.dtype,
            "eta0": eta0,
            "n_outputs": n_outputs,
            "n_threads": self.n_threads,
        }
        return Plan(self.loss, penalty, self.rule, **fields | options)


def read_settings(model: Any) -> Settings:
    """The checked parameters of an estimator; refuses parameters that exclude each other."""
    p, classifies = vars(settle(type(model), vars(model))), isinstance(model, ClassifierMixin)
    n_jobs, softmax = p.pop("n_jobs", None), p["loss"] == SOFTMAX
    loss: Loss = LOSSES["log_loss"] if softmax else p["loss"]
    p["loss"] = loss
    rule: Rule = p["rule"]
    choices = []
    if rule == AUTO:
        # Softmax excludes the automatic rates of FoBoS.
        weighted = p.get("class_weight") is not None and not softmax
        rule = automatic.rule_for(loss, classifies, weighted)
        reason = f"the default for loss={loss.name!r}" + " and class weights" * weighted
        choices.append(automatic.Choice("rule", rule, reason))
        p["rule"] = rule = rule.settled()
    schedule = automatic.schedule_of(rule).settled() if rule.schedule == AUTO else rule.schedule
    eta0 = rule.eta0
    if eta0 is None and not rule.scheduled:
        eta0 = getattr(rule, "alpha", None) or (1.0 if rule.streams else None)
    elif eta0 is None and not needs_scale(schedule):
        eta0 = float(getattr(schedule, "eta0", 1.0))
    settings = Settings(
        **{"class_weight": None, **p},
        schedule=schedule,
        eta0=eta0,
        n_threads=int(effective_n_jobs(n_jobs)),
        classifies=classifies,
        softmax=softmax,
        choices=tuple(choices),
        has_automatic_rates=isinstance(schedule, FromData)
        or (isinstance(rule, AdaGrad) and rule.alpha is None),
        has_eta0=hasattr(schedule, "eta0"),
    )
    check_together(settings)
    return settings


def check_together(settings: Settings) -> None:
    """Refuse parameters that exclude each other."""
    rule, schedule = settings.rule, settings.schedule
    rule.check(settings.l2, settings.loss)
    rates_from_data = isinstance(schedule, FromData)
    if settings.softmax and rates_from_data:
        raise ValueError(
            f"loss='softmax' excludes schedule={schedule!r}, whose "
            f"rates follow the slopes of one output: give an eta0, or write rule='adagrad'"
        )
    if settings.softmax and not joins_outputs(rule, rates_from_data):
        raise ValueError(
            f"loss='softmax' needs one of the rules {_RULES_OF_ONE_PASS} with "
            f"storage='clock' and without positive=True, got rule={rule!r}"
        )
    narrow = settings.dtype != "float64"
    if narrow and (rule.average is not None or not joins_outputs(rule, rates_from_data)):
        raise ValueError(
            f"dtype={settings.dtype!r} is for outputs that are learned in one pass, by one of the "
            f"rules {_RULES_OF_ONE_PASS} with storage='clock', without positive=True and without "
            f"an average"
        )
