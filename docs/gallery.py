"""How figures of the examples are found and stored for the gallery."""

from typing import Any

import matplotlib as mpl
from sphinx_gallery.scrapers import figure_rst

from lazynet.plots import STYLE


def style_of_figures(gallery: dict[str, Any], name: str) -> None:
    """Let every example begin with the style that all figures of the package have."""
    mpl.rcParams.update(STYLE)


def figure_of_block(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Store what a block of an example calls ``figure``; lazynet's figures are not pyplot's."""
    figure = variables["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=160)
    return str(figure_rst([path], gallery["src_dir"]))
