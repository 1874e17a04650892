"""How figures reach the reader: in Jupyter, with sliders if it has widgets, and in a browser.

Every figure is an SVG and a description in words.  A figure with sliders carries a static SVG of
three settings, which a page on the web, a print, or a notebook that no kernel runs shows in place
of the sliders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

#: On a page of the site there is a module ``page`` in place of Jupyter.
ON_A_PAGE = find_spec("page") is not None


def show(svg: str, describe: str) -> None:
    """Display an SVG; ``describe`` is the figure in words."""
    _display({"image/svg+xml": svg, "text/plain": describe})


def explore(
    draw: Callable[..., str], describe: str, *,
    stills: Sequence[Mapping[str, Any]] | None = None, **controls: Sequence[Any],
) -> None:  # fmt: skip
    """Display the SVG that ``draw`` makes of the controls' values, with a slider per control.

    A control is a sequence of values in the order of its slider, which begins in the middle.  A
    viewer without widgets shows three static figures: those of ``stills``, each of which names the
    controls that are not at their middle values, or of the first control's least, middle and
    greatest values.
    """
    begin = {name: values[len(values) // 2] for name, values in controls.items()}
    if stills is None:
        name, values = next(iter(controls.items()))
        stills = [{name: values[0]}, {}, {name: values[-1]}]
    static = stacked([draw(**begin | dict(still)) for still in stills])
    bundle = {"image/svg+xml": static, "text/plain": describe}
    # One output in several formats: the front end shows the richest format that it knows.
    _display({**_sliders(draw, controls, begin), **bundle})


def _display(bundle: Mapping[str, Any]) -> None:
    """Show one output, which is given in several formats."""
    if ON_A_PAGE:
        from page import display

        display(bundle)
        return
    from IPython.display import display

    display(bundle, raw=True)


def _sliders(
    draw: Callable[..., str], controls: Mapping[str, Sequence[Any]], begin: Mapping[str, Any]
) -> Any:
    """The sliders and their figure, in a format of the front end; nothing if it has no sliders."""
    if ON_A_PAGE:
        import page

        words = {name: [_words(value) for value in values] for name, values in controls.items()}
        return page.sliders(draw, controls, words)
    if not find_spec("ipywidgets"):
        return {}
    import ipywidgets as widgets

    picture = widgets.HTML(draw(**begin))
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
        picture.value = draw(**{name: slider.value for name, slider in sliders.items()})

    for slider in sliders.values():
        slider.observe(redraw, names="value")
    return widgets.VBox([*sliders.values(), picture])._repr_mimebundle_()


#: The size of an SVG, in points.
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')


def stacked(drawings: Sequence[str]) -> str:
    """One SVG with several SVGs below one another."""
    sizes = [tuple(map(float, _SIZE.search(drawing).groups())) for drawing in drawings]  # type: ignore[union-attr]
    width, height = max(size[0] for size in sizes), sum(size[1] for size in sizes)
    parts, top = [], 0.0
    for drawing, (_, own) in zip(drawings, sizes, strict=True):
        inner = drawing[drawing.index("<svg") :]
        parts.append(inner.replace("<svg", f'<svg y="{top:g}"', 1).replace('pt"', '"', 2))
        top += own
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {width:g} {height:g}">{"".join(parts)}</svg>'
    )


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
