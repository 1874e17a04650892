"""glmnet, by python-glmnet: coordinate descent along a path of penalties, in Fortran."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.programs.base import LASSO, NET, RIDGE, Array, How, Peer, Setting, by_share
from paper_repro.minima import Task, largest_l1

#: Points of the path to one penalty; glmnet starts each from the last one.
_POINTS = 10


class Glmnet(Peer):
    name = "glmnet"
    package, module = "python-glmnet", "glmnet"
    penalties = (LASSO, RIDGE, NET)
    tuned = "lambda"

    def prepare(self, task: Task) -> Any:
        return task.by_columns

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from glmnet import LogitNet

        last = task.strength
        first = max(2.0 * last, largest_l1(task.rows, task.loss) / max(task.l1_ratio, 1e-3))
        return LogitNet(
            alpha=task.l1_ratio,
            lambda_path=np.geomspace(first, last, _POINTS),
            n_splits=0,
            standardize=False,
            fit_intercept=ends_with_ones(task.X),
            tol=1e-7 if how.tol is None else how.tol,
            max_iter=1_000_000,
        ).fit(rows, task.y)

    def weights(self, model: Any, task: Task) -> Array:
        """The last point of the path; glmnet may end it before the penalty that was asked for."""
        if len(model.lambda_path_) < _POINTS:
            raise RuntimeError(
                f"glmnet ended its path at lambda {model.lambda_path_[-1]:.3g}, "
                f"and {task.strength:.3g} was asked for"
            )
        found = np.array(model.coef_path_)[..., -1].ravel()
        if ends_with_ones(task.X):
            found[-1] = np.ravel(model.intercept_path_)[-1]
        return found

    def settings(self, task: Task) -> list[Setting]:
        return by_share(task)


def ends_with_ones(X: Any) -> bool:
    """Whether the last feature is 1 everywhere: glmnet leaves it out, and has an intercept instead.

    >>> ends_with_ones(np.array([[0.5, 1.0], [0.0, 1.0]])), ends_with_ones(np.eye(2))
    (True, False)
    """
    last = X[:, -1:]
    return bool(np.all((last.toarray() if sparse.issparse(last) else np.asarray(last)) == 1))
