"""The command line: every subcommand and option, bad input, Ctrl-C, closed pipes, exit codes."""

import contextlib
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score, mean_absolute_error, r2_score
from support.matrices import make_data

import lazynet.cli
from lazynet import FTRL, FoBoS, Power
from lazynet.cli import COMMANDS, main, new_parser
from lazynet.data import RowsFile, SvmlightFile, VWFile
from lazynet.persistence import checkpoints
from lazynet.persistence import files as model_files
from lazynet.training.loop import Training

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
HERE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows of every kind, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, classes, n, seed in (("two", 2, 400, 0), ("new", 2, 100, 1), ("three", 3, 300, 2)):
        X, y = make_data(n, 30, classes, seed)
        dump_svmlight_file(X, y, f"{name}.svm", zero_based=False)
    X, y = make_data(200, 30)
    dump_svmlight_file(X, X @ np.arange(30.0), "numbers.svm", zero_based=False)
    Path("rows.vw").write_text("".join(f"{k % 2 * 2 - 1} | a{k % 7} b{k % 5}\n" for k in range(99)))
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
def run_json(capsys):
    """The one JSON object that a command prints."""

    def of(*arguments):
        capsys.readouterr()
        code = run(*arguments, "--json")
        captured = capsys.readouterr()
        assert captured.out, captured.err
        return code, json.loads(captured.out)

    return of


# --- train --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [[], ["--cache", "kept.rows"]])
def test_a_trained_model_is_that_of_fit(folder, run_json, cache):
    """The same bits as fit from the same source, what is told is so, and no other file is made."""
    before = {path.name for path in folder.iterdir()}
    code, found = run_json("train", "two.svm", "-o", "m.lazy", "--passes", 3, "--l1", 1e-3, *cache)
    assert code == 0
    source = SvmlightFile("two.svm", zero_based=False)
    same = lazynet.LazyNetClassifier(l1=1e-3, max_iter=3, tol=None, random_state=0).fit(source)
    assert np.array_equal(lazynet.load("m.lazy").coef_, same.coef_)
    assert (found["rows"], found["passes"]) == (400, 3)
    assert found["nonzeros"] == np.count_nonzero(same.coef_)
    assert found["progressive_loss"] == same.history_[-1]["progressive_loss"]
    assert {path.name for path in folder.iterdir()} - before == {"m.lazy", *cache[1:]}
    if cache:
        assert RowsFile("kept.rows").facts().n_rows == 400


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "options", "kind", "said"),
    [
        ("two.svm", [], "LazyNetClassifier", "classification, because the labels are 0, 1"),
        ("numbers.svm", [], "LazyNetRegressor", "regression"),
        ("labels.svm", ["--multilabel"], "LazyNetClassifier", "4 labels"),
        ("labels.svm", ["--task", "labels"], "LazyNetClassifier", ""),
        ("two.svm", ["--task", "regression"], "LazyNetRegressor", ""),
        ("ones.svm", ["--task", "regression"], "LazyNetRegressor", ""),
    ],
)
def test_tasks(folder, capsys, name, options, kind, said):
    """The task is guessed and said, or given; every kind of model is tested and predicts."""
    Path("ones.svm").write_text("1 1:2\n1 2:0.5\n")
    assert run("train", name, "-o", "m.lazy", *options) == 0
    assert said in capsys.readouterr().err
    assert type(lazynet.load("m.lazy")).__name__ == kind
    assert run("test", "m.lazy", name) == 0
    assert run("predict", "m.lazy", name, "-o", "p.txt") == 0
    n = len(Path(name).read_text().splitlines())
    assert len(Path("p.txt").read_text().splitlines()) == n


# --- every option ---------------------------------------------------------------------------------

