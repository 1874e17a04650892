"""Models in files: the same bits back, for every estimator, rule, storage and average."""

import copy
import multiprocessing
import os
import pickle
import re
import signal
import warnings
from functools import partial
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support import same_bits
from support.algorithms import STREAMING_RULES
from support.kinds import MODELS, STREAMS, TWO, X
from support.models import ESTIMATORS
from support.portrait import differences, portrait

import lazynet
from lazynet import AdaGrad, FoBoS, FromCallable, LazyNetClassifier, Power, Stepper
from lazynet.engines.base import Engine
from lazynet.estimators import every_estimator
from lazynet.parameters import ParameterObject


def fitted(name):
    """A model of this name, trained on everything."""
    model, y = MODELS[name]
    model = clone(model)
    if model.random_state is None:
        model.set_params(random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.lazynet"


#: Attributes that can be computed anew.
CACHES = {"_coefficients", "_sparse_coef", "_offsets"}
FIGURES = ("coef_", "intercept_", "last_coef_", "last_intercept_", "support_")


def picture(model):
    """All that a model is made of, and what it predicts."""
    kinds = [kind for kind in ("predict", "decision_function", "predict_proba")
             if hasattr(model, kind)]  # fmt: skip
    found = {name: value for name, value in vars(model).items() if name not in CACHES}
    # Tables have room that nothing was written to.
    found["_engines"] = [
        (type(engine).__name__, engine.state(), engine.limits, engine.remedy)
        for engine in found.get("_engines") or []
    ]
    found["figures"] = [(name, getattr(model, name)) for name in FIGURES if hasattr(model, name)]
    found["predictions"] = [getattr(model, kind)(rows)
                            for kind in kinds for rows in (X, X.toarray())]  # fmt: skip
    return portrait(SimpleNamespace(**found))


def assert_same_model(ours, theirs):
    """Every attribute is the same to the last bit, and so are the predictions."""
    assert type(ours) is type(theirs)
    assert not differences(picture(theirs), picture(ours))
    # A weight that is written to ``coef_`` would not reach the engines.
    for weights in (ours.coef_, getattr(ours, "last_coef_", ours.coef_)):
        assert not (weights.data if sparse.issparse(weights) else weights).flags.writeable


# --- the same bits back --------------------------------------------------------------------------


def through_file(model, path):
    model.save(path)
    return lazynet.load(path)


def mapped(model, path):
    """The model with arrays that joblib maps from a file, and that cannot change."""
    joblib.dump(model, path)
    return joblib.load(path, mmap_mode="r")


def moved(buffer):
    """The bytes of a buffer at an odd address, as in a message."""
    room = np.zeros(buffer.raw().nbytes + 1, dtype=np.uint8)
    room[1:] = buffer.raw()
    room.flags.writeable = False
    return room[1:].data


def in_a_message(model, path):
    """The model as Dask gets it: arrays stay where they arrived, at odd addresses, read-only."""
    buffers = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    assert buffers
    return pickle.loads(data, buffers=map(moved, buffers))


#: Everything that makes another model of a model.
COPIES = {
    "a file": through_file,
    "arrays that are mapped": mapped,
    "joblib": lambda model, path: joblib.load(*joblib.dump(model, path)),
    "a pickle": lambda model, path: pickle.loads(pickle.dumps(model)),
    "a message": in_a_message,
    "a copy": lambda model, path: copy.copy(model),
    "a deep copy": lambda model, path: copy.deepcopy(model),
}


#: Of these the quick tier has all cases.
FREQUENT = ["a message", "a copy"]
OTHERS = [how for how in COPIES if how not in FREQUENT]


@pytest.mark.parametrize("hows", [pytest.param(FREQUENT, marks=pytest.mark.every_case), OTHERS])
@pytest.mark.parametrize("name", MODELS)
def test_copies_have_the_same_bits(name, hows, path):
    """Parameters, attributes, training state and predictions, to the last bit.

    A copy can be saved, copied and pickled before anything has been asked of it, and it learns on
    like the model that it was made of, which stays as it was.
    """
    model, learned, y = fitted(name), [], MODELS[name][1]
    # The numbers per row of a dual fit are those of the copy.
    goes_on = "partial_fit" if name in STREAMS else "fit" * getattr(model, "warm_start", False)
    before = picture(model)
    for how in hows:
        # Arrays may stay in the file of a copy.
        copied = partial(COPIES[how], path=path.with_name(how))
        assert_same_model(copied(model), model)
        assert_same_model(copied(through_file(model, path)), model)
        assert_same_model(through_file(copied(model), path), model)
        if goes_on:
            learned.append(getattr(copied(model), goes_on)(X, y))
            with pytest.raises(ValueError, match="X"):
                getattr(learned[-1], goes_on)(X[:, :3], y)
        assert not differences(before, picture(model)), how
    assert clone(model).get_params().keys() == model.get_params().keys()
    if goes_on:
        getattr(model, goes_on)(X, y)
    for other in learned:
        assert_same_model(other, model)


@pytest.mark.parametrize("rule", [*STREAMING_RULES, FoBoS(average=True)], ids=str)
def test_a_copy_of_a_stepper_or_of_its_engine_learns_alone(rule, path, monkeypatch):
    """Steps of the copy, also one that is undone, leave the first stepper as it was."""
    stepper = Stepper(3, rule=rule, l1=0.01, fit_intercept=True)
    stepper.step([0, 2], [1.0, 2.0], 1.0)
    before = portrait(stepper)
    for how in ("a copy", "a deep copy", "a pickle"):
        other, engine = COPIES[how](stepper, path), COPIES[how](stepper.engine, path)
        assert portrait(other) == before
        other.step([0, 1], [1.0, 2.0], -1.0)
        with monkeypatch.context() as patch:
            patch.setattr(type(other), "_predict", lambda *_: 0.0)
            patch.setattr(type(engine), "check_finite", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                other.step([0, 1], [1.0, 2.0], -1.0)
        engine.set_coefficients(np.ones((1, 3)), np.ones(1))
        assert not differences(before, portrait(stepper)), how


def test_a_pickle_says_which_version_wrote_it():
    """A pickle of another version warns; one of this version and its copies do not."""
    model = fitted("default")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for same in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
            assert "_lazynet_version" not in vars(same)
    state = model.__getstate__()
    assert state.pop("_lazynet_version") == lazynet.__version__
    other = object.__new__(LazyNetClassifier)
    with pytest.warns(UserWarning, match="pickled by lazynet 0.0.1, and this is lazynet"):
        other.__setstate__({**state, "_lazynet_version": "0.0.1"})
    with pytest.warns(UserWarning, match="of an unknown version"):
        other.__setstate__(state)
    assert same_bits(other.predict(X), model.predict(X))


def leaves(kind):
    """The classes of the package below a class that have none below them."""
    children = [each for each in kind.__subclasses__() if each.__module__.startswith("lazynet.")]
    return {kind} if not children else set().union(*map(leaves, children))


def test_every_estimator_and_engine_is_saved_here():
    """The models above are of every class that has files, and have every engine of a plan."""
    assert (
        set(every_estimator()) == set(ESTIMATORS) == {type(model) for model, _ in MODELS.values()}
    )
    engines = [engine for name in MODELS for engine in vars(fitted(name)).get("_engines", [])]
    assert leaves(Engine) <= {type(engine) for engine in engines}


# --- labels, names and parameters ---------------------------------------------------------------


CLASSES = [
    ["b", "a"], [1, 0], [True, False], [0.0, 7.0], [-1, 1], ["", "käse\n\"\\\0x"],
    np.array(["b", "a"], dtype=object), np.array([3, 7], dtype=np.int16),
    np.array([1, 2], dtype=np.float16), np.array([2**63, 1], dtype=np.uint64),
    np.array(["x" * 9, "y"]), ["\ud800", "a"],
]  # fmt: skip


def test_labels_of_any_kind(path):
    """Words, numbers of any width, flags, objects: with their dtype."""
    for classes in CLASSES:
        y = np.asarray(classes)[np.arange(60) % 2]
        model = LazyNetClassifier(random_state=0).partial_fit(X, y, classes=classes)
        assert_same_model(through_file(model, path), model)


VALUES = [
    {"l1": np.float32(0.1), "l2": 0.1 + 0.2, "max_iter": np.int8(3)},
    {"l1": 5e-324, "rule": FoBoS(Power(np.float64(0.3), power_t=0.5))},
    {"rule": FoBoS(np.array([0.5, 0.25, *[-0.0] * 99])), "l2": -0.0},
    {"rule": FoBoS((0.5, 0.25), average=np.True_)},
    {"class_weight": {"yes": 1, "no": np.float64(2.5)}, "tol": None},
    {"class_weight": {True: 1, None: float("nan"), (1, "a"): float("-inf")}},
    {"rule": AdaGrad(np.float32(0.1)), "loss": np.str_("hinge")},
]


def test_parameters_are_those_that_were_given(path):
    """``get_params`` of a loaded model has the same bits; numbers of NumPy are Python's."""
    for values in VALUES:
        model = fitted("default").set_params(**values)
        loaded = through_file(model, path)
        for name, value in model.get_params(deep=False).items():
            assert portrait(getattr(loaded, name)) == portrait(as_python(value)), name


def as_python(value):
    """A value with Python's numbers and strings in the place of NumPy's."""
    if isinstance(value, dict):
        return {key: as_python(part) for key, part in value.items()}
    if isinstance(value, ParameterObject):
        values = value.get_params(deep=False)
        return type(value)(**{name: as_python(each) for name, each in values.items()})
    return value.item() if isinstance(value, np.generic) else value


class Doubled(LazyNetClassifier):
    """An estimator of a user."""


class LastOne:
    """An average of a user."""

    counts = staticmethod(lambda start, stop: np.ones(stop - start))


#: What becomes of a model, and what is said of it.
CANNOT_BE_SAVED = [
    (dict(rule=FoBoS(lambda t: 0.1)), "rule/schedule is <function"),
    (dict(rule=FoBoS(FromCallable(max))), "rule/schedule"),
    (dict(rule=FoBoS(average=LastOne())), "rule/average"),
    (dict(class_weight={1: 1j}), "class_weight/0/1 is 1j of <class 'complex'>"),
    (dict(random_state=np.random.RandomState(np.random.PCG64(0))),
     r"random_state is RandomState\(PCG64\) at"),
    (dict(note_={1j}), "note_ is {1j} of <class 'set'>"),
    (dict(classes_=np.array([1 + 1j, 2])), "classes_ is an array of comp"),
    (dict(__class__=Doubled), "Doubled is not an estimator of lazynet"),
]  # fmt: skip


def test_what_a_file_cannot_hold_is_named(path):
    """The error comes before the file is touched."""
    path.write_bytes(b"old")
    for changes, words in CANNOT_BE_SAVED:
        model = fitted("default")
        for name, value in changes.items():
            setattr(model, name, value)
        with pytest.raises(TypeError, match=words):
            model.save(path)
        assert path.read_bytes() == b"old"
        assert os.listdir(path.parent) == [path.name]


def test_wrong_arguments_of_save(path):
    """Not fitted, no flag, a directory, no folder, a pipe, a name that no file can have."""
    with pytest.raises(ValueError, match="not fitted"):
        LazyNetClassifier().save(path)
    model = fitted("default")
    for call in (model.save, lazynet.load):
        with pytest.raises(ValueError, match="path must not contain null characters"):
            call("a\0b")
    with pytest.raises(IsADirectoryError, match="name a file"):
        model.save(path.parent)
    # The error names the file as the user names it, and not the new file beside it.
    below = path / "below"
    with pytest.raises(OSError, match=f"{re.escape(str(below))} cannot be written: N") as caught:
        model.save(below)
    assert ".tmp" not in str(caught.value)
    assert os.listdir(path.parent) == []
    if hasattr(os, "mkfifo"):
        # The superuser would replace /dev/null itself, for all processes.
        os.mkfifo(path)
        for write in (model.save, lambda path: clone(model).fit(X, TWO, checkpoint=path)):
            with pytest.raises(OSError, match="is a device or a pipe: name a file"):
                write(path)
        assert path.is_fifo()


# --- large sparse models -------------------------------------------------------------------------

N = 10**6


@pytest.mark.parametrize(("standardize", "most"), [(False, 190_000), ("auto", 310_000)])
def test_a_large_sparse_model_takes_kilobytes(standardize, most, path):
    """Of 10^6 features, 5,000 have a weight, and a count and a mean if they are standardised."""
    columns = np.sort(np.random.default_rng(1).choice(N, 5000, replace=False)).astype(np.int32)
    values = np.random.default_rng(2).standard_normal(5000)
    rows = sparse.csr_matrix((values, columns, np.arange(0, 5001, 50)), shape=(100, N))
    y = np.arange(100) % 2
    model = LazyNetClassifier(l1=0.0, rule=FoBoS(eta0=0.5), standardize=standardize, random_state=0)
    model.partial_fit(rows, y, classes=[0, 1]).sparsify()
    loaded = through_file(model, path)
    assert os.path.getsize(path) < most
    for each in (model, loaded):
        assert each.coef_.nnz == 5000
        each.partial_fit(rows[::-1], y[::-1])
    assert same_bits(loaded.decision_function(rows), model.decision_function(rows))


# --- the container ------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="links, modes and processes of POSIX")
def test_a_file_is_replaced_as_a_whole(path):
    """kill -9 in the middle of writing leaves the old one; links and modes stay."""
    model, link = fitted("default"), path.with_name("link")
    model.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    before = path.read_bytes()
    model.partial_fit(X, TWO)

    def save_and_die():
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        model.save(link)

    process = multiprocessing.get_context("fork").Process(target=save_and_die)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.read_bytes() == before
    model.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert_same_model(lazynet.load(path), model)
