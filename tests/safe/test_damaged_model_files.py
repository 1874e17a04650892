"""Files of models that are damaged, cut off, foreign, newer or made by an enemy: a clear error."""

import contextlib
import copy
import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save
from scipy import sparse
from support.damage import change, damages, one_change

import lazynet
from lazynet import ASGDRegressor, FoBoS, LazyNetClassifier
from lazynet.persistence import container
from lazynet.persistence.files import FORMAT

X = sparse.csr_matrix(np.random.default_rng(0).standard_normal((20, 6)))
Y = np.arange(20) % 3


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The header and the arrays of a model with all kinds of parts."""
    path = tmp_path_factory.mktemp("usual") / "model"
    rule, weights = FoBoS(average=True, schedule=np.full(200, 0.1)), {0: 1, 10: 2, 20: 3}
    model = LazyNetClassifier(rule=rule, random_state=0, l1=0.3, class_weight=weights)
    model.fit(X, Y * 10).sparsify().save(path)
    return container.read(path, FORMAT)


def refusal(path, data):
    """The error with which a file of these bytes is refused; it names the file."""
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  what it says is looked at
        lazynet.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# --- damage --------------------------------------------------------------------------------------


def test_every_damage_is_seen(request, tmp_path):
    """A bit of every byte flipped, the file cut behind every byte, and every other damage."""
    path, step = tmp_path / "model", 23 if request.config.getoption("--quick") else 1
    model = ASGDRegressor(max_iter=1, l2=1.0, center=False, random_state=0)
    model.fit([[1.0], [2.0]], [1.0, 2.0]).save(path)
    small = path.read_bytes()
    for at in range(0, len(small), step):
        flipped = bytes([small[at] ^ 1 << at % 8])
        assert "damaged" in refusal(path, small[:at] + flipped + small[at + 1 :])
        assert "damaged" in refusal(path, small[:at])
    for other in (small + b"\0", small + small, *damages(small, 200)):
        assert "damaged" in refusal(path, other)
    container.write(path, FORMAT, {}, {"x": np.ones((2, 3))})
    data = path.read_bytes()
    for before, after in ((b"[2,3]", b"[3,2]"), (b"F64", b"I64")):
        assert before in data
        assert "damaged" in refusal(path, data.replace(before, after))


# --- other files ---------------------------------------------------------------------------------


class Enemy:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


FOREIGN = [
    lambda path: np.savez(path, x=np.zeros(3)),
    lambda path: joblib.dump(LazyNetClassifier(), path),
    lambda path: path.write_bytes(pickle.dumps(Enemy(path.parent / "made"))),
    lambda path: path.write_text("weights: 1 2 3"),
    lambda path: path.write_bytes(bytes(1000)),
    lambda path: path.write_bytes(save({"x": np.zeros(3)})),
    lambda path: path.write_bytes(save({"x": np.zeros(3)}, {"lazynet": "{}"})),
]


def test_files_of_other_programs(tmp_path):
    """The error says that the file is not one of lazynet; nothing that a file says is done."""
    path = tmp_path / "model.npz"
    for write in FOREIGN:
        write(path)
        assert "is not a file of lazynet" in refusal(path, path.read_bytes())
        assert os.listdir(tmp_path) == [path.name]


def test_what_is_no_file(tmp_path):
    """A directory, nothing, a pipe."""
    with pytest.raises(IsADirectoryError, match="is a directory"):
        lazynet.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        lazynet.load(tmp_path / "nothing")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="is a device or a pipe"):
            lazynet.load(tmp_path / "pipe")


def refused_with(words, path, header, arrays, error=ValueError):
    """A file of these parts, whose checksum fits, is refused with these words."""
    container.write(path, FORMAT, header, arrays)
    with pytest.raises(error, match=words):
        lazynet.load(path)


def test_other_versions_and_formats(parts, tmp_path):
    """The error names both versions and says what to do; the document is not looked at."""
    header, arrays = parts
    words = r"by lazynet 7\.0 in version 2 .* reads version 1: read it with lazynet 7\.0"
    for changes, message in (
        ({"format_version": 2, "lazynet_version": "7.0"}, words),
        ({"format": None}, "is no lazynet model"),
    ):
        refused_with(message, tmp_path / "model", {**header, "document": "", **changes}, arrays)


# --- files that somebody has made ----------------------------------------------------------------


ENGINE = ("attributes", "_engines", 0)
MOMENTS = ("attributes", "_moments", "$object", 1)
STATE = (*ENGINE, "state")
L1 = ("parameters", "l1")


#: Places in a document, other values there, and what is said of each.
LIES = [
    (("class",), "os.system", "no estimator 'os.system'"),
    (("class",), "LazyNetRegressor", "has no parameter class_weight"),
    (("coef",), ..., "lacks 'coef'"),
    (("coef",), 1, "coef is no matrix"),
    (("parameters", "__class__"), 1, "has no parameter __class__"),
    (L1, {"$object": ["eval", {}]}, "no eval among"),
    (L1, {"$object": ["RDA", {"other": 1}]}, "argument 'other'"),
    (L1, {"$import": "os"}, r"no value with the name '\$import'"),
    (L1, {"$array": "nothing"}, "lacks 'nothing'"),
    (L1, {"$labels": ["V", [1], ["a"]]}, "lacks 'V'"),
    (L1, {"$tuple": 1}, "iterable"),
    (L1, {"$dict": [[[], 1]]}, "unhashable"),
    (("attributes", "_generator", "$random_state", 1), 10**6, "no such state"),
    (("attributes", "n_features_in_"), 7, "not the number of weights"),
    (("attributes", "classes_"), {"$labels": ["U", [2], ["a", "b"]]}, "classes_ does not belong"),
    (("coef", "$csr", 0), [3, 5], "indices must be"),
    (("coef", "$csr", 0), [3, 2**62], "shape"),
    (("intercept",), [0.0], "intercept"),
    (("attributes", "_engine_kind", "$tuple", 1), "rda", "RDAOutputs has the arrays"),
    (("attributes", "_engine_kind", "$tuple", 5), "int8", "no weights of int8"),
    (("attributes", "_engines"), [], "another number of outputs"),
    ((*ENGINE, "outputs"), 10**9, "another number of outputs"),
    (STATE, {}, "AveragedOutputs has the arrays"),
    ((*STATE, "cells"), 1.0, "cells of AveragedOutputs must be an array of float64"),
    ((*STATE, "cells"), {"$array": "intercept"}, r"with the shape \(6, 16\), got"),
    ((*STATE, "past"), {"$array": "intercept"}, "past of AveragedOutputs must be an array"),
    ((*MOMENTS, "cells"), {"$array": "intercept"}, r"cells of moments must be .* shape \(3, 3\)"),
    ((*MOMENTS, "counts"), {"$array": "_moments/cells"}, "counts of moments must be finite"),
    ((*MOMENTS, "targets"), {"$array": "_moments/cells"}, "a size for every target"),
]


def test_documents_that_lie(parts, tmp_path):
    """Unknown classes, parameters and attributes, values of other kinds: nothing is made."""
    (header, arrays), path = parts, tmp_path / "model"
    for place, value, words in LIES:
        document = change(header["document"], place, value)
        refused_with(words, path, {**header, "document": document}, arrays)
    # A small file can name an array of any size.
    large = {**arrays, "large/places": np.zeros(1, np.int64), "large/values": np.ones(1)}
    header = {**header, "sparse": {"large": [2**50]}}
    refused_with("model has an array that needs more memory", path, header, large, MemoryError)


def test_arrays_that_lie(parts, tmp_path):
    """Another shape or type, an array in the place of another, one too few."""
    (header, arrays), path = parts, tmp_path / "model"
    for name, array in arrays.items():
        if name.startswith(("rule/schedule", "classes_")):
            continue  # a schedule may be any array of numbers, classes numbers of any type
        refused_with("model", path, header, {key: arrays[key] for key in arrays if key != name})
        with np.errstate(over="ignore"):
            narrow = array.astype(np.float16)
        for other in [array[:-1], narrow, array[None], *arrays.values()]:
            if (other.dtype, other.shape) == (array.dtype, array.shape):
                continue
            if not name.endswith("/past"):
                refused_with("model", path, header, {**arrays, name: other})
                continue
            container.write(path, FORMAT, header, {**arrays, name: other})
            with contextlib.suppress(ValueError):  # a table may have room
                use(lazynet.load(path))


CLEAN = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError)


def use(model):
    """Whatever a loaded model can be used for; it may refuse, and must not crash."""
    rows = X[:, : model.n_features_in_] if model.n_features_in_ <= 6 else X
    uses = [
        lambda: model.predict(rows), lambda: model.coef_, lambda: model.last_coef_,
        lambda: model.predict(rows.toarray()), lambda: model.partial_fit(rows, Y * 10),
        lambda: model.coef_, lambda: repr(model), lambda: model.densify().coef_,
        lambda: copy.deepcopy(model), lambda: model.fit(rows, Y * 10),
    ]  # fmt: skip
    for each in uses:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with contextlib.suppress(*CLEAN):
                each()


@given(data=st.data())
def test_any_change_is_refused_or_harmless(data, parts, tmp_path_factory):
    """A node of the document is replaced or lost, or a number of an array; the checksum fits."""
    header, arrays = parts
    document, arrays, _ = one_change(data, header["document"], arrays)
    path = tmp_path_factory.getbasetemp() / "changed"
    container.write(path, FORMAT, {**header, "document": document}, arrays)
    with contextlib.suppress(ValueError, MemoryError):
        use(lazynet.load(path))
