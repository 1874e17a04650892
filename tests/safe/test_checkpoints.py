"""Fits that end anywhere go on from their checkpoint to the same bits; other calls are refused."""

import copy
import random
import re
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from support import kinds
from support.damage import damages, one_change
from support.matrices import categories, noisy_documents
from support.portrait import bits_of

import lazynet
from lazynet import SGD, FoBoS, FromStep, LazyNetClassifier, LazyNetRegressor
from lazynet.data import Chunks, RowsFile, Shuffled, SvmlightFile, write_rows
from lazynet.persistence import checkpoints, container
from lazynet.persistence.checkpoints import FORMAT, Checkpoint
from lazynet.training import passes
from lazynet.training import rows as rows_module

N, D = 200, 30
RNG = np.random.default_rng(0)
X = sparse.csr_matrix(RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.3))
R = X @ RNG.standard_normal(D) + 0.3 * RNG.standard_normal(N)
RS = X @ RNG.standard_normal((D, 10))
Y, Y3, YS = (R > 0).astype(int), np.arange(N) % 3, (RS > 0).astype(int)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Ended(BaseException):
    """The end of a process, as far as a test needs one."""


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Chunks that divide small data."""
    monkeypatch.setattr(passes, "_LARGEST_CHUNK", 64)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.lazy"


def rows_of_chunks(window=100):
    return Shuffled(Chunks(lambda: iter([(X[:90], Y[:90]), (X[90:], Y[90:])])), window=window)


def classifier(**options):
    return LazyNetClassifier(**{"max_iter": 3, "random_state": 0, **options})


def short(model):
    """A copy with few epochs and a seed."""
    model = clone(model).set_params(max_iter=3)
    return model if model.random_state is not None else model.set_params(random_state=0)


#: Every kind of state: the model, made anew, and what it is fitted on.
CASES = {
    **{
        name: (partial(short, model), kinds.X, y)
        for name, (model, y) in [*kinds.STREAMS.items(), ("saga", kinds.FITS["saga"])]
    },
    "no seed": (lambda: classifier(random_state=None, early_stopping=True), X, Y),
    "held-out rows and an average": (
        lambda: classifier(early_stopping=True, rule=FoBoS(average=True)), X, Y,
    ),
    "last steps": (
        lambda: classifier(rule=FoBoS(average="suffix", eta0=1.0), tol=None), X, Y,
    ),
    "from a step on": (lambda: classifier(rule=FoBoS(average=FromStep(150), eta0=1.0)), X, Y),
    "in order": (lambda: classifier(shuffle=False), X, Y),
    "labels in threads": (lambda: classifier(n_jobs=2), X, YS),
    "an engine for each label": (lambda: classifier(rule="truncated_gradient"), X, YS),
    "averages of targets": (
        lambda: LazyNetRegressor(
            rule=FoBoS(average="polynomial", eta0=0.01), max_iter=3, random_state=0
        ), X, RS,
    ),
    "a source": (
        lambda: classifier(l1=1e-3, random_state=None, class_weight="balanced"),
        rows_of_chunks(), None,
    ),
}  # fmt: skip
CASES["begins anew"] = (lambda: LazyNetClassifier(random_state=0), *categories(300, 4, 60, seed=3))
CASES["goes back"] = (
    lambda: LazyNetClassifier(random_state=0, early_stopping=True, n_iter_no_change=3),
    *noisy_documents(),
)  # fmt: skip


def fit(case, path=None, every=0.0, stop_after=None):
    """The fitted model; a run that is to stop ends right behind so many points."""
    make, rows, targets = CASES[case]
    given = {} if path is None else {"checkpoint": path, "every": every}
    points = 0
    point = Checkpoint.write_if_due

    def counted(self, state):
        nonlocal points
        point(self, state)
        points += 1
        if points == stop_after:
            raise Ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "write_if_due", counted)
        model = make().fit(rows, targets, **given)
    return model, points


# --- the same bits -------------------------------------------------------------------------------


#: Cases that begin anew or go back, whose points are all tried, and whether they do.
EVERY_POINT = {
    "begins anew": lambda model: "restart" in [choice.name for choice in model.auto_],
    "goes back": lambda model: model.best_epoch_ == model.n_iter_ - 4,
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_that_ends_anywhere_goes_on_to_the_same_bits(case, path):
    """After the first epoch, after the last, at random ones; the file changes no bit and goes.

    No epoch that the file has is repeated.
    """
    np.random.seed(0)  # noqa: NPY002  from which a run without a seed takes its own
    whole, points = fit(case, path)
    assert not path.exists()
    np.random.seed(0)  # noqa: NPY002
    wanted = bits_of(fit(case)[0])
    assert bits_of(whole) == wanted
    assert case not in EVERY_POINT or EVERY_POINT[case](whole)
    rng = random.Random(case)
    assert points in (whole.n_iter_ - 1, whole.n_iter_)
    stops = {1, points, rng.randrange(1, points + 1)}
    for stop in range(1, points + 1) if case in EVERY_POINT else stops:
        np.random.seed(0)  # noqa: NPY002
        with pytest.raises(Ended):
            fit(case, path, stop_after=stop)
        # A run without a seed takes the seed of the file.
        np.random.seed(stop)  # noqa: NPY002
        if stop < points:
            more = rng.randrange(1, points - stop + 1)
            stop += more
            with pytest.raises(Ended):
                fit(case, path, stop_after=more)
        model, others = fit(case, path)
        assert (bits_of(model), others) == (wanted, points - stop)
        assert [*path.parent.iterdir()] == []


@pytest.mark.filterwarnings("ignore:rule='adagrad' continues with weights:UserWarning")
def test_warm_starts_and_given_weights(path):
    """The start is told apart, and a run goes on from it."""
    begun = classifier(warm_start=True).fit(X, Y).set_params(rule="fobos")
    wanted = bits_of(copy.deepcopy(begun).fit(X, Y))
    stop_in(copy.deepcopy(begun), path, X, Y)
    other = copy.deepcopy(begun)
    other._moments.count(X)
    for model in (clone(begun), other):
        with pytest.raises(ValueError, match="the model before this call"):
            model.fit(X, Y, checkpoint=path)
    assert bits_of(begun.fit(X, Y, checkpoint=path)) == wanted
    start = {"coef_init": np.full((1, D), 0.1), "intercept_init": [0.2]}
    wanted = bits_of(classifier().fit(X, Y, **start))
    stop_in(classifier(), path, X, Y, **start)
    with pytest.raises(ValueError, match="coef_init"):
        classifier().fit(X, Y, checkpoint=path, coef_init=np.full((1, D), 0.2))
    assert bits_of(classifier().fit(X, Y, checkpoint=path, **start)) == wanted


def stop_in(model, path, *given, epoch=1, **more):
    """Leave a file of a fit whose callback is interrupted."""

    def interrupt(at):
        if at.epoch == epoch:
            raise KeyboardInterrupt

    before = bits_of(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*given, checkpoint=path, every=0, callback=interrupt, **more)
    assert path.exists()
    assert bits_of(model) == before


# --- other calls ---------------------------------------------------------------------------------

#: What differs: the words of the error, and the other call.
OTHERS = {
    "l1": (classifier(l1=0.5), X, Y),
    "random_state": (classifier(random_state=np.random.RandomState(0)), X, Y),
    "X, y": (classifier(), sparse.vstack([X, X[:1]]).tocsr(), [*Y, 1]),
    "X": (
        classifier(), sparse.csr_matrix((np.append(X.data[:-1], 7), X.indices, X.indptr)), Y,
    ),
    "X (places)": (classifier(), X[::-1], Y),
    "X (types)": (classifier(), X.astype(np.float32), Y),
    "y": (classifier(), X, Y[::-1]),
    "sample_weight": (classifier(), X, Y, np.full(N, 2.0)),
    "sample_order": (classifier(), X, Y, None, np.arange(N)),
    "the estimator, loss, y, class_weight": (
        LazyNetRegressor(max_iter=3, random_state=0), X, R,
    ),
}  # fmt: skip


@pytest.mark.every_case
@pytest.mark.parametrize("rule", ["adagrad", "rda", "ftrl", FoBoS(eta0=1.0, average=True)], ids=str)
def test_checkpoints_change_no_bit_where_few_features_occur(rule, path):
    """Of weights that no row touches there are no copies; a file has the best epoch so far."""
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(N, 100_000))
    options = dict(rule=rule, early_stopping=True, n_iter_no_change=4, standardize=False)
    noise = np.random.default_rng(0).random(N) < 0.5
    model = classifier(**options, l1=1e-3, max_iter=12).fit(wide, noise)
    assert model.best_epoch_ < model.n_iter_ - 1
    other = classifier(**options, l1=1e-3, max_iter=12).fit(wide, noise, checkpoint=path, every=0)
    assert np.array_equal(other.coef_, model.coef_)
    assert np.array_equal(other.intercept_, model.intercept_)


def test_the_file_of_another_call_is_refused(path):
    """The error names the file, what differs and what to do; the file stays."""
    stop_in(classifier(), path, X, Y)
    before = path.read_bytes()
    for other, (model, *data) in OTHERS.items():
        with pytest.raises(ValueError, match="another call of fit") as caught:
            model.fit(*data, checkpoint=path)
        words = f"Differences: {other.partition(' (')[0]}. Delete the file to start again, or name"
        assert str(path) in str(caught.value)
        assert words in str(caught.value)
        assert path.read_bytes() == before
    classifier(verbose=0).fit(X, Y, checkpoint=path)


def test_other_versions_sources_and_windows_are_refused(path, monkeypatch):
    """Other windows give the rows in another order; another lazynet may compute other bits."""
    stop_in(classifier(n_jobs=1), path, X, Y)
    with pytest.raises(ValueError, match=r"the facts of X, .*the first rows of X"):
        classifier().fit(rows_of_chunks(), checkpoint=path)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "__version__", "7.0")
        with pytest.raises(ValueError, match="Differences: the version of lazynet"):
            classifier().fit(X, Y, checkpoint=path)
    # The number of threads may change.
    found = classifier(n_jobs=2).fit(X, Y, checkpoint=path).set_params(n_jobs=None)
    assert bits_of(found) == bits_of(classifier().fit(X, Y))
    stop_in(classifier(), path, rows_of_chunks())
    with pytest.raises(ValueError, match="first rows of X"):
        classifier().fit(rows_of_chunks(window=20), checkpoint=path)


@pytest.mark.parametrize("form", ["svm", "rows"])
def test_a_file_of_other_rows_is_seen(form, path, tmp_path, monkeypatch):
    """Text, and rows that a program wrote; with the same facts and the same first rows."""
    monkeypatch.setattr(rows_module, "ROWS", 10)
    sources, name = [], tmp_path / f"rows.{form}"
    for last in (2.0, 3.0):
        values = np.append(X.data[:-1], last)
        chunk = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape), Y
        if form == "rows":
            write_rows(Chunks([chunk]), name)
        else:
            dump_svmlight_file(*chunk, str(name), zero_based=True)
        sources.append(RowsFile(name) if form == "rows" else SvmlightFile(name, zero_based=True))
        if not path.exists():
            stop_in(classifier(), path, sources[0])
    with pytest.raises(ValueError, match="Differences: the identity of X"):
        classifier().fit(sources[1], checkpoint=path)


#: Arguments of fit, and what is said of each.
BAD_ARGUMENTS = [
    *(({"checkpoint": bad}, "checkpoint must be None or the path") for bad in (7, b"run", "")),
    ({"checkpoint": "a\0b"}, "checkpoint must not contain null characters"),
    ({"checkpoint": "no/run"}, "no/run"),
    ({"checkpoint": "."}, "is a directory"),
    ({"checkpoint": "run", "every": -1}, "every must be"),
    ({"every": "often"}, "every must be"),
    ({"every": np.nan}, "every must be"),
]


def test_arguments(path, monkeypatch):
    """Each is refused by name before anything is learned; so is a schedule without a name."""
    monkeypatch.chdir(path.parent)
    for arguments, words in BAD_ARGUMENTS:
        with pytest.raises((TypeError, ValueError, OSError), match=words):
            classifier().fit(X, Y, callback=pytest.fail, **arguments)
    with pytest.raises(TypeError, match="schedule is <function"):
        classifier(rule=SGD(lambda t: 0.1)).fit(X, Y, checkpoint=path)


def test_a_file_of_another_kind_is_left_alone(path):
    """A model, a text; a model says what a checkpoint is."""
    classifier().fit(X, Y).save(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"does not change it: .* is no lazynet checkpoint"):
        classifier().fit(X, Y, checkpoint=path)
    assert path.read_bytes() == before
    zipped = b"PK\x03\x04" + bytes(60)
    for data in (b"1 1:2 3:0.5\n-1 2:1\n", b"notes", b"", b'        {"a": 1}', zipped):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="is not a file of lazynet"):
            classifier().fit(X, Y, checkpoint=path)
        assert path.read_bytes() == data
    path.unlink()
    stop_in(classifier(), path, X, Y)
    with pytest.raises(ValueError, match="it is the file of a lazynet checkpoint"):
        lazynet.load(path)


# --- disks ---------------------------------------------------------------------------------------


def test_a_full_disk_ends_no_run(path, monkeypatch):
    """One warning, which is no error, and the run goes on; half-written files are removed."""
    left = path.with_name(f".{path.name}.{'0' * 16}.tmp")
    other = path.with_name(f".{path.name}.mine.tmp")
    left.write_bytes(b"half")
    other.write_bytes(b"mine")
    wanted = bits_of(classifier().fit(X, Y))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error", RuntimeWarning)
        model = classifier().fit(X, Y, checkpoint=path, every=0)
    assert ["No space left" in str(warning.message) for warning in caught].count(True) == 1
    assert bits_of(model) == wanted
    assert [*path.parent.iterdir()] == [other]


# --- damage --------------------------------------------------------------------------------------


def test_damage_is_seen(path):
    """Flipped bits, lost ends, and every other kind; the error names the file and what to do."""
    stop_in(classifier(), path, X, Y)
    for data in damages(path.read_bytes(), 60):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"does not change it: .* Delete") as caught:
            classifier().fit(X, Y, checkpoint=path)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == data


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The header and the arrays of a checkpoint in the second epoch."""
    path = tmp_path_factory.mktemp("checkpoint") / "run.lazy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_LARGEST_CHUNK", 64)
        with pytest.raises(Ended):
            fit("default", path, stop_after=2)
    return container.read(path, FORMAT)


@given(data=st.data())
def test_a_state_that_lies_is_refused_or_harmless(data, parts, tmp_path_factory):
    """A part is lost or is another one, or an entry of an array; the checksum fits.

    A part of another kind is refused with the name of the file, which stays.
    """
    header, arrays = parts
    path, state, must_refuse = tmp_path_factory.getbasetemp() / "changed", header["state"], False
    changed, arrays, change = one_change(data, state, arrays)
    if change is not None:
        place, value = change
        types = {type(value), type(state[place[0]])}
        must_refuse = len(place) == 1 and place[0] in MUST_BE and len(types) == 2
        must_refuse &= not types <= {int, float, bool}
    header = {**header, "state": changed}
    container.write(path, FORMAT, header, arrays)
    before = path.read_bytes()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            fit("default", path)
    except REFUSALS as error:
        if must_refuse:
            assert re.match("a fit cannot resume from .*changed, and", str(error))  # noqa: PT017
            assert path.read_bytes() == before
    else:
        assert not must_refuse


#: Parts of the state whose kind is looked at, and what may come of others.
MUST_BE = ["history", "t", "best_loss", "engines", "generator"]
REFUSALS = ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError
