"""Figures, short films and sliders as SVG, with the standard library alone.

Notebooks 1 to 3 use it, because they also run in a browser, where there is no Matplotlib.  The
figures look like those of ``style``.  An ``Axes`` collects marks in the units of the data, and a
``Figure`` puts one or two of them on paper; its unit is the point.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import output

# The colours, lines and markers of lazynet.plots.
DARK, LIGHT, RUST, SAND, GREY, PALE = "#0b3c6f", "#3f7fb5", "#a8481a", "#c0803f", "#595959", "#999"
COLOURS = (DARK, LIGHT, RUST, SAND, GREY, PALE)
DASHES = ("", "6 2.5", "10 2.5 1.6 2.5", "1.6 2.6", "8 1.6", "1.6 1.6")
MARKERS = "osv^"
#: The outline of a marker of size 1 around its middle.
OUTLINES = {"s": "m-.5 -.5h1v1h-1z", "^": "m0 -.55l.55 1h-1.1z", "v": "m0 .55l.55 -1h-1.1z"}
SYMBOLS = {"o": "●", "s": "■", "^": "▲", "v": "▼"}
#: The width of a letter.
LETTER = 4.9
Place = Callable[[float], float]


class Axes:
    """Marks between two axes; ``log`` names the axes that are logarithmic: "x", "y" or "xy".

    Limits that are None are taken from the marks.  ``xticks`` and ``yticks`` map numbers to words.
    """

    def __init__(
        self, title: str = "", xlabel: str = "", ylabel: str = "", *, log: str = "",
        xlim: tuple[float, float] | None = None, ylim: tuple[float, float] | None = None,
        xticks: Mapping[float, str] | None = None, yticks: Mapping[float, str] | None = None,
    ) -> None:  # fmt: skip
        self.title, self.xlabel, self.ylabel = title, xlabel, ylabel
        self.log, self.limits, self.ticks = log, [xlim, ylim], [xticks, yticks]
        self.marks: list[Callable[[Place, Place], str]] = []
        self.seen: tuple[list[float], list[float]] = ([], [])
        self.names: list[str] = []

    def line(
        self, xs: Iterable[float], ys: Iterable[float | None], colour: str, *,
        dash: str = "", width: float = 1.6,
    ) -> None:  # fmt: skip
        """A line through points; it has a gap where a height is None."""
        points = list(zip(xs, ys, strict=True))
        self._see(points)

        def mark(x: Place, y: Place) -> str:
            path, begun = "", False
            for px, py in points:
                if py is not None:
                    path += f"{'L' if begun else 'M'}{_at(x(px), y(py))}"
                begun = py is not None
            style = f' stroke-dasharray="{dash}"' if dash else ""
            return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{style}/>'

        self.marks.append(mark)

    def dots(
        self, xs: Iterable[float], ys: Iterable[float], colour: str, marker: str = "o", *,
        size: float = 4.5, hollow: bool = False,
    ) -> None:  # fmt: skip
        """A marker at each point: o, s, ^ or v; x is a cross."""
        points = list(zip(xs, ys, strict=True))
        self._see(points)

        def mark(x: Place, y: Place) -> str:
            places = [(x(px), y(py)) for px, py in points]
            if hollow:
                circle = f'fill="none" stroke="{colour}" stroke-width="1.2"'
                return "".join(
                    f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{size / 2}" {circle}/>'
                    for px, py in places
                )
            if marker == "o":  # the round ends of lines without a length
                path = "".join(f"M{_at(*place)}h0" for place in places)
                width = f'stroke-width="{size}" stroke-linecap="round"'
                return f'<path d="{path}" stroke="{colour}" {width}/>'
            if marker == "x":
                h = size / 2
                cross = f"l{size} {size}m{-size} 0l{size} {-size}"
                path = "".join(f"M{_at(px - h, py - h)}{cross}" for px, py in places)
                return f'<path d="{path}" stroke="{colour}" fill="none"/>'
            scaled = [f"{px / size:.2f} {py / size:.2f}{OUTLINES[marker]}" for px, py in places]
            path = "".join(f"M{each}" for each in scaled)
            return f'<path d="{path}" fill="{colour}" transform="scale({size})"/>'

        self.marks.append(mark)

    def text(
        self, x: float, y: float, words: str, colour: str = "#000", *,
        anchor: str = "start", dx: float = 0, dy: float = 0,
    ) -> None:  # fmt: skip
        """Words at a point, moved by dx and dy points."""
        self.marks.append(
            lambda fx, fy: _text(fx(x) + dx, fy(y) + dy, escape(words), colour, anchor)
        )

    def name(self, x: float, y: float, words: str, colour: str, *, dy: float = 0) -> None:
        """The name of a series beside the end of its line."""
        self.names.append(words)
        self.text(x, y, words, colour, dx=5, dy=3 - dy)

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, *, both: bool
    ) -> None:
        """An arrow from one point to another, or with a head at ``both`` ends."""

        def mark(x: Place, y: Place) -> str:
            (x0, y0), (x1, y1) = (x(start[0]), y(start[1])), (x(end[0]), y(end[1]))
            path = f"M{_at(x0, y0)}L{_at(x1, y1)}{_head(x0, y0, x1, y1)}"
            path += _head(x1, y1, x0, y0) if both else ""
            return f'<path d="{path}" fill="none" stroke="{colour}"/>'

        self.marks.append(mark)

    def area(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str,
        *, opacity: float = 1,
    ) -> None:  # fmt: skip
        """The area between two lines."""
        around = [*zip(xs, low, strict=True), *reversed(list(zip(xs, high, strict=True)))]
        self._see(around)

        def mark(x: Place, y: Place) -> str:
            path = "L".join(_at(x(px), y(py)) for px, py in around)
            return f'<path d="M{path}z" fill="{colour}" fill-opacity="{opacity}"/>'

        self.marks.append(mark)

    def bar(self, x: float, height: float, colour: str) -> None:
        """A bar from 0."""
        ends = [x - 0.4, x + 0.4]
        self.area(ends, [0, 0], [height, height], colour)

    def _see(self, points: Iterable[tuple[float, float | None]]) -> None:
        for x, y in points:
            if y is not None:
                self.seen[0].append(x)
                self.seen[1].append(y)

    def _scale(self, which: int) -> tuple[tuple[float, float], Callable[[float], float]]:
        """The limits of axis x (0) or y (1), and how a number is measured on it."""
        measure = math.log10 if "xy"[which] in self.log else float
        if self.limits[which] is not None:
            low, high = map(measure, self.limits[which])
        else:
            low, high = measure(min(self.seen[which])), measure(max(self.seen[which]))
            margin = 0.04 * ((high - low) or 1)
            low, high = low - margin, high + margin
        return (low, high), measure

    def svg(self, left: float, width: float, height: float) -> str:
        """Everything, in a frame of this width whose left edge is at ``left``."""
        (xlow, xhigh), xmeasure = self._scale(0)
        (ylow, yhigh), ymeasure = self._scale(1)
        xticks, yticks = (
            _ticks(ends, "xy"[which] in self.log) if own is None
            else {measure(value): escape(word) for value, word in own.items()}
            for which, (ends, own, measure) in enumerate((
                ((xlow, xhigh), self.ticks[0], xmeasure), ((ylow, yhigh), self.ticks[1], ymeasure)
            ))
        )  # fmt: skip
        letters = max((len(re.sub("<[^>]*>", "", word)) for word in yticks.values()), default=0)
        x0 = left + 22 + LETTER * letters + (14 if self.ylabel else 0) - 8
        x1 = left + width - 8 - LETTER * max(map(len, self.names), default=0)
        y0, y1 = height - 36, 24.0

        def along(measured: float) -> float:
            return x0 + (measured - xlow) / (xhigh - xlow) * (x1 - x0)

        def up(measured: float) -> float:
            return y0 - (measured - ylow) / (yhigh - ylow) * (y0 - y1)

        def place_x(x: float) -> float:
            return along(xmeasure(x))

        def place_y(y: float) -> float:
            return up(ymeasure(y))

        parts = [mark(place_x, place_y) for mark in self.marks]
        ticks = f"M{_at(x0, y1)}V{y0:.1f}H{x1:.1f}"
        for value, word in xticks.items():
            ticks += f"M{_at(along(value), y0)}v3.5"
            parts.append(_text(along(value), y0 + 14, word, "#000", "middle"))
        for value, word in yticks.items():
            ticks += f"M{_at(x0, up(value))}h-3.5"
            parts.append(_text(x0 - 6, up(value) + 3, word, "#000", "end"))
        parts.append(f'<path d="{ticks}" fill="none" stroke="#000" stroke-width=".6"/>')
        parts.append(_text((x0 + x1) / 2, height - 6, escape(self.xlabel), "#000", "middle"))
        if self.ylabel:
            turn = f'transform="translate({left + 10:.1f} {(y0 + y1) / 2:.1f}) rotate(-90)"'
            parts.append(f'<text {turn} text-anchor="middle">{escape(self.ylabel)}</text>')
        parts.append(f'<text x="{x0:.1f}" y="14" font-size="10">{escape(self.title)}</text>')
        return "".join(parts)


class Figure:
    """Axes beside one another, as wide as their ``ratios`` say."""

    def __init__(
        self, *axes: Axes, width: float = 540, height: float = 230, ratios: Sequence[float] = ()
    ) -> None:
        self.axes, self.width, self.height = axes, width, height
        self.ratios = ratios or [1] * len(axes)

    def inside(self) -> str:
        """What is between the tags of the SVG."""
        parts, left = [f'<path d="M0 0H{self.width}V{self.height}H0z" fill="#fff"/>'], 0.0
        for axes, ratio in zip(self.axes, self.ratios, strict=True):
            width = self.width * ratio / sum(self.ratios)
            parts.append(axes.svg(left, width, self.height))
            left += width
        return "".join(parts)

    def svg(self) -> str:
        """The figure as SVG.

        >>> axes = Axes(title="one line")
        >>> axes.line([0, 1], [0, 1], DARK)
        >>> Figure(axes).svg().count("<path")  # paper, line, axes
        3
        """
        return self.around(self.inside())

    def around(self, inside: str) -> str:
        """``inside`` between the tags of an SVG of this size."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}pt" '
            f'height="{self.height}pt" viewBox="0 0 {self.width} {self.height}" '
            f'font-family="sans-serif" font-size="9">{inside}</svg>'
        )


