"""Study ``claims``: the claims of the papers outside their tables, measured on small problems.

1. Dekel: centered SGD and its average are invariant to a translation of the rows, SGD and its
   average are not; T steps on rows of k nonzeros among n features cost O(n + T k).
2. Lipton & Elkan: what it costs to bring all weights current, and to skip weights that are zero.
3. Ma & Zheng: annealing bends the rejected share as features are purged (Figure 2), and the regret
   of truncated SGD grows no faster than the square root of the steps.
4. The claims of ``claims_verdicts``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lazynet import (
    ASGDClassifier,
    DualNetClassifier,
    LazyNetClassifier,
    StabilisedSGDClassifier,
    TruncatedGradient,
)
from lazynet.reference.stabilised import rejected_share
from paper_repro import published
from paper_repro.measure import in_turns
from paper_repro.pages import Template, table
from paper_repro.planted import planted
from paper_repro.render import Content, Curves
from paper_repro.score import Spread, ratios, significant
from paper_repro.studies import claims_verdicts
from paper_repro.study import Cell, Measured, Record, Records, Settings
from paper_repro.uniform import uniform_rows

PAGE = Template.beside(__file__)
SGD, ASGD, CSGD, CASGD = "SGD", "ASGD", "centered SGD", "CASGD"
STABILISED = "stabilised SGD, informative"
TIMED = (ASGD, CASGD, STABILISED)
#: Dekel's predictors: whether the rows are centered, and whether the model is the last iterate.
PREDICTORS = {SGD: (False, True), ASGD: (False, False), CSGD: (True, True), CASGD: (True, False)}
LOSS, L2 = "log_loss", 0.01
#: Rows, features and the share of values that are not zero, and by how much all values grow.
TRANSLATED_ROWS, TRANSLATED_FEATURES, FILLED = 400, 30, 0.3
TRANSLATIONS = (1.0, 10.0, 100.0)
#: Predictions that differ by at most this share of the largest one are the same.
SAME = 1e-9

#: The first of the timed problems, and one that is larger in one respect each.
FEATURES, STEPS, NONZEROS = 10_000, 100_000, 20
LARGER = {"n": (1_000_000, STEPS, NONZEROS), "T": (FEATURES, 10 * STEPS, NONZEROS),
          "k": (FEATURES, STEPS, 10 * NONZEROS)}  # fmt: skip
TIMED_ROWS = 2_000

#: gamma of the curves in the figure, and the rejection rate when all features are left.
ANNEALINGS = (-20.0, -9.0, -2.0, 0.0, 2.0, 9.0, 20.0)
REJECTION_RATE, POINTS = 0.8, 41

#: The rate of a run of T steps is eta0 / sqrt(T) throughout.
REGRET_STEPS = (250, 1_000, 4_000, 16_000)
REGRET_FEATURES, REGRET_ETA0, REGRET_L1 = 1_000, 1.0, 0.002
#: The value of each loss at a prediction p and a label y.
REGRET_LOSSES: dict[str, Callable[[Any, float], Any]] = {
    "hinge": lambda p, y: np.maximum(0.0, 1.0 - y * p),
    "log_loss": lambda p, y: np.logaddexp(0.0, -y * p),
}


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell("translation", partial(translation, settings), 0.1),
        Cell("cost", partial(cost, settings), 4.0),
        *(
            Cell(f"zero weights/{l1:g}", partial(claims_verdicts.zero_weights, settings, l1), 6.0)
            for l1 in claims_verdicts.STRENGTHS
        ),
        Cell("orders", partial(claims_verdicts.orders, settings)),
        Cell("bursts", partial(claims_verdicts.bursts, settings)),
        Cell("flush", partial(claims_verdicts.flush, settings), 3.0),
        Cell("annealing", annealing),
        *(
            Cell(f"regret/{loss}/{steps}", partial(regret, settings, loss, steps), steps / 1_200)
            for loss in REGRET_LOSSES
            for steps in REGRET_STEPS
        ),
    ]


# --- measuring -------------------------------------------------------------------------------


def translation(settings: Settings, _: Records) -> Record:
    """By how much predictions change if every value of every row grows by a constant."""
    generator = np.random.default_rng(settings.seed)
    shape = (TRANSLATED_ROWS, TRANSLATED_FEATURES)
    X = generator.standard_normal(shape) * (generator.random(shape) < FILLED)
    y = np.where(X @ generator.standard_normal(shape[1]) > 0, 1.0, -1.0)
    order = generator.integers(TRANSLATED_ROWS, size=20 * TRANSLATED_ROWS)
    found: Record = {}
    for name in PREDICTORS:
        before = margins(name, X, y, order)
        found[name] = [
            float(np.abs(margins(name, X + shift, y, order) - before).max() / np.abs(before).max())
            for shift in TRANSLATIONS
        ]
    return found


def margins(
    name: str, X: NDArray[np.float64], y: NDArray[np.float64], order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The predictions of one of Dekel's predictors on the rows that it has learned from."""
    centered, last = PREDICTORS[name]
    model = learned(X, y, order, center=centered)
    if last:
        return np.asarray(X @ model.last_coef_.ravel() + model.last_intercept_)
    return np.asarray(model.decision_function(X))


