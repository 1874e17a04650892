"""``lazynet test``: loss and scores of a model on files, whose rows come in chunks."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.cli import inputs
from lazynet.cli.inputs import report
from lazynet.data.chunks import Chunk
from lazynet.losses import check_loss_of_classes
from lazynet.training.evaluation import softmax_losses, total_loss_of

Weights = NDArray[np.float64]

EXAMPLES = """\
examples:
  Loss, accuracy and F1, or R^2 for numbers:
    lazynet test model.lazy new.svm

  The same as one JSON object:
    lazynet test model.lazy new.svm --json

Rows are read as the model has read its own rows (columns from 0 or 1, bits of the hash), and are
in memory a chunk at a time.  Columns beyond those of the model have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    inputs.add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Judge the model."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.estimators import load_with_note

    model, note = load_with_note(options.model)
    began = time.perf_counter()
    with inputs.pipe_in_a_file(options, note):
        inputs.settle_reading(options, model, note)
        scores = Scores(model)
        for chunk in inputs.chunks_for(options, model, needs_target=True):
            scores.add(chunk)
        if not scores.rows:
            raise inputs.no_rows(options.files)
    seconds = time.perf_counter() - began
    report({"rows": scores.rows, **scores.result(), "seconds": seconds}, options.json)


class Scores:
    """Sums over rows, from which the scores follow: of classes, of labels or of numbers."""

    def __init__(self, model: Any) -> None:
        self.model, self.loss = model, check_loss_of_classes("loss", model.loss)
        self.rows = 0
        #: weighted sums by name; of classes an array with an entry for each
        self.sums: dict[str, Any] = {}
        self._centre: float | None = None

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        X, y = chunk.X, chunk.y
        weight = np.ones(X.shape[0]) if chunk.weight is None else chunk.weight
        has_labels = getattr(self.model, "_form", None) is not None
        n_labels = len(self.model.classes_) if has_labels else None
        n_labels_of_rows = y.shape[1] if sparse.issparse(y) else None
        if n_labels != n_labels_of_rows:
            raise ValueError(
                f"the files have {_labels_of_a_row(n_labels_of_rows)}, and the model has learned "
                f"{_labels_of_a_row(n_labels)}"
            )
        if has_labels:
            sums = self._sums_of_labels(X, y, weight)
        elif hasattr(self.model, "classes_"):
            sums = self._sums_of_classes(X, y, weight)
        else:
            sums = self._sums_of_numbers(X, y, weight)
        self.rows += X.shape[0]
        for name, value in {**sums, "weight": weight.sum()}.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def _sums_of_numbers(self, X: Any, y: NDArray[np.float64], weight: Weights) -> dict[str, Any]:
        predictions = self.model.predict(X)
        if self._centre is None:
            # Differences from a number near the mean lose no digits in the sum of squares.
            self._centre = float(np.mean(y))
        errors, deviations = predictions - y, y - self._centre
        return {
            "loss": total_loss_of(predictions, np.ascontiguousarray(y), weight, self.loss),
            "squared_error": (weight * errors**2).sum(),
            "absolute_error": (weight * abs(errors)).sum(),
            "deviation": (weight * deviations).sum(),
            "squared_deviation": (weight * deviations**2).sum(),
        }

    def _sums_of_classes(self, X: Any, y: NDArray[np.float64], weight: Weights) -> dict[str, Any]:
        classes = self.model.classes_
        n_classes, codes = len(classes), np.searchsorted(classes, y)
        unknown = (codes == n_classes) | (classes[np.minimum(codes, n_classes - 1)] != y)
        if unknown.any():
            raise ValueError(
                f"the files have the label {y[unknown][0]:g}, which the model does not know; its "
                f"classes are {classes.tolist()[:20]}"
            )
        decision = self.model.decision_function(X)
        if decision.ndim == 1:
            predicted = (decision > 0).astype(int)
            loss = self._loss_of(decision, codes == 1, weight)
        else:
            predicted = decision.argmax(axis=1)
            columns = np.ascontiguousarray(decision.T)
            if self.model.loss == "softmax":
                loss = float((softmax_losses(columns, codes) * weight).sum())
            else:
                losses = (
                    self._loss_of(column, codes == k, weight) for k, column in enumerate(columns)
                )
                loss = sum(losses)
        right = predicted == codes
        return {
            "loss": loss,
            "right": weight[right].sum(),
            "hits": np.bincount(codes[right], weight[right], n_classes),
            "predicted": np.bincount(predicted, weight, n_classes),
            "actual": np.bincount(codes, weight, n_classes),
        }

    def _sums_of_labels(self, X: Any, y: sparse.csr_matrix, weight: Weights) -> dict[str, Any]:
        decision, truth = self.model.decision_function(X), y.toarray() > 0
        predicted, first = decision > 0, decision.argmax(axis=1)
        columns = zip(decision.T, truth.T, strict=True)
        return {
            "loss": sum(self._loss_of(column, positive, weight) for column, positive in columns),
            "right": weight[(predicted == truth).all(axis=1)].sum(),
            "first_right": weight[truth[np.arange(len(truth)), first]].sum(),
            "hits": weight @ (predicted & truth).sum(axis=1),
            "predicted": weight @ predicted.sum(axis=1),
            "actual": weight @ truth.sum(axis=1),
        }

    def _loss_of(
        self, decision: NDArray[np.float64], positive: NDArray[np.bool_], weight: Weights
    ) -> float:
        return total_loss_of(decision, np.where(positive, 1.0, -1.0), weight, self.loss)

    def result(self) -> dict[str, float]:
        """The scores by name; the mean loss first."""
        if not self.sums.get("weight"):
            raise ValueError("there is not one row to judge")
        means = {name: total / self.sums["weight"] for name, total in self.sums.items()}
        scores = {"loss": means["loss"]}
        if "squared_error" in means:
            variance = means["squared_deviation"] - means["deviation"] ** 2
            error = means["squared_error"]
            scores["r2"] = 1.0 - error / variance if variance > 0 else float(not error)
            scores["mean_absolute_error"] = means["absolute_error"]
            scores["root_mean_squared_error"] = error**0.5
            return {name: float(score) for name, score in scores.items()}
        scores["accuracy"] = means["right"]
        hits, positives = np.atleast_1d(means["hits"], means["predicted"] + means["actual"])
        f1 = 2 * hits[positives > 0] / positives[positives > 0]
        if "first_right" in means:
            scores["f1_micro"] = f1[0] if len(f1) else 0.0
            scores["precision_at_1"] = means["first_right"]
        else:
            scores["f1_macro"] = f1.mean()
            if len(hits) == 2:
                scores["f1"] = f1[-1] if positives[1] > 0 else 0.0
        return {name: float(score) for name, score in scores.items()}


def _labels_of_a_row(n_labels: int | None) -> str:
    return "one label a row" if n_labels is None else f"{n_labels} labels of which a row has any"
