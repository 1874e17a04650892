"""The programs that go to the minimum, one row each: what they solve, and how they are called.

A program that is not installed says so, and is left out with that reason.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import lazynet
from benchmarks.minima import Task
from benchmarks.programs.base import ANY, LASSO, NET, kind
from lazynet.penalties import ElasticNet
from paper_repro.machine import version_of
from paper_repro.rows import Rows

#: A limit on iterations must not end a run early.
_MOST, _MOST_SETS, _MOST_PASSES = 1_000_000, 500, 10_000
#: Points of adelie's path to one penalty.
_POINTS = 10


@dataclass(frozen=True)
class Answer:
    """The weights that a program found, and its own upper bound on its gap, if it has one."""

    coef: NDArray[np.float64]
    gap: float | None = None


@dataclass(frozen=True)
class Solver:
    """A program, the penalties that it takes exactly, and its dial.

    ``dials`` are its tolerances, or its numbers of epochs, from the quickest to the most exact;
    ``fit`` starts from zero weights.
    """

    name: str
    #: The module without which the program cannot run.
    module: str
    penalties: tuple[str, ...]
    #: From the rows in the form that the program asks for, the task and the dial.
    fit: Callable[[Any, Task, float], Answer]
    dials: Sequence[float]
    #: Puts the rows into the form that the program asks for, which is not timed.
    form: Callable[[Task], Any] = attrgetter("X")

    @property
    def missing(self) -> str | None:
        """Why the program cannot run here, or None."""
        return None if find_spec(self.module) else f"{self.module} is not installed"

    def solves(self, task: Task) -> bool:
        """Whether the program takes this kind of penalty."""
        return kind(task.penalty) in self.penalties


def tolerances(most: float, least: float) -> tuple[float, ...]:
    """Tolerances from ``most`` to ``least``, two in every power of ten.

    >>> tolerances(1e-1, 1e-2)
    (0.1, 0.0316, 0.01)
    """
    count = round(2 * np.log10(most / least)) + 1
    return tuple(float(f"{most * 10 ** (-k / 2):.3g}") for k in range(count))


# --- how they are called ---------------------------------------------------------------------


def _lazynet(X: Any, task: Task, tol: float) -> Answer:
    model = lazynet.DualNetClassifier(
        l1=task.l1, l2=task.l2, tol=tol, max_iter=_MOST, random_state=0, fit_intercept=False
    ).fit(X, task.y)
    return Answer(model.coef_.ravel(), float(model.duality_gap_))


def _logistic(solver: str, X: Any, task: Task, dial: float) -> Answer:
    """scikit-learn's ``LogisticRegression``; the dial of saga is its number of epochs."""
    tol, max_iter = (1e-12, round(dial)) if solver == "saga" else (dial, _MOST)
    options: dict[str, Any] = dict(
        solver=solver,
        C=1.0 / (task.strength * len(task.y)),
        l1_ratio=task.l1_ratio,
        fit_intercept=False,
        tol=tol,
        max_iter=max_iter,
        random_state=0,
    )
    # Before version 1.8 the kind of the penalty was told by its name.
    if inspect.signature(LogisticRegression).parameters["penalty"].default != "deprecated":
        kinds = {0.0: "l2", 1.0: "l1"}
        options["penalty"] = kinds.get(task.l1_ratio, "elasticnet")
        if options["penalty"] != "elasticnet":
            del options["l1_ratio"]
    return Answer(LogisticRegression(**options).fit(X, task.y).coef_.ravel())


def problem_of_liblinear(task: Task) -> Any:
    from liblinear.liblinearutil import problem

    # It knows matrices of SciPy and no sparse arrays, and indices of 32 bits.
    return problem(task.y, sparse.csr_matrix(task.X) if sparse.issparse(task.X) else task.X)


def _liblinear(X: Any, task: Task, tol: float) -> Answer:
    from liblinear.liblinearutil import parameter, train

    model = train(X, parameter(f"-s 6 -c {1.0 / (task.l1 * len(task.y))!r} -e {tol!r} -q"))
    found = np.ctypeslib.as_array(model.w, (model.nr_feature,)).astype(np.float64)
    # Its weights point to the class of the first row.
    return Answer((found * model.label[0])[: task.X.shape[1]])


def _skglm(X: Any, task: Task, tol: float) -> Answer:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import ProxNewton

    # Its tolerance is the largest violation of a condition for the minimum, here in units of l1.
    model = GeneralizedLinearEstimator(
        Logistic(),
        L1_plus_L2(task.strength, task.l1_ratio) if task.l2 else L1(task.l1),
        ProxNewton(max_iter=_MOST_SETS, tol=tol * task.l1, fit_intercept=False),
    )
    return Answer(model.fit(X, task.y).coef_.ravel())


