"""The drawings of notebook 5: iterates and their means, in a plane and over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import style


class Plane(NamedTuple):
    """Two weights: the grid, the height of the objective over the grid, and the minimum."""

    grid: Any
    height: Any
    minimum: Any

    def draw(self, axes: Any, iterates: Any, means: Any) -> None:
        """Draw level lines, every fourth iterate, the path of the mean, the last, the minimum."""
        axes.contour(*self.grid, self.height, levels=[0.02, 0.1, 0.3], colors="0.8", linewidths=0.7)
        axes.plot(*iterates[::4].T, ".", color=style.SAND, markersize=3)
        axes.plot(*means[::2].T, color=style.DARK)
        last = dict(color=style.RUST, markeredgecolor="black", markersize=8)
        axes.plot(*iterates[-1], marker="^", **last)
        axes.plot(*self.minimum, marker="+", color="black", markersize=12, markeredgewidth=1.5)
        axes.set(xlabel="weight 0", ylabel="weight 1", xlim=(-0.2, 1.6), ylim=(-1.2, 0.4))


def walk(plane: Plane, iterates: Any, means: Any) -> Any:
    """The iterates so far and the path of their mean."""
    figure, axes = style.new(width=5, height=3.4)
    plane.draw(axes, iterates, means)
    axes.set_title(f"{len(iterates)} steps: iterates (dots), their mean (line)")
    return figure


def walk_and_distances(
    plane: Plane, iterates: Any, means: Any, distances: tuple[Any, Any], names: Sequence[str]
) -> Any:
    """The walk in the plane, and the distances of iterates and average from the minimum.

    ``names`` are the name of the average and the title of the left part.
    """
    of_iterates, of_means = distances
    figure, (left, right) = style.new(2, width=8, height=2.8)
    plane.draw(left, iterates, means)
    steps = np.unique(np.geomspace(1, len(iterates), 150).astype(int))  # enough for a line
    right.loglog(steps, of_iterates[steps - 1], color=style.SAND, linewidth=0.8)
    right.loglog(steps, of_means[steps - 1], color=style.DARK)
    typical = np.sqrt(np.mean(of_iterates[-100:] ** 2))
    above = 5 if typical > of_means[-1] else -5  # points by which names are kept apart
    style.note_end(right, steps[-1], typical, "iterates", style.SAND, dy=above)
    style.note_end(right, steps[-1], of_means[-1], names[0], style.DARK, dy=-above)
    right.minorticks_off()
    right.set(xlabel="steps", ylabel="distance from the minimum", ylim=(3e-3, 2))
    left.set_title(names[1])
    right.set_title(f"at the end: iterates {typical:.2f}, average {of_means[-1]:.2f}")
    return figure


def shares(counts: Mapping[str, Any]) -> Any:
    """How much each iterate counts in several averages."""
    figure, axes = style.new(height=2.6)
    series = {name: (range(1, len(c) + 1), c / c.sum()) for name, c in counts.items()}
    style.curves(axes, series, xlabel="iterate", ylabel="share in the average", ylim=(0, None))
    axes.set_title("How much each of 100 iterates counts")
    return figure


def errors(epochs: Sequence[int], by_epochs: Mapping[str, Any], rates: Sequence[float],
           by_rate: Mapping[str, Any]) -> Any:  # fmt: skip
    """Errors on new rows against the epochs, and against the rate."""
    figure, (left, right) = style.new(2, width=8.2, height=3.4, sharey=True)
    for number, name in enumerate(by_epochs):
        left.plot(epochs, by_epochs[name], **style.look(number), label=name)
        right.semilogx(rates, by_rate[name], **style.look(number))
    left.legend(handlelength=3)
    left.set(xlabel="epochs", ylabel="error on new rows")
    left.set_title("Rate 0.5: the last iterate has more errors")
    right.set(xlabel="rate", xticks=rates, xticklabels=[f"{rate:g}" for rate in rates])
    right.minorticks_off()
    right.set_title("Five epochs: at large rates averages are better")
    return figure


def bracket(path: Any, curve: Any, means: Mapping[str, Any]) -> Any:
    """Left a weight and the same curve without the bracket, right its mean and two wrong ones.

    ``means`` are the true mean, the exact one, H z - U, and the one without the bracket.
    """
    steps = np.arange(len(path))
    figure, (left, right) = style.new(2, width=8.6, height=3.3)
    left.axhline(0, color="0.8", linewidth=0.8)
    left.fill_between(steps, curve, 0, color=style.RUST, alpha=0.15, linewidth=0)
    left.plot(curve, **style.lines(2))
    left.plot(path, **style.lines(0))
    left.text(42, 0.35, "the weight", color=style.DARK)
    left.text(2, -0.25, "the same curve\nwithout the bracket", color=style.RUST)
    left.set(xlabel="step t", ylabel="weight 0")
    left.set_title("The weight stops at zero, the formula does not")
    true, exact, two_sums, unclipped = means.values()
    right.plot(two_sums, **style.lines(3))
    right.plot(unclipped, **style.lines(2))
    right.plot(true, color="0.8", linewidth=5)
    right.plot(exact, **style.lines(0))
    style.note_end(right, steps[-1], two_sums[-1], "H z - U", style.SAND)
    style.note_end(right, steps[-1], exact[-1], "exact", style.DARK, dy=4)
    style.note_end(right, steps[-1], unclipped[-1], "without\nbracket", style.RUST, dy=-6)
    right.text(128, 0.36, "broad grey: true mean", color=style.GREY)
    right.set(xlabel="step t", ylabel="mean of weight 0 so far")
    right.set_title("The exact mean, and two wrong ones")
    return figure


def beside_means(compared: Mapping[str, tuple[Any, Any]]) -> Any:
    """For each library what average=True returns against the mean of its iterates."""
    figure, axes = style.new(2, width=8, height=3.3, sharex=True, sharey=True)
    for plot, number, (name, (mean, average)) in zip(axes, (2, 0), compared.items(), strict=True):
        plot.axline((0, 0), slope=1, color="0.7", linewidth=0.8)
        plot.plot(mean, average, **style.dots(number) | {"markersize": 3})
        plot.set(xlabel="mean of the iterates", title=name)
    axes[0].set_ylabel("what average=True returns")
    return figure


def centered(epochs: Sequence[int], shares: Mapping[str, Any]) -> Any:
    """Errors against epochs, with and without centering."""
    figure, axes = style.new(height=3.4)
    for number, (name, share) in enumerate(shares.items()):
        axes.semilogx(epochs, share, **style.look(number), label=name)
    axes.legend(handlelength=3)
    axes.set(xlabel="epochs", ylabel="error on new rows", xticks=epochs, xticklabels=epochs)
    axes.minorticks_off()
    axes.set_title("Without centering, a shift of three features costs many epochs")
    return figure
