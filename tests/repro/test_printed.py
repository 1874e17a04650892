"""Every number, figure and claim of the five texts has a row, read from the committed results."""

import copy
import re

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("paper_repro.results", reason="only in a checkout")
from paper_repro import printed, published
from paper_repro.index import documents_below, documents_in
from paper_repro.printed import FINDERS, NOT_MEASURED, Committed, found_of
from paper_repro.published import ENTRIES, PUBLISHED, TEXTS
from paper_repro.results import RESULTS


@pytest.fixture(scope="module")
def committed():
    return documents_in(RESULTS), documents_below(RESULTS)


def entry(key):
    return next(each for each in ENTRIES if each.key == key)


def test_every_printed_number_has_a_row():
    """The six seconds, the two rates, their quotients, and every constant of the module."""
    numbers = {each.number for each in ENTRIES}
    for times in PUBLISHED.values():
        for value in (times.lazy, times.dense, times.sparse_predictions):
            assert value is None or value in numbers or 1 / value in numbers
        assert times.sparse_ratio in numbers
        assert times.dense_ratio is None or times.dense_ratio in numbers
    constants = {
        name: value
        for name, value in vars(published).items()
        if name.isupper() and isinstance(value, int | float) and name != "UPDATES"
    }
    assert {"FEATURES", "STATED_RATIO", "QUARTER", "OSCILLATION"} <= set(constants)
    assert {name for name, value in constants.items() if value not in numbers} == set()
    assert any(f"last {published.UPDATES:,} updates" in each.what for each in ENTRIES)
    shown = " ".join(each.printed for each in ENTRIES)
    for text in ("1,893", "3.086", "612.2", "2,947", "2,000", "1,400", "4 significant", "0.0102",
                 "21.377", "14.381", "0.0120", "22.511", "16.785", "0.48%", "quarter"):  # fmt: skip
        assert text in shown


def test_every_entry_is_found_by_its_own_function_once():
    """No entry is forgotten, none stands there twice, each belongs to one of the five texts."""
    keys = [each.key for each in ENTRIES]
    assert len(keys) == len(set(keys))
    assert set(FINDERS) == set(keys)
    assert {each.text for each in ENTRIES} == set(TEXTS)


def test_the_committed_page_follows_from_the_committed_results(committed):
    """If this fails: python -m paper_repro printed."""
    page = printed.page(*committed)
    assert page == (RESULTS / "printed.md").read_text("utf-8")
    assert page.count("\n| ") - 2 * len(TEXTS) + len(TEXTS) == len(ENTRIES)
    assert "nan" not in re.findall(r"\w+", page)


def test_what_is_reproduced_comes_from_the_records(committed):
    """Other records give other entries."""
    documents, below = copy.deepcopy(committed)
    before = found_of(entry("fobos lazy"), Committed(documents, below))
    records = documents["table"]["records"]
    for key in records:
        if key.startswith("scipy/fobos/round"):
            records[key] = {name: 2 * value for name, value in records[key].items()}
    after = found_of(entry("fobos lazy"), Committed(documents, below))
    assert after.factor == pytest.approx(2 * before.factor)
    below["dexter"]["stability"]["records"]["rows"]["train"] = 600
    assert found_of(entry("Dexter rows"), Committed(documents, below)).factor == 2.0


def test_without_results_an_entry_says_so():
    """What no study has measured is not taken for reproduced; errata need no study."""
    nothing = Committed({}, {})
    told = {each.key: found_of(each, nothing).reproduced for each in ENTRIES}
    unmeasured = {key for key, text in told.items() if text == NOT_MEASURED}
    assert {"early lazy", "fobos dense", "translation", "pi0", "claim"} <= unmeasured
    assert {key for key in told if key not in unmeasured} == {
        key for key, finder in FINDERS.items() if finder.__name__ == "<lambda>"
    }
