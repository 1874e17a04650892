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
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import lazynet
from benchmarks.minima import Task
from benchmarks.programs import glmnet
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
    """The weights that a program found, and its own upper bound on its gap, if it has one.

    ``seconds`` are those of the processor where the program runs in a process of its own.
    """

    coef: NDArray[np.float64]
    gap: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Solver:
    """A program, the penalties that it takes exactly, and its dial.

    ``dials`` are its tolerances, or its numbers of epochs, from the quickest to the most exact;
    ``fit`` starts from zero weights.
    """

    name: str
    #: Why the program cannot run here, or None.
    missing: str | None
    penalties: tuple[str, ...]
    #: From the rows in the form that the program asks for, the task and the dial.
    fit: Callable[[Any, Task, float], Answer]
    dials: Sequence[float]
    #: Puts the rows into the form that the program asks for, which is not timed.
    form: Callable[[Task], Any] = attrgetter("X")

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


def _module(name: str) -> str | None:
    """Why a module cannot be loaded, or None."""
    return None if find_spec(name) else f"{name} is not installed"


def _of_sklearn(solver: str) -> str | None:
    """Why ``LogisticRegression`` cannot take a solver, or None."""
    [known] = LogisticRegression._parameter_constraints["solver"]
    return None if solver in known.options else f"not in scikit-learn {version_of('scikit-learn')}"


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
        solver=solver, C=1.0 / (task.strength * len(task.y)), l1_ratio=task.l1_ratio,
        fit_intercept=False, tol=tol, max_iter=max_iter, random_state=0,
    )  # fmt: skip
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

    form = adelie.matrix.sparse if sparse.issparse(X) else adelie.matrix.dense
    state = adelie.grpnet(
        form(X, method="naive", n_threads=1),
        adelie.glm.binomial(0.5 * (task.y + 1.0)),
        lmda_path=task.strength * np.geomspace(100, 1, points) if points > 1 else [task.strength],
        alpha=task.l1_ratio, tol=tol, irls_tol=tol, intercept=False, early_exit=False,
        progress_bar=False, n_threads=1,
    )  # fmt: skip
    return Answer(state.betas[-1].toarray().ravel())


def _cyanure(X: Any, task: Task, tol: float) -> Answer:
    from cyanure.estimators import Classifier

    # Under an elastic net its default, MISO, stops above the minimum, with a gap that says so.
    model = Classifier(
        loss="logistic", penalty="elasticnet" if task.l2 else "l1",
        solver="qning-svrg" if task.l2 else "auto", lambda_1=task.l1, lambda_2=task.l2, tol=tol,
        max_iter=_MOST_PASSES, fit_intercept=False, n_threads=1, verbose=False,
    )  # fmt: skip
    return Answer(model.fit(X, task.y).coef_.ravel())


def _glum(X: Any, task: Task, tol: float) -> Answer:
    import glum

    model = glum.GeneralizedLinearRegressor(
        family="binomial", alpha=task.strength, l1_ratio=task.l1_ratio, fit_intercept=False,
        gradient_tol=tol * task.l1, max_iter=_MOST_SETS,
    )  # fmt: skip
    return Answer(model.fit(X, 0.5 * (task.y + 1.0)).coef_)


def _skein(X: Any, task: Task, tol: float) -> Answer:
    import skein_glm

    model = skein_glm.LogisticElasticNetRegressor(
        task.strength, task.l1_ratio, tol=tol, outer_tol=tol, max_iter=_MOST_PASSES,
        max_outer=_MOST_SETS, fit_intercept=False,
    )  # fmt: skip
    return Answer(model.fit(X, 0.5 * (task.y + 1.0)).coef_)


def _glmnet(folder: Any, task: Task, tol: float) -> Answer:
    coef, seconds = glmnet.fitted(folder, task, _POINTS, tol)
    return Answer(coef, seconds=seconds)


# --- the table -------------------------------------------------------------------------------


