"""Every benchmark runs at a tiny size; its judges, its cage and its comparisons are right."""

import os
import re
import sys
import time
from unittest import mock

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from support import ROOT
from support.studies import small_rows, tiny_run

from benchmarks import compare, defaults, large, problems, programs
from benchmarks.minima import Task
from benchmarks.programs import cage, untuned, wabbit
from benchmarks.programs.base import How
from benchmarks.studies import STUDIES
from lazynet.penalties import ElasticNet
from paper_repro.rows import Rows
from paper_repro.study import Settings

TINY = Settings(
    examples=160, features=200, nonzeros=8, repeats=1, seconds=0.01, only="short counts; digits"
)
#: The rate of the steps in the tests.
RATE = 0.25
#: The programs of the tests here; what compiles itself takes too long.
FEW = ("lazynet FoBoS", "lazynet AdaGrad", "scikit-learn SGD")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


# --- every study -----------------------------------------------------------------------------


@forks
@mock.patch.dict(programs.ALL, {name: programs.ALL[name] for name in FEW}, clear=True)
@pytest.mark.parametrize("name", [each for each in STUDIES if each != "optimum"])
def test_a_tiny_run_gives_numbers_a_page_and_a_figure(name, tmp_path, monkeypatch):
    """No number is missing, and the page follows from what was written."""
    if name in ("embeddings", "long_tail"):
        skip = "torch is not installed: make test-torch runs these tests"
        pytest.importorskip("torch", reason=skip)
    chosen = {each: problems._GENERATED[each] for each in ("half dense", "diabetes")}
    monkeypatch.setattr(problems, "_GENERATED", chosen)
    tiny_run(STUDIES[name], TINY, tmp_path)


def test_the_papers_import_nothing_of_the_benchmarks():
    for path in sorted((ROOT / "paper_repro").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) benchmarks", text, re.MULTILINE), path


# --- problems --------------------------------------------------------------------------------


def test_the_targets_of_a_file_decide_its_problems(tmp_path):
    for name, target in {
        "two": lambda k: (-1, 1)[k % 2],
        "four": lambda k: k % 4,
        "labels": lambda k: ("1", "1,2", "3")[k % 3],
        "length": lambda k: k + 0.5,
    }.items():
        lines = (f"{target(k)} 1:{1 + k % 5} {2 + k % 3}:0.5\n" for k in range(60))
        (tmp_path / f"{name}.svm").write_text("".join(lines))
    found = problems.problems(Settings(folder=str(tmp_path)))
    generated = problems.problems(Settings())
    kinds = {name: problem.kind for name, problem in found.items() if name not in generated}
    assert kinds == {
        "two": problems.TWO,
        "four": problems.TWO,
        "four (4 classes)": problems.SEVERAL,
        "labels": problems.TWO,
        "length": problems.NUMBERS,
    }
    assert set(found["four (4 classes)"].rows().y) == {0.0, 1.0, 2.0, 3.0}
    rows = found["length"].rows()
    np.testing.assert_array_equal(np.sort(np.r_[rows.y, rows.y_test]), np.arange(60) + 0.5)


def test_forms_know_the_training_rows_alone():
    """Another test row changes no training row in any form."""
    X, y = sparse.csr_matrix([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [4.0, 0.0, 0.0]]), np.ones(3)
    tests = [sparse.csr_matrix([row]) for row in ([9.0, 9.0, 9.0], [0.0, 1.0, 0.0])]
    for form in (problems.RAW, problems.TFIDF, problems.SCALED):
        first, second = (problems.in_form(Rows(X, y, test, y[:1], ""), form) for test in tests)
        np.testing.assert_array_equal(first.X.toarray(), second.X.toarray())
    scaled = problems.in_form(Rows(X, y, tests[0], y[:1], ""), problems.SCALED)
    np.testing.assert_allclose(scaled.X.max(axis=0).toarray(), [[1.0, 1.0, 1.0]])


