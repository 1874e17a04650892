"""What several test files share: the root of the repository, plans, tasks, refusals."""

import gc
import re
import tracemalloc
from pathlib import Path

import numpy as np

from lazynet.data.arrays import as_examples, row_sizes_of
from lazynet.engines.catalogue import check_rule
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.schedules import Constant
from lazynet.training.plan import Plan
from support.parameters import rule_with

#: The root of the repository, or of the source distribution.
ROOT = Path(__file__).parents[2]
#: The rows are learned in their order, with the features as passed, as ``Stepper`` learns them.
AS_PASSED = dict(shuffle=False, standardize=False)


def plan(
    *, loss="log_loss", l1=0.0, l2=0.0, rule="fobos", schedule=None, eta0=0.1, fit_intercept=False,
    average=None, positive=False, **of_rule,
):  # fmt: skip
    """A plan with a constant rate, unless told otherwise; ``of_rule`` is for the rule."""
    return Plan(
        get_loss(loss),
        ElasticNet(l1, l2, positive),
        check_rule("rule", rule_with(rule, **of_rule)),
        Constant(eta0) if schedule is None else schedule,
        average,
        fit_intercept,
    )


def examples_of(plan, X, y, importances=None):
    """The examples that an engine of the plan learns from, with the sizes that its rates follow."""
    return as_examples(X, y, importances, row_sizes_of(X, plan.size_kind))


def rows(n):
    """0 .. n-1 as the kernels take it."""
    return np.arange(n, dtype=np.int64)


def same_bits(left, right):
    """Whether two arrays are the same down to the sign of a zero."""
    return left.shape == right.shape and left.tobytes() == right.tobytes()


def apart(found, expected):
    """The greatest difference, by 1 + the largest number."""
    expected = np.asarray(expected, dtype=float)
    return np.abs(found - expected).max(initial=0.0) / (1.0 + np.abs(expected).max(initial=0.0))


_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def without_numbers(line):
    """A printed line without its numbers, whose width may differ."""
    return re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip()


def numbers_in(line):
    """The numbers of a printed line."""
    return [float(number.replace(",", "")) for number in _NUMBER.findall(line)]


def peak_of(call):
    """What a call returns, and the most bytes that were in use at once during it."""
    gc.collect()
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def one_line_about(err, path, command="paper_repro"):
    """The one line with which a command has refused a file, checked for what it must say."""
    line = err.strip()
    assert line.startswith(f"python -m {command}: {path}: ")
    assert len(line.splitlines()) == 1
    assert "; " in line  # what is wrong; what to do
    return line


class Evaluated:
    """A callback of ``fit`` that keeps what is computed of every epoch when it is read."""

    def __init__(self):
        self.lines = []

    def __call__(self, epoch):
        names = ("mean_loss", "objective", "nonzeros")
        self.lines.append({name: getattr(epoch, name) for name in names})
