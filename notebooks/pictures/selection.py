"""The drawings of notebook 6: where zeros come from, and which features are chosen again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import style


def stopping(subgradient: Any, soft: Any, truncations: Mapping[str, Any]) -> Any:
    """Left a weight by subgradient and by soft threshold, right a weight under truncations."""
    figure, (left, right) = style.new(2, width=8.5, width_ratios=[1, 1.6])
    left.plot(subgradient, **style.look(2))
    left.plot(soft, **style.look(0))
    left.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    style.legend(left, ["soft threshold", "subgradient"], at=(0.3, 0.63), numbers=(0, 2))
    left.set(xlabel="step", ylabel="a weight that nothing touches", xticks=range(0, 13, 3))
    left.set_title("Only the soft threshold stops at zero")
    nudge = dict(zip(truncations, (-6, 7, 0), strict=True))
    style.curves(right, truncations, nudge=nudge, xlabel="step t", ylabel="weight 0")
    right.set_title("A shrink every K-th step; none above θ")
    return figure


def nonzeros(runs: Mapping[str, Any], first: int, title: str, top: float | None = None) -> Any:
    """Nonzero weights after each step from ``first`` on."""
    figure, axes = style.new(height=2.9)
    series = {name: (np.arange(first, first + len(run)), run) for name, run in runs.items()}
    style.curves(axes, series, xlabel="step t", ylabel="weights that are not zero", title=title)
    if top is not None:
        axes.set_ylim(0, top)
    return figure


def last_seen(edges: Sequence[int], shares: Mapping[str, Any], l1: float) -> Any:
    """The share of noise features with a weight, by the steps since they were last seen."""
    figure, axes = style.new()
    axes.stairs(shares["FoBoS"], edges, color=style.RUST, linestyle="-.", linewidth=1.6)
    axes.stairs(shares["RDA"], edges, color=style.DARK, linewidth=1.6)
    axes.text(55, 0.56, "FoBoS", color=style.RUST)
    axes.text(5, 0.06, "RDA", color=style.DARK)
    axes.axvline(1 / l1, color="0.8", linewidth=0.8, zorder=0)
    axes.text(1 / l1 + 3, 0.92, "1 / l1 steps", color="0.4")
    axes.set(xlabel="steps since the feature was last seen", ylim=(-0.02, 1))
    axes.set_ylabel("noise features with a weight")
    axes.set_title("FoBoS keeps noise features seen lately, RDA hardly any")
    return figure


def frequencies(frequency: Any, groups: Mapping[str, Any], bound: float, title: str) -> Any:
    """Selection frequencies in falling order; the features of ``groups`` are marked."""
    order = np.argsort(-frequency, kind="stable")
    places = np.arange(1, len(order) + 1)
    figure, axes = style.new(height=2.9)
    axes.plot(places, frequency[order], color=style.PALE)
    for number, features in zip((0, 2), groups.values(), strict=True):
        of_these = np.isin(order, features)
        axes.plot(places[of_these], frequency[order][of_these], **style.dots(number))
    axes.axhline(bound, color="0.8", linewidth=0.8, zorder=0)
    axes.text(1_000, bound + 0.02, "π₀", color="0.4", ha="right")
    style.legend(axes, list(groups), at=(0.03, 0.34), step=0.09, numbers=(0, 2))
    axes.text(0.03, 0.16, "line: all features", color=style.GREY, transform=axes.transAxes)
    axes.set(xscale="log", ylim=(0, 1.05), xlabel="features, most stable first")
    axes.set(ylabel="bursts survived, of those informed", title=title)
    return figure


def methods(results: Mapping[str, Any]) -> Any:
    """Error and kappa against nonzeros; a result has the three as sequences, in this order."""
    figure, (left, right) = style.new(2, width=9, height=3.8)
    for number, (name, (errors, kappas, nonzeros)) in enumerate(results.items()):
        left.plot(nonzeros, errors, **style.look(number), label=name)
        right.plot(nonzeros, kappas, **style.look(number))
    left.set(xlabel="nonzeros", ylabel="error on the rows set aside", xscale="log")
    left.set_title("Error: left and low is good")
    right.set(xlabel="nonzeros", ylabel="kappa, mean over pairs of runs", xscale="log")
    right.set(ylim=(0, 1.05), title="Kappa: left and high is good")
    figure.legend(loc="outside lower center", ncols=5)
    return figure


def copies(likeness: Sequence[float], taken: Mapping[Any, Any], disagree: Mapping[Any, Any]) -> Any:
    """Shares of copies chosen, and of copies that one of two runs chooses, by likeness."""
    figure, (left, right) = style.new(2, width=9, sharex=True)
    for number, (name, other_rows) in enumerate(disagree):
        label = f"{name}, other {'rows' if other_rows else 'orders'}"
        left.plot(likeness, taken[name, other_rows], **style.look(number), label=label)
        right.plot(likeness, disagree[name, other_rows], **style.look(number))
    left.set(xlabel="likeness q of copy and original", ylabel="copies chosen", ylim=(-0.03, 1.03))
    right.set(xlabel="likeness q of copy and original", ylabel="chosen by one of two runs only")
    left.set_title("A good copy is chosen like its original")
    right.set_title("In between, runs disagree")
    figure.legend(loc="outside lower center", ncols=4)
    return figure