def _celer(X: Any, task: Task, tol: float) -> Answer:
    import celer

    strength = 1.0 / (task.l1 * len(task.y))
    model = celer.LogisticRegression(C=strength, tol=tol, max_iter=_MOST_SETS)
    return Answer(model.fit(X, task.y).coef_.ravel())


def _adelie(points: int, X: Any, task: Task, tol: float) -> Answer:
    import adelie

    state = adelie.grpnet(
        adelie.matrix.sparse(X, method="naive", n_threads=1),
        adelie.glm.binomial(0.5 * (task.y + 1.0)),
        alpha=task.l1_ratio,
        lmda_path=task.strength * np.geomspace(100, 1, points) if points > 1 else [task.strength],
        tol=tol,
        irls_tol=tol,
        intercept=False,
        early_exit=False,
        progress_bar=False,
        n_threads=1,
    )
    return Answer(state.betas[-1].toarray().ravel())


def _cyanure(X: Any, task: Task, tol: float) -> Answer:
    from cyanure.estimators import Classifier

    # Under an elastic net its default, MISO, stops above the minimum, with a gap that says so.
    model = Classifier(
        loss="logistic",
        penalty="elasticnet" if task.l2 else "l1",
        solver="qning-svrg" if task.l2 else "auto",
        lambda_1=task.l1,
        lambda_2=task.l2,
        tol=tol,
        max_iter=_MOST_PASSES,
        fit_intercept=False,
        n_threads=1,
        verbose=False,
    )
    return Answer(model.fit(X, task.y).coef_.ravel())


# --- the table -------------------------------------------------------------------------------


#: The gap at which a program has arrived, in units of the objective at zero weights.
LEVEL = 1e-4
OURS = Solver("DualNet", "lazynet", ANY, _lazynet, tolerances(0.1, 1e-4))
LIBLINEAR, SKLEARN_LIBLINEAR, SAGA = "liblinear", "scikit-learn liblinear", "scikit-learn saga"
SKGLM, CELER, CYANURE = "skglm", "celer", "cyanure"
ADELIE, ADELIE_PATH = "adelie", "adelie, path"
_NETS, _BY_COLUMNS = (LASSO, NET), attrgetter("by_columns")
_TOLERANCES = tolerances(1.0, 1e-5)
_ADELIES = tolerances(0.1, 1e-7)
_PASSES = (1, 2, 5, 10, 20, 50, 100, 200)
_SOLVERS = (
    Solver(LIBLINEAR, "liblinear", (LASSO,), _liblinear, _TOLERANCES, problem_of_liblinear),
    Solver(SKLEARN_LIBLINEAR, "sklearn", (LASSO,), partial(_logistic, "liblinear"), _TOLERANCES),
    Solver(SKGLM, "skglm", _NETS, _skglm, tolerances(10.0, 1e-3), _BY_COLUMNS),
    Solver(CELER, "celer", (LASSO,), _celer, _TOLERANCES, _BY_COLUMNS),
    Solver(ADELIE, "adelie", _NETS, partial(_adelie, 1), _ADELIES, _BY_COLUMNS),
    Solver(ADELIE_PATH, "adelie", _NETS, partial(_adelie, _POINTS), _ADELIES, _BY_COLUMNS),
    Solver(CYANURE, "cyanure", _NETS, _cyanure, _TOLERANCES),
    Solver(SAGA, "sklearn", _NETS, partial(_logistic, "saga"), _PASSES),
)
PEERS: dict[str, Solver] = {solver.name: solver for solver in _SOLVERS}
#: The programs that bound their gap, at the tolerance that asks for a gap of ``LEVEL``.
CERTIFYING: dict[str, Solver] = {
    name: replace(solver, name=name, dials=(LEVEL,))
    for solver in (OURS, PEERS[CELER], PEERS[CYANURE])
    for name in [f"{solver.name}, certified"]
}


def versions() -> dict[str, str]:
    """The versions of the packages that the programs are in; "not installed" where they are not."""
    packages = ("scikit-learn", "liblinear-official", "skglm", "celer", "adelie", "cyanure")
    return {name: version_of(name) for name in packages}


@cache
def warm_up() -> None:
    """Let every program solve small problems once, so that no timed run compiles anything."""
    generator = np.random.default_rng(0)
    X = sparse.random(60, 30, 0.3, "csr", random_state=0)
    y = np.where(generator.random(60) < 0.5, 1.0, -1.0)
    rows = Rows(X, y, X, y, "warming up")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for penalty in (ElasticNet(0.01), ElasticNet(0.01, 0.01)):
            task = Task(rows, penalty)
            for solver in PEERS.values():
                if solver.missing is None and solver.solves(task):
                    solver.fit(solver.form(task), task, solver.dials[len(solver.dials) // 2])
