"""``outputs_at_once``: outputs learn one part after the other; the memory is told before."""

import pickle
import tracemalloc
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators import fitted, in_parts
from lazynet.memory import Estimate, available_bytes
from lazynet.plan import Plan

N, D, L = 150, 60, 70
OPTIONS = dict(max_iter=3, tol=None, random_state=0, l1=1e-4)
MODELS = {
    "adagrad": {}, "fobos": dict(eta0=0.3), "sgd": dict(rule="sgd", eta0=0.3),
    "rda": dict(rule="rda"), "ftrl": dict(rule="ftrl"),
    "average": dict(eta0=0.3, average=True), "from data": dict(rule="fobos"),
    # So strong a shrink that weights are brought current many times.
    "swept": dict(rule="fobos", l2=0.5), "swept by a schedule": dict(eta0=0.9, l2=0.9),
    "engines each": dict(rule="truncated_gradient", eta0=0.3),
    "batches": dict(eta0=0.3, batch_size=8),
    "positive": dict(rule="fobos", eta0=0.3, positive=True),
    "in order": dict(shuffle=False), "float32": dict(dtype="float32"),
    "float32, rda": dict(rule="rda", dtype="float32"), "threads": dict(eta0=0.3, n_jobs=2),
}  # fmt: skip
EVERY_MODEL = pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))


def rows(n_rows=N, n_features=D, seed=0):
    return sparse.random(n_rows, n_features, density=0.1, format="csr", random_state=seed)


def labels(n_labels=L, n_rows=N):
    return np.random.default_rng(1).integers(0, 2, (n_rows, n_labels))


def dense(weights):
    return weights.toarray() if sparse.issparse(weights) else weights


def assert_the_same_bits(one, other):
    """Weights, averages, intercepts, and what they predict."""
    assert type(one.coef_) is type(other.coef_)
    np.testing.assert_array_equal(dense(one.coef_), dense(other.coef_))
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.last_coef_, other.last_coef_)
    np.testing.assert_array_equal(one.last_intercept_, other.last_intercept_)
    assert (one.t_, one.n_iter_, one.best_epoch_) == (other.t_, other.n_iter_, other.best_epoch_)
    assert (one.l1_, one.eta0_) == (other.l1_, other.eta0_)
    for left, right in zip(one.history_, other.history_, strict=True):
        assert left.keys() - {"validation_score"} == right.keys() - {"validation_score"}
        assert left["progressive_loss"] == pytest.approx(right["progressive_loss"], rel=1e-12)


# --- the same bits ----------------------------------------------------------------------------


@EVERY_MODEL
@pytest.mark.parametrize("at_once", [1, 3, 32, 40])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_labels_in_parts_have_the_same_bits(options, at_once, form):
    """Whatever the size of a part, the form of y, the rule and the type of the weights."""
    X, Y = rows(), form(labels())
    together = LazyNetClassifier(**{**OPTIONS, **options}).fit(X, Y)
    parts = clone(together).set_params(outputs_at_once=at_once).fit(X, Y)
    assert_the_same_bits(parts, together)
    np.testing.assert_array_equal(dense(parts.predict(X)), dense(together.predict(X)))
    np.testing.assert_array_equal(parts.predict_top(X, 3)[1], together.predict_top(X, 3)[1])


@EVERY_MODEL
@pytest.mark.parametrize("at_once", [1, 4, 35])
def test_classes_in_parts_have_the_same_bits(options, at_once):
    """One against the rest."""
    X, y = rows(), np.arange(N) % 37
    together = LazyNetClassifier(**{**OPTIONS, **options}).fit(X, y)
    parts = clone(together).set_params(outputs_at_once=at_once).fit(X, y)
    assert_the_same_bits(parts, together)
    np.testing.assert_array_equal(parts.predict_proba(X), together.predict_proba(X))


