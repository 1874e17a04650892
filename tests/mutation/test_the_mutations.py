"""The changes are what their operators say, and the named faults can be put into the sources."""

import ast

import pytest

from mutation.__main__ import FOLDERS, all_mutants, equivalents, text_of
from mutation.changes import drawn, mutants_of
from mutation.named import NAMED, named
from mutation.report import report
from mutation.tiers import CLOSE, ROOT, SLOW, files_for

PYTHON = '''"""Not changed: 1 + 2."""
import copy

def step(self, n=3):
    if n < 4 and not self.done:
        self.sum += copy.deepcopy(self.at(n, self.rate)) - 2 * self.half
    raise ValueError(f"n is {n + 1}")  # not changed: 1 + 2
'''
CYTHON = """cdef enum:
    N = 7

cdef inline double move(const double* w, Py_ssize_t n) noexcept nogil:
    cdef double sum = <double> n * w[0]
    flush(w, n)
    return -sum
"""


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "a.py",
            PYTHON,
            {
                ("comparison", "if n <= 4 and not self.done:"),
                ("word", "if n < 4 or not self.done:"),
                ("word", "if n < 4 and self.done:"),
                ("constant", "if n < 5 and not self.done:"),
                ("skipped branch", "if False:"),
                ("branch", "if not (n < 4 and not self.done):"),
                ("missing statement", "pass"),
                ("arithmetic", "self.sum -= copy.deepcopy(self.at(n, self.rate)) - 2 * self.half"),
                ("arithmetic", "self.sum += copy.deepcopy(self.at(n, self.rate)) + 2 * self.half"),
                ("arithmetic", "self.sum += copy.deepcopy(self.at(n, self.rate)) - 2 / self.half"),
                ("dropped term", "self.sum += copy.deepcopy(self.at(n, self.rate))"),
                ("dropped term", "self.sum += copy.deepcopy(self.at(n, self.rate)) - 2"),
                ("constant", "self.sum += copy.deepcopy(self.at(n, self.rate)) - 3 * self.half"),
                ("missing copy", "self.sum += (self.at(n, self.rate)) - 2 * self.half"),
                ("swapped arguments",
                 "self.sum += copy.deepcopy(self.at(self.rate, n)) - 2 * self.half"),
            },
        ),
        (
            "a.pyx",
            CYTHON,
            {
                ("arithmetic", "cdef double sum = <double> n / w[0]"),
                ("dropped term", "cdef double sum = <double> n"),
                ("constant", "cdef double sum = <double> n * w[1]"),
                ("missing statement", "pass"),
                ("swapped arguments", "flush(n, w)"),
                ("sign", "return sum"),
            },
        ),
    ],
)  # fmt: skip
def test_operators_change_what_they_say(file, text, expected):
    """Comments, docstrings, imports, signatures, declarations and messages are not changed."""
    assert {(each.operator, each.after) for each in mutants_of(file, text)} == expected


@pytest.fixture(scope="module")
def mutants():
    """All mutants of the sources."""
    return all_mutants()


def test_mutants_of_the_sources(mutants):
    """Every folder has many; each is another text; those of Python can be parsed."""
    assert len({each.id for each in mutants}) == len(mutants) > 10_000
    for folder in FOLDERS:
        assert len([each for each in mutants if each.file.startswith(f"lazynet/{folder}/")]) > 200
    for each in drawn(mutants, 0)[:200]:
        text = text_of(each.file)
        assert each.applied(text) != text
        if each.file.endswith(".py"):
            ast.parse(each.applied(text))


def test_the_draw_follows_the_seed(mutants):
    """The same seed gives the same order."""
    assert drawn(mutants, 1)[:50] == drawn(mutants, 1)[:50] != drawn(mutants, 2)[:50]


def test_named_faults_apply():
    """Each occurs once in its source, and changes it."""
    found = named(text_of)
    assert len({each.id for each in found}) == len(NAMED)
    assert all(each.applied("") != text_of(each.file) for each in found)


def test_what_changes_nothing_still_exists(mutants):
    """Every mutant with a reason is one of the sources."""
    assert equivalents().keys() <= {each.id for each in [*mutants, *named(text_of)]}


def test_the_tests_to_run_exist():
    """Each test file is in one of the two lists of a source."""
    for names in CLOSE.values():
        assert all((ROOT / f"tests/{name}.py").exists() for name in names.split())
    assert all((ROOT / "tests" / name).exists() or name == "lazynet" for name in SLOW)
    close, others = files_for("lazynet/kernels/rules/adagrad.pxd")
    assert not {*close} & {*others}


def test_the_report_counts_mutants():
    """Quick misses a mutant that whole catches, one that survives, and one that changes nothing."""
    record = dict(file="lazynet/data/a.py", line=1, operator="sign", before="-x", after="x")
    tried = [("a", "quick", "t"), ("b", "quick", None), ("c", "quick", None), ("d", "quick", None),
             ("b", "whole", "t"), ("c", "whole", None), ("e", "discarded", None)]  # fmt: skip
    records = [{**record, "id": name, "tier": tier, "test": test} for name, tier, test in tried]
    lines = report(records, {"d": "nothing"})
    assert lines[0] == "3 mutants; besides these 1 do not compile and 1 change nothing"
    assert lines[3].split() == ["all", "3", "1/3", "33.3%", "2/3", "66.7%", "0"]
    assert lines[4] == "quick catches 1/2 50.0% of the mutants that whole catches"
