"""Small fits of every kind, and digests of the models that they give.

``python -m golden.fits --write``, run from ``tests/`` on a machine with AVX-512, writes
``digests.json`` anew.
"""

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from support.matrices import source_of
from support.parameters import in_rule

import lazynet
from lazynet.data import Shuffled, SvmlightFile, cached
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES

FILE = Path(__file__).with_name("digests.json")
N_ROWS = 240


@cache
def data(y="two", of="sparse", dtype="float64", index="int32"):
    """Rows, targets and weights.

    The rows are sparse, or a table of a few dense features; or "mixed": sparse and dense features
    of many sizes, the dense ones far from 0.
    """
    rng = np.random.default_rng(7)
    shape, density = ((N_ROWS, 60), 0.1) if of == "sparse" else ((N_ROWS, 6), 1.0)
    if of == "mixed":
        shape, density = (N_ROWS, 20), np.linspace(0.05, 1.0, 20)
    values = rng.uniform(-1.5, 1.5, shape) * (rng.random(shape) < density)
    X = sparse.csr_matrix(values, dtype=dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    coef = rng.uniform(-1, 1, (shape[1], 12)) * (rng.random((shape[1], 12)) < 0.5)
    scores = X.astype(np.float64) @ coef + rng.uniform(-0.3, 0.3, (N_ROWS, 12))
    if of == "mixed":
        sizes = 10.0 ** (np.arange(20) * 7 % 20 / 4.0 - 2.0)
        X = sparse.csr_matrix((values + 3.0 * (values != 0.0)) * sizes)
    targets = {
        "two": np.where((scores[:, 0] > 0.1) ^ (rng.random(N_ROWS) < 0.1), "yes", "no"),
        "noise": rng.random(N_ROWS) < 0.3,
        "three": scores[:, :3].argmax(axis=1),
        "twelve": scores.argmax(axis=1),
        "labels": (scores[:, :9] > 0.2).astype(int),
        "sparse labels": sparse.csr_matrix(scores[:, :9] > 0.2, dtype=int),
        "number": scores[:, 0],
        "numbers": scores[:, :4],
    }
    return X, targets[y], rng.uniform(0.2, 3.0, N_ROWS) * (rng.random(N_ROWS) < 0.9)


def in_chunks(X, y, folder):
    """The rows from a generator."""
    return source_of(X, y)


def from_file(X, y, folder):
    """The rows as a file of text."""
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=True)
    return SvmlightFile(folder / "rows.svm", zero_based=True)


def model_for(y, kind=None, **options):
    """An estimator for these targets; a penalty and three epochs, unless told otherwise."""
    if kind is None:
        kind = lazynet.LazyNetRegressor if "number" in y else lazynet.LazyNetClassifier
        options = in_rule(**GIVEN | options)
    return kind(random_state=3, **options)


def fit(y="two", of="sparse", x="float64", index="int32", weighted=False, **options):
    """A fit of rows in memory."""
    X, targets, weights = data(y, of, x, index)
    return model_for(y, **options).fit(X, targets, weights if weighted else None), X


def fit_twice(**options):
    """A warm start."""
    X, y, _ = data()
    model = model_for("two", warm_start=True, **options).fit(X[:150], y[:150])
    return model.fit(X, y), X


def partial_fits(y, of="sparse", **options):
    """Three calls of ``partial_fit``."""
    X, targets, _ = data(y, of)
    model = model_for(y, **options)
    first = {"classes": np.unique(targets)} if y in ("two", "three") else {}
    for rows in (slice(0, 1), slice(1, 100), slice(100, N_ROWS)):
        model.partial_fit(X[rows], targets[rows], **first)
    return model, X


def fit_source(make, y, of="sparse", **options):
    """A fit from a source, whose files are in a temporary folder."""
    X, targets, _ = data(y, of)
    with tempfile.TemporaryDirectory() as folder:
        return model_for(y, **options).fit(make(X, targets, Path(folder))), X


def resume(**options):
    """A fit that is interrupted in its second epoch, and goes on from its checkpoint."""
    X, y, _ = data("three")

    def interrupt(epoch):
        if epoch.epoch == 1:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run")
        with suppress(KeyboardInterrupt):
            model_for("three", **options).fit(X, y, callback=interrupt, checkpoint=path, every=0)
        assert path.exists()
        return model_for("three", **options).fit(X, y, checkpoint=path, every=0), X


def minimum(**options):
    """The objective, the gap and the number of nonzeros of each problem at its minimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model, _ = fit(tol=1e-7, **options)
    counts = (np.atleast_2d(model.coef_) != 0).sum(axis=1)
    return np.atleast_1d(model.objective_), np.atleast_1d(model.duality_gap_), counts


def table(**options):
    """l1, l2 and the mean loss of held-out rows of each setting of a cross-validation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, _ = fit(**options)
    return tuple(model.cv_results_[name] for name in ("l1", "l2", "mean_loss"))


