"""The README is short, and its code prints what it shows."""

import re

import pytest
from support import ROOT, numbers_in

import lazynet

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_first_example_prints_what_is_shown(capsys):
    """The only block of Python.  Its dataset depends on the versions of the two libraries."""
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.DOTALL)
    assert TEXT.count("```python") == 1
    assert len([line for line in code.splitlines() if line]) < 35
    exec(code, {})
    printed, expected = capsys.readouterr().out.splitlines(), shown.splitlines()
    *lines, words, one_pass = printed
    seconds, accuracies = {}, {}
    for line in lines:
        name, _, figures = line.partition(": ")
        seconds[name], accuracies[name] = numbers_in(figures)
    assert min(seconds, key=seconds.get) == "LazyNetClassifier"
    assert max(accuracies, key=accuracies.get) == "LazyNetClassifier"
    for found, stored in zip([*lines, one_pass], [*expected[:-2], expected[-1]], strict=True):
        assert numbers_in(found)[-1] == pytest.approx(numbers_in(stored)[-1], abs=0.02)
    assert re.fullmatch(r"(\w+ -\d+\.\d, ){3}(\w+ \d+\.\d(, )?){3}", words)


def test_the_accuracies_in_the_first_steps_are_those_of_the_example():
    """``docs/start.md`` compares one pass of ``partial_fit`` with a fit, as README prints them."""
    (one_pass,) = re.findall(r"^partial_fit, one pass: accuracy (.*)$", TEXT, re.MULTILINE)
    (fit,) = re.findall(r"^LazyNetClassifier: .*, accuracy (.*)$", TEXT, re.MULTILINE)
    start = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"{one_pass} after one pass of `partial_fit`, and {fit} after `fit`" in start


def test_it_is_read_in_minutes():
    """At most 800 words beside code and numbers; the rest has a page in docs/."""
    prose = re.sub(r"```.*?```|<!--.*?-->", "", TEXT, flags=re.DOTALL)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    assert len(re.findall(r"[A-Za-z][\w'`./-]*", prose)) <= 800


def test_every_name_is_there():
    """The classes and functions of the table of estimators are exported."""
    (table,) = re.findall(r"\| you want \| use \|\n(.*?)\n\n", TEXT, re.DOTALL)
    names = set(re.findall(r"`(\w+)`", table)) - {"partial_fit"}
    assert len(names) >= 10
    assert names <= set(lazynet.__all__)


def test_the_citation_is_of_this_version():
    citation = (README.parent / "CITATION.cff").read_text()
    assert f"\nversion: {lazynet.__version__}\n" in citation
