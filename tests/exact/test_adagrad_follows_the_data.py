"""AdaGrad whose rates follow the sizes of the rows: exact, and blind to the scale of X."""

import numpy as np
import pytest
from scipy import sparse
from support import plan, rows
from support.engines import apart
from support.matrices import corpus
from support.parameters import in_rule
from support.rates import part_ways, stream

from lazynet import AdaGrad, LazyNetClassifier, Stepper
from lazynet.data.arrays import as_examples, sizes_of
from lazynet.engines.adagrad import AdaGradEngine
from lazynet.kernels import cells as kernel
from lazynet.losses import LOSSES
from lazynet.penalties import ElasticNet
from lazynet.reference.adagrad import DenseAdaGrad, PlainAdaGrad
from lazynet.rules.adagrad import INITIAL, PLAIN_PRODUCTS, PRODUCTS

# --- lazy equals dense --------------------------------------------------------------------------


def differs_from_the_reference(engine=AdaGradEngine, empty=3, l1=1e-3, l2=1e-3, loss="log_loss"):
    """Whether the weights or the intercept leave those of the dense reference at any step."""
    options = dict(l1=l1, l2=l2, loss=loss, fit_intercept=True)
    lazy = Stepper(9, **in_rule(rule=AdaGrad(), **options))
    lazy.engine = engine(9, AdaGrad(), ElasticNet(l1, l2), loss=lazy.plan.loss)
    dense = DenseAdaGrad(9, product=PRODUCTS[loss], initial=INITIAL, **options)
    return part_ways(lazy, dense, stream(empty=empty))


class WithoutRescale(AdaGradEngine):
    """Computes alpha anew and leaves the weights what they are."""

    def _sweep(self):
        before = self.weights()
        super()._sweep()
        self.cells[:, 0] = before


