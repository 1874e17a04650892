"""Study peers: each part at a tiny size, with the peers that are installed and with absent ones."""

import json
import os
import re
import sys
import time

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from benchmarks import peers as study
from benchmarks import peers_exactness, peers_page, peers_quality, peers_scale, problems
from benchmarks import programs as peers
from benchmarks.peers_exactness import RATE
from benchmarks.programs import cage, dense
from benchmarks.programs.base import (
    BUDGET,
    LASSO,
    LYING,
    NET,
    How,
    Peer,
    kind,
    largest_l1_beside_constant,
)
from benchmarks.studies import STUDIES
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task
from paper_repro.results import run
from paper_repro.rows import Rows
from paper_repro.solvers.own import dual_net
from paper_repro.study import Settings

TINY = Settings(examples=160, features=80, nonzeros=8, repeats=1, seconds=0.01)
#: The peers of the tests here; what compiles itself takes too long.
FEW = (
    "lazynet FoBoS",
    "lazynet AdaGrad",
    "lazynet DualNet",
    "lazynet DualNet, l2",
    "scikit-learn SGD",
    "LogisticRegression saga",
    "LogisticRegression lbfgs",
    "LinearSVC",
    "Vowpal Wabbit --sgd",
    "Vowpal Wabbit",
)
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


class Absent(Peer):
    name = "nobody's program"
    package, module = "nobodys-program", "nobodys_program_is_not_installed"
    tuned = "nothing"


def small_rows(seed=0):
    return peers_exactness.rows_of(seed)


def task_for(peer, penalty=None):
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    found = Task(small_rows(), loss, ElasticNet(0.005) if penalty is None else penalty)
    if peer.refuses(found) is not None:
        found = Task(small_rows(), loss, ElasticNet(0.0, 0.005))
    return found


# --- the peers -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in peers.ALL if name != "skglm"])
def test_every_peer_that_is_installed_lowers_the_objective(name):
    peer = peers.ALL[name]
    if peer.missing:
        pytest.skip(peer.missing)
    task = task_for(peer, ElasticNet(0.005) if peer.to_minimum else ElasticNet())
    how = How(passes=10, rate=RATE if peer.has_rate else None)
    if peer.to_minimum:
        how = How(passes=50) if peer.dials_are_passes else How(tol=1e-5)
    weights = peer.solved(task, how)
    assert weights.shape == (task.X.shape[1],)
    assert weights.dtype == np.float64
    assert task.objective(weights) < 0.9 * task.at_zero
    assert peer.version


@pytest.mark.parametrize("name", [name for name in peers.ALL if peers.ALL[name].tuned])
def test_every_tuned_peer_has_the_same_budget(name):
    peer = peers.ALL[name]
    settings = peer.settings(task_for(peer))
    assert len(settings) == len({setting.name for setting in settings}) == BUDGET
    task = task_for(peer)
    for setting in settings:
        assert peer.refuses(Task(task.rows, task.loss, setting.penalty)) is None


def test_an_absent_peer_says_why(monkeypatch):
    absent = Absent()
    assert absent.missing == "nobodys-program is not installed"
    monkeypatch.setitem(peers.ALL, absent.name, absent)
    assert absent.name not in peers.present()
    assert peers.absent()[absent.name] == absent.missing


def test_a_peer_that_cannot_be_loaded_says_why(tmp_path, monkeypatch):
    (tmp_path / "broken_on_purpose.py").write_text("import scipy\nscipy.no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    broken = Absent()
    monkeypatch.setattr(Absent, "module", "broken_on_purpose")
    assert "cannot be loaded: AttributeError" in broken.missing
    sys.modules.pop("broken_on_purpose", None)


def test_kinds_of_penalties():
    assert [kind(ElasticNet(*each)) for each in ((0, 0), (1, 0), (0, 1), (1, 1))] == [
        "no penalty", "l1", "l2", "elastic net",
    ]  # fmt: skip


# --- the dense rules -------------------------------------------------------------------------


def test_lazynet_is_the_proximal_rule_and_scikit_learn_the_cumulative_one():
    ours, theirs = peers.ALL["lazynet FoBoS"], peers.ALL["scikit-learn SGD"]
    task = task_for(ours, ElasticNet(0.005, 0.005))
    near = peers_exactness.against_rules(ours, task)
    assert near["proximal steps"] < 1e-12
    assert near["decay and truncation"] > 1e-5
    near = peers_exactness.against_rules(theirs, task)
    assert near["cumulative l1 of the row's features"] < 1e-12
    assert near["proximal steps"] > 1e-2


def test_wabbit_counts_l1_once_for_all_steps():
    wabbit = peers.ALL["Vowpal Wabbit --sgd"]
    if wabbit.missing:
        pytest.skip(wabbit.missing)
    near = peers_exactness.against_rules(wabbit, task_for(wabbit, ElasticNet(0.005, 0.005)))
    assert near["l1 once for all steps"] < 1e-5
    assert near["decay and truncation"] > 1e-2


def test_dense_rules_agree_without_a_penalty():
    task = task_for(peers.ALL["lazynet FoBoS"], ElasticNet())
    first, *others = [rule(task, RATE)[-1] for rule in dense.RULES.values()]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-12)


