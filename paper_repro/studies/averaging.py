"""Study ``averaging``: what averages of the iterates are worth, and what they cost.

Last, averaged, suffix-averaged, polynomially averaged and centered predictors, by objective and
test error against passes; time per example against the number of features, lazily and in so many
words (Dekel's O(d + T k) against O(T d)); and how far scikit-learn's averages under an l1 penalty
are from the mean of its own iterates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

from lazynet import ASGDClassifier, LazyNetClassifier
from lazynet.penalties import ElasticNet
from paper_repro import figures, machine
from paper_repro.competitors.base import CLOCK
from paper_repro.competitors.compiled import (
    AVERAGING,
    LAZY_AVERAGE,
    LAZY_CENTERED,
    NAIVE_AVERAGE,
    NAIVE_CENTERED,
    Clock,
)
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import Turn, in_turns
from paper_repro.score import Spread, duration, equality, ratios, significant
from paper_repro.study import Cell, Record, Records, Settings, Study
from paper_repro.uniform import uniform_problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PASSES = (1, 2, 3, 5, 7, 10)
#: One row in so many is kept for testing.
TEST_SHARE = 5
#: The strengths of the penalties by the number of training rows, and the rate of the elastic net.
L1_ROWS, L2_ROWS, DEKEL_ROWS = 0.25, 0.1, 1.0
ETA0 = 1.0
LAST, AVERAGE, SUFFIX, POLYNOMIAL = "last", "average", "last half", "polynomial decay"
SGD, ASGD, CSGD, CASGD = "SGD", "ASGD", "centered SGD", "CASGD"
ELASTIC_NET, RIDGE = "elastic net", "l2"
PREDICTORS = {
    ELASTIC_NET: (LAST, AVERAGE, SUFFIX, POLYNOMIAL),
    RIDGE: (SGD, ASGD, CSGD, CASGD, SUFFIX, POLYNOMIAL),
}
FEATURES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
TIMED_ROWS = 20_000
BYTES_PER_FEATURE = 200
TIMED = {kind.name: kind for kind in (Clock, *AVERAGING)}
PAIRS = ((LAZY_AVERAGE, NAIVE_AVERAGE), (LAZY_CENTERED, NAIVE_CENTERED))
#: Rows after each of which scikit-learn is stopped, and its penalties.
STOPPED_ROWS = 400
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
L1_RATIOS = (0.0, 0.5, 1.0)
Options = Mapping[str, Any]
#: Weights and intercept.
Weights = tuple[NDArray[np.float64], float]
#: What each predictor reaches after each number of passes.
Curves = dict[str, list[dict[str, float]]]
SKLEARN, LAZYNET = "scikit-learn", "lazynet"


class Averaging(Study):
    """Averages of the iterates: worth, cost, and whether they are what they are called."""

    name = "averaging"
    title = "Averages of the iterates: what they are worth and what they cost"

    def cells(self, settings: Settings) -> Sequence[Cell]:
        return [
            Cell("corpus", partial(describe, settings), 2.0),
            *(Cell(f"curves/{name}", partial(CURVES[name], settings), 8.0) for name in PREDICTORS),
            *(
                Cell(f"features/{size}", partial(measure_features, settings, size), 3.0)
                for size in feature_sizes(settings)
            ),
            *(
                Cell(f"stopped/{ratio:g}/{alpha:g}", partial(stopped, settings, ratio, alpha), 2.0)
                for ratio in L1_RATIOS
                for alpha in ALPHAS
            ),
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(Measured(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Measured(document))


# --- learning curves -------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Rows of length 1, to learn from and to test on."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    X_test: sparse.csr_matrix
    y_test: NDArray[np.float64]

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def order(self, epoch: int, seed: int) -> NDArray[np.int64]:
        """A new order for every pass, the same for all learners."""
        return np.random.default_rng([seed, epoch]).permutation(self.n)

    def judge(self, model: Weights, penalty: ElasticNet) -> dict[str, float]:
        """The objective on the training rows and the share of test rows that are misjudged."""
        weights, intercept = model
        margins = self.y * (self.X @ weights + intercept)
        loss = float(np.logaddexp(0.0, -margins).mean())
        wrong = self.y_test * (self.X_test @ weights + intercept) <= 0
        return {"objective": loss + penalty.value(weights), "error": float(wrong.mean())}


@lru_cache(maxsize=1)
def split(settings: Settings) -> Split:
    """Four fifths to learn from, one to test on, by a permutation that the seed decides."""
    corpus: Corpus = from_settings(settings)
    X = normalize(corpus.X)
    order = np.random.default_rng(settings.seed).permutation(X.shape[0])
    held_back = max(1, len(order) // TEST_SHARE)
    test, train = np.sort(order[:held_back]), np.sort(order[held_back:])
    return Split(X[train], corpus.y[train], X[test], corpus.y[test])


def describe(settings: Settings, _: Records) -> Record:
    rows = split(settings)
    return {
        "corpus": from_settings(settings).statistics(),
        "train": rows.n,
        "test": len(rows.y_test),
        "positive": float((rows.y_test > 0).mean()),
    }


def elastic_net(settings: Settings, _: Records) -> Record:
    """FoBoS at a constant rate under both penalties: one run, read in four ways."""
    rows = split(settings)
    penalty = ElasticNet(L1_ROWS / rows.n, L2_ROWS / rows.n)
    steps = dict(l1=penalty.l1, l2=penalty.l2, schedule="constant", eta0=ETA0)
    everything = [fitted(rows, lazily(steps, True), passes, settings.seed) for passes in PASSES]
    curves = {
        LAST: [rows.judge(last_of(model), penalty) for model in everything],
        AVERAGE: [rows.judge(model_of(model), penalty) for model in everything],
        **later_averages(rows, steps, penalty, settings.seed),
    }
    return {
        "curves": curves,
        "l1": penalty.l1,
        "l2": penalty.l2,
        "features": rows.X.shape[1],
        "support": int(np.count_nonzero(everything[-1].last_coef_)),
        "averaged support": int(np.count_nonzero(everything[-1].coef_)),
    }


def ridge(settings: Settings, _: Records) -> Record:
    """Dekel's four predictors, and two more averages of SGD with the same rates, without l1."""
    rows = split(settings)
    l2 = DEKEL_ROWS / rows.n
    penalty = ElasticNet(0.0, l2)
    steps = dict(l1=0.0, l2=l2, rule="sgd", step_order="shrink_first", schedule="pegasos")
    curves = later_averages(rows, steps, penalty, settings.seed)
    for last, average, center in ((SGD, ASGD, False), (CSGD, CASGD, True)):
        models = [
            fitted(rows, ASGDClassifier("log_loss", l2=l2, center=center), passes, settings.seed)
            for passes in PASSES
        ]
        curves[last] = [rows.judge(last_of(model), penalty) for model in models]
        curves[average] = [rows.judge(model_of(model), penalty) for model in models]
    return {"curves": curves, "l2": l2}