TRAIN, FROM = "train two.svm -o m |", "train two.svm -o m --from two.lazy |"
VW, TO_ROWS = "train rows.vw -o m |", "convert two.svm -o o.rows |"
TEST, PREDICT = "test two.lazy new.svm |", "predict two.lazy new.svm -o p.txt |"
#: For each option, commands that it changes, and commands that refuse it.
OPTIONS = {
    "format": (["train two.txt -o m | svmlight"], [f"{TRAIN} text"]),
    "base": ([f"{TO_ROWS} 0"], [f"{VW} 0"]),
    "features": ([f"{TRAIN} 40", f"{TO_ROWS} 40"], [f"{VW} 40", f"{TEST} 7"]),
    "bits": (["convert rows.vw -o o.rows | 5"], [f"{TRAIN} 5"]),
    "multilabel": ([TO_ROWS], ["train two.rows -o m |"]),
    "json": ([TRAIN, TEST, TO_ROWS], ["predict two.lazy new.svm |"]),
    "output": (["predict two.lazy new.svm | q.txt"], ["predict two.lazy new.svm | no/q.txt"]),
    "task": ([f"{TRAIN} regression", f"{TRAIN} labels"], [f"{FROM} regression"]),
    "loss": ([f"{TRAIN} hinge"], [f"{TRAIN} quantile", f"{FROM} hinge"]),
    "l1": ([f"{TRAIN} 0.1"], [f"{TRAIN} -1", f"{FROM} 0.1"]),
    "l2": ([f"{TRAIN} 0.1"], [f"{TRAIN} -1", f"{FROM} 0.1"]),
    "passes": ([f"{TRAIN} 2", f"{FROM} 1"], [f"{TRAIN} 0"]),
    "set": (
        [f"{TRAIN} rule=fobos", f"{TRAIN} rule=fobos --set rule__eta0=0.1"],
        [f"{TRAIN} C=1", f"{TRAIN} C", f"{TRAIN} eta0=0.1", f"{FROM} rule=rda"],
    ),
    "from": (["train new.svm -o m | two.lazy"], [f"{TRAIN} none.lazy", f"{TRAIN} new.svm"]),
    "shuffle": ([f"{TRAIN} 100"], [f"{TRAIN} 0"]),
    "cache": ([f"{TRAIN} c.rows"], [f"{TRAIN} two.svm", "train two.rows -o m | c.rows"]),
    # Its effect is a test of its own below.
    "checkpoint": ([], [f"{TRAIN} new.svm", f"{TRAIN} no/run.lazy"]),
    "method": (
        [f"{PREDICT} predict_proba", f"{PREDICT} decision_function"],
        ["predict numbers.lazy numbers.svm | predict_proba"],
    ),
}


def options_of_the_command_line():
    """The long name of every option, by subcommand."""
    found = {}
    for command in COMMANDS:
        (commands,) = (a for a in new_parser(command)._actions if isinstance(a.choices, dict))
        actions = commands.choices[command]._actions
        found[command] = [action.option_strings[-1].removeprefix("--") for action in actions
                          if action.option_strings and action.dest != "help"]  # fmt: skip
    return found


def outcome(folder, capsys, arguments):
    """Exit code, what is printed but times, and the files that are made."""
    before = {path.name for path in folder.iterdir()}
    code = run(*arguments)
    printed = capsys.readouterr()
    out = [line for line in printed.out.splitlines() if not line.startswith("seconds")]
    made = {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in before}
    for name in made:
        Path(name).unlink()
    return code, out, made, printed.err