# --- judges ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", untuned.CLASSIFIERS)
def test_nothing_is_set_but_the_seed_and_the_loss(name):
    if name == untuned.WABBIT:
        pytest.importorskip("vowpalwabbit")
    model = untuned.CLASSIFIERS[name].make(random_state=0)
    allowed = {"random_state", "random_seed"} | ({"loss"} if name == untuned.SGD_LOG else set())
    changed = {k for k, v in model.get_params().items() if v != type(model)().get_params()[k]}
    assert changed <= allowed


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_are_those_of_scikit_learn(classes):
    rows = small_rows(range(classes))
    for name, model in (
        ("LogisticRegression", LogisticRegression()),
        (untuned.SGD_LOG, SGDClassifier(loss="log_loss", random_state=0)),
    ):
        model.fit(rows.X, rows.y)
        found = untuned.CLASSIFIERS[name].judged(rows, 0)
        expected = log_loss(rows.y_test, model.predict_proba(rows.X_test), labels=model.classes_)
        assert found["loss"] == pytest.approx(expected, rel=1e-9)
        assert found["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))


def test_certain_and_wrong_decisions_are_not_rounded():
    """1 - 1e-300 is 1 as a number, but its logarithm is that of a decision value."""
    logs = untuned.log_probabilities(np.array([1000.0]), untuned.ALL)
    np.testing.assert_allclose(logs, [[-1000.0, 0.0]])


def test_a_fit_that_raises_counts_as_a_huge_loss_and_is_told():
    class Broken:
        def __init__(self, random_state=None):
            pass

        def fit(self, X, y):
            raise FloatingPointError("the model overflowed")

    record = untuned.Program(Broken, untuned.EACH).judged(small_rows(), 0)
    assert record["loss"] == untuned.HUGE
    assert record["failed"] == "FloatingPointError: the model overflowed"


def runs(loss, seconds=1.0):
    values = dict(loss=loss, error=0.2, seconds=seconds, epochs=7, nonzeros=30, failed=None)
    return {name: [value] for name, value in values.items()}


def test_ratios_are_those_of_the_best_other_program():
    """DualNet is lazynet's own, and SGD with the hinge has no log loss: neither is the best."""
    measured = {
        untuned.OURS: runs(0.6, 3.0), untuned.DUAL: runs(0.1), untuned.SGD: runs(None, 2.0),
        "LogisticRegression": runs(0.5),
    }  # fmt: skip
    each = defaults.Set("one", problems.TWO, measured)
    assert each.loss_ratio() == pytest.approx(1.2)
    assert each.time_ratio() == pytest.approx(1.5)


# --- other programs --------------------------------------------------------------------------


@pytest.mark.parametrize("name", programs.ALL)
def test_every_program_that_is_installed_lowers_the_objective(name):
    peer = programs.ALL[name]
    if peer.missing:
        pytest.skip(peer.missing)
    # With an l1 the default updates of Vowpal Wabbit lower no objective, as their class says.
    task = Task(small_rows((-1, 1)), ElasticNet(0.0 if name == wabbit.Default.name else 0.005))
    how = How(passes=10, rate=RATE if peer.has_rate else None)
    weights = peer.weights(peer.fit(peer.prepare(task), task, how), task)
    assert weights.shape == (task.X.shape[1],)
    assert task.objective(weights) < 0.9 * task.at_zero


def test_a_program_that_cannot_be_loaded_says_why(tmp_path, monkeypatch):
    class Broken(type(programs.ALL["River"])):
        name, package, module = "broken", "broken", "broken_on_purpose"

    assert Broken().missing == "broken is not installed"
    (tmp_path / "broken_on_purpose.py").write_text("import scipy\nscipy.no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "cannot be loaded: AttributeError" in Broken().missing
    sys.modules.pop("broken_on_purpose", None)
    monkeypatch.setitem(programs.ALL, "broken", Broken())
    assert "broken" not in programs.present()
    assert "broken (broken cannot be loaded" in programs.participants()["text"]


# --- the cage --------------------------------------------------------------------------------


def spin():
    while True:
        pass


def grow():
    return {"sum": float(np.ones(10**8).sum())}


def refuse():
    raise ValueError("only small rows are taken")


@forks
def test_a_cage_ends_what_hangs_and_tells_what_died():
    began = time.monotonic()
    assert cage.caged(spin, 0.3)["outcome"] == cage.STOPPED
    assert time.monotonic() - began < 30
    died = {"outcome": cage.DIED, "why": "the process ended: code 7"}
    assert cage.caged(lambda: os._exit(7), 20.0) == died
    assert cage.caged(refuse, 20.0)["why"] == "ValueError: only small rows are taken"
    assert cage.caged(lambda: {"found": 3}, 20.0) == {"outcome": cage.DONE, "found": 3}
    if sys.platform == "linux":
        assert cage.caged(grow, 20.0, 10**8)["outcome"] == cage.NO_MEMORY


@forks
def test_fits_of_the_large_problem_tell_seconds_memory_and_result(capsys):
    assert large.main(["100"]) == 0
    told = capsys.readouterr().out.strip().split("\n")
    assert [line[:28].strip() for line in told[2:]] == list(large.FITS)
    assert all(re.search(r" s +[0-9.]+ s +[0-9.]+ GB  [0-9,]+ weights", line) for line in told[2:])
    assert "gap" in told[-1]


# --- two builds, and the time of a build -----------------------------------------------------


@pytest.mark.slow
def test_two_builds_are_compared_in_processes_of_their_own(capsys):
    """The same build twice gives the same bits, and a line for every fit that is named."""
    arguments = ["--old", str(ROOT), "--rows", "60", "--rounds", "1"]
    assert compare.main([*arguments, "--only", "partial_fit, fobos"]) == 0
    head, line = capsys.readouterr().out.strip().split("\n")
    assert "old / new" in head
    assert re.search(r"^partial_fit, fobos .* [0-9.]+ \([0-9.]+ - [0-9.]+\) +same bits$", line)


def test_a_checkout_without_kernels_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no lazynet with built kernels"):
        compare.main(["--old", str(tmp_path), "--rows", "60", "--rounds", "1"])