CURVES: dict[str, Callable[[Settings, Records], Record]] = {
    ELASTIC_NET: elastic_net,
    RIDGE: ridge,
}


def later_averages(rows: Split, steps: Options, penalty: ElasticNet, seed: int) -> Curves:
    """The averages that forget the first steps, after each number of passes."""
    return {
        name: [
            rows.judge(model_of(fitted(rows, lazily(steps, average), passes, seed)), penalty)
            for passes in PASSES
        ]
        for name, average in ((SUFFIX, "suffix"), (POLYNOMIAL, "polynomial"))
    }


def lazily(steps: Options, average: bool | str) -> LazyNetClassifier:
    """Logistic regression by these steps with this average, for one run over a given order."""
    return LazyNetClassifier(
        "log_loss", **steps, average=average, max_iter=1, tol=None, record_history=False
    )


def fitted(rows: Split, model: Any, passes: int, seed: int) -> Any:
    """The model after so many passes over the training rows."""
    order = np.concatenate([rows.order(epoch, seed) for epoch in range(passes)])
    with warnings.catch_warnings():
        # After one pass Dekel's averages may be worse than no model.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows.X, rows.y, sample_order=order)


def model_of(model: Any) -> Weights:
    return model.coef_.ravel(), float(model.intercept_[0])


