"""X in every format, type and state of damage, into every method of every estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safe.fuzz.alarm import stopped_after
from safe.fuzz.disguises import another_array, fenced, in_disguise
from safe.fuzz.ledger import Ledger
from safe.fuzz.models import (
    ESTIMATORS,
    called,
    made,
    methods_over_rows,
    rows_and_targets,
    sound_parameters,
    words_for,
)
from safe.fuzz.oracle import judged, listening

NUMBERS = [
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
    np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.object_,
]  # fmt: skip
INDICES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
ODD_VALUES = [np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e308, 1e200, 1e-200, -0.0]
ODD_INDICES = [-1, -7, 7, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, -(2**62)]
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]

try:
    import pandas
except ImportError:
    pandas = None


def fills_memory(given: Any) -> bool:
    """Whether a weight for every column takes gigabytes, and yet finds room."""
    shape = getattr(given, "shape", ())
    return len(shape) == 2 and isinstance(shape[1], int) and 10**8 < shape[1] < 2**36


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """A sound model, and an X for its methods that may be anything."""
    Estimator = ESTIMATORS[random.integers(len(ESTIMATORS))]
    model = made(Estimator)
    if random.random() < 0.3:
        model.set_params(**sound_parameters(model.get_params(), random, 2))
    d = int(random.choice([1, 3, 7]))
    X, y = rows_and_targets(Estimator, random, n=int(random.choice([2, 5, 12])), d=d)
    fitted = random.random() < 0.7
    if fitted:
        with listening(), stopped_after(2.0):
            try:
                model.fit(X, y)
            except (ValueError, FloatingPointError):
                model = made(Estimator).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, how = matrix(X, random)
    if fills_memory(given):
        ledger.refused["too wide to wait for"] += 1
        return
    words = [*words_for(model), "data", "offsets", "rows", "col", "coords", "n_features"]
    methods = methods_over_rows(model)
    for method in random.permutation(methods)[: random.integers(1, 4)]:
        if method == "score" and not fitted:
            continue
        with stopped_after(4.0):
            judged(
                ledger,
                f"{type(model).__name__}.{method} with X {how}",
                lambda method=method: called(model, method, given, y),
                words=words,
                model=model,
                needs_memory=True,
                # Infinite values in X give predictions that are not finite, as they must.
                finite="fit" in method,
            )


def matrix(X: sparse.csr_matrix, random: np.random.Generator) -> tuple[Any, str]:
    """Something to pass as X, and words that tell what it is."""
    if random.random() < 0.15:
        return container(X.toarray(), random)
    if random.random() < 0.05:
        X = sparse.csr_matrix(X[: random.integers(0, 2), : random.integers(0, 2)])
    form = str(random.choice(FORMATS, p=[0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]))
    kind = "array" if random.random() < 0.5 else "matrix"
    how = [f"{form}_{kind}"]
    made_of = getattr(sparse, f"{form}_{kind}")
    other = made_of(X)
    if random.random() < 0.4 and form not in ("dok", "lil"):
        number = NUMBERS[random.integers(len(NUMBERS))]
        how.append(np.dtype(number).name)
        values = other.data
        if np.issubdtype(number, np.complexfloating):
            values = values + 1j * random.integers(0, 2)
        elif np.issubdtype(number, np.unsignedinteger) or number is np.int8:
            values = 100 * np.abs(values)
        other.data = np.asarray(values).astype(number)
    if random.random() < 0.7:
        try:
            how += _DAMAGE[form](other, random)
        except (TypeError, ValueError, AttributeError, IndexError):
            how.append("half damaged")
    return other, " ".join(how)


def container(dense: NDArray[Any], random: np.random.Generator) -> tuple[Any, str]:
    """Rows that are not sparse."""
    number = NUMBERS[random.integers(len(NUMBERS))]
    if random.random() < 0.3 and dense.size:
        dense = dense.copy()
        dense.flat[random.integers(dense.size)] = random.choice(ODD_VALUES)
    with np.errstate(all="ignore"):
        typed = dense.astype(number) if random.random() < 0.5 else dense
    choices = {
        "list": lambda: typed.tolist(),
        "array": lambda: typed,
        "disguised": lambda: in_disguise(typed, random),
        "np.matrix": lambda: np.asmatrix(typed),
        "ragged": lambda: [[1.0], [1.0, 2.0]],
        "1d": lambda: typed.ravel(),
        "3d": lambda: typed[None],
        "0d": lambda: np.array(1.0),
        "strings": lambda: typed.astype(str),
        "bytes": lambda: typed.astype("S8"),
        "dates": lambda: np.zeros(typed.shape, "M8[s]"),
        "record": lambda: np.zeros(len(typed), dtype=[("a", float), ("b", int)]),
        "None": lambda: None,
        "number": lambda: 3.0,
        "objects": lambda: np.full(typed.shape, None, dtype=object),
        "masked": lambda: np.ma.masked_array(typed, mask=random.random(typed.shape) < 0.2),
    }
    if pandas is not None:
        choices["frame"] = lambda: pandas.DataFrame(typed)
        choices["sparse frame"] = lambda: pandas.DataFrame.sparse.from_spmatrix(
            sparse.csr_matrix(dense)
        )
    name = str(random.choice(list(choices)))
    return choices[name](), f"dense {name} {np.dtype(number).name}"


#: The arrays of a matrix, by its format.
ARRAYS = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


def _damage_arrays(other: Any, random: np.random.Generator) -> list[str]:
    """Something else in place of an array or two, in another order, or of a width of its own."""
    how = []
    for _ in range(random.integers(1, 3)):
        name = str(random.choice(ARRAYS[other.format]))
        arrays = {each: getattr(other, each) for each in ARRAYS[other.format]}
        array, choice = np.asarray(arrays[name]), int(random.integers(10))
        if choice == 0 and name != "data":
            changed, told = random.permutation(array), "shuffled"
        elif choice == 1 and name != "data":
            changed, told = np.zeros_like(array), "repeated"
        elif choice == 2 and name != "data":
            kind = INDICES[random.integers(len(INDICES))]
            changed, told = array.astype(kind), np.dtype(kind).name
        else:
            changed, told = another_array(array, arrays, random)
        setattr(other, name, changed)
        how.append(f"{name} {told}")
    return how


def _damage_compressed(other: Any, random: np.random.Generator) -> list[str]:
    choice = int(random.integers(6))
    if choice == 0:
        return [_spare_room(other, random)]
    if choice == 1:
        return [_lie_about_shape(other, random)]
    if choice == 2:
        front = bool(random.random() < 0.3)
        for name in ARRAYS[other.format]:
            setattr(other, name, fenced(getattr(other, name), front=front))
        return ["fenced"]
    return _damage_arrays(other, random)


def _spare_room(other: Any, random: np.random.Generator) -> str:
    other.indices = np.append(other.indices, [10**6, -5]).astype(other.indices.dtype)
    tail = np.full((2, *other.data.shape[1:]), 3).astype(other.data.dtype)
    other.data = np.concatenate([other.data, tail])
    return "room behind"


def _lie_about_shape(other: Any, random: np.random.Generator) -> str:
    shape = tuple(int(max(0, n + random.integers(-2, 3))) for n in other.shape)
    if random.random() < 0.1:
        shape = (shape[0], 2 ** int(random.choice([31, 33, 45, 62])))
    other._shape = shape
    return f"shape {shape}"


def _damage_dok(other: Any, random: np.random.Generator) -> list[str]:
    keys: list[Any] = [
        (0, 2**31 - 1), (-1, 0), (0, -7), (10**6, 10**6), "x", (0,), (0, 1, 2), (0.5, 0), 3,
        (0, 2**40), (None, 0),
    ]  # fmt: skip
    key = keys[random.integers(len(keys))]
    value = [1.0, None, "a", 1j, np.nan][random.integers(5)] if random.random() < 0.3 else 1.0
    inside = other._dict if hasattr(other, "_dict") else other
    try:
        dict.__setitem__(inside, key, value)
    except TypeError:
        return ["not settable"]
    return [f"key {key} value {value}"]


def _damage_lil(other: Any, random: np.random.Generator) -> list[str]:
    if other.shape[0] == 0:
        return ["empty"]
    row = int(random.integers(other.shape[0]))
    odd = ODD_INDICES[random.integers(len(ODD_INDICES))]
    choices = {
        "bad column": lambda: (other.rows.__setitem__(row, [odd]),
                               other.data.__setitem__(row, [1.0])),
        "column without value": lambda: other.rows.__setitem__(row, [0, 1, 2][: 1 + row % 3]),
        "value without column": lambda: other.data.__setitem__(row, [1.0, 2.0, 3.0, 4.0]),
        "no list": lambda: other.rows.__setitem__(row, None),
        "number for a list": lambda: other.data.__setitem__(row, 1.0),
        "text": lambda: other.data.__setitem__(row, ["a"] * len(other.rows[row])),
        "fewer rows": lambda: setattr(other, "rows", other.rows[:-1]),
        "fewer data": lambda: setattr(other, "data", other.data[:-1]),
        "unsorted": lambda: other.rows[row].reverse(),
        "tuples": lambda: other.rows.__setitem__(row, tuple(other.rows[row])),
        "floats": lambda: other.rows.__setitem__(row, [0.5] * len(other.data[row])),
        "odd value": lambda: other.data.__setitem__(row, [np.nan] * len(other.rows[row])),
    }  # fmt: skip
    name = str(random.choice(list(choices)))
    choices[name]()
    return [name, str(odd) if name == "bad column" else ""]


_DAMAGE = {
    "csr": _damage_compressed,
    "csc": _damage_compressed,
    "bsr": _damage_compressed,
    "coo": _damage_arrays,
    "dia": _damage_arrays,
    "dok": _damage_dok,
    "lil": _damage_lil,
}
