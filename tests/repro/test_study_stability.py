"""Study stability tunes every learner alike, never tunes on test rows, and derives its verdict."""

from unittest.mock import patch

import joblib
import numpy as np
import pytest
from scipy import sparse
from support.studies import svmlight_rows, tiny_run

from paper_repro import planted
from paper_repro.planted import rows_of
from paper_repro.studies import STUDIES, stability, stability_page, tuning
from paper_repro.studies.stability_outcomes import Outcome, verdict
from paper_repro.studies.tuning import METHODS, RELEASED, STABILISED, TUNED, Trial, choose, search
from paper_repro.study import Settings

TINY = Settings(nonzeros=10, repeats=1)


@pytest.fixture
def small():
    """Fewer of everything."""
    few = dict(SETTINGS_ON_SMALL=2, MOST_WIDENINGS=1, ORDERS=2, PASSES=2, PATH_PASSES=1)
    sweeps = {"stability": (0.5, 0.9), "annealing": (-9.0, 0.0, 9.0)}
    stability.problem.cache_clear()
    with (
        patch.multiple(planted, ROWS=120, FEATURES=600),
        patch.multiple(tuning, **few),
        patch.multiple(stability, SWEEPS=sweeps, SWEEP_RUNS=2, PASSES=2, RUNS=3, UPDATES=50),
        patch.multiple(stability_page, RUNS=3, UPDATES=50),
        # joblib asks its threads every 10 ms, and each of these fits takes less.
        joblib.parallel_config(backend="sequential"),
    ):
        yield
    stability.problem.cache_clear()


@pytest.mark.slow
def test_a_tiny_run_writes_page_figure_and_numbers(small, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "MOST_WIDENINGS", 0)
    document, page = tiny_run(STUDIES["stability"], TINY, tmp_path)
    records = document["records"]
    for loss in stability.LOSSES:
        for name in METHODS:
            assert f"| {name} |" in page
            trials = records[f"tuning/{loss}/{name}"]["trials"]
            # The same number for each parameter.
            record = records[f"tuning/{loss}/{name}"]
            tried = 2 * (len(record["ranges"]) + (name in STABILISED))
            assert len(trials) == (tried if name in TUNED else 1)
            found = records[f"runs/{loss}/{name}"]
            assert len(found["errors"]) == len(found["nonzeros"]) == 3
            # The errors by run and by test row are of the same predictions.
            assert sum(found["wrong"]) / len(found["wrong"]) == pytest.approx(sum(found["errors"]))
            assert found["mattering chosen"] <= 40
        for name in TUNED:
            counts = records[f"updates/{loss}/{name}"]["nonzeros"]
            assert len(counts) in (0, 50)
    assert " of 40" in page


def test_train_and_test_files_of_different_width(tmp_path):
    """Either file may have features of its own; the label is the training file's."""
    train = svmlight_rows(tmp_path / "train.svm", labels=(1, 2), n=30)
    test = svmlight_rows(tmp_path / "test.svm", labels=(1, 2), n=20, first=3)
    rows = rows_of(Settings(data=train, test=test))
    assert (len(rows.y), len(rows.y_test)) == (30, 20)
    assert rows.X.shape[1] == rows.X_test.shape[1] == 9
    assert rows.y.tolist() == [-1.0, 1.0] * 15
    assert rows.mattering is None
    rows = rows_of(Settings(data=train))
    assert (len(rows.y), len(rows.y_test)) == (21, 9)


def test_the_planted_problem_is_what_it_says():
    """Common and rare features decide, and the other features do not."""
    corpus, mattering = planted.planted(4000, 5000, 0)
    assert len(mattering) == 40
    counts = np.bincount(corpus.X.indices, minlength=5000)
    assert corpus.X.nnz / 4000 == pytest.approx(planted.NONZEROS, rel=0.02)
    assert (counts[mattering] < 0.02 * 4000).sum() == 20
    assert abs(corpus.y.mean()) < 0.01
    agreement = np.abs(corpus.X.T @ corpus.y) / np.sqrt(np.maximum(counts, 1))
    useless = np.setdiff1d(np.arange(5000), mattering)
    assert np.median(agreement[mattering]) > 3 * np.median(agreement[useless])


