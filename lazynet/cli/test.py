"""``lazynet test``: loss and scores of a model on files, whose rows come in chunks."""

from __future__ import annotations

import argparse
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.cli import inputs
from lazynet.cli.inputs import report
from lazynet.data.chunks import Chunk
from lazynet.data.targets import Classes, Targets
from lazynet.estimators import load_with_note
from lazynet.losses import LOSSES_OF_CLASSES, SOFTMAX, check_loss
from lazynet.training.passes import softmax_losses, total_loss_of

EXAMPLES = """\
examples:
  Loss, accuracy and F1, or R^2 for numbers:
    lazynet test model.lazy new.svm

  The same as one JSON object:
    lazynet test model.lazy new.svm --json

Rows are read with the options of the training rows (columns from 0 or 1, bits of the hash), a chunk
at a time; all targets and predictions are in memory.  Columns beyond those of the model have the
weight 0; a label that the training rows did not have is an error.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    inputs.add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Evaluate the model on the files."""
    model, note = load_with_note(options.model)
    began = time.perf_counter()
    with inputs.pipes_in_files(options, note):
        inputs.settle_reading(options, model, note)
        judged = [_judged(model, chunk) for chunk in inputs.chunks_for(options, model)]
        if not judged:
            raise inputs.no_rows(options.files)
    losses, *columns = zip(*judged, strict=True)
    weight, *both = (
        sparse.vstack(c) if sparse.issparse(c[0]) else np.concatenate(c) for c in columns
    )
    if not weight.any():
        raise ValueError("all rows have the weight 0: there is no row to test on")
    scores = {"loss": sum(losses) / weight.sum(), **_scores(model, weight, *both)}
    seconds = time.perf_counter() - began
    report({"rows": len(weight), **scores, "seconds": seconds}, options.json)


def _has_labels(model: Any) -> bool:
    """Whether a row has any number of labels."""
    return getattr(model, "_form", None) is not None


def _judged(model: Any, chunk: Chunk) -> tuple[float, NDArray[np.float64], Any, Any]:
    """The loss of the rows of a chunk; their weights, targets and predictions."""
    X, y = chunk.X, chunk.y
    weight = np.ones(X.shape[0]) if chunk.weight is None else chunk.weight
    n_labels = len(model.intercept_) if _has_labels(model) else None
    n_labels_of_rows = y.shape[1] if sparse.issparse(y) else None
    if n_labels != n_labels_of_rows:
        raise ValueError(
            f"the files have {_labels_of_a_row(n_labels_of_rows)}, and the model has learned "
            f"{_labels_of_a_row(n_labels)}"
        )
    rows, classes = Chunk(X, y, weight), getattr(model, "classes_", None)
    plain = SimpleNamespace(class_weight=None, softmax=False)
    try:
        targets: Targets = model._checked_data(plain, rows, classes, some_rows=True).targets
    except ValueError as error:
        raise ValueError(f"the files do not suit the model: {error}") from None
    decision = model._decision(X)
    loss = check_loss("loss", model.loss, LOSSES_OF_CLASSES)
    if loss == SOFTMAX and isinstance(targets, Classes) and targets.n_outputs > 1:
        losses = softmax_losses(np.ascontiguousarray(decision.T), targets.codes)
        total = float((losses * weight).sum())
    else:
        outputs = zip(decision.T, targets, strict=True)
        total = sum(total_loss_of(row, *target, loss) for row, target in outputs)
    predicted = model.predict(X)
    if n_labels is not None:
        predicted, y = sparse.csr_matrix(predicted), (y > 0).astype(int)
    return total, weight, y, predicted


def _scores(
    model: Any, weight: NDArray[np.float64], truth: Any, predicted: Any
) -> dict[str, float]:
    """The scores of predictions by name."""
    # The import of the metrics takes a moment.
    from sklearn import metrics

    def score(name: str, *given: Any, **options: Any) -> float:
        arrays = given or (truth, predicted)
        return float(getattr(metrics, name)(*arrays, sample_weight=weight, **options))

    if not hasattr(model, "classes_"):
        names = "mean_absolute_error", "root_mean_squared_error"
        return {"r2": score("r2_score"), **{name: score(name) for name in names}}
    if sparse.issparse(truth) and truth.shape[1] == 1:
        # scikit-learn reads one column as classes; a second label without rows changes no score.
        no_row = sparse.csr_matrix(truth.shape)
        truth, predicted = (sparse.hstack([y, no_row], "csr") for y in (truth, predicted))
    scores = {"accuracy": score("accuracy_score")}
    f1 = partial(score, "f1_score", zero_division=0.0)
    if _has_labels(model):
        return {**scores, "f1_micro": f1(average="micro")}
    scores["f1_macro"] = f1(average="macro")
    if len(model.classes_) == 2:
        scores["f1"] = f1(*(labels == model.classes_[1] for labels in (truth, predicted)))
    return scores


def _labels_of_a_row(n_labels: int | None) -> str:
    return (
        "one label per row" if n_labels is None else f"several labels per row ({n_labels} in all)"
    )
