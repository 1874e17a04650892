"""The command line: every subcommand, bad input, Ctrl-C, closed pipes, outputs and exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import lazynet
from lazynet.command.foreign import _HINTS
from lazynet.command.literals import object_of
from lazynet.command.main import COMMANDS, main, new_parser
from lazynet.command.plots import curve
from lazynet.rules.ftrl import FTRL
from lazynet.streams import Growing, Mapped, RowsFile, SvmlightFile, VWFile

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
HERE = {**os.environ, "PYTHONPATH": str(Path(lazynet.__file__).parent.parent)}


def rows_of(n, classes=2, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.2, format="csr", random_state=seed)
    scores = X @ rng.standard_normal((d, classes))
    return X, scores.argmax(axis=1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows of every kind, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, classes, n, seed in (("two", 2, 400, 0), ("new", 2, 100, 1), ("three", 3, 300, 2)):
        X, y = rows_of(n, classes, seed=seed)
        dump_svmlight_file(X, y, f"{name}.svm", zero_based=False)
    X, _ = rows_of(200)
    dump_svmlight_file(X, X @ np.arange(30.0), "numbers.svm", zero_based=False)
    rng = np.random.default_rng(3)
    lines = []
    for _ in range(200):
        labels = np.flatnonzero(rng.random(4) < 0.3)
        words = " ".join(f"{label + 1}:1" for label in labels)
        lines.append(f"{','.join(map(str, labels))} {words} {rng.integers(6, 20)}:1\n")
    Path("labels.svm").write_text("".join(lines))
    return tmp_path


def read(name):
    """All rows of a file, with the digits that it has."""
    return next(SvmlightFile(name, zero_based=False, n_features=30).chunks(10**6))


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def told(capsys):
    """The one JSON object that a command prints."""

    def of(*arguments):
        capsys.readouterr()
        code = run(*arguments, "--json")
        captured = capsys.readouterr()
        assert captured.out, captured.err
        return code, json.loads(captured.out)

    return of


# --- train -------------------------------------------------------------------------------------


def test_a_trained_model_is_that_of_fit(folder, told):
    """The same bits as fit from the same source, and what is told is so."""
    code, found = told("train", "two.svm", "-f", "m.lazy", "--passes", 3, "--l1", 1e-3)
    assert code == 0
    model = lazynet.load("m.lazy")
    source = SvmlightFile("two.svm", zero_based=False)
    same = lazynet.LazyNetClassifier(l1=1e-3, max_iter=3, tol=None, random_state=0).fit(source)
    assert np.array_equal(model.coef_, same.coef_)
    assert found["rows"] == 400
    assert found["passes"] == 3
    assert found["nonzeros"] == np.count_nonzero(same.coef_)
    assert found["progressive_loss"] == same.history_[-1]["progressive_loss"]
    assert found["peak_memory"] is None or found["peak_memory"] > 1e7
    assert RowsFile("two.svm.rows").facts().n_rows == 400


@pytest.mark.parametrize(
    ("name", "options", "kind", "said"),
    [
        ("two.svm", [], "LazyNetClassifier", "classification"),
        ("numbers.svm", [], "LazyNetRegressor", "regression"),
        ("labels.svm", ["--multilabel"], "LazyNetClassifier", "several labels"),
        ("two.svm", ["--task", "regression"], "LazyNetRegressor", ""),
        ("two.svm", ["--minimum", "--l1", "0.01"], "DualNetClassifier", "classification"),
        ("numbers.svm", ["--minimum", "--l1", "0.01"], "DualNetRegressor", "regression"),
    ],
)
def test_tasks(folder, capsys, name, options, kind, said):
    """The task is guessed and said, or given; every kind of model is tested and inspected."""
    assert run("train", name, "-f", "m.lazy", *options) == 0
    assert said in capsys.readouterr().err
    assert type(lazynet.load("m.lazy")).__name__ == kind
    assert run("test", "m.lazy", name) == 0
    assert run("inspect", "m.lazy") == 0
    assert run("predict", "m.lazy", name, "-o", "p.txt") == 0
    assert len(Path("p.txt").read_text().splitlines()) == (400 if name == "two.svm" else 200)


def test_options_of_steps(folder, told):
    """Rules, schedules and losses with parameters become the objects of the library."""
    options = ["--rule", "ftrl(alpha=0.5, penalty='once')", "--loss", "squared_hinge", "--l2", 0.1,
               "--noconstant", "--set", "multi_class=ovr", "--passes", 1]  # fmt: skip
    assert told("train", "two.svm", "-f", "m.lazy", *options)[0] == 0
    model = lazynet.load("m.lazy")
    assert model.rule == FTRL(alpha=0.5, penalty="once")
    assert (model.loss, model.l2, model.fit_intercept) == ("squared_hinge", 0.1, False)
    options = ["--rule", "fobos", "--power_t", 0.5, "-l", 0.3, "--average"]
    assert told("train", "two.svm", "-f", "m.lazy", *options)[0] == 0
    model = lazynet.load("m.lazy")
    assert repr(model.schedule) == "Power(eta0=0.3, power_t=0.5)"
    assert (model.eta0, model.average) == (None, True)


def test_rows_held_out_and_shuffled(folder, told):
    """The held-out rows are every N-th row, and are judged."""
    _, found = told("train", "two.svm", "-f", "m.lazy", "--holdout", 4, "--shuffle", 50)
    model = lazynet.load("m.lazy")
    X, y = rows_of(400)
    assert found["holdout"]["accuracy"] == pytest.approx(model.score(X[3::4], y[3::4]))
    assert model.t_ == 300 * found["passes"]


def test_going_on(folder, capsys):
    """-i goes on from the state of a model, with its parameters."""
    assert run("train", "two.svm", "-f", "a.lazy", "--passes", 2, "--l1", 1e-4) == 0
    assert run("train", "new.svm", "-i", "a.lazy", "-f", "b.lazy", "--passes", 1) == 0
    source = SvmlightFile("new.svm", zero_based=False, n_features=30)
    same = lazynet.load("a.lazy").set_params(warm_start=True, max_iter=1, tol=None).fit(source)
    assert np.array_equal(lazynet.load("b.lazy").coef_, same.coef_)
    assert run("train", "new.svm", "-i", "a.lazy", "-f", "c.lazy", "--l1", 1) == 2
    assert "keeps its own parameters" in capsys.readouterr().err


@pytest.mark.parametrize("grow", [True, False])
def test_one_pass_from_a_model_tells_no_loss_of_the_pass_before(folder, told, capsys, grow):
    """A model that learns from a pipe, or grows, keeps the record of its fit, which is no news."""
    assert run("train", "two.svm", "-f", "a.lazy", "--passes", 2) == 0
    assert "loss" in capsys.readouterr().out
    assert lazynet.load("a.lazy").history_
    arguments = ["train", "new.svm", "-i", "a.lazy", "-f", "b.lazy"]
    if grow:
        code, found = told(*arguments, "--grow")
        assert (code, found["progressive_loss"]) == (0, None)
        assert found["before_learning"]["loss"] > 0
        assert run(*arguments, "--grow") == 0
        assert "in the last pass" not in capsys.readouterr().out
    else:
        code, found = told(*arguments, "--passes", 1)
        history = lazynet.load("b.lazy").history_
        assert (code, found["progressive_loss"]) == (0, history[-1]["progressive_loss"])


@pytest.mark.parametrize("more", [[], ["--passes", 2], ["--grow"], ["--minimum"]])
def test_a_minimum_does_not_go_on(folder, capsys, more):
    """Neither in passes, nor to another minimum; nothing is read into a cache before."""
    assert run("train", "two.svm", "-f", "m.lazy", "--minimum", "--l1", 1e-2) == 0
    capsys.readouterr()
    assert run("train", "new.svm", "-i", "m.lazy", "-f", "n.lazy", *more) == 2
    told = "DualNetClassifier does not go on from a model: train it anew"
    assert told in capsys.readouterr().err
    assert not Path("new.svm.rows").exists()
    assert not Path("n.lazy").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--passes", 4, "--set", "max_iter=3"],
        ["--tol", 0.1, "--set", "tol=0.2"],
        ["--patience", 4, "--set", "n_iter_no_change=3"],
        ["--seed", 0, "--set", "random_state=3"],
        ["--l1", 0.1, "--set", "l1=0.2"],
        ["--l2", 0.1, "--set", " l2 = 0.2"],
        ["--loss", "hinge", "--set", "loss=log_loss"],
        ["--rule", "ftrl", "--set", "rule=rda"],
        ["--schedule", "constant", "--set", "schedule=power"],
        ["--power_t", 0.5, "--set", "schedule=power"],
        ["--eta0", 0.5, "--set", "eta0=1"],
        ["--average", "--set", "average=False"],
        ["--no-intercept", "--set", "fit_intercept=True"],
    ],
)
def test_a_parameter_is_set_once(folder, capsys, options):
    """By its option or by --set; both are refused before a row is read."""
    assert run("train", "two.svm", "-f", "m", *options) == 2
    name = options[-1].partition("=")[0].strip()
    told = f"{options[0]} and --set {name}=... both set {name}: leave one of them out"
    assert told in capsys.readouterr().err
    assert run("train", "two.svm", "-f", "m", *options[-2:], *options[-2:]) == 2
    assert f"--set {name}=... is given twice" in capsys.readouterr().err
    assert not Path("two.svm.rows").exists()


def test_every_option_of_a_parameter_is_known_to_set(folder):
    """The names of the options that --set looks for are those of the parser."""
    from lazynet.command.learning import _OPTIONS_OF

    actions = {}
    for command in ("train", "verify"):
        parser = new_parser([command])
        subparsers = next(a for a in parser._actions if a.dest == "command")
        for action in subparsers.choices[command]._actions:
            actions.setdefault(action.dest, set()).update(action.option_strings)
            # What is given can be told from what is not.
            assert action.dest not in ("passes", "seed") or action.default is None
    for name, options in _OPTIONS_OF.items():
        assert name in lazynet.LazyNetClassifier._get_param_names()
        for option in options:
            assert option in actions[option[2:].replace("-", "_")]


def test_parameters_of_a_model_that_goes_on_are_refused(folder, capsys):
    """Also by --set, and where nothing but --passes is heard."""
    assert run("train", "two.svm", "-f", "a.lazy", "--passes", 2) == 0
    for more, name in (
        (["--set", "max_iter=3"], "max_iter"),
        (["--passes", 2, "--set", "tol=0.1"], "tol"),
        (["--tol", 0.1], "tol"),
        (["--patience", 3], "n_iter_no_change"),
        (["--task", "regression"], "task"),
        (["--grow", "--l1", 1], "l1"),
    ):
        assert run("train", "new.svm", "-i", "a.lazy", "-f", "b.lazy", *more) == 2
        assert f"its own parameters: leave out the {name}" in capsys.readouterr().err
    assert not Path("b.lazy").exists()
    assert not Path("new.svm.rows").exists()


def test_several_labels_a_row(folder, capsys):
    """The option is named where it is missing, and --task labels is the same."""
    for name in ("svm", "vw"):
        Path(f"l.{name}").write_text("0,2 | 1:1\n".replace("| " * (name == "svm"), ""))
        assert run("train", f"l.{name}", "-f", "m") == 2
        err = capsys.readouterr().err
        assert f"l.{name}: line 1, column 2" in err
        assert "several labels a row, with commas between them: --multilabel" in err
    assert run("train", "labels.svm", "--multilabel", "-f", "a.lazy") == 0
    assert run("train", "labels.svm", "--task", "labels", "-f", "b.lazy") == 0
    a, b = (lazynet.load(name).coef_.toarray() for name in ("a.lazy", "b.lazy"))
    assert np.array_equal(a, b)
    assert run("test", "b.lazy", "labels.svm") == 0
    assert run("verify", "labels.svm", "--task", "labels", "--rows", 20) == 0
    for task in ("classification", "regression"):
        assert run("train", "labels.svm", "--multilabel", "--task", task, "-f", "c.lazy") == 2
        assert f"--multilabel goes with --task labels, got --task {task}" in capsys.readouterr().err


def test_several_labels_in_one_pass(folder, capsys):
    """--multilabel says what the task is."""
    for k, more in enumerate((["--multilabel"], ["--task", "labels"])):
        arguments = ["train", "labels.svm", "--grow", "--l1", 1e-4, "-f", f"{k}.lazy", *more]
        assert run(*arguments) == 0
    a, b = (lazynet.load(name).coef_.toarray() for name in ("0.lazy", "1.lazy"))
    assert np.array_equal(a, b)
    pipe = ["-", "--format", "svmlight", "--base", 1, "--features", 30, "--multilabel"]
    capsys.readouterr()
    assert run("train", *pipe, "-f", "m") == 2
    assert "write --labels N" in capsys.readouterr().err


def test_forms_give_the_same_model(folder, told):
    """svmlight, packed, rows and npz; the hash of vw gives columns from 0 on."""
    import gzip

    Path("packed.svm.gz").write_bytes(gzip.compress(Path("two.svm").read_bytes()))
    for name in ("c.rows", "c.npz", "c.vw"):
        assert told("convert", "two.svm", name)[0] == 0
    found = []
    for name in ("two.svm", "packed.svm.gz", "c.rows", "c.npz", "c.vw"):
        bits = ["-b", 5] if name == "c.vw" else []
        options = ["--passes", 2, "--l1", 1e-4, *bits]
        assert told("train", name, "-f", f"{name}.lazy", *options)[0] == 0
        found.append(lazynet.load(f"{name}.lazy").coef_[:, :30])
    assert all(np.array_equal(coef, found[0]) for coef in found)


@pytest.mark.parametrize("base", [0, 1])
def test_columns_from_0_or_1_are_remembered(folder, told, base):
    """Rows without a column 0 are read as the model's own rows."""
    X, y = rows_of(300)
    dump_svmlight_file(X, y, "own.svm", zero_based=base == 0)
    later = sparse.csr_matrix(X[:, 5:])
    later = sparse.hstack([sparse.csr_matrix((300, 5)), later]).tocsr()
    dump_svmlight_file(later, y, "later.svm", zero_based=base == 0)
    assert told("train", "own.svm", "-f", "m.lazy")[0] == 0
    assert run("predict", "m.lazy", "later.svm", "--scores", "-o", "s.txt") == 0
    expected = lazynet.load("m.lazy").decision_function(later)
    np.testing.assert_allclose(np.loadtxt("s.txt"), expected, atol=1e-12)


