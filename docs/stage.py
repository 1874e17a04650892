"""Put the pages of the site together in a folder, from which Sphinx makes it.

    python docs/stage.py build/docs-source

Copied are the pages of docs/, the notebooks, the pages and figures of the studies, CHANGELOG and
CONTRIBUTING.  A link to any other file of the repository leads to a page that shows the file.
In the repository the links lead from file to file; in the copies they are changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

ROOT = Path(__file__).resolve().parent.parent
#: Folders and files of the repository, and where the site has them.
PLACES = {
    "docs": "",
    "notebooks": "notebooks",
    "paper_repro/results": "results",
    "benchmarks/results": "benchmarks",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
}
KINDS = {".md", ".ipynb", ".svg", ".png", ".json"}
LANGUAGES = {
    ".py": "python",
    ".pyx": "cython",
    ".pxd": "cython",
    ".h": "c",
    ".c": "c",
    ".cff": "yaml",
    ".toml": "toml",
}
#: What stands below the title of every notebook on the site.
HOW_TO_RUN = (
    "*To run it, say `make notebooks` in a checkout. It imports modules of its folder: "
    "{download}`all notebooks with their modules <notebooks.zip>`.*"
)
FENCED = re.compile(r"^( *```.*?^ *```|<!--.*?-->)", re.DOTALL | re.MULTILINE)
#: A table of contents, in a comment so that other readers of Markdown do not show it.
CONTENTS = re.compile(r"<!-- toctree\n(.*?)-->", re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(?=[)#])")


class Site:
    """The folder ``out``, filled from the repository."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.shown: set[Path] = set()

    def fill(self) -> None:
        """Copy everything, with links that lead to the copies."""
        shutil.rmtree(self.out, ignore_errors=True)
        for source in pages():
            self.copy(source, self.out / place_of(source))
        with ZipFile(self.out / "notebooks" / "notebooks.zip", "w", ZIP_DEFLATED) as archive:
            folder = ROOT / "notebooks"
            for file in sorted([*folder.glob("*.ipynb"), *folder.glob("**/*.py")]):
                archive.write(file, file.relative_to(ROOT))

    def copy(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = source.read_text(encoding="utf-8")
            text = CONTENTS.sub(r"```{toctree}\n\1```", self.with_links(text, source, target))
            target.write_text(text, encoding="utf-8")
        elif source.suffix == ".ipynb":
            notebook = json.loads(source.read_text(encoding="utf-8"))
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = self.with_links("".join(cell["source"]), source, target)
            first = notebook["cells"][0]
            title, _, rest = first["source"].partition("\n")
            first["source"] = f"{title}\n\n{HOW_TO_RUN}\n{rest}"
            target.write_text(json.dumps(notebook), encoding="utf-8")
        else:
            shutil.copyfile(source, target)

    def with_links(self, text: str, source: Path, target: Path) -> str:
        """The text with links from ``target`` in the site; code stays as it is."""

        def led(link: re.Match[str]) -> str:
            path = Path(os.path.normpath(source.parent / link[1]))
            if not path.exists():
                return link[1]  # Sphinx will complain of it
            return os.path.relpath(self.out / self.page_of(path), target.parent)

        parts = FENCED.split(text)
        parts[::2] = [LINK.sub(led, part) for part in parts[::2]]
        return "".join(parts)

    def page_of(self, path: Path) -> str:
        """Where the site has this file of the repository."""
        if (place := place_of(path)) is None:
            place = f"sources/{path.relative_to(ROOT).as_posix()}.md"
            self.show(path, self.out / place)
        return place

    def show(self, path: Path, target: Path) -> None:
        """Write a page with the text of a file, or with links to the files of a folder."""
        if path in self.shown:
            return
        self.shown.add(path)
        head = f"---\norphan: true\nnosearch: true\n---\n\n# `{path.relative_to(ROOT)}`\n\n"
        if path.is_dir():
            files = sorted(each for each in path.iterdir() if each.suffix in LANGUAGES)
            for each in files:
                self.page_of(each)
            body = "\n".join(f"- [{each.name}]({path.name}/{each.name}.md)" for each in files)
            if target.name != f"{path.name}.md":
                raise AssertionError("the page of a folder must be next to the folder")
        else:
            language = LANGUAGES.get(path.suffix, "text")
            body = f"``````{{code-block}} {language}\n{path.read_text(encoding='utf-8')}``````"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{head}{body}\n", encoding="utf-8")


def pages() -> list[Path]:
    """The files of the repository that are copied."""
    found = []
    for name in PLACES:
        path = ROOT / name
        files = path.rglob("*") if path.is_dir() else [path]
        found += [file for file in files if file.suffix in KINDS and place_of(file) is not None]
    return sorted(file for file in found if file != ROOT / "README.md")


def place_of(path: Path) -> str | None:
    """Where the site has a copy of this file; None if it has none."""
    relative = path.relative_to(ROOT)
    for name, place in PLACES.items():
        if relative.is_relative_to(name):
            inside = relative.relative_to(name)
            if any(part.startswith((".", "_")) or part == "quick" for part in inside.parts):
                return None
            if path.is_dir() or (path.is_file() and path.suffix not in KINDS):
                return None
            return (Path(place) / inside).as_posix()
    return None


if __name__ == "__main__":
    Site(Path(sys.argv[1]).resolve()).fill()
