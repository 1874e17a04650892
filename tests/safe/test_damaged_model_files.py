"""Files of models that are damaged, cut off, foreign, newer or made by an enemy: a clear error."""

import contextlib
import copy
import hashlib
import io
import json
import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.damage import damages

import lazynet
from lazynet import ASGDRegressor, LazyNetClassifier
from lazynet.models import container

PLACE = 8 + len(b'{"__metadata__":{"sha256":"')
X = sparse.csr_matrix(np.random.default_rng(0).standard_normal((20, 6)))
Y = np.arange(20) % 3


def sealed(data):
    """The bytes with the checksum that belongs to them."""
    blank = data[:PLACE] + b"0" * 64 + data[PLACE + 64 :]
    return data[:PLACE] + hashlib.sha256(blank).hexdigest().encode() + data[PLACE + 64 :]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of the smallest file."""
    path = tmp_path_factory.mktemp("small") / "model"
    model = ASGDRegressor(max_iter=1, l2=1.0, center=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([[1.0], [2.0]], [1.0, 2.0]).save(path)
    return path.read_bytes()


def usual():
    """A model with all kinds of parts: engines, tables, units, words, sparse rows."""
    weights = {0: 1, 10: 2, 20: 3}
    model = LazyNetClassifier(
        average=True, random_state=0, schedule=np.full(200, 0.1), l1=0.3, class_weight=weights
    )
    return model.fit(X, Y * 10).sparsify()


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The strings, the document and the arrays of a usual file."""
    path = tmp_path_factory.mktemp("usual") / "model"
    usual().save(path)
    strings, arrays = container.read(path)
    return strings, json.loads(strings["document"]), arrays


def refusal(path, data):
    """The error with which a file of these bytes is refused; it names the file."""
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  what it says is looked at
        lazynet.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


# --- damage --------------------------------------------------------------------------------------


def test_every_flipped_bit_is_seen(small, tmp_path):
    """In the length, the header, the metadata, the checksum, the arrays: no bit goes unseen."""
    path = tmp_path / "model"
    path.write_bytes(small)
    lazynet.load(path)
    assert len(small) < 2500
    told = set()
    for at in range(len(small)):
        for bit in range(8):
            data = bytearray(small)
            data[at] ^= 1 << bit
            error = refusal(path, bytes(data))
            told.add("damaged" in error or "cut off" in error)
    assert told == {True}


def test_flipped_bits_of_padding_are_seen(small, tmp_path):
    """The spaces behind the header count too."""
    end = 8 + int.from_bytes(small[:8], "little")
    space = small[:end].rindex(b"}") + 1
    for length in range(1, 9):  # a header of any length
        text = small[8:space] + b" " * length
        data = len(text).to_bytes(8, "little") + text + small[end:]
        assert "checksum" in refusal(tmp_path / "model", data)


def test_every_truncation_is_seen(small, tmp_path):
    """A file that ends anywhere before its end."""
    for length in range(len(small)):
        error = refusal(tmp_path / "model", small[:length])
        assert any(word in error for word in ("cut off", "empty", "bytes", "damaged")), error


def test_what_is_added_is_seen(small, tmp_path):
    """Bytes behind the end, or a second copy."""
    for more in (b"\0", b"\n", small):
        assert "bytes too many" in refusal(tmp_path / "model", small + more)


@pytest.mark.parametrize("seal", [False, True])
def test_damages_of_every_kind(small, seal, tmp_path):
    """Lost, doubled and junk pieces; also with a checksum that somebody has made to fit."""
    path = tmp_path / "model"
    for data in damages(small, 400):
        if not seal:
            refusal(path, data)
            continue
        path.write_bytes(sealed(data))
        with contextlib.suppress(ValueError):
            use(lazynet.load(path))


# --- other files ---------------------------------------------------------------------------------


