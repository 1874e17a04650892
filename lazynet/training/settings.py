"""The settings of an online fit: every parameter as a plain value, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from joblib import effective_n_jobs

from lazynet.data.weights import Balanced
from lazynet.engines.catalogue import ALGORITHMS, EngineKind
from lazynet.losses import LOSSES, SOFTMAX, Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import Rule
from lazynet.rules.storage import Clock
from lazynet.schedules import FromData, check_scale
from lazynet.training.defaults import resolved_rule, resolved_schedule
from lazynet.training.plan import Plan


@dataclass(frozen=True)
class Settings:
    """The parameters of an online estimator; "auto" is resolved where no row is needed for it."""

    loss: Loss
    l1: float | None
    """None: ``fit`` computes it from the rows."""
    l2: float
    rule: Rule
    schedule: Any
    """None: the rule has rates of its own."""
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
    class_weight: Balanced | Mapping[Any, float] | None

    def plan(self, l1: float = 0.0, n_outputs: int | None = None) -> Plan:
        """The plan with this ``l1`` where none is given.

        The softmax of two classes is the logistic loss of one output.
        """
        return Plan(
            self.loss,
            ElasticNet(l1 if self.computes_l1 else self.l1 or 0.0, self.l2, self.rule.positive),
            self.rule,
            self.schedule,
            self.rule.average,
            self.fit_intercept,
            self.softmax and n_outputs != 1,
            self.dtype,
        )

    @property
    def engine_kind(self) -> EngineKind:
        """What two settings must share for an engine of one to serve the other."""
        return self.plan().engine_kind

    @property
    def penalised(self) -> bool:
        """Whether the user gives a penalty."""
        return bool(self.l2) or self.l1 is not None

    @property
    def computes_l1(self) -> bool:
        """Whether the l1 of a fit is computed from the rows."""
        return self.l1 is None and self.rule.storage.takes_l1

    @property
    def follows_rows(self) -> bool:
        """Whether the rates are computed from the sizes of the rows."""
        scheduled = self.rule.scheduled and isinstance(self.schedule, FromData)
        return scheduled or self.rule.sizes is not None

    @property
    def standardises(self) -> bool:
        """Whether a fit may learn from features in units of their own."""
        return not self.penalised and self.follows_rows

    @property
    def limits_epochs(self) -> bool:
        """Whether the number of epochs is chosen so small that a classifier does not overfit."""
        return self.max_iter is None and self.follows_rows and self.classifies

    @property
    def may_restart(self) -> bool:
        """Whether a bad first epoch lets a fit begin anew, at lower rates."""
        chooses_all = self.limits_epochs and not self.penalised and not self.early_stopping
        return chooses_all and self.rule.divides and self.loss.name == "log_loss"

    @property
    def returns_to_best(self) -> bool:
        """Whether a fit returns to the end of its best epoch."""
        # The progressive loss judges the last weights, not their average.
        return self.early_stopping or (self.tol is not None and self.rule.average is None)

    @property
    def has_scale(self) -> bool:
        """Whether the rates have a scale eta0, of the schedule or computed from the rows."""
        return self.rule.scheduled and hasattr(self.schedule, "eta0")


def read_settings(parameters: Mapping[str, Any], classifies: bool) -> Settings:
    """The settings of checked ``parameters``; refuses those that do not go together."""
    p = dict(parameters)
    n_jobs, softmax = p.pop("n_jobs", None), p["loss"] == SOFTMAX
    if softmax:
        p["loss"] = LOSSES["log_loss"]
    rule = p["rule"] = resolved_rule(p["rule"], p["loss"], classifies)
    check_scale(rule.schedule, rule.eta0)
    settings = Settings(
        **{"class_weight": None, **p},
        schedule=resolved_schedule(rule) if rule.scheduled else None,
        n_threads=int(effective_n_jobs(n_jobs)),
        classifies=classifies,
        softmax=softmax,
    )
    check_together(settings.plan())
    return settings


# --- which parameters go together ---

#: A parameter, its value, whether the value is accepted, and what to write instead.
Row = tuple[str, Any, bool, str]


def _joining() -> str:
    """The rules whose outputs are learned in one pass."""
    return ", ".join(repr(name) for name, row in ALGORITHMS.items() if row.outputs is not None)


def _refuse(what: str, rows: Iterable[Row], reason: str = "", otherwise: str = "") -> None:
    """Refuse the first parameter that does not go with ``what``."""
    for name, value, accepted, write in rows:
        if not accepted:
            raise ValueError(
                f"{what} does not go with {name}={value!r}{reason}: write {name}={write}{otherwise}"
            )


def check_together(plan: Plan) -> Plan:
    """The plan itself; refuses parameters that do not go together."""
    rule, storage, penalty = plan.rule, plan.rule.storage, plan.penalty
    rule.check_penalty(penalty)
    rule.check_loss(plan.loss)
    on_clock, no_average = storage == Clock(), plan.average is None
    one_row, signed = rule.batch_size == 1, not penalty.positive
    if penalty.l1 and not storage.takes_l1:
        raise ValueError(
            f"storage={storage.name!r} knows no l1 penalty, got l1={penalty.l1:g}; set l1=0, "
            f"or use storage='clock'"
        )
    if not (no_average or storage.takes_averages):
        raise ValueError(
            f"average needs storage='clock', or storage='dense' for comparison; "
            f"storage={storage.name!r} does not keep the sums that an average needs"
        )
    clock: Row = ("storage", storage, on_clock, "'clock'")
    average: Row = ("average", plan.average, no_average, "False")
    scheduled: Row = ("schedule", plan.schedule, not plan.adaptive, "'power'")
    positive: Row = ("positive", True, signed, "False")
    if not signed:
        _refuse("positive=True", (clock, average))
    if plan.adaptive:
        _check_rates_from_data(plan)
    if plan.softmax:
        _check_softmax(plan)
    if rule.group is not None:
        order: Row = (
            "step_order", rule.step_order, rule.step_order == "gradient_first", "'gradient_first'"
        )  # fmt: skip
        batch: Row = ("batch_size", rule.batch_size, one_row, "1")
        _refuse(f"group={rule.group!r}", (order, clock, average, positive, batch, scheduled))
    if plan.dtype != "float64" and not (no_average and plan.joins_outputs):
        raise ValueError(
            f"dtype={plan.dtype!r} is for outputs that are learned in one pass, by one of the "
            f"rules {_joining()} with storage='clock', without positive=True, without an "
            f"average and with batch_size=1"
        )
    if not one_row:
        reason, otherwise = ", which takes one row in a step", ", or batch_size=1"
        _refuse(f"batch_size={rule.batch_size}", (clock, scheduled, positive), reason, otherwise)
    if rule.has_state:
        _refuse("a threshold", (clock, average))
    return plan


def _check_softmax(plan: Plan) -> None:
    """Refuse rates and rules that the softmax does not go with."""
    if plan.adaptive:
        raise ValueError(
            f"loss='softmax' does not go with schedule={plan.schedule!r}, whose "
            f"rates follow the slopes of one output: give an eta0, or write rule='adagrad'"
        )
    if not plan.joins_outputs:
        raise ValueError(
            f"loss='softmax' needs one of the rules {_joining()} with "
            f"storage='clock', without positive=True and with batch_size=1, got "
            f"rule={plan.rule!r}"
        )


def _check_rates_from_data(plan: Plan) -> None:
    """Refuse storage and rules that do not compute rates from the rows."""
    if plan.rule.storage != Clock():
        raise ValueError(
            f"schedule={plan.schedule!r} needs storage='clock', which computes the rates from "
            f"the rows, got storage={plan.rule.storage!r}"
        )
    if not isinstance(plan.rule, (FoBoS, SGD)):
        raise ValueError(
            f"schedule={plan.schedule!r} gives rates to rule='fobos' and rule='sgd', "
            f"got rule={plan.rule!r}"
        )