def test_every_option_is_obeyed_or_refused(folder, capsys):
    """It changes what a command makes, or exit code 2 and a message tells it; at most 20."""
    parsers = options_of_the_command_line()
    assert set(OPTIONS) == {name for names in parsers.values() for name in names}
    assert len(OPTIONS) <= 20
    for name in ("two", "numbers"):
        assert run("train", f"{name}.svm", "-o", f"{name}.lazy") == 0
    assert run("convert", "two.svm", "-o", "two.rows") == 0
    Path("two.txt").write_bytes(Path("two.svm").read_bytes())
    capsys.readouterr()
    for name, (obeyed, refused) in OPTIONS.items():
        for case in obeyed:
            command, value = (part.split() for part in case.split("|"))
            plain = outcome(folder, capsys, command)
            changed = outcome(folder, capsys, [*command, f"--{name}", *value])
            assert changed[0] == 0, (case, changed)
            assert plain[:3] != changed[:3], case
        for case in refused:
            command, value = (part.split() for part in case.split("|"))
            code, out, made, err = outcome(folder, capsys, [*command, f"--{name}", *value])
            assert (code, out, made) == (2, [], {}), case
            expected_words = [name, *(part.partition("=")[0] for part in value)]
            assert any(word in err for word in expected_words), (case, err)
    for command, names in parsers.items():
        for name in set(OPTIONS) - set(names):
            given = f"--{name}" if name in ("json", "multilabel") else f"--{name}=1"
            assert run(command, "two.lazy", "two.svm", "-o", "x", given) == 2, (command, name)
            assert given in capsys.readouterr().err.rpartition("unrecognized arguments")[2]


def test_parameters_of_the_estimator(folder, capsys):
    """Rules, schedules and losses with parameters become the objects of the library."""
    for options, expected in (
        ("rule=ftrl rule__alpha=0.5 rule__penalty=once shuffle=false fit_intercept=false",
         dict(rule=FTRL(alpha=0.5, penalty="once"), shuffle=False, fit_intercept=False)),
        ("rule=fobos rule__schedule__power_t=0.5 rule__schedule=power rule__eta0=0.3 "
         "rule__average=true", dict(rule=FoBoS(Power(power_t=0.5), eta0=0.3, average=True))),
    ):  # fmt: skip
        given = [word for option in options.split() for word in ("--set", option)]
        assert run("train", "two.svm", "-o", "m.lazy", *given) == 0
        parameters = lazynet.load("m.lazy").get_params()
        assert {name: parameters[name] for name in expected} == expected
    capsys.readouterr()
    for options, message in (
        ("--l1 1 --set l1=2", "is given twice"),
        ("--set C=1 --set C=2", "is given twice"),
        ("--passes 1 --set max_iter=2", "is given twice"),
        ("--set average=true", "write --set rule=fobos --set rule__average=..."),
        ("--set rule=ftrl(alpha=__import__('os'))", "rule must be one of"),
        ("--set rule__alpha=__import__('os')", "write --set rule=ftrl --set rule__alpha=..."),
        ("--set rule__schedule__eta0=1", "write --set rule__schedule=constant"),
        ("--set loss__epsilon=1", "write --set loss=huber --set loss__epsilon=..."),
        ("--set rule=rda --set rule__x=1", "Invalid parameter 'x' for estimator RDA()"),
        ("--set rule=ftrl --set rule__alpha=__import__('os')", "alpha of FTRL must be a number"),
    ):
        assert run("train", "two.svm", "-o", "n.lazy", *options.split()) == 2
        assert message in capsys.readouterr().err


def test_going_on(folder):
    """--from goes on from the state of a model, whose place the new one may take."""
    assert run("train", "two.svm", "-o", "a.lazy", "--passes", 2, "--l1", 1e-4) == 0
    source = SvmlightFile("new.svm", zero_based=False, n_features=30)
    same = lazynet.load("a.lazy").set_params(warm_start=True, max_iter=1, tol=None).fit(source)
    assert run("train", "new.svm", "--from", "a.lazy", "-o", "a.lazy", "--passes", 1) == 0
    assert np.array_equal(lazynet.load("a.lazy").coef_, same.coef_)


# --- forms of files -------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [0, 1])
def test_columns_from_0_or_1_are_remembered(folder, base):
    """Rows without a column 0 are read as the model's own rows."""
    X, y = make_data(300, 30)
    dump_svmlight_file(X, y, "own.svm", zero_based=base == 0)
    later = sparse.hstack([sparse.csr_matrix((300, 5)), X[:, 5:]]).tocsr()
    dump_svmlight_file(later, y, "later.svm", zero_based=base == 0)
    assert run("train", "own.svm", "-o", "m.lazy") == 0
    assert (
        run("predict", "m.lazy", "later.svm", "--method", "decision_function", "-o", "s.txt") == 0
    )
    expected = lazynet.load("m.lazy").decision_function(later)
    np.testing.assert_allclose(np.loadtxt("s.txt"), expected, atol=1e-12)


