"""A picture of an object, deep and bit for bit, that can be compared with a later one."""

import hashlib
from collections.abc import Mapping

import numpy as np
from scipy import sparse

#: attributes that hold what can be computed anew, and times, which no two runs share
_VOLATILE = frozenset(
    {"_coefficients", "_has_sorted_indices", "_has_canonical_format", "seconds"}
    # Of settled parameters and of units.
    | {"_origin", "_offsets", "moved"}
)


def portrait(subject, seen=frozenset()):
    """What the object is made of, as tuples that are equal if and only if the objects are."""
    name = type(subject).__name__
    if subject is None or isinstance(subject, (bool, int, str, bytes, type)):
        return name, subject
    if isinstance(subject, (float, complex, np.generic)):
        # The bits, so that NaN equals itself and -0.0 does not equal 0.0.
        return name, np.asarray(subject).tobytes()
    if id(subject) in seen:
        return "seen", name
    seen = seen | {id(subject)}
    if isinstance(subject, np.ndarray):
        if subject.dtype.hasobject:
            return "array", subject.shape, tuple(portrait(each, seen) for each in subject.ravel())
        return "array", subject.dtype.str, subject.shape, subject.tobytes()
    if sparse.issparse(subject):
        return "sparse", subject.format, subject.shape, _of_fields(vars(subject), seen)
    if isinstance(subject, np.random.RandomState):
        return "generator", portrait(subject.get_state(), seen)
    if isinstance(subject, Mapping):
        items = ((key, value) for key, value in subject.items() if key not in _VOLATILE)
        return "mapping", tuple((portrait(key, seen), portrait(v, seen)) for key, v in items)
    if isinstance(subject, (list, tuple)):
        return name, tuple(portrait(each, seen) for each in subject)
    if isinstance(subject, (set, frozenset)):
        return "set", frozenset(portrait(each, seen) for each in subject)
    holds_parameters = hasattr(subject, "get_params")
    if (callable(subject) and not holds_parameters) or not hasattr(subject, "__dict__"):
        return "opaque", name
    # Tables have room behind what is written in them; how they are pickled says what counts.
    is_engine = hasattr(subject, "_per_feature")
    return name, _of_fields(subject.__getstate__() if is_engine else vars(subject), seen)


def _of_fields(fields, seen):
    names = sorted(fields.keys() - _VOLATILE)
    return tuple((name, portrait(fields[name], seen)) for name in names)


def differences(before, after, path=""):
    """The places where two portraits differ, for people to read."""
    if before == after:
        return []
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        name = before[0] if before and isinstance(before[0], str) else ""
        return [
            where
            for left, right in zip(before, after, strict=True)
            for where in differences(left, right, f"{path}.{name}" if name else path)
        ]
    return [f"{path or 'it'}: {before!r:.60} became {after!r:.60}"]


def bits_of(model):
    """A checksum of every number of a fitted model, but for the seconds."""
    return hashlib.sha256(repr(portrait(model)).encode()).hexdigest()
