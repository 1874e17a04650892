"""What the estimators that train in stages and purge features share."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.data.targets import Problem
from lazynet.data.weights import importances
from lazynet.engines.base import refuse_overflow
from lazynet.engines.threads import Workers
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.base import SparseClassifier
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.parameters import check_integer, check_n_steps
from lazynet.training.progress import Progress
from lazynet.training.random_state import new_generator
from lazynet.verify.online import LARGEST_EPOCHS, VerificationReport, affordable_rows, first_rows
from lazynet.verify.staged import verify_staged


class StagedEngine(Protocol):
    """One problem that is trained in stages by several paths."""

    stable: NDArray[np.bool_]
    n_stable: int

    @property
    def t(self) -> int: ...
    @property
    def intercept(self) -> float: ...
    @property
    def frequency(self) -> NDArray[np.float64]: ...
    def weights(self) -> NDArray[np.float64]: ...


class StagedClassifier(SparseClassifier):
    """A classifier whose paths train in stages, after each of which features are purged."""

    #: what to do about an overflow
    _advice: ClassVar[str]
    n_paths: int

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train from zero weights; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.data``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each example: a factor of its loss.
        """
        self._warn(self._learn(X, y, sample_weight))
        return self

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> list[Warning]:
        """Train from zero weights; returns the warnings to give."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, sample_weight)
        n_stable = self._fit(p, X, (y, classes), weights)
        self.classes_ = classes
        return self._nothing_left(p, n_stable.count(0))

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
    ) -> list[int]:
        """Train from zero weights; returns the number of stable features in each problem."""
        raise NotImplementedError

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_rows: int = 200,
        epochs: int | None = None,
    ) -> VerificationReport:
        """Train a dense twin and this model side by side on the first rows of X.

        Both train from zero weights with the parameters of this estimator, on rows drawn from the
        same seed.  The weights of the first path are compared after every step, and the mean of the
        paths at the end.  The number of rows is halved until the comparison takes seconds.  The
        estimator does not change.  With several classes the first class against the rest is
        compared.

        ``epochs`` takes the place of ``max_iter``; None: ``max_iter``.

        >>> from lazynet import StabilisedSGDClassifier
        >>> StabilisedSGDClassifier().verify([[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]).agrees
        True
        """
        probe = type(self)(**self.get_params(deep=False))
        p = probe._settle()
        X, given, weights = probe._rows_to_learn(p, X, y, sample_weight)
        max_rows = check_integer("max_rows", max_rows, 1)
        if epochs is not None:
            p.max_iter = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
        n_rows = affordable_rows(X, max_rows, max(1, int(p.max_iter * self._visits(p))))
        problem = probe._problems(X, given, weights).only(np.arange(n_rows))[0]
        head, features = first_rows(X, n_rows)
        seed = int(new_generator(copy.deepcopy(p.random_state)).randint(2**31))
        return verify_staged(
            probe._maker_of_engines(p, head, problem, seed), head, *problem, features, p.max_iter
        )

    def _visits(self, p: SimpleNamespace) -> float:
        """How many weights the dense twin visits at a step, by the number of features."""
        raise NotImplementedError

    def _maker_of_engines(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problem: Problem, seed: int
    ) -> Callable[[sparse.csr_matrix], StagedEngine]:
        """A function that makes an engine over rows like X, with the same draws at every call."""
        raise NotImplementedError

    def _take_stage(self, engine: Any, workers: Workers, n_steps: int) -> Any | None:
        """Run a stage and return its record, or None if the run is over."""
        raise NotImplementedError

    def _keep_result(self, engine: Any) -> None:
        """Keep what only this kind of engine knows."""

    def _run_stages(
        self, p: SimpleNamespace, X: sparse.csr_matrix, engines: Iterable[Any], n_problems: int
    ) -> list[int]:
        """Train every problem; returns the number of stable features in each."""
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0])
        trace: list[Any] = []
        found: list[tuple[Any, ...]] = []
        progress = Progress(n_problems * n_steps, p.verbose > 0, "steps of each path")
        threads = min(effective_n_jobs(p.n_jobs), p.n_paths)
        try:
            with Workers(threads) as workers:
                for engine in engines:
                    before = 0
                    while (record := self._take_stage(engine, workers, n_steps)) is not None:
                        trace.append(record)
                        progress.advance(engine.t - before)
                        before = engine.t
                    # Keep these results and not the engine, whose paths take more memory.
                    self._keep_result(engine)
                    weights, intercept = engine.weights(), engine.intercept
                    of_features = engine.stable, engine.frequency
                    found.append((weights, intercept, *of_features, engine.t, engine.n_stable))
        finally:
            progress.close()
        rows, intercepts, stable, frequency, steps, n_stable = zip(*found, strict=True)
        coefficients, offsets = np.vstack(rows), np.array(intercepts)
        refuse_overflow(max(steps), self._advice, coefficients, offsets)
        self._load(coefficients, offsets)
        self.stable_ = np.vstack(stable)
        self.selection_frequency_ = np.vstack(frequency)
        self.trace_ = trace
        self.n_iter_ = max(1, math.ceil(max(steps) / X.shape[0]))
        return list(n_stable)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Whether each weight is not zero, of the shape of ``coef_``."""
        check_is_fitted(self)
        return self._dense_coef() != 0.0

    def _nothing_left(self, p: SimpleNamespace, purged: int) -> list[Warning]:
        """A warning if ``purged``, the number of classes without stable features, is not 0."""
        if not purged:
            return []
        if not any(stage["n_stable"] or len(stage["purged"]) for stage in self.trace_):
            text = "no feature occurs: X has no values but zeros, and the model is zero"
            return [ConvergenceWarning(text)]
        n_problems = len(self._dense_coef())
        what = (
            "all features were purged: the model is zero but for its intercept"
            if n_problems == 1
            else f"all features of {purged} of the {n_problems} classes were purged: "
            f"only the intercept predicts these classes"
        )
        text = (
            f"{what}. "
            f"Lower stability (now {p.stability:g}) or rejection_rate (now "
            f"{p.rejection_rate:g}), or raise burst_size (now {p.burst_size}); trace_ says "
            f"what each stage purged"
        )
        return [ConvergenceWarning(text)]
