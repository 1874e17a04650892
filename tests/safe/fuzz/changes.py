"""Weights that vanish, and penalties, rules and rates that change, beside dense references.

Rows are long-tailed and penalties large.  Steps are taken by ``partial_fit`` of an estimator, which
is copied, saved and loaded in the middle; where an estimator has no such method, by an engine.
"""

import contextlib
import copy
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
from support.parameters import rule_with
from support.runs import KINDS, seeded_run
from support.twins import Run, assert_matches_references

import lazynet
from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.losses import LOSSES


def generate(random, ledger):
    """One run, cut into chunks anywhere, which must agree with the dense reference."""
    name, seed = str(random.choice(list(KINDS))), int(random.integers(2**31))
    run = seeded_run(name, seed)
    if run.plan.rule.streams and not run.plan.softmax:
        run = OfModel(run, random)
    n_steps = len(run.problem.order)
    cuts = random.integers(0, n_steps + 1, random.integers(0, n_steps))
    title = f"{type(run).__name__} of {name}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            assert_matches_references(run, ends=[0, *map(int, cuts), n_steps])
            ledger.finite += 1
        except AssertionError as error:
            ledger.fail(f"{title} is not the reference", f"{title}, seed {seed}: {error}")


class OfModel(Run):
    """A run whose steps are calls of ``partial_fit``."""

    def __init__(self, run, random):
        vars(self).update(vars(run), limits=None, random=random)
        self.engine = self.new_engine()
        loss, columns = LOSSES[self.plan.loss.name], self.numbers
        kind, self.y = LazyNetRegressor, columns
        if loss.margin:
            kind, self.y = LazyNetClassifier, (columns > 0).astype(int)
        self.y = self.y if columns.shape[1] > 1 else self.y[:, 0]
        self.estimator = kind(
            run.problem.loss, fit_intercept=run.plan.fit_intercept, shuffle=False,
            standardize=False, **self.parameters(),
        )  # fmt: skip

    def parameters(self):
        """The parameters that may change."""
        rule, penalty = self.plan.rule, self.plan.penalty
        of_plan = dict(schedule=self.plan.schedule, average=self.plan.average)
        of_plan = {name: of_plan[name] for name in of_plan.keys() & rule.get_params()}
        return dict(l1=penalty.l1, l2=penalty.l2, rule=rule_with(rule, **of_plan))

    def happen(self, event, twins):
        model = self.estimator
        if event == "sweep":
            for engine in vars(model).get("_engines", ()):
                engine.sweep()
        elif event != "copy":
            super().happen(event, twins)
            model.set_params(**self.parameters())
        elif hasattr(model, "coef_"):
            self.estimator = copied(model, self.random)
            with contextlib.suppress(ValueError, FloatingPointError):
                model.partial_fit(self.problem.X, self.y)  # which is the first one's own affair

    def take(self, start, stop):
        options = {}
        if self.plan.loss.margin and not hasattr(self.estimator, "coef_"):
            options["classes"] = range(max(2, self.numbers.shape[1]))
        self.estimator.partial_fit(
            self.problem.X, self.y, sample_weight=self.problem.importances,
            sample_order=self.problem.order[start:stop], **options,
        )  # fmt: skip
        return 0.0

    def last(self):
        model = self.estimator
        return np.column_stack([np.atleast_2d(model.last_coef_), model.last_intercept_])

    def model(self):
        model = self.estimator
        return np.column_stack([np.atleast_2d(model.coef_), model.intercept_])


def copied(model, random):
    """Another model like it."""
    way = random.integers(4)
    if way == 3:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            return lazynet.load(Path(folder) / "model")
    return [copy.copy, copy.deepcopy, lambda old: pickle.loads(pickle.dumps(old))][way](model)
