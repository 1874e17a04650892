"""Minima over blocks: certified, and with the same bits for any number of workers."""

import warnings

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

from support.clusters import delayed_parts, kill_a_worker, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import newton, sums
from lazynet.data.arrays import as_examples
from lazynet.data.chunks import Chunk
from lazynet.data.targets import Columns
from lazynet.estimators import certified
from lazynet.losses import get_loss
from lazynet.minimum.certificate import certify
from lazynet.minimum.gram import LEAST_SAMPLE, sampled_rows
from lazynet.minimum.objective import MeanLoss
from lazynet.penalties import ElasticNet
from on_dask.rows import estimators, problem

CUTS = [5, 400, 900]


def targets_of_chunk(chunk):
    """The targets of a block."""
    return Columns(chunk.y, chunk.weight)


SETTINGS = [
    ("two classes", dict(l1=1e-3, l2=1e-3)),
    ("two classes", dict(l1=1e-3, l2=0.0, class_weight="balanced")),
    ("two classes", dict(loss="squared_hinge", l1=1e-4, l2=1e-5)),
    ("weights", dict(l1=0.0, l2=1e-3, fit_intercept=False)),
    ("classes", dict(l1=1e-2, l2=0.0)),
    ("numbers", dict(l1=1e-3, l2=0.0)),
    ("numbers", dict(l1=1e-1, l2=1e-4)),
    ("two classes", dict(l1=1e-3, l2=1e-3, standardize=True)),
    ("weights", dict(l1=1e-3, l2=1e-3, standardize="auto", fit_intercept=False)),
    ("numbers", dict(l1=1e-1, l2=1e-4, standardize="auto")),
]


