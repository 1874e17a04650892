"""Execute the notebooks, each in a clean kernel; any error is fatal.

    python notebooks/run.py                 execute all, and compare the new outputs with the
                                            outputs in the files
    python notebooks/run.py --write         keep the new outputs
    python notebooks/run.py 02 07           only these

The solutions of the exercises, folded in the text, are executed too, after the last cell: each
takes the place of the blank in the cell of its exercise, which must then print that the answer is
right.  A cell with the tag "measured" prints times or other numbers that differ from machine to
machine or from run to run: its output is not compared.

The line with the reading time of a notebook is computed from its cells; ``--write`` replaces it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from checks import RIGHT

HERE = Path(__file__).parent
#: A notebook that needs a large package is left out where this is missing.
NEEDS = {"13_embeddings.ipynb": "torch"}
#: The output format of live widgets, which need a running kernel: files do not keep it.
WIDGET = "application/vnd.jupyter.widget-view+json"
SOLUTION = re.compile(r"<details>.*?</details>", re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
#: A blank that a reader fills in.
BLANK = re.compile(r"^\w+(?:, \w+)* = \.\.\.(?:, \.\.\.)*(?:  #.*)?$", re.MULTILINE)
#: A formula counts as one word.
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
#: The line of the first cell that says how long a notebook takes.
TIME = re.compile(r"^\*Time: .*\*$", re.MULTILINE)
WORDS_A_MINUTE, LINES_A_MINUTE, MINUTES_AN_EXERCISE = 200, 20, 4
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
#: The relative difference allowed between printed numbers, for other processors.
TOLERANCE = 0.02


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Execute the notebooks, each in a clean kernel.")
    parser.add_argument("names", nargs="*", help="numbers or names; all when none is given")
    parser.add_argument("--write", action="store_true", help="keep the new outputs")
    options = parser.parse_args(arguments)
    wrong, paths = 0, []
    for path in chosen(options.names):
        if path.name in NEEDS and find_spec(NEEDS[path.name]) is None:
            print(
                f"{path.name}: left out, because it needs {NEEDS[path.name]}; say make test-torch"
            )
        else:
            paths.append(path)
    # Times that are kept are measured alone.
    with ThreadPoolExecutor(1 if options.write else os.cpu_count()) as pool:
        for path, (before, after, seconds) in zip(paths, pool.map(timed, paths), strict=True):
            print(f"{path.name}: {seconds:.0f} s", flush=True)
            if options.write:
                nbformat.write(after, path)
            for complaint in [] if options.write else differences(before, after):
                wrong += 1
                print(f"  {complaint}", file=sys.stderr)
    if wrong:
        print("To keep the new outputs: python notebooks/run.py --write", file=sys.stderr)
    return 1 if wrong else 0


def timed(path: Path) -> tuple[Any, Any, float]:
    """A notebook as it is in its file, and executed, and the seconds that this took."""
    before = nbformat.read(path, as_version=4)
    begun = time.perf_counter()
    after = executed(before)
    if TIME.search(after.cells[0].source):
        after.cells[0].source = TIME.sub(time_to_read(after), after.cells[0].source)
    return before, after, time.perf_counter() - begun


def chosen(names: list[str]) -> list[Path]:
    """The notebooks whose names begin with one of ``names``, in order."""
    paths = sorted(HERE.glob("[0-9]*.ipynb"))
    if not names:
        return paths
    found = [path for path in paths if any(path.name.startswith(name) for name in names)]
    if not found:
        raise SystemExit(f"no notebook begins with {' or '.join(names)}; there are "
                         + ", ".join(path.name for path in paths))  # fmt: skip
    return found


def executed(notebook: Any) -> Any:
    """A copy with the outputs of a clean kernel; raises at the first error."""
    notebook = nbformat.from_dict(notebook)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    n_cells = len(notebook.cells)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in solutions(notebook)]
    NotebookClient(
        notebook, timeout=900, kernel_name="python3", record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(HERE)}},
    ).execute()  # fmt: skip
    for cell in notebook.cells[n_cells:]:
        if "\ncheck(" in cell.source and printed(cell).splitlines()[-1] != RIGHT:
            raise SystemExit(f"a solution is not right:\n{cell.source}\nprints\n{printed(cell)}")
    del notebook.cells[n_cells:]
    notebook.metadata.pop("widgets", None)
    # The metadata that JupyterLab writes, so that opening a notebook does not change its file.
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    }
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
    return notebook


def joined(outputs: list[Any]) -> list[Any]:
    """The outputs, with neighbouring pieces of printed text joined into one."""
    result: list[Any] = []
    for output in outputs:
        if result and output.get("name") == result[-1].get("name", "nothing printed"):
            result[-1].text += output.text
        else:
            result.append(output)
    return result


def solutions(notebook: Any) -> list[str]:
    """The folded solutions, in order, each followed by its exercise without the blank."""
    found, exercise = [], ""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exercise = BLANK.sub("", cell.source) if BLANK.search(cell.source) else ""
            continue
        code = [part for fold in SOLUTION.findall(cell.source) for part in CODE.findall(fold)]
        if code:
            found.append("\n\n".join([*code, exercise]))
            exercise = ""
    return found


def time_to_read(notebook: Any) -> str:
    """The line that says how long a notebook takes a reader, and how the minutes are counted."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    text = TIME.sub("", SOLUTION.sub("", "\n".join(texts)))
    words = len(FORMULA.sub(" formula ", text).split())
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    lines = sum(line.strip() != "" for code in codes for line in code.splitlines())
    exercises = sum(BLANK.search(code) is not None for code in codes)
    reading = words / WORDS_A_MINUTE + lines / LINES_A_MINUTE
    return (
        f"*Time: about {5 * round(reading / 5)} minutes to read ({round(words, -2):,} words at "
        f"{WORDS_A_MINUTE} a minute, {round(lines, -1)} lines of code at {LINES_A_MINUTE} a "
        f"minute), and about {MINUTES_AN_EXERCISE * exercises} for the {exercises} exercises.*"
    )


def differences(before: Any, after: Any) -> list[str]:
    """A complaint for every cell whose output differs from the output in the file."""
    found = []
    if old_time := TIME.search(before.cells[0].source):
        new_time = TIME.search(after.cells[0].source)[0]
        if old_time[0] != new_time:
            found.append(f"the first cell says\n{old_time[0]}\n  and should say\n{new_time}")
    for number, (old, new) in enumerate(zip(before.cells, after.cells, strict=True)):
        if new.cell_type != "code" or "measured" in new.metadata.get("tags", []):
            continue
        if not alike(printed(old), printed(new)):
            found.append(f"cell {number} shows\n{printed(old)}\n  and prints\n{printed(new)}")
    return found


def printed(cell: Any) -> str:
    """The text that a cell printed, and the descriptions of its figures."""
    return "".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
        if output.get("name") != "stderr"
    )


def alike(first: str, second: str) -> bool:
    """Whether two texts are equal, up to a relative difference of TOLERANCE in their numbers."""
    if NUMBER.sub("#", first) != NUMBER.sub("#", second):
        return False
    numbers = [
        [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        for text in (first, second)
    ]
    return all(
        abs(old - new) <= TOLERANCE * max(abs(old), abs(new))
        for old, new in zip(*numbers, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