def test_a_file_is_parsed_once(folder, monkeypatch, told):
    """The pass that counts the columns writes the cache; later calls read no text."""
    passes = []
    plain = SvmlightFile._filled
    monkeypatch.setattr(
        SvmlightFile, "_filled",
        lambda self, parser, rows: passes.append(rows) or plain(self, parser, rows),
    )  # fmt: skip
    assert told("train", "two.svm", "-f", "m.lazy")[0] == 0
    # The first rows, which say how columns are counted, and all rows.
    assert len(passes) == 2
    assert told("train", "two.svm", "-f", "m.lazy")[0] == 0
    assert len(passes) == 3


def test_without_a_cache(folder, told):
    """--cache no leaves no file, and gives the same model; --cache FILE writes that file."""
    assert told("train", "two.svm", "-f", "a.lazy", "--cache", "no")[0] == 0
    assert not Path("two.svm.rows").exists()
    assert told("train", "two.svm", "-f", "b.lazy", "--cache", "kept.rows")[0] == 0
    assert RowsFile("kept.rows").facts().n_rows == 400
    assert np.array_equal(lazynet.load("a.lazy").coef_, lazynet.load("b.lazy").coef_)


def test_one_pass_over_text_equals_partial_fit(folder, told):
    """With all known beforehand, --cache no and --passes 1 learn from every chunk as it comes."""
    options = ["--features", 30, "--task", "classification", "--classes=0,1", "--l1", 1e-4]
    options += ["--passes", 1, "--cache", "no"]
    assert told("train", "two.svm", "-f", "m.lazy", *options)[0] == 0
    X, y = rows_of(400)
    same = lazynet.LazyNetClassifier(l1=1e-4, random_state=0).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(lazynet.load("m.lazy").coef_, same.coef_, atol=1e-12)


