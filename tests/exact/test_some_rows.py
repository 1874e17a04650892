"""Dual ascent on chosen rows of a matrix has the bits of dual ascent on these rows alone."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.dual import dual_problems

from lazynet.data import as_examples
from lazynet.engines.blocks import Block, travelling
from lazynet.engines.mean import MeanLoss
from lazynet.engines.some_rows import BlockOfSome, MeanOfSome
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet


@st.composite
def chosen_rows(draw):
    """A problem, and some of its rows in rising order."""
    problem = draw(dual_problems(tuple(LOSSES))).in_floats()
    rows = draw(st.sets(st.integers(0, len(problem.rows) - 1), min_size=1))
    return problem, np.array(sorted(rows))


def blocks(problem, rows):
    """The chosen rows of the whole matrix, and a matrix of these rows alone."""
    loss = replace(get_loss(problem.loss), epsilon=problem.epsilon)
    X = sparse.csr_matrix(np.array(problem.rows))
    y, s = np.array(problem.targets), np.array(problem.importances)
    options = dict(fit_intercept=problem.fit_intercept, total=float(s.sum()) or 1.0)
    some = MeanOfSome(X, y, s, rows, loss, **options)
    some.measured(as_examples(X).squared_norms())
    own = y[rows], s[rows]
    alone = MeanLoss(as_examples(X[rows], *own), *own, loss, **options)
    penalty = ElasticNet(problem.l1, problem.l2)
    return BlockOfSome(3, some, penalty), Block(3, alone, penalty)


def assert_same(found, wanted):
    """The same bits, in arrays or in dictionaries of them."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert_same(found[name], array)
    else:
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


@given(case=chosen_rows(), passes=st.integers(1, 3), n_blocks=st.integers(1, 4))
def test_visits_and_moves(case, passes, n_blocks):
    """A model that visits the block in turn, or moves with other blocks at once."""
    problem, rows = case
    some, alone = blocks(problem, rows)
    kappas = problem.kappa, problem.kappa_intercept
    start = np.array(problem.centre) * problem.kappa, 0.5
    model = travelling(*start, *kappas, seed=7, epoch=2)
    resident = {"duals": np.array(problem.duals)[rows]}
    for _ in range(2):
        found, wanted = (block.move(model, resident, n_blocks, passes) for block in (some, alone))
        assert_same(found[0], wanted[0])
        assert_same(found[1], wanted[1])
        found, wanted = (block.visit(model, resident) for block in (some, alone))
        assert_same(found[0], wanted[0])
        assert_same(found[1], wanted[1])
        model, resident = wanted


@given(case=chosen_rows(), intercept=st.floats(-2, 2))
def test_sums_over_rows(case, intercept):
    """What the search and its certificate ask of the rows."""
    problem, rows = case
    some, alone = (block.mean for block in blocks(problem, rows))
    assert (some.n_rows, some.n_columns) == (alone.n_rows, alone.n_columns)
    assert some.n_values == alone.n_values
    weights, duals = np.array(problem.centre), np.array(problem.duals)[rows]
    for compensated in (False, True):
        found, margins = (mean.margins(weights, compensated=compensated) for mean in (some, alone))
        assert_same(found, margins)
    assert_same(some.correlations(duals), alone.correlations(duals))
    assert_same(some.compensated_sums(duals), alone.compensated_sums(duals))
    assert_same(some.squared_norms, alone.squared_norms)
    for ask in (
        lambda mean: mean.value(margins, intercept),
        lambda mean: mean.conjugate(duals, 0.5),
        lambda mean: mean.negative_slopes(margins, intercept),
        lambda mean: mean.slope_sums(margins, intercept),
        lambda mean: mean.sum_of(duals),
    ):
        assert_same(ask(some), ask(alone))