def last_of(model: Any) -> Weights:
    return model.last_coef_.ravel(), float(model.last_intercept_[0])


# --- cost ------------------------------------------------------------------------------------


def feature_sizes(settings: Settings) -> list[int]:
    """By tens, unless a small run is asked for."""
    if settings.features >= FEATURES[2]:
        return list(FEATURES)
    return sorted({max(10, int(2 * settings.nonzeros)), settings.features})


def measure_features(settings: Settings, features: int, _: Records) -> Record:
    """Seconds per example at so many features, and whether lazy and naive averages agree."""
    shortage = machine.memory_shortage(BYTES_PER_FEATURE * features)
    if shortage is not None:
        return {"skipped": shortage}
    problem = uniform_problem(
        rows=min(TIMED_ROWS, settings.examples),
        features=features,
        nonzeros=min(settings.nonzeros, features),
        seed=settings.seed,
    )
    same = {}
    for lazy, naive in PAIRS:
        averages = []
        for name in (lazy, naive):
            learner: Any = TIMED[name](problem)
            learner.begin()
            learner.learn(0, min(100, len(problem.y)))
            averages.append(learner.averages())
        same[lazy] = equality(averages[0], averages[1], f"{lazy} and {naive}")
    seconds = {}
    for name, kind in TIMED.items():
        # One at a time, because they are large.
        turn = Turn(kind(problem), settings.seconds / 10)
        seconds[name] = in_turns({name: turn}, settings.repeats)[name]
    return {"seconds": seconds, "same": same}


# --- scikit-learn ----------------------------------------------------------------------------


@lru_cache(maxsize=1)
def few_rows(settings: Settings) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """The first training rows, with the features that they have, both labels among the first."""
    rows = split(settings)
    X, y = rows.X[:STOPPED_ROWS], rows.y[:STOPPED_ROWS]
    first = [int(np.argmax(y > 0)), int(np.argmax(y <= 0))]
    order = np.array([*first, *(row for row in range(len(y)) if row not in first)])
    return X[order][:, np.unique(X.indices)].tocsr(), y[order]


def stopped(settings: Settings, l1_ratio: float, alpha: float, _: Records) -> Record:
    """How far the average that ``fit`` returns is from the mean of what it would have returned
    without averaging, had it been stopped after each of the rows.

    By the largest entry and by the norm of the mean, over the rows from the second on: before it
    there is one label only.
    """
    X, y = few_rows(settings)
    n = X.shape[0]

    def sklearn(rows: int, average: int | bool) -> NDArray[np.float64]:
        model = SGDClassifier(
            loss="log_loss",
            penalty="elasticnet",
            alpha=alpha,
            l1_ratio=l1_ratio,
            learning_rate="constant",
            eta0=ETA0,
            shuffle=False,
            max_iter=1,
            tol=None,
            average=average,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.fit(X[:rows], y[:rows]).coef_).ravel()

    def lazynet(rows: int, average: int | bool) -> NDArray[np.float64]:
        model = LazyNetClassifier(
            l1=alpha * l1_ratio,
            l2=alpha * (1 - l1_ratio),
            schedule="constant",
            eta0=ETA0,
            shuffle=False,
            max_iter=1,
            tol=None,
            average=average,
            record_history=False,
        )
        return model.fit(X[:rows], y[:rows]).coef_.ravel()

    found: Record = {"rows": n, "features": X.shape[1]}
    for name, fit in ((SKLEARN, sklearn), (LAZYNET, lazynet)):
        mean = np.zeros(X.shape[1])
        for rows in range(2, n + 1):
            mean += fit(rows, False) / (n - 1)
        gap = fit(n, 2) - mean
        found[name] = {
            "largest": float(np.abs(gap).max() / np.abs(mean).max()),
            "norm": float(np.linalg.norm(gap) / np.linalg.norm(mean)),
        }
    return found


# --- reading what was measured ---------------------------------------------------------------


