"""A model in a file: what ``save`` writes, and what is checked before a model is made of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse

from lazynet._version import __version__
from lazynet.engines.base import N_FEATURES
from lazynet.persistence import container
from lazynet.persistence.attributes import Check, Sizes, table_of
from lazynet.persistence.engines import read_engine, written
from lazynet.persistence.values import CannotSave, Reader, Writer

#: What the metadata of a file call it.
FORMAT = "lazynet model"
# What the files of fits that run call it.
_CHECKPOINT = "lazynet checkpoint"
#: The version of the format that this lazynet reads and writes.
FORMAT_VERSION = 1

#: The attribute that holds engines.
_ENGINES = "_engines"
# Attributes that are written as the model of a file, or are made anew.  And the requests for
# metadata: scikit-learn sets them only while its metadata routing is enabled.
_OWN = {
    "_sparsified", "_sparse_rows", "_coefficients", "_offsets", "_sparse_coef", "_metadata_request",
}  # fmt: skip


# --- writing -----------------------------------------------------------------------------------


def save(
    model: Any,
    path: str | os.PathLike[str],
    training_state: bool,
    note: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model; refuses a value that a file cannot hold, before anything is written.

    ``note`` says how the rows of the model were read; ``note_of`` reads it.
    """
    kind = type(model)
    if kind.__module__.partition(".")[0] != "lazynet":
        raise CannotSave(
            f"{kind.__name__} is not an estimator of lazynet, and could not be loaded: pickle it"
        )
    writer = Writer()
    try:
        document = _document(writer, model, training_state)
    except CannotSave as error:
        raise CannotSave(f"the model cannot be saved: {error}") from None
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "lazynet_version": __version__,
        "written_with": (
            f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
        ),
        "rows_read_as": note,
        "document": document,
    }
    container.write(path, header, writer.arrays)


def _document(writer: Writer, model: Any, training_state: bool) -> dict[str, Any]:
    parameters = {name: _parameter(writer, name, getattr(model, name)) for name in model._kinds}
    known, learning = (table_of(type(model), name) for name in ("_saved", "_saved_to_learn"))
    fitted: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for name, value in {**vars(model), **model._also_saved()}.items():
        if name in _OWN or name in model._kinds:
            continue
        if name not in known and name not in learning:
            raise CannotSave(
                f"{name} is not an attribute that a fitted {type(model).__name__} has: delete it "
                f"from the model"
            )
        if name in learning and not training_state:
            continue
        if isinstance(value, np.random.RandomState) and value is model.random_state:
            continue  # the parameter, which is in the file already
        (fitted if name in known else state)[name] = (
            [written(writer, f"{name}/{i}", engine) for i, engine in enumerate(value)]
            if name == _ENGINES
            else writer.value(name, value)
        )
    return {
        "class": type(model).__name__,
        "parameters": parameters,
        "coef": writer.value("coef", model._raw_coef()),
        "intercept": writer.value("intercept", model._intercepts()),
        "fitted": fitted,
        "training": state if training_state else None,
    }


def _parameter(writer: Writer, name: str, value: Any) -> Any:
    try:
        return writer.value(name, value)
    except CannotSave as error:
        raise CannotSave(f"the parameter {error}: set_params({name}=...) replaces it") from None


# --- reading -----------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], estimators: Iterable[type[Any]]) -> Any:
    """The model of a file, one of these ``estimators``."""
    name = os.fspath(path)
    header, arrays = container.read(path)
    by, version = header.get("lazynet_version", "of an unknown version"), _version_of(name, header)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{name} was written by lazynet {by} in version {version} of the format, and this "
            f"lazynet, {__version__}, reads version {FORMAT_VERSION}: "
            + ("upgrade lazynet" if version > FORMAT_VERSION else f"read it with lazynet {by}")
        )
    try:
        return _model(header.get("document"), arrays, {kind.__name__: kind for kind in estimators})
    except RecursionError:
        raise ValueError(f"{name} holds no model: its values are nested too deeply") from None
    except MemoryError:
        raise MemoryError(f"{name} holds a model that needs more memory than there is") from None
    except ValueError as error:
        raise ValueError(f"{name}, written by lazynet {by}, holds no model: {error}") from None


