"""The reruns of the papers' tables measure fairly, compare all weights, and resume."""

import re
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from support import ROOT

from benchmarks import readme
from benchmarks import studies as benchmarks
from paper_repro.__main__ import main
from paper_repro.command import guarded
from paper_repro.competitors import DESCRIPTIONS, PLAINEST, READINGS, TIERS, looked_up
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES, Problem
from paper_repro.index import REPORTS, documents_below, documents_in, index_of, papers_table
from paper_repro.measure import Turn, in_turns
from paper_repro.results import RESULTS, load, whole_page
from paper_repro.score import Spread, UnequalWeights, coverage, equality, ratios
from paper_repro.studies import table, table_lookup
from paper_repro.studies.table import TierTimes, all_groups
from paper_repro.studies.table_page import headline
from paper_repro.studies.table_verdicts import printed_ratio, reproduction

# --- measuring -------------------------------------------------------------------------------


def test_competitors_take_turns():
    """Every repeat has each competitor once, and the first round does not count."""
    calls = []
    competitors = {"a": lambda: calls.append("a") or 3.0, "b": lambda: calls.append("b") or 1.0}
    seconds = in_turns(competitors, repeats=2)
    assert calls == ["a", "b", "b", "a", "a", "b"]
    assert seconds == {"a": [3.0, 3.0], "b": [1.0, 1.0]}
    assert ratios(seconds["a"], seconds["b"]) == Spread(3.0, 3.0, 3.0)


def test_the_range_covers_the_median_as_often_as_is_said():
    """Count over many samples of a skewed distribution."""
    samples = np.random.default_rng(0).exponential(size=(20_000, 5))
    covered = (samples.min(axis=1) <= np.log(2)) & (np.log(2) <= samples.max(axis=1))
    assert covered.mean() == pytest.approx(coverage(5), abs=0.005)


class Ticking:
    """A learner of a hundred rows that takes ``each`` seconds per row, on a clock of its own."""

    n_rows = 100

    def __init__(self, each, monkeypatch):
        self.each, self.now, self.began, self.visited = each, 0.0, 0, []
        monkeypatch.setattr("paper_repro.measure.time.process_time", lambda: self.now)

    def begin(self):
        self.began += 1

    def learn(self, start, stop):
        assert 0 <= start < stop <= 100
        self.visited += range(start, stop)
        self.now += (stop - start) * self.each


@pytest.mark.parametrize(
    ("each", "examples"), [(5.0, 1), (0.01, 30), (0.002, 150), (1e-4, 3000), (1e-5, 30_000)]
)
def test_a_turn_has_as_many_examples_as_it_should_last(each, examples, monkeypatch):
    """Slow and fast learners get equally long turns; a fast one visits its rows repeatedly."""
    learner = Ticking(each, monkeypatch)
    turn = Turn(learner, 0.3)
    assert turn() == pytest.approx(each)
    assert turn.examples == pytest.approx(examples, rel=0.01)
    visited = len(learner.visited)
    assert turn() == pytest.approx(each)
    assert len(learner.visited) == visited + turn.examples
    assert learner.visited == [i % 100 for i in range(len(learner.visited))]
    assert learner.began == 1


def test_equality_is_about_all_weights():
    """The comparison gives the greatest difference, and how many weights differ in four figures."""
    expected = np.array([2.0, -1e-12, 0.0, 1.0])
    same = equality(expected.copy(), expected, "these")
    assert (same["relative"], same["four_figures"], same["nonzero"]) == (0.0, 0, 3)
    other = equality(expected + np.array([1e-11, 1e-15, 0.0, 0.0]), expected, "those")
    assert other["absolute"] == pytest.approx(1e-11)
    assert other["relative"] == pytest.approx(5e-12)
    assert other["four_figures"] == 1


@pytest.mark.parametrize("wrong", [1.0 + 1e-9, np.nan, np.inf])
def test_weights_that_differ_end_the_run(wrong):
    """Times of learners that compute different things are not printed."""
    with pytest.raises(UnequalWeights, match="dicts: weights differ by"):
        equality(np.array([wrong, 1.0]), np.ones(2), "dicts")


