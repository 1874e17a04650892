"""Short runs of studies: what every run writes, and a study whose numbers are known."""

import re

import numpy as np
from scipy import sparse

from paper_repro.render import Content, Curves, Table
from paper_repro.results import load, run, whole_page
from paper_repro.rows import Rows
from paper_repro.study import Cell, Study

KEYS = list("abcde")


class Counting(Study):
    """Five cells that record when they ran; one of them may be interrupted.

    Their numbers depend on nothing but their names.
    """

    name = "counting"
    title = "Counting"

    def __init__(self, failing=None):
        self.failing, self.ran = failing, []

    def cells(self, settings):
        return [Cell(key, lambda records, key=key: self.measured(key, records)) for key in KEYS]

    def measured(self, key, records):
        if key == self.failing:
            raise KeyboardInterrupt
        self.ran.append(key)
        seconds = np.random.default_rng(ord(key)).exponential(size=3).tolist()
        more = {"seconds": seconds, "who": f"é {key}", "nested": [{"count": ord(key)}, None]}
        return {"before": len(records), "value": (1.5, 2.5), **more}

    def content(self, document):
        before = [record["before"] for record in document["records"].values()]
        parts = [Table(["cells"], [[len(before)]])]
        return Content("All ran.", parts, [Curves("", "", "", {"a": (before, before)}, log="")])


def tiny_run(study, settings, out):
    """The document of a run, and its page: whole, with its finding first and no missing number."""
    document = run(study, settings, out)
    assert load(study.name, out) == document
    page = (out / f"{study.name}.md").read_text()
    assert page == whole_page(study, document)
    assert page.splitlines()[2].startswith("**")
    assert not {"nan", "inf"} & set(re.findall(r"\w+", page))
    assert (out / f"{study.name}.svg").read_text().startswith("<?xml")
    return document, page


def svmlight_rows(path, labels=(-1, 1), n=40, first=0):
    """A file of rows with these labels in turn, and six features from column ``first`` + 1 on."""
    generator = np.random.default_rng(0)
    with open(path, "w") as file:
        for row in range(n):
            sizes = generator.random(6) + row % 2
            features = (f"{first + j}:{x:.3f}" for j, x in enumerate(sizes, start=1))
            print(labels[row % len(labels)], *features, file=file)
    return str(path)


def small_rows(labels=(0, 1), n=90, d=12, seed=0):
    """Rows with these labels, which depend on them; two thirds of them to learn from."""
    generator = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.4, "csr", random_state=seed)
    scores = X @ generator.standard_normal((d, len(labels)))
    y = np.array(labels, dtype=float)[scores.argmax(axis=1)]
    first = 2 * n // 3
    return Rows(X[:first], y[:first], X[first:], y[first:], "made up")
