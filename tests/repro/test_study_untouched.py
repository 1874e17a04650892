"""Study untouched: nothing is set, losses are right, and verdicts follow from the records."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss, mean_squared_error, r2_score

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from benchmarks import defaults_programs as programs
from benchmarks import problems, untouched, untouched_page
from benchmarks.defaults_programs import (
    CLASSIFIERS,
    DUAL,
    LOGISTIC,
    OURS,
    REGRESSORS,
    RIDGE,
    SGD,
    SGD_LOG,
)
from benchmarks.problems import (
    BINARY,
    NUMBERS,
    RAW,
    SCALED,
    SEVERAL,
    TFIDF,
    TWO,
    forms_of,
    in_form,
)
from benchmarks.studies import STUDIES
from benchmarks.untouched import PASSES, Untouched, key
from benchmarks.untouched_verdicts import BEST, LINES, MEAN, NEAR, SLOWEST, WORST
from paper_repro.results import run
from paper_repro.rows import Rows
from paper_repro.study import Settings

TINY = Settings(examples=120, features=60, nonzeros=8, repeats=1, seconds=0.01)


def small_rows(classes=2, n=90, d=12, seed=0):
    generator = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.4, "csr", random_state=seed)
    y = np.argmax(X @ generator.standard_normal((d, classes)), axis=1).astype(float)
    return Rows(X[:60], y[:60], X[60:], y[60:], "made up")


# --- problems --------------------------------------------------------------------------------


def write_rows(path, target, rows=60, value="{0:.3f}"):
    generator = np.random.default_rng(0)
    path.write_text(
        "".join(
            f"{target(k)} "
            + " ".join(f"{j + 1}:{value.format(1 + generator.random())}" for j in range(4))
            + "\n"
            for k in range(rows)
        )
    )


def in_folder(tmp_path):
    return problems.problems(Settings(folder=str(tmp_path)))


def test_a_file_of_several_classes_gives_two_problems_and_numbers_give_a_regression(tmp_path):
    write_rows(tmp_path / "two.svm", lambda k: (-1, 1)[k % 2])
    write_rows(tmp_path / "four.svm", lambda k: k % 4)
    write_rows(tmp_path / "labels.svm", lambda k: ("1", "1,2", "3")[k % 3])
    write_rows(tmp_path / "length.svm", lambda k: k + 0.5)
    found = in_folder(tmp_path)
    kinds = {name: problem.kind for name, problem in found.items() if "svm" not in name}
    assert kinds["two"] == TWO
    assert (kinds["four"], kinds["four (4 classes)"]) == (TWO, SEVERAL)
    assert kinds["labels"] == TWO
    assert kinds["length"] == NUMBERS
    assert set(found["four (4 classes)"].rows().y) == {0.0, 1.0, 2.0, 3.0}
    assert set(found["four"].rows().y) == {-1.0, 1.0}
    rows = found["length"].rows()
    np.testing.assert_array_equal(np.sort(np.r_[rows.y, rows.y_test]), np.arange(60) + 0.5)


def test_classes_of_a_test_file_are_kept(tmp_path):
    write_rows(tmp_path / "own.train.svm", lambda k: k % 3)
    write_rows(tmp_path / "own.test.svm", lambda k: k % 3, rows=9)
    rows = in_folder(tmp_path)["own (3 classes)"].rows()
    assert (rows.X.shape[0], list(rows.y_test)) == (60, [0.0, 1.0, 2.0] * 3)


def test_a_given_file_takes_the_place_of_generated_rows(tmp_path):
    write_rows(tmp_path / "own.svm", lambda k: k % 3)
    found = problems.problems(Settings(data=str(tmp_path / "own.svm"), label="2"))
    assert list(found) == ["own"]
    assert found["own"].rows().y.tolist().count(1.0) == 16


def test_forms_are_those_that_differ():
    counts = sparse.csr_matrix([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
    assert forms_of(counts) == (RAW, BINARY, TFIDF)
    assert forms_of((counts > 0).astype(float)) == (RAW, TFIDF)


def test_forms_know_the_training_rows_alone():
    """Another test row changes no row in any form."""
    X = sparse.csr_matrix([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [4.0, 0.0, 0.0]])
    y = np.ones(3)
    tests = [sparse.csr_matrix([row]) for row in ([9.0, 9.0, 9.0], [0.0, 1.0, 0.0])]
    for form in (RAW, BINARY, TFIDF, SCALED):
        first, second = (in_form(Rows(X, y, test, y[:1], ""), form) for test in tests)
        np.testing.assert_array_equal(first.X.toarray(), second.X.toarray())
    binary, tfidf, scaled = (
        in_form(Rows(X, y, tests[0], y[:1], ""), form) for form in (BINARY, TFIDF, SCALED)
    )
    assert set(binary.X.data) == set(binary.X_test.data) == {1.0}
    np.testing.assert_allclose(sparse.linalg.norm(tfidf.X, axis=1), 1.0)
    np.testing.assert_allclose(scaled.X.max(axis=0).toarray(), [[1.0, 1.0, 1.0]])


def test_values_that_are_not_counts_are_weighed_by_presence():
    X = sparse.csr_matrix([[0.5, 0.0, 0.1], [0.0, 0.3, 0.1]])
    same = (X > 0).astype(float)
    y = np.ones(2)
    found, expected = (in_form(Rows(each, y, each, y, ""), TFIDF).X for each in (X, same))
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


# --- programs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_nothing_is_set_but_the_seed_and_the_loss(name):
    """Every parameter but these is what the constructor says."""
    program = CLASSIFIERS[name]
    if program.missing:
        pytest.skip(f"{program.module} is not installed")
    model = program.make(0)
    allowed = {"random_state", "random_seed"} | ({"loss"} if name == SGD_LOG else set())
    changed = {k for k, v in model.get_params().items() if v != type(model)().get_params()[k]}
    assert changed <= allowed
    if program.passes is not None:
        assert program.passes(7).get("max_iter", program.passes(7).get("passes")) == 7


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_are_those_of_scikit_learn(classes):
    rows = small_rows(classes)
    for name, model in ((LOGISTIC, LogisticRegression()), (SGD_LOG, SGDClassifier("log_loss"))):
        model.fit(rows.X, rows.y)
        found = programs.losses(model, rows, CLASSIFIERS[name].probabilities)
        expected = log_loss(rows.y_test, model.predict_proba(rows.X_test), labels=model.classes_)
        assert found["loss"] == pytest.approx(expected, rel=1e-9)
        assert found["error"] == pytest.approx(1 - model.score(rows.X_test, rows.y_test))


def test_log_loss_of_certain_and_wrong_decisions_is_not_rounded():
    """1 - 1e-300 is 1 as a number, but its logarithm is that of a decision value."""
    rows = small_rows()
    model = LogisticRegression().fit(rows.X, rows.y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.array([1000.0])
    found = programs.losses(model, rows, programs.ALL)
    assert found["loss"] == pytest.approx(1000.0 * np.mean(rows.y_test == 0))


def test_without_probabilities_there_is_no_log_loss():
    rows = small_rows()
    model, seconds = CLASSIFIERS[SGD].fitted(rows, None, 0)
    judged = CLASSIFIERS[SGD].judged(model, rows)
    assert judged["loss"] is None
    assert judged["nonzeros"] == np.count_nonzero(model.coef_)
    assert seconds > 0
    assert SGD not in programs.competitors(TWO)


def test_squared_errors_and_shares_of_the_variance():
    rows = small_rows()
    model, _ = REGRESSORS[RIDGE].fitted(rows, None, 0)
    found = REGRESSORS[RIDGE].judged(model, rows)
    predicted = model.predict(rows.X_test)
    assert found["loss"] == pytest.approx(mean_squared_error(rows.y_test, predicted))
    assert found["error"] == pytest.approx(1 - r2_score(rows.y_test, predicted))


def test_the_grid_does_not_depend_on_the_scale_of_the_rows():
    """The rates are in units of the rows: with rows in other units the unit of alpha follows."""
    rows = small_rows()
    wide = Rows(1000 * rows.X, rows.y, 1000 * rows.X_test, rows.y_test, "")
    losses = [
        [
            program.judged(program.fitted(each, 5, 0)[0], each)["loss"]
            for name, program in programs.grid(TWO, each).items()
            if name.startswith("AdaGrad")
        ]
        for each in (rows, wide)
    ]
    assert len(losses[0]) == len(programs.ADAGRAD_RATES)
    assert len(set(losses[0])) == len(losses[0])
    alphas = [p.make(0).rule.alpha for n, p in programs.grid(TWO, rows).items() if "alpha 1" in n]
    wider = [p.make(0).rule.alpha for n, p in programs.grid(TWO, wide).items() if "alpha 1" in n]
    np.testing.assert_allclose(alphas, 1000 * np.array(wider))


def test_a_fit_that_raises_counts_as_a_huge_loss_and_is_told():
    class Broken:
        def __init__(self, random_state=None):
            pass

        def fit(self, X, y):
            raise FloatingPointError("the model overflowed")

    program = programs.Program(lambda seed: Broken(seed), None, programs.EACH)
    record = untouched.Runs.of(program, small_rows(), None, [0])
    assert record["loss"] == [programs.HUGE]
    assert record["failed"] == ["FloatingPointError: the model overflowed"]


def test_few_rows_have_all_classes():
    y = np.r_[np.zeros(80), np.ones(2), np.full(3, 2.0)]
    X = sparse.eye_array(85, format="csr")
    few = untouched._few(Rows(X, y, X, y, ""))
    assert set(few.y) == {0.0, 1.0, 2.0}


# --- verdicts from records -------------------------------------------------------------------


def fits(loss, seconds=1.0, error=0.2):
    return dict(
        loss=[loss], error=[error], seconds=[seconds], epochs=[7], nonzeros=[30], failed=[None]
    )


def made_up(ours=0.5, best=0.5, tuned=0.5, seconds=1.0, sgd=1.0):
    """Two sets; what is given is of the first one, and on the second all are equal."""
    records = {
        "setting": {
            "sets": {
                name: {
                    "kind": TWO, "forms": [RAW], "origin": "made up", "rows": 100,
                    "test rows": 20, "features": 50, "nonzeros per row": 5.0,
                }
                for name in ("one", "two")
            },
            "versions": {"scikit-learn": "1.8"}, "missing": [programs.WABBIT], "seeds": 1,
        }
    }  # fmt: skip
    for name in ("one", "two"):
        first = name == "one"
        for passes in PASSES:
            where = key(name, RAW, passes)
            records[f"race/{where}"] = {
                # Only the default of the first set differs.
                OURS: fits(ours if first and passes is None else 0.5, seconds if first else 1.0),
                DUAL: fits(0.1),
                SGD: fits(None, sgd if first else 1.0),
                SGD_LOG: fits(0.9),
                LOGISTIC: fits(best if first else 0.5),
            }
            records[f"grid/{where}"] = {
                "FoBoS, eta0 1": fits(tuned if first and passes == 5 else 0.5),
                "AdaGrad, alpha 1": fits(2.0),
            }
        records[f"own/{key(name, RAW, None)}"] = {each: fits(0.6) for each in programs.of_ours(TWO)}
    return {"settings": {"repeats": 1, "full": False}, "records": records}


def verdicts(**change):
    found = Untouched(made_up(**change))
    return {line.label: line.verdict(found) for line in LINES}


def missed(**change):
    return {label for label, verdict in verdicts(**change).items() if verdict == "MISSED"}


def test_bounds_that_are_kept():
    assert missed() == set()
    # DualNet is lazynet's own, and SGD with the hinge has no log loss: neither is the best.
    assert Untouched(made_up()).best(Untouched(made_up()).sets[0]) == (LOGISTIC, 0.5)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (dict(best=0.477), set()),
        (dict(best=0.475), {BEST}),
        # One cell of eight is missed: 88 % are near the grid.
        (dict(tuned=0.4), set()),
        (dict(tuned=0.33), {WORST}),
        # Two of eight: 75 %.
        (dict(tuned=0.4, ours=0.56, best=0.6), {NEAR}),
        (dict(seconds=1.9, sgd=1.0), {MEAN}),
        (dict(seconds=2.1, sgd=1.0), {SLOWEST, MEAN}),
        (dict(seconds=0.9, sgd=1.0), set()),
    ],
)
def test_bounds_that_are_missed(change, expected):
    assert missed(**change) == {line.label for line in expected}


def test_misses_are_named():
    page = untouched_page.page(made_up(best=0.25, seconds=3.0))
    assert "above 1.05: one, raw 2.00" in page
    assert "above 2.00: one, raw 3.00" in page
    assert "two, raw 1.00" not in page
    assert "on 1 of 2 sets" in page.replace("\n", " ")
    assert "No set and no cell is above the limit for a single one." in untouched_page.page(
        made_up()
    )


@pytest.mark.parametrize(
    ("change", "causes"),
    [
        (dict(best=0.25), {"Why losses"}),
        (dict(tuned=0.4), {"Why some cells"}),
        (dict(seconds=3.0), {"Why times"}),
        ({}, set()),
    ],
)
def test_causes_are_told_of_what_is_missed_alone(change, causes):
    page = untouched_page.page(made_up(**change))
    assert {
        words for words in ("Why losses", "Why some cells", "Why times") if words in page
    } == causes


def test_page_and_figure_are_made_from_the_records_alone():
    document = made_up()
    page = untouched_page.page(document)
    assert page.startswith("**With nothing set")
    assert "nan" not in page.lower()
    assert "Not installed, and left out: Vowpal Wabbit." in page
    assert STUDIES["untouched"].draw(document) is not None


def test_errors_of_untouched_programs_are_told():
    document = made_up()
    record = document["records"][f"race/{key('one', RAW, None)}"][SGD_LOG]
    record["failed"] = ["ValueError: overflow"]
    assert f"- one, raw, {SGD_LOG}: ValueError: overflow" in untouched_page.page(document)


def test_a_set_without_a_grid_has_no_grid_verdict():
    document = made_up(tuned=0.1)
    for passes in PASSES:
        del document["records"][f"grid/{key('one', RAW, passes)}"]
    del document["records"][f"own/{key('one', RAW, None)}"]
    found = Untouched(document)
    assert {each.name for each, _ in found.grid_cells()} == {"two"}
    assert WORST.verdict(found) == "holds"
    assert "| one, raw |" in untouched_page.page(document)
    assert STUDIES["untouched"].draw(document) is not None


def test_a_quick_run_does_little_with_many_classes(tmp_path):
    write_rows(tmp_path / "many.svm", lambda k: k % 12, rows=90)
    few, all_of_it = (
        {
            cell.key
            for cell in untouched.cells(Settings(folder=str(tmp_path), full=full))
            if "12 classes" in cell.key
        }
        for full in (False, True)
    )
    assert few == {f"race/{key('many (12 classes)', RAW, passes)}" for passes in PASSES}
    assert len(all_of_it) == 3 * (2 * len(PASSES) + 1)


# --- a whole run -----------------------------------------------------------------------------


def test_a_tiny_run_writes_page_figure_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(untouched, "PASSES", (1, None))
    monkeypatch.setattr(untouched_page, "PASSES", (1, None))
    monkeypatch.setattr(untouched, "QUICK_STEP", 5)
    kept = ("half dense", "one feature")
    monkeypatch.setattr(problems, "_GENERATED", {name: problems._GENERATED[name] for name in kept})
    folder = tmp_path / "files"
    folder.mkdir()
    write_rows(folder / "own.svm", lambda k: k % 3, value="{0:.0f}")
    run(STUDIES["untouched"], Settings(**{**vars(TINY), "folder": str(folder)}), tmp_path)
    page = (tmp_path / "untouched.md").read_text()
    assert str(tmp_path) not in page
    assert "nan" not in page.lower()
    assert "<svg" in (tmp_path / "untouched.svg").read_text()
    document = json.loads((tmp_path / "untouched.json").read_text())
    found = Untouched(document)
    assert {each.name for each in found.sets} == {*kept, "own", "own (3 classes)"}
    for each in found.sets:
        assert found.time_ratio(each) > 0
        assert found.tuned(each, 1)[1] > 0
        for passes in (1, None):
            assert OURS in found.race(each, passes)
    # A quick run counts passes of lazynet and of the measure alone.
    assert set(found.race(found.sets[0], 1)) == {OURS, SGD}