def learned(X: Any, y: NDArray[np.float64], order: NDArray[np.int64], *, center: bool) -> Any:
    model = ASGDClassifier(LOSS, l2=L2, center=center)
    with warnings.catch_warnings():
        # A model of moved rows may be worse than none.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_order=order)


def cost(settings: Settings, _: Records) -> Record:
    """Seconds of whole fits, with what stands at their beginning and at their end."""
    problems = {"first": (FEATURES, STEPS, NONZEROS), **LARGER}
    fits: dict[str, Callable[[], float]] = {}
    for what, (features, steps, nonzeros) in problems.items():
        generator = np.random.default_rng(settings.seed)
        X = uniform_rows(generator, TIMED_ROWS, features, nonzeros)
        y = np.where(generator.random(TIMED_ROWS) < 0.5, -1.0, 1.0)
        order = generator.integers(TIMED_ROWS, size=steps)
        for name, center in ((ASGD, False), (CASGD, True)):
            fits[f"{name}/{what}"] = partial(seconds_of, learned, X, y, order, center=center)
        stabilised = StabilisedSGDClassifier(
            gravity="informative", n_paths=1, max_iter=-(-steps // TIMED_ROWS), random_state=0
        )
        fits[f"{STABILISED}/{what}"] = partial(seconds_of, stabilised.fit, X, y)
    return {"seconds": in_turns(fits, settings.repeats)}


def seconds_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    began = time.perf_counter()
    call(*arguments, **options)
    return time.perf_counter() - began


def annealing(_: Records) -> Record:
    """The rejected share against the share of features that are left, for every gamma."""
    left = np.linspace(0.0, 1.0, POINTS).tolist()
    curves = {
        f"{gamma:g}": [rejected_share(x, REJECTION_RATE, gamma) for x in left]
        for gamma in ANNEALINGS
    }
    return {"left": left, "curves": curves}


def regret(settings: Settings, loss: str, steps: int, _: Records) -> Record:
    """The mean loss and penalty over the steps, above those of the best weights afterwards.

    With w the best weights, T steps at the rate eta, and rows of squared length at most G^2, where
    the slope of the loss is at most 1, the regret for each step is at most
    |w|^2 / (2 eta T) + eta G^2 / 2: add up  |w_t+1 - w|^2 <= |w_t - w|^2 - 2 eta (difference of
    the objectives) + eta^2 |gradient|^2.
    """
    corpus, _mattering = planted(REGRET_STEPS[-1], REGRET_FEATURES, settings.seed)
    X, y = corpus.X[:steps], corpus.y[:steps]
    eta = REGRET_ETA0 / math.sqrt(steps)
    model = LazyNetClassifier(
        loss,
        rule=TruncatedGradient(period=1, schedule="constant", eta0=eta),
        l1=REGRET_L1,
        l2=0.0,
        standardize=False,
        fit_intercept=False,
    )
    total = 0.0
    classes = np.unique(y)
    for row in range(steps):
        # What the weights before the step are worth on its row.
        weights = model.coef_.ravel() if row else np.zeros(X.shape[1])
        one = X[[row]]
        value = REGRET_LOSSES[loss](one @ weights, y[row])[0]
        total += float(value) + REGRET_L1 * float(np.abs(weights).sum())
        model.partial_fit(one, y[[row]], classes)
    best = DualNetClassifier(loss, l1=REGRET_L1, l2=0.0, tol=1e-4, fit_intercept=False).fit(X, y)
    longest = float(X.multiply(X).sum(axis=1).max())
    return {
        "online": total / steps,
        "best": float(best.objective_),
        "gap": float(best.duality_gap_),
        "bound": float(best.coef_.ravel() @ best.coef_.ravel()) / (2 * eta * steps)
        + eta * longest / 2,
    }


# --- reading what was measured ---------------------------------------------------------------


class Claims(Measured):
    """What was found of each claim."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.translation: dict[str, list[float]] = self.records["translation"]  # type: ignore[assignment]
        self.curves: dict[str, list[float]] = self.records["annealing"]["curves"]
        self.left: list[float] = self.records["annealing"]["left"]

    def growth(self, name: str, what: str) -> Spread:
        """How many times longer a fit takes if n, T or k is so many times larger."""
        seconds = self.records["cost"]["seconds"]
        return ratios(seconds[f"{name}/{what}"], seconds[f"{name}/first"])

    def verdicts(self) -> dict[str, str]:
        """By the key of the entry in ``published.ENTRIES`` what was found of its claim."""
        found = claims_verdicts.verdicts(self.records)
        for k, (what, size) in enumerate(LARGER.items()):
            more = size[k] / (FEATURES, STEPS, NONZEROS)[k]
            asgd, casgd, stabilised = (self.growth(each, what) for each in TIMED)
            found[f"cost {what}"] = PAGE("cost", what=what, more=more, asgd=asgd, casgd=casgd)
            if what == "n":
                found["complexity"] = PAGE("complexity", more=more, ratio=stabilised)
        return found

    def zero_weights(self) -> dict[float, Record]:
        """The records of the learner that skips zero weights, by l1 = l2."""
        return {float(strength): record for [strength], record in self.group("zero weights")}

    @property
    def curves_as_described(self) -> bool:
        """Whether every curve rises from 0 to the rejection rate and never falls."""
        return all(
            abs(curve[0]) < 1e-12
            and abs(curve[-1] - REJECTION_RATE) < 1e-12
            and all(a <= b + 1e-12 for a, b in pairwise(curve))
            for curve in self.curves.values()
        )

    def regrets(self, loss: str) -> dict[int, float]:
        """The regret for each step, by the number of steps."""
        return {
            steps: record["online"] - record["best"]
            for steps, record in self._regrets(loss).items()
        }

    def bounds(self, loss: str) -> dict[int, float]:
        """The bound on the regret for each step, by the number of steps."""
        return {steps: record["bound"] for steps, record in self._regrets(loss).items()}

    def _regrets(self, loss: str) -> dict[int, Record]:
        return {int(steps): r for (of, steps), r in self.group("regret") if of == loss}

    def greatest_share_of_the_bound(self) -> float:
        """The greatest regret, divided by its bound."""
        return max(
            self.regrets(loss)[steps] / bound
            for loss in REGRET_LOSSES
            for steps, bound in self.bounds(loss).items()
        )


# --- the page --------------------------------------------------------------------------------


def content(document: Mapping[str, Any]) -> Content:
    measured = Claims(document)
    verdicts = measured.verdicts()
    page = PAGE(
        "page",
        rows=TRANSLATED_ROWS,
        columns=TRANSLATED_FEATURES,
        translations=table(
            ["", *(f"values + {shift:g}" for shift in TRANSLATIONS)],
            [
                [name, *(significant(change, 2) for change in changes)]
                for name, changes in measured.translation.items()
            ],
        ),
        features=FEATURES,
        steps=STEPS,
        nonzeros=NONZEROS,
        costs=cost_table(measured),
        examples=measured.settings["examples"],
        **{key.replace(" ", "_"): text for key, text in verdicts.items() if "cost" not in key},
        flush_features=published.FEATURES,
        flush_nonzeros=claims_verdicts.NONZEROS,
        zero_weights=claims_verdicts.zero_weights_table(measured.zero_weights()),
        rate=REJECTION_RATE,
        annealing=PAGE("as described" if measured.curves_as_described else "not as described"),
        regrets=table(
            [
                "steps",
                *(f"{loss}: {what}" for loss in REGRET_LOSSES for what in ("regret", "bound")),
            ],
            [
                [
                    f"{steps:,}",
                    *(
                        significant(found[steps])
                        for loss in REGRET_LOSSES
                        for found in (measured.regrets(loss), measured.bounds(loss))
                    ),
                ]
                for steps in REGRET_STEPS
            ],
        ),
        regret_features=REGRET_FEATURES,
        eta0=REGRET_ETA0,
        l1=REGRET_L1,
        share=measured.greatest_share_of_the_bound(),
    )
    return Content(finding(measured), [page], panels(measured))


def finding(found: Claims) -> str:
    """What holds of the claims, in a sentence."""
    worst = max(found.translation[CASGD])
    return PAGE(
        "finding",
        holds=PAGE("invariant" if worst <= SAME else "not invariant", worst=worst),
        more=LARGER["n"][0] / FEATURES,
        n=found.growth(CASGD, "n"),
        longer=LARGER["T"][1] / STEPS,
        t=found.growth(CASGD, "T"),
    )


def cost_table(found: Claims) -> str:
    """How many times longer a fit takes than the first one."""
    rows = [
        [*(f"{number:,}" for number in size), *(found.growth(name, what) for name in TIMED)]
        for what, size in LARGER.items()
    ]
    return table(["features n", "steps T", "nonzeros k", *TIMED], rows)


def panels(found: Claims) -> list[Curves]:
    """The curves of annealing, and the regret against the number of steps."""
    regrets = {
        f"{loss}: {what}": (list(values), list(values.values()))
        for loss in REGRET_LOSSES
        for what, values in (("regret", found.regrets(loss)), ("bound", found.bounds(loss)))
    }
    return [
        Curves(
            "How annealing bends the rejected share",
            "share of the features that are left",
            "share of the weights to reject",
            {f"gamma = {each:g}": (found.left, found.curves[f"{each:g}"]) for each in ANNEALINGS},
            log="",
        ),
        Curves("Regret", "steps", "regret for each step", regrets),
    ]