def path(**options):
    """The objective, the gap and the number of nonzeros of each point of a path."""
    found = lazynet.net_path(*data()[:2], l1s=8, random_state=3, tol=1e-7, **options)
    return found.objectives, found.gaps, found.nonzeros


#: Every rule at a given rate.
RATED = {rule: dict(rule=rule, eta0=0.2) for rule in ALGORITHMS} | {
    "truncated_gradient": dict(rule=lazynet.TruncatedGradient(period=3), eta0=0.2),
    "rda": dict(rule=lazynet.RDA(gamma=1.0, rho=0.005)),
    "ftrl": dict(rule=lazynet.FTRL(alpha=0.2)),
    "adagrad": dict(rule=lazynet.AdaGrad(alpha=0.2)),
    "saga": dict(rule=lazynet.SAGA(alpha=0.05)),
}
#: What is given unless told otherwise.
GIVEN = dict(l1=1e-3, l2=1e-3, max_iter=3, tol=None, standardize=False)
#: What ``fit`` chooses by itself.
AUTOMATIC = dict(l1=None, l2=0.0, max_iter=None, tol=1e-3, standardize="auto")
SOURCES = {
    "chunks": in_chunks,
    "shuffled chunks": lambda *rows: Shuffled(in_chunks(*rows), window=90, seed=2),
    "file": from_file,
    "cached file": lambda *rows: cached(from_file(*rows), rows[-1] / "cache"),
}
#: Options of fits with every rule at a given rate, besides every loss.
EVERY_RULE = {
    "only l1": dict(l2=0.0),
    "no intercept": dict(fit_intercept=False),
    "in order": dict(shuffle=False),
    "float32": dict(x="float32"),
    "float32 and int64": dict(x="float32", index="int64"),
    "int64": dict(index="int64"),
    "three classes": dict(y="three"),
    "labels": dict(y="labels"),
    "weights": dict(weighted=True),
    "balanced classes": dict(class_weight="balanced", y="three"),
    "early stopping": dict(early_stopping=True, tol=1e-3, max_iter=8),
}
#: Options of fits with every rule whose outputs learn in one pass.
SEVERAL_OUTPUTS = {
    "softmax": dict(y="three", loss="softmax"),
    "float32 weights": dict(y="twelve", dtype="float32"),
}
#: Options of fits with every rule of the affine family.
EVERY_AFFINE = {
    "tables": dict(storage="tables"),
    "tables of 64 steps": dict(storage=lazynet.Tables(64)),
    "dense": dict(storage="dense"),
    "dense predictions": dict(storage=lazynet.Dense(predictions=True)),
    "average": dict(average=True),
    "average from 100": dict(average=100),
    "suffix": dict(average="suffix"),
    "polynomial": dict(average="polynomial", y="three"),
    "dense average": dict(average=True, storage="dense"),
    **{name: dict(schedule=name) for name in ("constant", "inverse_time", "inverse_sqrt")},
    "pegasos": dict(schedule="pegasos", l2=0.1, eta0=None),
    "optimal": dict(schedule="optimal", eta0=None),
    "array of rates": dict(schedule=1 / np.arange(2.0, 2.0 + 3 * N_ROWS), eta0=None),
    "function": dict(schedule=lambda t: 0.5 / (1 + t) ** 0.75, eta0=None),
}
GRID = dict(l1s=4, max_iter=3, cv=3)
PATH = dict(l1s=6, cv=3, l2s=[1e-3, 0.0])
STAGES = dict(burst_size=50, max_iter=4, rejection_rate=0.3, stability=0.5)
CHOSEN, MEANS = lazynet.LazyNetClassifierCV, lazynet.ASGDClassifier
STABLE = lazynet.StabilisedSGDClassifier
#: Options of further fits.
FURTHER = {
    "fobos, shrink first": dict(rule=lazynet.FoBoS(step_order="shrink_first"), eta0=0.2),
    "sgd, shrink first": dict(rule=lazynet.SGD(step_order="shrink_first"), eta0=0.2),
    "threshold": dict(rule=lazynet.TruncatedGradient(2, threshold=0.2), eta0=0.2, l2=0.0),
    "ftrl, penalty once": dict(rule=lazynet.FTRL(alpha=0.2, penalty="once"), l1=0.1),
    "adagrad, initial": dict(rule=lazynet.AdaGrad(alpha=0.1, initial=0.5)),
    "carpenter, period": dict(rule=lazynet.Carpenter(period=16), eta0=0.2),
    "fobos, positive": dict(rule="fobos", positive=True),
    "sgd, positive": dict(rule="sgd", positive=True, eta0=0.2, y="three"),
    "softmax, average": dict(y="three", loss="softmax", average=True, eta0=0.2),
    "two threads": dict(y="twelve", n_jobs=2),
    "group, l2": dict(y="three", group="l2", eta0=0.2),
    "class weights": dict(rule="adagrad", class_weight={"yes": 2.0, "no": 0.5}, weighted=True),
    "huber, width": dict(loss=lazynet.Huber(0.3), y="number"),
    "epsilon, width": dict(loss=lazynet.EpsilonInsensitive(0.2), y="number"),
    "squared epsilon, width": dict(loss=lazynet.SquaredEpsilonInsensitive(0.2), y="number"),
    "absolute error, table": dict(loss="absolute_error", y="numbers", of="table", **AUTOMATIC),
    "noise, weighted": dict(y="noise", weighted=True, **AUTOMATIC),
    "noise, early stopping": dict(y="noise", early_stopping=True, **AUTOMATIC),
    "dense, automatic rule": dict(storage="dense"),
    "several targets": dict(y="numbers", eta0=0.1),
    "grid": dict(kind=CHOSEN, **GRID),
    "grid, rda": dict(kind=CHOSEN, y="three", rule="rda", n_jobs=2, **GRID),
    "grid, l2s": dict(kind=CHOSEN, l2s=[0.0, 1e-2], rule="sgd", **GRID),
    "grid, adagrad": dict(kind=CHOSEN, l1s=[1e-1, 1e-2, 0.0], l2s=1e-3, rule="adagrad", cv=3),
    "grid, weighted": dict(
        kind=CHOSEN, rule="adagrad", weighted=True, class_weight="balanced", **GRID
    ),
    "grid, hinge": dict(kind=CHOSEN, loss="hinge", y="three", rule="ftrl", **GRID),
    "grid, table": dict(kind=lazynet.LazyNetRegressorCV, y="number", of="table", **GRID),
    "averaged": dict(kind=MEANS, l2=0.1, max_iter=3, y="three"),
    "averaged, last": dict(kind=MEANS, l2=0.1, max_iter=3, average=False),
    "averaged, uncentered": dict(kind=MEANS, l2=0.1, max_iter=3, center=False),
    "averaged, number": dict(kind=lazynet.ASGDRegressor, y="number", max_iter=3, replace=False),
    "stabilised": dict(kind=STABLE, n_jobs=2, **STAGES),
    "stabilised, informative": dict(kind=STABLE, y="three", gravity="informative", **STAGES),
}
#: Options of minima at a penalty that folds choose.
LABELS_BY_FOLDS = dict(kind=lazynet.DualNetClassifierCV, cv=3)
NUMBERS_BY_FOLDS = dict(kind=lazynet.DualNetRegressorCV, cv=3, y="number")
CERTIFIED = {
    "two classes by folds": dict(l1s=6, **LABELS_BY_FOLDS),
    "three weighted classes by folds": dict(
        l1s=5, l2s=1e-2, y="three", weighted=True, class_weight="balanced", n_jobs=2,
        **LABELS_BY_FOLDS,
    ),
    "one standard error": dict(l1s=20, one_standard_error=True, **LABELS_BY_FOLDS),
    "ridge by folds": dict(l1s=[0.0], l2s=[1e-3, 1e-1, 1e-2], **NUMBERS_BY_FOLDS),
    "huber by folds": dict(loss="huber", l1s=[1e-2, 1e-1], **NUMBERS_BY_FOLDS),
}  # fmt: skip