# --- the study -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Small runs of the studies table and corpus on the rows of a file."""
    out = tmp_path_factory.mktemp("results")
    lines = [f"{i % 3} {1 + i % 7}:1 {10 + i % 91}:2.5" for i in range(120)]
    (out / "own.svm").write_text("\n".join(lines))
    options = ["--data", str(out / "own.svm"), "--label", "2", "--repeats=2", "--seconds=0.002"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "UNCACHED", 2**20)
        assert main(["corpus", "table", "--out", str(out), *options]) == 0
    return out


def test_rows_of_another_shape_get_no_verdict_and_their_name(finished):
    """``printed.md`` and ``table.md`` of rows from a file say the same."""
    pages = {name: (finished / f"{name}.md").read_text() for name in ("printed", "table", "README")}
    of_paper = pages["printed"].split("## The note")[0]
    assert "generated" not in of_paper
    assert "not reproduced: the rows are those of own.svm" in of_paper
    assert "| 120 in own.svm |" in of_paper
    assert "reproduced |" not in of_paper
    assert of_paper.count("not compared, because these rows have another shape") == 2 + 6 + 5
    assert "have no measurement of the papers that can be compared" in of_paper
    assert "are not compared with the ratios found here" in pages["table"]
    assert "are not compared with the ratios found here" in pages["README"]


def test_the_table_has_every_tier_and_the_papers_figures(finished):
    """The page has the printed ratios, the measured ones and the machine."""
    page, document = (finished / "table.md").read_text(), load("table", finished)
    figures = ["over 2000", "over 1400", "612", "2,947", "l1 = 1e-06"]
    for each in (*DESCRIPTIONS.values(), PLAINEST, *figures, document["machine"]["processor"]):
        assert each in page
    assert not {"nan", "inf"} & set(re.findall(r"\w+", page))
    for tier, competitors in {**TIERS, PLAINEST: READINGS[PLAINEST]}.items():
        for name in competitors:
            assert re.search(rf"\| {tier} \| FoBoS \| {name} \| [\d,]+ \|", page)


def test_lazy_and_dense_weights_are_equal_in_every_tier(finished):
    """The run that is timed compares the weights, for both rules; the committed one did."""
    for out in (finished, RESULTS):
        measured = TierTimes(load("table", out))
        groups = list(all_groups())
        assert len(groups) == 2 * (len(TIERS) + len(READINGS))
        for tier, rule in groups:
            features = measured.corpus["features"]
            if tier in READINGS:
                features = measured.shares[table_lookup.LARGER]
                assert features <= measured.corpus["features"]
            record = measured.equal(tier, rule)
            assert set(record["against dense"]) == set({**TIERS, **READINGS}[tier]) - {DENSE}
            for compared in (*record["against dense"].values(), record["against compiled"]):
                assert compared["weights"] == features > 0
                assert compared["relative"] <= 1e-10
                assert compared["four_figures"] == 0


# --- elements that are looked up -------------------------------------------------------------


class Forgetful(looked_up.SparsePredictions):
    """Does not shrink the last feature."""

    def begin(self):
        super().begin()
        self.features = self.features[:-1]


@pytest.fixture
def start():
    """A problem whose last features no row has; one of them is in the share."""
    generator = np.random.default_rng(1)
    X = sparse.random(30, 900, 0.01, "lil", random_state=generator)
    X[:, 880:] = 0.0
    y = np.where(generator.random(30) < 0.5, 1.0, -1.0)
    return Problem(X.tocsr(), y, "fobos", generator.standard_normal(900), l1=1e-3, l2=1e-3)


def test_every_reading_is_compared_on_the_share(start):
    """All weights of the share are compared; the share has all nonzeros of the visited rows."""
    found = dict(table_lookup.same_weights(start, "fobos"))
    assert set(found) == set(READINGS)
    share = table_lookup.share(start.X, table_lookup.LARGER)
    assert set(start.X[: table_lookup.DENSE_ROWS].indices) | {0, 40, 880} <= set(share)
    assert len(share) < 200
    for record in found.values():
        assert record["rows"] == table_lookup.DENSE_ROWS
        assert record["against compiled"]["weights"] == len(share)
        assert record["against dense"].keys() == {TABLES, CLOCK, SPARSE_PREDICTIONS}


def test_a_reading_with_other_weights_ends_the_run(start, monkeypatch):
    """A learner that forgets to shrink one feature of the share is found out."""
    last, tier = table_lookup.share(start.X, table_lookup.LARGER)[-1], PLAINEST
    assert last not in start.X[: table_lookup.DENSE_ROWS].indices
    wrong = partial(Forgetful, reading=looked_up.READINGS[tier])
    monkeypatch.setitem(READINGS[tier], SPARSE_PREDICTIONS, wrong)
    with pytest.raises(UnequalWeights, match=f"{tier}, fobos: {SPARSE_PREDICTIONS} and dense"):
        dict(table_lookup.same_weights(start, "fobos"))


