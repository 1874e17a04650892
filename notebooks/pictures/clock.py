"""The drawings of notebook 3: stored numbers, the shift that rises under them, and the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drawing import COLOURS, DASHES, LIGHT, Axes, Figure

NAMES = "ABCD"


def stored_and_weights(history: Any, touches: Mapping[int, tuple[int, float]]) -> Figure:
    """Left the stored numbers and the shift, right the weights; arrows show what touches store."""
    stored, weights, shift, scale = history
    steps = range(len(shift))
    options = dict(xlabel="step t", xlim=(0, 61), ylim=(0, 1.05))
    left = Axes("Stored: changes only where touched", ylabel="stored: |z|", **options)
    right = Axes("Weight: (|z| - shift) times scale", ylabel="weight: |w|", **options)
    left.area(steps, [0] * len(shift), shift, LIGHT, opacity=0.25)
    left.text(58, 0.05, "shift", LIGHT, anchor="end")
    for t, (j, w) in touches.items():
        left.arrow((t, shift[t]), (t, w / scale[t] + shift[t]), COLOURS[j], both=False)
        left.text(t - 1, shift[t] + 0.1, f"{w} / scale", COLOURS[j], anchor="end")
    # No line from the old number to the new one.
    before = {(t - 1, j) for t, (j, _) in touches.items()}
    for axes, values in ((left, stored), (right, weights)):
        for j in range(len(NAMES)):
            heights = [None if (t, j) in before else abs(values[t][j]) for t in steps]
            axes.line(steps, heights, COLOURS[j], dash=DASHES[j])
    for j, name in enumerate(NAMES):
        left.name(60, abs(stored[-1][j]), name, COLOURS[j])
        right.name(0, abs(weights[0][j]), name, COLOURS[j], dy=8)
    return Figure(left, right, height=245)


def until(step: int, history: Any, touches: Mapping[int, tuple[int, float]], title: str) -> Figure:
    """Left the stored numbers and the shift up to a step, right the four weights at that step."""
    stored, weights, shift, _ = history
    highest = max(shift[-1], *(abs(z) for row in stored for z in row))
    left = Axes(
        f"Step {step}: shift {shift[step]:.2f} (shaded)", "step t", "stored: |z|",
        xlim=(0, 63), ylim=(0, 1.1 * highest),
    )  # fmt: skip
    letters = dict(enumerate(NAMES))
    right = Axes(title, ylabel="weight: |w|", xlim=(-0.6, 3.6), ylim=(0, 1), xticks=letters)
    left.area(range(step + 1), [0] * (step + 1), shift[: step + 1], LIGHT, opacity=0.25)
    for j, name in letters.items():
        since = max((t for t in touches if touches[t][0] == j and t <= step), default=0)
        for begin, end in ((0, since), (since, step)):
            level = abs(stored[begin][j])
            left.line([begin, end], [level, level], COLOURS[j], dash=DASHES[j])
        left.name(step, level, name, COLOURS[j])
        right.bar(j, abs(weights[step][j]), COLOURS[j])
    return Figure(left, right, height=209, ratios=(2, 1))
