"""Figures, short films and sliders for the notebooks, in the style of ``lazynet.plots``.

A figure is shown as SVG and a film as an animated PNG.  Drawings that only one notebook needs are
in ``pictures``.  Notebooks 1 to 3 have ``drawing`` in place of this module.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image

import output
from lazynet.plots import COLOURS, DARK, GREY, LIGHT, PALE, RUST, SAND, STYLE, as_svg, look

__all__ = [
    "COLOURS", "DARK", "GREY", "LIGHT", "PALE", "RUST", "SAND",
    "curves", "dots", "explore", "film", "legend", "lines", "look", "new", "note_end", "show",
]  # fmt: skip

mpl.rcParams.update(STYLE)


def new(
    columns: int = 1, rows: int = 1, *, width: float = 7.5, height: float = 3.2, **options: Any
) -> Any:
    """Make a figure and its axes: one Axes, or an array of Axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def dots(number: int) -> dict[str, Any]:
    """Colour and marker of series ``number``, for points that no line connects."""
    return look(number) | {"linestyle": "none"}


def lines(number: int) -> dict[str, Any]:
    """Colour and line of series ``number``, for a line without markers."""
    return look(number) | {"marker": None}


def note_end(axes: Any, x: float, y: float, text: str, colour: str, *, dy: float = 0.0) -> None:
    """Write ``text`` beside the point where a line ends, in the colour of the line."""
    axes.annotate(
        text, (x, y), xytext=(5, dy), textcoords="offset points", va="center", color=colour,
        annotation_clip=False,
    )  # fmt: skip


def curves(
    axes: Any, series: Mapping[str, Any], *, nudge: Mapping[str, float] | None = None,
    style: Callable[[int], dict[str, Any]] = lines, named: bool = True, **labels: Any,
) -> None:  # fmt: skip
    """Draw every series, in a look of its own, with its name at the end of its line.

    A series is a sequence of heights, or a pair (places, heights).  ``nudge`` moves the name of a
    series up by so many points; ``labels`` go to ``axes.set`` (xlabel, ylabel, title, ylim, ...).
    """
    for number, (name, values) in enumerate(series.items()):
        x, y = values if isinstance(values, tuple) else (range(len(values)), values)
        axes.plot(x, y, **style(number))
        if named:
            note_end(axes, x[-1], y[-1], name, COLOURS[number], dy=(nudge or {}).get(name, 0.0))
    axes.set(**labels)


def legend(
    axes: Any, names: Sequence[str], *, at: tuple[float, float], step: float = 0.08,
    numbers: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """Write the names of series below one another, each in its colour and after its marker."""
    symbols = "●■▲▼◆✚"
    for row, (number, name) in enumerate(zip(numbers or range(len(names)), names, strict=True)):
        axes.text(
            at[0], at[1] - step * row, f"{symbols[number]} {name}", color=COLOURS[number],
            transform=axes.transAxes,
        )  # fmt: skip


def show(figure: Figure, describe: str) -> None:
    """Display a figure as SVG; ``describe`` is the figure in words."""
    output.show(as_svg(figure), describe)


def film(
    draw: Callable[[int], Figure], frames: Iterable[int], describe: str, *, seconds: float = 0.25
) -> None:
    """Display a film of the figures that ``draw`` makes of ``frames``; it pauses at the last one.

    A viewer that does not play films shows the last frame.
    """
    pictures = [_as_picture(draw(frame)) for frame in frames]
    # All frames of a PNG share one palette.
    sheet = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)))
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (0, number * picture.height))
    palette = sheet.quantize(64, dither=Image.Dither.NONE)
    # The palette may turn white into a colour close to white: such colours become white again.
    palette.putpalette([255 if level > 247 else level for level in palette.getpalette() or []])
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    buffer = io.BytesIO()
    # The still picture is the last frame; the film does not contain it and begins with the first.
    pictures[-1].save(
        buffer,
        "PNG",
        save_all=True,
        default_image=True,
        append_images=pictures,
        duration=[1000.0 * seconds] * (len(pictures) - 1) + [8000.0 * seconds],
        loop=0,
        optimize=True,
    )
    content = base64.b64encode(buffer.getvalue()).decode()
    display({"image/png": content, "text/plain": describe}, raw=True)


def _as_picture(figure: Figure) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return Image.open(buffer).convert("RGB")


def explore(
    draw: Callable[..., Figure], describe: str, *,
    stills: Sequence[Mapping[str, Any]] | None = None, **controls: Sequence[Any],
) -> None:  # fmt: skip
    """Display the figure that ``draw`` makes of the controls' values: see ``output.explore``."""
    output.explore(lambda **values: as_svg(draw(**values)), describe, stills=stills, **controls)