def with_ratio(document, tier, rule, slow, factor):
    """The document in which a ratio of a tier is the printed one times a factor."""
    ratio = factor * printed_ratio(tier if tier == "dicts" else "scipy", rule, slow)
    scale = ratio / TierTimes(document).ratio(tier, rule, slow, TABLES).median
    group, name = (table_lookup.LOOKED_UP, f"{tier}: {slow}") if tier in READINGS else (tier, slow)
    for key, record in document["records"].items():
        if key.startswith(f"{group}/{rule}/round"):
            record[name] *= scale


def with_ratios(document, tier, factor):
    for rule, slow in product(("sgd", "fobos"), (DENSE, SPARSE_PREDICTIONS)):
        with_ratio(document, tier, rule, slow, factor)


@pytest.mark.parametrize(
    ("looked_up_factor", "spread_factor", "counts", "words"),
    [
        (1.1, 0.5, (4, 0, 4), "A loop that looks up every element reproduces all 4; a loop that "
         "first spreads out each row reproduces none.** All 4 printed ratios lie between"),
        (1.4, 0.7, (4, 4, 4), "reproduces all 4; a loop that first spreads out each row reproduces "
         "all 4."),
        (1.6, 0.5, (0, 0, 4), "reproduces none; a loop that first spreads out each row reproduces "
         "none."),
        (1.4, 1.2, (4, 4, 0), "0 of the 4 printed ratios lie between the ratios of the two loops; "
         "the others are outside by a factor of 1.20 at most"),
        (0.625, 0.5, (0, 0, 0), "by a factor of 1.60 at most"),
    ],
)  # fmt: skip
def test_the_verdict_on_both_loops_follows_from_their_ratios(
    looked_up_factor, spread_factor, counts, words
):
    """Counted are ratios within a factor of 1.5, and ratios between the two loops."""
    document = load("table")
    with_ratios(document, PLAINEST, looked_up_factor)
    with_ratios(document, "scipy", spread_factor)
    found = reproduction(document)
    assert (found.looked_up, found.spread_out, found.between) == counts
    assert found.of == 4
    assert words in headline(document)
    assert words in REPORTS["table"].page(document)


@pytest.mark.parametrize(("factor", "words"), [(1.4, "is reproduced"), (1.6, "is not reproduced")])
def test_the_verdict_on_the_early_text_follows_from_its_ratio(factor, words):
    """A ratio counts as reproduced within a factor of 1.5 of the printed one."""
    document = load("table")
    with_ratio(document, "dicts", "fobos", SPARSE_PREDICTIONS, factor)
    assert f"The ratio of the early text {words}." in headline(document)


def test_a_ratio_that_one_reading_reproduces_is_told():
    """The page names the reading, and the count of all readings rises."""
    document = load("table")
    for tier in ("scipy", *READINGS):
        with_ratios(document, tier, 5.0)
    assert reproduction(document).by_some == 0
    page = REPORTS["table"].page(document)
    assert page.count(": none\n") == 4
    assert "and 0 of the 6 readings reproduce all 4" in page
    *_, last = READINGS
    with_ratios(document, last, 1.3)
    assert reproduction(document).by_some == 4
    assert reproduction(document).by_itself == [last]
    assert f"printed 1,876: {last} (2,440)" in REPORTS["table"].page(document)


def test_times_on_a_share_are_extrapolated_in_proportion():
    """Half as many visited features give twice the time of all features, and lazy times stay."""
    document = load("table")
    before = TierTimes(document).ratio(PLAINEST, "sgd", DENSE, TABLES).median
    lazy = TierTimes(document).median(PLAINEST, "sgd", TABLES)
    shares = document["records"][f"{table_lookup.LOOKED_UP}/shares"]
    visited = shares[table_lookup.LARGER]
    seconds = document["records"][f"{table_lookup.LOOKED_UP}/sgd/round 1"][f"{PLAINEST}: {DENSE}"]
    whole = TierTimes(document).seconds(PLAINEST, "sgd", DENSE)[0]
    assert whole == pytest.approx(seconds / visited * 260_941)
    shares[table_lookup.LARGER] = visited / 2
    measured = TierTimes(document)
    after = measured.ratio(PLAINEST, "sgd", DENSE, TABLES).median
    assert after == pytest.approx(2 * before)
    assert measured.median(PLAINEST, "sgd", TABLES) == lazy


