"""Figures of a path of penalties, and of the choice of a penalty by cross-validation.

The penalty falls from left to right, as models grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lazynet.figures import GREY, PALE, look, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# So many features have a line with a name, and so many more a thin grey line.
_NAMED = 6
_DRAWN = 200


def _penalties(
    l1s: NDArray[np.float64], l2s: NDArray[np.float64]
) -> tuple[str, NDArray[np.float64]]:
    """What stands on the axis of penalties: l1, or l2 where l1 is 0 or the same everywhere."""
    same = np.ptp(l1s, axis=-1).max() == 0 and np.ptp(l2s, axis=-1).max() > 0
    return ("l2", l2s) if same else ("l1", l1s)


def _penalty_axis(axes: Any, name: str, penalties: NDArray[np.float64]) -> None:
    if not penalties.max() > 0:
        axes.set_xlabel(name)
        return
    if penalties.min() == 0:
        # A logarithm has no 0: the axis is linear up to the smallest strength.
        axes.set_xscale("symlog", linthresh=penalties[penalties > 0].min())
        axes.xaxis.set_inverted(True)
        axes.set_xlabel(f"{name}, from the largest penalty to the smallest")
        return
    if np.ptp(penalties) == 0:
        # A single penalty has no range that matplotlib could take its limits from.
        axes.set_xlim(penalties.max() / 2, penalties.max() * 2)
    axes.set_xscale("log")
    axes.xaxis.set_inverted(True)
    axes.set_xlabel(f"{name}, from the largest penalty to the smallest")


def _count_axis(axes: Any, largest: float) -> None:
    """An axis of counts: linear from 0 to 1, where a logarithm has no 0, and logarithmic beyond."""
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(0, max(largest, 1.0) * 1.6)
    axes.yaxis.set_major_formatter("{x:,.0f}")


def plot_path(path: Any, feature_names: Sequence[str] | None = None) -> Figure:
    """The weights along a path of penalties, and how many of them are not 0.

    ``path`` is what ``net_path`` returns.  The features with the largest weights have a line with a
    name: that of ``feature_names``, or their column in X.  Needs matplotlib (``pip install
    lazynet-linear[plots]``).

    >>> from lazynet import net_path
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> path = net_path(X, [2.0, 1.0, 3.0, 0.0], loss="squared_error", n_points=5)
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
    name, penalties = _penalties(path.l1s, path.l2s)
    heights = abs(path.coefs).max(axis=0).toarray().ravel()
    columns = np.argsort(-heights, kind="stable")[: np.count_nonzero(heights)][:_DRAWN]
    weights = path.coefs[:, columns].toarray()
    figure = new_figure("plot_path", 6.4, 5.0)
    with styled():
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
        for line in weights[:, _NAMED:].T:
            top.plot(penalties, line, color=PALE, linewidth=0.5)
        for number, (column, line) in enumerate(
            zip(columns[:_NAMED], weights[:, :_NAMED].T, strict=True)
        ):
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
    """The held-out loss with its standard errors, and the nonzeros, along the path of penalties.

    ``model`` is a fitted :class:`DualNetClassifierCV` or :class:`DualNetRegressorCV`.  Both choices
    are marked: the best mean, and the one of the one-standard-error rule; a model takes the second
    with ``one_standard_error=True``.  Needs matplotlib (``pip install lazynet-linear[plots]``).

    >>> from lazynet import DualNetRegressorCV
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> model = DualNetRegressorCV(n_points=10).fit(X, X[:, 0])
    >>> figure = plot_choice(model)
    >>> [axes.get_title(loc="left") for axes in figure.axes]  # doctest: +NORMALIZE_WHITESPACE
    ['mean loss of held-out rows, with one standard error',
     'number of weights that are not 0, mean of the folds']
    """
    if not hasattr(model, "standard_errors_"):
        raise TypeError(
            f"plot_choice needs a fitted DualNetClassifierCV or DualNetRegressorCV, "
            f"got {type(model).__name__}"
        )
    name, penalties = _penalties(model.l1s_, model.l2s_)
    counts = model.nonzeros_.mean(axis=-1)
    by_scorer = model.scoring is not None
    score = model.scoring if isinstance(model.scoring, str) else "score"
    what = f"mean {score if by_scorer else 'loss'} of held-out rows"
    means, errors = model.means_, model.standard_errors_
    figure = new_figure("plot_choice", 6.4, 5.0)
    with styled():
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
        for row, ratio in enumerate(model.l1_ratios if len(means) > 1 else (None,)):
            label = None if ratio is None else f"l1_ratio {ratio:g}"
            line = look(row) | dict(markersize=3, label=label)
            if np.isfinite(errors[row]).any():
                band = (means[row] - errors[row], means[row] + errors[row])
                top.fill_between(penalties[row], *band, color=line["color"], alpha=0.18, lw=0)
            top.plot(penalties[row], means[row], **line)
            bottom.plot(penalties[row], counts[row], **line)
        best, sparsest = model.best_index_, model.one_standard_error_index_
        marks = [(best, f"{'highest' if by_scorer else 'least'} mean", "-", "*")]
        if np.isfinite(errors[best]):
            marks.append((sparsest, "sparsest within one standard error", "--", "D"))
        for point, text, dash, marker in marks:
            at = penalties[point]
            ratio = f", l1_ratio {model.l1_ratios[point[0]]:g}" if len(means) > 1 else ""
            label = f"{text}: {name} {at:.3g}{ratio}, {counts[point]:,.0f} weights"
            top.plot(
                [at], [means[point]], color="black", marker=marker, markersize=9, linestyle=dash,
                linewidth=0.8, label=label, markerfacecolor="white", zorder=4,
            )  # fmt: skip
            for axes in (top, bottom):
                axes.axvline(at, color="black", linestyle=dash, linewidth=0.8)
        top.set_title(f"{what}, with one standard error", loc="left")
        # A white ground, so that the lines at the marks do not cross the text.
        top.legend(fontsize=7.5, frameon=True, framealpha=1.0, edgecolor="none")
        bottom.set_title("number of weights that are not 0, mean of the folds", loc="left")
        _count_axis(bottom, counts.max())
        _penalty_axis(bottom, name, penalties)
    return figure


