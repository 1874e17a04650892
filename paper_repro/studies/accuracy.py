"""Study ``accuracy``: how exact are the weights after a million steps?

Extended precision, shrink by shrink, gives the true weights.  The study measures

1. the error of the weights of every engine over a million steps;
2. the steps at which Lipton & Elkan's tables fail if nothing begins them again;
3. the error of the formulas printed as Theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.reference.closed_forms import (
    Gap,
    printed_theorem_1_proof,
    printed_theorem_1_statement,
    theorem_1,
)
from lazynet.schedules import Constant, InverseSqrt, InverseTime, Schedule
from lazynet.training.passes import Learner, run_pass
from paper_repro.competitors import RULES
from paper_repro.extended import after_each_gap, one_weight, too_narrow, touches, true_weights
from paper_repro.runs import learner, plan
from paper_repro.study import Cell, Record, Records, Settings
from paper_repro.unwatched import followed_weight, tables

ENGINES = ("dense", "tables", "clock")
MOST_STEPS = 1_000_000
#: A short run overflows the tables with all rates and penalties but the last.
QUICK_STEPS = 100_000
#: A shorter run has no room for the checkpoints, and does not touch the rarest weights.
FEWEST_STEPS = 1000
SCHEDULES: dict[str, Schedule] = {
    "0.1": Constant(0.1),
    "1/(t+1)": InverseTime(1.0),
    "0.5/sqrt(t+1)": InverseSqrt(0.5),
}
#: Values of l1 and of l2; all pairs are run.
QUICK_STRENGTHS = (0.0, 1e-8, 1e-4, 1e-1)
FULL_STRENGTHS = (0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1e-1)

#: Rates and l2 of the runs of unwatched tables, in the order in which the tables overflow; all runs
#: have the same l1.
UNWATCHED = ((1.0, 0.5), (1.0, 0.1), (0.1, 0.1), (0.1, 0.01))
UNWATCHED_L1 = 1e-4
#: The weight that the unwatched tables follow; one step in eight touches it on average.
FOLLOWED = 1
#: The length of the run, divided by the step at which B is expected to overflow.
BEYOND = 1.25
#: A weight is called wrong if its error exceeds this part of the largest weight of the run.
WRONG = 1e-3
SAMPLES_PER_DECADE = 8

#: l1 and l2 under which Theorem 1 is tried, at the rates 0.5/sqrt(t+1).
GAP_PENALTIES = ((1e-4, 1e-3), (1e-2, 1e-1))
LONGEST_GAP = 10_000
FORMS: dict[str, Gap] = {
    "statement": printed_theorem_1_statement,
    "proof": printed_theorem_1_proof,
    "corrected": theorem_1,
}


def cells(settings: Settings) -> Sequence[Cell]:
    reason = too_narrow()
    if reason:
        return [Cell("setting", lambda _: {"skipped": reason})]
    steps = steps_of(settings)
    strengths = FULL_STRENGTHS if settings.full else QUICK_STRENGTHS
    gradients = cache(partial(touches, steps, settings.seed))
    million = steps / MOST_STEPS
    return [
        Cell("setting", lambda _: {"steps": steps, "strengths": strengths}, 0.1),
        *(
            Cell(
                f"long run/{rule}/{rate}",
                partial(long_run, gradients, rule, SCHEDULES[rate], strengths),
                20 * million,
            )
            for rule, rate in product(RULES, SCHEDULES)
        ),
        *(
            Cell(
                unwatched_key(rule, rate, l2),
                partial(unwatched_run, gradients, rule, rate, l2),
                2 * min(million, overflow_expected(rate, l2) / MOST_STEPS),
            )
            for rule, (rate, l2) in product(RULES, UNWATCHED)
        ),
        Cell("theorem 1", theorem_1_errors, 0.1),
    ]


def steps_of(settings: Settings) -> int:
    """A million steps, fewer in a short run and in a trial with few examples."""
    most = MOST_STEPS if settings.full else QUICK_STEPS
    return min(most, max(FEWEST_STEPS, 10 * settings.examples))


# --- 1. a million steps ----------------------------------------------------------------------


def long_run(
    gradients: Callable[[], sparse.csr_matrix],
    rule: str,
    schedule: Schedule,
    strengths: Sequence[float],
    _: Records,
) -> Record:
    """The greatest error of every engine over all penalties, at every checkpoint."""
    X = gradients()
    checkpoints = log_spaced(100, X.shape[0], per_decade=2)
    penalties = list(product(strengths, strengths))
    truth = true_weights(X, rule, schedule, penalties, checkpoints)
    found = [run_engines(X, Shrinks(rule, schedule, *each), checkpoints) for each in penalties]
    return {
        "checkpoints": checkpoints,
        **{
            engine: worst(np.array([each[engine] for each in found]), truth, penalties)
            for engine in ENGINES
        },
    }


@dataclass(frozen=True)
class Shrinks:
    """The rule, its rates and the penalty of a run."""

    rule: str
    schedule: Schedule
    l1: float
    l2: float

    def learner(self, engine: str, X: sparse.csr_matrix) -> Learner:
        """A learner whose gradients are the rows themselves, whatever its weights are.

        The slope of |p - y| is 1 for targets y that no prediction p reaches.
        """
        rule = ALGORITHMS[self.rule].rule(schedule=self.schedule, storage=engine)
        chosen = plan(rule, self.l1, self.l2, loss="absolute_error", fit_intercept=False)
        return learner(X, np.full(X.shape[0], -1e300), chosen)


def run_engines(
    X: sparse.csr_matrix, shrinks: Shrinks, checkpoints: Sequence[int]
) -> dict[str, list[NDArray[np.float64]]]:
    """The weights of every engine at every checkpoint."""
    learners = {name: shrinks.learner(name, X) for name in ENGINES}
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in ENGINES}
    for start, stop in zip([0, *checkpoints], checkpoints, strict=False):
        run_pass([*learners.values()], np.arange(start, stop), start)
        for name, each in learners.items():
            found[name].append(each.engine.weights())
    return found


def worst(
    found: NDArray[np.float64],
    truth: NDArray[np.longdouble],
    penalties: Sequence[tuple[float, float]],
) -> Record:
    """The greatest error at every checkpoint, and the penalty under which it occurs.

    ``found`` has the shape (penalties, checkpoints, weights), ``truth`` the shape (checkpoints,
    penalties, weights).
    """
    errors = relative_errors(found.transpose(1, 0, 2), truth)
    at = errors.argmax(axis=1)
    return {
        "error": [float(row[k]) for row, k in zip(errors, at, strict=True)],
        "l1": [penalties[k][0] for k in at],
        "l2": [penalties[k][1] for k in at],
    }


def relative_errors(
    found: NDArray[np.float64], truth: NDArray[np.longdouble]
) -> NDArray[np.longdouble]:
    """max |found - truth| / (1 + max |truth|) over the last axis."""
    return np.abs(found - truth).max(axis=-1) / (1 + np.abs(truth).max(axis=-1))


def log_spaced(first: int, last: int, per_decade: int) -> list[int]:
    """Whole numbers from ``first`` to ``last``, both included, evenly on a log axis.

    >>> log_spaced(100, 12_000, per_decade=2)
    [100, 316, 1000, 3162, 10000, 12000]
    """
    count = math.ceil(per_decade * math.log10(last / first))
    between = (round(first * 10 ** (k / per_decade)) for k in range(count))
    return sorted({first, *(step for step in between if step < last), last})


# --- 2. tables that nothing watches ----------------------------------------------------------


def unwatched_key(rule: str, rate: float, l2: float) -> str:
    return f"unwatched tables/{rule}/{rate:g}/{l2:g}"


def overflow_expected(rate: float, l2: float) -> float:
    """About the step at which B exceeds the largest double; B is about 1 / (l2 P)."""
    return (1024 * math.log(2) + math.log(l2)) / math.log1p(rate * l2)


def unwatched_run(
    gradients: Callable[[], sparse.csr_matrix], rule: str, rate: float, l2: float, _: Records
) -> Record:
    """Errors of Lipton & Elkan's tables, corrected but unwatched, and of lazynet's tables."""
    everything = gradients()
    n_steps = min(everything.shape[0], math.ceil(BEYOND * overflow_expected(rate, l2)))
    X = everything[:n_steps, [FOLLOWED]]
    moves = X.toarray().ravel()
    truth = one_weight(moves, rate, UNWATCHED_L1, l2, rule)
    largest = np.abs(truth).max()
    scales, shifts = tables(n_steps, rule, rate, l2)
    touched = np.flatnonzero(moves)
    found = followed_weight(moves, touched, scales, shifts, rate, UNWATCHED_L1)
    errors = np.abs(found - truth[touched]) / largest
    samples = sampled(touched)
    shrinks = Shrinks(rule, Constant(rate), UNWATCHED_L1, l2)
    kept = watched_weight(X, shrinks, touched[samples])
    kept_errors = np.abs(kept - truth[touched[samples]]) / largest
    return {
        "steps": n_steps,
        "B infinite": first_step(np.isinf(shifts)),
        "P subnormal": first_step(scales < np.finfo(np.float64).smallest_normal),
        # A comparison with NaN is false, so that NaN counts as wrong.
        "wrong": first_step(~(errors <= WRONG), touched),
        "NaN": first_step(np.isnan(found), touched),
        "samples": touched[samples].tolist(),
        "unwatched error": running_maximum(errors[samples]),
        "lazynet error": running_maximum(kept_errors),
    }


def watched_weight(
    X: sparse.csr_matrix, shrinks: Shrinks, steps: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The followed weight in lazynet's tables before each of these steps."""
    watched = shrinks.learner("tables", X)
    found = np.empty(len(steps))
    start = 0
    for at, stop in enumerate(steps):
        run_pass([watched], np.arange(start, stop), start)
        found[at] = watched.engine.weights()[0]
        start = stop
    return found


