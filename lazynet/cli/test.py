"""``lazynet test``: loss and scores of a model on files, whose rows come in chunks."""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.cli import inputs
from lazynet.cli.inputs import report
from lazynet.data.chunks import Chunk
from lazynet.data.targets import Classes, Columns, Labels, Targets, checked_indicator
from lazynet.estimators import load_with_note
from lazynet.losses import LOSSES_OF_CLASSES, SOFTMAX, check_loss
from lazynet.training.passes import softmax_losses, total_loss_of

EXAMPLES = """\
examples:
  Loss, accuracy and F1, or R^2 for numbers:
    lazynet test model.lazy new.svm

  The same as one JSON object:
    lazynet test model.lazy new.svm --json

Rows are read as the model has read its own rows (columns from 0 or 1, bits of the hash), and are
in memory a chunk at a time; their targets and predictions stay.  Columns beyond those of the model
have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    inputs.add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Judge the model."""
    model, note = load_with_note(options.model)
    began = time.perf_counter()
    with inputs.pipe_in_a_file(options, note):
        inputs.settle_reading(options, model, note)
        scores = Scores(model)
        for chunk in inputs.chunks_for(options, model):
            scores.add(chunk)
        if not scores.rows:
            raise inputs.no_rows(options.files)
    seconds = time.perf_counter() - began
    report({"rows": scores.rows, **scores.result(), "seconds": seconds}, options.json)


class Scores:
    """The loss of rows that come in chunks, and their targets and predictions: a number a row."""

    def __init__(self, model: Any) -> None:
        self.model, self.loss = model, check_loss("loss", model.loss, LOSSES_OF_CLASSES)
        self.has_labels = getattr(model, "_form", None) is not None
        self.rows, self.total_loss = 0, 0.0
        self.truth: list[Any] = []
        self.predicted: list[Any] = []
        self.weights: list[NDArray[np.float64]] = []
        #: the weight of the rows that have the label with the highest decision
        self.first_right = 0.0

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        X, y = chunk.X, chunk.y
        weight = np.ones(X.shape[0]) if chunk.weight is None else chunk.weight
        n_labels = len(self.model.classes_) if self.has_labels else None
        n_labels_of_rows = y.shape[1] if sparse.issparse(y) else None
        if n_labels != n_labels_of_rows:
            raise ValueError(
                f"the files have {_labels_of_a_row(n_labels_of_rows)}, and the model has learned "
                f"{_labels_of_a_row(n_labels)}"
            )
        decision = self.model._decision(X)
        targets = self._targets(y, weight)
        if self.loss == SOFTMAX and isinstance(targets, Classes) and len(targets) > 1:
            losses = softmax_losses(np.ascontiguousarray(decision.T), targets.codes)
            self.total_loss += float((losses * weight).sum())
        else:
            outputs = zip(decision.T, targets, strict=True)
            self.total_loss += sum(total_loss_of(row, *of, self.loss) for row, of in outputs)
        predicted = self.model.predict(X)
        if self.has_labels:
            predicted, y = sparse.csr_matrix(predicted), (y > 0).astype(int)
            first = np.asarray(y[np.arange(len(weight)), decision.argmax(axis=1)]).ravel()
            self.first_right += float(weight @ first)
        self.rows += X.shape[0]
        self.truth.append(y)
        self.predicted.append(predicted)
        self.weights.append(weight)

    def _targets(self, y: Any, weight: NDArray[np.float64]) -> Targets:
        """The targets of the model's outputs."""
        if self.has_labels:
            return Labels(checked_indicator(y), weight)
        if not hasattr(self.model, "classes_"):
            return Columns(y, weight)
        classes = self.model.classes_
        unknown = ~np.isin(y, classes)
        if unknown.any():
            raise ValueError(
                f"the files have the label {y[unknown][0]:g}, which the model does not know; its "
                f"classes are {classes.tolist()[:20]}"
            )
        return Classes(np.searchsorted(classes, y), len(classes), weight)

    def result(self) -> dict[str, float]:
        """The scores by name; the mean loss first."""
        # Metrics load more of SciPy and scikit-learn, which takes a moment.
        from sklearn import metrics

        weight = np.concatenate(self.weights) if self.weights else np.zeros(0)
        if not weight.any():
            raise ValueError("there is not one row to judge")
        stacked = sparse.vstack if self.has_labels else np.concatenate
        both = stacked(self.truth), stacked(self.predicted)
        scores = {"loss": self.total_loss / weight.sum()}
        if not hasattr(self.model, "classes_"):
            scores["r2"] = metrics.r2_score(*both, sample_weight=weight)
            scores["mean_absolute_error"] = metrics.mean_absolute_error(*both, sample_weight=weight)
            scores["root_mean_squared_error"] = metrics.root_mean_squared_error(
                *both, sample_weight=weight
            )
            return {name: float(score) for name, score in scores.items()}
        f1 = partial(metrics.f1_score, sample_weight=weight, zero_division=0.0)
        scores["accuracy"] = metrics.accuracy_score(*both, sample_weight=weight)
        if self.has_labels:
            scores["f1_micro"] = f1(*both, average="micro")
            scores["precision_at_1"] = self.first_right / weight.sum()
        else:
            scores["f1_macro"] = f1(*both, average="macro")
            if len(self.model.classes_) == 2:
                scores["f1"] = f1(*(labels == self.model.classes_[1] for labels in both))
        return {name: float(score) for name, score in scores.items()}


def _labels_of_a_row(n_labels: int | None) -> str:
    return "one label a row" if n_labels is None else f"{n_labels} labels of which a row has any"
