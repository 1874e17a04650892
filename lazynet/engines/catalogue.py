"""The catalogue of the update rules: a row a rule, with its engine, reference, paper and property.

Parameters, ``verify``, the tests and the documentation's table of algorithms read the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lazynet import reference
from lazynet.engines.adagrad import AdaGradEngine
from lazynet.engines.base import Engine
from lazynet.engines.carpenter import CarpenterEngine
from lazynet.engines.cells import RuleEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.ftrl import FTRLEngine
from lazynet.engines.groups import GroupedOutputs
from lazynet.engines.outputs import OutputsEngine, OutputsOnClock
from lazynet.engines.outputs_averaged import AveragedOutputs
from lazynet.engines.outputs_cells import AdaGradOutputs, CellOutputs, FTRLOutputs, RDAOutputs
from lazynet.engines.rda import RDAEngine
from lazynet.engines.saga import SAGAEngine
from lazynet.engines.tables import TablesEngine
from lazynet.engines.truncated_gradient import TruncatedGradientEngine
from lazynet.engines.wear import Wear
from lazynet.losses import Loss
from lazynet.parameters import named_or_given, shown
from lazynet.penalties import ElasticNet
from lazynet.reference.adagrad import DenseAdaGrad
from lazynet.reference.carpenter import PlainCarpenter
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.rda import DenseRDA
from lazynet.reference.saga import DenseSAGA
from lazynet.reference.truncated_gradient import DenseTruncatedGradient
from lazynet.rules.adagrad import AdaGrad
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import LOG_LOSS, Rule
from lazynet.rules.carpenter import Carpenter
from lazynet.rules.ftrl import FTRL
from lazynet.rules.rda import RDA
from lazynet.rules.saga import SAGA
from lazynet.rules.storage import Dense, Storage, Tables
from lazynet.rules.truncated_gradient import TruncatedGradient
from lazynet.schedules import FromData


@dataclass(frozen=True)
class Algorithm:
    """A row of the catalogue.

    >>> row = ALGORITHMS["rda"]
    >>> row.rule(), row.engine.kind, row.paper, row.exact
    (RDA(), 'rda', 'Xiao (2010)', True)
    """

    rule: type[Rule]
    #: the engine of a rule with a state of its own; None for rules whose weights a storage keeps
    engine: type[RuleEngine] | None
    #: the plain Python class that the compiled engine is held against
    reference: Callable[..., Any]
    paper: str
    #: the test that compares the engine with the reference
    property: str
    #: whether lazy weights equal dense weights after every step
    exact: bool = True
    #: the engine of several outputs; None where every output has an engine of its own
    outputs: type[OutputsEngine] | None = None


_STORAGES = "tests/exact/test_lazy_equals_dense.py"
_CELLS = "tests/exact/test_rules_with_state.py"

#: Every row, by the name that the parameter ``rule`` gives to it.
ALGORITHMS: dict[str, Algorithm] = {
    row.rule.name: row
    for row in (
        Algorithm(
            FoBoS, None, partial(reference.DenseReference, rule="fobos"),
            "Duchi & Singer (2009); Lipton & Elkan, Eq. 2 and Theorem 2", _STORAGES,
            outputs=OutputsOnClock,
        ),
        Algorithm(
            SGD, None, partial(reference.DenseReference, rule="sgd"),
            "Lipton & Elkan, Eq. 3 and Theorem 1 (corrected)", _STORAGES,
            outputs=OutputsOnClock,
        ),
        Algorithm(
            TruncatedGradient, TruncatedGradientEngine, DenseTruncatedGradient,
            "Langford, Li & Zhang (2009)", _CELLS,
        ),
        Algorithm(RDA, RDAEngine, DenseRDA, "Xiao (2010)", _CELLS, outputs=RDAOutputs),
        Algorithm(
            FTRL, FTRLEngine, DenseFTRL, "McMahan et al. (2013), Algorithm 1", _CELLS,
            outputs=FTRLOutputs,
        ),
        Algorithm(
            AdaGrad, AdaGradEngine, DenseAdaGrad,
            "Duchi, Hazan & Singer (2011), composite form", _CELLS,
            outputs=AdaGradOutputs,
        ),
        Algorithm(
            SAGA, SAGAEngine, DenseSAGA, "Defazio, Bach & Lacoste-Julien (2014)", _CELLS,
        ),
        Algorithm(
            Carpenter, CarpenterEngine, PlainCarpenter,
            "Carpenter (2008)", _CELLS, exact=False,
        ),
    )
}  # fmt: skip

RuleLike = str | Rule


def check_rule(name: str, value: Any) -> Rule:
    """The rule that ``value`` is, or that it names.

    >>> check_rule("rule", "rda"), check_rule("rule", RDA(gamma=2.0))
    (RDA(), RDA(gamma=2.0))
    """
    known = {key: row.rule for key, row in ALGORITHMS.items()}
    rule = named_or_given(name, value, Rule, known)
    if not isinstance(rule, known.get(rule.name, ())):
        raise ValueError(f"{name} must be a rule of lazynet.engines.catalogue, got {shown(value)}")
    return rule


RULE_OBJECTS = tuple(row.rule for row in ALGORITHMS.values())


def new_engine(
    rule: Rule,
    penalty: ElasticNet,
    n_features: int,
    *,
    loss: Loss = LOG_LOSS,
    storage: Storage | None = None,
    average: bool = False,
    wear: Wear | None = None,
) -> Engine:
    """A new engine, all weights zero: the rule's own, or that of a storage.

    Only rates that follow the data depend on ``loss``.

    >>> new_engine(RDA(), ElasticNet(), 3).name, new_engine(FoBoS(), ElasticNet(), 3).name
    ('rda', 'clock')
    """
    engine = ALGORITHMS[rule.name].engine
    if rule.has_state and engine is not None:
        return engine(n_features, rule, penalty, wear, loss)
    if isinstance(storage, Tables):
        return TablesEngine(n_features, storage.budget, wear)
    if isinstance(storage, Dense):
        return DenseEngine(n_features, storage.predictions, wear, average=average)
    return AveragedClockEngine(n_features, wear) if average else ClockEngine(n_features, wear)


def new_outputs(
    rule: Rule,
    penalty: ElasticNet,
    n_features: int,
    n_outputs: int,
    *,
    loss: Loss = LOG_LOSS,
    average: bool = False,
    own_clocks: bool = False,
    dtype: Any = "float64",
    wear: Wear | None = None,
) -> OutputsEngine:
    """A new engine of several outputs, all weights zero.

    ``own_clocks`` gives every output a clock, for rates that differ from output to output.

    >>> new_outputs(RDA(), ElasticNet(), 3, 20).n_outputs
    20
    """
    if rule.group is not None:
        return GroupedOutputs(n_features, n_outputs, rule, dtype)
    kind = ALGORITHMS[rule.name].outputs
    if kind is not None and issubclass(kind, CellOutputs):
        penalties = [penalty] * n_outputs
        return kind(n_features, n_outputs, rule, penalties, dtype, wear, loss)
    if average:
        return AveragedOutputs(n_features, n_outputs, wear)
    return OutputsOnClock(n_features, n_outputs, dtype, wear, own_clocks)


class EngineKind(NamedTuple):
    """The properties that two plans must share for an engine of one to serve the other.

    >>> from lazynet import Clock
    >>> kind = EngineKind(None, "rda", Clock(), False, False, "float64", None)
    >>> kind.new_engine(3, None).name, kind.new_engine(3, 20).n_outputs
    ('rda', 20)
    """

    average: Any
    #: the name of a rule with a state, or "affine"
    rule: str
    storage: Storage
    rates_from_data: bool
    positive: bool
    dtype: str
    group: str | None

    def new_engine(self, n_features: int, n_outputs: int | None) -> Engine:
        """An engine to be filled with a state, of one output or of ``n_outputs``."""
        # Any rule of the name and any penalty will do: the state has their numbers.
        row, penalty = ALGORITHMS["fobos" if self.rule == "affine" else self.rule], ElasticNet()
        rule, average = row.rule().settled(), self.average is not None
        if n_outputs is None and row.engine is not None:
            return row.engine(n_features, rule, penalty)
        if n_outputs is None:
            return new_engine(rule, penalty, n_features, storage=self.storage, average=average)
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"there are no weights of {self.dtype}")
        if self.group is not None:
            return GroupedOutputs(n_features, n_outputs, rule, self.dtype)
        return new_outputs(
            rule, penalty, n_features, n_outputs,
            average=average, own_clocks=self.rates_from_data, dtype=self.dtype,
        )  # fmt: skip


def new_reference(
    rule: Rule,
    n_features: int,
    *,
    loss: Loss,
    penalty: ElasticNet,
    schedule: Callable[[int], float],
    fit_intercept: bool,
    n_rows: int | None = None,
) -> Any:
    """The plain Python twin of a rule, all weights zero.

    ``n_rows`` is the number of rows of the data set, for rules that do not learn from a stream.

    >>> from lazynet.losses import get_loss
    >>> twin = new_reference(RDA(gamma=2.0), 1, loss=get_loss("hinge"), penalty=ElasticNet(),
    ...                      schedule=lambda t: 0.1, fit_intercept=False)
    >>> _ = twin.step([0], [1.0], 1.0)
    >>> twin.weights
    [0.5]
    """
    options = dict(
        loss=loss.name,
        l1=penalty.l1,
        l2=penalty.l2,
        fit_intercept=fit_intercept,
        epsilon=loss.epsilon,
        **rule.twin_options(loss),
    )
    if penalty.positive:
        options["positive"] = True
    if rule.scheduled and isinstance(schedule, FromData):
        largest = rule.largest_rate(penalty) / 2
        options |= dict(rule=rule.name, largest_rate=largest, factor=schedule.factor)
        return reference.DenseFromData(n_features, **options)
    if rule.scheduled:
        options["schedule"] = schedule
    if not rule.streams:
        if n_rows is None or None in rule.get_params(deep=False).values():
            raise ValueError(
                f"the twin of rule={rule!r} needs n_rows, the number of rows of the data set, and "
                f"the rate: write rule={rule.rate}"
            )
        options["n_rows"] = n_rows
    return ALGORITHMS[rule.name].reference(n_features, **options)
