"""Stabilised truncated SGD as an estimator: sparse models that choose the same features again."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, columns_with_values
from lazynet.data.targets import Targets
from lazynet.engines.base import LOWER_ETA0
from lazynet.engines.stabilised import Bursts, Data, Permutations, StabilisedEngine, Stages
from lazynet.estimators.base import helpful
from lazynet.estimators.staged import StagedClassifier
from lazynet.losses import LOSS, LossLike
from lazynet.parameters import Choice, Number, table
from lazynet.schedules import InverseSqrt
from lazynet.training.make_plan import suitable_rate
from lazynet.training.random_state import new_generator

_GRAVITIES = ("universal", "informative")
# With a bounded slope no step can diverge, and short steps leave the margins small for long.
_LONG_STEPS = 8.0


class StabilisedSGDClassifier(StagedClassifier):
    """Linear classification by SGD that keeps the features which survive truncation every time.

    Ma & Zheng's stabilised truncated SGD (2017): several paths of SGD visit the rows in
    permutations of their own.  After every burst of steps, gravity pulls the weights towards zero,
    far enough to set a given share of the weights to zero; after a stage of bursts, features that
    survived too few of the bursts informing them are purged for good.  The model is the mean of the
    paths.  A burst costs the nonzeros of its rows, for any number of features.  Several classes
    are trained one against the rest.  The rate of step t is ``eta0 / sqrt(t + 1)``.

    The algorithm is reconstructed from the text of the paper, with its Theta = 0.5 and nu = 1.  One
    default is not the paper's: the truncation is that of its Algorithm 1, see ``gravity``.  The
    program that its authors released computes another algorithm,
    :class:`ReleasedStabilisedSGDClassifier`, and has defaults of its own.  The page of
    ``python -m paper_repro stability`` compares both.

    Parameters
    ----------
    loss : str or object, default="hinge"
        Any loss of :class:`LazyNetClassifier`; the paper has "hinge" and "log_loss".
    n_paths : int, default=4
        Number of paths (M).
    max_iter : int, default=20
        Epochs of every path; the end of the last epoch cuts the last stage short.
    burst_size : int, default=1000
        Steps of a burst in the first stage (K0).  In later stages a burst has
        ``ceil(burst_size * log(2 p / d))`` steps, where d of p features are left.
    bursts_per_stage : int, default=5
        Bursts of every path between two judgements (n_K).
    rejection_rate : float, default=0.3
        Share of the informed weights that a truncation sets to zero while all features are left
        (beta0), less than 1.  A higher rate gives sparser models.
    annealing : float, default=-9.0
        How the rejected share falls as features are purged (gamma), from -20 to 20: at 0 in
        proportion to the share of features left, below 0 later, above 0 sooner.
    stability : float, default=0.7
        Share of the bursts informing it that a feature must survive to be kept (pi0).
    gravity : {"universal", "informative"}, default="universal"
        Truncate all weights by the same amount (Algorithm 1), or each weight by how often it was
        informed in the burst (Algorithm 2, which the paper's Algorithms 3 and 4 use).  With
        "informative" the reconstruction truncates frequent features first, and predicts badly
        unless ``rejection_rate`` is small.
    eta0 : float or None, default=None
        Scale of the rates.  None: 8 / (c * |x|^2), c the largest curvature of the loss (1 where the
        loss has kinks) and |x|^2 the median squared norm of the rows, with the intercept's 1; or
        1 / (c * max s|x|^2), s the importance of the row, where the loss has an unbounded slope.
    random_state : int, RandomState or None, default=None
        Seed of the permutations.
    n_jobs : int or None, default=None
        Threads that share the paths, -1: one per processor.  No number of them changes the model.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,), or n_classes rows
        The means of the paths' weights and intercepts.
    classes_, support_, stable_ : ndarray
        The labels, sorted; where ``coef_`` is not zero; the features that were never purged.
    selection_frequency_ : ndarray, of the shape of ``coef_``
        When a feature was last judged, the share of the bursts informing it that it had survived;
        NaN for a feature that was never judged.
    trace_ : list of dict
        Per stage: ``problem`` (row of ``coef_``), ``stage``, ``steps`` of each path so far,
        ``rejection_rate``, ``realised_rate``, ``gravity`` (None in the first stage, where each
        burst has its own gravity), ``burst_size``, ``n_stable``, and ``purged``, the features that
        the stage purged.
    eta0_, n_iter_ : float, int
        The scale of the rates, and the epochs of every path, rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import StabilisedSGDClassifier
    >>> X = sparse.random(2000, 500, density=0.05, format="csr", random_state=0)
    >>> y = np.asarray(X[:, :5].sum(axis=1) - X[:, 5:10].sum(axis=1)).ravel() > 0
    >>> model = StabilisedSGDClassifier(rejection_rate=0.8, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.support_[0])
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    """

    _kinds = table(
        loss=LOSS,
        **StagedClassifier._kinds,
        **Bursts.of_estimators(),
        gravity=Choice(accepted=_GRAVITIES),
        eta0=Number(above=0, optional=True),
    )
    _advice = LOWER_ETA0

    @helpful
    def __init__(
        self,
        loss: LossLike = "hinge",
        *,
        n_paths: int = 4,
        max_iter: int = 20,
        burst_size: int = 1000,
        bursts_per_stage: int = 5,
        rejection_rate: float = 0.3,
        annealing: float = -9.0,
        stability: float = 0.7,
        gravity: str = "universal",
        eta0: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    def _choose_rates(self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Targets) -> None:
        p.eta0 = self.eta0_ = _scale_of_rates(p, X, problems.importances)

    def _new_engines(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Targets
    ) -> Iterator[StabilisedEngine]:
        """An engine for every problem, with paths of its own; made when the one before is done."""
        stages = Stages(**Bursts.values_of(p), universal=p.gravity == "universal")
        occurs = np.zeros(X.shape[1], dtype=bool)
        occurs[columns_with_values(X)] = True
        seeds = np.random.SeedSequence(int(new_generator(p.random_state).randint(2**31)))
        for row, problem in enumerate(problems):
            yield StabilisedEngine(
                Data(as_examples(X, *problem), p.loss, fit_intercept=True),
                stages,
                InverseSqrt(p.eta0),
                [
                    Permutations(X.shape[0], np.random.default_rng(seed))
                    for seed in seeds.spawn(p.n_paths)
                ],
                occurs,
                row,
            )


def _scale_of_rates(
    p: SimpleNamespace, X: sparse.csr_matrix, importances: NDArray[np.float64] | None
) -> float:
    """The given eta0, or a scale that suits a row of median length."""
    if p.eta0 is not None:
        return float(p.eta0)
    if p.loss.unbounded_slope:
        norm = as_examples(X, None, importances).largest_squared_norm(1.0)
    else:
        norms = as_examples(X).squared_norms()
        norms = norms[norms > 0] + 1.0
        norm = float(np.median(norms)) / _LONG_STEPS if len(norms) else 0.0
    return suitable_rate(norm, p.loss)
