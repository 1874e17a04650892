"""Study optimum: problems are the same for all programs, and verdicts follow from the records."""

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.special import expit
from support import ROOT
from support.studies import tiny_run

from benchmarks import optimum, shapes
from benchmarks.index import RESULTS
from benchmarks.minima import Task, largest_l1
from benchmarks.programs.cage import STOPPED
from benchmarks.solvers import (
    LEVEL,
    OURS,
    PEERS,
    SAGA,
    Answer,
    Solver,
)
from benchmarks.studies import STUDIES
from lazynet.penalties import ElasticNet
from paper_repro.folder import sets_in
from paper_repro.results import load
from paper_repro.rows import Rows
from paper_repro.study import Settings


def small_rows(seed=0, n=60, d=12):
    generator = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.4, "csr", random_state=seed)
    y = np.where(X @ generator.standard_normal(d) + 0.3 * generator.standard_normal(n) > 0, 1, -1)
    return Rows(X, y.astype(float), X[:20], y[:20].astype(float), "made up")


def task_of(l1, l2):
    """A problem whose strengths are shares of the least l1 at which every weight is 0."""
    rows = small_rows()
    unit = largest_l1(rows)
    return Task(rows, ElasticNet(l1 * unit, l2 * unit))


# --- the problems ----------------------------------------------------------------------------


def test_the_largest_l1_is_the_least_at_which_every_weight_is_zero():
    """A small step along the steepest feature gains nothing at 1.001 of it, but at 0.999."""
    rows = small_rows()
    unit = largest_l1(rows)
    gradient = -rows.X.T @ rows.y / 2
    j = np.abs(gradient).argmax()
    step = np.zeros(rows.X.shape[1])
    step[j] = -1e-5 * np.sign(gradient[j])
    above, below = (Task(rows, ElasticNet(unit * share)) for share in (1.001, 0.999))
    assert above.objective(step) > above.at_zero
    assert below.objective(step) < below.at_zero


def least_by_scipy(task):
    """The minimum over w = p - q with p, q >= 0, which is smooth there."""
    d = task.X.shape[1]

    def objective(both):
        p, q = both[:d], both[d:]
        predictions = task.X @ (p - q)
        slopes = task.X.T @ (-task.y * expit(-task.y * predictions)) / len(task.y)
        smooth = slopes + task.l2 * (p - q)
        value = np.logaddexp(0, -task.y * predictions).mean() + task.l1 * both.sum()
        value += task.l2 / 2 * (p - q) @ (p - q)
        return value, np.concatenate([smooth + task.l1, task.l1 - smooth])

    found = optimize.minimize(
        objective, np.zeros(2 * d), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d),
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return found.fun


@pytest.mark.parametrize("name", PEERS)
def test_every_program_solves_these_very_problems(name):
    """At a small tolerance a program finds the objective that scipy finds."""
    solver = PEERS[name]
    if solver.missing:
        pytest.skip(solver.missing)
    tasks = [task_of(*each) for each in [(0.1, 0.0), (0.1, 0.01), (0.02, 0.02)]]
    solved = [task for task in tasks if solver.solves(task)]
    assert solved
    for task in solved:
        answer = solver.fit(solver.form(task), task, 1000 if name == SAGA else 1e-8)
        assert task.objective(answer.coef) == pytest.approx(least_by_scipy(task), rel=1e-6)


def test_ours_solves_them_with_a_valid_certificate():
    for penalty in ((0.1, 0.0), (0.1, 0.01), (0.02, 0.02)):
        task = task_of(*penalty)
        answer = OURS.fit(task.X, task, 1e-6)
        least = least_by_scipy(task)
        assert task.objective(answer.coef) - least <= answer.gap + 1e-12
        assert answer.gap <= 1e-6 * task.at_zero


# --- runs that are stopped -------------------------------------------------------------------


def program(fit, dials=(1.0, 0.1, 0.01)):
    return Solver("made up", "numpy", lambda task: True, fit, dials)


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
    with pytest.raises(ArithmeticError, match="is possible"):
        optimum.check_certificates(task, [exact, {**zero, "gap": 1e-9}])


# --- verdicts from records -------------------------------------------------------------------


def test_the_page_on_speed_has_the_finding_of_the_committed_records():
    """If this fails: paste the finding from the top of benchmarks/results/optimum.md."""
    text = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert optimum.finding(optimum.Races(load("optimum", RESULTS))) in text


# --- a folder of files -----------------------------------------------------------------------


def write_rows(path, labels=(-1, 1), rows=40):
    generator = np.random.default_rng(0)
    path.write_text(
        "".join(
            f"{labels[k % len(labels)]} "
            + " ".join(f"{j + 1}:{generator.random():.3f}" for j in range(6))
            + "\n"
            for k in range(rows)
        )
    )


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
        write_rows(tmp_path / name)
    with pytest.raises(ValueError, match=complaint):
        sets_in(tmp_path)


# --- a whole run -----------------------------------------------------------------------------


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(optimum, "SHARES", (0.1,))
    name = "one-hot categories"
    monkeypatch.setattr(shapes, "SHAPES", {name: shapes.SHAPES[name]})
    folder = tmp_path / "files"
    folder.mkdir()
    write_rows(folder / "own.svm")
    settings = Settings(examples=300, repeats=1, folder=str(folder))
    document, page = tiny_run(STUDIES["optimum"], settings, tmp_path)
    assert str(tmp_path) not in page
    assert document["settings"]["folder"] == "files"
    races = optimum.Races(document)
    assert races.shapes == [name, "own"]
    for record in races.problems.values():
        assert {OURS.name, "DualNet, certified"} <= record["seconds"].keys()
        assert record["dials"]["DualNet, certified"] == LEVEL