def test_conversions_lose_no_bit(folder):
    """Weights of rows too, and rows without labels and values."""
    number = np.random.default_rng(0).normal
    lines = [f"{number()!r} {number() ** 2!r} | 3:{number()!r} 7:1e-300\n" for _ in range(50)]
    for text, options in (("".join(lines), []), ("0 | 1:1\n |\n1 | 2:1\n", ["--multilabel"])):
        Path("a.vw").write_text(text)
        assert run("convert", "a.vw", "-o", "b.rows", "--bits", 4, *options) == 0
        source = VWFile("a.vw", bits=4, multilabel=bool(options))
        one, other = (next(each.chunks(50)) for each in (source, RowsFile("b.rows")))
        assert (one.X != other.X).nnz == 0
        assert (sparse.csr_matrix(one.y) != sparse.csr_matrix(other.y)).nnz == 0
        np.testing.assert_array_equal(one.weight, other.weight)


# --- test and predict -----------------------------------------------------------------------------


def test_scores(folder, run_json):
    """Loss, accuracy, F1 and R^2 are scikit-learn's."""

    def scored(train, test, *options):
        assert run("train", train, "-o", "m.lazy", *options) == 0
        code, found = run_json("test", "m.lazy", test)
        source = SvmlightFile(test, zero_based=False, n_features=30, multilabel=bool(options))
        X, y, _ = next(source.chunks(10**6))
        model = lazynet.load("m.lazy")
        assert code == 0
        return found, model, X[:, : model.n_features_in_], y

    found, model, X, y = scored("two.svm", "new.svm")
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    assert found["f1"] == pytest.approx(f1_score(y, model.predict(X)))
    margins = (2 * y - 1) * model.decision_function(X)
    assert found["loss"] == pytest.approx(np.logaddexp(0, -margins).mean())
    found, model, X, y = scored("numbers.svm", "numbers.svm")
    assert found["r2"] == pytest.approx(r2_score(y, model.predict(X)))
    assert found["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, model.predict(X)))
    found, model, X, y = scored("labels.svm", "labels.svm", "--multilabel")
    assert found["f1_micro"] == pytest.approx(f1_score(y, model.predict(X), average="micro"))
    Path("few.svm").write_text("0 1:1\n 2:1\n")
    assert run_json("test", "m.lazy", "few.svm")[1]["rows"] == 2
    one = scored("few.svm", "few.svm", "--multilabel")[0]
    assert one["accuracy"] == one["f1_micro"] == 1.0


def test_predictions(folder, capsys):
    """Lines of classes, probabilities and scores."""
    assert run("train", "three.svm", "-o", "m.lazy") == 0
    model, X = lazynet.load("m.lazy"), read("three.svm").X
    for method in ("predict", "predict_proba", "decision_function"):
        capsys.readouterr()
        assert run("predict", "m.lazy", "three.svm", "--method", method) == 0
        found = np.loadtxt(capsys.readouterr().out.splitlines())
        assert np.array_equal(found, getattr(model, method)(X))


def test_words_that_no_text_had_before(folder, capsys, run_json):
    """A column beyond those of the model has the weight 0, and a note counts such values."""
    assert run("train", "two.svm", "-o", "m.lazy") == 0
    lines = Path("new.svm").read_text().splitlines()
    wide = [line + (f" 31:{k} 900000:2" if k % 3 else "") for k, line in enumerate(lines)]
    Path("wide.svm").write_text("\n".join(wide) + "\n")
    found = []
    for name in ("new.svm", "wide.svm"):
        capsys.readouterr()
        assert run("predict", "m.lazy", name, "--method", "decision_function") == 0
        found.append(capsys.readouterr())
    assert found[0].out == found[1].out
    assert not found[0].err
    assert "note: 132 values belong to features that the model does not know" in found[1].err
    scores = [run_json("test", "m.lazy", name)[1] for name in ("new.svm", "wide.svm")]
    assert scores[0]["loss"] == scores[1]["loss"]


def test_a_note_that_is_not_as_it_must_be(folder, capsys):
    """The file of a model may come from anywhere."""
    model = lazynet.LazyNetClassifier().fit(*make_data(50, 30))
    for note, message in (([], "does not say how its rows"), ({"format": "other"}, "")):
        model_files.save(model, "n.lazy", note)
        assert run("test", "n.lazy", "two.svm") == (2 if message else 0)
        assert message in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_any_name_of_a_file_is_printed(folder, monkeypatch):
    """Also one that is not UTF-8: JSON is UTF-8, and a table is as stdout is."""
    name = os.fsdecode(b'a\xff\xc3\xa9"\\\n')
    os.symlink("two.svm", name + ".svm")
    for more, encoding in ((["--json"], "utf-8"), ([], "ascii")):
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding=encoding))
        assert run("train", name + ".svm", "-o", name, *more) == 0
        printed = sys.stdout.buffer.getvalue().decode(encoding)
        assert not more or json.loads(printed)["model"] == name