def fits():
    """Name -> call that returns a model, and the rows for its predictions."""
    table = {name: partial(fit, **options) for name, options in FURTHER.items()}
    kinds = {loss: "two" if facts.margin else "number" for loss, facts in LOSSES.items()}
    losses = {loss: dict(loss=loss, y=y) for loss, y in kinds.items()}
    for rule, row in ALGORITHMS.items():
        given = RATED[rule]
        options = EVERY_RULE | losses
        options |= SEVERAL_OUTPUTS if row.outputs is not None else {}
        options |= EVERY_AFFINE if rule in ("fobos", "sgd", "truncated_gradient") else {}
        table |= {f"{rule}, {name}": partial(fit, **given | more) for name, more in options.items()}
        table[f"{rule}, automatic"] = partial(fit, rule=rule, **AUTOMATIC)
        table[f"{rule}, table"] = partial(fit, "number", "table", rule=rule, **AUTOMATIC)
        table[f"{rule}, warm start"] = partial(fit_twice, **given)
        table[f"{rule}, resumed"] = partial(resume, **given)
        for y in ("two", "three", "labels", "number") if row.rule.streams else ():
            table[f"{rule}, partial_fit, {y}"] = partial(partial_fits, y, **given)
    for of in ("sparse", "table"):
        for y in ("two", "noise", "three", "labels", "sparse labels", "number", "numbers"):
            table[f"automatic, {y}, {of}"] = partial(fit, y, of, **AUTOMATIC)
    for name, make in SOURCES.items():
        for y in ("three", "number"):
            table[f"{name}, {y}"] = partial(fit_source, make, y)
            table[f"{name}, {y}, automatic"] = partial(fit_source, make, y, **AUTOMATIC)
    for standardize in ("auto", True):
        given = dict(of="mixed", standardize=standardize)
        name = f"standardize={standardize}"
        for y in ("two", "three", "numbers"):
            table[f"{name}, {y}"] = partial(fit, y, **given)
        table[f"{name}, no intercept"] = partial(fit, fit_intercept=False, **given)
        for y in ("two", "three", "number"):
            table[f"{name}, partial_fit, {y}"] = partial(partial_fits, y, **given)
        for y in ("three", "number"):
            table[f"{name}, chunks, {y}"] = partial(fit_source, in_chunks, y, **given)
    table["average, resumed"] = partial(resume, average=True, eta0=0.2)
    table["automatic, resumed"] = partial(resume, **AUTOMATIC)
    return table


