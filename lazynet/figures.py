"""One style for all figures of the package, of the studies and of the notebooks.

Series differ by grey level, line style and marker together, so that a black-and-white print and
an eye that sees no colour lose nothing.  Nothing here imports matplotlib before it draws.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.grid": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    # Text is written as text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "lazynet",
}

#: Two blues, a rust, a sand and two greys, all of different lightness.
DARK, LIGHT, RUST, SAND, GREY, PALE = "#0b3c6f", "#3f7fb5", "#a8481a", "#c0803f", "0.35", "0.6"
COLOURS = (DARK, LIGHT, RUST, SAND, GREY, PALE)
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "v", "D", "P")


def look(number: int) -> dict[str, Any]:
    """Colour, line and marker of the series with this number.

    >>> look(0)
    {'color': '#0b3c6f', 'linestyle': '-', 'marker': 'o'}
    """
    number %= len(COLOURS)
    return dict(color=COLOURS[number], linestyle=DASHES[number], marker=MARKERS[number])


def new_figure(wanted_by: str, width: float, height: float) -> Figure:
    """An empty figure, or an error that says how to install matplotlib for ``wanted_by``.

    >>> new_figure("plot_path", 4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            f"{wanted_by} needs matplotlib: pip install 'lazynet-linear[plots]'"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def styled() -> Any:
    """The context in which figures are drawn and saved.

    >>> import matplotlib as mpl
    >>> with styled():
    ...     mpl.rcParams["lines.linewidth"]
    1.6
    """
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def as_svg(figure: Figure) -> str:
    """``figure`` as SVG without a date, so that the same numbers give the same file.

    >>> from matplotlib.figure import Figure
    >>> with styled():
    ...     first, second = (as_svg(Figure(figsize=(2, 1))) for _ in range(2))
    >>> first.startswith("<?xml"), first == second
    (True, True)
    """
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
