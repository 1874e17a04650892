"""Sizes that a kernel computes as it visits a row give the bits of sizes that it is handed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.parameters import in_rule

from lazynet import LazyNetClassifier
from lazynet.data.arrays import as_examples, sizes_of
from lazynet.data.targets import Classes
from lazynet.kernels.examples import MEASURED
from lazynet.training.learners import new_learners, run_pass

N, D = 90, 40

#: Every kernel whose rates follow the sizes of the rows.
MODELS = {
    "adagrad": dict(rule="adagrad", l1=1e-3),
    "rda": dict(rule="rda", l1=1e-3),
    "ftrl": dict(rule="ftrl", l1=1e-3),
    "fobos": dict(rule="fobos", l1=1e-3),
    "sgd": dict(rule="sgd", l1=1e-3, l2=1e-3),
    "average": dict(rule="fobos", l1=1e-3, average=True),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))
@given(seed=st.integers(0, 2**32 - 1), narrow=st.booleans())
def test_the_bits_are_the_same(options, n_classes, seed, narrow):
    """For one output and for several; a row may be empty, and a sweep may come before any row."""
    rng = np.random.default_rng(seed)
    X = sparse.random(N, D, density=0.2, format="csr", random_state=seed % 2**31)
    X.data = rng.standard_normal(X.nnz) * 10.0 ** rng.integers(-3, 4, X.nnz)
    X.data = X.data.astype(np.float32 if narrow else np.float64)
    problems = Classes(rng.integers(0, n_classes, N), n_classes, None)
    plan = LazyNetClassifier(**in_rule(**options))._read_settings().plan().known(1.0, None)
    assert plan.sizes in MEASURED
    found = []
    for sizes in (plan.sizes, sizes_of(X, plan.sizes)):
        engines = plan.new_engines(D, len(problems))
        learners = new_learners(engines, X, problems, plan, sizes)
        t = run_pass(learners, None, 0, length=36)
        run_pass(learners, np.arange(N)[::-1].copy(), t)
        found.append([engine.state() for engine in engines])
    for named, given_ in zip(*found, strict=True):
        assert named.keys() == given_.keys()
        for name, array in named.items():
            assert array.tobytes() == given_[name].tobytes(), name


def test_a_size_that_nobody_knows_is_refused():
    """The error lists the names."""
    X = sparse.csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match="sizes must be one of absolute_sums, squared_norms"):
        as_examples(X, np.ones(3), None, "norms")