def plot_grid(model: Any) -> Figure:
    """The loss and the nonzeros of a grid of settings against the penalty.

    ``model`` is a fitted :class:`LazyNetClassifierCV` or :class:`LazyNetRegressorCV`.  A line has
    the settings that differ only in one strength.  Needs matplotlib (``pip install
    lazynet-linear[plots]``).

    >>> from lazynet import LazyNetRegressorCV
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> model = LazyNetRegressorCV(random_state=0).fit(X, X[:, 0])
    >>> [axes.get_xlabel() for axes in plot_grid(model).axes]
    ['', 'l1, from the largest penalty to the smallest']
    """
    if not hasattr(model, "losses_") or np.ndim(model.losses_) != 2:
        raise TypeError(
            f"plot_grid needs a fitted LazyNetClassifierCV or LazyNetRegressorCV, "
            f"got {type(model).__name__}"
        )
    name, penalties = _penalties(model.l1s_, model.l2s_)
    rest, others = ("l1", model.l1s_) if name == "l2" else ("l2", model.l2s_)
    counts, best = model.nonzeros_.mean(axis=-1), model.best_index_
    means, errors = model.means_, model.standard_errors_
    figure = new_figure("plot_grid", 6.4, 5.0)
    with styled():
        top, bottom = figure.subplots(2, 1, height_ratios=[2.2, 1])
        for number, strength in enumerate(dict.fromkeys(others.tolist())):
            some = np.flatnonzero(others == strength)
            label = f"{rest} {strength:.3g}" if np.ptp(others) > 0 else None
            line = look(number) | dict(markersize=3, label=label)
            if np.isfinite(errors[some]).any():
                band = means[some] - errors[some], means[some] + errors[some]
                top.fill_between(penalties[some], *band, color=line["color"], alpha=0.18, lw=0)
            top.plot(penalties[some], means[some], **line)
            bottom.plot(penalties[some], counts[some], **line)
        top.plot(
            [penalties[best]], [means[best]], color="black", marker="*", markersize=9,
            linestyle="", markerfacecolor="white", zorder=4,
            label=f"chosen: {name} {penalties[best]:.3g}, {counts[best]:,.0f} weights",
        )  # fmt: skip
        for axes in (top, bottom):
            axes.axvline(penalties[best], color="black", linewidth=0.8)
            _penalty_axis(axes, name, penalties)
        top.set_xlabel("")
        spread = ", with one standard error" if np.isfinite(errors).any() else ""
        top.set_title(f"mean loss of held-out rows{spread}", loc="left")
        _near_the_least(top, means)
        top.legend(fontsize=7.5, frameon=True, framealpha=1.0, edgecolor="none")
        bottom.set_title("number of weights that are not 0, after the last epoch", loc="left")
        _count_axis(bottom, counts.max())
    return figure


def _near_the_least(axes: Any, losses: NDArray[np.float64]) -> None:
    """Let an axis of losses end where most of the finite ones end: one may be enormous."""
    finite = losses[np.isfinite(losses)]
    least, most = finite.min(), np.quantile(finite, 0.9)
    if most > least:
        axes.set_ylim(least - 0.05 * (most - least), least + 1.3 * (most - least))