def test_a_checkout_that_is_not_built_names_the_command_to_run(capsys):
    """One line in place of a traceback, with a target of the Makefile."""

    def not_built():
        raise ModuleNotFoundError("No module named 'lazynet.kernels.examples'")

    assert guarded("python -m paper_repro", not_built) == 1
    told = capsys.readouterr().err
    assert "Run make .venv/.repro, then .venv/bin/python -m paper_repro" in told
    assert " $(VENV)/.repro " in (ROOT / "Makefile").read_text(encoding="utf-8")


#: Commands with a mistake, and what is said of each.
MISTAKES = {
    "tabel": "there is no study 'tabel'; there are table, corpus",
    "table --data nowhere.svm": "nowhere.svm",
    "corpus --nonzeros 1e9": "nonzeros must lie between",
    "table --repeats 0": "repeats must be at least 1, got 0",
    "table --examples -3": "examples must be at least 1",
    "table --features 0": "features must be at least 1",
    "table --seconds nan": "seconds must be positive",
    "table --seed -1": "seed must not be negative",
    "corpus --label 3": "give data too",
    "medline nowhere.xml": "nowhere.xml: No such file",
    "medline some.xml --save x.txt": "must end in .svm",
    "medline some.xml --min-df 0": "--min-df must be at least 1, got 0",
    "medline some.xml --top-labels -1": "--top-labels must be at least 1",
    "medline some.xml --abstracts 0": "--abstracts must be at least 1, got 0",
    "medline some.xml --words 0": "--words must be at least 1, got 0",
}


def test_mistakes_are_told_in_a_line(tmp_path, monkeypatch, capsys):
    """The line says what is wrong; there is no traceback, and nothing is measured or written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.xml").write_text("<PubmedArticleSet/>")
    for command, complaint in MISTAKES.items():
        code = 2 if command == "tabel" else 1
        assert main([*command.split(), "--out", str(tmp_path)]) == code, command
        out, err = capsys.readouterr()
        assert complaint in err, command
        assert "Traceback" not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["some.xml"]


# --- the README ------------------------------------------------------------------------------


def test_only_what_stands_between_the_marks_is_replaced():
    """A README without marks is an error."""
    text = "before\n<!-- new: written by python -m benchmarks readme -->\nold\n<!-- end new -->\n"
    assert readme.with_blocks(text, {"new": "text"}) == text.replace("old", "text")
    with pytest.raises(ValueError, match="must hold the marks"):
        readme.with_blocks("nothing", {"new": "text"})


def test_the_readme_has_the_committed_results():
    """If this fails: python -m benchmarks readme."""
    text = readme.README.read_text(encoding="utf-8")
    documents = readme.loaded()
    blocks = readme.blocks(documents)
    assert readme.with_blocks(text, blocks) == text
    for page in readme.PAGES:
        text = page.read_text(encoding="utf-8")
        assert readme.with_blocks(text, {"headline": blocks["headline"]}) == text
    # How a point is drawn may differ between versions of matplotlib.
    figures = readme.figure(documents), readme.FIGURE.read_text(encoding="utf-8")
    words = [re.findall(r"<text[^>]*>([^<]*)<", svg) for svg in figures]
    assert len(words[0]) > 20
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("folder", "reports", "others"),
    [
        (RESULTS, REPORTS, {"dexter", "dorothea", "rcv1"}),
        (benchmarks.RESULTS, benchmarks.STUDIES, set()),
    ],
)
def test_committed_pages_follow_from_their_numbers(folder, reports, others):
    """The records give the pages and the index, and no page or record has a path of a file."""
    documents, below = documents_in(folder, reports), documents_below(folder, reports)
    assert set(documents) == set(reports)
    assert set(below) == others
    for where, found in {"": documents, **below}.items():
        for name, document in found.items():
            page = (folder / where / f"{name}.md").read_text("utf-8")
            assert whole_page(reports[name], document) == page
            assert "/" not in (document["settings"].get("data") or "")
    between = papers_table(documents) if folder == RESULTS else ""
    index = (folder / "README.md").read_text("utf-8")
    assert index_of(reports, documents, below, between) == index
