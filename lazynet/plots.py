"""The figures of the package, and the style of all figures of the package, studies and notebooks.

Series differ in grey level, line style and marker, so that they can be distinguished in black and
white.  matplotlib (``pip install lazynet-linear[plots]``) is imported when a figure is drawn.
Penalties fall from left to right, so that models have more nonzeros on the right.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lazynet.training.folds import best_setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.grid": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    # Text is written as text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "lazynet",
}

#: Two blues, a rust, a sand and two greys, all of different lightness.
DARK, LIGHT, RUST, SAND, GREY, PALE = "#0b3c6f", "#3f7fb5", "#a8481a", "#c0803f", "0.35", "0.6"
COLOURS = (DARK, LIGHT, RUST, SAND, GREY, PALE)
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "v", "D", "P")


def look(number: int) -> dict[str, Any]:
    """Colour, line and marker of the series with this number.

    >>> look(0)
    {'color': '#0b3c6f', 'linestyle': '-', 'marker': 'o'}
    """
    number %= len(COLOURS)
    return dict(color=COLOURS[number], linestyle=DASHES[number], marker=MARKERS[number])


def new_figure(wanted_by: str, width: float, height: float) -> Figure:
    """An empty figure, or an error that says how to install matplotlib for ``wanted_by``.

    >>> new_figure("plot_path", 4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            f"{wanted_by} needs matplotlib: pip install 'lazynet-linear[plots]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def styled() -> Any:
    """The context in which figures are drawn and saved.

    >>> import matplotlib as mpl
    >>> with styled():
    ...     mpl.rcParams["lines.linewidth"]
    1.6
    """
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def as_svg(figure: Figure) -> str:
    """``figure`` as SVG without a date, so that the same numbers give the same file.

    >>> from matplotlib.figure import Figure
    >>> with styled():
    ...     first, second = (as_svg(Figure(figsize=(2, 1))) for _ in range(2))
    >>> first.startswith("<?xml"), first == second
    (True, True)
    """
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


# The numbers of features with a named line, and with a thin grey line.
_NAMED = 6
_DRAWN = 200


def _penalty_on_axis(l1s: NDArray[np.float64], l2s: NDArray[np.float64]) -> str:
    """The penalty on the axis: "l1", or "l2" if only l2 differs between the points."""
    return "l2" if np.ptp(l1s) == 0 and np.ptp(l2s) > 0 else "l1"


def _penalty_axis(axes: Any, name: str, penalties: NDArray[np.float64]) -> None:
    axes.set_xlabel(f"{name}, from the largest penalty to the smallest")
    if not penalties.any():
        return
    if penalties.min() == 0:
        # A logarithm has no 0: the axis is linear up to the smallest strength.
        axes.set_xscale("symlog", linthresh=penalties[penalties > 0].min())
    else:
        if np.ptp(penalties) == 0:
            # A single penalty has no range that matplotlib could take its limits from.
            axes.set_xlim(penalties.max() / 2, penalties.max() * 2)
        axes.set_xscale("log")
    axes.xaxis.set_inverted(True)


def _count_axis(axes: Any, largest: float) -> None:
    """An axis of counts: linear from 0 to 1, because log 0 is infinite, and logarithmic above 1."""
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(0, max(largest, 1.0) * 1.6)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def plot_path(path: Any, feature_names: Sequence[str] | None = None) -> Figure:
    """The weights along a path of penalties, and the number of weights that are not 0.

    ``path`` is a result of ``net_path``.  The features with the largest weights have a line with a
    name: from ``feature_names``, or their column in X.

    >>> from lazynet import net_path
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> path = net_path(X, [2.0, 1.0, 3.0, 0.0], loss="squared_error", l1s=5)
    >>> figure = plot_path(path, ["first", "second"])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['weights', 'number of weights that are not 0']
    """
    n_features = path.coefs.shape[1]
    if feature_names is not None and len(feature_names) != n_features:
        raise ValueError(
            f"feature_names must have a name for each of the {n_features} features, "
            f"got {len(feature_names)}"
        )
    name = _penalty_on_axis(path.l1s, path.l2s)
    penalties = path.l2s if name == "l2" else path.l1s
    heights = abs(path.coefs).max(axis=0).toarray().ravel()
    columns = np.argsort(-heights, kind="stable")[: np.count_nonzero(heights)][:_DRAWN]
    weights = path.coefs[:, columns].toarray().T
    figure = new_figure("plot_path", 6.4, 5.0)
    with styled():
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
        for number, (column, line) in enumerate(zip(columns, weights, strict=True)):
            if number >= _NAMED:
                top.plot(penalties, line, color=PALE, linewidth=0.5)
                continue
            label = f"feature {column}" if feature_names is None else str(feature_names[column])
            top.plot(penalties, line, **look(number), label=label, markevery=0.1, zorder=3)
        top.axhline(0, color=GREY, linewidth=0.6)
        top.set_title("weights", loc="left")
        if len(columns):
            n_chosen = np.count_nonzero(heights)
            title = f"the largest of {n_chosen:,}" if n_chosen > _NAMED else None
            top.legend(fontsize=7, title=title, title_fontsize=7, loc="best")
        bottom.plot(penalties, path.nonzeros, color="black", marker=".", drawstyle="default")
        bottom.set_title("number of weights that are not 0", loc="left")
        _count_axis(bottom, path.nonzeros.max())
        _penalty_axis(bottom, name, penalties)
    return figure


def plot_choice(model: Any) -> Figure:
    """The held-out loss with its standard errors, and the nonzeros, against the penalty.

    ``model`` is a fitted estimator that ends in ``CV``.  A line has the settings that differ only
    in one strength.  The best mean and the sparsest setting within one standard error of it are
    marked.

    >>> from lazynet import DualNetRegressorCV
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> figure = plot_choice(DualNetRegressorCV(l1s=10).fit(X, X[:, 0]))
    >>> figure.axes[0].get_title(loc="left")
    'mean loss of held-out rows, with one standard error'
    """
    if not hasattr(model, "cv_results_"):
        raise TypeError(
            f"plot_choice needs a fitted estimator that ends in CV, got {type(model).__name__}"
        )
    results = model.cv_results_
    name = _penalty_on_axis(results["l1"], results["l2"])
    fixed_name = "l1" if name == "l2" else "l2"
    penalties, fixed = results[name], results[fixed_name]
    counts, errors = results["nonzeros"], results["standard_error"]
    scored = "mean_score" in results
    means = results["mean_score" if scored else "mean_loss"]
    score = model.scoring if scored and isinstance(model.scoring, str) else "score"
    figure = new_figure("plot_choice", 6.4, 5.0)
    with styled():
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
        for number, strength in enumerate(dict.fromkeys(fixed.tolist())):
            line = fixed == strength
            style = look(number) | dict(markersize=3)
            if np.ptp(fixed) > 0:
                style["label"] = f"{fixed_name} {strength:.3g}"
            if np.isfinite(errors[line]).any():
                band = means[line] - errors[line], means[line] + errors[line]
                top.fill_between(penalties[line], *band, color=style["color"], alpha=0.18, lw=0)
            top.plot(penalties[line], means[line], **style)
            bottom.plot(penalties[line], counts[line], **style)
        best, sparsest = (best_setting(results, rule) for rule in (False, True))
        marks = [(best, f"{'highest' if scored else 'least'} mean", "-", "*")]
        if np.isfinite(errors[best]):
            marks.append((sparsest, "sparsest within one standard error", "--", "D"))
        for setting, text, dash, marker in marks:
            at = penalties[setting]
            also = f", {fixed_name} {fixed[setting]:.3g}" if np.ptp(fixed) > 0 else ""
            label = f"{text}: {name} {at:.3g}{also}, {counts[setting]:,.0f} weights"
            top.plot(
                [at], [means[setting]], color="black", marker=marker, markersize=9, linestyle=dash,
                linewidth=0.8, label=label, markerfacecolor="white", zorder=4,
            )  # fmt: skip
            for axes in (top, bottom):
                axes.axvline(at, color="black", linestyle=dash, linewidth=0.8)
        spread = ", with one standard error" if np.isfinite(errors).any() else ""
        top.set_title(f"mean {score if scored else 'loss'} of held-out rows{spread}", loc="left")
        if not scored:
            _limit_losses(top, means)
        # A white ground, so that the lines at the marks do not cross the text.
        top.legend(fontsize=7.5, frameon=True, framealpha=1.0, edgecolor="none")
        bottom.set_title("number of weights that are not 0, mean of the folds", loc="left")
        _count_axis(bottom, counts.max())
        _penalty_axis(bottom, name, penalties)
    return figure


def _limit_losses(axes: Any, losses: NDArray[np.float64]) -> None:
    """Limit an axis of losses to the range of most finite losses: some may be enormous."""
    finite = losses[np.isfinite(losses)]
    least, most = finite.min(), np.quantile(finite, 0.9)
    if most > least:
        axes.set_ylim(least - 0.05 * (most - least), least + 1.3 * (most - least))


def plot_selection(reports: Mapping[str, Any]) -> Figure:
    """Algorithms compared: error, nonzeros and kappa, and the share of runs that chose a feature.

    ``reports`` maps the name of each algorithm to its ``SelectionReport``.

    >>> from lazynet.estimators.stabilised import SelectionReport
    >>> same = SelectionReport(np.zeros(2), np.full(2, 1), np.ones(1), np.array([1.0, 0.0]))
    >>> other = SelectionReport(np.zeros(2), np.full(2, 1), -np.ones(1), np.array([0.5, 0.5]))
    >>> figure = plot_selection({"the same feature": same, "one or the other": other})
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['test error', 'nonzeros', 'kappa of two runs', 'share of runs that chose a feature']
    """
    if not isinstance(reports, Mapping):
        raise TypeError(f"reports must be a dict of reports by name, got {type(reports).__name__}")
    if not (names := list(reports)):
        raise ValueError("reports must not be empty")
    figure = new_figure("plot_selection", 9.0, 1.9 + 0.32 * len(names))
    *columns, curves = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.5])
    titles = {"errors": "test error", "nonzeros": "nonzeros", "kappas": "kappa of two runs"}
    for axes, (attribute, title) in zip(columns, titles.items(), strict=True):
        for row, report in enumerate(reports.values()):
            values = getattr(report, attribute)
            if not len(values):
                continue
            low, middle, high = np.percentile(values, [10, 50, 90])
            axes.plot([low, high], [row, row], color=look(row)["color"], linewidth=3)
            axes.plot([middle], [row], color="black", marker=look(row)["marker"])
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names if axes is columns[0] else [""] * len(names))
        axes.xaxis.get_major_locator().set_params(nbins=4)
    for row, (name, report) in enumerate(reports.items()):
        frequency = np.sort(report.frequency[report.frequency > 0])[::-1]
        if not len(frequency):
            continue
        marks = np.unique(np.geomspace(1, len(frequency), 6).astype(int)) - 1
        curves.plot(
            np.arange(1, len(frequency) + 1), frequency, **look(row), label=name,
            markevery=marks.tolist(), markersize=4, markeredgecolor="black",
        )  # fmt: skip
    columns[0].set_xlabel("median, 10 % to 90 % of the runs", fontsize=8)
    if len(names) > 1:
        curves.legend(fontsize=7, frameon=False)
    curves.set_xscale("log")
    curves.set_ylim(0, 1.05)
    curves.set_xlabel("features, most often chosen first", fontsize=8)
    curves.set_title("share of runs that chose a feature", loc="left", fontsize=9)
    for axes in (*columns, curves):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure
