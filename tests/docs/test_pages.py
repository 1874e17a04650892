"""The pages of docs/ do what they say: blocks of code print what is shown, and links lead on."""

import re
import sys
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from support import ROOT, numbers_in, without_numbers

from lazynet.data import Chunks, RowsFile
from lazynet.engines.catalogue import ALGORITHMS

PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)

#: The pages of the guide by task.
TASKS = re.findall(
    r"^(\w+)$",
    (ROOT / "docs" / "guide.md").read_text("utf-8").partition("In detail")[0],
    re.MULTILINE,
)[1:]

#: How far numbers may differ between machines, by page, or by page and first word of the line.
TOLERANCES = {
    "averages": 5e-3,
    "sparse_models": 5e-2,  # standard deviations differ more than means
    "start": 1e-2,
    "start: accuracy": 3e-3,
    "certified_minimum": 1e-2,
    "certified_minimum: objective": 1e-3,
}


@pytest.mark.parametrize(
    "path", [page for page in PAGES if page.stem != "index"], ids=lambda path: path.stem
)  # the first page has the example of README: test_readme.py
@mock.patch.dict(ALGORITHMS)  # a page registers rules
def test_blocks_print_what_is_shown(path, capsys):
    """All blocks are found and run in one namespace; numbers differ a little between machines."""
    pytest.importorskip("matplotlib")  # some blocks draw
    if path.stem == "dask":
        pytest.importorskip("distributed")
    if path.stem == "embeddings":
        skip = "torch is not installed: make test-torch runs these tests"
        pytest.importorskip("torch", reason=skip)
    namespace = {}
    blocks = BLOCK.findall(path.read_text(encoding="utf-8"))
    assert path.stem not in TASKS or any(shown for _, shown in blocks)
    for code, shown in blocks:
        exec(code, namespace)
        printed = capsys.readouterr().out.splitlines()
        expected = shown.splitlines()
        assert [*map(without_numbers, printed)] == [*map(without_numbers, expected)], code
        for line, other in zip(printed, expected, strict=True):
            tolerance = TOLERANCES.get(path.stem, 2e-2)
            tolerance = TOLERANCES.get(f"{path.stem}: {line.partition(' ')[0]}", tolerance)
            np.testing.assert_allclose(numbers_in(line), numbers_in(other), rtol=tolerance)


@pytest.mark.parametrize(
    "path",
    [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))],
    ids=lambda path: path.stem,
)
def test_links_lead_somewhere(path):
    """Every link and every picture of a page leads to a file."""
    targets = re.findall(r"\]\((?!http|#)([^)#]+)", path.read_text(encoding="utf-8"))
    missing = {target for target in targets if not (path.parent / target).exists()}
    assert not missing


class Column(list):
    """A column of pyarrow, as far as the page on files uses it."""

    def flatten(self):
        """The entries of all lists."""
        return Column(entry for entries in self for entry in entries)

    def value_lengths(self):
        """The length of each list."""
        return Column(map(len, self))

    def to_numpy(self):
        """The entries."""
        return np.array(self)


class Batch(dict):
    """Rows of pyarrow: columns by their names."""

    def __len__(self):
        return len(self["label"])


def test_the_recipe_for_parquet(monkeypatch, tmp_path):
    """It writes the rows of all batches; pyarrow has a stand-in."""
    monkeypatch.chdir(tmp_path)
    first = Batch(indices=Column([[0, 7], []]), values=Column([[1.0, 2.5], []]))
    second = Batch(indices=Column([[2_999]]), values=Column([[-3.0]]), label=Column([0]))
    first["label"] = Column([1, 0])
    table = SimpleNamespace(iter_batches=lambda: iter([first, second]))
    parquet = SimpleNamespace(ParquetFile=lambda path: table)
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(parquet=parquet))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    page = (ROOT / "docs" / "data_files.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    exec(recipe, {"np": np, "Chunks": Chunks})
    ((X, y, _),) = RowsFile("clicks.rows").chunks()
    assert X.shape == (3, 3_000)
    assert (X.indices.tolist(), X.indptr.tolist()) == ([0, 7, 2_999], [0, 2, 2, 3])
    assert (X.data.tolist(), y.tolist()) == ([1.0, 2.5, -3.0], [1.0, 0.0, 0.0])


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_an_example_tips_and_warnings(name):
    """Every page of the guide by task has them; an example has at most 20 lines of code."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    code, _ = BLOCK.search(text).groups()
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    tips, wrong = re.search(
        r"\*\*Tips\*\*\n\n(.*?)What goes wrong\W+\n(.*)", text, re.DOTALL
    ).groups()
    assert tips.count("\n- ") + tips.startswith("- ") >= 3
    assert wrong.count("- ") >= 3
