"""Sparse X in every format, type and state of damage, into every method of every estimator."""

import warnings

import numpy as np
from scipy import sparse
from support.models import (
    ESTIMATORS,
    OBJECTS,
    arguments_of,
    called,
    made,
    methods_over_rows,
    rows_and_targets,
)

from lazynet.parameters import kinds_of
from safe.fuzz.disguises import another_array
from safe.fuzz.oracle import judged, listening

NUMBERS = [
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
    np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.object_,
]  # fmt: skip
#: The arrays of a matrix, by its format; dictionaries and lists are sound here.
ARRAYS = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")),
    "coo": ("data", "row", "col"), "dia": ("data", "offsets"), "dok": (), "lil": (),
}  # fmt: skip


def generate(random, ledger):
    """A sound model, and an X for its methods that may be anything."""
    Estimator = one_of(ESTIMATORS, random)
    model = made(Estimator)
    d, n = int(random.choice([1, 3, 7])), int(random.choice([2, 5, 12]))
    X, y = rows_and_targets(Estimator, random, n=n, d=d)
    fitted = random.random() < 0.7
    if fitted:
        with listening():
            model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, how = matrix(X, random)
    shape = getattr(given, "shape", ())
    if len(shape) == 2 and isinstance(shape[1], int) and 10**8 < shape[1] < 2**36:
        # A weight for every column takes gigabytes, and yet finds room.
        ledger.refused["too wide to wait for"] += 1
        return
    words = [*words_for(model), "data", "offsets", "rows", "col", "coords", "n_features"]
    for method in random.permutation(methods_over_rows(model))[: random.integers(1, 4)]:
        if method == "score" and not fitted:
            continue
        judged(
            ledger,
            f"{type(model).__name__}.{method} with X {how}",
            lambda method=method: called(model, method, given, y),
            words=words,
            model=model,
            # No machine may have what X asks for.
            accepted=(MemoryError,),
            # Infinite values in X give predictions that are not finite, as they must.
            finite="fit" in method,
        )


def words_for(model):
    """What an error may name: parameters, and arguments of methods."""
    words = {"X", "y", "indices", "indptr", "row", "eta", *model.get_params()}
    words.update(name for kind in OBJECTS for name in kinds_of(kind))
    for name in methods_over_rows(model):
        words.update(arguments_of(model, name))
    return sorted(words)


def one_of(values, random):
    return values[random.integers(len(values))]


def matrix(X, random):
    """Something to pass as X, and words that tell what it is."""
    if random.random() < 0.05:
        X = sparse.csr_matrix(X[: random.integers(0, 2), : random.integers(0, 2)])
    form = str(random.choice(list(ARRAYS), p=[0.4, *[0.1] * 6]))
    how = [f"{form}_{random.choice(['array', 'matrix'])}"]
    other = getattr(sparse, how[0])(X)
    if random.random() < 0.4 and ARRAYS[form]:
        number = one_of(NUMBERS, random)
        how.append(np.dtype(number).name)
        values = other.data
        if np.issubdtype(number, np.complexfloating):
            values = values + 1j * random.integers(0, 2)
        elif np.issubdtype(number, np.unsignedinteger) or number is np.int8:
            values = 100 * np.abs(values)
        other.data = np.asarray(values).astype(number)
    if random.random() < 0.7 and ARRAYS[form]:
        try:
            how += damage(other, random)
        except (TypeError, ValueError, AttributeError, IndexError):
            how.append("half damaged")
    return other, " ".join(how)


def damage_arrays(other, random):
    """Something else in place of an array or two, or in another order."""
    how = []
    for _ in range(random.integers(1, 3)):
        name = str(random.choice(ARRAYS[other.format]))
        arrays = {each: getattr(other, each) for each in ARRAYS[other.format]}
        array, choice = np.asarray(arrays[name]), int(random.integers(10))
        if name == "data" or choice > 1:
            changed, change = another_array(array, arrays, random)
        elif choice == 0:
            changed, change = random.permutation(array), "shuffled"
        else:
            changed, change = np.zeros_like(array), "repeated"
        setattr(other, name, changed)
        how.append(f"{name} {change}")
    return how


def damage(other, random):
    """Room behind the last row, a shape that is a lie, or other arrays."""
    choice = int(random.integers(5)) if "indptr" in ARRAYS[other.format] else 3
    if choice == 0:
        other.indices = np.append(other.indices, [10**6, -5]).astype(other.indices.dtype)
        tail = np.full((2, *other.data.shape[1:]), 3).astype(other.data.dtype)
        other.data = np.concatenate([other.data, tail])
        return ["room behind"]
    if choice == 1:
        shape = tuple(int(max(0, n + random.integers(-2, 3))) for n in other.shape)
        if random.random() < 0.1:
            shape = (shape[0], 2 ** int(random.choice([31, 33, 45, 62])))
        other._shape = shape
        return [f"shape {shape}"]
    return damage_arrays(other, random)