# --- the cage --------------------------------------------------------------------------------


def spin():
    while True:
        pass


def die():
    os.abort()


def grow():
    return {"sum": float(np.ones(10**8).sum())}


def refuse():
    raise ValueError("only small rows are taken")


@forks
def test_a_cage_ends_what_hangs_and_tells_what_died():
    began = time.monotonic()
    assert cage.caged(spin, 0.3)["outcome"] == cage.STOPPED
    assert time.monotonic() - began < 30
    assert cage.caged(die, 20.0) == {"outcome": cage.DIED, "why": "the process ended: aborted"}
    assert cage.caged(refuse, 20.0) == {
        "outcome": cage.REFUSED,
        "why": "ValueError: only small rows are taken",
    }
    assert cage.caged(lambda: {"found": 3}, 20.0) == {"outcome": cage.DONE, "found": 3}


@forks
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_a_cage_limits_memory():
    assert cage.caged(grow, 20.0, 10**8)["outcome"] == cage.NO_MEMORY


# --- parts -----------------------------------------------------------------------------------


def test_rows_of_the_scale_have_the_indices_that_are_asked_for():
    for wide, expected in ((False, np.int32), (True, np.int64)):
        X = peers_scale.generated(20, 1000, 10, wide)
        assert X.indices.dtype == X.indptr.dtype == expected
        assert X.has_canonical_format
        assert X.nnz == 200


def test_a_peer_that_failed_is_not_asked_for_more():
    earlier = {"scale/features/100/LinearSVC": {"outcome": cage.STOPPED, "why": "stopped"}}
    record = peers_scale.asked("features", 1000, "LinearSVC", 1.0, earlier)
    assert record == {"outcome": peers_scale.NOT_ASKED, "why": "failed at 100", "size": 100}
    later = {**earlier, "scale/features/1000/LinearSVC": record}
    assert peers_scale.asked("features", 10_000, "LinearSVC", 1.0, later)["size"] == 100


def test_the_column_of_ones_is_the_last():
    rows = small_rows()
    wider = peers_quality.with_ones(Rows(rows.X, rows.y, rows.X[:5], rows.y[:5], ""))
    assert wider.X.shape[1] == rows.X.shape[1] + 1
    assert (wider.X[:, -1].toarray() == 1).all()
    assert sparse.isspmatrix_csr(wider.X_test)


def test_few_rows_are_judged_quarter_by_quarter(monkeypatch):
    rows = small_rows()
    parts = peers_quality.parts_of(rows, 0)
    assert len(parts) == peers_quality.PARTS
    together = sparse.vstack([part.X_test for part in parts])
    # Every row is judged once, beside the rows that are learned.
    assert sorted(together.sum(axis=1).A1) == pytest.approx(sorted(rows.X.sum(axis=1).A1))
    assert {part.X.shape[0] + part.X_test.shape[0] for part in parts} == {rows.X.shape[0]}
    monkeypatch.setattr(peers_quality, "FEW_ROWS", rows.X.shape[0])
    [only] = peers_quality.parts_of(rows, 0)
    assert (only.X_test != parts[0].X_test).nnz == 0


def test_the_largest_l1_leaves_a_constant_alone():
    """Just above it the column of ones alone has a weight; below it another feature has one."""
    rows = small_rows()
    y = np.where(np.arange(len(rows.y)) % 10 == 0, 1.0, -1.0)
    rows = peers_quality.with_ones(Rows(rows.X, y, rows.X, y, ""))
    largest = largest_l1_beside_constant(Task(rows, LOGISTIC, ElasticNet()))
    above, below = (
        dual_net(Task(rows, LOGISTIC, ElasticNet(share * largest)), 1e-10)
        .fit(rows.X, rows.y)
        .coef_.ravel()
        for share in (1.2, 0.8)
    )
    assert above[-1] != 0
    assert not above[:-1].any()
    assert below[:-1].any()