@EVERY_MODEL
@pytest.mark.parametrize("at_once", [1, 5, 33])
def test_targets_in_parts_have_the_same_bits(options, at_once):
    """A column of numbers per target."""
    X = rows()
    Y = X @ np.random.default_rng(0).standard_normal((D, 37))
    together = LazyNetRegressor(**{**OPTIONS, **options}).fit(X, Y)
    parts = clone(together).set_params(outputs_at_once=at_once).fit(X, Y)
    assert_the_same_bits(parts, together)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_units_have_the_same_bits(form):
    """Features that are learned in units of their own, with an intercept that is moved."""
    X = rows(700, 6).toarray() + 5.0
    Y = X @ np.random.default_rng(0).standard_normal((6, 40)) > 0
    Y = Y.astype(int) if form == "dense" else sparse.csr_matrix(Y, dtype=int)
    options = dict(tol=None, max_iter=3, random_state=0)
    together = LazyNetClassifier(**options).fit(X, Y)
    assert together.units_ is not None
    parts = LazyNetClassifier(**options, outputs_at_once=16).fit(X, Y)
    assert_the_same_bits(parts, together)
    again = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(again.decision_function(X), together.decision_function(X))


def test_a_generator_of_the_user_ends_where_it_would_end():
    """The next fit with the same generator gets the same orders."""
    X, Y = rows(), labels()
    ends = []
    for at_once in (None, 20):
        generator = np.random.RandomState(3)
        options = {**OPTIONS, "random_state": generator, "outputs_at_once": at_once}
        LazyNetClassifier(**options).fit(X, Y)
        ends.append(generator.randint(2**31))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("name", ["adagrad", "fobos", "rda"])
def test_another_order_for_the_second_part_is_caught(name, monkeypatch):
    """Parts that share one generator would visit the rows in different orders."""
    X, Y = rows(), labels()
    together = LazyNetClassifier(**OPTIONS, **MODELS[name]).fit(X, Y)
    monkeypatch.setattr(in_parts.copy, "deepcopy", lambda generator: generator)
    parts = LazyNetClassifier(**OPTIONS, **MODELS[name], outputs_at_once=32).fit(X, Y)
    np.testing.assert_array_equal(parts.coef_[:32], together.coef_[:32])
    with pytest.raises(AssertionError):
        assert_the_same_bits(parts, together)


def test_parts_that_cut_a_block_of_clocks_are_caught(monkeypatch):
    """Clocks that are swept together must stay together: this is why parts are rounded."""
    X, Y = rows(), labels()
    options = {**OPTIONS, **MODELS["swept"], "max_iter": 40}
    together = LazyNetClassifier(**options).fit(X, Y)
    parts = LazyNetClassifier(**options, outputs_at_once=20).fit(X, Y)
    assert_the_same_bits(parts, together)
    monkeypatch.setattr(Plan, "at_once", lambda plan, wanted, n_outputs: wanted)
    parts.fit(X, Y)
    with pytest.raises(AssertionError):
        assert_the_same_bits(parts, together)


def test_weights_to_start_from_are_divided():
    """coef_init and intercept_init, an array or a sparse matrix; wrong shapes are refused."""
    X, Y = rows(), labels()
    start = np.random.default_rng(2).standard_normal((L, D)) * (np.arange(D) % 3 == 0)
    offsets = np.linspace(-1, 1, L)
    together, parts, given_sparse = (
        LazyNetClassifier(**OPTIONS, outputs_at_once=at_once).fit(
            X, Y, coef_init=form(start), intercept_init=offsets
        )
        for at_once, form in ((None, np.asarray), (9, np.asarray), (9, sparse.csr_matrix))
    )
    assert_the_same_bits(parts, together)
    assert_the_same_bits(given_sparse, together)
    model = LazyNetClassifier(**OPTIONS, outputs_at_once=9)
    for name, wrong in (("coef_init", start[:, :5]), ("intercept_init", offsets[:5])):
        with pytest.raises(ValueError, match=f"{name} must have the shape"):
            model.fit(X, Y, **{name: wrong})


