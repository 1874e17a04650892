"""Dual ascent on rows in blocks equals the dense reference, and its dual objective never falls.

The tolerance is that of test_dual_ascent_equals_the_reference.py.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from support.dual import MINIMISED, RATIONAL_LOSSES, dual_problems
from support.engines import apart

from lazynet.certificates import certify
from lazynet.data import as_examples
from lazynet.engines.blocks import AscentInBlocks, Block, Here, MeanOverBlocks, cuts
from lazynet.engines.dual import DualAscent
from lazynet.engines.mean import MeanLoss
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet
from lazynet.reference.blocks import DenseBlocks
from lazynet.threads import Workers

TOLERANCE = 1e-9


class Built:
    """The compiled blocks of one problem in floats, and what all rows together are."""

    def __init__(self, problem, lengths, kind=Block, run=None):
        loss = replace(get_loss(problem.loss), epsilon=problem.epsilon)
        X = sparse.csr_matrix(np.array(problem.rows))
        y, s = np.array(problem.targets), np.array(problem.importances)
        self.penalty = ElasticNet(problem.l1, problem.l2)
        self.all_rows = MeanLoss(
            as_examples(X, y, s), y, s, loss, fit_intercept=problem.fit_intercept
        )
        self.firsts = np.cumsum([0, *lengths])
        own = dict(fit_intercept=problem.fit_intercept, total=1.0 / self.all_rows.share)
        blocks = [
            kind(k, MeanLoss(as_examples(X[a:b], y[a:b], s[a:b]), y[a:b], s[a:b], loss, **own),
                 self.penalty)
            for k, (a, b) in enumerate(zip(self.firsts, self.firsts[1:], strict=False))
        ]  # fmt: skip
        self.blocks = blocks
        self.mean = MeanOverBlocks(
            Here(blocks, run), loss=loss, fit_intercept=problem.fit_intercept,
            share=self.all_rows.share, n_rows=lengths, n_columns=X.shape[1],
        )  # fmt: skip
        kappas = problem.kappa, problem.kappa_intercept
        self.ascent = AscentInBlocks(self.mean, self.penalty, *kappas, seed=5)
        self.ascent.start_from(
            np.array(problem.centre), problem.centre_intercept if problem.fit_intercept else 0.0,
            self.split(np.array(problem.duals)),
        )  # fmt: skip
        self.serial = DualAscent(self.all_rows, self.penalty, *kappas)
        self.serial.start_from(
            self.ascent.centre, self.ascent.intercept_centre, np.array(problem.duals)
        )

    def split(self, rows):
        return [rows[a:b].copy() for a, b in zip(self.firsts, self.firsts[1:], strict=False)]

    def orders(self, n=1, passes=1):
        """The orders of the blocks in the next epoch, with ``passes`` passes over each."""
        done = self.ascent.done
        return [
            np.concatenate(
                [block.order(np.array([5, done * passes + again])) for again in range(passes)]
            )
            for block in self.blocks
        ]


@st.composite
def partitions(draw, n):
    """Lengths of blocks, none of them empty, of n rows together."""
    places = sorted(draw(st.sets(st.integers(1, n - 1), max_size=4))) if n > 1 else []
    return np.diff([0, *places, n]).tolist()


#: What to do: an epoch in turn, a round at once with so many passes, or a new centre.
deeds = st.lists(
    st.tuples(st.sampled_from(["turn", "once", "centre"]), st.integers(1, 3)), max_size=5
)


def twin_of(problem, lengths):
    return problem.twin(lambda *data, **options: DenseBlocks(*data, lengths=lengths, **options))


def assert_equal(built, twin):
    """Weights, intercept and dual variables; a dual variable counts times its q, up to 1."""
    ascent = built.ascent
    assert apart(ascent.weights(), twin.weights) <= TOLERANCE
    assert apart(ascent.intercept, twin.intercept) <= TOLERANCE
    heed = [
        0.0 if s == 0 else min(1.0, twin.curvature(i) or 1.0)
        for i, s in enumerate(twin.importances)
    ]
    duals = np.concatenate(ascent.duals)
    assert apart(heed * duals, np.multiply(heed, twin.duals)) <= TOLERANCE


def assert_matches_reference(problem, lengths, todo, kind=Block):
    built, twin = Built(problem, lengths, kind), twin_of(problem, lengths)
    for what, times in todo:
        if what == "centre":
            built.ascent.recentre(float(times))
            twin.recentre(times * twin.kappa, times * twin.kappa_intercept)
        elif what == "turn":
            orders = built.orders()
            built.ascent.in_turn()
            twin.in_turn([order.tolist() for order in orders])
        else:
            orders = built.orders(passes=times)
            built.ascent.at_once(times)
            twin.at_once([order.tolist() for order in orders])
        assert_equal(built, twin)


@st.composite
def cases(draw, losses=tuple(LOSSES)):
    problem = draw(dual_problems(losses))
    # Kappas so small that a step could amplify what rounding changes are those of other tests.
    lengths = draw(partitions(len(problem.rows)))
    return problem.in_floats(), lengths, draw(deeds)


@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
def test_every_epoch_and_every_round_equals_the_reference(loss, data):
    """Any partition, importances, strengths, passes and centres; with an intercept or without."""
    assert_matches_reference(*data.draw(cases((loss,))))


@given(data=st.data())
def test_the_dual_objective_never_falls(data):
    """In exact fractions: for any partition and any number of passes over each block."""
    problem = data.draw(dual_problems(RATIONAL_LOSSES))
    lengths = data.draw(partitions(len(problem.rows)))
    twin = twin_of(problem, lengths)
    before = twin.centred_dual_objective()
    for _ in range(2):
        orders = [data.draw(st.lists(st.integers(0, length - 1), max_size=4)) for length in lengths]
        twin.at_once(orders)
        now = twin.centred_dual_objective()
        assert now >= before
        before = now


@given(case=cases(), passes=st.integers(1, 3))
def test_the_compiled_dual_objective_never_falls(case, passes):
    """Up to rounding: the dual objective of the problem with its centre."""
    problem, lengths, _ = case
    built = Built(problem, lengths)

    def dual():
        at = built.ascent.standing()
        return at.objective + at.distance - at.inner_gap, abs(at.objective) + abs(at.distance)

    before, _ = dual()
    for _ in range(3):
        built.ascent.at_once(passes)
        now, size = dual()
        assert now >= before - 1e-12 * (1.0 + size + abs(before))
        before = now


@given(case=cases())
def test_blocks_in_turn_are_serial_ascent_with_the_same_bits(case):
    """The visits of an epoch are the steps of ``DualAscent`` in an order that goes by blocks."""
    problem, lengths, _ = case
    built = Built(problem, lengths)
    ascent, serial = built.ascent, built.serial
    # The blocks sum u = (1/n) sum s_i a_i x_i block by block, which rounds otherwise than row by
    # row: both ascents begin at the sum of the blocks, and then every bit must be the same.
    assert apart(ascent.z, serial.z) <= TOLERANCE
    assert apart(ascent.fields, serial.fields) <= TOLERANCE
    serial.z[:], serial.fields[:] = ascent.z, ascent.fields
    for _ in range(2):
        orders = built.orders()
        ascent.in_turn()
        rows = [first + order for first, order in zip(built.firsts, orders, strict=False)]
        serial.take(np.concatenate(rows))
        np.testing.assert_array_equal(np.concatenate(ascent.duals), serial.duals)
        np.testing.assert_array_equal(ascent.z, serial.z)
        assert ascent.intercept == serial.intercept
        ascent.recentre(1.5)
        serial.recentre(1.5)
        np.testing.assert_array_equal(ascent.z, serial.z)


@given(case=cases())
def test_a_visit_leaves_its_arguments_and_can_be_made_again(case):
    """What travels and what stays are named arrays that a pickle carries."""
    problem, lengths, _ = case
    built = Built(problem, lengths)
    block, duals = built.blocks[-1], built.ascent.duals[-1]
    model, resident = pickle.loads(pickle.dumps((built.ascent.travelling(), {"duals": duals})))
    kept = {name: array.copy() for name, array in {**model, **resident}.items()}
    for work in (block.visit, lambda m, r: block.move(m, r, 3, 2)):
        once, again = work(model, resident), work(model, resident)
        for name, array in kept.items():
            np.testing.assert_array_equal({**model, **resident}[name], array)
        for one, other in zip(once, again, strict=True):
            assert one.keys() == other.keys()
            for name in one:
                np.testing.assert_array_equal(one[name], other[name])


@given(case=cases(), n_threads=st.integers(2, 4))
def test_any_number_of_threads_gives_the_same_bits(case, n_threads):
    problem, lengths, _ = case
    alone = Built(problem, lengths)
    with Workers(n_threads) as workers:
        together = Built(problem, lengths, run=workers.each)
        for built in (alone, together):
            for _ in range(2):
                built.ascent.at_once(2)
                built.ascent.recentre(2.0)
        assert alone.ascent.standing().gap == together.ascent.standing().gap
    np.testing.assert_array_equal(alone.ascent.z, together.ascent.z)
    for one, other in zip(alone.ascent.duals, together.ascent.duals, strict=True):
        np.testing.assert_array_equal(one, other)


# --- sums over blocks -----------------------------------------------------------------------------


@given(case=cases(MINIMISED))
def test_sums_over_blocks_are_sums_over_all_rows(case):
    """The certificate, the intercept and the gaps are those of all rows, for any partition."""
    problem, lengths, _ = case
    if not problem.l1 and not problem.l2:
        problem = problem._replace(l2=0.5)
    built = Built(problem, lengths)
    built.ascent.in_turn()
    weights, intercept = built.ascent.weights(), built.ascent.intercept
    duals = [array.copy() for array in built.ascent.duals]
    joined = np.concatenate(duals)
    apart_from = certify(built.all_rows, built.penalty, weights, intercept, joined)
    found = certify(built.mean, built.penalty, weights, intercept, duals)
    size = 1.0 + abs(apart_from.objective) + abs(apart_from.dual_objective)
    assert abs(found.objective - apart_from.objective) <= 1e-12 * size
    # The bounds on rounding differ: the joined duals are balanced to the last digit.
    assert abs(found.gap - apart_from.gap) <= 1e-8 * size
    assert found.gap >= found.objective - found.dual_objective
    one, other = built.ascent.standing(), built.serial
    other.duals[:] = np.concatenate(built.ascent.duals)
    other.z[:], other.fields[:] = built.ascent.z, built.ascent.fields
    assert abs(one.gap - other.standing().gap) <= 1e-12 * size


@pytest.mark.parametrize("loss", MINIMISED)
@given(data=st.data())
def test_newtons_sums_find_the_intercept(loss, data):
    """The slope of the mean loss changes its sign there, or is next to nothing."""
    problem, lengths, _ = data.draw(cases((loss,)))
    built = Built(problem._replace(fit_intercept=True), lengths)
    weights = built.ascent.weights()
    margins, all_margins = built.mean.margins(weights), built.all_rows.margins(weights)
    expected = built.all_rows.best_intercept(all_margins)
    reach = 64.0 + np.abs(built.all_rows.y).max() + np.abs(all_margins).max()
    found = built.mean.best_intercept(margins, 0.0, reach)
    least, _ = built.all_rows.value(all_margins, expected)
    value, _ = built.mean.value(margins, found)
    assert value <= least + 1e-9 * (1.0 + least)


# --- the tests are tested -------------------------------------------------------------------------


class AddsWithoutCounting(Block):
    """Steps as if the block were alone, whose moves are then added."""

    def move(self, model, resident, n_blocks, passes=1):
        return super().move(model, resident, 1, passes)


class ForgetsTheIntercept(Block):
    """Leaves the move of the intercept out."""

    def move(self, model, resident, n_blocks, passes=1):
        move, duals = super().move(model, resident, n_blocks, passes)
        return {**move, "scalars": np.zeros(1)}, duals


class NumbersItsRowsAnew(Block):
    """Takes the share of its own rows for that of all rows."""

    def __init__(self, number, mean, penalty):
        mean.share *= 1.5
        super().__init__(number, mean, penalty)


@pytest.mark.parametrize("broken", [AddsWithoutCounting, ForgetsTheIntercept, NumbersItsRowsAnew])
def test_broken_blocks_are_caught(broken):
    @settings(
        max_examples=1000, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip
    @given(case=cases(["squared_error"]))
    def equal(case):
        assert_matches_reference(*case, broken)

    with pytest.raises(AssertionError):
        equal()


def test_blocks_are_as_equal_as_can_be():
    for n in range(1, 30):
        for k in range(1, n + 1):
            lengths = np.diff(cuts(n, k))
            assert lengths.sum() == n
            assert lengths.min() >= 1
            assert np.ptp(lengths) <= 1