# --- bad input ------------------------------------------------------------------------------------

#: Files to train from, and what is said of each.
BAD_FILES = {
    "none.svm": (None, "there is no file 'none.svm'"),
    "bad.svm": (b"1 1:2\n0 1:2 3:x\n",
                "bad.svm: line 2, column 9: expected a finite number such as 0.5, found 'x'"),
    "header.svm": (b"y,a,b\n1,0.5,2\n", "found 'y,a,b'; commas belong to several labels a row"),
    "empty.svm": (b"", "there is not one row in empty.svm"),
    "ones.svm": (b"9 1:2\n9 2:0.5\n", "all 2 labels are 9: training needs at least two"),
    "cut.svm.gz": (gzip.compress(b"1 1:2\n0 1:3\n" * 99)[:30],
                   "cut.svm.gz: the packed file is damaged or cut short"),
    "rows.txt": (b"1 1:2\n", "the form of rows.txt is not known by its name: write --format"),
    "binary.svm": (bytes(range(256)), "binary.svm: line 1, column 1: expected a label"),
    "wide.svm": (b"1 1125899906842624:1\n0 1:1\n", "wide.svm: "),
}  # fmt: skip
#: Other calls, and what is said of each.
REFUSED_CALLS = {
    "train two.svm -o none/m": "there is no folder",
    "train two.svm -o .": "is a directory",
    "train two.svm rows.vw -o m": "different forms",
    "train numbers.svm -o m --task classification": "continuous",
    "test two.svm two.svm": "two.svm is",
    "test none.lazy two.svm": "none.lazy",
    "convert two.svm -o rows.svm": "--output must end with .rows, got rows.svm",
    "convert rows.vw --bits 63 -o o.rows": "bits must be",
    "train - -o m": "the form of standard input",
    "train - --format svmlight --cache c -o m": "--cache is for files",
    # No output takes the place of another file.
    "train two.svm -o ./two.svm": "--output ./two.svm is one of the files to read",
    "train three.svm n*w.svm -o new.svm": "--output new.svm is one of the",
    "train two.svm -o m --checkpoint ./m": "--output and --checkpoint name",
    "train two.svm -o m --from old.lazy --checkpoint old.lazy":
        "--checkpoint old.lazy is one of the files to read",
    "train two.svm -o m --checkpoint new.svm": "new.svm is not a file of",
    "train two.svm -o m --cache two.svm": "--cache two.svm is one of the",
    "train two.svm -o m --cache new.svm": "new.svm: the file does not begin",
    "predict old.lazy two.svm -o two.svm": "--output two.svm is one of the",
    "predict old.lazy two.svm -o ./old.lazy": "--output ./old.lazy is one of",
    # Other rows than those of the model.
    "test old.lazy three.svm": "y has labels [2.] that are not among the classes",
    "test labels.lazy ones.svm": "ones.svm: line 1, column 1: expected a label from 0 to 3",
    "test targets.lazy two.svm": "the model has learned several labels per row (2",
    "train three.svm --from old.lazy -o m": "y has [0. 1. 2.]; leave out --from",
    "test old.lazy labels.svm --multilabel": "the files have several labels per row (4",
    "predict old.lazy labels.rows": "20 columns",
    "test words.lazy new.svm": "new.svm has rows of the form svmlight",
    "predict old.lazy rows.vw": "rows.vw has rows of the form vw, and the model has learned from",
    "train new.svm --from dual.lazy -o m": "DualNetClassifier cannot continue from a model",
}  # fmt: skip