# --- epochs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("early_stopping", [False, True])
def test_every_part_stops_by_its_own_losses(early_stopping):
    """A part learns as its outputs alone; the history is the sum, of best epochs at its end."""
    X = rows(600)
    truth = np.random.default_rng(0).standard_normal((D, 24)) * (np.arange(24) < 12)
    Y = (X @ truth + 0.1 * np.random.default_rng(1).standard_normal((600, 24)) > 0).astype(int)
    options = dict(l1=1e-4, max_iter=40, tol=0.02, n_iter_no_change=2, random_state=0)
    options["early_stopping"] = early_stopping
    model = LazyNetClassifier(**options, outputs_at_once=12).fit(X, Y)
    alone = [LazyNetClassifier(**options).fit(X, Y[:, part]) for part in (range(12), range(12, 24))]
    assert alone[0].n_iter_ != alone[1].n_iter_
    np.testing.assert_array_equal(model.coef_, np.vstack([each.coef_ for each in alone]))
    assert model.n_iter_ == max(each.n_iter_ for each in alone) == len(model.history_)
    assert model.best_epoch_ == max(each.best_epoch_ for each in alone)
    assert model.t_ == max(each.t_ for each in alone)
    judged = "validation_loss" if early_stopping else "progressive_loss"
    for number, line in enumerate(model.history_):
        assert line["epoch"] == number
        assert "validation_score" not in line
        expected = [
            each.history_[number if number < each.n_iter_ else each.best_epoch_][judged]
            for each in alone
        ]
        assert line[judged] == pytest.approx(sum(expected), rel=1e-12)


def test_early_stopping_of_classes_and_targets():
    """The rows that are held out are the same for every part."""
    X, y = rows(), np.arange(N) % 5
    options = {**OPTIONS, "early_stopping": True, "record_objective": True}
    for model, targets in (
        (LazyNetClassifier(**options), y),
        (LazyNetRegressor(**options), np.eye(5)[y]),
    ):
        parts = clone(model).set_params(outputs_at_once=2).fit(X, targets)
        together = model.fit(X, targets)
        assert_the_same_bits(parts, together) if together.best_epoch_ == 2 else None
        for left, right in zip(parts.history_, together.history_, strict=True):
            for name in ("validation_loss", "objective", "mean_loss", "nonzeros"):
                assert left[name] == pytest.approx(right[name], rel=1e-9)


def test_a_callback_sees_every_part():
    """It is told which outputs learn, sees their weights, and ends the part."""
    X, Y = rows(), labels(10)
    seen = []

    def callback(epoch):
        seen.append((epoch.outputs, epoch.epoch, epoch.coef.shape))
        return epoch.epoch == 1

    model = LazyNetClassifier(**OPTIONS, outputs_at_once=6).fit(X, Y, callback=callback)
    parts = ((range(6), (6, D)), (range(6, 10), (4, D)))
    assert seen == [(part, epoch, shape) for part, shape in parts for epoch in (0, 1)]
    assert model.n_iter_ == 2
    LazyNetClassifier(**OPTIONS).fit(X, Y, callback=lambda epoch: seen.append(epoch.outputs))
    assert seen[-1] == range(10)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_an_error_in_a_later_part_leaves_the_estimator(error):
    """Weights, history and the generator of the user are those from before the call."""
    X, Y = rows(), labels(10)
    generator = np.random.RandomState(0)
    model = LazyNetClassifier(**{**OPTIONS, "random_state": generator}, outputs_at_once=4)
    model.fit(X, Y)
    before = pickle.dumps((model.coef_, model.intercept_, model.history_, generator.get_state()))

    def fail(epoch):
        if epoch.outputs.start == 8 and epoch.epoch == 1:
            raise error("in the last part")

    with pytest.raises(error):
        model.fit(X[:, ::-1], 1 - Y, callback=fail)
    after = pickle.dumps((model.coef_, model.intercept_, model.history_, generator.get_state()))
    assert after == before
    fresh = LazyNetClassifier(**OPTIONS, outputs_at_once=4)
    with pytest.raises(error):
        fresh.fit(X, Y, callback=fail)
    assert not hasattr(fresh, "classes_")
    assert not hasattr(fresh, "history_")


