"""A fit of all outputs at the same time, or of one part of them after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.course import engines_of
from lazynet.engines.base import Engine, refuse_overflow
from lazynet.engines.learned import Gathering
from lazynet.epochs import Epoch, Orders, Stopping
from lazynet.estimators.doubts import Rate, doubts_about_fit
from lazynet.estimators.kept_by_engines import EnginesModel, doubts_about_start, present_rate
from lazynet.estimators.parts import PartsDone
from lazynet.estimators.planned import allowed_threads, keeps_best, workers_for
from lazynet.learners import AnyLearner, new_learners, spans
from lazynet.memory import WEIGHT_BYTES, Estimate, available_bytes
from lazynet.models.checkpoints import Keeper
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.training import Run, train
from lazynet.units import Units
from lazynet.validation import HeldOut

# A model of so few weights needs less memory than is worth a look, whatever its rule.
_FEW_WEIGHTS = 2**12
#: What a user lets be called after every epoch.
Callback = Callable[[Epoch], Any]


@dataclass(frozen=True)
class Call:
    """What all outputs of a call of ``fit`` share."""

    p: SimpleNamespace
    plan: Plan
    eta0: float
    X: sparse.csr_matrix
    sizes: NDArray[np.float64] | None
    units: Units | None
    order: NDArray[np.int64] | None
    #: the rows to train on and the rows that are held out; None for all rows and for no row
    rows: NDArray[np.int64] | None
    held: NDArray[np.int64] | None
    #: the columns that steps touch, where the best epoch is kept
    touched: NDArray[Any] | None
    generator: np.random.RandomState | None
    callback: Callback | None
    keeper: Keeper

    def of(self, outputs: range) -> Call:
        """The same call for some of the outputs, which it tells to the callback.

        It draws the same orders of the rows, from a generator of its own.
        """
        callback, generator = self.callback, copy.deepcopy(self.generator)

        def told(epoch: Epoch) -> Any:
            assert callback is not None
            epoch.outputs = outputs
            return callback(epoch)

        units = self.units
        return replace(
            self,
            units=None if units is None else units.of_outputs(outputs.start, len(outputs)),
            generator=generator,
            callback=None if callback is None else told,
        )


def trained(call: Call, engines: list[Engine], problems: Problems) -> tuple[list[AnyLearner], Run]:
    """Let the engines learn the problems."""
    p = call.p
    learners = new_learners(engines, call.X, problems, call.plan, call.sizes)
    held_out = None
    if call.held is not None:
        held_out = HeldOut.of(call.X, problems, call.held, p.loss, p.plan.softmax)
    generator = call.generator if p.shuffle else None
    with workers_for(p, len(learners)) as workers:
        run = train(
            learners,
            Orders(call.X.shape[0], call.order, generator, call.rows),
            t=0,
            max_iter=p.max_iter,
            stopping=Stopping(p.tol, p.n_iter_no_change, p.constant),
            record=p.record_objective,
            verbose=p.verbose,
            callback=call.callback,
            validate=None if held_out is None else lambda: held_out.judge(engines),
            columns=call.touched,
            workers=workers,
            units=call.units,
            keeper=call.keeper,
        )
    return learners, run


class PartsModel(EnginesModel):
    """A model that can learn one part of its outputs after the other."""

    def _outputs_at_once(self, p: SimpleNamespace, n_features: int, n_outputs: int) -> int:
        """How many outputs learn at the same time; tells and checks the memory that they take."""
        wanted = p.plan.at_once(p.outputs_at_once, n_outputs)
        if p.warm_start and self.__sklearn_is_fitted__():
            self._refuse_learned("warm_start=True")
            if wanted < n_outputs:
                raise ValueError(
                    f"outputs_at_once={p.outputs_at_once} does not go with warm_start=True, which "
                    f"goes on from the engines of all outputs: pass coef_init=model.coef_ and "
                    f"intercept_init=model.intercept_ with warm_start=False, or write "
                    f"outputs_at_once=None"
                )
        if n_features * n_outputs <= _FEW_WEIGHTS and p.verbose == 0:
            return wanted
        estimate = self._estimate(p, n_features, n_outputs, wanted)
        if p.verbose > 0 and n_outputs > 1:
            print(estimate.told())
        if not estimate.small:
            estimate.check(available_bytes(), self._what_takes_less(p, estimate))
        return wanted

    def _estimate(
        self, p: SimpleNamespace, n_features: int, n_outputs: int, at_once: int
    ) -> Estimate:
        """What a fit takes in memory while ``at_once`` outputs learn at the same time."""
        plan = p.plan
        part = at_once < n_outputs
        weights = n_features * plan.bytes_of_a_feature(at_once, allowed_threads(p), part=part)
        judged = 0
        if p.early_stopping or p.record_objective:
            most = max(each.n_outputs for each in plan.new_engines(0, at_once, allowed_threads(p)))
            judged = WEIGHT_BYTES * n_features * most
        coef = None
        if not self._sparse_coef:
            # The last weights of parts that are done are kept beside their averages.
            kinds = 1 + (part and plan.average is not None)
            coef = WEIGHT_BYTES * n_features * n_outputs * kinds
        best = weights if keeps_best(p) and p.max_iter != 1 else 0
        return Estimate(n_outputs, n_features, at_once, plan.dtype, weights, best, coef, judged)

    def _what_takes_less(self, p: SimpleNamespace, estimate: Estimate) -> str:
        """What to do where a fit takes too much memory."""
        plan, ways = p.plan, []
        if estimate.n_outputs > 1:
            fewest = estimate.at_once if plan.coupled else plan.at_once(1, estimate.n_outputs)
            least = estimate.n_features * plan.bytes_of_a_feature(fewest, part=True)
            if least < estimate.weights:
                ways.append("let fewer outputs learn at the same time by outputs_at_once=...")
            if plan.joins_outputs and plan.average is None and plan.dtype != "float32":
                ways.append("write dtype='float32'")
        if keeps_best(p):
            keeps = "tol=None and early_stopping=False" if p.early_stopping else "tol=None"
            ways.append(f"write {keeps}, which keeps no copy of the best epoch")
        if getattr(self, "_labels_given", None) == "dense" and estimate.coef is not None:
            ways.append("give y as a sparse matrix, which makes coef_ sparse")
        ways.append("take fewer features, for instance by hashing them")
        return ", or ".join(ways)

    def _learn_in_parts(
        self, call: Call, problems: Problems, at_once: int, coef_init: Any, intercept_init: Any
    ) -> tuple[list[Engine], Run, list[Warning]]:
        """Train ``at_once`` outputs after the other; returns their weights as one engine."""
        n_outputs, n_features = len(problems), call.X.shape[1]
        coef = _initial("coef_init", coef_init, (n_outputs, n_features))
        intercept = _initial("intercept_init", intercept_init, (n_outputs,))
        gathering = Gathering(n_outputs, n_features, as_sparse=self._sparse_coef)
        done = PartsDone(gathering, call.generator)
        done.go_on_from(call.keeper.found("parts"), n_outputs)
        with call.keeper.following("parts", done.written):
            for first, stop in spans(n_outputs, at_once, done.n_outputs):
                part, some = call.of(range(first, stop)), slice(first, stop)
                if call.p.verbose > 0:
                    print(f"outputs {first + 1:,} to {stop:,} of {n_outputs:,}")
                start = [None if each is None else each[some] for each in (coef, intercept)]
                found = self._learn_part(part, problems.part(range(first, stop)), gathering, *start)
                done.take(*found, part.generator)
        if call.generator is not None and done.farthest is not None:
            call.generator.set_state(done.farthest.get_state())
        # A hundred parts may doubt the same.
        return [gathering.done()], done.whole(), done.warnings[:1]

    def _learn_part(
        self, call: Call, problems: Problems, gathering: Gathering, coef: Any, intercept: Any
    ) -> tuple[Run, list[Warning]]:
        """Train some outputs and hand over their weights; no engine outlives this call."""
        p, plan = call.p, call.plan
        n_features = call.X.shape[1]
        saved = call.keeper.peek("training")
        warnings: list[Warning] = []
        engines: list[Engine] = []
        if saved is None or coef is not None or intercept is not None:
            engines = plan.new_engines(n_features, len(problems), allowed_threads(p), part=True)
        if coef is not None or intercept is not None:
            self._load_initial(p, engines, coef, intercept, call.units)
            warnings = doubts_about_start(engines, plan)
        if saved is not None:
            blank = plan.new_engines(1, len(problems), part=True)
            engines = engines_of(saved, blank, n_features)
        learners, run = trained(call, engines, problems)
        refuse_overflow(run.t, engines[0].advice, *gathering.take(engines))
        if p.tol is not None:
            rate = Rate(present_rate(engines, call.eta0), in_units=call.units is not None)
            warnings += doubts_about_fit(p, rate, call.X, problems, call.rows, learners, run)
        return run, warnings


def _initial(name: str, given: Any, shape: tuple[int, ...]) -> Any:
    """Weights or intercepts of a user in the given shape, an array or CSR matrix, or None."""
    if given is None:
        return None
    found = given.tocsr() if sparse.issparse(given) else np.asarray(given)
    if found.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {found.shape}")
    return found