def curves(
    axes: Axes, series: Mapping[str, Any], *, nudge: Mapping[str, float] | None = None,
    marked: bool = False, named: bool = True,
) -> None:  # fmt: skip
    """Draw every series in a look of its own, with its name at the end of its line.

    A series is a sequence of heights, or a pair (places, heights).  ``nudge`` moves the name of a
    series up by so many points.
    """
    for number, (name, values) in enumerate(series.items()):
        xs, ys = values if isinstance(values, tuple) else (range(len(values)), values)
        axes.line(xs, ys, COLOURS[number], dash=DASHES[number])
        if marked:
            axes.dots(xs, ys, COLOURS[number], MARKERS[number])
        if named:
            axes.name(xs[-1], ys[-1], name, COLOURS[number], dy=(nudge or {}).get(name, 0))


def show(figure: Figure, describe: str) -> None:
    """Display a figure; ``describe`` is the figure in words."""
    output.show(figure.svg(), describe)


def film(
    draw: Callable[[int], Figure], frames: Iterable[int], describe: str, *, seconds: float = 0.25
) -> None:
    """Display a film of the figures that ``draw`` makes of ``frames``; it pauses at the last one.

    A viewer that does not play films shows the last frame.
    """
    figures = [draw(frame) for frame in frames]
    last = len(figures) - 1
    whole = last + 8  # the last frame stays as long as eight
    parts = []
    for number, figure in enumerate(figures):
        times = [0, number / whole, (number + 1) / whole] if number else [0, 1 / whole]
        values = ["hidden"] * bool(number) + ["visible"] + ["hidden"] * (number < last)
        play = (
            f'<animate attributeName="visibility" calcMode="discrete" '
            f'values="{";".join(values)}" dur="{whole * seconds:g}s" repeatCount="indefinite" '
            f'keyTimes="{";".join(f"{time:.4g}" for time in times[: len(values)])}"/>'
        )
        still = "visible" if number == last else "hidden"
        parts.append(f'<g visibility="{still}">{play}{figure.inside()}</g>')
    output.show(figures[-1].around("".join(parts)), describe)