def test_an_overflow_of_a_later_part_is_refused():
    """The second part has huge targets."""
    X, Y = rows(), np.ones((N, 4))
    Y[:, 2:] = 1e300
    model = LazyNetRegressor(eta0=1e5, l1=0.0, max_iter=5, tol=None, outputs_at_once=2)
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, Y)
    assert not hasattr(model, "history_")


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(multi_class="multinomial"), "does not go with multi_class='multinomial'"),
        (dict(group="l2", eta0=0.1), "does not go with group='l2', which lets all 5 outputs"),
    ],
    ids=str,
)
def test_outputs_that_are_coupled_learn_together(options, message):
    """A part of them is refused by name; all of them are no part."""
    X, y = rows(), np.arange(N) % 5
    model = LazyNetClassifier(**OPTIONS, **options, outputs_at_once=4)
    with pytest.raises(ValueError, match=f"outputs_at_once=4 {message}"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")
    together = clone(model).set_params(outputs_at_once=None).fit(X, y)
    np.testing.assert_array_equal(
        model.set_params(outputs_at_once=5).fit(X, y).coef_, together.coef_
    )


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_numbers_that_are_refused(kind, wrong):
    """By name, before anything is trained."""
    with pytest.raises((TypeError, ValueError), match="outputs_at_once must be"):
        kind(outputs_at_once=wrong).fit(rows(), np.arange(N) % 2)


def test_one_output_is_no_part():
    """Two classes, and a y of numbers, are one output."""
    X = rows()
    for model in (LazyNetClassifier(**OPTIONS), LazyNetRegressor(**OPTIONS)):
        single = clone(model).set_params(outputs_at_once=1).fit(X, np.arange(N) % 2)
        assert_the_same_bits(single, model.fit(X, np.arange(N) % 2))
        single.partial_fit(X, np.arange(N) % 2)


def test_what_needs_the_engines_of_all_outputs():
    """partial_fit and warm_start say what to write, and leave the model as it was."""
    X, Y = rows(), labels(10)
    model = LazyNetClassifier(**OPTIONS, outputs_at_once=4)
    with pytest.raises(ValueError, match="outputs_at_once=4 is for fit: partial_fit"):
        model.partial_fit(X, Y)
    model.fit(X, Y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="partial_fit goes on from the engines of all outputs"):
        model.partial_fit(X, Y)
    model.set_params(warm_start=True)
    with pytest.raises(ValueError, match="warm_start=True goes on from the engines"):
        model.fit(X, Y)
    model.set_params(outputs_at_once=None)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"assign model\.coef_ = model\.coef_"):
            call(X, Y)
    np.testing.assert_array_equal(model.coef_, before)
    model.coef_ = model.coef_
    np.testing.assert_array_equal(model.coef_, before)
    assert model.partial_fit(X, Y).t_ == 4 * N
    assert model.fit(X, Y).t_ == 3 * N
    with pytest.raises(ValueError, match="outputs_at_once=4 does not go with warm_start=True"):
        model.set_params(outputs_at_once=4).fit(X, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_model_can_be_used_as_any_other(form):
    """Pickles, copies, sparsify, densify, assigned intercepts, few columns to predict from."""
    X, Y = rows(), form(labels(10))
    together = LazyNetClassifier(**OPTIONS, average=True, eta0=0.3).fit(X, Y)
    model = clone(together).set_params(outputs_at_once=4).fit(X, Y)
    for other in (pickle.loads(pickle.dumps(model)), model.sparsify(), model.densify()):
        np.testing.assert_array_equal(dense(other.coef_), dense(together.coef_))
        np.testing.assert_array_equal(
            other.decision_function(X[:1]), together.decision_function(X[:1])
        )
        np.testing.assert_array_equal(other.support_, together.support_)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    model.intercept_ = np.arange(10.0)
    np.testing.assert_array_equal(model.intercept_, np.arange(10.0))


# --- memory -----------------------------------------------------------------------------------


def test_the_engines_of_a_part_are_gone_before_the_next_begins(monkeypatch):
    """Nothing holds the engines of a part that is done, with best epochs and held out rows too."""
    X, Y = rows(), sparse.csr_matrix(labels(12))
    made, alive = [], []
    new_engines = Plan.new_engines

    def watched(plan, n_features, *sizes, **options):
        engines = new_engines(plan, n_features, *sizes, **options)
        if n_features == D:
            alive.append(sum(each() is not None for each in made))
            made.extend(weakref.ref(engine) for engine in engines)
        return engines

    monkeypatch.setattr(Plan, "new_engines", watched)
    for options in (dict(tol=None), dict(tol=1e-9), dict(early_stopping=True), dict(n_jobs=2)):
        LazyNetClassifier(max_iter=4, random_state=0, outputs_at_once=3, **options).fit(X, Y)
    assert alive == [0] * 16


def peak_of_a_fit(n_labels, at_once):
    """The most bytes that a fit holds beside what was there before; weights are few."""
    X, Y = rows(60, 8_000), sparse.csr_matrix(labels(n_labels, 60))
    model = LazyNetClassifier(
        rule="fobos", l1=1.0, eta0=0.1, max_iter=2, tol=None, random_state=0,
        outputs_at_once=at_once,
    )  # fmt: skip
    tracemalloc.start()
    model.fit(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sparse.issparse(model.coef_)
    assert model.coef_.nnz < 20 * n_labels
    return peak


def test_memory_does_not_grow_with_the_number_of_parts():
    """Four times the labels, in parts of eight, take no more; learned together, they take more.

    No array of all features and all labels is made, for the bound is far below its size.
    """
    part = 8 * 8_000 * 8
    few, many = peak_of_a_fit(16, 8), peak_of_a_fit(64, 8)
    assert part < few
    assert many < few + 0.1 * part
    assert many < 0.5 * 64 * 8_000 * 8
    assert peak_of_a_fit(64, None) > 64 * 8_000 * 8


@EVERY_MODEL
def test_the_estimate_counts_what_the_engines_hold(options, monkeypatch, capsys):
    """The bytes that are told are those of the arrays with an entry per weight."""
    X, Y = rows(), labels(20)
    held = []
    trained = in_parts.trained

    def counted(call, engines, problems):
        arrays = [array for each in engines for array in each.state().per_weight.values()]
        held.append(sum(array.nbytes for array in arrays))
        return trained(call, engines, problems)

    told = []
    check = Estimate.told
    monkeypatch.setattr(fitted, "trained", counted)
    monkeypatch.setattr(in_parts, "trained", counted)
    monkeypatch.setattr(Estimate, "told", lambda estimate: told.append(estimate) or check(estimate))
    for number, at_once in enumerate((None, 5, 1)):
        held.clear()
        model = LazyNetClassifier(**{**OPTIONS, **options}, verbose=1, outputs_at_once=at_once)
        model.fit(X, Y)
        assert told[number].weights == max(held)
    assert told[0].coef == told[0].n_outputs * D * 8
    assert capsys.readouterr().out.count("20 outputs x 60 features") == 3


def test_the_estimate_is_told_in_one_line(capsys):
    """Before the first epoch; one output is not told of."""
    X, Y = rows(), sparse.csr_matrix(labels(20))
    LazyNetClassifier(outputs_at_once=6, max_iter=2, verbose=1, random_state=0).fit(X, Y)
    first, second, third, *_ = capsys.readouterr().out.splitlines()
    assert first == (
        "20 outputs x 60 features, 4 parts of up to 6 outputs, one after the other: "
        "8.16 kB of weights in float64, 8.16 kB for the best epoch, "
        "12 bytes for a weight of coef_ that is not 0"
    )
    assert second == "outputs 1 to 6 of 20"
    assert third.startswith("epoch    1")
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
        lambda plan, n_features, *rest, **options: (
            made.append(n_features) or new_engines(plan, n_features, *rest, **options)
        ),
    )
    monkeypatch.setattr(in_parts, "available_bytes", lambda: 100_000_000)
    model = LazyNetClassifier(l1=0.1, max_iter=2, random_state=0)
    with pytest.raises(MemoryError) as refused:
        model.fit(X, Y)
    assert max(made) <= 1
    assert not hasattr(model, "classes_")
    for way in (
        "outputs_at_once",
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
    monkeypatch.setattr(in_parts, "available_bytes", lambda: 1_000_000)
    with pytest.raises(MemoryError) as refused:
        clone(model).set_params(outputs_at_once=8).fit(X, sparse.csr_matrix(Y))
    assert str(refused.value).endswith(
        "is available: take fewer features, for instance by hashing them"
    )
    monkeypatch.setattr(in_parts, "available_bytes", lambda: 100_000_000)
    model.set_params(outputs_at_once=8).fit(X, Y)
    monkeypatch.setattr(in_parts, "available_bytes", lambda: None)
    model.set_params(outputs_at_once=None, dtype="float64").fit(X, Y)


def written(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MACHINE = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n"}
GROUPS = "sys/fs/cgroup/"
V2 = {
    "proc/self/cgroup": "0::/jobs/one\n",
    GROUPS + "jobs/one/memory.max": "max\n", GROUPS + "jobs/one/memory.current": "1000\n",
    GROUPS + "jobs/memory.max": "500000\n", GROUPS + "jobs/memory.current": "300000\n",
    GROUPS + "jobs/memory.stat": "anon 1\ninactive_file 50000\n",
}  # fmt: skip
V1 = {
    "proc/self/cgroup": "3:cpu:/\n2:memory,hugetlb:/jobs\n",
    GROUPS + "memory/jobs/memory.limit_in_bytes": "9223372036854771712\n",
    GROUPS + "memory/jobs/memory.usage_in_bytes": "7\n",
    GROUPS + "memory/memory.limit_in_bytes": "400000\n",
    GROUPS + "memory/memory.usage_in_bytes": "500000\n",
    GROUPS + "memory/memory.stat": "total_inactive_file 30\n",
}


@pytest.mark.parametrize(
    ("files", "available"),
    [
        (MACHINE, 8_192_000),
        ({**MACHINE, **V2}, 250_000),
        ({**MACHINE, **V1}, 0),
        ({**MACHINE, **V2, GROUPS + "jobs/memory.max": "nonsense"}, 8_192_000),
        ({**MACHINE, "proc/self/cgroup": "0::/gone"}, 8_192_000),
    ],
    ids=["no groups", "version 2", "version 1", "unreadable", "gone"],
)
def test_the_least_limit_counts(tmp_path, files, available):
    """Of the machine and of all groups of the process; unknown limits do not count."""
    written(tmp_path, files)
    assert available_bytes(tmp_path) == available


def test_a_system_that_tells_nothing(tmp_path, monkeypatch):
    """Nothing is checked there."""
    monkeypatch.setattr("lazynet.memory.os.sysconf", _unknown, raising=False)
    assert available_bytes(tmp_path) is None


def _unknown(name):
    raise ValueError(name)


def test_the_sparse_weights_of_engines_are_their_weights():
    """Read a few features at a time, they are those of the dense array, with averages too."""
    X, Y = rows(80, 10_000), labels(9, 80)
    for options in MODELS.values():
        model = LazyNetClassifier(**{**OPTIONS, **options}).fit(X, Y)
        for engine in model._engines:
            for last in (False, True):
                found = engine.sparse_rows(last=last)
                assert found.has_sorted_indices
                assert found.nnz == np.count_nonzero(found.toarray())
                np.testing.assert_array_equal(found.toarray(), engine.rows(last=last))
