"""The figure of the study ``averaging``: curves, times of a step, deviations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper_repro import figures
from paper_repro.competitors.base import CLOCK
from paper_repro.competitors.compiled import (
    LAZY_AVERAGE,
    LAZY_CENTERED,
    NAIVE_AVERAGE,
    NAIVE_CENTERED,
)
from paper_repro.studies.averaging import (
    ALPHAS,
    ASGD,
    AVERAGE,
    CASGD,
    CSGD,
    L1_RATIOS,
    LAST,
    LAZYNET,
    PASSES,
    POLYNOMIAL,
    PREDICTORS,
    SGD,
    SKLEARN,
    SUFFIX,
    TIMED,
    Averages,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def draw(document: Mapping[str, Any]) -> Figure:
    """Objective and error against passes; time against features; scikit-learn's deviation."""
    found = Averages(document)
    figure, axes = figures.new(columns=3, rows=2, width=11.5, height=6.4)
    for column, group in enumerate(PREDICTORS):
        for row, what in enumerate(("objective", "error")):
            _draw_curves(axes[row, column], found, group, what)
    axes[0, 0].set_title("Elastic net, constant rate")
    axes[0, 1].set_title("l2 alone, rates 1 / (l2 t)")
    axes[0, 0].set_ylabel("objective")
    axes[1, 0].set_ylabel("share of test rows misjudged")
    _draw_cost(axes[0, 2], found)
    _draw_deviation(axes[1, 2], found)
    return figure  # type: ignore[no-any-return]


def _draw_curves(ax: Axes, found: Averages, group: str, what: str) -> None:
    ends = {}
    for name in PREDICTORS[group]:
        values = found.curve(group, name, what)
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


def _draw_cost(ax: Axes, found: Averages) -> None:
    sizes = list(found.timed)
    ends = {}
    for name in TIMED:
        values = found.seconds(name)
        ax.loglog(sizes, values, **{**figures.LOOKS[COST_LOOKS[name]], "markersize": 3.5})
        ends[name] = values[-1]
    figures.times_in_words(ax)
    ax.margins(y=0.1)
    ax.set_title("What a step costs")
    ax.set_xlabel("features")
    figures.label_apart(ax, sizes[-1], ends, COST_LOOKS)


def _draw_deviation(ax: Axes, found: Averages) -> None:
    ends = {}
    looks = {}
    for name, look in ((SKLEARN, "dense"), (LAZYNET, "clock")):
        for ratio in L1_RATIOS:
            largest = {
                alpha: record[name]["largest"]
                for (of, alpha), record in sorted(found.stopped.items())
                if of == ratio
            }
            values = [max(value, 1e-17) for value in largest.values()]
            style = figures.LOOKS[look]
            ax.loglog(list(largest), values, **{**style, "markersize": 3.5, "linewidth": 1.0})
            if name == SKLEARN or ratio == L1_RATIOS[-1]:
                label = f"{name}, l1_ratio {ratio:g}" if name == SKLEARN else f"{name}, all"
                ends[label], looks[label] = values[-1], look
    ax.set_ylim(top=1e3)
    ax.set_title("How far an average is from the mean")
    ax.set_xlabel("alpha")
    figures.label_apart(ax, ALPHAS[-1], ends, looks)
