"""The report of ``make article``: every number comes from the results, and its words fit them."""

import copy
import re

import pytest
from support import ROOT

from paper_repro.article.article import HERE, build, check_words, metadata
from paper_repro.article.values import values
from paper_repro.index import documents_in
from paper_repro.results import RESULTS

TEMPLATE = (HERE / "article.typ").read_text(encoding="utf-8")
TEXT = TEMPLATE.partition("// --- text ---")[2]
#: What may have digits: formulas, values, parts of the paper, lengths, a command.
NO_NUMBERS = (
    r"\$[^$]*\$",
    r"#?\bv(\.[\w-]+)+",
    r"@[\w-]+",
    r"(Theorem|Eq\.|Algorithm|Section|[Vv]ersion) [\d.]*\d",
    r"[\d.]+(pt|fr|em|%)|,\) \* \d|luma\(\d+\)",
    r"make repro FULL=1",
)


@pytest.fixture(scope="module")
def documents():
    return documents_in(RESULTS)


@pytest.fixture(scope="module")
def found(documents):
    return values(documents)


def test_every_value_of_the_template_is_there_and_every_value_is_used(found):
    used = set(re.findall(r"\bv\.(\w+)\.([\w-]+)", TEXT))
    used |= set(re.findall(r"\{(\w+)\.(\w+)\}", (HERE / "metadata.yaml").read_text("utf-8")))
    tables = {name for name, section in found.items() if isinstance(section, list)}
    given = {(name, each) for name in found.keys() - tables for each in found[name]}
    assert {pair for pair in used if pair[0] not in tables} <= given
    unused = {pair for pair in given - used if pair[0] != "printed"}
    # The template has this counterexample as a formula.
    assert unused <= {("errata", "test_E14")}
    assert tables <= {name for name, _ in used}


def test_no_number_is_typed():
    text = TEXT
    for pattern in NO_NUMBERS:
        text = re.sub(pattern, "", text)
    assert [line for line in text.splitlines() if re.search(r"\d", line)] == []


def test_the_ratios_are_those_of_the_page_of_the_study(found):
    page = (RESULTS / "table.md").read_text("utf-8")
    for row in found["ratios"]:
        assert row["printed"] in page
        assert row["first"]["found"] in page
        assert row["second"]["found"] in page
    assert found["ratios"][-1]["first"]["found"] == found["table"]["early_range"]


def test_the_counterexamples_are_those_of_the_errata(found):
    """The values computed from ``lazynet.reference`` are those that the page has."""
    page = (ROOT / "docs" / "errata.md").read_text("utf-8")
    computed = {name: text for name, text in found["errata"].items() if name.startswith("printed")}
    assert len(computed) == 5
    for name, text in computed.items():
        assert f"**Counterexample.** {text} (`{name}`)" in page
    assert found["errata"]["theorem_1"].endswith("true 0, corrected 35, printed 26")


def test_the_words_fit_the_results_and_other_results_are_refused(documents):
    check_words(documents)
    other = {**documents, "scaling": copy.deepcopy(documents["scaling"])}
    for name, record in other["scaling"]["records"].items():
        if name.startswith("steps/"):
            record["bytes"]["lazy, clock"]["steps"] = 8
    with pytest.raises(ValueError, match="the clock holds none"):
        check_words(other)


def test_the_metadata_have_the_fields_of_rescience(found):
    text = metadata(found)
    assert 'title: "[Re] Efficient Elastic Net Regularization for Sparse Linear Models"' in text
    fields = re.findall(r"^(\w+):", text, re.MULTILINE)
    assert fields == [
        *("title", "authors", "affiliations", "keywords", "code", "data", "replication"),
        *("abstract", "bibliography", "type", "domain", "language", "review", "contributors"),
        *("dates", "article", "journal"),
    ]
    assert not re.search(r"[{}]", text)
    abstract = re.search(r'^abstract: "([^"]+)"$', text, re.MULTILINE)[1]
    assert f"is reproduced: we find {found['table']['early']}." in abstract
    assert re.search(r"authors:\n  - name:\n", text), "left to be filled in"


def test_the_report_has_six_to_eight_pages(found, tmp_path):
    reason = "typst is not installed: make article builds the report"
    pytest.importorskip("typst", reason=reason)
    assert 6 <= build(found, tmp_path) <= 8
    assert (tmp_path / "article.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "metadata.yaml").read_text("utf-8") == metadata(found)
