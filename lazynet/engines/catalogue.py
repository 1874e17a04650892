"""The catalogue of the update rules: a row a rule, with its engine, reference and paper.

Parameters, ``verify``, the tests and the documentation's table of algorithms read the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lazynet import reference
from lazynet.engines.base import Engine, Wear
from lazynet.engines.cells import (
    AdaGradEngine,
    CarpenterEngine,
    CellEngine,
    FTRLEngine,
    RDAEngine,
    SAGAEngine,
    TruncatedGradientEngine,
)
from lazynet.engines.clock import AveragedClockEngine, ClockEngine, DenseEngine, TablesEngine
from lazynet.engines.outputs import AveragedOutputs, GroupedOutputs, OutputsEngine, OutputsOnClock
from lazynet.engines.outputs_of_rules import AdaGradOutputs, FTRLOutputs, RDAOutputs, RuleOutputs
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


@dataclass(frozen=True)
class Algorithm:
    """A row of the catalogue.

    >>> row = ALGORITHMS["rda"]
    >>> row.rule(), row.engine.kind, row.paper, row.exact
    (RDA(), 'rda', 'Xiao (2010)', True)
    """

    rule: type[Rule]
    #: the engine of a rule with cells of its own; None for affine rules
    engine: type[CellEngine] | None
    #: the plain Python class that the compiled engine is held against
    reference: Callable[..., Any]
    paper: str
    #: whether lazy weights equal dense weights after every step
    exact: bool = True
    #: the engine of several outputs; None where every output has an engine of its own
    outputs: type[OutputsEngine] | None = None


#: Every row, by the name that the parameter ``rule`` gives to it.
ALGORITHMS: dict[str, Algorithm] = {
    row.rule.name: row
    for row in (
        Algorithm(
            FoBoS, None, partial(reference.DenseReference, rule="fobos"),
            "Duchi & Singer (2009); Lipton & Elkan, Eq. 2 and Theorem 2",
            outputs=OutputsOnClock,
        ),
        Algorithm(
            SGD, None, partial(reference.DenseReference, rule="sgd"),
            "Lipton & Elkan, Eq. 3 and Theorem 1 (corrected)",
            outputs=OutputsOnClock,
        ),
        Algorithm(
            TruncatedGradient, TruncatedGradientEngine, DenseTruncatedGradient,
            "Langford, Li & Zhang (2009)",
        ),
        Algorithm(RDA, RDAEngine, DenseRDA, "Xiao (2010)", outputs=RDAOutputs),
        Algorithm(
            FTRL, FTRLEngine, DenseFTRL, "McMahan et al. (2013), Algorithm 1",
            outputs=FTRLOutputs,
        ),
        Algorithm(
            AdaGrad, AdaGradEngine, DenseAdaGrad,
            "Duchi, Hazan & Singer (2011), composite form",
            outputs=AdaGradOutputs,
        ),
        Algorithm(
            SAGA, SAGAEngine, DenseSAGA, "Defazio, Bach & Lacoste-Julien (2014)",
        ),
        Algorithm(
            Carpenter, CarpenterEngine, PlainCarpenter,
            "Carpenter (2008)", exact=False,
        ),
    )
}  # fmt: skip

RuleLike = str | Rule


def check_rule(name: str, value: Any) -> Rule:
    """The rule that ``value`` is, or that it names.

    >>> check_rule("rule", "rda"), check_rule("rule", RDA(gamma=2.0))
    (RDA(), RDA(gamma=2.0))
    """
    rules_by_name = {key: row.rule for key, row in ALGORITHMS.items()}
    rule = named_or_given(name, value, Rule, rules_by_name)
    if not isinstance(rule, rules_by_name.get(rule.name, ())):
        raise ValueError(f"{name} must be a rule of lazynet.engines.catalogue, got {shown(value)}")
    return rule


RULE_OBJECTS = tuple(row.rule for row in ALGORITHMS.values())


def new_engine(
    rule: Rule,
    penalty: ElasticNet | Sequence[ElasticNet],
    n_features: int,
    n_outputs: int | None = None,
    *,
    loss: Loss = LOG_LOSS,
    average: bool = False,
    own_clocks: bool = False,
    dtype: Any = "float64",
    wear: Wear | None = None,
) -> Engine:
    """A new engine of one output, or of ``n_outputs``; all weights zero.

    ``penalty`` is that of every output, or a list with one for each.  ``own_clocks`` gives every
    output a clock, for rates that differ from output to output.  Only rates that follow the data
    depend on ``loss``.

    >>> new_engine(RDA(), ElasticNet(), 3).name, new_engine(FoBoS(), ElasticNet(), 3).name
    ('rda', 'clock')
    >>> new_engine(RDA(), ElasticNet(), 3, 20).n_outputs
    20
    """
    engine: Engine
    if rule.is_affine and n_outputs is not None:
        if rule.group is not None:
            engine = GroupedOutputs(n_features, n_outputs, dtype, wear)
        elif average:
            engine = AveragedOutputs(n_features, n_outputs, wear)
        else:
            engine = OutputsOnClock(n_features, n_outputs, dtype, wear, own_clocks)
    elif isinstance(rule.storage, Tables):
        engine = TablesEngine(n_features, rule.storage.budget, wear)
    elif isinstance(rule.storage, Dense):
        engine = DenseEngine(n_features, rule.storage.predictions, wear, average=average)
    elif rule.is_affine:
        engine = AveragedClockEngine(n_features, wear) if average else ClockEngine(n_features, wear)
    else:
        row = ALGORITHMS[rule.name]
        penalties = [penalty] if isinstance(penalty, ElasticNet) else penalty
        constants = [rule.constants(of_output, loss) for of_output in penalties]
        if n_outputs is None:
            assert row.engine is not None
            engine = row.engine(n_features, wear, constants[0])
        else:
            assert row.outputs is not None
            assert issubclass(row.outputs, RuleOutputs)
            engine = row.outputs(n_features, n_outputs, dtype, wear, constants)
    engine.remedy = rule.remedy
    return engine


class EngineKind(NamedTuple):
    """The properties that two plans must share for an engine of one to serve the other.

    >>> from lazynet import Clock
    >>> kind = EngineKind(None, "rda", Clock(), False, False, "float64", None)
    >>> kind.new_engine(3, None).name, kind.new_engine(3, 20).n_outputs
    ('rda', 20)
    """

    average: Any
    #: the name of a rule with cells of its own, or "affine"
    rule: str
    storage: Storage
    rates_from_data: bool
    positive: bool
    dtype: str
    group: str | None

    def new_engine(self, n_features: int, n_outputs: int | None) -> Engine:
        """An engine to be filled with a state, of one output or of ``n_outputs``."""
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"there are no weights of {self.dtype}")
        # Any rule of the name and any penalty will do: the state has their numbers.
        if self.rule == "affine":
            rule: Rule = FoBoS(storage=self.storage, group=self.group)
        elif self.rule == TruncatedGradient.name:
            rule = TruncatedGradient(threshold=0.0)
        else:
            rule = ALGORITHMS[self.rule].rule()
        return new_engine(
            rule.settled(), ElasticNet(), n_features, n_outputs,
            average=self.average is not None, own_clocks=self.rates_from_data, dtype=self.dtype,
        )  # fmt: skip
