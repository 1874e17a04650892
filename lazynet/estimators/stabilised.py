"""Stabilised truncated SGD: models that choose the same features again from other draws."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import as_examples, columns_with_values
from lazynet.engines.base import LOWER_ETA0, refuse_overflow
from lazynet.engines.calls import Workers
from lazynet.engines.stabilised import (
    Annealing,
    BurstSize,
    Gravity,
    RejectionRate,
    StabilisedEngine,
    Stability,
    Stages,
)
from lazynet.estimators.classifier import LinearClassifier
from lazynet.losses import AnyLoss
from lazynet.parameters import Integer, Positive, PositiveInt, Threads, check_n_steps
from lazynet.schedules import InverseSqrt
from lazynet.training.make_plan import suitable_rate
from lazynet.training.settings import Seed, new_generator

# With a bounded slope no step can diverge, and short steps leave the margins small for long.
_LONG_STEPS = 8.0


@dataclass(repr=False, eq=False)
class StabilisedSGDClassifier(LinearClassifier):
    """Linear classification by SGD that keeps the features which survive truncation every time.

    Ma & Zheng's stabilised truncated SGD (2017): several paths of SGD visit the rows in
    permutations of their own.  After every burst of steps, gravity pulls the weights towards zero,
    far enough to set a given share of the weights to zero; after a stage of bursts, features that
    survived too few of the bursts informing them are purged for good.  The model is the mean of the
    paths.  A burst costs the nonzeros of its rows, for any number of features.  Several classes
    are trained one against the rest.  The rate of step t is ``eta0 / sqrt(t + 1)``.

    The algorithm is reconstructed from the text of the paper, with its Theta = 0.5 and nu = 1; the
    page of ``python -m paper_repro stability`` compares it with the released program.

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
        "informative", frequent features are truncated first: use a small ``rejection_rate``.
    eta0 : float or None, default=None
        Scale of the rates.  None: a scale that suits the lengths of the rows and the loss.
    random_state, n_jobs
        The seed of the permutations, and the threads that share the paths; see
        :class:`LazyNetClassifier`.

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

    loss: AnyLoss = "hinge"
    _: KW_ONLY
    # Every path has weights of its own.
    n_paths: Annotated[int, Integer(least=1, most=2**20)] = 4
    max_iter: PositiveInt = 20
    burst_size: BurstSize = 1000
    bursts_per_stage: PositiveInt = 5
    rejection_rate: RejectionRate = 0.3
    annealing: Annealing = -9.0
    stability: Stability = 0.7
    gravity: Gravity = "universal"
    eta0: Positive | None = None
    random_state: Seed | None = None
    n_jobs: Threads | None = None

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; an interrupted call leaves the estimator as it was.

        X holds the rows, y a class label for each, ``sample_weight`` a factor of each row's loss.
        X may be a source of ``lazynet.data``, which has y and the weights in it: its rows are
        mapped into memory from a temporary file.
        """
        self._warn(self._learn(X, y, sample_weight))
        return self

    def _train(self, p: SimpleNamespace, X: Any, y: Any, sample_weight: Any) -> list[Warning]:
        X, _, problems = self._read_rows(p, X, y, sample_weight)
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0])
        eta0 = _scale_of_rates(p, X, problems[0][1]) if p.eta0 is None else p.eta0
        stages = Stages(**{name: getattr(p, name) for name in Stages._kinds})
        occurs = np.zeros(X.shape[1], dtype=bool)
        occurs[columns_with_values(X)] = True
        seeds = np.random.SeedSequence(int(new_generator(p.random_state).randint(2**31)))
        trace: list[dict[str, Any]] = []
        # The results are kept and not the engines, whose paths take more memory.
        models, steps = [], []
        with Workers(min(effective_n_jobs(p.n_jobs), p.n_paths)) as workers:
            for row, problem in enumerate(problems):
                engine = StabilisedEngine(
                    as_examples(X, *problem),
                    p.loss,
                    stages,
                    InverseSqrt(eta0),
                    [np.random.default_rng(seed) for seed in seeds.spawn(p.n_paths)],
                    occurs,
                )
                while engine.t < n_steps and engine.n_stable:
                    trace.append({"problem": row, **engine.take_stage(workers, n_steps)})
                models.append((engine.weights(), engine.intercept, engine.stable, engine.frequency))
                steps.append(engine.t)
        weights, intercepts, stable, frequencies = map(np.stack, zip(*models, strict=True))
        refuse_overflow(max(steps), LOWER_ETA0, weights, intercepts)
        self._load(weights, intercepts)
        self.stable_, self.selection_frequency_ = stable, frequencies
        self.trace_, self.eta0_ = trace, eta0
        self.n_iter_ = max(1, math.ceil(max(steps) / X.shape[0]))
        if not occurs.any():
            text = "no feature occurs: X has no values but zeros, and the model is zero"
            return [ConvergenceWarning(text)]
        return _warnings_of_purged(p, stable)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Whether each weight is not zero, of the shape of ``coef_``."""
        check_is_fitted(self)
        return self._dense_weights() != 0.0


def _warnings_of_purged(p: SimpleNamespace, stable: NDArray[np.bool_]) -> list[Warning]:
    """A warning if a class has no stable features."""
    n_purged = int(np.count_nonzero(~stable.any(axis=1)))
    if not n_purged:
        return []
    which = "all features" if len(stable) == 1 else f"all features of {n_purged} classes"
    text = (
        f"{which} were purged: only the intercept predicts. Lower stability (now {p.stability:g}) "
        f"or rejection_rate (now {p.rejection_rate:g}), or raise burst_size (now {p.burst_size}); "
        f"trace_ says what each stage purged"
    )
    return [ConvergenceWarning(text)]


def _scale_of_rates(
    p: SimpleNamespace, X: sparse.csr_matrix, importances: NDArray[np.float64] | None
) -> float:
    """A scale of the rates that suits the rows.

    It is 1 / (c * max s|x|^2), s the importance of a row and c the largest curvature of the loss,
    where the loss has an unbounded slope.  Else it is 8 / (c * |x|^2), |x|^2 the median squared
    norm of the rows with the intercept's 1, and c is 1 where the loss has kinks.
    """
    if p.loss.unbounded_slope:
        sizes = as_examples(X).squared_norms() + 1.0
        norm = float((sizes if importances is None else sizes * importances).max(initial=0.0))
    else:
        norms = as_examples(X).squared_norms()
        norms = norms[norms > 0] + 1.0
        norm = float(np.median(norms)) / _LONG_STEPS if len(norms) else 0.0
    return suitable_rate(norm, p.loss)