def test_bad_input_is_refused(folder, capsys):
    """Exit code 2 and a message that says what was expected; every file is as it was."""
    for name, (data, _) in BAD_FILES.items():
        if data is not None:
            Path(name).write_bytes(data)
    lazynet.DualNetClassifier(l1=1e-2).fit(*make_data(100, 30)).save("dual.lazy")
    lazynet.LazyNetRegressor().fit(np.eye(2), np.eye(2)).save("targets.lazy")
    for command in ("train two.svm -o old.lazy --passes 1", "convert new.svm -o x.rows",
                    "convert labels.svm --multilabel --features 20 -o labels.rows",
                    "train rows.vw -o words.lazy", "train labels.svm -o labels.lazy --task labels",
                    ):  # fmt: skip
        assert run(*command.split()) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    calls = {f"train {name} -o m": message for name, (_, message) in BAD_FILES.items()}
    for arguments, message in {**calls, **REFUSED_CALLS}.items():
        assert run(*arguments.split()) == 2, arguments
        err = capsys.readouterr().err
        assert message in err, (arguments, err)
        assert "Traceback" not in err
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, arguments
    for command in ("words.lazy new.svm --format svmlight --base 0", "labels.lazy ones.svm"):
        assert run("predict", *command.split()) == 0


def test_usage(capsys):
    """--help teaches with examples; wrong usage has exit code 2."""
    assert run("--help") == run("--version") == 0
    assert "exit codes" in capsys.readouterr().out
    for command in COMMANDS:
        assert run(command, "--help") == 0
        assert "examples:" in capsys.readouterr().out
        assert run(command) == 2
    assert run() == run("learn") == 2


# --- processes ------------------------------------------------------------------------------------


def started(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "lazynet", *map(str, arguments)], env=HERE, text=True,
        # A job in the background would not hear Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )  # fmt: skip


@posix
def test_ctrl_c_leaves_the_model_as_it_was(folder, monkeypatch, capsys):
    """Exit code 130 and no half-written file, also while a command is imported."""
    Path("m.lazy").write_text("what stood there")
    process = started("train", "two.svm", "-o", "m.lazy", "--passes", 10**6)
    assert any(line.startswith("pass ") for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.endswith("lazynet train: stopped by Ctrl-C; nothing was written\n")
    assert "Traceback" not in err
    assert Path("m.lazy").read_text() == "what stood there"
    assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]

    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(lazynet.cli, "import_module", interrupted)
    assert main(["train", "rows.svm"]) == 130
    assert capsys.readouterr().err == "lazynet: stopped by Ctrl-C; nothing was written\n"