def note_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The note that ``save`` was given; an empty one where there is none."""
    header, _ = container.read(path)
    found = header.get("rows_read_as")
    if type(found) not in (dict, type(None)):
        raise ValueError(f"{os.fspath(path)} does not say how its rows were read")
    return found or {}


def _version_of(name: str, header: Mapping[str, Any]) -> int:
    """The version of the format; refuses the file of something else than a model."""
    if header.get("format") == _CHECKPOINT:
        raise ValueError(
            f"{name} is the checkpoint of a fit that has not ended, and no model: the call of fit "
            f"that has written it goes on from it"
        )
    version = header.get("format_version")
    if header.get("format") != FORMAT or type(version) is not int:
        raise ValueError(f"{name} does not say that it is the file of a lazynet model")
    return version


def _model(document: Any, arrays: container.Arrays, estimators: Mapping[str, type[Any]]) -> Any:
    """A new model, made of a document whose every part has been checked."""
    keys = {"class", "parameters", "coef", "intercept", "fitted", "training"}
    if type(document) is not dict or set(document) != keys:
        raise ValueError("the document does not have the parts of a model")
    if type(document["class"]) is not str or document["class"] not in estimators:
        raise ValueError(f"there is no estimator {document['class']!r}")
    kind = estimators[document["class"]]
    reader = Reader(arrays)
    given = _by_name(document["parameters"], kind._kinds, "parameter", kind)
    parameters = {name: reader.value(node) for name, node in given.items()}
    rows, intercept = reader.value(document["coef"]), reader.value(document["intercept"])
    sizes = _sizes(rows, intercept)
    found: dict[str, Any] = {"_coefficients": rows, "_offsets": intercept}
    for part, table in (("fitted", "_saved"), ("training", "_saved_to_learn")):
        checks = table_of(kind, table)
        if part == "training" and document[part] is None:
            continue
        nodes = _by_name(document[part], checks, "attribute", kind)
        found.update(_attributes(reader, nodes, checks, sizes))
    if found.get("n_features_in_") != sizes.n:
        raise ValueError("n_features_in_ is not the number of weights in a row")
    if "classes_" in table_of(kind, "_saved"):
        _check_classes(found, sizes)
    if (_ENGINES in found) != ("_storage" in found):
        raise ValueError("the training state lacks engines")
    own = parameters.get("random_state")
    if isinstance(own, np.random.RandomState) and document["training"] is not None:
        found.setdefault("_generator", own)
    if sparse.issparse(rows):
        found["_sparse_coef"] = True
        if _ENGINES in found:
            found["_coefficients"] = None  # the engines have them
    for part in (rows.data, rows.indices, rows.indptr) if sparse.issparse(rows) else (rows,):
        part.flags.writeable = False
    model = kind(**parameters)
    vars(model).update(found)
    return model


def _by_name(nodes: Any, known: Iterable[str], what: str, kind: type[Any]) -> dict[str, Any]:
    """The nodes by name; refuses names that the estimator does not know."""
    if type(nodes) is not dict:
        raise ValueError(f"there are no {what}s")
    if unknown := sorted(set(nodes) - set(known)):
        raise ValueError(
            f"{kind.__name__} has no {what} {unknown[0]!r} here; a newer lazynet may have written "
            f"the file"
        )
    return nodes


def _sizes(rows: Any, intercept: Any) -> Sizes:
    """The sizes of the model, from its weights."""
    if not isinstance(rows, (np.ndarray, sparse.csr_matrix)) or len(rows.shape) != 2:
        raise ValueError("coef is no matrix")
    if rows.dtype != np.float64:
        raise ValueError(f"coef holds {rows.dtype} and not float64")
    sizes = Sizes(*rows.shape)
    if not sizes.k or not 0 < sizes.n <= N_FEATURES.most:
        raise ValueError(f"no model has weights of the shape {rows.shape}")
    right = isinstance(intercept, np.ndarray) and intercept.dtype == np.float64
    if not right or intercept.shape != (sizes.k,):
        raise ValueError("intercept does not have a number for every row of coef")
    return sizes


def _attributes(
    reader: Reader, nodes: Mapping[str, Any], checks: Mapping[str, Check], sizes: Sizes
) -> dict[str, Any]:
    """The attributes of these nodes."""
    found: dict[str, Any] = {}
    for name, node in nodes.items():
        if name == _ENGINES:
            if type(node) is not list:
                raise ValueError("the engines are no list")
            found[name] = [read_engine(reader, each, sizes.n, sizes.k) for each in node]
            if sum(engine.n_outputs for engine in found[name]) != sizes.k:
                raise ValueError("the engines have another number of outputs than the model")
            continue
        found[name] = reader.value(node)
        if not checks[name](found[name], sizes):
            raise ValueError(f"the attribute {name} is not as it must be")
    return found


def _check_classes(found: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse classes that do not belong to the rows of weights."""
    classes = found.get("classes_")
    if classes is None:
        raise ValueError("a classifier needs classes_")
    one_of_two = sizes.k == 1 and found.get("_labels_given") is None
    if len(classes) != (2 if one_of_two else sizes.k):
        raise ValueError(f"{len(classes)} classes do not belong to {sizes.k} rows of weights")