# --- the other commands ------------------------------------------------------------------------


def test_scores(folder, told):
    """Loss, accuracy, F1 and R^2 are scikit-learn's."""
    from sklearn.metrics import f1_score, mean_absolute_error, r2_score

    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    code, found = told("test", "m.lazy", "new.svm")
    model, (X, y, _) = lazynet.load("m.lazy"), read("new.svm")
    assert code == 0
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    assert found["f1"] == pytest.approx(f1_score(y, model.predict(X)))
    margins = (2 * y - 1) * model.decision_function(X)
    assert found["loss"] == pytest.approx(np.logaddexp(0, -margins).mean())
    assert told("test", "m.lazy", "new.svm", "--at-least", 1.01)[0] == 1
    assert told("test", "m.lazy", "new.svm", "--at-least", 0.1)[0] == 0

    assert run("train", "numbers.svm", "-f", "n.lazy", "--quiet") == 0
    found = told("test", "n.lazy", "numbers.svm")[1]
    X, y, _ = read("numbers.svm")
    guess = lazynet.load("n.lazy").predict(X)
    assert found["r2"] == pytest.approx(r2_score(y, guess))
    assert found["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, guess))

    assert run("train", "labels.svm", "--multilabel", "-f", "l.lazy", "--quiet") == 0
    found = told("test", "l.lazy", "labels.svm")[1]
    chunk = next(SvmlightFile("labels.svm", zero_based=False, multilabel=True).chunks(200))
    guess = lazynet.load("l.lazy").predict(chunk.X)
    assert found["f1_micro"] == pytest.approx(f1_score(chunk.y, guess, average="micro"))


def test_predictions(folder, capsys):
    """Lines of classes, probabilities, scores, the best K, numbers and labels."""
    assert run("train", "three.svm", "-f", "m.lazy", "--quiet") == 0
    model, X = lazynet.load("m.lazy"), read("three.svm").X
    capsys.readouterr()

    def lines(*options):
        assert run("predict", "m.lazy", "three.svm", *options) == 0
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    assert [float(line[0]) for line in lines()] == model.predict(X).tolist()
    assert np.array_equal(np.array(lines("--proba"), dtype=float), model.predict_proba(X))
    assert np.array_equal(np.array(lines("--scores"), dtype=float), model.decision_function(X))
    labels, scores = model.predict_top(X, 2)
    found = [[pair.split(":") for pair in line] for line in lines("--top", 2)]
    assert np.array_equal(np.array(found, dtype=float)[..., 0], labels)
    assert np.array_equal(np.array(found, dtype=float)[..., 1], scores)


def test_inspect(folder, told, capsys):
    """The heaviest features by their numbers in the file or by names, and the history."""
    assert run("train", "three.svm", "-f", "m.lazy", "--quiet", "--l1", 1e-3) == 0
    model = lazynet.load("m.lazy")
    found = told("inspect", "m.lazy", "--class", 1, "--top", 1)[1]
    heaviest = int(np.abs(model.coef_[1]).argmax())
    assert found["heaviest"] == {"1": [[str(heaviest + 1), model.coef_[1, heaviest]]]}
    assert found["nonzeros"] == np.count_nonzero(model.coef_)
    assert found["history"] == model.history_
    Path("names.txt").write_text("".join(f"word{j}\n" for j in range(30)))
    assert run("inspect", "m.lazy", "--names", "names.txt") == 0
    out = capsys.readouterr().out
    assert f"word{heaviest}  " in out
    assert "progressive loss of" in out
    assert " | " in out or " |*" in out
    assert run("inspect", "m.lazy", "--class", "spam") == 2


def test_inspect_shows_the_first_of_many_outputs(folder, told, capsys):
    """How many there are is said, and which options show more; JSON has all of them."""
    text = "".join(f"{k},{(k + 1) % 40} {k % 30 + 1}:1\n" for k in range(200) for k in [k % 40])
    Path("many.svm").write_text(text)
    assert run("train", "many.svm", "--multilabel", "--l1", 0, "-f", "m.lazy", "--quiet") == 0
    capsys.readouterr()
    for more, shown in (([], 10), (["--outputs", 3], 3), (["--outputs", 39], 39)):
        assert run("inspect", "m.lazy", *more) == 0
        out = capsys.readouterr().out
        assert out.count("heaviest features of") == shown
        told_more = f"... and {40 - shown} of 40 outputs more: --outputs N shows the first N, "
        assert told_more + "--class LABEL shows one" in out
    for more, shown in ((["--outputs", 40], 40), (["--class", 25], 1)):
        assert run("inspect", "m.lazy", *more) == 0
        out = capsys.readouterr().out
        assert out.count("heaviest features of") == shown
        assert "outputs more" not in out
    assert len(told("inspect", "m.lazy")[1]["heaviest"]) == 40


def test_curves():
    """Long and flat histories, and numbers that are not finite."""
    assert curve([]) == []
    assert curve([1.0, 1.0]) == ["1 | * *"]
    assert curve([np.nan, np.inf]) == []
    assert all(len(line) <= 80 for line in curve(np.linspace(1e9, 1e-9, 500)))
    assert sum(line.count("*") for line in curve(np.linspace(5, 1, 500))) == 60


def test_verify(folder, told, monkeypatch, capsys):
    """A model's parameters and those of options; exit code 1 for an engine that is wrong."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    code, found = told("verify", "two.svm", "--model", "m.lazy", "--rows", 40)
    assert (code, found["agrees"], found["rows"]) == (0, True, 40)
    assert found["greatest_absolute"] <= found["bound"]
    assert run("verify", "numbers.svm", "--rule", "fobos", "--l1", 0.01, "--passes", 2) == 0
    assert "agree after every one" in capsys.readouterr().out
    assert run("verify", "two.svm", "--model", "m.lazy", "--l1", 1) == 2

    from lazynet.engines.adagrad import AdaGradEngine

    right = AdaGradEngine.weights
    monkeypatch.setattr(AdaGradEngine, "weights", lambda self: 1.001 * right(self))
    assert told("verify", "two.svm", "--model", "m.lazy")[0] == 1


def test_paths(folder, told, capsys):
    """The points of net_path, and a penalty chosen by folds."""
    _, found = told("path", "two.svm", "--points", 4)
    X, y, _ = read("two.svm")
    path = lazynet.net_path(X, y, n_points=4, random_state=0)
    assert [point["l1"] for point in found["points"]] == path.l1s.tolist()
    assert [point["nonzeros"] for point in found["points"]] == path.nonzeros.tolist()
    assert run("path", "three.svm", "--points", 3, "--folds", 3, "-f", "m.lazy") == 0
    assert "chosen l1" in capsys.readouterr().out
    assert type(lazynet.load("m.lazy")).__name__ == "DualNetClassifierCV"
    assert run("test", "m.lazy", "three.svm") == 0
    assert run("path", "three.svm", "--points", 3) == 2
    assert "--folds" in capsys.readouterr().err


@pytest.mark.parametrize("cache", ["auto", "no", "own.rows"])
def test_a_path_is_that_of_rows_in_memory(folder, told, cache, monkeypatch):
    """The rows are mapped from temporary files, which are gone; also for the folds."""
    X, y, _ = read("two.svm")
    mapped = []
    plain = Mapped._make
    monkeypatch.setattr(Mapped, "_make", lambda rows: mapped.append(rows) or plain(rows))
    own = {"auto": {"two.svm.rows"}, "no": set(), "own.rows": {"own.rows"}}[cache]
    before = {path.name for path in folder.iterdir()}
    _, found = told("path", "two.svm", "--points", 4, "--l1-ratio", 0.5, "--cache", cache)
    assert mapped
    path = lazynet.net_path(X, y, n_points=4, l1_ratio=0.5, random_state=0)
    for name, values in (("l2", path.l2s), ("objective", path.objectives), ("gap", path.gaps)):
        assert [point[name] for point in found["points"]] == values.tolist()
    assert {path.name for path in folder.iterdir()} == before | own
    chosen = ("--points", 3, "--folds", 3, "-f", "m.lazy")
    mapped.clear()
    _, found = told("path", "two.svm", *chosen, "--cache", cache)
    assert mapped
    model = lazynet.DualNetClassifierCV(
        loss="log_loss", l1_ratios=[1.0], n_points=3, smallest=1e-2, cv=3, random_state=0
    ).fit(X, y)
    assert [point["loss"] for point in found["points"]] == model.means_[0].tolist()
    np.testing.assert_array_equal(lazynet.load("m.lazy").coef_, model.coef_)


def test_a_path_over_files_without_rows_is_refused(folder, capsys):
    """With the cache, and without."""
    Path("none.svm").write_text("")
    for cache in ("auto", "no"):
        assert run("path", "none.svm", "--base", 1, "--cache", cache) == 2
        assert "not one row in none.svm" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["svm", "vw", "rows", "npz"])
def test_conversions_lose_no_bit(folder, told, form):
    """Weights of rows too, where the form has them."""
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.normal()!r} {rng.random()!r} | 3:{rng.normal()!r} 7:1e-300\n" for _ in range(50)
    ]
    if form == "svm":
        lines = [line.split(" ")[0] + " |" + line.partition("|")[2] for line in lines]
    Path("a.vw").write_text("".join(lines))
    code, found = told("convert", "a.vw", f"b.{form}", "-b", 4)
    assert (code, found["rows"]) == (0, 50)
    weights = {"npz": ["--weight", "b.weight.npy"]}.get(form, [])
    back = ["--features", 16] if form == "svm" else ["-b", 4] if form == "vw" else []
    assert told("convert", f"b.{form}", "c.rows", *weights, *back)[0] == 0
    one, other = next(VWFile("a.vw", bits=4).chunks(50)), next(RowsFile("c.rows").chunks(50))
    assert (one.X != other.X).nnz == 0
    assert np.array_equal(one.y, other.y)
    if form != "svm":
        assert np.array_equal(one.weight, other.weight)


def test_parquet(folder, told):
    """Tables with lists, and there and back."""
    pytest.importorskip("pyarrow")
    assert told("convert", "two.svm", "t.parquet")[0] == 0
    lists = ["--target", "target", "--indices", "indices", "--values", "values", "--features", 30]
    assert told("train", "t.parquet", "-f", "m.lazy", *lists)[0] == 0
    assert told("test", "m.lazy", "t.parquet")[0] == 0


def test_parquet_without_pyarrow(folder, capsys):
    """The error of the library."""
    if not pytest.importorskip("importlib.util").find_spec("pyarrow"):
        assert run("convert", "two.svm", "t.parquet") == 2
        assert "pip install pyarrow" in capsys.readouterr().err


def test_labels_that_a_file_lacks(folder, told, capsys):
    """Fewer labels in new rows are the model's labels; rows of one label are refused."""
    assert run("train", "labels.svm", "--multilabel", "-f", "m.lazy", "--quiet") == 0
    Path("few.svm").write_text("0 1:1\n 2:1\n")
    assert told("test", "m.lazy", "few.svm")[1]["rows"] == 2
    assert told("convert", "two.svm", "two.rows")[0] == 0
    assert told("convert", "labels.svm", "labels.npz", "--multilabel")[0] == 0
    assert told("train", "labels.npz", "-f", "n.lazy")[0] == 0
    assert np.array_equal(
        lazynet.load("m.lazy").coef_.toarray(), lazynet.load("n.lazy").coef_.toarray()
    )
    assert run("test", "n.lazy", "two.rows") == 2
    assert "30 columns" in capsys.readouterr().err


def test_a_note_that_is_not_as_it_must_be(folder, capsys):
    """The file of a model may come from anywhere."""
    from lazynet.models import files

    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    model = lazynet.load("m.lazy")
    for note, message in (('{"base": "1"}', "its base is '1'"), ("[", "JSON"), ("[1]", None),
                          ('{"format": "other"}', None)):  # fmt: skip
        files.save(model, "n.lazy", True, note)
        assert run("test", "n.lazy", "two.svm") == (0 if message is None else 2)
        assert message is None or message in capsys.readouterr().err


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "none.svm", "-f", "m"], "there is no file 'none.svm'"),
        (["train", "bad.svm", "-f", "m"], "bad.svm: line 2, column 9: expected a finite number"),
        (["train", "two.svm", "-f", "none/m"], "there is no folder"),
        (["train", "two.svm", "-f", "."], "is a directory"),
        (["train", "rows.txt", "-f", "m"], "write --format"),
        (["train", "two.svm", "c.vw", "-f", "m"], "different forms"),
        (["train", "two.svm", "-f", "m", "--l1", "-1"], "l1 must be"),
        (["train", "two.svm", "-f", "m", "--loss", "quantile"], "absolute_error"),
        (["train", "two.svm", "-f", "m", "--rule", "ftrl(1)"], "--rule must be"),
        (["train", "two.svm", "-f", "m", "--rule", "ftrl(beta2=1)"], "beta2"),
        (["train", "two.svm", "-f", "m", "--set", "gamma=1"], "no parameter 'gamma'"),
        (["train", "two.svm", "-f", "m", "--set", "gamma"], "NAME=VALUE"),
        (["train", "two.svm", "-f", "m", "--holdout", "1"], "--holdout"),
        (["train", "numbers.svm", "-f", "m", "--task", "classification"], "continuous"),
        (["train", "two.svm", "-f", "m", "--loss", "none"], "loss must be"),
        (["test", "two.svm", "two.svm"], "two.svm is"),
        (["test", "none.lazy", "two.svm"], "none.lazy"),
        (["predict", "none.lazy", "two.svm"], "none.lazy"),
        (["verify", "two.svm", "--rows", "0"], "--rows"),
        (["convert", "two.svm", "two.svm"], "one of the files to read"),
        (["convert", "two.svm", "rows.other"], "write --format"),
        (["inspect", "none.lazy"], "none.lazy"),
        (["path", "labels.svm", "--multilabel"], "several labels"),
        (["path", "bad.svm", "--multilabel"], "several labels"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(folder, capsys, arguments, message):
    """Exit code 2 and one message without a traceback; no output is made."""
    Path("bad.svm").write_text("1 1:2\n0 1:2 3:x\n")
    Path("rows.txt").write_text("1 1:2\n")
    Path("c.vw").write_text("1 | 1:2\n")
    before = set(folder.iterdir())
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    made = {path.name for path in set(folder.iterdir()) - before}
    assert made <= {"two.svm.rows", "numbers.svm.rows"}


OVER_OTHERS = {
    "a model over the rows": (
        ["train", "two.svm", "-f", "./two.svm"], "--model ./two.svm is one of the files to read",
    ),
    "a model over one of several files": (
        ["train", "three.svm", "*w*.svm", "-f", "new.svm"], "--model new.svm is one of the files",
    ),
    "a model over labels": (["train", "x.npz", "-f", "x.y.npy"], "--model x.y.npy is one of the"),
    "a model over its cache": (["train", "two.svm", "-f", "two.svm.rows"], "name the same file"),
    "a checkpoint over the rows": (
        ["train", "two.svm", "-f", "m", "--checkpoint", "two.svm"], "--checkpoint two.svm is one",
    ),
    "a checkpoint and a model": (
        ["train", "two.svm", "-f", "m", "--checkpoint", "./m"],
        "--model and --checkpoint name the same file",
    ),
    "a checkpoint over a model": (
        ["train", "two.svm", "-f", "m", "-i", "old.lazy", "--checkpoint", "old.lazy"],
        "--checkpoint old.lazy is one of the files to read",
    ),
    "a checkpoint over other rows": (
        ["train", "two.svm", "-f", "m", "--checkpoint", "new.svm"],
        "new.svm is no checkpoint of lazynet, and is left as it is: name another file",
    ),
    "a cache over the rows": (
        ["train", "two.svm", "-f", "m", "--cache", "two.svm"], "two.svm is one of the files to",
    ),
    "a cache over other rows": (
        ["train", "-c", "new.svm", "two.svm", "-f", "m"],
        "--cache (-c) takes the name of the file for the parsed rows, and has taken new.svm",
    ),
    "a cache that takes all files": (
        ["train", "-c", "two.svm", "-f", "m"], "--cache has taken two.svm as its own",
    ),
    "a cache of this name is a text": (
        ["train", "kept.svm", "-f", "m"], "kept.svm.rows: the file does not begin as rows",
    ),
    "a cache over a model": (
        ["train", "two.svm", "-f", "m", "-i", "old.lazy", "-c", "old.lazy"], "has taken old.lazy",
    ),
    "a cache of a path over other rows": (
        ["path", "two.svm", "--cache", "new.svm"], "has taken new.svm",
    ),
    "a model of a path over the rows": (
        ["path", "two.svm", "--folds", "3", "-f", "two.svm"], "--model two.svm is one of the files",
    ),
    "predictions over the rows": (
        ["predict", "old.lazy", "two.svm", "-o", "two.svm"], "--output two.svm is one of the files",
    ),
    "predictions over the model": (
        ["predict", "old.lazy", "two.svm", "-o", "./old.lazy"], "--output ./old.lazy is one of",
    ),
    "a conversion over the rows": (
        ["convert", "two.svm", "./two.svm"], "OUTPUT ./two.svm is one of the files to read",
    ),
    "a conversion whose labels go over labels": (
        ["convert", "x.npz", "other.npz", "--target", "other.y.npy"],
        "the file beside OUTPUT, other.y.npy is one of the files to read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OVER_OTHERS)
def test_no_output_takes_the_place_of_another_file(folder, capsys, name):
    """The option and the file are named, and every file is as it was."""
    arguments, message = OVER_OTHERS[name]
    assert run("train", "two.svm", "-f", "old.lazy", "--passes", 1, "--cache", "no") == 0
    assert run("convert", "new.svm", "x.npz") == run("convert", "new.svm", "other.npz") == 0
    Path("kept.svm").write_bytes(Path("two.svm").read_bytes())
    Path("kept.svm.rows").write_text("my own rows")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_model_may_take_the_place_of_the_one_before(folder):
    """-i and -f may name one file, which is written when the new model is complete."""
    assert run("train", "two.svm", "-f", "m.lazy", "--passes", 1) == 0
    for name in ("n.lazy", "m.lazy"):
        assert run("train", "new.svm", "-i", "m.lazy", "-f", name, "--passes", 1) == 0
    assert np.array_equal(lazynet.load("m.lazy").coef_, lazynet.load("n.lazy").coef_)


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n"])
def test_files_without_rows_are_named(folder, capsys, text):
    """By every command that needs a row, and without a guess of what the labels are."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    Path("none.svm").write_text(text)
    before = set(folder.iterdir())
    capsys.readouterr()
    for arguments in (
        ["train", "none.svm", "-f", "n"],
        ["train", "none.svm", "-f", "n", "--cache", "no", "--task", "regression"],
        ["train", "none.svm", "-f", "n", "--minimum"],
        ["train", "none.svm", "-f", "n", "--holdout", 2],
        ["train", "none.svm", "-f", "n", "--grow", "--task", "regression", "--l1", 0],
        ["test", "m.lazy", "none.svm"],
        ["verify", "none.svm"],
        ["path", "none.svm"],
    ):
        assert run(*arguments) == 2
        name = arguments[0]
        told = f"lazynet {name}: error: there is not one row in none.svm\n"
        assert capsys.readouterr().err == told
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "-", "-f", "m", "--features", "30", "--task", "regression"], "standard input"),
        (["path", "-"], "standard input"),
        (["train", "x.npz", "-f", "m"], "a file of this form"),
        (["train", "two.svm", "-f", "m", "--grow", "--task", "regression"], "--grow reads them"),
    ],
)
def test_a_cache_that_nobody_would_read_is_refused(folder, capsys, arguments, message):
    """--cache FILE is not passed over."""
    assert run("convert", "new.svm", "x.npz") == 0
    more = ["--format", "svmlight", "--base", 1] if "-" in arguments else []
    assert run(*arguments, *more, "--cache", "kept.rows") == 2
    err = capsys.readouterr().err
    assert "--cache kept.rows keeps" in err
    assert message in err
    assert not Path("kept.rows").exists()


@pytest.mark.parametrize(
    ("arguments", "option", "least"),
    [
        (["train", "two.svm", "-f", "m"], "--passes", 1),
        (["train", "two.svm", "-f", "m"], "--patience", 1),
        (["train", "two.svm", "-f", "m"], "--shuffle", 1),
        (["train", "two.svm", "-f", "m"], "--holdout", 2),
        (["train", "two.svm", "-f", "m"], "--features", 1),
        (["train", "labels.svm", "-f", "m", "--multilabel"], "--labels", 1),
        (["path", "two.svm"], "--points", 1),
        (["path", "two.svm"], "--folds", 2),
        (["verify", "two.svm"], "--rows", 1),
        (["verify", "two.svm"], "--passes", 1),
        (["predict", "m.lazy", "two.svm"], "--top", 1),
        (["inspect", "m.lazy"], "--top", 0),
        (["inspect", "m.lazy"], "--outputs", 1),
    ],
)
def test_numbers_that_are_too_small_are_refused_by_their_options(
    folder, capsys, arguments, option, least
):
    """The error has the name that the user has written, and comes before a file is read."""
    for given in (least - 1, "many"):
        assert run(*arguments, option, given) == 2
        told = f"{option}: must be a whole number from {least} on, got {given}"
        assert told in capsys.readouterr().err.replace("--holdout/--holdout_period", "--holdout")
    assert not Path("two.svm.rows").exists()


@pytest.mark.parametrize("option", sorted(_HINTS))
def test_hints_for_options_of_vw(folder, capsys, option):
    """An option of vw that is not here has exit code 2 and a hint."""
    assert run("train", "two.svm", "-f", "m", option) == 2
    assert _HINTS[option] in capsys.readouterr().err
    assert not Path("m").exists()


def test_nothing_is_executed():
    """Parameters in brackets are literals."""
    called = "ftrl(alpha=__import__('os'))"
    for text in (called, "ftrl(**{})", "ftrl(alpha=1)()", "os.system('x')"):
        with pytest.raises(ValueError, match="--rule"):
            object_of("--rule", text, {"ftrl": FTRL})


def test_usage(capsys):
    """--help teaches with examples; wrong usage has exit code 2."""
    assert run("--help") == 0
    assert "exit codes" in capsys.readouterr().out
    for command in COMMANDS:
        assert run(command, "--help") == 0
        assert "examples:" in capsys.readouterr().out
        assert run(command) == 2
    assert run() == 2
    assert run("learn") == 2
    assert run("--version") == 0


def test_unknown_labels_and_columns(folder, capsys):
    """Rows that the model cannot know are refused by name."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    assert run("test", "m.lazy", "three.svm") == 2
    assert "the label 2" in capsys.readouterr().err
    sparse.save_npz("wide.npz", sparse.eye(31, format="csr"), compressed=False)
    assert run("predict", "m.lazy", "wide.npz") == 2
    assert "31 columns" in capsys.readouterr().err


def test_rows_of_another_form_are_refused(folder, capsys):
    """A hashed feature has another column than the feature of svmlight's form."""
    lines = Path("new.svm").read_text().splitlines()
    rows = [f"{1 if line[0] == '1' else -1} |{line[1:]}" for line in lines]
    Path("new.vw").write_text("\n".join(rows) + "\n")
    assert run("train", "new.vw", "-f", "m.lazy", "--quiet") == 0
    for command in ("test", "predict"):
        assert run(command, "m.lazy", "new.svm") == 2
        assert "new.svm has rows of svmlight's form" in capsys.readouterr().err
    assert run("test", "m.lazy", "new.vw") == 0
    assert run("predict", "m.lazy", "new.svm", "--format", "svmlight", "--base", 0, "--quiet") == 0


def test_words_that_no_text_had_before(folder, capsys, told):
    """A column beyond those of the model has the weight 0, and a note counts such values."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    lines = Path("new.svm").read_text().splitlines()
    wide = [line + (f" 31:{k} 900000:2" if k % 3 else "") for k, line in enumerate(lines)]
    Path("wide.svm").write_text("\n".join(wide) + "\n")
    found = []
    for name in ("new.svm", "wide.svm"):
        capsys.readouterr()
        assert run("predict", "m.lazy", name, "--scores") == 0
        found.append(capsys.readouterr())
    assert found[0].out == found[1].out
    assert not found[0].err
    assert "note: 132 values belong to features that the model does not know" in found[1].err
    scores = [told("test", "m.lazy", name)[1] for name in ("new.svm", "wide.svm")]
    assert scores[0]["loss"] == scores[1]["loss"]
    assert scores[0]["rows"] == scores[1]["rows"]
    assert run("predict", "m.lazy", "wide.svm", "--quiet") == 0
    assert not capsys.readouterr().err


def test_a_pipe_has_to_be_told_more(folder, capsys):
    """What one pass cannot find out is asked for by the name of its option."""
    given = ["train", "-", "-f", "m", "--format", "svmlight"]
    for more, missing in (
        ([], "--base"),
        (["--base", 1], "--features"),
        (["--base", 1, "--features", 30], "--task"),
        (["--base", 1, "--features", 30, "--task", "classification"], "--classes"),
        (["--base", 1, "--features", 30, "--passes", 2], "one pass"),
        (["--base", 1, "--features", 30, "--holdout", 2], "--holdout"),
    ):
        assert run(*given, *more) == 2
        assert missing in capsys.readouterr().err


# --- processes ---------------------------------------------------------------------------------


def started(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "lazynet", *map(str, arguments)], env=HERE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A job in the background would not hear Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options,
    )  # fmt: skip


@posix
def test_ctrl_c_leaves_the_model_as_it_was(folder):
    """Exit code 130, JSON lines of progress before, and no half-written file."""
    Path("m.lazy").write_text("what stood there")
    process = started("train", "two.svm", "-f", "m.lazy", "--passes", 10**6, "--progress", 0.05)
    for line in process.stderr:
        if line.startswith('{"progress"') and json.loads(line)["progress"].startswith("pass"):
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "m.lazy is as it was" in err
    assert "Traceback" not in err
    assert Path("m.lazy").read_text() == "what stood there"
    assert not [path for path in folder.iterdir() if path.suffix in (".tmp", ".part")]


@posix
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_run_that_was_stopped_goes_on(folder, told, name):
    """The same command ends with the bits of a run that nobody stopped; Ctrl-C says so."""
    command = ["train", "two.svm", "--passes", 500, "--l1", 1e-3]
    arguments = [*command, "-f", "m.lazy", "--checkpoint", "run.lazy", "--every", 0]
    process = started(*arguments, "--progress", 0)
    for _ in process.stderr:
        if Path("run.lazy").exists():
            break
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert Path("run.lazy").exists()
    assert not Path("m.lazy").exists()
    if name == "SIGINT":
        assert "run.lazy keeps the run, and the same command goes on" in err
    (code, found), (whole_code, whole) = told(*arguments), told(*command, "-f", "whole.lazy")
    assert code == whole_code == 0
    # The passes of the first process did not take the seconds of the second one.
    assert (found["went_on"], found["rows_per_second"]) == (True, None)
    speed = 400 * 500 / whole["seconds"]
    assert (whole["went_on"], whole["rows_per_second"]) == (False, speed)
    assert not Path("run.lazy").exists()
    m, whole = lazynet.load("m.lazy"), lazynet.load("whole.lazy")
    assert np.array_equal(m.coef_, whole.coef_)
    assert m.n_iter_ == whole.n_iter_ == 500


def test_a_checkpoint_of_another_command_is_refused(folder, capsys):
    """Options of the checkpoint that lead nowhere are refused too."""
    assert run("train", "two.svm", "-f", "m.lazy", "--every", 5) == 2
    assert "--every needs --checkpoint" in capsys.readouterr().err
    Path("run.lazy").write_text("something else")
    assert run("train", "two.svm", "-f", "m.lazy", "--checkpoint", "run.lazy") == 2
    assert "run.lazy" in capsys.readouterr().err
    assert Path("run.lazy").read_text() == "something else"
    assert not Path("m.lazy").exists()
    assert run("train", "two.svm", "-f", "run.lazy", "--passes", 1) == 0
    capsys.readouterr()
    assert run("train", "two.svm", "-f", "m.lazy", "--checkpoint", "run.lazy") == 2
    err = capsys.readouterr().err
    assert "run.lazy is no checkpoint of lazynet, and is left as it is" in err
    assert "name another file by --checkpoint\n" in err
    assert not Path("m.lazy").exists()


@posix
def test_ctrl_c_saves_what_a_pipe_has_taught(folder):
    """The model of a pipe has learned from whole chunks, and goes on."""
    lines = Path("two.svm").read_text() * 200
    options = ["--format", "svmlight", "--base", 1, "--features", 30, "--classes=0,1",
               "--task", "classification", "--progress", 0]  # fmt: skip
    process = started("train", "-", "-f", "m.lazy", *options, stdin=subprocess.PIPE)
    process.stdin.write(lines)
    process.stdin.flush()
    # When the second chunk comes, the first one has been learned.
    chunks = 0
    for line in process.stderr:
        chunks += line.startswith('{"progress"')
        if chunks == 2:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "-i m.lazy goes on" in err
    assert lazynet.load("m.lazy").t_ in (32_768, 65_536)


@posix
def test_whoever_reads_may_stop(folder):
    """A closed pipe ends the command without a word."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    Path("many.svm").write_text(Path("two.svm").read_text() * 200)
    process = started("predict", "m.lazy", "many.svm", "--scores")
    assert process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 0
    assert err == ""


@posix
def test_a_pipe_is_predicted(folder):
    """Rows from standard input to standard output."""
    assert run("train", "two.svm", "-f", "m.lazy", "--quiet") == 0
    process = started("predict", "m.lazy", "-", "--format", "svmlight", stdin=subprocess.PIPE)
    out, _ = process.communicate(Path("new.svm").read_text(), timeout=60)
    assert process.returncode == 0
    X, _ = rows_of(100, seed=1)
    assert [float(line) for line in out.split()] == lazynet.load("m.lazy").predict(X).tolist()


def test_a_run_that_goes_on_tells_no_speed(folder, capsys, monkeypatch):
    """Its rows were read by two processes, and its seconds are those of the second one."""
    from lazynet.models.checkpoints import FileKeeper

    arguments = ["train", "two.svm", "-f", "m.lazy", "--passes", 3, "--checkpoint", "run.lazy"]

    def stop(keeper):
        keeper._write()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FileKeeper, "point", stop)
        assert run(*arguments, "--every", 0) == 130
    capsys.readouterr()
    assert run(*arguments, "--every", 0) == 0
    out = capsys.readouterr().out
    assert "since the run went on" in out
    assert "a second" not in out


@posix
def test_a_path_over_a_pipe_keeps_the_importances(folder, told):
    """Of rows of Vowpal Wabbit's form, which weigh as they do in a file."""
    rng = np.random.default_rng(0)
    lines = [line.split(" ", 1) for line in Path("two.svm").read_text().splitlines()]
    rows = [f"{label} {rng.integers(1, 9)} | {features}\n" for label, features in lines]
    Path("heavy.vw").write_text("".join(rows))
    Path("light.vw").write_text("".join(f"{label} | {row}\n" for label, row in lines))
    options = ("-b", 5, "--points", 3)
    (_, heavy), (_, light) = (told("path", f"{name}.vw", *options) for name in ("heavy", "light"))
    assert heavy != light
    command = ("path", "-", "--format", "vw", *options, "--json")
    process = started(*command, stdin=subprocess.PIPE)
    out, err = process.communicate("".join(rows), timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out) == heavy


@posix
def test_a_path_over_a_pipe(folder, told):
    """What a pipe gives once is kept in temporary files."""
    _, wanted = told("path", "two.svm", "--points", 3)
    command = ("path", "-", "--format", "svmlight", "--base", 1, "--points", 3, "--json")
    process = started(*command, stdin=subprocess.PIPE)
    out, err = process.communicate(Path("two.svm").read_text(), timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out) == wanted


def wider_and_wider(folder):
    """Three files of rows, whose columns go up to 10, 20 and 30."""
    X, y = rows_of(300)
    for k in range(3):
        some = slice(100 * k, 100 * (k + 1))
        dump_svmlight_file(X[some, : 10 * (k + 1)], y[some], f"{k}.svm", zero_based=False)
    return [SvmlightFile(f"{k}.svm", zero_based=False) for k in range(3)]


def test_a_model_that_grows(folder, told, monkeypatch):
    """With --grow a pass over new rows adds their columns; the model is that of partial_fit."""
    monkeypatch.setattr("lazynet.command.one_pass._ROWS_OF_A_CHUNK", 40)
    same = lazynet.LazyNetClassifier(l1=1e-4, random_state=0, shuffle=False)
    options = ["--task", "classification", "--classes=0,1", "--l1", 1e-4, "--set", "shuffle=False"]
    for k, source in enumerate(wider_and_wider(folder)):
        same.partial_fit(Growing(source), classes=[0, 1])
        given = options if k == 0 else ["-i", f"{k - 1}.lazy"]
        code, found = told("train", f"{k}.svm", "--grow", "-f", f"{k}.lazy", *given)
        assert code == 0
        assert (found["features"], found["rows"]) == (10 * (k + 1), 100)
        model = lazynet.load(f"{k}.lazy")
        np.testing.assert_array_equal(model.coef_, same.coef_)
        assert not Path(f"{k}.svm.rows").exists()
    # Rows that have fewer columns than the model, and a matrix with more.
    assert told("train", "0.svm", "--grow", "-i", "2.lazy", "-f", "3.lazy")[1]["features"] == 30
    sparse.save_npz("wide.npz", rows_of(50, d=40)[0], compressed=False)
    np.save("wide.y.npy", rows_of(50, d=40)[1].astype(float))
    code, found = told("train", "wide.npz", "--grow", "-i", "3.lazy", "-f", "4.lazy")
    assert (code, found["features"]) == (0, 40)
    assert run("train", "wide.npz", "-i", "3.lazy", "-f", "5.lazy") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["two.svm", "--features", 30], "leave one of them out"),
        (["two.svm", "--passes", 2], "--grow serves for one pass"),
        (["two.svm", "--holdout", 3], "--holdout needs files that are read again"),
        (["two.svm", "--minimum"], "--minimum needs files that are read again"),
        (["two.svm"], "write --task"),
        (["c.vw"], "--grow is for files that number their columns"),
        (["two.svm", "-i", "units.lazy"], "units of their own"),
        (["two.svm", "-i", "minimum.lazy"], "does not go on from a model: train it anew"),
    ],
)
def test_what_does_not_go_with_growing(folder, capsys, options, message):
    """The message says what to write."""
    Path("c.vw").write_text("1 | 1:2\n")
    X, y = rows_of(300, d=10)
    dump_svmlight_file(X, y, "few.svm", zero_based=False)
    lazynet.LazyNetRegressor().fit(X.toarray(), X @ np.arange(10.0)).save("units.lazy")
    minimum = ("--minimum", "--l1", 1e-2, "-f", "minimum.lazy", "--quiet")
    assert run("train", "few.svm", *minimum) == 0
    capsys.readouterr()
    assert run("train", "--grow", "-f", "m.lazy", *options) == 2
    assert message in capsys.readouterr().err
    assert not Path("m.lazy").exists()


