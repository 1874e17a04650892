"""The catalogue of the update rules: a row per rule, with its engine, reference and paper.

Parameters, ``verify``, the tests and the documentation's table of algorithms read the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from lazynet import reference
from lazynet.averages import Average
from lazynet.engines.base import Engine
from lazynet.engines.cells import CellEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine, DenseEngine, TablesEngine
from lazynet.engines.outputs import AveragedOutputs, GroupedOutputs, OutputsEngine, OutputsOnClock
from lazynet.engines.outputs_of_rules import RuleOutputs
from lazynet.parameters import named_or_given, shown
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import Rule
from lazynet.rules.storage import Clock, Dense, Storage, Tables


@dataclass(frozen=True)
class Algorithm:
    """A row of the catalogue.

    >>> row = ALGORITHMS["rda"]
    >>> row.rule(), row.engine.kind, row.paper, row.exact
    (RDA(), 'rda', 'Xiao (2010)', True)
    """

    rule: type[Rule]
    #: the engine of a rule with its own kind of cells; None for affine rules
    engine: type[CellEngine] | None
    #: the plain Python class with which tests compare the compiled engine
    reference: Callable[..., Any]
    paper: str
    #: whether lazy weights equal dense weights after every step
    exact: bool = True
    #: the engine of several outputs; None: every output has a separate engine
    outputs: type[OutputsEngine] | None = None


def _rule_with_cells(name: str, title: str, paper: str, exact: bool = True) -> Algorithm:
    """The row of a rule with cells, whose classes are in the three files with its name.

    The class of the rule is called ``title``; the rule joins several outputs if there is a class
    for them.
    """
    rule, engine, plain = (
        import_module(f"lazynet.{package}.{name}") for package in ("rules", "engines", "reference")
    )
    return Algorithm(
        getattr(rule, title),
        getattr(engine, f"{title}Engine"),
        getattr(plain, f"Dense{title}" if exact else f"Plain{title}"),
        paper,
        exact,
        getattr(engine, f"{title}Outputs", None),
    )


#: Every row, by the name that the parameter ``rule`` gives to it.
ALGORITHMS: dict[str, Algorithm] = {
    row.rule.name: row
    for row in (
        Algorithm(
            FoBoS, None, partial(reference.DenseReference, rule="fobos"),
            "Duchi & Singer (2009); Lipton & Elkan, version 3, Eq. 2 and Theorem 2",
            outputs=OutputsOnClock,
        ),
        Algorithm(
            SGD, None, partial(reference.DenseReference, rule="sgd"),
            "Lipton & Elkan, version 3, Eq. 3 and Theorem 1 (corrected)",
            outputs=OutputsOnClock,
        ),
        _rule_with_cells("truncated_gradient", "TruncatedGradient", "Langford, Li & Zhang (2009)"),
        _rule_with_cells("rda", "RDA", "Xiao (2010)"),
        _rule_with_cells("ftrl", "FTRL", "McMahan et al. (2013), Algorithm 1"),
        _rule_with_cells("adagrad", "AdaGrad", "Duchi, Hazan & Singer (2011), composite form"),
        _rule_with_cells("saga", "SAGA", "Defazio, Bach & Lacoste-Julien (2014)"),
        _rule_with_cells("carpenter", "Carpenter", "Carpenter (2008)", exact=False),
    )
}  # fmt: skip

RuleLike = str | Rule


def check_rule(name: str, value: Any) -> Rule:
    """The rule that ``value`` is, or that it names.

    >>> from lazynet import RDA
    >>> check_rule("rule", "rda"), check_rule("rule", RDA(gamma=2.0))
    (RDA(), RDA(gamma=2.0))
    """
    rules_by_name = {key: row.rule for key, row in ALGORITHMS.items()}
    rule = named_or_given(name, value, Rule, rules_by_name)
    if not isinstance(rule, rules_by_name.get(getattr(rule, "name", ""), ())):
        raise ValueError(
            f"{name} must be a rule of lazynet.engines.catalogue, got {shown(value)}: "
            "lazynet.register_rule adds a rule"
        )
    return rule


RULE_OBJECTS = tuple(row.rule for row in ALGORITHMS.values())


class EngineKind(NamedTuple):
    """The kind of an engine: its fields besides the sizes; plans of the same kind can share it.

    >>> new_engine(EngineKind(rule="rda"), 3).name
    'rda'
    """

    average: Average | None = None
    #: the name of a rule with its own kind of cells, or "affine"
    rule: str = "affine"
    storage: Storage = Clock()
    #: whether the rates of the outputs differ, so that every output needs a clock
    own_clocks: bool = False
    positive: bool = False
    #: the type of the weights of several outputs
    dtype: str = "float64"
    group: str | None = None


def new_engine(
    kind: EngineKind,
    n_features: int,
    n_outputs: int | None = None,
    constants: ArrayLike | None = None,
) -> Engine:
    """A new engine of one output, or of ``n_outputs``; all weights zero.

    ``constants`` are the constants of a rule with its own kind of cells, or a row for every output;
    None: ``set_state`` sets them.

    >>> new_engine(EngineKind(), 3).name, new_engine(EngineKind(), 3, 20).n_outputs
    ('clock', 20)
    """
    average, storage, dtype = kind.average is not None, kind.storage, kind.dtype
    if dtype not in ("float64", "float32"):
        raise ValueError(f"there are no weights of {dtype}")
    if kind.rule != "affine":
        row = ALGORITHMS[kind.rule]
        engine: Engine
        if n_outputs is None:
            assert row.engine is not None
            engine = row.engine(n_features, constants)
        else:
            assert row.outputs is not None
            assert issubclass(row.outputs, RuleOutputs)
            engine = row.outputs(n_features, n_outputs, dtype, constants)
        engine.remedy = row.rule.remedy
        return engine
    if n_outputs is not None:
        if kind.group is not None:
            return GroupedOutputs(n_features, n_outputs, dtype)
        if average:
            return AveragedOutputs(n_features, n_outputs)
        return OutputsOnClock(n_features, n_outputs, dtype, kind.own_clocks)
    if isinstance(storage, Tables):
        return TablesEngine(n_features, storage.budget)
    if isinstance(storage, Dense):
        return DenseEngine(n_features, storage.predictions, average=average)
    return AveragedClockEngine(n_features) if average else ClockEngine(n_features)
