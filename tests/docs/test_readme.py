"""The README is short, its code prints what it shows, and its links lead somewhere."""

import re

import pytest
from support import ROOT

import lazynet

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_first_example_prints_what_is_shown(capsys):
    """The only block of Python; its numbers agree, up to what another machine may change."""
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", TEXT, re.DOTALL)
    assert TEXT.count("```python") == 1
    exec(code, {})
    printed = capsys.readouterr().out
    without_numbers = [re.sub(r"\d[\d.,]*", "#", text) for text in (printed, shown)]
    assert without_numbers[0] == without_numbers[1]
    assert numbers_in(printed) == pytest.approx(numbers_in(shown), rel=1e-2)


def numbers_in(text):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d.,]*", text)]


def test_it_is_read_in_minutes():
    """What takes longer to tell has a page in docs/."""
    assert len(TEXT.split()) < 900


def test_every_name_is_there():
    """The classes and functions of the table of estimators are exported."""
    (table,) = re.findall(r"\| you want \| take \|\n(.*?)\n\n", TEXT, re.DOTALL)
    names = set(re.findall(r"`(\w+)`", table)) - {"partial_fit"}
    assert len(names) >= 10
    assert names <= set(lazynet.__all__)


def test_links_lead_somewhere():
    """Every link in README, CONTRIBUTING and CHANGELOG leads to a file."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (README.parent / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (README.parent / target).exists(), f"{name}: {target}"


def test_the_citation_is_of_this_version():
    citation = (README.parent / "CITATION.cff").read_text()
    assert f"\nversion: {lazynet.__version__}\n" in citation
