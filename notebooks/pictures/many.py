"""The drawings of notebook 12: many outputs at once, clocks of columns, and groups of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

import style


def two_layouts(n_features: int, n_outputs: int, row: Sequence[int], line: int) -> Any:
    """The weights in memory by two layouts, a box per weight; a row of X needs the dark boxes.

    Light boxes come along, because they lie in the same ``line`` of the cache.
    """
    figure, panels = style.new(columns=2, height=4.2, width=9)
    for axes, by_feature in zip(panels, (False, True), strict=True):
        shape = (n_features, n_outputs) if by_feature else (n_outputs, n_features)
        places = np.arange(n_features * n_outputs).reshape(shape)
        needed = np.zeros(shape, dtype=bool)
        needed[row if by_feature else (slice(None), row)] = True
        fetched = np.unique(places[needed] // line)
        for (down, across), place in np.ndenumerate(places):
            come = place // line in fetched
            colour = style.DARK if needed[down, across] else "#b9cfe2" if come else "white"
            axes.add_patch(Rectangle((across, down), 1, 1, facecolor=colour, edgecolor="0.75"))
        axes.set(xlim=(0, shape[1]), ylim=(shape[0], 0))
        axes.set_xticks(np.arange(0, shape[1], 4) + 0.5, labels=range(0, shape[1], 4))
        axes.set_yticks(np.arange(0, shape[0], 4) + 0.5, labels=range(0, shape[0], 4))
        axes.tick_params(length=0)
        axes.set(xlabel="output" if by_feature else "feature")
        axes.set(ylabel="feature" if by_feature else "output")
        layout = "A row of weights per feature" if by_feature else "A vector of weights per output"
        axes.set_title(f"{layout}: {len(fetched)} cache lines")
    return figure


def clocks_of_columns(stored: float, shifts: Mapping[str, Any], weights: Mapping[str, Any]) -> Any:
    """Left one stored number and the shift of every column, right the weights of the columns."""
    figure, (left, right) = style.new(columns=2, width=9, height=3.3)
    left.axhline(stored, color="black", linewidth=1)
    left.text(0, stored + 0.02, "stored in every column", va="bottom")
    style.curves(left, shifts, xlabel="step t", ylabel="shift of the column")
    left.set(ylim=(0, 1.2 * stored), title="Every column has a clock of its own")
    style.curves(right, weights, named=False, xlabel="step t", ylabel="weight")
    right.set_title("Its weight is 0 when its shift is at the stored number")
    return figure


def slopes(by_loss: Mapping[str, Any], names: Sequence[str], title: str) -> Any:
    """The slopes in the predictions of all classes for one example, by the loss that is used."""
    figure, panels = style.new(columns=len(by_loss), width=8, height=2.7, sharey=True)
    for axes, (loss, found) in zip(panels, by_loss.items(), strict=True):
        axes.axhline(0, color="0.6", linewidth=0.8)
        colours = [style.RUST if slope < 0 else style.DARK for slope in found]
        axes.bar(names, found, color=colours, width=0.6)
        for place, slope in enumerate(found):
            axes.annotate(f"{slope:+.2f}", (place, slope), (0, 3 if slope > 0 else -3),
                          textcoords="offset points", ha="center",
                          va="bottom" if slope > 0 else "top")  # fmt: skip
        axes.set(ylim=(-1.2, 1.2), title=f"{loss}: the sum is {sum(found):+.2f}".replace("-0.00", "0"))
    panels[0].set_ylabel("slope in the prediction")
    figure.suptitle(title, x=0.02, ha="left", fontsize=9)
    return figure


def paths_to_zero(paths: Mapping[str, Sequence[Any]], title: str = "") -> Any:
    """Two weights of a feature while shrinks pass over them, for one penalty in each panel.

    Rings mark equal numbers of shrinks.
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
    if title:
        figure.suptitle(title, x=0.02, ha="left", fontsize=9)
    return figure