@posix
def test_a_pipe_of_any_width(folder, told):
    """With --grow nobody has to know how many columns a pipe has."""
    options = ["--format", "svmlight", "--base", 1, "--classes=0,1", "--task", "classification"]
    command = ("train", "-", "-f", "m.lazy", *options, "--l1", 1e-4)
    process = started(*command, "--grow", stdin=subprocess.PIPE)
    _, err = process.communicate(Path("two.svm").read_text(), timeout=60)
    assert process.returncode == 0, err
    process = started(*command, "--features", 30, stdin=subprocess.PIPE)
    grown = lazynet.load("m.lazy")
    process.communicate(Path("two.svm").read_text(), timeout=60)
    np.testing.assert_array_equal(lazynet.load("m.lazy").coef_, grown.coef_)


def test_a_folder_that_cannot_be_written(folder, capsys, monkeypatch):
    """A cache that cannot be kept is told, and the text is parsed in every pass."""
    text = Path("two.svm").read_bytes()

    locked = [".m.lazy.", ".two.svm.rows."]

    def guarded(path, mode):
        if Path(path).name.startswith(tuple(locked)):
            raise PermissionError(13, "Permission denied")
        return open(path, mode)

    monkeypatch.setattr("lazynet.whole_files.open", guarded, raising=False)
    assert run("train", "two.svm", "-f", "m.lazy") == 2
    assert "m.lazy cannot be written: Permission denied" in capsys.readouterr().err
    locked.remove(".m.lazy.")
    assert run("train", "two.svm", "-f", "m.lazy") == 0
    assert "two.svm.rows cannot be written: Permission denied" in capsys.readouterr().err
    assert Path("two.svm").read_bytes() == text
    assert not Path("two.svm.rows").exists()


