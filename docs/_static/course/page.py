"""What a page of the site has in place of Jupyter: it runs cells and shows what they display.

The worker that runs Python replaces ``post`` by a function that sends a message to the page.
"""

from __future__ import annotations

import io
import linecache
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from pyodide.code import eval_code

SLIDERS = "sliders"
namespace: dict[str, Any] = {"__name__": "__main__"}
#: For each figure with sliders, the function that draws it and the values of its controls.
figures: list[tuple[Callable[..., str], Mapping[str, Sequence[Any]]]] = []


def post(kind: str, value: Any) -> None:
    """Send a message to the page."""
    raise NotImplementedError("the worker has not replaced this function")


class Printed(io.TextIOBase):
    """A file whose text appears on the page."""

    def write(self, text: str) -> int:
        post("text", text)
        return len(text)


def run(source: str, number: int) -> bool:
    """Run a cell; whether it stopped with an error, whose traceback has been shown."""
    name = f"cell {number}"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    with redirect_stdout(Printed()), redirect_stderr(Printed()):
        try:
            last = eval_code(source, namespace, filename=name)
            if last is not None:
                print(repr(last))
        except BaseException as error:
            post("error", "".join(traceback.format_exception(_from_cell(error, name))))
            return True
    sys.stdout.flush()
    return False


def _from_cell(error: BaseException, name: str) -> BaseException:
    """The error with a traceback that begins in the cell."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    return error.with_traceback(trace)


def display(bundle: Mapping[str, Any]) -> None:
    """Show a figure, given in several formats."""
    words, svg = bundle["text/plain"], bundle["image/svg+xml"]
    post("figure", [svg, words, bundle.get(SLIDERS)])


def sliders(
    draw: Callable[..., str],
    controls: Mapping[str, Sequence[Any]],
    words: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """The format of a figure with sliders: its number, and the words at every slider."""
    figures.append((draw, controls))
    names = [[name.replace("_", " "), list(values)] for name, values in words.items()]
    return {SLIDERS: [len(figures) - 1, names]}


def redraw(number: int, places: Sequence[int]) -> str:
    """The SVG of a figure at these places of its sliders."""
    draw, controls = figures[number]
    values = zip(controls.values(), places, strict=True)
    return draw(**dict(zip(controls, (row[place] for row, place in values), strict=True)))
