"""The README is short, and its code prints what it shows."""

import re

import pytest
from support import ROOT, numbers_in, without_numbers

import lazynet

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
#: The lines that the example prints.
SHOWN = re.search(r"```\n\n```\n(.*?)```", TEXT, re.DOTALL)[1].splitlines()


@pytest.mark.slow
def test_the_first_example_prints_what_is_shown(capsys):
    """The two blocks of Python.  Their dataset depends on the versions of the two libraries."""
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    assert len([line for line in blocks[1].splitlines() if line]) <= 9
    namespace = {}
    for code in blocks:
        exec(code, namespace)
    printed = capsys.readouterr().out.splitlines()
    for found, stored, tolerance in zip(printed[:2], SHOWN[:2], (0.02, 4), strict=True):
        assert without_numbers(found) == without_numbers(stored)
        assert numbers_in(found) == pytest.approx(numbers_in(stored), abs=tolerance)
    assert re.fullmatch(r"\d+ words, accuracy 0\.\d+:( \w+){5}", printed[2])
    assert numbers_in(printed[2])[0] == pytest.approx(numbers_in(SHOWN[2])[0], rel=0.1)
    assert numbers_in(printed[2])[1] == pytest.approx(numbers_in(SHOWN[2])[1], abs=0.02)


@pytest.mark.slow
def test_the_comparison_of_programs(capsys):
    """``docs/text_classification.md`` compares programs on the rows of the example of README."""
    page = (ROOT / "docs" / "text_classification.md").read_text(encoding="utf-8")
    ((code, shown),) = re.findall(r"```py\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
    namespace = {}
    exec(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], namespace)
    exec(code, namespace)
    seconds, accuracies = {}, {}
    for line, stored in zip(capsys.readouterr().out.splitlines(), shown.splitlines(), strict=True):
        name, _, figures = line.partition(": ")
        seconds[name], accuracies[name] = numbers_in(figures)
        assert accuracies[name] == pytest.approx(numbers_in(stored)[-1], abs=0.02)
    assert max(accuracies, key=accuracies.get) == "LazyNetClassifier"
    # Which of the two online programs is faster depends on the cache of the machine.
    assert seconds["LazyNetClassifier"] < 1.5 * min(seconds.values())


def test_the_first_page_has_the_example():
    """``docs/index.md`` has the same code and the same output."""
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for block in re.findall(r"```.*?```", TEXT, re.DOTALL)[:3]:
        assert block in page


def test_the_accuracies_in_the_first_steps_are_those_of_the_example():
    """``docs/start.md`` compares one pass of ``partial_fit`` with a fit, as README prints them."""
    fit, one_pass = re.findall(r"\d\.\d+", SHOWN[0])
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
