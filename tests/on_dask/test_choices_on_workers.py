"""A penalty chosen by folds over blocks has the bits of the choice in one process over them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold

pytest.importorskip("distributed")

import dask
import dask.array as da
from support.clusters import (
    NO_SHRINKING,
    assert_leaves_its_client,
    assert_same_bits,
    by_number,
    cluster_of,
    delayed_parts,
    never,
    parts_of,
)

import lazynet
import lazynet.dask
from lazynet.dask import choices, minima
from lazynet.data import as_examples
from lazynet.engines.blocks import Block, Here, MeanOverBlocks
from lazynet.engines.mean import MeanLoss
from lazynet.estimators.chosen_rows import summed_loss
from lazynet.losses import get_loss
from lazynet.paths import Grid, follow

pytestmark = pytest.mark.filterwarnings("ignore")

#: What a choice leaves behind.
LEFT = [
    "coef_", "intercept_", "losses_", "means_", "standard_errors_", "nonzeros_", "l1s_", "l2s_",
    "l1_", "l2_", "l1_ratio_", "best_index_", "one_standard_error_index_", "objective_",
    "dual_objective_", "duality_gap_", "n_iter_",
]  # fmt: skip


def rows(kind, seed=0, n_rows=240, n_features=12):
    """Sparse rows, and y of a kind."""
    X = sparse.random(n_rows, n_features, density=0.3, format="csr", random_state=seed)
    random = np.random.default_rng(seed)
    numbers = X @ random.standard_normal(n_features) + 0.3 * random.standard_normal(n_rows)
    cuts = [-0.3, 0.3] if kind == "classes" else [0.0]
    return X, numbers if kind == "numbers" else np.digitize(numbers, cuts).astype(float)


def assert_same_choice(model, wanted):
    """Two fits have the same bits."""
    assert_same_bits(model, wanted, LEFT)


# --- the same choice without workers -------------------------------------------------------------


class MinimiserHere(minima.MinimiserOnBlocks):
    """The search over blocks of rows in this process, each a matrix of its own."""

    def __init__(self, blocks, loss, fit_intercept, seed, at_once):
        self.blocks = blocks
        y, s = (np.concatenate([block[k] for block in blocks]) for k in (1, 2))
        norms = [as_examples(X).squared_norms() for X, *_ in blocks]
        told = SimpleNamespace(
            held=blocks, n_columns=blocks[0][0].shape[1], n_values=sum(X.nnz for X, *_ in blocks),
            lengths=[len(each) for each in norms], squared_norms=np.concatenate(norms),
            targets_of=lambda problem: y, importances=s,
        )  # fmt: skip
        generator = np.random.RandomState(seed)
        super().__init__(told, 0, loss, fit_intercept, generator, at_once=at_once)

    def _over_blocks(self, penalty):
        options = dict(fit_intercept=self._fits_intercept, total=1.0 / self._share)
        means = [
            MeanLoss(as_examples(X, y, s), y, s, self._loss, **options) for X, y, s in self.blocks
        ]
        return MeanOverBlocks(
            Here([Block(k, mean, penalty) for k, mean in enumerate(means)]),
            loss=self._loss, fit_intercept=self._fits_intercept, share=self._share,
            n_rows=[mean.n_rows for mean in means], n_columns=self._rows.n_columns,
        )  # fmt: skip


def in_turn_or_at_once(blocks, loss, fit_intercept, seed, n_models):
    """The search as it goes over these blocks beside ``n_models`` in all."""
    at_once = minima.goes_at_once(len(blocks), n_models)
    return MinimiserHere(blocks, loss, fit_intercept, seed, at_once)


def side(parts, targets, importances, n_folds, number, held_out):
    """The blocks of the rows that a fold holds out, or learns from; none of them is empty."""
    found, first = [], 0
    for X, *_ in parts:
        n = X.shape[0]
        numbers = np.arange(first, first + n)
        some = np.flatnonzero((numbers % n_folds == number) == held_out)
        if len(some):
            found.append((X[some], targets[numbers[some]], importances[numbers[some]]))
        first += n
    return found


def choice_here(parts, targets, importances, loss, params):
    """Tables, index and last minima of the choice; ``targets`` has a row for every problem."""
    n_folds, n_points, fits_intercept = params["cv"], params["n_points"], params["fit_intercept"]
    ratios, n_problems = params["l1_ratios"], len(targets)
    options = {"tol": 1e-4, "max_iter": params["max_iter"]}
    loss = get_loss(loss)
    shape = n_problems, 1 + len(ratios) * n_folds
    seeds = np.random.RandomState(params["random_state"]).randint(2**31, size=shape).tolist()
    whole = [side(parts, y, importances, 1, 1, False) for y in targets]
    everything = [
        in_turn_or_at_once(blocks, loss, fits_intercept, own[0], n_problems)
        for blocks, own in zip(whole, seeds, strict=True)
    ]
    largest = max(each.largest_l1 for each in everything)
    grids = [Grid(ratio, None, None, n_points, 1e-2).at(largest) for ratio in ratios]
    losses = np.zeros((len(ratios), n_points, n_folds))
    nonzeros = np.zeros(losses.shape, np.int64)
    for ratio, way in enumerate(grids):
        for fold in range(n_folds):
            for problem, y in enumerate(targets):
                kept, out = (side(parts, y, importances, n_folds, fold, h) for h in (False, True))
                seed = seeds[problem][1 + ratio * n_folds + fold]
                n_models = n_problems * n_folds * len(ratios)
                search = in_turn_or_at_once(kept, loss, fits_intercept, seed, n_models)
                total = np.arange(len(y)) % n_folds == fold
                for point, minimum in enumerate(follow(search, *way, **options)):
                    sums = [
                        summed_loss(loss, X @ minimum.coef + minimum.intercept, target, s)
                        for X, target, s in out
                    ]
                    mean = sum(sums) / float(importances[total].sum())
                    losses[ratio, point, fold] += mean / n_problems
                    nonzeros[ratio, point, fold] += np.count_nonzero(minimum.coef)
    weights = [
        importances[np.arange(len(importances)) % n_folds == k].sum() for k in range(n_folds)
    ]
    means = np.average(losses, axis=-1, weights=weights)
    ratio, point = np.unravel_index(means.argmin(), means.shape)
    last = []
    for search in everything:
        *_, minimum = follow(search, *(each[: point + 1] for each in grids[ratio]), **options)
        last.append(minimum)
    return losses, nonzeros, (ratio, point), last


@settings(max_examples=4, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(0, 240), max_size=9),
    st.sampled_from([1, 2]),
    st.sampled_from(["two classes", "classes", "weights", "numbers"]),
    st.integers(2, 3),
    st.sampled_from([(1.0,), (0.5, 1.0)]),
    st.booleans(),
)
def test_any_partition_and_any_workers(
    clients, seed, cuts, n_workers, kind, cv, ratios, fit_intercept
):
    """Folds of matrices of their own in this process, and chosen rows of blocks on workers."""
    X, y = rows(kind, seed)
    weights = np.linspace(0.5, 2.0, len(y)) if kind == "weights" else None
    parts = parts_of(cuts, X, y, weights)
    params = dict(
        cv=cv, n_points=2, max_iter=2, l1_ratios=ratios, fit_intercept=fit_intercept, random_state=7
    )
    name = "DualNetRegressorCV" if kind == "numbers" else "DualNetClassifierCV"
    model = getattr(lazynet.dask, name)(**params, client=clients[n_workers])
    model.fit(delayed_parts(parts))
    targets, loss = [y], "squared_error"
    if kind != "numbers":
        positives = [0, 1, 2] if kind == "classes" else [1]
        targets, loss = [np.where(y == one, 1.0, -1.0) for one in positives], "log_loss"
    importances = np.ones(len(y)) if weights is None else weights
    losses, nonzeros, best, last = choice_here(parts, targets, importances, loss, params)
    assert np.array_equal(model.losses_, losses)
    assert np.array_equal(model.nonzeros_, nonzeros)
    assert model.best_index_ == best
    assert np.array_equal(np.atleast_2d(model.coef_), [minimum.coef for minimum in last])
    assert np.array_equal(model.intercept_, [minimum.intercept for minimum in last])
    assert np.array_equal(np.ravel(model.duality_gap_), [minimum.gap for minimum in last])


# --- beside the serial estimator -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_losses_are_those_of_the_serial_choice(clients, kind):
    """The serial choice by the same folds goes to the same minima, by other steps.

    The objective is l2-strongly convex: within a gap g of the minimum, weights are at most
    sqrt(2 g / l2) from it, and the mean loss changes by at most that times the length of a row and
    the steepest slope.
    """
    X, y = rows(kind, n_rows=120)
    name = "DualNetRegressorCV" if kind == "numbers" else "DualNetClassifierCV"
    params = dict(l1_ratios=(0.2,), n_points=2, smallest=0.5, tol=1e-5, fit_intercept=False)
    model = getattr(lazynet.dask, name)(**params, cv=2, random_state=0, client=clients[2])
    model.fit(delayed_parts(parts_of([50], X, y)))
    wanted = getattr(lazynet, name)(**params, cv=by_number(len(y), 2), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.l1s_, wanted.l1s_, rtol=1e-12)
    at_zero = 0.5 * np.mean(y**2) if kind == "numbers" else np.log(2)
    gap = params["tol"] * max(0.5 * np.max(y**2), at_zero)
    longest = np.sqrt(X.multiply(X).sum(axis=1).max())
    steepest = np.abs(y).max() + longest * np.abs(wanted.coef_).sum() if kind == "numbers" else 1.0
    bounds = 2.0 * np.sqrt(2.0 * gap / model.l2s_) * longest * steepest
    assert (np.abs(model.losses_ - wanted.losses_) <= bounds[..., None]).all()
    assert model.best_index_ == wanted.best_index_
    assert model.duality_gap_ <= params["tol"] * at_zero


def test_scorers_are_told_the_decisions_on_rows_held_out(clients):
    """The score of probabilities is the mean loss of the rows that are held out, by weight."""
    X, y = rows("two classes", n_rows=90)
    weights = np.linspace(0.5, 2.0, len(y))
    params = dict(n_points=2, max_iter=2, cv=2, random_state=0, smallest=0.1, client=clients[2])
    parts = delayed_parts(parts_of([50], X, y, weights))
    model = lazynet.dask.DualNetClassifierCV(**params, scoring="neg_log_loss").fit(parts)
    np.testing.assert_allclose(model.scores_, -model.losses_, rtol=1e-12)
    np.testing.assert_allclose(model.means_, np.average(model.scores_, axis=-1, weights=[
        weights[np.arange(90) % 2 == fold].sum() for fold in range(2)
    ]))  # fmt: skip
    assert model.best_index_ == np.unravel_index(model.means_.argmax(), model.means_.shape)
    assert lazynet.dask.DualNetClassifierCV(**params).fit(parts).scores_ is None


def test_a_scorer_judges_the_models_of_all_classes_together(clients):
    """The share of right classes is that of the serial choice, at minima that hardly differ."""
    X, y = rows("classes", n_rows=120)
    params = dict(
        l1_ratios=(0.5,), n_points=2, smallest=0.2, tol=1e-5, fit_intercept=False, random_state=0,
        scoring=make_scorer(accuracy_score),
    )  # fmt: skip
    model = lazynet.dask.DualNetClassifierCV(**params, cv=2, client=clients[2])
    model.fit(delayed_parts(parts_of([50], X, y)))
    wanted = lazynet.DualNetClassifierCV(**params, cv=by_number(120, 2)).fit(X, y)
    assert np.array_equal(model.scores_, wanted.scores_)
    assert model.scores_.max() > 0.5
    assert model.best_index_ == wanted.best_index_


# --- what breaks ---------------------------------------------------------------------------------


def test_a_lost_client_goes_on_from_its_checkpoint(clients, tmp_path, monkeypatch):
    """The same call takes the paths that are done from the file, with the same bits."""
    X, y = rows("two classes", n_rows=90)
    parts = delayed_parts(parts_of([30, 50], X, y))
    params = dict(n_points=2, max_iter=2, cv=2, random_state=0, client=clients[2])
    wanted = lazynet.dask.DualNetClassifierCV(**params).fit(parts)
    path, judged, original = tmp_path / "run.lazy", [], choices._FoldOnBlocks.losses

    def stops(self, handles):
        judged.append(self.fold.test[0])
        if len(judged) == 2:
            raise ConnectionError("the client is gone")
        return original(self, handles)

    monkeypatch.setattr(choices._FoldOnBlocks, "losses", stops)
    with monkeypatch.context() as patch:
        # One fold after the other: the first is done when the second begins.
        patch.setattr("lazynet.estimators.chosen_net.effective_n_jobs", lambda _: 1)
        with pytest.raises(ConnectionError):
            lazynet.dask.DualNetClassifierCV(**params).fit(parts, checkpoint=path, every=0.0)
    assert path.exists()
    model = lazynet.dask.DualNetClassifierCV(**params)
    with pytest.raises(ValueError, match="another call of fit"):
        clone(model).set_params(cv=3).fit(parts, checkpoint=path)
    model.fit(parts, checkpoint=path, every=0.0)
    assert judged == [0, 1, 1]
    assert_same_choice(model, wanted)
    assert not path.exists()


def test_a_worker_that_leaves_changes_no_bit(monkeypatch):
    """What it held is made again on the other one."""
    X, y = rows("two classes", n_rows=120)
    parts = delayed_parts(parts_of([30, 80], X, y))
    params = dict(n_points=2, max_iter=2, cv=2, random_state=0)
    original = choices._FoldOnBlocks.judged
    with cluster_of(2) as client:
        wanted = lazynet.dask.DualNetClassifierCV(**params, client=client).fit(parts)

        def leaves(self, *given):
            found = original(self, *given)
            workers = client.scheduler_info(n_workers=-1)["workers"]
            if len(workers) == 2:
                client.retire_workers([self.rows.rows.ring.owners()[0]], close_workers=True)
            return found

        monkeypatch.setattr(choices._FoldOnBlocks, "judged", leaves)
        model = lazynet.dask.DualNetClassifierCV(**params, client=client).fit(parts)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 1
    assert_same_choice(model, wanted)


def test_dask_arrays_and_models_without_a_client(clients, tmp_path):
    """Rows in Dask arrays; lazy predictions; copies, pickles and files are serial models."""
    X, y = rows("classes", n_rows=90)
    lazy = da.concatenate(
        [
            da.from_delayed(dask.delayed(X[start : start + 30]), (30, 12), float, meta=X[:0])
            for start in range(0, 90, 30)
        ]
    )
    model = lazynet.dask.DualNetClassifierCV(
        n_points=2, max_iter=2, cv=2, random_state=0, one_standard_error=True, client=clients[2]
    )
    model.fit(lazy, da.from_array(y, chunks=30))
    assert model.coef_.shape == (3, 12)
    assert model.classes_.tolist() == [0.0, 1.0, 2.0]
    found = clients[2].compute(model.predict_proba(lazy)).result()
    assert np.array_equal(found, model.predict_proba(X))
    assert_leaves_its_client(model, lazynet.DualNetClassifierCV, X, LEFT, tmp_path / "model")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (dict(cv=None), "cv must be a number of folds where X is blocks"),
        (dict(cv=KFold(3)), "cv must be a number of folds where X is blocks"),
        (dict(cv=[([0, 1], [2])]), "cv must be a number of folds where X is blocks"),
        (dict(scoring=lambda model, X, y: 0.0), "scoring must be None, a name, or a scorer of"),
        (dict(l1_ratios=0.0), "l1_ratios"),
    ],
)
def test_parameters_are_refused_before_a_block_is_made(clients, params, words):
    """The error names the parameter, and no block has been asked for."""
    model = lazynet.dask.DualNetClassifierCV(**params, client=clients[1])
    with pytest.raises(ValueError, match=words):
        model.fit([dask.delayed(never)()])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("y", "weights", "cv", "words"),
    [
        (np.zeros(6), None, 3, "y must have at least two classes"),
        (np.arange(6) % 2.0, None, 7, "cv must be at most the number of rows, 6, got 7"),
        (np.arange(6) % 2.0, None, 2, "rows of every class .* split 0 has none of 0.0"),
        (np.arange(6) % 2.0, np.eye(6)[0], 3, "above 0 for a row of every class"),
        (np.arange(6) % 2.0, np.array([1.0, 1, 1, 1, 0, 0]), 5, "to hold out, .* split 4"),
        (sparse.csr_matrix(np.eye(6)), None, 3, "y must have one class or one number"),
    ],
)
def test_folds_that_cannot_be_judged_are_refused(clients, y, weights, cv, words):
    """As the serial estimator refuses them, and the model stays as it was."""
    model = lazynet.dask.DualNetClassifierCV(cv=cv, client=clients[1])
    with pytest.raises(ValueError, match=words):
        model.fit(delayed_parts(parts_of([3], sparse.csr_matrix(np.eye(6)), y, weights)))
    assert not hasattr(model, "n_features_in_")
