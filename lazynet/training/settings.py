"""The settings of an online fit: every parameter as a plain value, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joblib import effective_n_jobs

from lazynet.averages import Average, Suffix
from lazynet.data.weights import Balanced
from lazynet.engines.catalogue import Storage
from lazynet.losses import LOSSES, SOFTMAX, Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.base import Rule
from lazynet.rules.storage import Form
from lazynet.schedules import FromData, Schedule
from lazynet.training.compatibility import check_rate_parameters, check_together
from lazynet.training.defaults import AUTO, is_auto, resolved_rule, resolved_schedule
from lazynet.training.plan import Plan


@dataclass(frozen=True)
class Settings:
    """The parameters of an online estimator; "auto" is resolved where no row is needed for it."""

    loss: Loss
    l1: float | None
    """None: ``fit`` computes it from the rows."""
    l2: float
    rule: Rule
    schedule: Schedule
    automatic_schedule: bool
    """Whether the schedule was left to the model."""
    eta0: float | None
    engine: Form
    average: Average | Suffix | None
    max_iter: int | None
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    fit_intercept: bool
    positive: bool
    batch_size: int
    group: str | None
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
        plan = Plan(
            self.loss,
            ElasticNet(l1 if self.l1 is None else self.l1, self.l2, self.positive),
            self.rule,
            self.schedule,
            self.engine,
            self.average,
            self.fit_intercept,
            self.softmax and n_outputs != 1,
            self.dtype,
            self.group,
            self.batch_size,
        )
        return check_together(plan)

    @property
    def storage(self) -> Storage:
        """What two settings must share for an engine of one to serve the other."""
        return self.plan().storage

    @property
    def penalised(self) -> bool:
        """Whether the user gives a penalty."""
        return bool(self.l2) or self.l1 is not None

    @property
    def computes_l1(self) -> bool:
        """Whether the l1 of a fit is computed from the rows."""
        return self.l1 is None and self.engine.takes_l1

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
        return self.early_stopping or (self.tol is not None and self.average is None)

    @property
    def has_scale(self) -> bool:
        """Whether the rates have a scale eta0, of the schedule or computed from the rows."""
        return self.rule.scheduled and hasattr(self.schedule, "eta0")


def read_settings(parameters: Mapping[str, Any], schedule: Any, classifies: bool) -> Settings:
    """The settings of checked ``parameters``; refuses those that do not go together.

    ``schedule`` is the parameter as the user has passed it.
    """
    p = dict(parameters)
    n_jobs, softmax = p.pop("n_jobs", None), p["loss"] == SOFTMAX
    if softmax:
        p["loss"] = LOSSES["log_loss"]
    p["rule"] = resolved_rule(
        p["rule"],
        p["schedule"],
        eta0=p["eta0"],
        form=p["engine"],
        average=p["average"],
        loss=p["loss"],
        classifies=classifies,
        positive=p["positive"],
        group=p["group"],
    )
    check_rate_parameters(p["rule"], schedule, p["eta0"], default=AUTO)
    p["schedule"] = resolved_schedule(
        p["schedule"],
        p["rule"],
        eta0=p["eta0"],
        form=p["engine"],
        batch_size=p["batch_size"],
        group=p["group"],
    )
    settings = Settings(
        **{"class_weight": None, **p},
        automatic_schedule=is_auto(schedule),
        n_threads=int(effective_n_jobs(n_jobs)),
        classifies=classifies,
        softmax=softmax,
    )
    settings.plan()
    return settings
