"""Loss and scores of a model on rows that come in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.cli.inputs import check_labels
from lazynet.data.chunks import Chunk
from lazynet.losses import LOSS_OF_CLASSES
from lazynet.training.held_out import softmax_losses, total_loss_of


class Scores:
    """Sums over rows, from which the scores follow: of classes, of labels or of numbers."""

    def __init__(self, model: Any) -> None:
        self.model, self.loss = model, LOSS_OF_CLASSES.settled("loss", model.loss)
        self.rows, self.weight, self.total_loss = 0, 0.0, 0.0
        self.right = 0.0
        #: true positives, predicted and actual positives, of each class or of all labels together
        self.hits: Any = 0.0
        self.predicted: Any = 0.0
        self.actual: Any = 0.0
        self.first_right = 0.0
        #: of numbers: squared errors, absolute errors, sums of targets, of their squares
        self.errors = np.zeros(4)
        self._centre: float | None = None

    def add(self, chunk: Chunk) -> None:
        """Count the rows of a chunk."""
        check_labels(self.model, chunk)
        X = chunk.X
        weight = np.ones(X.shape[0]) if chunk.weight is None else chunk.weight
        if not hasattr(self.model, "classes_"):
            self._numbers(X, chunk.y, weight)
        elif sparse.issparse(chunk.y):
            self._labels(X, chunk.y, weight)
        else:
            self._classes(X, chunk.y, weight)
        self.rows += X.shape[0]
        self.weight += float(weight.sum())

    def _numbers(self, X: Any, y: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        found = self.model.predict(X)
        self.total_loss += total_loss_of(found, np.ascontiguousarray(y), weight, self.loss)
        if self._centre is None:
            # Differences from a number near the mean lose no digits in the sum of squares.
            self._centre = float(np.mean(y))
        off, far = found - y, y - self._centre
        self.errors += [float((weight * part).sum()) for part in (off**2, abs(off), far, far**2)]

    def _classes(self, X: Any, y: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        classes = self.model.classes_
        codes = np.searchsorted(classes, y)
        unknown = (codes == len(classes)) | (classes[np.minimum(codes, len(classes) - 1)] != y)
        if unknown.any():
            raise ValueError(f"the files have the label {y[unknown][0]:g}, which the model does "
                             f"not know; its classes are {classes.tolist()[:20]}")  # fmt: skip
        decision = self.model.decision_function(X)
        columns = decision[None] if decision.ndim == 1 else np.ascontiguousarray(decision.T)
        found = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        if self.model.loss == "softmax" and len(columns) > 1:
            self.total_loss += float((softmax_losses(columns, codes) * weight).sum())
        else:
            for k, column in enumerate(columns):
                positive = codes == (1 if len(columns) == 1 else k)
                targets = np.where(positive, 1.0, -1.0)
                self.total_loss += total_loss_of(column, targets, weight, self.loss)
        n = len(classes)
        right = found == codes
        self.right += float(weight[right].sum())
        self.hits = self.hits + np.bincount(codes[right], weight[right], n)
        self.predicted = self.predicted + np.bincount(found, weight, n)
        self.actual = self.actual + np.bincount(codes, weight, n)

    def _labels(self, X: Any, y: sparse.csr_matrix, weight: NDArray[np.float64]) -> None:
        decision = self.model.decision_function(X)
        truth = y.toarray() > 0
        for column, positive in zip(decision.T, truth.T, strict=True):
            targets = np.where(positive, 1.0, -1.0)
            self.total_loss += total_loss_of(column, targets, weight, self.loss)
        found = decision > 0
        self.hits += float(weight @ (found & truth).sum(axis=1))
        self.predicted += float(weight @ found.sum(axis=1))
        self.actual += float(weight @ truth.sum(axis=1))
        self.right += float(weight[(found == truth).all(axis=1)].sum())
        self.first_right += float(
            weight[truth[np.arange(len(truth)), decision.argmax(axis=1)]].sum()
        )

    def result(self) -> dict[str, float]:
        """The scores by name; the mean loss first."""
        if not self.rows or not self.weight:
            raise ValueError("there is not one row to judge")
        found = {"loss": self.total_loss / self.weight}
        if not hasattr(self.model, "classes_"):
            squared, absolute, far, far_squared = (float(e) for e in self.errors / self.weight)
            spread = far_squared - far**2
            found["r2"] = 1.0 - squared / spread if spread > 0 else float(not squared)
            found["mean_absolute_error"] = absolute
            found["root_mean_squared_error"] = squared**0.5
            return found
        found["accuracy"] = self.right / self.weight
        both = self.predicted + self.actual
        with np.errstate(invalid="ignore", divide="ignore"):
            f1 = np.where(both > 0, 2 * self.hits / both, 0.0)
        if np.ndim(f1):
            seen = np.asarray(both) > 0
            found["f1_macro"] = float(np.mean(f1[seen]))
            if len(f1) == 2:
                found["f1"] = float(f1[1])
        else:
            found["f1_micro"] = float(f1)
            found["precision_at_1"] = self.first_right / self.weight
        return found
