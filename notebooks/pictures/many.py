"""The drawings of notebook 12: many outputs at once, clocks of columns, and groups of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

import style

#: The colour of weights that a step reads and does not need.
ALONG = "#b9cfe2"


def two_layouts(n_features: int, n_outputs: int, row: Sequence[int], line: int) -> Any:
    """The weights in memory by two layouts, a box per weight; a row of X needs the dark boxes.

    Light boxes come along, because they lie in the same ``line`` of the cache.
    """
    figure, panels = style.new(columns=2, height=4.2, width=9, width_ratios=[4, 1.4])
    for axes, by_feature in zip(panels, (False, True), strict=True):
        shape = (n_features, n_outputs) if by_feature else (n_outputs, n_features)
        places = np.arange(n_features * n_outputs).reshape(shape)
        needed = np.zeros(shape, dtype=bool)
        needed[row if by_feature else (slice(None), row)] = True
        fetched = np.unique(places[needed] // line)
        for (down, across), place in np.ndenumerate(places):
            come = place // line in fetched
            colour = style.DARK if needed[down, across] else ALONG if come else "white"
            axes.add_patch(Rectangle((across, down), 1, 1, facecolor=colour, edgecolor="0.75"))
        axes.set(xlim=(0, shape[1]), ylim=(shape[0], 0), aspect="equal")
        for axis, length in ((axes.xaxis, shape[1]), (axes.yaxis, shape[0])):
            shown = range(0, length, 4)
            axis.set_ticks([place + 0.5 for place in shown], labels=shown)
        axes.tick_params(length=0)
        axes.set(xlabel="output" if by_feature else "feature")
        axes.set(ylabel="feature" if by_feature else "output")
        layout = "A row per feature" if by_feature else "A vector per output"
        axes.set_title(f"{layout}:\n{len(fetched)} lines are read")
    for place, colour, text in ((0, style.DARK, "needed"), (7, ALONG, "read along with it")):
        box = dict(facecolor=colour, edgecolor="0.75", clip_on=False)
        panels[0].add_patch(Rectangle((place, n_outputs + 4.5), 1, 1, **box))
        panels[0].text(place + 1.5, n_outputs + 5, text, va="center")
    return figure


def clocks_of_columns(stored: float, shifts: Mapping[str, Any], weights: Mapping[str, Any]) -> Any:
    """Left one stored number and the shift of every column, right the weights of the columns."""
    figure, (left, right) = style.new(columns=2, width=9, height=3.3)
    left.axhline(stored, color="black", linewidth=1)
    left.text(0, stored + 0.02, f"{stored:g} is stored in every column", va="bottom")
    style.curves(left, shifts, xlabel="step t", ylabel="shift of the column")
    left.set(ylim=(0, 1.6 * stored), title="Every column has a clock of its own")
    style.curves(right, weights, named=False, xlabel="step t", ylabel="weight")
    right.set_title(f"A weight is 0 once its shift is {stored:g}")
    return figure


def slopes(by_loss: Mapping[str, Any], names: Sequence[str], title: str) -> Any:
    """The slopes in the predictions of all classes for one example, by the loss that is used."""
    figure, panels = style.new(columns=len(by_loss), width=8, height=2.7, sharey=True)
    for axes, (loss, found) in zip(panels, by_loss.items(), strict=True):
        axes.axhline(0, color="0.6", linewidth=0.8)
        colours = [style.RUST if slope < 0 else style.DARK for slope in found]
        axes.bar(list(names), found, color=colours, width=0.6)
        axes.set_title(f"{loss}: the sum is {round(sum(found), 2) + 0.0:g}")
        for place, slope in enumerate(found):
            axes.annotate(f"{slope:+.2f}", (place, slope), (0, 3 if slope > 0 else -3),
                          textcoords="offset points", ha="center",
                          va="bottom" if slope > 0 else "top")  # fmt: skip
        axes.set_ylim(-1.2, 1.2)
    panels[0].set_ylabel("slope in the prediction")
    figure.suptitle(title, x=0.02, ha="left", fontsize=9)
    return figure


def paths_to_zero(paths: Mapping[str, Sequence[Any]]) -> Any:
    """Two weights of a feature while shrinks pass over them, for one penalty in each panel.

    Open marks stand after every fifth shrink.
    """
    figure, panels = style.new(columns=len(paths), width=9, height=3.4, sharey=True)
    for axes, (name, lines) in zip(panels, paths.items(), strict=True):
        axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
        for number, line in enumerate(lines):
            x, y = np.array(line).T
            look = style.look(number) | {"markerfacecolor": "none", "markevery": 5}
            axes.plot(x, y, **look)
            axes.plot(x[:1], y[:1], color=look["color"], marker=look["marker"], markersize=7)
        axes.set(title=name, xlabel="weight of output 1", xlim=(-0.06, 1.1), ylim=(-0.06, 1.1))
        axes.set_aspect("equal")
    panels[0].set_ylabel("weight of output 2")
    return figure
