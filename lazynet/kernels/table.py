"""The table of the rules of the step loops: a row per rule.

All dispatch follows from it.  setup.py fills the rows into the templates ``*.pxi.in``: the numbers
and types of the rules, and the branch of every rule in each function.  The functions themselves are
in the file of the rule in rules/; CONTRIBUTING.md says what each of them computes.
"""

from __future__ import annotations

from typing import NamedTuple

_SIZES = ("rows", "sum_of_sizes", "mean", "loaded")
_CLOCK = ("scale", "scale_low", "inverse", "shift", "shift_low", "intercept", "work")
_CLOCK_RULE = (*_CLOCK, "pending", "pending_move")


class Row(NamedTuple):
    """What the dispatch knows of a rule.

    >>> RULES["ftrl"].numbers, RULES["ftrl"].constants[:2]
    (2, ('l1', 'l2'))
    """

    #: the file in rules/; in capitals it names the number of the rule
    file: str
    struct: str
    #: of a cell
    numbers: int
    #: numbers of a nonzero that its prediction keeps for its update
    keeps: int
    #: the constants and the fields, with the names and the order of the struct
    constants: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    #: the struct with the numbers of several outputs side by side; "": one output alone
    lanes: str = ""
    #: numbers of a weight of several outputs
    numbers_of_outputs: int = 0
    #: whether the weights are on the clock (rules/clock.pxd)
    on_clock: bool = False
    #: whether a step gets its rate and its pull, and else computes them
    scheduled: bool = False
    #: whether the rates may follow the sizes of the rows
    measures: bool = False
    #: the number of the struct that multiplies every weight; "": 1
    factor: str = ""


#: Every row, by its name in Python.
RULES = {
    "clock": Row(
        "clock", "ClockRule", 1, 1, fields=_CLOCK_RULE, lanes="ClockRuleLanes",
        numbers_of_outputs=1, on_clock=True, factor="clock.scale",
    ),
    "averaged clock": Row(
        "averaged", "AveragedRule", 2, 2, fields=_CLOCK_RULE, lanes="AveragedLanes",
        numbers_of_outputs=2, on_clock=True, factor="clock_rule.clock.scale",
    ),
    # What the averaged clock becomes without an l1 penalty.
    "freely averaged clock": Row(
        "freely_averaged", "FreelyAveragedRule", 2, 2, lanes="FreelyAveragedLanes",
        numbers_of_outputs=2, on_clock=True, factor="clock_rule.clock.scale",
    ),
    "rda": Row(
        "rda", "Rda", 1, 1, ("l1", "l2", "gamma", "rho", "intercept_gamma"),
        ("steps", "intercept_sum", *_SIZES),
        lanes="RdaLanes", numbers_of_outputs=1, measures=True, factor="factor",
    ),
    "ftrl": Row(
        "ftrl", "Ftrl", 2, 3,
        ("l1", "l2", "per_example", "alpha", "beta", "intercept_alpha", "intercept_beta"),
        ("intercept_z", "intercept_s", "steps", *_SIZES),
        lanes="FtrlLanes", numbers_of_outputs=2, measures=True,
    ),
    "adagrad": Row(
        "adagrad", "AdaGrad", 4, 2, ("l1", "l2", "alpha", "delta", "follows", "initial"),
        ("intercept", "intercept_s", "steps", "rows", "sum_of_sizes", "mean", "waiting"),
        lanes="AdaGradLanes", numbers_of_outputs=2, measures=True,
    ),
    "truncated_gradient": Row(
        "truncated_gradient", "Truncated", 2, 1, ("threshold",), ("gravity", "intercept"),
        scheduled=True,
    ),
    "carpenter": Row(
        "carpenter", "Carpenter", 2, 1, ("l1", "l2", "period"), ("steps", "rate", "intercept"),
        scheduled=True,
    ),
    "saga": Row(
        "saga", "Saga", 3, 2, ("l1", "l2", "alpha"), ("intercept", "intercept_mean", "steps")
    ),
    "tables": Row("tables", "Tables", 2, 1, fields=(*_CLOCK, "now"), scheduled=True),
}  # fmt: skip