class Measured:
    """A document of the study, asked in its own words."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        records = document["records"]
        self.corpus = records["corpus"]
        self.curves = {name: records[f"curves/{name}"] for name in PREDICTORS}
        by_size = {
            int(key.split("/")[1]): record
            for key, record in records.items()
            if key.startswith("features/")
        }
        self.skipped = {size: r["skipped"] for size, r in by_size.items() if "skipped" in r}
        self.timed = {size: r for size, r in sorted(by_size.items()) if "seconds" in r}
        self.stopped = {
            (float(key.split("/")[1]), float(key.split("/")[2])): record
            for key, record in records.items()
            if key.startswith("stopped/")
        }
        self.nonzeros = document["settings"]["nonzeros"]

    def curve(self, group: str, name: str, what: str) -> list[float]:
        return [found[what] for found in self.curves[group]["curves"][name]]

    def seconds(self, name: str) -> list[float]:
        return [median(record["seconds"][name]) for record in self.timed.values()]

    def ratio(self, size: int, slow: str, fast: str) -> Spread:
        seconds = self.timed[size]["seconds"]
        return ratios(seconds[slow], seconds[fast])

    @property
    def worst_equality(self) -> float:
        return max(
            found["relative"] for record in self.timed.values() for found in record["same"].values()
        )


# --- the page --------------------------------------------------------------------------------


def page(measured: Measured) -> str:
    return "\n\n".join(
        [
            _setting(measured),
            "## Elastic net",
            _elastic_net(measured),
            curve_table(measured, ELASTIC_NET),
            "## Dekel's averages and centering",
            _ridge(measured),
            curve_table(measured, RIDGE),
            "## What averages cost",
            _cost(measured),
            cost_table(measured),
            *(f"{size:,} features were left out: {why}." for size, why in measured.skipped.items()),
            "## Averages under an l1 penalty, and scikit-learn's",
            _deviation(measured),
            deviation_table(measured),
        ]
    )


def _setting(measured: Measured) -> str:
    corpus = measured.corpus["corpus"]
    return (
        f"{measured.corpus['train']:,} rows to learn from and {measured.corpus['test']:,} to test "
        f"on ({corpus['origin']}; {corpus['features']:,} features, "
        f"{corpus['nonzeros_per_example']:.2f} nonzeros each on average), each scaled to length 1, "
        f"as is usual for text; {measured.corpus['positive']:.1%} of the test rows are of the "
        f"positive class. Logistic loss, a new order in every pass, the same for all. The "
        f"*objective* is that of the training rows, penalty included, the intercept's left out; "
        f"the *error* is the share of test rows that are misjudged. Of the averages, *{AVERAGE}* "
        f"is of all iterates, *{SUFFIX}* of those after half of the steps, *{POLYNOMIAL}* Shamir & "
        f"Zhang's with degree 3."
    )


def _best(measured: Measured, group: str, what: str) -> str:
    last = {name: measured.curve(group, name, what)[-1] for name in PREDICTORS[group]}
    return min(last, key=last.__getitem__)


def _elastic_net(measured: Measured) -> str:
    record = measured.curves[ELASTIC_NET]
    return (
        f"FoBoS at the constant rate {ETA0:g} with l1 = {significant(record['l1'])} and "
        f"l2 = {significant(record['l2'])}: one run, read in four ways. After {PASSES[-1]} passes "
        f"the lowest objective is that of *{_best(measured, ELASTIC_NET, 'objective')}*, the "
        f"lowest error that of *{_best(measured, ELASTIC_NET, 'error')}*. An average of sparse "
        f"weights is not sparse: of {record['features']:,} weights {record['support']:,} are not "
        f"zero in the last iterate, {record['averaged support']:,} in the average."
    )


def _ridge(measured: Measured) -> str:
    return (
        f"Rates 1 / (l2 t) with l2 = {significant(measured.curves[RIDGE]['l2'])}, no l1 penalty: "
        f"{SGD}, its average {ASGD}, and both on centered rows ({CSGD}, {CASGD}). *{SUFFIX}* and "
        f"*{POLYNOMIAL}* are of the same steps with rates 1 / (l2 (t + 2)) and an intercept "
        f"without penalty. The first steps of such rates are long, and a plain average remembers "
        f"them. After {PASSES[-1]} passes the lowest objective is that of "
        f"*{_best(measured, RIDGE, 'objective')}*, the lowest error that of "
        f"*{_best(measured, RIDGE, 'error')}*."
    )


def curve_table(measured: Measured, group: str) -> str:
    """Objective and error of every predictor after every number of passes."""
    names = PREDICTORS[group]
    lines = [
        "| passes | " + " | ".join(f"{name}: objective, error" for name in names) + " |",
        "|---" * (1 + len(names)) + "|",
    ]
    for k, passes in enumerate(PASSES):
        cells = [
            f"{significant(measured.curve(group, name, 'objective')[k], 4)}, "
            f"{measured.curve(group, name, 'error')[k]:.2%}"
            for name in names
        ]
        lines.append(f"| {passes} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cost(measured: Measured) -> str:
    sizes = list(measured.timed)
    grown = sizes[-1] / sizes[0]
    growth = {
        name: significant(measured.seconds(name)[-1] / measured.seconds(name)[0]) for name in TIMED
    }
    return (
        f"Rows of {measured.nonzeros:g} nonzeros in columns drawn uniformly. *{NAIVE_AVERAGE}* is "
        f"the compiled dense loop that adds every weight to a sum after every step, "
        f"*{NAIVE_CENTERED}* centers every row and adds up every weight by NumPy's loops. From "
        f"{sizes[0]:,} to {sizes[-1]:,} features, {grown:,.0f} times as many, the time of a step "
        f"grows {growth[LAZY_AVERAGE]} times with the lazy average and {growth[NAIVE_AVERAGE]} "
        f"times where every weight is added up; {growth[LAZY_CENTERED]} times for {LAZY_CENTERED} "
        f"and {growth[NAIVE_CENTERED]} times for {NAIVE_CENTERED}: O(d + T k) against O(T d), but "
        f"for the latency of memory. In the same run the averages of both are held against each "
        f"other: the greatest difference is {measured.worst_equality:.2g} of the largest."
    )


def cost_table(measured: Measured) -> str:
    lines = [
        f"| features | {' | '.join(TIMED)} | averaged / {CLOCK} | "
        f"{NAIVE_AVERAGE} / lazily | {NAIVE_CENTERED} / {LAZY_CENTERED} |",
        "|---" * (4 + len(TIMED)) + "|",
    ]
    for k, size in enumerate(measured.timed):
        times = [duration(measured.seconds(name)[k]) for name in TIMED]
        pairs = [(LAZY_AVERAGE, CLOCK), *((naive, lazy) for lazy, naive in PAIRS)]
        found = [str(measured.ratio(size, slow, fast)) for slow, fast in pairs]
        lines.append(f"| {size:,} | {' | '.join([*times, *found])} |")
    return "\n".join(lines)


def _deviation(measured: Measured) -> str:
    some = next(iter(measured.stopped.values()))
    of_l1 = [record for (ratio, _), record in measured.stopped.items() if ratio > 0]
    l2_only = [record for (ratio, _), record in measured.stopped.items() if ratio == 0]
    worst = {
        name: max(record[name]["largest"] for record in measured.stopped.values())
        for name in (SKLEARN, LAZYNET)
    }
    return (
        f"Both are stopped after each of {some['rows']:,} rows ({some['features']:,} features, one "
        f"pass, constant rate {ETA0:g}), and the mean of what they return then is held against "
        f"what they return with `average`. Without an l1 penalty scikit-learn's is that mean to "
        f"{max(record[SKLEARN]['largest'] for record in l2_only):.1g} of its largest entry. With "
        f"one it is off by {min(record[SKLEARN]['largest'] for record in of_l1):.1g} to "
        f"{worst[SKLEARN]:.2g}: the truncation of a weight is not entered in its average. "
        f"lazynet's is off by {worst[LAZYNET]:.1g} at most."
    )


def deviation_table(measured: Measured) -> str:
    lines = [
        "| alpha | l1_ratio | scikit-learn, largest entry | scikit-learn, norm "
        "| lazynet, largest entry | lazynet, norm |",
        "|---" * 6 + "|",
    ]
    for (ratio, alpha), record in sorted(measured.stopped.items()):
        cells = [
            f"{record[name][what]:.2g}"
            for name in (SKLEARN, LAZYNET)
            for what in ("largest", "norm")
        ]
        lines.append(f"| {alpha:g} | {ratio:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


# --- the figure ------------------------------------------------------------------------------

LOOK_OF = {
    LAST: "dense",
    AVERAGE: "clock",
    SUFFIX: "tables",
    POLYNOMIAL: "law",
    SGD: "dense",
    CSGD: "sparse predictions",
    ASGD: "paper",
    CASGD: "clock",
}
COST_LOOKS = {
    CLOCK: "law",
    LAZY_AVERAGE: "clock",
    NAIVE_AVERAGE: "dense",
    LAZY_CENTERED: "tables",
    NAIVE_CENTERED: "sparse predictions",
}


def draw(measured: Measured) -> Figure:
    """Objective and error against passes; time against features; scikit-learn's deviation."""
    figure, axes = figures.new(columns=3, rows=2, width=11.5, height=6.4)
    for column, group in enumerate(PREDICTORS):
        for row, what in enumerate(("objective", "error")):
            _draw_curves(axes[row, column], measured, group, what)
    axes[0, 0].set_title("Elastic net, constant rate")
    axes[0, 1].set_title("l2 alone, rates 1 / (l2 t)")
    axes[0, 0].set_ylabel("objective")
    axes[1, 0].set_ylabel("share of test rows misjudged")
    _draw_cost(axes[0, 2], measured)
    _draw_deviation(axes[1, 2], measured)
    return figure  # type: ignore[no-any-return]


