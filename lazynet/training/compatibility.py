"""Which parameters go together: refusals that name the parameter and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import Rule
from lazynet.rules.storage import Clock
from lazynet.schedules import check_scale
from lazynet.training.plan import Plan

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
    rule, form, penalty = plan.rule, plan.form, plan.penalty
    rule.check_penalty(penalty)
    rule.check_loss(plan.loss)
    on_clock, no_average = form == Clock(), plan.average is None
    one_row, signed = plan.batch_size == 1, not penalty.positive
    if penalty.l1 and not form.takes_l1:
        raise ValueError(
            f"engine={form.name!r} knows no l1 penalty, got l1={penalty.l1:g}; set l1=0, "
            f"or use engine='clock'"
        )
    if not (no_average or form.takes_averages):
        raise ValueError(
            f"average needs engine='clock', or engine='dense' for comparison; "
            f"engine={form.name!r} does not keep the sums that an average needs"
        )
    engine: Row = ("engine", form, on_clock, "'clock'")
    average: Row = ("average", plan.average, no_average, "False")
    scheduled: Row = ("schedule", plan.schedule, not plan.adaptive, "'power'")
    positive: Row = ("positive", True, signed, "False")
    if not signed:
        takes_positive: Row = ("rule", rule, rule.takes_positive, "'fobos'")
        _refuse("positive=True", (takes_positive, engine, average))
    if plan.adaptive:
        _check_rates_from_data(plan)
    if plan.softmax:
        _check_softmax(plan)
    if plan.group is not None:
        is_fobos: Row = ("rule", rule, rule == FoBoS(), "'fobos'")
        batch: Row = ("batch_size", plan.batch_size, one_row, "1")
        checks = (is_fobos, engine, average, positive, batch, scheduled)
        _refuse(f"group={plan.group!r}", checks)
    if plan.dtype != "float64" and not (no_average and plan.joins_outputs):
        raise ValueError(
            f"dtype={plan.dtype!r} is for outputs that are learned in one pass, by one of the "
            f"rules {_joining()} with engine='clock', without positive=True, without an "
            f"average and with batch_size=1"
        )
    if not one_row:
        takes_batches: Row = ("rule", rule, rule.takes_batches, "'adagrad'")
        rows = (takes_batches, engine, scheduled, positive)
        reason, otherwise = ", which takes one row in a step", ", or batch_size=1"
        _refuse(f"batch_size={plan.batch_size}", rows, reason, otherwise)
    if rule.has_state:
        for name, is_default in (("engine", on_clock), ("average", no_average)):
            if not is_default:
                raise ValueError(
                    f"{name} is not used by rule={rule!r}, which has a state of its own; leave it "
                    f"at its default"
                )
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
            f"engine='clock', without positive=True and with batch_size=1, got "
            f"rule={plan.rule!r}"
        )


def _check_rates_from_data(plan: Plan) -> None:
    """Refuse storage and rules that do not compute rates from the rows."""
    if plan.form != Clock():
        raise ValueError(
            f"schedule={plan.schedule!r} needs engine='clock', which computes the rates from "
            f"the rows, got engine={plan.form!r}"
        )
    if not isinstance(plan.rule, (FoBoS, SGD)):
        raise ValueError(
            f"schedule={plan.schedule!r} gives rates to rule='fobos' and rule='sgd', "
            f"got rule={plan.rule!r}"
        )


def check_rate_parameters(
    rule: Rule, schedule: Any, eta0: float | None, default: str = "power"
) -> None:
    """Refuse a ``schedule`` or an ``eta0``, as the user passed them, that the rule does not use.

    ``default`` is the value of ``schedule`` that asks for nothing.
    """
    if rule.scheduled:
        check_scale(schedule, eta0)
        return
    if not (isinstance(schedule, str) and schedule == default):
        raise ValueError(
            f"schedule is not used by rule={rule!r}, which has rates of its own; leave it at its "
            f"default and write rule={rule.rate}"
        )
    if eta0 is not None:
        raise ValueError(
            f"eta0 is not used by rule={rule!r}, which has rates of its own: write rule={rule.rate}"
        )
