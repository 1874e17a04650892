"""A model in a file: ``save`` writes it; ``load`` checks the file before it makes a model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from lazynet.data.arrays import read_only
from lazynet.data.files import NO_DOCUMENT
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import EngineKind, new_engine
from lazynet.engines.outputs import OutputsEngine
from lazynet.parameters import MOST_FEATURES, kinds_of
from lazynet.persistence import container
from lazynet.persistence.container import Arrays, decoded, encoded
from lazynet.training.automatic import Choice, Choices

#: The format in the header of the file.
FORMAT = "lazynet model"

# Attributes that are written as ``coef`` and ``intercept``, or that ``load`` computes.  And the
# requests for metadata: scikit-learn sets them only while its metadata routing is enabled.
_NOT_WRITTEN = {"_coefficients", "_offsets", "_sparse_coef", "_metadata_request"}


def save(model: Any, path: str | os.PathLike[str], note: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model; refuses a value that a file cannot hold, before anything is written.

    ``note`` says how the rows of the model were read; ``load`` returns it.
    """
    kind = type(model)
    if kind.__module__.partition(".")[0] != "lazynet":
        raise TypeError(
            f"{kind.__name__} is not an estimator of lazynet, and could not be loaded: pickle it"
        )
    arrays: Arrays = {}
    header = {"rows_read_as": note, "document": _document(model, arrays)}
    container.write(path, FORMAT, header, arrays)


def _document(model: Any, arrays: Arrays) -> dict[str, Any]:
    """The JSON of a model, whose arrays are added to ``arrays``."""
    names = kinds_of(type(model))
    values = {name: part for name, part in vars(model).items() if name not in names}
    engines = values.get("_engines")
    if engines is not None:
        values["_engines"] = [
            {
                "outputs": engine.n_outputs if isinstance(engine, OutputsEngine) else None,
                "state": engine.state(),
            }
            for engine in engines
        ]
    if "_generator" in values and values["_generator"] is model.random_state:
        values["_generator"] = "random_state"  # the parameter itself, which is written once
    return {
        "class": type(model).__name__,
        "parameters": {name: encoded(name, getattr(model, name), arrays) for name in names},
        "coef": encoded("coef", model._weights(), arrays),
        "intercept": encoded("intercept", model._intercepts(), arrays),
        "attributes": {
            name: encoded(name, part, arrays)
            for name, part in values.items()
            if name not in _NOT_WRITTEN
        },
    }


def load(
    path: str | os.PathLike[str], estimators: Iterable[type[Any]]
) -> tuple[Any, dict[str, Any]]:
    """The model of a file, one of these ``estimators``, and the note that ``save`` was given."""
    name = os.fspath(path)
    header, arrays = container.read(path, FORMAT)
    kinds = {kind.__name__: kind for kind in estimators}
    note = header.get("rows_read_as")
    if type(note) not in (dict, type(None)):
        raise ValueError(f"{name} does not say how its rows were read")
    try:
        return _model(decoded(header["document"], arrays), kinds), note or {}
    except MemoryError:
        raise MemoryError(f"{name} holds a model that needs more memory than there is") from None
    except NO_DOCUMENT as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else error
        by = f"{name}, written by lazynet {header.get('lazynet_version')}"
        raise ValueError(f"{by}, holds no model: {reason}") from None


def _model(document: dict[str, Any], kinds: Mapping[str, type[Any]]) -> Any:
    """A new model from a document, after a check of all sizes."""
    if document["class"] not in kinds:
        raise ValueError(f"there is no estimator {document['class']!r}")
    model = kinds[document["class"]](**document["parameters"])
    rows, intercept, attributes = document["coef"], document["intercept"], document["attributes"]
    _check_sizes(rows, intercept, attributes, is_classifier(model))
    if sparse.issparse(rows):
        attributes["_sparse_coef"] = True
    if attributes.get("_generator") == "random_state":
        attributes["_generator"] = model.random_state
    if "auto_" in attributes:
        attributes["auto_"] = Choices(Choice(*choice) for choice in attributes["auto_"])
    if "_engines" in attributes:
        kind = attributes["_engine_kind"] = EngineKind(*attributes["_engine_kind"])
        attributes["_engines"] = _engines(kind, attributes["_engines"], *rows.shape)
    vars(model).update(attributes, _coefficients=read_only(rows), _offsets=intercept)
    return model


def _check_sizes(rows: Any, intercept: Any, attributes: Any, has_classes: bool) -> None:
    """Refuse attributes whose sizes are not those of the weights."""
    is_matrix = isinstance(rows, (np.ndarray, sparse.csr_matrix)) and len(rows.shape) == 2
    if not is_matrix or rows.dtype != np.float64:
        raise ValueError("coef is no matrix of float64")
    n_outputs, n_features = rows.shape
    if not n_outputs or not 0 < n_features <= MOST_FEATURES:
        raise ValueError(f"no model has weights of the shape {rows.shape}")
    right = isinstance(intercept, np.ndarray) and intercept.dtype == np.float64
    if not right or intercept.shape != (n_outputs,):
        raise ValueError("intercept does not have a number for every row of coef")
    if attributes["n_features_in_"] != n_features:
        raise ValueError("n_features_in_ is not the number of weights in a row")
    units, moments = attributes.get("units_"), attributes.get("_moments")
    if units is not None and not units.sizes.shape == units.means.shape == (n_features,):
        raise ValueError("units_ does not have a size and a mean for every feature")
    if moments is not None:
        if moments.n_features != n_features:
            raise ValueError("the moments are not those of every feature")
        if moments.targets is not None and moments.targets.shape != (n_outputs,):
            raise ValueError("the moments do not have a size for every target")
    if has_classes:
        one_of_two = n_outputs == 1 and attributes.get("_form") is None
        if attributes["classes_"].shape != (2 if one_of_two else n_outputs,):
            raise ValueError("classes_ does not belong to the rows of weights")


def _engines(
    kind: EngineKind, saved: list[dict[str, Any]], n_outputs: int, n_features: int
) -> list[Engine]:
    """The engines of a model, filled with their states."""
    numbers = [1 if part["outputs"] is None else part["outputs"] for part in saved]
    if sum(numbers) != n_outputs or min(numbers) < 1:
        raise ValueError("the engines have another number of outputs than the model")
    engines = [new_engine(kind, n_features, part["outputs"]) for part in saved]
    for engine, part in zip(engines, saved, strict=True):
        engine.set_state(part["state"])
    return engines
