"""liblinear by its own Python interface: primal and dual Newton and coordinate descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.programs.base import LASSO, RIDGE, Array, How, Peer, Setting, by_cost, kind
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task

#: Its number of a solver, by loss and penalty.
_SOLVERS = {
    (LOGISTIC, RIDGE): 0,
    (LOGISTIC, LASSO): 6,
    (SQUARED_HINGE, RIDGE): 2,
    (SQUARED_HINGE, LASSO): 5,
}


class Liblinear(Peer):
    name = "liblinear"
    package, module = "liblinear-official", "liblinear.liblinearutil"
    losses = (LOGISTIC, SQUARED_HINGE)
    penalties = (LASSO, RIDGE)
    to_minimum = True
    tuned = "-c"

    def prepare(self, task: Task) -> Any:
        from liblinear.liblinearutil import problem
        from scipy import sparse

        # It knows matrices of SciPy and no sparse arrays, and indices of 32 bits.
        X = sparse.csr_matrix(task.X) if sparse.issparse(task.X) else task.X
        return problem(task.y, X)

    def fit(self, rows: Any, task: Task, how: How) -> Any:
        from liblinear.liblinearutil import parameter, train

        number = _SOLVERS[task.loss, kind(task.penalty)]
        cost = 1.0 / (task.strength * len(task.y))
        tol = "" if how.tol is None else f" -e {how.tol!r}"
        return train(rows, parameter(f"-s {number} -c {cost!r}{tol} -q"))

    def weights(self, model: Any, task: Task) -> Array:
        found = np.ctypeslib.as_array(model.w, (model.nr_feature,)).astype(np.float64)
        # Its weights point to the class of the first row.
        return np.asarray(found * model.label[0])[: task.X.shape[1]]

    def settings(self, task: Task) -> list[Setting]:
        return by_cost(task)