def test_a_line_of_progress_on_a_terminal(folder, monkeypatch):
    """The line is rewritten, and wiped at the end."""
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert run("train", "two.svm", "-f", "m.lazy", "--passes", 3, "--progress", 0) == 0
    drawn = screen.getvalue()
    assert "\rreading into " in drawn
    assert "pass 2: 400 rows of 400 (100%)" in drawn
    assert "in the pass before" in drawn
    assert drawn.endswith("\r")
    assert '{"progress"' not in drawn


def test_the_minimum_of_mapped_rows_is_that_of_rows_in_memory(folder, told):
    """Without and with a cache; and a fit that holds rows out and balances the classes."""
    X, y = load_svmlight_file("two.svm", n_features=30, zero_based=False)
    wanted = lazynet.DualNetClassifier(l1=1e-2, l2=0.0, random_state=0).fit(X, y)
    for cache in ("auto", "no"):
        code, _ = told(
            "train", "two.svm", "-f", "m.lazy", "--minimum", "--l1", 1e-2, "--l2", 0,
            "--features", 30, "--cache", cache,
        )  # fmt: skip
        assert code == 0
        np.testing.assert_array_equal(lazynet.load("m.lazy").coef_, wanted.coef_)
    given = ("--set", "early_stopping=True", "--set", "class_weight='balanced'")
    assert told("train", "two.svm", "-f", "m.lazy", *given)[0] == 0
    assert all("validation_loss" in line for line in lazynet.load("m.lazy").history_)