@pytest.mark.parametrize(("kind", "params"), SETTINGS)
def test_the_gap_is_a_certificate_of_all_rows(client, kind, params):
    """The objective, computed in this process, is that of the serial fit but for the gaps."""
    X, y, weights = problem(0, 1500, kind=kind)
    if weights is not None:
        weights[: CUTS[0]] = 0.0
    model = estimators(lazynet.dask, kind, True)(**params, tol=1e-7)
    model.fit(delayed_parts(parts_of(CUTS, X, y, weights)), client=client)
    serial = estimators(lazynet, kind, True)(**params, tol=1e-7).fit(X, y, weights)
    away = np.subtract(model.objective_, serial.objective_)
    assert (away <= model.duality_gap_).all()
    assert (-away <= serial.duality_gap_).all()
    assert {*np.ravel(model.solver_)} == {"gram"}
    if kind == "classes" or "class_weight" in params:
        return
    coef, intercepts = np.atleast_2d(model.coef_), model.intercept_
    if "standardize" in params:
        assert np.array_equal(model.units_.sizes, serial.units_.sizes)
        assert np.array_equal(model.units_.means, serial.units_.means)
        (coef, intercepts), X = model.units_.within(coef, intercepts), serial.units_.rows(X)
    targets = y if kind == "numbers" else 2.0 * y - 1.0
    loss = get_loss(model.loss)
    mean = MeanLoss(
        as_examples(X, targets, weights), targets, weights, loss, fit_intercept=model.fit_intercept
    )
    coef, intercept = np.ravel(coef), float(intercepts[0])
    duals = mean.balanced_slopes(mean.margins(coef), intercept)
    found = certify(mean, ElasticNet(model.l1, model.l2), coef, intercept, duals)
    assert abs(found.objective - model.objective_) <= 1e-12 * abs(found.objective)
    assert found.gap <= 1.01 * model.duality_gap_ + 1e-12


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_tiny_gaps_without_l2(client, kind):
    """The gap falls to rounding, and no warning is given."""
    X, y, _ = problem(0, 1500, kind=kind)
    model = estimators(lazynet.dask, kind, True)(l1=1e-4, l2=0.0, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(delayed_parts(parts_of(CUTS, X, y)), client=client)
    assert model.duality_gap_ <= 1e-12


@pytest.mark.parametrize(
    ("kind", "columns", "n_rows"),
    [
        ("two classes", 10, 1500),
        ("classes", newton._MOST_COLUMNS, 1500),
        ("numbers", newton._MOST_COLUMNS, 1500),
        ("weights", newton._MOST_COLUMNS, 2 * LEAST_SAMPLE),
    ],
)
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_any_number_of_workers_gives_the_same_bits(clients, monkeypatch, kind, columns, n_rows):
    """The blocks decide the bits, by one Hessian or by parts of it, also after a sample."""
    monkeypatch.setattr(newton, "_MOST_COLUMNS", columns)
    X, y, weights = problem(1, n_rows, kind=kind)
    sampled, sample = [], sums.MeanOverBlocks.sample

    def counts(self, rows, features):
        sampled.append(len(rows))
        return sample(self, rows, features)

    monkeypatch.setattr(sums.MeanOverBlocks, "sample", counts)
    found = [
        estimators(lazynet.dask, kind, True)(l1=1e-2, l2=1e-3).fit(
            delayed_parts(parts_of(CUTS, X, y, weights)), client=client
        )
        for client in clients.values()
    ]
    assert sampled == [LEAST_SAMPLE] * (len(found) if n_rows >= 2 * LEAST_SAMPLE else 0)
    for other in found[1:]:
        assert np.array_equal(other.coef_, found[0].coef_)
        assert np.array_equal(other.intercept_, found[0].intercept_)
        assert np.array_equal(other.duality_gap_, found[0].duality_gap_)


def test_a_sample_has_the_rows_of_its_numbers(client, monkeypatch):
    """Rows and columns of every block, in order; fewer rows if they have too many values."""
    X, y, weights = problem(6, 1500, kind="weights")
    blocks = lazynet.dask.Blocks(delayed_parts(parts_of(CUTS, X, y, weights)), client=client)
    blocks.facts()
    targets = blocks.prepared(targets_of_chunk)
    rows, features = np.array([0, 4, 5, 401, 402, 1499]), np.array([0, 3, 7])
    output = sums.OutputLoss(0, get_loss("squared_error"), True, float(weights[rows].sum()))
    mean = sums.MeanOverBlocks(blocks, blocks.futures, targets, output)
    found = mean.sample(rows, features)
    assert np.array_equal(found.X.toarray(), X[rows][:, features].toarray())
    assert np.array_equal(found.y, y[rows])
    assert np.array_equal(found.weight, weights[rows])
    every = newton.AllFeatures(mean, np.arange(X.shape[1]), mean.sizes[0] / 1500)
    chosen = np.isin(np.arange(X.shape[1]), features)
    assert np.array_equal(every.sample(rows, chosen).mean.y, y[rows])
    monkeypatch.setattr(newton, "VALUES_OF_A_TASK", 7)
    n_values = int(mean.sizes[0][features].sum() / 1500 * len(rows))
    assert np.array_equal(every.sample(rows, chosen).mean.y, y[rows[:: n_values // 7 + 1]])


@pytest.mark.parametrize("over_blocks", [False, True])
def test_no_row_of_the_sample_has_weight(client, over_blocks):
    """The search begins at zero weights, on one machine and over blocks."""
    X, y, _ = problem(7, 2 * LEAST_SAMPLE)
    weights = np.ones(len(y))
    weights[sampled_rows(len(y), LEAST_SAMPLE)] = 0.0
    if over_blocks:
        parts = delayed_parts(parts_of(CUTS, X, y, weights))
        model = lazynet.dask.DualNetClassifier(l1=1e-3).fit(parts, client=client)
    else:
        model = lazynet.DualNetClassifier(l1=1e-3, random_state=0).fit(X, y, weights)
    assert model.duality_gap_ <= 1e-4 * np.log(2.0)


def test_a_killed_worker_changes_no_bit(clients, processes, monkeypatch):
    """A worker is killed during the search; its tasks are repeated on another one."""
    X, y, _ = problem(2, 3000)
    params = dict(l1=1e-4, l2=0.0, tol=1e-6)
    parts = delayed_parts(parts_of([700, 1500, 2200], X, y))
    wanted = lazynet.dask.DualNetClassifier(**params).fit(parts, client=clients[2])
    calls, answers = [], sums.MeanOverBlocks.sums

    def kills(self, ask, *arguments, **given):
        calls.append(ask)
        if len(calls) == 6:
            kill_a_worker(processes)
        return answers(self, ask, *arguments, **given)

    monkeypatch.setattr(sums.MeanOverBlocks, "sums", kills)
    model = lazynet.dask.DualNetClassifier(**params).fit(parts, client=processes)
    assert len(calls) > 6
    assert np.array_equal(model.coef_, wanted.coef_)
    assert model.duality_gap_ == wanted.duality_gap_


def test_the_hessian_is_that_of_all_rows():
    """Any division of the tree of sums into tasks gives the same bits."""
    X, y, _ = problem(3, 1000, kind="numbers")
    output = sums.OutputLoss(0, get_loss("squared_error"), True, 1000.0)
    wide = np.hstack([np.ones((1000, 1)), X.toarray()])
    wanted, n_spans = wide.T @ wide / 1000.0, 7
    features, size = np.arange(X.shape[1]), X.shape[1] + 1
    spans = []
    for rows in np.array_split(np.arange(1000), n_spans):
        spans.append([(Chunk(X[rows], y[rows], None), Columns(y[rows], None))])

    def total(method, length=8, **options):
        """The answer of all spans, from tasks of so many spans each."""
        at = sparse.csr_matrix((1, X.shape[1])), 0.0
        tasks = [spans[k : k + length] for k in range(0, n_spans, length)]
        answers = [sums._sums_of_spans(output, method, at, options, task) for task in tasks]
        return sums._tree_sum(answers)

    for n_heads in (0, 5):
        options = dict(features=features, n_heads=n_heads)
        _, found = total("gram", **options)
        # Heads are floats.
        within = dict(rtol=1e-5, atol=1e-7) if n_heads else dict(rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(sums.unpacked(found, size), wanted, **within)
        for length in (1, 2, 4):
            assert np.array_equal(total("gram", length, **options)[1], found)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_warm_start(client, standardize):
    """It goes on from the last minimum; other features are refused."""
    X, y, _ = problem(4, 1500)
    model = lazynet.dask.DualNetClassifier(l1=1e-3, warm_start=True, standardize=standardize)
    rows = lazynet.dask.Blocks(delayed_parts(parts_of(CUTS, X, y)), client=client)
    first = model.fit(rows).n_iter_
    assert model.fit(rows).n_iter_ < first
    with pytest.raises(ValueError, match="warm_start=True continues from weights of shape"):
        model.fit(delayed_parts(parts_of(CUTS, X[:, :30], y)), client=client)


def test_sizes_that_differ_are_told(client, monkeypatch):
    """As in a serial fit of all rows, with the same numbers."""
    monkeypatch.setattr(certified, "_MOST_COUNTED", 2**20)
    X, y, _ = problem(4, 1500)
    wide = sparse.hstack([X, np.full((1500, 1), 1e4)], format="csr")
    with pytest.warns(UserWarning, match=r"sizes of features .* write standardize") as serial:
        lazynet.DualNetClassifier(l1=0.1).fit(wide, y)
    parts = delayed_parts(parts_of(CUTS, wide, y))
    with pytest.warns(UserWarning, match="sizes of features") as caught:
        lazynet.dask.DualNetClassifier(l1=0.1).fit(parts, client=client)
    assert [str(w.message) for w in caught] == [str(w.message) for w in serial]


@pytest.mark.parametrize("standardize", [False, "auto"])
def test_the_default_penalty_is_that_of_a_serial_fit(client, standardize):
    X, y, _ = problem(4, 1500)
    parts, options = delayed_parts(parts_of(CUTS, X / 50, y)), dict(standardize=standardize)
    model = lazynet.dask.DualNetClassifier(**options).fit(parts, client=client)
    serial = lazynet.DualNetClassifier(**options).fit(X / 50, y)
    assert model.l1_ == model.l2_ == pytest.approx(serial.l1_)
    assert (model.l1_ < 1e-4) == (standardize is False)


@pytest.mark.parametrize(
    ("y", "weights", "params", "words"),
    [
        (np.zeros(6), None, {}, "y must have at least two classes"),
        (np.arange(6) % 2.0, np.zeros(6), {}, "must not be zero|above 0"),
        (np.arange(6) % 2.0, np.arange(6) % 2.0, {}, "above 0 for a row of every class"),
        (sparse.csr_matrix(np.eye(6)), None, {}, "y must have one class or one number"),
        (np.arange(6) % 2.0, None, {"loss": "hinge"}, "loss must be smooth over blocks"),
        (np.arange(6) % 2.0, None, {"l1": 0.0, "l2": 0.0}, "l1 and l2 must not both be 0"),
    ],
)
def test_what_cannot_be_learned_is_refused(client, y, weights, params, words):
    """The error names the argument, and the model stays as it was."""
    model = lazynet.dask.DualNetClassifier(**params)
    parts = delayed_parts(parts_of([3], sparse.csr_matrix(np.eye(6)), y, weights))
    with pytest.raises(ValueError, match=words):
        model.fit(parts, client=client)
    assert not hasattr(model, "n_features_in_")