#: The gap at which a program has arrived, in units of the objective at zero weights.
LEVEL = 1e-4
OURS = Solver("DualNet", None, ANY, _lazynet, tolerances(0.1, 1e-4))
LIBLINEAR, SKLEARN_LIBLINEAR, SAGA = "liblinear", "scikit-learn liblinear", "scikit-learn saga"
SKGLM, CELER, CYANURE = "skglm", "celer", "cyanure"
ADELIE, ADELIE_PATH, GLMNET = "adelie", "adelie, path", "glmnet, path"
_NETS, _BY_COLUMNS = (LASSO, NET), attrgetter("by_columns")
_TOLERANCES = tolerances(1.0, 1e-5)
_ADELIES = tolerances(0.1, 1e-7)
_PASSES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


_SOLVERS = (
    Solver(
        LIBLINEAR, _module("liblinear"), (LASSO,), _liblinear, _TOLERANCES, problem_of_liblinear
    ),
    Solver(SKLEARN_LIBLINEAR, None, (LASSO,), partial(_logistic, "liblinear"), _TOLERANCES),
    Solver(SKGLM, _module("skglm"), _NETS, _skglm, tolerances(10.0, 1e-3), _BY_COLUMNS),
    Solver(CELER, _module("celer"), (LASSO,), _celer, _TOLERANCES, _BY_COLUMNS),
    Solver(ADELIE, _module("adelie"), _NETS, partial(_adelie, 1), _ADELIES, _BY_COLUMNS),
    Solver(ADELIE_PATH, _module("adelie"), _NETS, partial(_adelie, _POINTS), _ADELIES, _BY_COLUMNS),
    Solver(CYANURE, _module("cyanure"), _NETS, _cyanure, _TOLERANCES),
    Solver("glum", _module("glum"), _NETS, _glum, tolerances(10.0, 1e-3), _BY_COLUMNS),
    Solver("skein-glm", _module("skein_glm"), _NETS, _skein, _ADELIES, _BY_COLUMNS),
    Solver(GLMNET, glmnet.missing(), _NETS, _glmnet, tolerances(1e-2, 1e-9), glmnet.written),
    Solver(SAGA, None, _NETS, partial(_logistic, "saga"), _PASSES),
    *(
        Solver(
            f"scikit-learn {name}", _of_sklearn(name), _NETS, partial(_logistic, name), _TOLERANCES
        )
        for name in ("newton-cd", "newton-cd-gram")
    ),
)
PEERS: dict[str, Solver] = {solver.name: solver for solver in _SOLVERS}
#: DualNet at the tolerance that asks for a gap of ``LEVEL``.
CERTIFIED = replace(OURS, name=f"{OURS.name}, certified", dials=(LEVEL,))


def versions() -> dict[str, dict[str, str]]:
    """The versions of the packages that the programs are in, and the programs that are missing."""
    packages = ("scikit-learn", "liblinear-official", "skglm", "celer", "adelie", "cyanure")
    found = {name: version_of(name) for name in (*packages, "glum", "skein-glm")}
    found["glmnet"] = glmnet.version()
    return {
        "versions": {name: number for name, number in found.items() if number[0].isdigit()},
        "missing": {name: each.missing for name, each in PEERS.items() if each.missing},
    }


@cache
def warm_up() -> None:
    """Let every program solve small problems once, so that no timed run compiles anything."""
    generator = np.random.default_rng(0)
    X = sparse.random(60, 30, 0.3, "csr", random_state=0)
    y = np.where(generator.random(60) < 0.5, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form, penalty in product((X, X.toarray()), (ElasticNet(0.01), ElasticNet(0.01, 0.01))):
            task = Task(Rows(form, y, form, y, "warming up"), penalty)
            for solver in PEERS.values():
                if solver.missing is None and solver.solves(task):
                    solver.fit(solver.form(task), task, solver.dials[len(solver.dials) // 2])