def _draw_curves(ax: Axes, measured: Measured, group: str, what: str) -> None:
    ends = {}
    for name in PREDICTORS[group]:
        values = measured.curve(group, name, what)
        look = {**figures.LOOKS[LOOK_OF[name]], "markersize": 3.5}
        if look["linestyle"] == "none":
            look |= {"linestyle": "-.", "linewidth": 1.2}
        ax.plot(PASSES, values, **look)
        ends[name] = values[-1]
    ax.set_xscale("log")
    ax.set_xticks(PASSES, [str(passes) for passes in PASSES])
    ax.minorticks_off()
    ax.set_xlabel("passes")
    figures.label_apart(ax, PASSES[-1], ends, LOOK_OF)


def _draw_cost(ax: Axes, measured: Measured) -> None:
    sizes = list(measured.timed)
    ends = {}
    for name in TIMED:
        values = measured.seconds(name)
        ax.loglog(sizes, values, **{**figures.LOOKS[COST_LOOKS[name]], "markersize": 3.5})
        ends[name] = values[-1]
    figures.times_in_words(ax)
    ax.margins(y=0.1)
    ax.set_title("What a step costs")
    ax.set_xlabel("features")
    figures.label_apart(ax, sizes[-1], ends, COST_LOOKS)


def _draw_deviation(ax: Axes, measured: Measured) -> None:
    ends = {}
    looks = {}
    for name, look in ((SKLEARN, "dense"), (LAZYNET, "clock")):
        for ratio in L1_RATIOS:
            found = {
                alpha: record[name]["largest"]
                for (of, alpha), record in sorted(measured.stopped.items())
                if of == ratio
            }
            values = [max(value, 1e-17) for value in found.values()]
            style = figures.LOOKS[look]
            ax.loglog(list(found), values, **{**style, "markersize": 3.5, "linewidth": 1.0})
            if name == SKLEARN or ratio == L1_RATIOS[-1]:
                label = f"{name}, l1_ratio {ratio:g}" if name == SKLEARN else f"{name}, all"
                ends[label], looks[label] = values[-1], look
    ax.set_ylim(top=1e3)
    ax.set_title("How far an average is from the mean")
    ax.set_xlabel("alpha")
    figures.label_apart(ax, ALPHAS[-1], ends, looks)
