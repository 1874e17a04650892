"""The drawings of notebook 3: stored numbers, the shift that rises under them, and the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import style

NAMES = "ABCD"


def stored_and_weights(history: Any, touches: Mapping[int, tuple[int, float]]) -> Any:
    """Left the stored numbers and the shift, right the weights; arrows show what touches store."""
    stored, weights, shift, scale = history
    stored, weights = np.abs(stored), np.abs(weights)
    figure, (left, right) = style.new(columns=2, height=3.4)
    left.fill_between(range(61), shift, color=style.LIGHT, alpha=0.25, linewidth=0)
    left.text(58, 0.05, "shift", color=style.LIGHT, ha="right")
    for t, (j, w) in touches.items():
        ends = dict(xy=(t, w / scale[t] + shift[t]), xytext=(t, shift[t]))
        left.annotate("", **ends, arrowprops=dict(arrowstyle="->", color=style.COLOURS[j]))
        left.text(t - 1, shift[t] + 0.1, f"{w} / scale", color=style.COLOURS[j], ha="right")
        stored[t - 1, j] = weights[t - 1, j] = np.nan  # no line from the old number to the new one
    for axes, values in ((left, stored), (right, weights)):
        series = dict(zip(NAMES, values.T, strict=True))
        style.curves(axes, series, named=axes is left)
        axes.set(xlabel="step t", xlim=(0, 61), ylim=(0, 1.05))
    for j, name in enumerate(NAMES):
        style.note_end(right, 0, weights[0, j], name, style.COLOURS[j], dy=8)
    left.set(ylabel="stored: |z|", title="Stored: changes only where touched")
    right.set(ylabel="weight: |w|", title="Weight: (|z| - shift) times scale")
    return figure


def until(step: int, history: Any, touches: Mapping[int, tuple[int, float]], title: str) -> Any:
    """Left the stored numbers and the shift up to a step, right the four weights at that step."""
    stored, weights, shift, _ = history
    figure, (left, right) = style.new(columns=2, height=2.9, width_ratios=[2, 1])
    left.fill_between(range(step + 1), shift[: step + 1], color=style.LIGHT, alpha=0.25)
    for j, name in enumerate(NAMES):
        since = max((t for t in touches if touches[t][0] == j and t <= step), default=0)
        for begin, end in ((0, since), (since, step)):
            level = abs(stored[begin, j])
            left.plot([begin, end], [level, level], **style.lines(j))
        style.note_end(left, step, level, name, style.COLOURS[j])
        right.bar(j, abs(weights[step, j]), color=style.COLOURS[j])
    left.set(xlabel="step t", xlim=(0, 63), ylim=(0, 1.1 * max(shift[-1], abs(stored).max())))
    left.set(ylabel="stored: |z|", title=f"Step {step}: shift {shift[step]:.2f} (shaded)")
    right.set(xticks=range(4), xticklabels=list(NAMES), ylim=(0, 1), ylabel="weight: |w|")
    right.set_title(title)
    return figure
