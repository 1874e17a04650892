"""Study optimum: problems are the same for all programs, and verdicts follow from the records."""

import numpy as np
import pytest
from scipy import sparse
from support import ROOT
from support.studies import small_rows, svmlight_rows, tiny_run

from benchmarks import large, optimum, shapes
from benchmarks.minima import Task, largest_l1
from benchmarks.programs.base import ANY
from benchmarks.programs.cage import DONE, STOPPED
from benchmarks.solvers import CERTIFIED, LEVEL, OURS, PEERS, SAGA, Answer, Solver
from benchmarks.studies import RESULTS, STUDIES
from lazynet.penalties import ElasticNet
from paper_repro.documents import medline
from paper_repro.folder import sets_in
from paper_repro.results import load
from paper_repro.study import Settings


def task_of(l1, l2):
    """A problem whose strengths are shares of the least l1 at which every weight is 0."""
    rows = small_rows((-1, 1))
    unit = largest_l1(rows)
    return Task(rows, ElasticNet(l1 * unit, l2 * unit))


# --- the problems ----------------------------------------------------------------------------


def test_the_largest_l1_is_the_least_at_which_every_weight_is_zero():
    """A small step along the steepest feature gains nothing at 1.001 of it, but at 0.999."""
    rows = small_rows((-1, 1))
    unit = largest_l1(rows)
    gradient = -rows.X.T @ rows.y / 2
    j = np.abs(gradient).argmax()
    step = np.zeros(rows.X.shape[1])
    step[j] = -1e-5 * np.sign(gradient[j])
    above, below = (Task(rows, ElasticNet(unit * share)) for share in (1.001, 0.999))
    assert above.objective(step) > above.at_zero
    assert below.objective(step) < below.at_zero


@pytest.mark.parametrize("name", PEERS)
def test_every_program_solves_these_very_problems(name):
    """At a small tolerance a program finds the objective that is certified to be the least."""
    solver = PEERS[name]
    if solver.missing:
        pytest.skip(solver.missing)
    tasks = [task_of(*each) for each in [(0.1, 0.0), (0.1, 0.01), (0.02, 0.02)]]
    solved = [task for task in tasks if solver.solves(task)]
    assert solved
    for task in solved:
        answer = solver.fit(solver.form(task), task, 1000 if name == SAGA else 1e-8)
        ours = OURS.fit(task.X, task, 1e-9)
        assert 0.0 < ours.gap <= 1e-9 * task.at_zero
        least = task.objective(ours.coef)
        assert task.objective(answer.coef) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("name", [n for n, each in shapes.SHAPES.items() if not each.large])
def test_all_shapes_are_rows_of_two_classes(name, monkeypatch):
    """With fewer words than they have: to count the words of a document takes seconds."""

    def with_few_words(rows, words, nonzeros, **options):
        return medline(rows, min(words, 999), nonzeros, **options)

    monkeypatch.setattr(shapes, "medline", with_few_words)
    rows = shapes.SHAPES[name].rows(Settings(examples=100))
    assert rows.X.shape[0] == len(rows.y) <= 100
    assert set(rows.y) == {-1.0, 1.0}


def test_words_choose_rows_by_their_kind_or_name():
    dense = {n for n, each in shapes.SHAPES.items() if each.kind == shapes.DENSE}
    assert set(shapes.shapes(Settings(only="dense:; short counts"))) == dense | {"short counts"}
    assert set(shapes.shapes(Settings())) < set(shapes.shapes(Settings(full=True)))
    with pytest.raises(ValueError, match="no rows have 'nothing'"):
        shapes.shapes(Settings(only="nothing"))


def test_rows_of_the_large_problem_have_the_share_of_zeros_that_is_asked_for():
    X, y = large.generated(300)
    assert X.nnz == pytest.approx(0.001 * 300 * large.FEATURES, rel=0.02)
    assert sparse.csr_matrix((X.data, X.indices, X.indptr), X.shape).has_canonical_format
    assert np.abs(y.mean()) < 0.5
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0, atol=0.15)
    again, _ = large.generated(300)
    np.testing.assert_array_equal(X.data, again.data)


# --- runs that are stopped -------------------------------------------------------------------


