"""Notebooks that run on their page of the site: Python for browsers, and the modules they import.

    python docs/course.py               fetch Pyodide with npm, and pure-Python libraries with pip

Sphinx loads this file as an extension.  It puts a bar and scripts on the pages of ``NOTEBOOKS``, and
everything that Python needs there under ``_static/course``.  Nothing comes from another server.
Where there is no npm, the pages have a notice in place of the bar.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
FETCHED = ROOT / "build" / "course"
NOTEBOOKS = ("01_why_dense_hurts", "02_closed_forms", "03_the_clock")
#: The files of Pyodide that a browser loads.
PYODIDE = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json",
)  # fmt: skip
#: Libraries that a notebook imports, and the packages that it needs for them.
LIBRARIES = {"hypothesis": ["hypothesis", "sortedcontainers"]}
MODULES = (
    "lazynet/__init__.py", "lazynet/_version.py", "lazynet/reference/*.py", "notebooks/drawing.py",
    "notebooks/output.py", "notebooks/checks.py", "notebooks/data.py",
    "notebooks/pictures/__init__.py", "notebooks/pictures/decay.py",
    "notebooks/pictures/closed_forms.py", "notebooks/pictures/clock.py",
    "docs/_static/course/page.py",
)  # fmt: skip
NOTICE = "This site was built without npm: its notebooks do not run here."


def fetch() -> None:
    """Download what is not there yet; say so if there is no npm."""
    if (FETCHED / "pyodide-lock.json").exists():
        return
    if shutil.which("npm") is None:
        print("npm is missing: the notebooks will not run on the pages of the site.")
        return
    shutil.rmtree(FETCHED, ignore_errors=True)
    FETCHED.mkdir(parents=True)
    packed = ["npm", "pack", "--silent", "pyodide"]
    name = subprocess.run(packed, cwd=FETCHED, check=True, text=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(FETCHED / name.split()[-1]) as archive:
        for file in PYODIDE:
            content = archive.extractfile(f"package/{file}")
            assert content is not None
            (FETCHED / file).write_bytes(content.read())
    python = json.loads((FETCHED / "pyodide-lock.json").read_text("utf-8"))["info"]["python"]
    pure = "--no-deps --only-binary=:all: --implementation py --abi none --platform any".split()
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", *pure, "--python-version", python,
         "--dest", str(FETCHED), *(name for needed in LIBRARIES.values() for name in needed)],
        check=True,
    )  # fmt: skip


def modules() -> Iterator[tuple[Path, str]]:
    """The files of the repository that the notebooks import, and their places in the archive."""
    for pattern in MODULES:
        for path in sorted(ROOT.glob(pattern)):
            relative = path.relative_to(ROOT)
            inside = relative.as_posix() if relative.parts[0] == "lazynet" else path.name
            yield path, f"pictures/{inside}" if path.parent.name == "pictures" else inside


def put(app: Sphinx, failure: Exception | None) -> None:
    """Put Python, the modules and a list of both into the built site."""
    folder = Path(app.outdir, "_static", "course")
    if failure is not None or not folder.is_dir():
        return
    contents: dict[str, Any] = {"version": None}
    if (FETCHED / "pyodide-lock.json").exists():
        (folder / "pyodide").mkdir(exist_ok=True)
        for file in PYODIDE:
            shutil.copyfile(FETCHED / file, folder / "pyodide" / file)
        for wheel in FETCHED.glob("*.whl"):
            shutil.copyfile(wheel, folder / wheel.name)
        with zipfile.ZipFile(folder / "modules.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path, place in modules():
                archive.write(path, place)
        info = json.loads((FETCHED / "pyodide-lock.json").read_text("utf-8"))["info"]
        contents = {
            "version": f"{info['python']} by Pyodide {pyodide_version()}",
            "archives": ["modules.zip"],
            "libraries": {
                library: [wheel.name for name in needed for wheel in FETCHED.glob(f"{name}-*.whl")]
                for library, needed in LIBRARIES.items()
            },
        }
    (folder / "contents.json").write_text(json.dumps(contents), encoding="utf-8")


def pyodide_version() -> str:
    """The version of the package that was fetched, which is part of the name of its file."""
    return next(FETCHED.glob("pyodide-*.tgz")).stem.removeprefix("pyodide-")


def add_to_page(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Put the bar below the text of a notebook, and the scripts on its page."""
    if page == "course":
        app.add_css_file("course/course.css")
        app.add_js_file("course/pictures.js", type="module")
    if page.removeprefix("notebooks/") not in NOTEBOOKS:
        return
    app.add_css_file("course/course.css")
    app.add_js_file("course/notebook.js", type="module")
    context["body"] += f'\n<div class="course-bar">{NOTICE}</div>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the pages."""
    app.connect("html-page-context", add_to_page)
    app.connect("build-finished", put)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    fetch()