def minima():
    """Name -> call that returns objectives, gaps and numbers of nonzeros."""
    labels = dict(kind=lazynet.DualNetClassifier)
    numbers = dict(kind=lazynet.DualNetRegressor, y="number")
    options = {
        "three classes": dict(y="three", l1=1e-2, weighted=True, n_jobs=2, **labels),
        "balanced": dict(class_weight="balanced", l1=1e-2, fit_intercept=False, **labels),
        "labels by folds": dict(kind=lazynet.DualNetClassifierCV, **PATH),
        "numbers by folds": numbers | dict(kind=lazynet.DualNetRegressorCV, **PATH),
        **CERTIFIED,
    }
    for loss, facts in LOSSES.items():
        if not facts.trivial_minimum:
            given = dict(loss=loss, **(labels if facts.margin else numbers))
            options[loss] = dict(l1=5e-3, **given)
            options[f"{loss}, both penalties"] = dict(l1=1e-3, l2=1e-3, **given)
    table = {name: partial(minimum, **each) for name, each in options.items()}
    return table | {"path": path, "path, both penalties": partial(path, l1_ratio=0.5)}


def tables():
    """Name -> call that returns the table of a cross-validation."""
    online = {name: row for name, row in FURTHER.items() if name.startswith("grid")}
    options = online | {name: dict(tol=1e-12, **row) for name, row in CERTIFIED.items()}
    return {name: partial(table, **each) for name, each in options.items()}


def digest(*values):
    """A short hash of the bytes of arrays and numbers."""
    dense = [value.toarray() if sparse.issparse(value) else np.asarray(value) for value in values]
    return hashlib.sha256(b"".join(value.tobytes() for value in dense)).hexdigest()[:12]


def digest_of(call):
    """The digest of weights, intercepts, epochs and predictions of the model of a call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = call()
    return digest(model.coef_, model.intercept_, model.n_iter_, model.predict(X))


def probe():
    """Digests of what the bits of a fit depend on outside lazynet."""
    numbers = np.linspace(-30.0, 30.0, 1001)
    positive, table = np.exp2(numbers.round()), np.sin(numbers[:1000]).reshape(50, 20)
    return {
        "exp of the C library": digest([math.exp(x) for x in numbers]),
        "log1p of the C library": digest([math.log1p(math.exp(x)) for x in numbers]),
        "np.exp": digest(np.exp(numbers)),
        "np.log1p": digest(np.log1p(positive * numbers**2)),
        "np.sum": digest(numbers.sum(), numbers.reshape(7, 143).sum(axis=1)),
        "np.dot": digest(numbers @ numbers, numbers.reshape(7, 143) @ numbers[:143]),
        # The kernels of a library for products differ in the shapes at which bits differ.
        "products": digest(table.T @ table, table.T @ table[:, 0]),
    }


#: Environments in which the digests are stored: as this machine is, and as machines with AVX2 and
#: without AVX-512 are, whose np.exp and matrix products have other bits.
LEVELS = {
    "AVX-512": {},
    "AVX2": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Haswell",
    },
}


def digests():
    """The probe and the digests of all fits, in the present environment."""
    return {"probe": probe(), "fits": {name: digest_of(call) for name, call in fits().items()}}


def digests_at(level):
    """The same in another process, in the environment of a level."""
    command = [sys.executable, "-m", "golden.fits", "--digests"]
    environment = os.environ | LEVELS[level]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=-1).stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["--digests"]:
        print(json.dumps(digests()))
    elif sys.argv[1:] == ["--write"]:
        stored = {
            "levels": {level: digests_at(level) for level in LEVELS},
            "minima": {name: [each.tolist() for each in call()] for name, call in minima().items()},
            "tables": {name: [each.tolist() for each in call()] for name, call in tables().items()},
        }
        FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)