class BeginsAtNothing(AdaGradEngine):
    """Lets the sums of squared gradients begin at 0."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.settings[kernel.settings("adagrad").index("initial")] = 0.0


@pytest.mark.parametrize("broken", [WithoutRescale, BeginsAtNothing])
def test_broken_engines_are_caught(broken):
    """The comparison above notices every fault of a refresh, and of the first step of a weight."""
    assert differs_from_the_reference(broken)


@pytest.mark.parametrize("empty", [0, 3])
def test_the_lazy_reference_equals_the_dense_one(empty):
    """PlainAdaGrad visits all weights at a refresh and no other time."""
    options = dict(l1=1e-2, l2=1e-2, fit_intercept=True)
    lazy, dense = PlainAdaGrad(9, **options), DenseAdaGrad(9, **options)
    for example in stream(empty=empty):
        lazy.step(*example), dense.step(*example)
        assert apart(lazy.weights, dense.weights) <= 1e-12
        assert lazy.alpha == dense.alpha


def alphas_after(sizes, product):
    """alpha after each of the rows, from their sizes alone."""
    mean, found = 0.0, []
    for t in range(len(sizes)):
        now = float(np.mean(sizes[: t + 1]))
        is_due = t in (0, 1, 2, 4, 8, 16, 32, 64) and abs(now - mean) > mean / 16
        mean = now if is_due or (not mean and now) else mean
        found.append(product / mean if mean else product)
    return found


def test_alpha_is_computed_before_the_steps_that_are_powers_of_two():
    """alpha is the constant over the mean of the rows as of the last refresh."""
    sizes = [0.0, 0.0, 4.0, 2.0, 8.0, 1.0, 0.5, 3.0, 1.5, *[2.0] * 9]
    lazy, seen = Stepper(1, rule=AdaGrad(), loss="hinge"), []
    for size in sizes:
        lazy.step([0] if size else [], [size] if size else [], 1.0)
        seen.append(lazy.engine.present_rate)
    np.testing.assert_allclose(seen, alphas_after(sizes, PRODUCTS["hinge"]), rtol=1e-15)
    assert len(set(seen)) == 4  # none before the first row, then steps 2, 4 and 8, and not 16
    assert abs(np.mean(sizes[:17]) / np.mean(sizes[:9]) - 1.0) < 1 / 16


def test_the_first_row_that_is_not_empty_gives_alpha_whenever_it_comes():
    """Rows 3 and 5 are between the powers of two; alpha has to wait for step 8 with the second."""
    sizes = [0.0, 0.0, 0.0, 4.0, 1.0, 1000.0, 0.0, 0.0, 0.0]
    lazy = Stepper(1, rule=AdaGrad(), loss="hinge")
    seen = []
    for size in sizes:
        lazy.step([0] if size else [], [size] if size else [], 1.0)
        seen.append(lazy.engine.present_rate)
    np.testing.assert_allclose(seen, alphas_after(sizes, PRODUCTS["hinge"]), rtol=1e-15)
    assert (seen[2], seen[3], seen[5], seen[8]) == (5.0, 5.0, 5.0, 5.0 / (1005 / 9))


# --- where the sums of squared gradients begin ---------------------------------------------------


def test_importances_that_are_all_ten_times_as_large_change_nothing():
    """A sum begins with the importance of its row, as the squared gradients do."""
    X, y = corpus(n_rows=80, d=50)
    options = dict(rule=AdaGrad(delta=1e-12), max_iter=2, tol=None, random_state=0, l2=0.0)
    once = LazyNetClassifier(**in_rule(l1=1e-3, **options)).fit(X, y)
    ten = LazyNetClassifier(**in_rule(l1=1e-2, **options)).fit(
        X, y, sample_weight=np.full(80, 10.0)
    )
    np.testing.assert_allclose(ten.coef_, once.coef_, rtol=1e-9, atol=1e-9)


# --- chunks, copies, failed calls, other settings -----------------------------------------------


def test_from_a_given_alpha_to_the_data_and_back():
    """The weights go on as they are; rows are counted from the switch on, and not with alpha."""
    X, y = corpus(n_rows=60, d=40)
    options = dict(shuffle=False, l1=0.0, l2=0.0)
    model = LazyNetClassifier(**in_rule(rule=AdaGrad(alpha=0.1), **options))
    model.partial_fit(X, y, classes=[-1, 1])
    assert model.eta0_ == 0.1
    before = model.coef_.copy()
    nothing = sparse.csr_matrix((1, 40))
    model.set_params(rule="adagrad").partial_fit(nothing, y[:1])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.eta0_ == PRODUCTS["log_loss"]  # of the loss, until a row is not empty
    model.partial_fit(X[:1], y[:1])
    assert model.eta0_ == PRODUCTS["log_loss"] / (sizes_of(X[:1], "absolute_sums")[0] / 2)
    model.partial_fit(X[1:], y[1:])
    last = np.concatenate([[0.0], sizes_of(X, "absolute_sums")])
    assert model.eta0_ == pytest.approx(alphas_after(last, PRODUCTS["log_loss"])[-1])
    before = model.coef_.copy()
    model.set_params(rule=AdaGrad(alpha=0.1)).partial_fit(nothing, y[:1])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.eta0_ == 0.1


def test_loaded_weights_keep_their_size():
    """The first alpha multiplies no weight that was given."""
    X, _ = corpus(n_rows=20, d=40)
    model = LazyNetClassifier(rule="adagrad", max_iter=1, tol=None, shuffle=False, l1=0.0, l2=0.0)
    given_weights = np.arange(40.0)
    model.fit(X[:2], [0, 1], coef_init=given_weights)
    untouched = np.setdiff1d(np.arange(40), X[:2].indices)
    ratio = model.eta0_ / (PRODUCTS["log_loss"] / sizes_of(X[:1], "absolute_sums")[0])
    np.testing.assert_allclose(model.coef_[0, untouched], given_weights[untouched] * ratio)


# --- what is refused ----------------------------------------------------------------------------


def test_examples_without_sizes_are_refused():
    """The kernel says what is missing; with a given alpha nothing is."""
    X, y = corpus(n_rows=4, d=5)
    for rule in (AdaGrad(alpha=0.1), AdaGrad()):
        chosen = plan(rule=rule)
        engine = chosen.new_engine(5)
        steps = chosen.steps(rows(4), 0)
        if rule.sizes is None:
            engine.take(as_examples(X, y), steps, chosen.task(engine))
            continue
        with pytest.raises(ValueError, match="examples must have sizes: the rates of 'adagrad'"):
            engine.take(as_examples(X, y), steps, chosen.task(engine))
        assert not engine.fields.any()


def test_every_loss_has_a_constant():
    """The table of constants names the losses, all of them."""
    assert set(PRODUCTS) == set(PLAIN_PRODUCTS) == set(LOSSES)
