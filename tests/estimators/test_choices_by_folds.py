"""What every estimator that chooses by folds keeps: folds, threads, weights, copies, refusals."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from support import same_bits
from support.matrices import noisy_data as data

from lazynet import DualNetClassifierCV, LazyNetClassifierCV

pytestmark = pytest.mark.filterwarnings(
    "ignore:the best .* that was tried", "ignore:the least loss of held-out rows still fell"
)

TABLES = ("losses_", "means_", "standard_errors_", "nonzeros_", "coef_", "intercept_", "l1s_")
OF_PATHS = dict(cv=3, n_points=6, smallest=0.05, random_state=0)
OF_GRIDS = dict(l1s=[0.3, 0.03, 0.003], l2s=[0.0, 0.01], cv=3, max_iter=3, random_state=0)
#: Every way to choose: the estimator, and the options of a short run.
WAYS = {
    "paths": (DualNetClassifierCV, OF_PATHS),
    "paths of several ratios": (DualNetClassifierCV, OF_PATHS | dict(l1_ratios=(0.5, 1.0))),
    "paths that are scored": (DualNetClassifierCV, OF_PATHS | dict(scoring="accuracy")),
    "a grid": (LazyNetClassifierCV, OF_GRIDS),
    "a large grid": (LazyNetClassifierCV, OF_GRIDS | dict(l1s=np.geomspace(1, 1e-4, 20))),
    "a grid of adagrad": (LazyNetClassifierCV, OF_GRIDS | dict(rule="adagrad")),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


def made(way, **options):
    kind, few = WAYS[way]
    return kind(**few | options)


def assert_same_tables(left, right):
    for name in TABLES:
        assert same_bits(getattr(left, name), getattr(right, name)), name


@EVERY_WAY
def test_explicit_folds_as_masks_and_groups(way):
    """A number of folds is that of scikit-learn; masks are folds too; groups reach the splitter."""
    X, y = data()
    folds = list(StratifiedKFold(3).split(X, y))
    masks = [tuple(np.isin(np.arange(len(y)), side) for side in fold) for fold in folds]
    by_number, *others = (made(way, cv=cv).fit(X, y) for cv in (3, folds, masks))
    for other in others:
        assert_same_tables(other, by_number)
    groups = np.arange(len(y)) % 4
    grouped = made(way, cv=GroupKFold(4)).fit(X, y, groups=groups)
    expected = list(GroupKFold(4).split(X, y, groups))
    assert_same_tables(grouped, made(way, cv=expected).fit(X, y))


@EVERY_WAY
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_give_the_same_bits(way, n_classes):
    """One thread, two and many more than there is work for make the same model and tables."""
    X, y = data(n_classes=n_classes)
    alone = made(way).fit(X, y)
    for n_jobs in (2, 40):
        assert_same_tables(made(way, n_jobs=n_jobs).fit(X, y), alone)


@pytest.mark.parametrize("way", [way for way in WAYS if "scoring" not in WAYS[way][1]])
def test_class_weights_count_in_the_losses(way):
    """A class weight is a factor of the loss of its rows, where they are held out too."""
    X, y = data()
    folds = list(StratifiedKFold(3).split(X, y))
    by_class = made(way, cv=folds, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    assert_same_tables(by_class, made(way, cv=folds).fit(X, y, np.where(y == 1, 3.0, 1.0)))


@EVERY_WAY
def test_clones_copies_and_pickles(way):
    """A clone has the parameters only; a pickle and a copy have the tables and predict alike."""
    X, y = data()
    model = made(way).fit(X, y)
    assert str(clone(model).get_params()) == str(model.get_params())
    assert not hasattr(clone(model), "coef_")
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model)):
        assert_same_tables(twin, model)
        assert same_bits(twin.predict_proba(X), model.predict_proba(X))


REFUSED = [
    (dict(cv=1), ValueError, "cv must be at least 2"),
    (dict(cv="five"), TypeError, "cv must be a number of folds, a splitter of scikit-learn or"),
    (dict(cv=[]), ValueError, "cv must give at least one split"),
    (dict(cv=[([0, 1], [])]), ValueError, "cv must give rows to hold out, and its split 0 has"),
    (dict(cv=[([0, 1], [90])]), ValueError, "cv must give row numbers from 0 to 89; the rows to h"),
    (dict(cv=[([0.5], [1])]), ValueError, "cv must give row numbers from 0 to 89; the rows to l"),
    (dict(cv=[[0, 1, 2]]), ValueError, "its split 0 is not a pair"),
    (dict(cv=60), ValueError, "n_splits=60 cannot be greater"),
    (dict(l1s=-1.0), ValueError, "l1s must be finite and not negative"),
]


@pytest.mark.parametrize("way", ["paths", "a grid"])
@pytest.mark.parametrize(("options", "kind", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_used_is_refused(way, options, kind, message):
    """The error names the parameter, and the model stays unfitted."""
    X, y = data()
    model = made(way, **options)
    with pytest.raises(kind, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("way", ["paths", "a grid"])
def test_sides_without_weight_are_refused(way):
    """Rows to learn from and rows to hold out need weight."""
    X, y = data()
    model = made(way, cv=[(np.arange(45), np.arange(45, 90))])
    weights = np.r_[np.ones(45), np.zeros(45)]
    for given, side in ((weights, "hold out"), (weights[::-1], "learn from")):
        with pytest.raises(ValueError, match=f"rows of a weight above 0 to {side}, and its split"):
            model.fit(X, y, given)
