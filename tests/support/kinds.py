"""A model of every kind, with targets: every estimator, rule, storage, average and form of y."""

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

from lazynet import (
    FTRL,
    RDA,
    SAGA,
    ASGDClassifier,
    ASGDRegressor,
    Balanced,
    Carpenter,
    Dense,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    FoBoS,
    FromStep,
    Huber,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    StabilisedSGDClassifier,
    Tables,
    TruncatedGradient,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 40)) * (RNG.random((60, 40)) < 0.2)
X[:, :3] = RNG.standard_normal((60, 3)) + 1.0
X = sparse.csr_matrix(X)
SCORES = X @ RNG.standard_normal(40)
TWO = np.where(SCORES > 0, "yes", "no")
THREE = np.digitize(SCORES, [-0.5, 0.5]) * 10
LABELS = sparse.csr_matrix(
    np.stack([c < SCORES for c in (-0.5, 0.0, 0.5, 1.0)], axis=1).astype(int)
)
TARGETS = np.stack([SCORES, -SCORES], axis=1)

#: Models that ``partial_fit`` can train.
STREAMS = {
    "default": (LazyNetClassifier(), TWO),
    "sizes of their own": (LazyNetClassifier(standardize=True), TWO),
    "features as passed": (LazyNetClassifier(standardize=False), TWO),
    "classes": (LazyNetClassifier(), THREE),
    "softmax": (LazyNetClassifier(loss="softmax"), THREE),
    "labels": (LazyNetClassifier(), LABELS),
    "regressor": (LazyNetRegressor(), SCORES),
    "targets": (LazyNetRegressor(l1=0.01), TARGETS),
    "targets in units": (LazyNetRegressor(), TARGETS * [1.0, 1e3]),
    "clock": (LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5)), TWO),
    "clocks": (LazyNetClassifier(l1=0.01, rule="fobos"), THREE),
    "float32": (LazyNetClassifier(l1=0.01, rule="ftrl", dtype="float32"), THREE),
    "average": (LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5, average=True)), TWO),
    "averages": (LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5, average=FromStep(50))), THREE),
    "polynomial": (LazyNetRegressor(l1=0.01, rule=FoBoS(eta0=0.05, average="polynomial")), SCORES),
    "tables": (LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5, storage=Tables(budget=100))), TWO),
    "dense": (LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5, storage=Dense(True))), TWO),
    "dense average": (
        LazyNetClassifier(l1=0.01, rule=FoBoS(eta0=0.5, storage="dense", average=True)), TWO,
    ),
    "rda": (LazyNetClassifier(l1=0.01, rule=RDA(gamma=5)), TWO),
    "rda classes": (LazyNetClassifier(l1=0.01, rule="rda"), THREE),
    "ftrl": (LazyNetClassifier(l1=0.01, rule=FTRL(beta=0.5)), TWO),
    "adagrad classes": (LazyNetClassifier(l1=0.01, rule="adagrad"), THREE),
    "truncated": (LazyNetClassifier(l1=0.01, rule=TruncatedGradient(period=3)), TWO),
    "threshold": (LazyNetClassifier(l1=0.01, rule=TruncatedGradient(threshold=0.5)), TWO),
    "carpenter": (LazyNetClassifier(l1=0.01, rule=Carpenter()), TWO),
    "positive": (LazyNetClassifier(l1=0.01, rule=FoBoS(positive=True)), TWO),
    "groups": (LazyNetClassifier(l1=0.01, rule=FoBoS(group="l2")), THREE),
    "rates": (LazyNetRegressor(Huber(0.5), l1=0.01, rule=FoBoS(np.full(9000, 0.01))), SCORES),
    "weights": (LazyNetClassifier(class_weight={"yes": 2.0, "no": 1 / 3}), TWO),
    "balanced": (LazyNetClassifier(class_weight=Balanced({"yes": 3, "no": 2})), TWO),
    "own generator": (LazyNetClassifier(random_state=np.random.RandomState(5)), TWO),
}  # fmt: skip
#: Models that ``fit`` alone can train.
FITS = {
    "saga": (LazyNetClassifier(l1=0.01, rule=SAGA(alpha=0.1)), TWO),
    "early stopping": (LazyNetClassifier(early_stopping=True), THREE),
    "dual": (DualNetClassifier(tol=1e-2), TWO),
    "dual classes": (DualNetClassifier(tol=1e-2, warm_start=True), THREE),
    "dual regressor": (DualNetRegressor(tol=1e-2), SCORES),
    "dual in units": (DualNetRegressor(tol=1e-2, standardize=True), SCORES),
    "dual choice": (
        DualNetClassifierCV(l1s=4, tol=1e-2, cv=KFold(3), scoring="accuracy"), THREE,
    ),
    "dual regressor choice": (DualNetRegressorCV(l1s=4, tol=1e-2, cv=2), SCORES),
    "grid": (LazyNetClassifierCV(l1s=4, max_iter=3, cv=2), TWO),
    "regressor grid": (LazyNetRegressorCV(l1s=4, max_iter=3), SCORES),
    "dekel": (ASGDClassifier(l2=0.1, max_iter=5), THREE),
    "dekel regressor": (ASGDRegressor(l2=0.1, max_iter=5, center=False), SCORES),
    "stabilised": (
        StabilisedSGDClassifier(burst_size=20, max_iter=5, eta0=0.1), THREE,
    ),
}  # fmt: skip
MODELS = {**STREAMS, **FITS}