def sampled(touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in ``touched``, evenly spaced on a log axis, the last included."""
    wanted = log_spaced(1, int(touched[-1]), SAMPLES_PER_DECADE)
    return np.unique(np.searchsorted(touched, wanted))


def first_step(true: NDArray[np.bool_], steps: NDArray[np.int64] | None = None) -> int | None:
    """The first position at which a condition holds, or the step there; None if it never does."""
    if not true.any():
        return None
    at = int(true.argmax())
    return at if steps is None else int(steps[at])


def running_maximum(errors: NDArray[np.longdouble]) -> list[float | None]:
    """The greatest error so far, None from the first NaN on."""
    return [None if math.isnan(e) else float(e) for e in np.maximum.accumulate(errors)]


# --- 3. the printed theorem ------------------------------------------------------------------


def theorem_1_errors(_: Records) -> Record:
    """Relative errors of every form of Theorem 1, for a weight 1 that no gradient touches."""
    rates = InverseSqrt(0.5).rates(0, LONGEST_GAP).tolist()
    return {gap_key(*each): gap_errors(rates, *each) for each in GAP_PENALTIES}


def gap_key(l1: float, l2: float) -> str:
    return f"{l1:g}/{l2:g}"


def gap_errors(rates: Sequence[float], l1: float, l2: float) -> Record:
    """Relative errors after gaps of all lengths at which the true weight is not yet zero."""
    truth = after_each_gap(1.0, rates, l1, l2, "sgd")
    alive = sum(1 for w in truth if w > 0) - 1
    gaps = log_spaced(1, alive, SAMPLES_PER_DECADE)
    return {
        "gaps": gaps,
        "longest": alive,
        **{
            form: [float(abs(gap(1.0, rates[:n], l1, l2) / truth[n] - 1)) for n in gaps]
            for form, gap in FORMS.items()
        },
    }