def explore(
    draw: Callable[..., Figure], describe: str, *,
    stills: Sequence[Mapping[str, Any]] | None = None, **controls: Sequence[Any],
) -> None:  # fmt: skip
    """Display the figure that ``draw`` makes of the controls' values: see ``output.explore``."""
    output.explore(lambda **values: draw(**values).svg(), describe, stills=stills, **controls)


def _at(x: float, y: float) -> str:
    return f"{round(x, 1):g} {round(y, 1):g}"


def _text(x: float, y: float, words: str, colour: str, anchor: str) -> str:
    style = f' fill="{colour}"' if colour != "#000" else ""
    style += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}>{words}</text>'


def _head(x0: float, y0: float, x1: float, y1: float) -> str:
    """The head of an arrow, at its end."""
    length = math.hypot(x1 - x0, y1 - y0) or 1
    dx, dy = 5 * (x1 - x0) / length, 5 * (y1 - y0) / length
    sides = [_at(x1 - dx - k * dy / 2, y1 - dy + k * dx / 2) for k in (-1, 1)]
    return f"M{sides[0]}L{_at(x1, y1)}L{sides[1]}"


def _ticks(ends: tuple[float, float], log: bool) -> dict[float, str]:
    """Round numbers between the ends of an axis, about five, and how they are written.

    >>> _ticks((0, 1), log=False)
    {0.0: '0.0', 0.2: '0.2', 0.4: '0.4', 0.6: '0.6', 0.8: '0.8', 1.0: '1.0'}
    >>> list(_ticks((2, 4), log=True))
    [2, 3, 4]
    """
    low, high = ends
    if log:
        step = max(1, round((high - low) / 6))
        small = 'dy="-4" font-size="6.5"'
        powers = range(math.ceil(low / step) * step, math.floor(high) + 1, step)
        return {power: f"10<tspan {small}>{power}</tspan>" for power in powers}
    rough = (high - low) / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = next(n * unit for n in (1, 2, 2.5, 5, 10) if n * unit >= rough * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += step * 10**digits % 1 > 1e-9
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {round(n * step, 12): f"{n * step:.{digits}f}" for n in numbers}
