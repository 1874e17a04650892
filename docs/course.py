"""Notebooks that run on their page of the site: Python for browsers, and the modules they import.

    python docs/course.py               fetch Pyodide with npm, and pure-Python libraries with pip

Sphinx loads this file as an extension.  It puts a bar and scripts on the pages of ``NOTEBOOKS``,
and everything that Python needs there under ``_static/course``.  Nothing comes from another server.
Where there is no npm, the pages have a notice in place of the bar.  Under ``_static/alone`` are all
notebooks for a reader who downloads one: a first cell holds the modules that the notebook imports.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
FETCHED = ROOT / "build" / "course"
NOTEBOOKS = ("01_why_dense_hurts", "02_closed_forms", "03_the_clock")
#: The kinds of files of Pyodide that a browser loads; two more are named.
KINDS = (".mjs", ".js", ".wasm", ".zip", "/pyodide-lock.json", "/package.json")
#: Libraries that a notebook imports, and the packages that it needs for them.
LIBRARIES = {"hypothesis": ["hypothesis", "sortedcontainers"]}
MODULES = (
    "lazynet/__init__.py", "lazynet/_version.py", "lazynet/reference/*.py", "notebooks/drawing.py",
    "notebooks/output.py", "notebooks/checks.py", "notebooks/data.py",
    "notebooks/pictures/__init__.py", "notebooks/pictures/decay.py",
    "notebooks/pictures/closed_forms.py", "notebooks/pictures/clock.py",
)  # fmt: skip
PAGE = "docs/_static/course/page.py"
#: What the other notebooks import beside installed packages.
ALL_MODULES = ("notebooks/*.py", "notebooks/pictures/*.py")
NOTICE = "The cells do not run here: the site must be built with npm and come from a web server."


def fetch() -> None:
    """Download what is not there yet; say so if that fails."""
    if has_python():
        return
    folder = FETCHED.with_name("course-part")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        download(folder)
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"Notebooks will not run on their pages, for Pyodide was not fetched: {problem}")
        return
    folder.rename(FETCHED)


def download(folder: Path) -> None:
    """Fetch Pyodide from npm, and libraries in pure Python from PyPI."""
    pack = ["npm", "pack", "--silent", "pyodide"]
    name = subprocess.run(pack, cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(folder / name.split()[-1]) as archive:
        wanted = [each for each in archive.getmembers() if each.name.endswith(KINDS)]
        archive.extractall(folder, wanted, filter="data")
    (folder / "package").rename(folder / "pyodide")
    python = read(folder / "pyodide" / "pyodide-lock.json")["info"]["python"]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
         "--implementation=py", "--abi=none", "--platform=any", f"--python-version={python}",
         f"--dest={folder}", *(name for needed in LIBRARIES.values() for name in needed)],
        check=True,
    )  # fmt: skip


def read(path: Path) -> Any:
    """What a file of JSON says."""
    return json.loads(path.read_text(encoding="utf-8"))


def has_python() -> bool:
    """Whether Pyodide was fetched."""
    return FETCHED.exists()


def packed(patterns: Sequence[str]) -> bytes:
    """An archive of the files of the repository that notebooks import, as folders and modules."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
            relative = path.relative_to(ROOT)
            folder = {"lazynet": ROOT, "notebooks": ROOT / "notebooks"}.get(relative.parts[0])
            place = path.relative_to(folder).as_posix() if folder else path.name
            # No date, so that the same files give the same archive.
            archive.writestr(zipfile.ZipInfo(place), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


#: The first cell of a notebook that runs alone.
SET_UP = """# {advice}
# This cell unpacks the modules of the course that the notebook imports.
import base64
import sys
import tempfile
from pathlib import Path

modules = Path(tempfile.mkdtemp(), "modules.zip")
modules.write_bytes(base64.b64decode("{content}"))
sys.path.insert(0, str(modules))"""


def alone(path: Path) -> dict[str, Any]:
    """The notebook of a file, with a first cell that makes its modules."""
    notebook: dict[str, Any] = read(path)
    plain = path.stem in NOTEBOOKS
    advice = "pip install 'lazynet-linear[notebooks]'"
    if plain:
        used = [name for name in LIBRARIES if name in path.read_text(encoding="utf-8")]
        advice = f"pip install {' '.join(used)}" if used else "Needs no package but Jupyter."
    content = base64.b64encode(packed(MODULES if plain else ALL_MODULES)).decode()
    cell = {
        "cell_type": "code", "execution_count": None, "id": "modules", "outputs": [],
        "metadata": {"jupyter": {"source_hidden": True}},
        "source": SET_UP.format(advice=advice, content=content),
    }  # fmt: skip
    notebook["cells"].insert(1, cell)
    return notebook


def put(app: Sphinx, failure: Exception | None) -> None:
    """Put Python, the modules and a list of both into the built site."""
    folder = Path(app.outdir, "_static", "course")
    if failure is not None or not folder.is_dir():
        return
    (folder.parent / "alone").mkdir(exist_ok=True)
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        text = json.dumps(alone(path), ensure_ascii=False)
        (folder.parent / "alone" / path.name).write_text(text, encoding="utf-8")
    contents: dict[str, Any] = {"version": None}
    if has_python():
        shutil.copytree(FETCHED / "pyodide", folder / "pyodide", dirs_exist_ok=True)
        for wheel in FETCHED.glob("*.whl"):
            shutil.copyfile(wheel, folder / wheel.name)
        (folder / "modules.zip").write_bytes(packed([*MODULES, PAGE]))
        python = read(FETCHED / "pyodide" / "pyodide-lock.json")["info"]["python"]
        pyodide = read(FETCHED / "pyodide" / "package.json")["version"]
        sizes = [path.stat().st_size for path in FETCHED.glob("pyodide/*")]
        contents = {
            "version": f"{python} by Pyodide {pyodide}",
            "megabytes": round(sum(sizes) / 1e6),
            "archives": ["modules.zip"],
            "libraries": {
                library: [wheel.name for name in needed for wheel in FETCHED.glob(f"{name}-*.whl")]
                for library, needed in LIBRARIES.items()
            },
        }
    (folder / "contents.json").write_text(json.dumps(contents), encoding="utf-8")


def add_to_page(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Put the bar below the text of a notebook, and the scripts on its page."""
    if page == "course":
        if not has_python():
            context["body"] = f'<div class="course-bar">{NOTICE}</div>\n{context["body"]}'
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