def test_glmnet_has_an_intercept_in_place_of_a_column_of_ones():
    glmnet = peers.ALL["glmnet"]
    if glmnet.missing is not None:
        pytest.skip(glmnet.missing)
    rows = small_rows()
    y = np.where(np.arange(len(rows.y)) % 10 == 0, 1.0, -1.0)
    wider = peers_quality.with_ones(Rows(rows.X, y, rows.X, y, ""))
    task = Task(wider, LOGISTIC, ElasticNet(0.5))
    # Nothing but the intercept is left, and no penalty pulls it.
    found = glmnet.solved(task, How())
    assert not found[:-1].any()
    assert found[-1] == pytest.approx(np.log(0.1 / 0.9), rel=1e-6)


def judged_rows(of_dual):
    """The losses on three rows, and on validation rows; ``of_dual`` are those of DualNet."""

    def record(losses, validation):
        tried = [{"loss": validation}]
        told = {"outcome": cage.DONE, "chosen": 0, "tried": tried, "losses": losses}
        return told | {"loss": float(np.mean(losses))}

    return peers_quality.Quality(
        {
            "quality/rows/lazynet AdaGrad": record([1.0, 2.0, 6.0], 0.5),
            "quality/rows/lazynet DualNet": record(of_dual, 0.6),
            "quality/rows/celer": record([1.0, 1.0, 1.0], 0.7),
            "quality/rows/skglm": record([2.0, 2.0, 2.0], 0.4),
        }
    )


@pytest.mark.parametrize(
    ("of_dual", "words"),
    [
        (1.5, "lazynet DualNet, which they do not choose, has 1.500 times"),
        (9.0, "lazynet AdaGrad, which has the least test loss of lazynet's estimators too"),
    ],
)
def test_a_miss_says_which_estimator_of_lazynet_would_have_been_best(of_dual, words):
    told = " ".join(peers_page._miss(judged_rows([of_dual] * 3), "rows").split())
    assert words in told
    assert "3.00 times that of celer" in told


def test_a_difference_has_its_standard_error():
    found = judged_rows([0.1, 0.1, 0.1])
    assert (found.chosen("rows"), found.chosen("rows", ours=False)) == ("lazynet AdaGrad", "skglm")
    assert found.best("rows") == ("celer", 1.0)
    assert found.ratio("rows") == 3.0
    assert found.ratio_of_any("rows") == pytest.approx(0.1)
    mean, error, count = found.difference("rows")
    assert (mean, count) == (2.0, 3)
    # The differences are 0, 1, 5.
    assert error == pytest.approx(np.sqrt(7.0 / 3.0))


@forks
def test_a_tiny_run_has_all_parts(tmp_path, monkeypatch):
    chosen = {name: peers.ALL[name] for name in FEW} | {Absent.name: Absent()}
    for name in [*peers.ALL]:
        if name not in chosen:
            monkeypatch.delitem(peers.ALL, name)
    monkeypatch.setitem(peers.ALL, Absent.name, chosen[Absent.name])
    monkeypatch.setattr(study, "warm_up", lambda: None)
    monkeypatch.setattr("benchmarks.peers_time.warm_up", lambda: None)
    sizes = {"features": (100, 1000), "nonzeros": (5,), "labels": (1, 3), "index bits": (32, 64)}
    monkeypatch.setattr(peers_scale, "QUICK_SIZES", sizes)
    monkeypatch.setattr(peers_scale, "FEATURES", 200)
    monkeypatch.setattr(peers_scale, "ROWS", 100)
    kept = ("half dense",)
    monkeypatch.setattr(problems, "_GENERATED", {name: problems._GENERATED[name] for name in kept})
    run(STUDIES["peers"], TINY, tmp_path)
    document = json.loads((tmp_path / "peers.json").read_text())
    found = study.Found(document)
    assert found.setting["absent"] == {
        name: peer.missing for name, peer in peers.ALL.items() if peer.missing
    }
    for name, record in found.exactness.items():
        assert record["outcome"] == cage.DONE, (name, record)
    assert found.exactness["lazynet FoBoS"]["average"] < 1e-12
    assert not found.passes.failures()
    assert not found.quality.failures()
    assert found.passes.ratio(LYING, NET, "scikit-learn SGD", "lazynet FoBoS").median > 0
    assert {problem[1] for problem in found.times.ladders} == {LASSO, NET}
    assert found.scales.found["index bits"]["lazynet DualNet"][64]["outcome"] == cage.DONE
    assert {axis: found.scales.sizes(axis) for axis in sizes} == {
        axis: list(chosen) for axis, chosen in sizes.items()
    }
    page = (tmp_path / "peers.md").read_text()
    assert "nobody's program (nobodys-program is not installed)" in page
    assert str(tmp_path) not in page
    assert not re.search(r"\bnan\b", page.lower())
    for bound in study.BOUNDS:
        assert bound.label in page
    assert "<svg" in (tmp_path / "peers.svg").read_text()
    assert peers_page.finding(document).startswith("**One more pass")
