"""The figure of the study ``peers``: seconds per example, test losses, and objectives over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.peers import Found
from benchmarks.peers_time import CORPUS
from benchmarks.programs import OURS
from benchmarks.programs.base import LYING, NET, RANDOM
from lazynet.figures import DARK, LIGHT, RUST, SAND
from paper_repro.score import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Test losses beyond this many times the least are drawn there, as an arrow.
_MOST = 1.5
#: The program that validation rows choose among ours, and among the others.
CHOSEN, CHOSEN_OTHER = "lazynet, by validation", "all others, by validation"
#: The peers whose objective is drawn over time.
_CURVES = 6
_GREYS = ("0.2", "0.35", "0.5", "0.6", "0.7", "0.78")
_MARKERS = ("s", "^", "v", "D", "P", "X")


def draw(document: Mapping[str, Any]) -> Figure:
    """Above: a pass, and the test losses.  Below: objective and test loss against seconds."""
    from matplotlib.figure import Figure as NewFigure

    found = Found(document)
    figure = NewFigure(figsize=(9.5, 8.2), layout="constrained")
    (speed, quality), (objective, loss) = figure.subplots(2, 2, height_ratios=[1.15, 1])
    _draw_speed(speed, found)
    _draw_quality(quality, found)
    problems = [each for each in found.times.ladders if each[1] == NET]
    # Rows of a file tell more than generated ones.
    problem = next((each for each in problems if each[0] != CORPUS), problems[0])
    _draw_time(objective, found, problem, "objective")
    _draw_time(loss, found, problem, "test_loss")
    return figure


def _colour(name: str) -> str:
    return DARK if name in OURS or name == CHOSEN else RUST


def _draw_speed(ax: Axes, found: Found) -> None:
    """Bars of a later pass with an elastic net: filled as rows lie, open in random order."""
    passes = found.passes
    taken = {order: dict(passes.fastest(order, NET)) for order in (LYING, RANDOM)}
    least = {**taken[RANDOM], **taken[LYING]}
    names = sorted(least, key=least.__getitem__, reverse=True)
    for y, name in enumerate(names):
        for order, offset, face in ((LYING, 0.2, _colour(name)), (RANDOM, -0.2, "white")):
            if (seconds := taken[order].get(name)) is not None:
                ax.barh(y + offset, seconds, height=0.34, facecolor=face, edgecolor=_colour(name))
                label = f" {duration(seconds)}"
                ax.text(seconds, y + offset, label, va="center", fontsize=7, color="0.3")
    ax.set_xscale("log")
    ax.set_xlim(0.3 * min(least.values()), 6.0 * max(least.values()))
    ax.xaxis.set_major_formatter(lambda seconds, _: duration(seconds).replace(".00", ""))
    ax.xaxis.set_minor_formatter(lambda *_: "")
    _named(ax, names)
    ax.set_title("seconds of a pass, per row")
    ax.set_xlabel("elastic net; filled: rows as they lie, open: random order\nshorter is better")


def _draw_quality(ax: Axes, found: Found) -> None:
    """Test losses in units of the least of the set: a point for each set."""
    judged = found.quality
    sets = list(judged.found)
    least = {
        name: min(value for peer in judged.peers() if (value := judged.value(name, peer, "loss")))
        for name in sets
    }
    ratios = {
        peer: [
            value / least[name]
            for name in sets
            if (value := judged.value(name, peer, "loss")) is not None
        ]
        for peer in judged.peers()
    }
    ratios = {peer: each for peer, each in ratios.items() if each}
    for chosen, ours in ((CHOSEN, True), (CHOSEN_OTHER, False)):
        values = {name: judged.value(name, judged.chosen(name, ours), "loss") for name in sets}
        ratios[chosen] = [value / least[name] for name, value in values.items() if value]
    middles = {peer: sorted(each)[len(each) // 2] for peer, each in ratios.items()}
    names = sorted(middles, key=middles.__getitem__, reverse=True)
    for y, name in enumerate(names):
        ax.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        for ratio in ratios[name]:
            marker = "o" if ratio < _MOST else ">"
            ax.plot(
                min(ratio, _MOST),
                y,
                marker,
                color=_colour(name),
                markerfacecolor="none",
                clip_on=False,
            )
        ax.plot(min(middles[name], _MOST), y, "|", color=_colour(name), markersize=13)
    _named(ax, names)
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in (CHOSEN, CHOSEN_OTHER) else "normal")
    ax.set_xlim(0.99, _MOST)
    ax.set_title("test loss after equal tuning")
    ax.set_xlabel(
        "a circle: a set of rows; 1: the least loss on it\n"
        f"bar: median; arrow: {_MOST:g} or more; left is better"
    )


def _draw_time(ax: Axes, found: Found, problem: tuple[str, str], what: str) -> None:
    """The least value that the runs of a peer have reached, over seconds."""
    times = found.times
    ladders = {name: each for name, each in times.ladders[problem].items() if each.runs}
    others = sorted(
        (name for name in ladders if name not in OURS), key=lambda n: _arrival(found, problem, n)
    )[:_CURVES]
    colours = [DARK, LIGHT, "#7fb0d8"]
    for k, name in enumerate(each for each in ladders if each in OURS):
        _curve(ax, found, problem, name, what, color=colours[k % 3], marker="o")
    for k, name in enumerate(others):
        colour = RUST if k == 0 else SAND if k == 1 else _GREYS[k % len(_GREYS)]
        _curve(ax, found, problem, name, what, color=colour, marker=_MARKERS[k], linestyle="--")
    ax.set_xscale("log")
    ax.set_xlabel("seconds of the processor, elastic net")
    if what == "objective":
        ax.set_yscale("log")
        ax.set_title(f"how far above the least objective ({_rows(problem[0])})")
        ax.set_ylabel("1: the objective at zero weights")
    else:
        ax.set_title("test loss meanwhile")
        # The panel of the objective has no room for it.
        ax.legend(fontsize=7, title="in both panels", title_fontsize=7)


def _curve(
    ax: Axes, found: Found, problem: tuple[str, str], name: str, what: str, **look: Any
) -> None:
    seconds, values = found.times.curve(problem, name, what)
    if what == "objective":
        at_zero, least = found.times.settings[problem]["at zero"], found.times.least(problem)
        values = [max(1e-9, (value - least) / at_zero) for value in values]
    ax.plot(seconds, values, label=name, markersize=4, **{"linestyle": "-", **look})


def _rows(name: str) -> str:
    return "generated rows" if name == CORPUS else name


def _arrival(found: Found, problem: tuple[str, str], name: str) -> float:
    seconds = found.times.seconds(problem, name, 1e-2)
    return float("inf") if seconds is None else seconds


def _named(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set_color(DARK if _colour(name) == DARK else "black")
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
