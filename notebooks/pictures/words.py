"""The drawings of notebook 7: accuracies, training, paths of words, probabilities, topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def stages(measured: Mapping[str, tuple[float, float, float]]) -> Any:
    """Accuracy on seen texts, new texts and new files, for each stage of cleaning."""
    figure, axes = style.new(height=2.4)
    for kind, name in enumerate(("seen texts", "new texts", "new files")):
        points = [values[kind] for values in measured.values()]
        axes.plot(points, range(3), **style.dots(kind))
        axes.annotate(name, (points[0], 0), (0, 9), textcoords="offset points", ha="center",
                      color=style.COLOURS[kind])  # fmt: skip
    for row, values in enumerate(measured.values()):
        axes.plot([min(values), max(values)], [row, row], color=style.PALE, linewidth=1, zorder=0)
    axes.set(yticks=range(3), yticklabels=list(measured), ylim=(2.4, -0.7), xlabel="accuracy")
    axes.margins(x=0.06)
    axes.set_title("Without leakage the accuracy on new texts is lower")
    return figure


def training(histories: Mapping[str, Any]) -> Any:
    """Objective and nonzero weights per epoch."""
    figure, (left, right) = style.new(2)
    for axes, what in ((left, "objective"), (right, "nonzeros")):
        for number, (name, history) in enumerate(histories.items()):
            values = [record[what] for record in history]
            axes.plot(range(1, 1 + len(values)), values, label=name, **style.lines(number))
    left.set(xlabel="epoch", ylabel="objective", title="Objective: falling rates settle")
    right.set(xlabel="epoch", ylabel="words with a weight", ylim=(0, None))
    left.legend(title="rate")
    right.set_title("Number of words: it stays high")
    return figure


def leftovers(steps_ago: Any, sizes: Any, l1: float) -> Any:
    """Sizes of weights against the steps since their words were last seen."""
    figure, axes = style.new()
    axes.loglog(steps_ago, sizes, **style.dots(0) | {"markersize": 2.5})
    axes.text(930, 2, "words that matter", color=style.GREY, ha="right")
    axes.text(930, 2e-3, "words seen lately", color=style.GREY, ha="right")
    axes.axvline(1 / l1, color=style.RUST, linestyle="--")
    axes.text(1.06 / l1, 5e-5, "1 / l1 steps", color=style.RUST)
    axes.set(xlim=(0.8, 2.7 / l1), ylim=(1e-5, 20))
    axes.set(xlabel="steps since the word was last seen", ylabel="size of its weight")
    axes.set_title("Most words have a weight only because they were seen lately")
    return figure


def path(l1: Sequence[float], results: Mapping[str, tuple[Any, Any]]) -> Any:
    """Accuracy and number of words along the path of l1, for FoBoS and RDA, in this order."""
    figure, (left, right) = style.new(2)
    for number, (name, (accuracy, words)) in zip((2, 0), results.items(), strict=True):
        left.plot(l1, accuracy, **style.look(number))
        right.plot(l1, np.where(np.array(words) > 0, words, np.nan), **style.look(number))
        right.annotate(name, (l1[3], words[3]), (2, -14), textcoords="offset points",
                       color=style.COLOURS[number])  # fmt: skip
    for axes in (left, right):
        axes.set(xscale="log", xlabel="l1 (weak to the right)")
        axes.invert_xaxis()
    left.set(
        ylabel="accuracy on new files", title="Accuracy rises with the first few hundred words"
    )
    right.set(ylabel="words with a weight", yscale="log")
    right.set_title("RDA keeps fewer words at every l1")
    left.title.set_fontsize(9)
    return figure


def paths_of_words(l1: Sequence[float], weights: Any, names: Sequence[str]) -> Any:
    """The weight of each word along the path; well separated ones are named at their ends."""
    figure, axes = style.new(height=4.2)
    axes.plot(l1, weights, color=style.PALE, linewidth=0.7, zorder=0)
    shown: list[float] = []
    for course, name in zip(weights.T, names, strict=True):
        height = course[-1]
        if all(abs(height - other) > 1.6 for other in shown) and len(shown) < 12:
            shown.append(height)
            colour, dash = (style.DARK, "-") if height > 0 else (style.RUST, "--")
            axes.plot(l1, course, color=colour, linestyle=dash)
            style.note_end(axes, l1[-1], height, name, colour)
    axes.set(xscale="log", xlabel="l1 (weak to the right)", ylabel="weight (sklearn above zero)")
    axes.invert_xaxis()
    axes.set_title("The weaker the penalty, the more words have a weight")
    return figure


def strongest(weights: Any, names: Sequence[str], title: str) -> Any:
    """Bars for the twelve most negative and the twelve most positive weights."""
    order = np.argsort(weights)
    order = np.concatenate([order[:12], order[-12:]])
    order = order[weights[order] != 0]
    figure, axes = style.new(height=0.9 + 0.14 * max(len(order), 6))
    colours = [style.DARK if weight > 0 else style.RUST for weight in weights[order]]
    axes.barh(range(len(order)), weights[order], color=colours)
    for row, j in enumerate(order):
        side, nudge = ("left", 3) if weights[j] > 0 else ("right", -3)
        axes.annotate(names[j], (weights[j], row), (nudge, 0), textcoords="offset points",
                      ha=side, va="center", fontsize=8)  # fmt: skip
    reach = 1.3 * max(np.abs(weights).max(), 1.0)
    axes.set(xlabel="weight (left: SciPy, right: scikit-learn)", yticks=[], xlim=(-reach, reach))
    axes.set_title(title)
    return figure


def sizes(weights: Mapping[str, Any]) -> Any:
    """Sizes of all weights, from the largest to the smallest, for several penalties."""
    figure, axes = style.new()
    for number, (name, of_model) in enumerate(weights.items()):
        falling = -np.sort(-np.abs(of_model))
        ranks = np.unique(np.geomspace(1, np.count_nonzero(falling), 200).astype(int))
        axes.loglog(ranks, falling[ranks - 1], **style.lines(number))
        style.note_end(axes, ranks[-1], 3e-3, name, style.COLOURS[number])
    axes.set(xlabel="words, from the largest weight to the smallest", ylabel="size of weight")
    axes.set(ylim=(1e-3, 20), title="l1 makes weights zero, l2 only makes them smaller")
    return figure


def reliability(curves: Mapping[str, tuple[Any, Any]]) -> Any:
    """The share of positives against the predicted probability, for several models."""
    figure, axes = style.new(width=5.2, height=3.9)
    axes.plot([0, 1], [0, 1], color=style.PALE, linewidth=1)
    for number, (predicted, share) in enumerate(curves.values()):
        axes.plot(predicted, share, **style.look(number))
    style.legend(axes, list(curves), at=(0.04, 0.9))
    axes.set(xlabel="predicted probability of scikit-learn", ylabel="share that is scikit-learn's")
    axes.set_title("A strong penalty keeps probabilities near one half")
    return figure


def confusion(counts: Any, names: Sequence[str]) -> Any:
    """How many texts of each topic are taken for each topic."""
    figure, axes = style.new(width=6.4, height=5.2)
    share = counts / counts.sum(axis=1, keepdims=True)
    axes.imshow(share, cmap="Greys", vmin=0, vmax=1)
    for i, j in np.argwhere(counts):
        colour = "white" if share[i, j] > 0.5 else "black"
        axes.text(j, i, counts[i, j], ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted", ylabel="true topic")
    axes.set_title("Rare topics are taken for the most common one")
    return figure


def streaming(learnt: Sequence[int], accuracies: Mapping[str, Any]) -> Any:
    """Accuracy against the texts learnt so far."""
    figure, axes = style.new(height=2.8)
    for number, (name, values) in zip((2, 0), accuracies.items(), strict=True):
        axes.plot(learnt, values, label=name, **style.look(number))
    axes.set(xlabel="texts learnt so far", ylabel="accuracy on new files")
    axes.legend()
    axes.set_title("One pass, each text seen once")
    return figure
