"""How the notebooks show things: figures, short films, and controls that stand still on paper.

All drawings are in the style of ``lazynet.figures``.  A figure is shown as SVG, a film as a PNG
with frames, and an interactive part carries a static figure with it, which is what a page on the
web, a print, or a notebook that has just been opened shows in place of the controls.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image

from lazynet.figures import COLOURS, DARK, GREY, LIGHT, PALE, RUST, SAND, STYLE, as_svg, look

__all__ = [
    "COLOURS", "DARK", "GREY", "LIGHT", "PALE", "RUST", "SAND",
    "dots", "explore", "film", "lines", "look", "new", "note_end", "show",
]  # fmt: skip

mpl.rcParams.update(STYLE)


def new(
    columns: int = 1, rows: int = 1, *, width: float = 7.5, height: float = 3.2, **options: Any
) -> Any:
    """A figure and its axes: one Axes, or an array of them."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def dots(number: int) -> dict[str, Any]:
    """The look of a series of points that no line connects."""
    return look(number) | {"linestyle": "none"}


def lines(number: int) -> dict[str, Any]:
    """The look of a series of so many points that they need no markers."""
    return look(number) | {"marker": None}


def note_end(axes: Any, x: float, y: float, text: str, colour: str, *, dy: float = 0.0) -> None:
    """Name a line where it ends, in its own colour."""
    axes.annotate(
        text, (x, y), xytext=(5, dy), textcoords="offset points", va="center", color=colour,
        annotation_clip=False,
    )  # fmt: skip


def show(figure: Figure, describe: str) -> None:
    """Display a figure as SVG; ``describe`` says in words what is to be seen."""
    display({"image/svg+xml": as_svg(figure), "text/plain": describe}, raw=True)


def film(
    draw: Callable[[int], Figure], frames: Iterable[int], describe: str, *, seconds: float = 0.25
) -> None:
    """Display a film of what ``draw`` makes of each frame, and hold on the last one.

    Where films do not play, the last frame is shown.
    """
    pictures = [_as_picture(draw(frame)) for frame in frames]
    # The frames of a PNG share one palette.
    sheet = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures)))
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (0, number * picture.height))
    palette = sheet.quantize(64, dither=Image.Dither.NONE)
    # Paper stays white where the palette would make it nearly so.
    palette.putpalette([255 if level > 247 else level for level in palette.getpalette() or []])
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    buffer = io.BytesIO()
    # The still picture is the last frame; it is no part of the film, which begins with the first.
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


def explore(draw: Callable[..., Figure], describe: str, **controls: Sequence[Any]) -> None:
    """Display what ``draw`` makes of the values of the controls, with a slider for each.

    A control is a sequence of values, in the order of the slider; it begins in the middle.  Where
    no widget runs, the figure of these middle values is shown.
    """
    begin = {name: values[len(values) // 2] for name, values in controls.items()}
    still = as_svg(draw(**begin))
    bundle = {"image/svg+xml": still, "text/plain": describe}
    try:
        import ipywidgets as widgets
    except ImportError:
        display(bundle, raw=True)
        return
    picture = widgets.HTML(still)
    sliders = {
        name: widgets.SelectionSlider(
            options=[(_words(value), value) for value in values],
            value=begin[name],
            description=name.replace("_", " "),
            continuous_update=False,
            style={"description_width": "9em"},
            layout=widgets.Layout(width="32em"),
        )
        for name, values in controls.items()
    }

    def redraw(_: Any) -> None:
        picture.value = as_svg(draw(**{name: slider.value for name, slider in sliders.items()}))

    for slider in sliders.values():
        slider.observe(redraw, names="value")
    box = widgets.VBox([*sliders.values(), picture])
    # One output in several forms: the front end takes the best that it can show.
    display({**box._repr_mimebundle_(), **bundle}, raw=True)


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
