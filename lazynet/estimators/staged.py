"""The base of the classifiers whose paths train in stages and purge features."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.data.targets import Targets
from lazynet.data.weights import check_sample_weight
from lazynet.engines.base import refuse_overflow
from lazynet.engines.threads import Workers
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.supervised import SparseClassifier
from lazynet.parameters import EPOCHS, THREADS, Integer, check_integer, check_n_steps, table
from lazynet.training.random_state import SEED, new_generator
from lazynet.verify.online import LARGEST_EPOCHS, VerificationReport, affordable_rows, first_rows
from lazynet.verify.staged import verify_staged


class StagedClassifier(SparseClassifier):
    """A classifier whose paths train in stages, after each of which features are purged."""

    _kinds = table(
        # Every path has weights of its own.
        n_paths=Integer(least=1, most=2**20),
        max_iter=EPOCHS,
        random_state=SEED,
        n_jobs=THREADS,
    )
    #: what to do about an overflow
    _advice: ClassVar[str]

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

    def _choose_rates(self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Targets) -> None:
        """Replace parameters of the rates that are None by values that suit the rows."""

    def _new_engines(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Targets
    ) -> Iterator[Any]:
        """An engine for every problem, with paths of its own; made when the one before is done."""
        raise NotImplementedError

    def _results_of(self, engine: Any) -> dict[str, NDArray[Any]]:
        """The attributes of a problem, which are stacked."""
        return {"stable_": engine.stable, "selection_frequency_": engine.frequency}

    @all_or_nothing
    @takes_sources
    def _learn(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> list[Warning]:
        """Train from zero weights; returns the warnings to give."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        problems = self._problems(X, (y, classes), check_sample_weight(sample_weight, X))
        self._choose_rates(p, X, problems)
        n_steps = check_n_steps("max_iter", p.max_iter, X.shape[0])
        trace: list[Any] = []
        models: list[tuple[NDArray[np.float64], float, int, int]] = []
        results: list[dict[str, NDArray[Any]]] = []
        with Workers(min(effective_n_jobs(p.n_jobs), p.n_paths)) as workers:
            for engine in self._new_engines(p, X, problems):
                while (record := engine.next_stage(workers, n_steps)) is not None:
                    trace.append(record)
                # Keep the results and not the engine, whose paths take more memory.
                models.append((engine.weights(), engine.intercept, engine.t, engine.n_stable))
                results.append(self._results_of(engine))
        rows, intercepts, steps, n_stable = zip(*models, strict=True)
        coefficients, offsets = np.vstack(rows), np.array(intercepts)
        refuse_overflow(max(steps), self._advice, coefficients, offsets)
        self._load(coefficients, offsets)
        for name in results[0]:
            setattr(self, name, np.stack([result[name] for result in results]))
        self.trace_ = trace
        self.n_iter_ = max(1, math.ceil(max(steps) / X.shape[0]))
        self.classes_ = classes
        return self._nothing_left(p, n_stable.count(0))

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

        Both start from zero weights and draw the same rows.  The weights of the first path are
        compared after every step, and the mean of the paths at the end; see
        :meth:`LazyNetClassifier.verify`.  ``epochs`` replaces ``max_iter``.  The number of rows is
        halved until the comparison takes seconds.  The estimator does not change.  With several
        classes the first class against the rest is compared.

        >>> from lazynet import StabilisedSGDClassifier
        >>> StabilisedSGDClassifier().verify([[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]).agrees
        True
        """
        probe = type(self)(**self.get_params(deep=False))
        p = probe._settle()
        X, y, classes = probe._check_training(X, y, None, reset=True)
        problems = probe._problems(X, (y, classes), check_sample_weight(sample_weight, X))
        max_rows = check_integer("max_rows", max_rows, 1)
        epochs = p.max_iter if epochs is None else epochs
        p.max_iter = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
        # A quarter: the comparison takes a second or two, also with many paths.
        visits = math.ceil(p.max_iter * p.n_paths / 4)
        head, features = first_rows(X, affordable_rows(X, max_rows, visits))
        problems = problems.only(np.arange(head.shape[0]))
        probe._choose_rates(p, head, problems)
        p.random_state = int(new_generator(copy.deepcopy(p.random_state)).randint(2**31))
        return verify_staged(
            lambda rows: next(probe._new_engines(p, rows, problems)), head, problems[0], features, p
        )

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
