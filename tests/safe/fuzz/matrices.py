"""X in every format, type and state of damage, into every method of every estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from safe.fuzz.alarm import stopped_after
from safe.fuzz.disguises import fenced, in_disguise, overlapping
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


def _set_index(array: NDArray[Any], random: np.random.Generator) -> str:
    """Put an odd number among indices, as far as their type can hold it."""
    if not array.size:
        return "empty"
    odd = ODD_INDICES[random.integers(len(ODD_INDICES))]
    limits = np.iinfo(array.dtype)
    array.flat[random.integers(array.size)] = min(max(odd, limits.min), limits.max)
    return f"index {odd}"


def _damage_values(other: Any, random: np.random.Generator) -> list[str]:
    """Odd values, or an array of them that lies oddly in memory."""
    if random.random() < 0.5 and other.data.size and other.data.dtype.kind == "f":
        odd = random.choice(ODD_VALUES)
        with np.errstate(all="ignore"):
            other.data.flat[random.integers(other.data.size)] = odd
        return [f"value {odd}"]
    other.data = in_disguise(other.data, random)
    return ["data in disguise"]


def _damage_compressed(other: Any, random: np.random.Generator) -> list[str]:
    how = []
    for _ in range(random.integers(1, 3)):
        damage = str(random.choice(list(_COMPRESSED)))
        how.append(f"{damage}: {_COMPRESSED[damage](other, random)}")
    return how


def _break_starts(other: Any, random: np.random.Generator) -> str:
    other.indptr = other.indptr.copy()
    if random.random() < 0.5:
        other.indptr = random.permutation(other.indptr)
        return "shuffled"
    return _set_index(other.indptr, random)


def _break_columns(other: Any, random: np.random.Generator) -> str:
    if random.random() < 0.3:
        kind = INDICES[random.integers(len(INDICES))]
        other.indices = other.indices.astype(kind)
        if random.random() < 0.5:
            other.indptr = other.indptr.astype(kind)
        return np.dtype(kind).name
    if random.random() < 0.5:
        other.indices = random.permutation(other.indices)
        return "shuffled"
    if random.random() < 0.5:
        other.indices = np.full_like(other.indices, 0)
        return "repeated"
    other.indices = other.indices.astype(np.int64 if random.random() < 0.5 else np.int32)
    return _set_index(other.indices, random)


def _break_lengths(other: Any, random: np.random.Generator) -> str:
    name = str(random.choice(["data", "indices", "indptr"]))
    array = getattr(other, name)
    change = int(random.choice([-1, 1, 5, -len(array)]))
    longer = (
        np.concatenate([array, np.repeat(array[-1:], change)]) if change > 0 else array[:change]
    )
    setattr(other, name, longer)
    return f"{name} {change:+d}"


def _lie_oddly(other: Any, random: np.random.Generator) -> str:
    name = str(random.choice(["data", "indices", "indptr"]))
    setattr(other, name, in_disguise(getattr(other, name), random))
    return name


def _fence(other: Any, random: np.random.Generator) -> str:
    front = bool(random.random() < 0.3)
    for name in ("data", "indices", "indptr"):
        setattr(other, name, fenced(getattr(other, name), front=front))
    return "in front" if front else "behind"


def _overlap(other: Any, random: np.random.Generator) -> str:
    names = ["data", "indices", "indptr"]
    name, of = (str(each) for each in random.choice(names, size=2, replace=False))
    setattr(other, name, overlapping(getattr(other, name), getattr(other, of)))
    return f"{name} in {of}"


def _spare_room(other: Any, random: np.random.Generator) -> str:
    other.indices = np.append(other.indices, [10**6, -5]).astype(other.indices.dtype)
    tail = np.full((2, *other.data.shape[1:]), 3).astype(other.data.dtype)
    other.data = np.concatenate([other.data, tail])
    return "2"


def _lie_about_shape(other: Any, random: np.random.Generator) -> str:
    shape = tuple(int(max(0, n + random.integers(-2, 3))) for n in other.shape)
    if random.random() < 0.1:
        shape = (shape[0], 2 ** int(random.choice([31, 33, 45, 62])))
    other._shape = shape
    return str(shape)


def _wrong_array(other: Any, random: np.random.Generator) -> str:
    name = str(random.choice(["data", "indices", "indptr"]))
    array = getattr(other, name)
    wrong = [None, array.tolist(), array.reshape(1, -1), array.astype(object), array.astype(str),
             array.astype(float) + 0.5, np.array(0), np.ma.masked_array(array)]  # fmt: skip
    chosen = int(random.integers(len(wrong)))
    setattr(other, name, wrong[chosen])
    return f"{name} {type(wrong[chosen]).__name__} {chosen}"


_COMPRESSED = {
    "values": lambda other, random: " ".join(_damage_values(other, random)),
    "starts": _break_starts,
    "columns": _break_columns,
    "lengths": _break_lengths,
    "memory": _lie_oddly,
    "fence": _fence,
    "overlap": _overlap,
    "room": _spare_room,
    "shape": _lie_about_shape,
    "wrong": _wrong_array,
}


def _damage_coo(other: Any, random: np.random.Generator) -> list[str]:
    if random.random() < 0.3:
        return _damage_values(other, random)
    name = str(random.choice(["row", "col"]))
    array = getattr(other, name).astype(np.int64 if random.random() < 0.5 else np.int32)
    if random.random() < 0.25:
        changed, how = array[:-1], "short"
    elif random.random() < 0.3:
        changed, how = in_disguise(array, random), "disguised"
    else:
        changed, how = array, _set_index(array, random)
    try:
        setattr(other, name, changed)
    except (AttributeError, ValueError):
        return ["not settable"]
    return [name, how]


def _damage_dia(other: Any, random: np.random.Generator) -> list[str]:
    if random.random() < 0.3:
        return _damage_values(other, random)
    offsets = other.offsets.astype(np.int64 if random.random() < 0.5 else np.int32)
    if random.random() < 0.3:
        other.offsets = offsets[:-1]
        return ["offsets short"]
    how = _set_index(offsets, random)
    other.offsets = offsets
    return ["offsets", how]


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
    "coo": _damage_coo,
    "dia": _damage_dia,
    "dok": _damage_dok,
    "lil": _damage_lil,
}