def test_tuning_never_sees_what_it_is_judged_on(small, monkeypatch):
    """Trials learn from one part of the rows and are judged on the rest."""
    seen = []

    def watch(model, X, y, X_test, y_test, **options):
        seen.append((X.data.copy(), X_test.data.copy()))
        return original(model, X, y, X_test, y_test, **options)

    original = tuning.quietly
    monkeypatch.setattr(tuning, "quietly", watch)
    # Every row is told by its only value.
    X = sparse.csr_matrix(np.arange(1.0, 41.0)[:, None])
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    found = search(tuning.FOBOS, "hinge", X, y, seed=0, n_settings=3)
    assert len(found.trials) == len(seen) == 6 * (found.widenings + 1)
    assert 0 <= found.chosen < len(found.trials)
    for learned, judged in seen:
        assert not np.intersect1d(learned, judged).size
        assert (len(learned), len(judged)) == (28, 12)
        np.testing.assert_array_equal(learned, seen[0][0])


@pytest.mark.parametrize(
    ("trials", "n", "chosen"),
    [
        # The sparsest within a standard error of the least error, which falls with the rows.
        ([Trial({}, 0.10, 500.0), Trial({}, 0.12, 40.0), Trial({}, 0.14, 2.0)], 100, 1),
        ([Trial({}, 0.10, 500.0), Trial({}, 0.12, 40.0), Trial({}, 0.14, 2.0)], 1000, 0),
        # A model without features is chosen only where there is no other.
        ([Trial({}, 0.05, 0.0, fewest=0), Trial({}, 0.4, 7.0)], 10, 1),
        ([Trial({}, 0.05, 0.0, fewest=0), Trial({}, 0.4, 1.0, fewest=0)], 10, 0),
    ],
)
def test_the_sparsest_of_the_good_settings_is_chosen(trials, n, chosen):
    assert choose(trials, n)[0] == chosen


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        (tuning.FOBOS, {"eta0": 0.3, "l1": 0.002}),
        (RELEASED, {"burst_size": 50, "rejection_rate": 0.2, "stability": 0.2}),
    ],
)
def test_updates_are_those_of_the_run(small, name, parameters):
    """The last count is the number of nonzeros of a fit in the same order, or with the seed 0."""
    rows = rows_of(TINY)
    records = {f"tuning/hinge/{name}": {"chosen": 0, "trials": [{"parameters": parameters}]}}
    counts = stability.updates(TINY, "hinge", name, records)["nonzeros"]
    model = METHODS[name].make("hinge", parameters)
    if name == RELEASED:
        last = model.set_params(random_state=0).fit(rows.X, rows.y).coef_of_paths_[0]
    else:
        generator = np.random.default_rng(0)
        orders = [generator.permutation(len(rows.y)) for _ in range(tuning.PASSES)]
        model.set_params(max_iter=1).fit(rows.X, rows.y, sample_order=np.concatenate(orders))
        last = model.coef_
    assert len(counts) == stability.UPDATES
    assert counts[-1] == np.count_nonzero(last) > 0


def found(errors, nonzeros, kappa):
    """Runs that misjudge each of four test rows equally often."""
    wrong = [sum(errors)] * 4
    return Outcome({"errors": errors, "nonzeros": nonzeros, "kappa": kappa, "wrong": wrong})


def test_the_verdict_has_three_parts():
    """Each part can fail alone."""
    rival = found([0.10, 0.12, 0.11], [50, 52, 51], 0.5)
    good = found([0.10, 0.11, 0.12], [10, 12, 11], 0.9)
    assert all(verdict(good, rival).values())
    for broken, part in (
        (found([0.20, 0.21, 0.22], [10, 12, 11], 0.9), "no worse error"),
        (found([0.10, 0.11, 0.12], [90, 92, 91], 0.9), "fewer nonzeros"),
        (found([0.10, 0.11, 0.12], [10, 12, 11], 0.4), "higher kappa"),
    ):
        parts = verdict(broken, rival)
        assert [name for name, holds in parts.items() if not holds] == [part]


def test_a_model_without_features_gets_no_verdict():
    """Neither a method nor a rival with an empty run is compared."""
    whole, empty = found([0.1, 0.1], [5, 5], 0.5), found([0.1, 0.1], [5, 0], 1.0)
    assert verdict(whole, empty) is None
    assert verdict(empty, whole) is None


def test_a_sign_needs_more_than_two_standard_errors_of_the_test_rows():
    """Errors that so many test rows cannot tell apart give no sign; many rows do."""
    points = [{"value": value, "error": error} for value, error in
              ((-5.0, 0.1404), (0.0, 0.1406), (5.0, 0.1408), (9.0, 0.25))]  # fmt: skip
    assert stability_page.signs_in_words(points, 500) == "no sign is better"
    assert stability_page.signs_in_words(points, 100_000_000) == "negative"
    assert stability_page.signs_in_words(points[2:], 500) == "positive"