def test_a_run_that_was_stopped_goes_on(folder, run_json, monkeypatch, capsys):
    """The same command ends with the bits of a run that nobody stopped; Ctrl-C says so."""
    command = ["train", "two.svm", "--passes", 20, "--l1", 1e-3]
    arguments = [*command, "-o", "m.lazy", "--checkpoint", "run.lazy"]

    begin = Training._begin_epoch

    def stop(self):
        if self.history:
            raise KeyboardInterrupt
        begin(self)

    with monkeypatch.context() as patch:
        # A minute passes between two looks at the clock.
        clock = SimpleNamespace(monotonic=itertools.count(0.0, 60.0).__next__)
        patch.setattr(checkpoints, "time", clock)
        patch.setattr(Training, "_begin_epoch", stop)
        assert run(*arguments) == 130
    assert "run.lazy keeps the run: the same command resumes it" in capsys.readouterr().err
    assert run(*arguments[:2], "--passes", 30, *arguments[4:]) == 2
    assert "of another command. Differences: max_iter. Delete" in capsys.readouterr().err
    assert Path("run.lazy").exists()
    assert not Path("m.lazy").exists()
    assert run_json(*arguments)[0] == run_json(*command, "-o", "whole.lazy")[0] == 0
    assert not Path("run.lazy").exists()
    m, whole = lazynet.load("m.lazy"), lazynet.load("whole.lazy")
    assert np.array_equal(m.coef_, whole.coef_)
    assert m.n_iter_ == whole.n_iter_ == 20


@posix
@pytest.mark.slow
def test_output_that_nobody_takes(folder):
    """A closed pipe ends the command without a word; a disk without room is an error."""
    assert run("train", "two.svm", "-o", "m.lazy") == 0
    Path("many.svm").write_text(Path("two.svm").read_text() * 200)
    process = started("predict", "m.lazy", "many.svm", "--method", "decision_function")
    assert process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 0)
    if Path("/dev/full").is_char_device():
        with open("/dev/full", "w") as full:
            process = started("predict", "m.lazy", "two.svm", stdout=full)
            _, err = process.communicate()
        assert process.returncode == 2
        assert "standard output: No space left on device" in err


@posix
def test_pipes(folder, tmp_path_factory, monkeypatch, capsys):
    """A pipe of any name gives what the file gives, errors name it; nothing stays on the disk."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    text = Path("two.svm").read_bytes()
    packed, bad = gzip.compress(text), text + b"1 1:x\n"
    for name in ("pipe.svm", "pipe.svm.gz"):
        os.mkfifo(name)

    def piped(content, *arguments):
        """The exit code of a command that reads the content from a pipe, and what it prints."""
        named = {"pipe.svm", "pipe.svm.gz"}.intersection(arguments)
        reader, writer = (None, None) if named else os.pipe()

        def write():
            with open(*named or [writer], "wb") as pipe:
                pipe.write(content)

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        with contextlib.nullcontext() if named else open(reader) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            there = [f"/dev/fd/{reader}" if each == "/dev/fd/0" else each for each in arguments]
            code = run(*there)
        thread.join()
        assert list(temporary.iterdir()) == []
        return code, capsys.readouterr()

    assert run("train", "two.svm", "-o", "file.lazy") == 0
    model, svmlight = lazynet.load("file.lazy"), ("--format", "svmlight")
    for name in ("-", "pipe.svm"):
        assert piped(text, "train", name, *svmlight, "-o", "pipe.lazy")[0] == 0
        assert np.array_equal(lazynet.load("pipe.lazy").coef_, model.coef_)
    for name in ("-", "/dev/fd/0"):
        _, printed = piped(text, "predict", "file.lazy", name, *svmlight)
        expected = model.predict(read("two.svm").X).tolist()
        assert [float(line) for line in printed.out.split()] == expected
    assert piped(packed, "convert", "pipe.svm.gz", "-o", "o.rows")[0] == 0
    assert RowsFile("o.rows").facts().n_rows == 400
    for name, called in (("-", "standard input"), ("pipe.svm", "pipe.svm")):
        code, printed = piped(bad, "convert", name, *svmlight, "-o", "o.rows")
        assert code == 2
        assert f"{called}: line 401, column 5: expected a finite number" in printed.err
    assert run("train", "/dev/stdin", "-o", "o.lazy") == 2
    assert "the form of /dev/stdin is not known by its name" in capsys.readouterr().err
    assert run("train", "two.svm", "pipe.svm", "-o", "o.lazy", "--cache", "c.rows") == 2
    assert "later calls find again, and pipe.svm is read once" in capsys.readouterr().err