def program(fit, dials=(1.0, 0.1, 0.01)):
    return Solver("made up", None, ANY, fit, dials)


@pytest.mark.parametrize("first", range(9))
def test_the_bisection_finds_the_loosest_tolerance(first):
    """The program arrives from dial ``first`` on, and is stopped beyond dial 7."""
    task = task_of(0.1, 0.01)
    best = OURS.fit(task.X, task, 1e-7).coef
    target = task.objective(0.9 * best)

    def fit(_, task, dial):
        while dial > 7:
            pass
        return Answer(best if dial >= first else 0.5 * best)

    runs = optimum.loosest(program(fit, range(10)), task, 0.1, target)
    arrived = [run["dial"] for run in runs if run.get("objective", np.inf) <= target]
    assert (first in arrived) == bool(arrived) == (first <= 7)
    assert first <= 7 or STOPPED in [run["outcome"] for run in runs]


def test_an_objective_below_a_certificate_is_refused():
    task = task_of(0.1, 0.0)
    exact = optimum.timed(OURS, task, 1e-6)
    zero = optimum.timed(program(lambda *_: Answer(np.zeros(task.X.shape[1]))), task, 1.0)
    optimum.check_certificates(task, [exact, zero])
    assert "another minimum" in optimum.why({**zero, "outcome": DONE}, exact["objective"], task)
    with pytest.raises(ArithmeticError, match="is possible"):
        optimum.check_certificates(task, [exact, {**zero, "gap": 1e-9}])


def test_programs_that_do_not_arrive_are_told(monkeypatch):
    """One returns another minimum, one fails, and one is stopped."""

    def fails(*_):
        raise ValueError("only small rows are taken")

    def hangs(*_):
        while True:
            pass

    task = task_of(0.1, 0.0)
    zero = np.zeros(task.X.shape[1])
    made = {"zero": lambda *_: Answer(zero), "fails": fails, "hangs": hangs}
    monkeypatch.setattr(optimum, "PEERS", {name: program(fit) for name, fit in made.items()})
    monkeypatch.setattr(optimum, "warm_up", lambda: None)
    record = optimum.compare(task, Settings(repeats=1))
    assert list(record["seconds"]) == [OURS.name, CERTIFIED.name]
    assert record["failed"]["zero"].startswith("another minimum")
    assert record["failed"]["fails"] == "ValueError: only small rows are taken"
    assert list(record["waited"]) == ["hangs"]
    assert 0 <= record["gap"] <= LEVEL
    nonzeros, different = record["supports"][CERTIFIED.name]
    assert abs(nonzeros - record["nonzeros"]) <= different


# --- verdicts from records -------------------------------------------------------------------


def test_the_page_on_speed_has_the_finding_of_the_committed_records():
    """If this fails: paste the finding from the top of benchmarks/results/optimum.md."""
    text = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert optimum.finding(optimum.Times(load("optimum", RESULTS))) in text


# --- a folder of files -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["a.test.svm"], "a.test.svm needs a file a.train beside it"),
        (["a.one.svm", "a.two.svm"], "names of their own before the first dot"),
        ([], "must hold files that end in"),
    ],
)
def test_folders_that_cannot_be_understood_are_refused(tmp_path, names, complaint):
    for name in names:
        svmlight_rows(tmp_path / name)
    with pytest.raises(ValueError, match=complaint):
        sets_in(tmp_path)


# --- a whole run -----------------------------------------------------------------------------


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(optimum, "SHARES", (0.1,))
    name = "one-hot categories"
    monkeypatch.setattr(shapes, "SHAPES", {name: shapes.SHAPES[name]})
    folder = tmp_path / "files"
    folder.mkdir()
    svmlight_rows(folder / "own.svm")
    settings = Settings(examples=300, repeats=1, folder=str(folder))
    document, page = tiny_run(STUDIES["optimum"], settings, tmp_path)
    assert str(tmp_path) not in page
    assert document["settings"]["folder"] == "files"
    times = optimum.Times(document)
    assert times.kinds == [shapes.TABLES, shapes.FILES]
    for record in times.problems.values():
        assert {OURS.name, CERTIFIED.name} <= record["seconds"].keys()
        assert record["dials"][CERTIFIED.name] == LEVEL