def bytes_of(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


FOREIGN = {
    "empty": (b"", "is empty"),
    "npz": (bytes_of(lambda file: np.savez(file, x=np.zeros(3))), "a zip archive"),
    "npy": (bytes_of(lambda file: np.save(file, np.zeros(3))), "an array of NumPy"),
    "pickle": (pickle.dumps(LazyNetClassifier()), "a pickle"),
    "joblib": (bytes_of(lambda file: joblib.dump(LazyNetClassifier(), file)), "a pickle"),
    "zlib": (bytes_of(lambda file: joblib.dump([1] * 99, file, compress=3)), "a compressed file"),
    "text": (b"weights: 1 2 3, and more text than that", "not the file of a model"),
    "word": (b"hello", "only 5 bytes"),
    "zeros": (bytes(1000), "not the file of a model"),
    "json": (b'{"coef": [1, 2, 3]}', "not the file of a model"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_programs(name, tmp_path):
    """The error says what the file is, where its first bytes say so."""
    data, words = FOREIGN[name]
    assert words in refusal(tmp_path / "model", data)


def test_a_pickle_is_not_executed(tmp_path):
    """Nothing that a file says is done."""

    class Enemy:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    refusal(tmp_path / "model", pickle.dumps(Enemy()))
    assert os.listdir(tmp_path) == ["model"]


def test_safetensors_of_other_programs(tmp_path):
    """A file in the same container without a model."""
    header = json.dumps({"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    data = len(header).to_bytes(8, "little") + header + bytes(8)
    assert "safetensors file, but not of a model" in refusal(tmp_path / "model", data)
    container.write(tmp_path / "model", {"note": "mine"}, {"x": np.zeros(1)})
    with pytest.raises(ValueError, match="does not say that it is the file of a lazynet model"):
        lazynet.load(tmp_path / "model")


def test_what_is_no_file(tmp_path):
    """A directory, nothing, a pipe."""
    with pytest.raises(IsADirectoryError, match="is a directory"):
        lazynet.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        lazynet.load(tmp_path / "nothing")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        writer = os.open(tmp_path / "pipe", os.O_RDWR)
        try:
            with pytest.raises(ValueError, match="not a regular file"):
                lazynet.load(tmp_path / "pipe")
        finally:
            os.close(writer)


def test_a_newer_format_asks_for_a_newer_lazynet(parts, tmp_path):
    """The error names both versions and says what to do."""
    strings, _, arrays = parts
    newer = {**strings, "format_version": "2", "lazynet_version": "7.0", "document": "anything"}
    container.write(tmp_path / "model", newer, arrays)
    with pytest.raises(ValueError, match=r"lazynet 7\.0 in version 2 .*upgrade lazynet"):
        lazynet.load(tmp_path / "model")


# --- files that somebody has made ----------------------------------------------------------------


def header_with(entry, data=bytes(16)):
    """A sealed file whose header has the array ``entry``."""
    text = '{"__metadata__":{"sha256":"' + "0" * 64 + '","format":"lazynet model",'
    text += '"format_version":"1"},"x":' + (entry if isinstance(entry, str) else json.dumps(entry))
    text += "}"
    return sealed(len(text).to_bytes(8, "little") + text.encode() + data)


F64 = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**F64, "dtype": "F8"}, "unknown dtype"),
        ({**F64, "dtype": ["F64"]}, "unknown dtype"),
        ({**F64, "shape": [3]}, "another number of bytes"),
        ({**F64, "shape": [2**62, 2**62]}, "another number of bytes"),
        ({**F64, "shape": [0, 2**60], "data_offsets": [0, 0]}, "another number of bytes"),
        ({**F64, "shape": [-2]}, "integers from 0 on"),
        ({**F64, "shape": [2.0]}, "integers from 0 on"),
        ({**F64, "shape": [True]}, "integers from 0 on"),
        ({**F64, "shape": 2}, "integers from 0 on"),
        ({**F64, "shape": [1] * 9}, "no shape"),
        ({**F64, "data_offsets": [8, 24]}, "begins at 8"),
        ({**F64, "data_offsets": [16, 0]}, "no shape, or no beginning"),
        ({**F64, "data_offsets": [0]}, "no shape, or no beginning"),
        ({**F64, "shape": [2**40], "data_offsets": [0, 2**43]}, "cut off"),
        ({**F64, "shape": [1], "data_offsets": [0, 8]}, "bytes too many"),
        ({**F64, "more": 1}, "must have dtype"),
        ([1], "must have dtype"),
        (json.dumps(F64) + ',"y":' + json.dumps(F64), "begins at 0 and not at 16"),
        (json.dumps(F64) + ',"x":' + json.dumps(F64), "occurs twice"),
        (json.dumps({**F64, "shape": [float("nan")]}), "no number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "damaged"),
        ("{", "cannot be read"),
    ],
)
def test_headers_that_lie(entry, words, tmp_path):
    """Shapes, places and types that do not fit, with a checksum that does."""
    assert words in refusal(tmp_path / "model", header_with(entry))


def test_flags_that_are_not_0_or_1(tmp_path):
    """A byte of a flag array has two values."""
    entry = {"dtype": "BOOL", "shape": [16], "data_offsets": [0, 16]}
    assert "not 0 or 1" in refusal(tmp_path / "model", header_with(entry, bytes(15) + b"\2"))


def change(document, place, value):
    """A copy of the document with another value at a place; ``...`` deletes."""
    found = copy.deepcopy(document)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


ENGINE = ("training", "_engines", 0)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("class",), "os.system", "no estimator 'os.system'"),
        (("class",), "StabilisedSGDClassifier", "has no parameter"),
        (("class",), "LazyNetRegressor", "has no parameter"),
        (("class",), ["LazyNetClassifier"], "no estimator"),
        (("more",), 1, "parts of a model"),
        (("coef",), ..., "parts of a model"),
        (("parameters", "__class__"), 1, "no parameter '__class__'"),
        (("parameters", "l1"), {"$object": ["eval", []]}, "no eval among"),
        (
            ("parameters", "l1"),
            {"$object": ["RDA", [["other", 1]]]},
            "RDA has no parameter 'other'",
        ),
        (("parameters", "l1"), {"$object": ["Units", []]}, "Units: "),
        (("parameters", "l1"), {"$import": "os"}, r"no value with the name '\$import'"),
        (("parameters", "l1"), {"$array": "nothing"}, "no array 'nothing'"),
        (("parameters", "l1"), {"$array": "intercept"}, "named twice"),
        (("parameters", "l1"), {"$float": "00"}, "not as it must be"),
        (("parameters", "l1"), {"$number": ["O", "00"]}, "no dtype"),
        (("parameters", "l1"), {}, "no value"),
        (("fitted", "predict"), 1, "no attribute 'predict'"),
        (("fitted", "__dict__"), 1, "no attribute '__dict__'"),
        (("fitted", "n_features_in_"), 7, "not the number of weights"),
        (("fitted", "n_features_in_"), ..., "not the number of weights"),
        (("fitted", "classes_"), ..., "needs classes_"),
        (("fitted", "classes_"), {"$labels": ["<U1", [2], ["a", "b"]]}, "2 classes do not belong"),
        (("fitted", "t_"), "many", "t_ is not as it must be"),
        (("fitted", "history_"), [1], "history_ is not"),
        (("fitted",), [], "no attributes"),
        (("sparse_coef",), 1, "sparse_coef"),
        (("coef",), 1, "coef is no matrix"),
        (("intercept",), [0.0], "intercept"),
        (("training", "_storage"), ..., "lacks engines"),
        (("training", "_engines"), [], "another number of outputs"),
        ((*ENGINE, "kind"), "Popen", "no engine of the kind 'Popen'"),
        ((*ENGINE, "kind"), "ClockEngine", "other"),
        ((*ENGINE, "n_features"), 10**9, "another number of features"),
        ((*ENGINE, "options", "n_outputs"), 10**9, "n_outputs=1000000000"),
        ((*ENGINE, "options", "room"), -1, "room=-1"),
        ((*ENGINE, "options"), {}, "is not told"),
        ((*ENGINE, "wear"), None, "no wear"),
        ((*ENGINE, "per_weight"), {}, "other arrays"),
        ((*ENGINE, "scalars"), [], "other arrays"),
        ((*ENGINE, "tables"), {}, "other tables"),
        ((*ENGINE,), 1, "not as it must be"),
    ],
)
def test_documents_that_lie(place, value, words, parts, tmp_path):
    """Unknown classes, parameters and attributes, values of other kinds: nothing is made."""
    strings, document, arrays = parts
    other = {**strings, "document": json.dumps(change(document, place, value))}
    container.write(tmp_path / "model", other, arrays)
    with pytest.raises(ValueError, match=words):
        lazynet.load(tmp_path / "model")


