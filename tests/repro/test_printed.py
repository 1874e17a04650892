"""Every number, figure and claim of the five texts has a row, read from the committed results."""

import copy
import re

import pytest
from support import ROOT

from paper_repro import printed
from paper_repro.found import FINDERS, Committed
from paper_repro.index import documents_below, documents_in
from paper_repro.printed import NOT_MEASURED, found_of
from paper_repro.published import ENTRIES, PUBLISHED, TEXTS
from paper_repro.results import RESULTS


@pytest.fixture(scope="module")
def committed():
    return documents_in(RESULTS), documents_below(RESULTS)


def entry(key):
    return next(each for each in ENTRIES if each.key == key)


def test_every_printed_number_has_a_row():
    """The six seconds, the two rates, the quotients of the times."""
    numbers = {each.number for each in ENTRIES}
    for times in PUBLISHED.values():
        for value in (times.lazy, times.dense, times.sparse_predictions):
            assert value is None or value in numbers or 1 / value in numbers
        # The early text says another number than the quotient of its two rates.
        assert times.dense is None or {times.sparse_ratio, times.dense_ratio} <= numbers
    shown = " ".join(f"{each.what} {each.printed}" for each in ENTRIES)
    for text in ("1,893", "3.086", "612.2", "613.4", "2947.1528", "2947.1538", "2,000", "1,400",
                 "4 significant", "0.0102", "21.377", "14.381", "0.0120", "22.511", "16.785",
                 "0.48%", "quarter", "no significant time penalty",
                 "negative for RCV1, positive for Arcene",
                 "reasonable range of values"):  # fmt: skip
        assert text in shown


def test_every_entry_is_found_by_its_own_function_once():
    """No entry is forgotten, none stands there twice, each belongs to one of the texts."""
    keys = [each.key for each in ENTRIES]
    assert len(keys) == len(set(keys))
    assert set(FINDERS) == set(keys)
    assert {each.text for each in ENTRIES} == set(TEXTS)


def test_the_committed_page_follows_from_the_committed_results(committed):
    """If this fails: python -m paper_repro printed."""
    page = printed.page(*committed)
    assert page == (RESULTS / "printed.md").read_text("utf-8")
    assert page.count("\n| ") - len(TEXTS) == len(ENTRIES)
    assert "nan" not in re.findall(r"\w+", page)


def test_what_is_reproduced_comes_from_the_records(committed):
    """Other records give other entries: a number that is typed would pass all other tests."""
    documents, below = copy.deepcopy(committed)
    before = found_of(entry("fobos lazy"), Committed(documents, below))
    records = documents["table"]["records"]
    for key in records:
        if key.startswith("looked up/fobos/round"):
            records[key] = {name: 2 * value for name, value in records[key].items()}
    after = found_of(entry("fobos lazy"), Committed(documents, below))
    assert after.factor == pytest.approx(2 * before.factor)
    below["dexter"]["stability"]["records"]["rows"]["train"] = 600
    rows = found_of(entry("repository rows"), Committed(documents, below))
    assert rows.reproduced == "600 in their files"


def test_without_results_an_entry_says_so():
    """What no study has measured is not taken for reproduced; errata need no study."""
    nothing = Committed({}, {})
    texts = {each.key: found_of(each, nothing).reproduced for each in ENTRIES}
    unmeasured = {key for key, text in texts.items() if text == NOT_MEASURED}
    assert {"early lazy", "fobos dense", "translation", "pi0", "claim"} <= unmeasured
    assert {key for key in texts if key not in unmeasured} == {
        key for key, finder in FINDERS.items() if finder.__name__ == "<lambda>"
    }


#: The quotations of the papers, word by word as they were compared with the texts.
QUOTED = {
    "standard sparse SciPy matrices",
    "considerably less than one quarter of all features",  # Lipton & Elkan, section 7
    "cannot be directly applied to AdaGrad",  # Lipton & Elkan, footnote 3
    "the loss",  # Lipton & Elkan, section 2, of F_i
    "t'th harmonic number",  # Dekel, Algorithm 2, line 11
    "Sparse Features and L2 Regularization",  # the title of the note of 2012
}
#: Words of the errata that are no quotations.
OWN = {"then", "version 3", "not equal"}


def test_every_quotation_was_compared_with_the_texts():
    """A text in quotation marks on a page about the papers is a known quotation."""
    pages = [*(ROOT / "paper_repro").glob("**/*.md"), ROOT / "docs" / "errata.md"]
    found = set()
    for path in pages:
        text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text("utf-8"), flags=re.DOTALL)
        found |= set(re.findall(r'"([^"]*)"', text.replace("\n", " ")))
    assert found == QUOTED | OWN


def test_an_upper_bound_is_no_reproduction(committed):
    """Figure 1 of Ma & Zheng: the bound is judged, and not counted as a measurement."""
    documents, below = copy.deepcopy(committed)
    assert not entry("oscillation").repeatable
    found = found_of(entry("oscillation"), Committed(documents, below))
    assert found.factor is None
    assert found.reproduced.startswith("the bound holds")
    updates = below["dexter"]["stability"]["records"]["updates/hinge/truncated gradient"]
    updates["nonzeros"][-1] = 20_000
    found = found_of(entry("oscillation"), Committed(documents, below))
    assert found.reproduced.startswith("THE BOUND DOES NOT HOLD")


def test_the_count_of_reproduced_measurements_follows_from_the_results(committed):
    """Another ratio changes the first sentence of the page."""
    documents, below = copy.deepcopy(committed)
    before = printed.page(documents, below).split("\n")[2]
    for key, record in documents["table"]["records"].items():
        if key.startswith("dicts/fobos/round"):
            record["lazy, tables"] *= 100
    after = printed.page(documents, below).split("\n")[2]
    count = re.compile(r"Of the (\d+) measurements .*?, (\d+) are found here")
    (n, reproduced), (same_n, fewer) = (map(int, count.search(t).groups()) for t in (before, after))
    assert same_n == n
    assert fewer < reproduced
