"""The figure of the study ``stability``: errors, choices, and nonzeros of the last updates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullFormatter

from paper_repro import figures
from paper_repro.studies.stability import LOSSES, RUNS, SHARES, Selections, deviation
from paper_repro.studies.tuning import (
    FOBOS,
    INFORMATIVE,
    RDA,
    RELEASED,
    SGD,
    TRUNCATED,
    UNIVERSAL,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: The stabilised methods in blue, the others in brown and grey; lines and markers differ too.
LOOKS: dict[str, dict[str, Any]] = {
    SGD: dict(color="0.45", marker="x", linestyle=":"),
    TRUNCATED: dict(color="#c0803f", marker="v", linestyle="--"),
    FOBOS: dict(color="#a8481a", marker="^", linestyle="-."),
    RDA: dict(color="black", marker="D", linestyle=(0, (1, 1))),
    INFORMATIVE: dict(color="#3f7fb5", marker="s", linestyle="-"),
    UNIVERSAL: dict(color="#0b3c6f", marker="o", linestyle="-"),
    RELEASED: dict(color="#7db8e8", marker="P", linestyle="--"),
}


def draw(document: Mapping[str, Any]) -> Figure:
    """Error against nonzeros, how often features are chosen, nonzeros over the last updates."""
    found = Selections(document)
    figure, axes = figures.new(columns=2, rows=3, width=8.4, height=10.2)
    for (errors, frequencies, updates), loss in zip(axes.T, LOSSES, strict=True):
        errors.set_title(f"{LOSSES[loss]} loss")
        _draw_errors(errors, found, loss)
        _draw_frequencies(frequencies, found, loss)
        _draw_updates(updates, found, loss)
        errors.set_xlabel("nonzeros (left and low is good)")
        frequencies.set_xlabel(f"chosen in at least this share of the {RUNS} runs")
        updates.set_xlabel("updates before the last")
    for ax, label in zip(axes[:, 0], ("test error", "features", "nonzeros"), strict=True):
        ax.set_ylabel(label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure  # type: ignore[no-any-return]


def _draw_errors(ax: Axes, found: Selections, loss: str) -> None:
    for name in found.tuned:
        outcome = found.outcome(loss, name)
        ax.errorbar(
            max(outcome.sparsity, 0.5),
            outcome.error,
            xerr=deviation(outcome.nonzeros),
            yerr=deviation(outcome.errors),
            **{**LOOKS[name], "linestyle": "none"},
            elinewidth=0.8,
            label=name,
        )
    ax.set_xscale("log")
    # Whole powers of ten, so that their labels are enough.
    low, high = ax.get_xlim()
    ax.set_xlim(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.1%}")


def _draw_frequencies(ax: Axes, found: Selections, loss: str) -> None:
    for name in found.tuned:
        chosen = found.outcome(loss, name).record["chosen in"]
        ax.plot(SHARES, [max(count, 0.5) for count in chosen], **{**LOOKS[name], "markevery": 4})
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _draw_updates(ax: Axes, found: Selections, loss: str) -> None:
    for name in found.tuned:
        counts = found.updates(loss, name)
        if counts:
            ax.plot(
                np.arange(-len(counts), 0),
                [max(count, 0.5) for count in counts],
                **{**LOOKS[name], "marker": None, "linewidth": 1.0},
            )
    ax.set_yscale("log")