def test_arrays_that_lie(parts, tmp_path):
    """Another shape or type, an array too many, one too few."""
    strings, _, arrays = parts
    for name, array in arrays.items():
        with np.errstate(over="ignore"):
            narrow = array.astype(np.float16)
        for other in (array[:-1], narrow, array[None], None):
            if other is not None and other.dtype == array.dtype and other.shape == array.shape:
                continue
            changed = {**arrays, name: other}
            container.write(
                tmp_path / "model", strings, {k: v for k, v in changed.items() if v is not None}
            )
            try:
                model = lazynet.load(tmp_path / "model")
            except ValueError:
                continue
            # A schedule may be any array of numbers, and classes may be numbers of any type.
            assert name in ("schedule", "classes_") or name.startswith("_schedules/"), name
            use(model)
    container.write(tmp_path / "model", strings, {**arrays, "more": np.zeros(3)})
    with pytest.raises(ValueError, match="nothing uses the array 'more'"):
        lazynet.load(tmp_path / "model")


CLEAN = (ValueError, TypeError, ArithmeticError, AttributeError, MemoryError)


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


def nodes_of(value, place=()):
    """The places of all nodes of a document."""
    yield place
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes_of(part, (*place, key))


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 30), st.sampled_from([2**31, 2**63, 10**30]),
    st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5),
    st.sampled_from(["coef", "intercept", "LazyNetRegressor", "ClockEngine", "float32", "$array"]),
)  # fmt: skip
TAGS = st.sampled_from(
    ["$array", "$tuple", "$dict", "$scattered", "$sparse", "$labels", "$object", "$random_state"]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TAGS | st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(data=st.data())
def test_any_change_of_a_document_is_refused_or_harmless(data, parts, tmp_path_factory):
    """A node anywhere is replaced or lost, with a checksum that fits."""
    strings, document, arrays = parts
    places = sorted({place for place in nodes_of(document) if place}, key=repr)
    place = data.draw(st.sampled_from(places))
    value = data.draw(VALUES | st.just(...))
    path = tmp_path_factory.getbasetemp() / "changed"
    other = {**strings, "document": json.dumps(change(document, place, value))}
    container.write(path, other, arrays)
    try:
        model = lazynet.load(path)
    except ValueError:
        return
    use(model)


@given(data=st.data())
def test_any_change_of_the_numbers_is_refused_or_harmless(data, parts, tmp_path_factory):
    """Numbers of the arrays are replaced: no kernel reads outside an array."""
    strings, _, arrays = parts
    name = data.draw(st.sampled_from(sorted(key for key, array in arrays.items() if array.size)))
    array = arrays[name].copy()
    at = data.draw(st.integers(0, array.size - 1))
    numbers = [0, 1, -1, 3, 2**31, -(2**31), 2**62]
    if array.dtype.kind == "f":
        numbers += [np.nan, np.inf, -np.inf, 1e300, 5e-324]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.array(data.draw(st.sampled_from(numbers))).astype(array.dtype)
    array.reshape(-1)[at] = value
    path = tmp_path_factory.getbasetemp() / "changed"
    container.write(path, strings, {**arrays, name: array})
    try:
        model = lazynet.load(path)
    except ValueError:
        return
    use(model)
