"""The memory of a fit is told and checked before it begins; sparse weights are those of engines."""

import numpy as np
import pytest
from scipy import sparse

from lazynet import SGD, FoBoS, LazyNetClassifier, TruncatedGradient
from lazynet.data.memory import Estimate
from lazynet.engines.nonzeros import csr_of
from lazynet.training import fit as fitted
from lazynet.training import memory_check as memory_of_fit
from lazynet.training.plan import Plan

N, D, L = 150, 60, 70
OPTIONS = dict(max_iter=3, tol=None, random_state=0, l1=1e-4)
MODELS = {
    "adagrad": {}, "fobos": dict(rule=FoBoS(eta0=0.3)), "sgd": dict(rule=SGD(eta0=0.3)),
    "rda": dict(rule="rda"), "ftrl": dict(rule="ftrl"),
    "average": dict(rule=FoBoS(eta0=0.3, average=True)), "from data": dict(rule="fobos"),
    # So strong a shrink that weights are brought current many times.
    "swept": dict(rule="fobos", l2=0.5), "swept by a schedule": dict(rule=FoBoS(eta0=0.9), l2=0.9),
    "engines each": dict(rule=TruncatedGradient(eta0=0.3)),
    "batches": dict(rule=FoBoS(eta0=0.3, batch_size=8)),
    "positive": dict(rule=FoBoS(eta0=0.3, positive=True)),
    "in order": dict(shuffle=False), "float32": dict(dtype="float32"),
    "float32, rda": dict(rule="rda", dtype="float32"),
    "threads": dict(rule=FoBoS(eta0=0.3), n_jobs=2),
}  # fmt: skip
EVERY_MODEL = pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))


def rows(n_rows=N, n_features=D, seed=0):
    return sparse.random(n_rows, n_features, density=0.1, format="csr", random_state=seed)


def labels(n_labels=L, n_rows=N):
    return np.random.default_rng(1).integers(0, 2, (n_rows, n_labels))


# --- the estimate -----------------------------------------------------------------------------


@EVERY_MODEL
def test_the_estimate_counts_what_the_engines_hold(options, monkeypatch, capsys):
    """The bytes that are told are those of the arrays with an entry per weight."""
    X, Y = rows(), labels(20)
    held, told = [], []
    train, tell = fitted.train, Estimate.told

    def counted(learners, *given, **named):
        arrays = [array for each in learners for array in each.engine.per_weight.values()]
        held.append(sum(array.nbytes for array in arrays))
        return train(learners, *given, **named)

    monkeypatch.setattr(fitted, "train", counted)
    monkeypatch.setattr(Estimate, "told", lambda estimate: told.append(estimate) or tell(estimate))
    LazyNetClassifier(**{**OPTIONS, **options}, verbose=1).fit(X, Y)
    assert [told[0].weights, told[0].coef] == [*held, 20 * D * 8]
    assert capsys.readouterr().out.count("20 outputs x 60 features") == 1


def test_the_estimate_is_told_in_one_line(capsys):
    """Before the first epoch; one output is not told of."""
    X, Y = rows(), sparse.csr_matrix(labels(20))
    LazyNetClassifier(max_iter=2, verbose=1, random_state=0).fit(X, Y)
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "20 outputs x 60 features: 23.5 kB of weights in float64, 23.5 kB for the best epoch, "
        "12 bytes for a weight of coef_ that is not 0"
    )
    assert second.startswith("epoch    1")
    LazyNetClassifier(max_iter=2, verbose=1).fit(X, np.arange(N) % 2)
    assert capsys.readouterr().out.startswith("epoch    1")


def test_too_little_memory_is_refused_before_anything_is_made(monkeypatch):
    """The error names the ways out that are left; a fit that keeps to them runs."""
    X, Y = rows(50, 200_000), labels(40, 50)
    made = []
    new_engines = Plan.new_engines
    monkeypatch.setattr(
        Plan,
        "new_engines",
        lambda plan, n_features, *rest: (
            made.append(n_features) or new_engines(plan, n_features, *rest)
        ),
    )
    monkeypatch.setattr(memory_of_fit, "physical_bytes", lambda: 100_000_000)
    model = LazyNetClassifier(l1=0.1, max_iter=2, random_state=0)
    with pytest.raises(MemoryError) as refused:
        model.fit(X, Y)
    assert max(made) <= 1
    assert not hasattr(model, "classes_")
    for way in (
        "some columns of y",
        "dtype='float32'",
        "tol=None",
        "fewer features",
        "100 MB",
        "sparse matrix",
    ):
        assert way in str(refused.value)
    model.set_params(dtype="float32", tol=None)
    with pytest.raises(MemoryError) as refused:
        model.fit(X, Y)
    assert "float32'" not in str(refused.value)
    assert "tol" not in str(refused.value)
    model.fit(X, Y[:, :8])
    monkeypatch.setattr(memory_of_fit, "physical_bytes", lambda: 1_000_000)
    with pytest.raises(MemoryError, match="1 MB of memory: take fewer features, for instance"):
        model.fit(X, Y[:, 0])
    monkeypatch.setattr(memory_of_fit, "physical_bytes", lambda: None)
    model.set_params(dtype="float64").fit(X, Y[:, :8])


def test_the_sparse_weights_of_engines_are_their_weights():
    """Read a few features at a time, they are those of the dense array, with averages too."""
    X, Y = rows(80, 10_000), labels(9, 80)
    for options in MODELS.values():
        model = LazyNetClassifier(**{**OPTIONS, **options}).fit(X, Y)
        for engine in model._engines:
            for last in (False, True):
                found = csr_of([engine.nonzero_weights(last=last)], engine.n_features)
                assert found.has_sorted_indices
                assert found.nnz == np.count_nonzero(found.toarray())
                np.testing.assert_array_equal(found.toarray(), engine.rows(last=last))


def test_columns_fitted_one_group_after_another_have_the_same_bits():
    """The way to fit more labels than memory holds; with ``tol=None`` the bits are the same."""
    X, Y = rows(), sparse.csc_matrix(labels())
    model = LazyNetClassifier(rule=FoBoS(eta0=0.3), **OPTIONS)
    together = model.fit(X, Y).coef_
    parts = [model.fit(X, Y[:, k : k + 32]).coef_ for k in range(0, L, 32)]
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), together.toarray())
