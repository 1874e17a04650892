"""The parameters of classifier and regressor, and the plan that follows from them and the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averages import AVERAGE
from lazynet.data.arrays import as_examples, count_of_values, sizes_of, touched_columns
from lazynet.data.row_statistics import Survey
from lazynet.data.standardise import Units
from lazynet.data.targets import Columns, Problems
from lazynet.engines.catalogue import RuleLike, check_rule
from lazynet.engines.threads import Workers
from lazynet.estimators.base import SparseLinear, suitable_rate
from lazynet.losses import LOSS
from lazynet.parameters import (
    EPOCHS_OR_NONE,
    FLAG,
    STRENGTH,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    table,
)
from lazynet.rules.storage import FORM
from lazynet.schedules import FromData, ScheduleLike, check_schedule, needs_scale
from lazynet.training.defaults import (
    AUTO,
    EPOCHS_OF_CLASSIFIERS,
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    factor_of_rates,
    follows_targets,
    found_epochs,
    found_l1,
    found_share,
    is_auto,
    is_table,
    resolved_rule,
    resolved_schedule,
    takes_units,
)
from lazynet.training.diagnostics import loss_of_two_classes
from lazynet.training.held_out import copied_rows
from lazynet.training.plan import Plan, check_rate_parameters
from lazynet.training.random_state import SEED

#: The kind of the parameter ``dtype``.
DTYPE = Choice(accepted=("float64", "float32"))

#: The size of a row that the l1 of a fit follows where no l1 is given.
_NORMS = "squared_norms"


class PlannedModel(SparseLinear):
    """The parameters of classifier and regressor, and the plan of a fit that follows from them."""

    _kinds = table(
        loss=LOSS,
        l1=Number(least=0, optional=True),
        l2=STRENGTH,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        engine=FORM,
        average=AVERAGE,
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        early_stopping=FLAG,
        validation_fraction=Number(above=0, below=1),
        fit_intercept=FLAG,
        positive=FLAG,
        batch_size=Integer(least=1),
        group=Choice(accepted=("l2", "max"), optional=True),
        shuffle=FLAG,
        random_state=SEED,
        warm_start=FLAG,
        verbose=VERBOSITY,
    )

    schedule: ScheduleLike
    rule: RuleLike

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values, with the ``plan`` that follows from them."""
        p = super()._settle()
        p.finds_l1 = p.l1 is None
        if p.finds_l1:
            p.l1 = getattr(self, "l1_", 0.0) if p.engine.takes_l1 else 0.0
        p.rule = resolved_rule(
            p.rule,
            p.schedule,
            eta0=p.eta0,
            form=p.engine,
            average=p.average,
            loss=p.loss,
            classifies=self._takes_margin_losses,
            positive=p.positive,
            group=p.group,
        )
        check_rate_parameters(p.rule, self.schedule, p.eta0, default=AUTO)
        p.schedule = resolved_schedule(
            p.schedule,
            p.rule,
            eta0=p.eta0,
            form=p.engine,
            batch_size=p.batch_size,
            group=p.group,
        )
        p.plan = Plan.of(p)
        # A classifier that chooses rates and epochs ends before it knows its rows by heart.
        chooses = p.max_iter is None and p.plan.sizes is not None
        p.ends_on_purpose = chooses and self._takes_margin_losses
        p.penalised = bool(p.l2) or not p.finds_l1
        p.chooses_units = p.finds_l1 and not p.l2 and p.plan.sizes is not None
        # With these rates and this loss, a first epoch may be compared with a constant prediction.
        chooses_all = p.ends_on_purpose and not p.penalised and not p.early_stopping
        p.may_begin_anew = chooses_all and p.rule.divides and p.loss.name == "log_loss"
        p.constant = None
        return p

    def _find_units(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        rows: NDArray[np.int64] | None = None,
    ) -> Units | None:
        """The units in which a fit learns; None for those of the rows.

        A penalty that is given acts on the weights as they are, and a rate that is given belongs to
        the rows as they are.  A model that goes on learning keeps its units.
        """
        if not p.chooses_units:
            return None
        if p.warm_start and self.__sklearn_is_fitted__():
            known = self.units_
            # Other features are refused where the engines are looked at.
            return known if known is None or len(known.sizes) == X.shape[1] else None
        if not takes_units(*shape_to_learn(X, rows), self._takes_margin_losses):
            return None
        units = Units.of(X, rows, centred=p.fit_intercept)
        # The other losses have a number in the units of the targets; classes are -1 and 1 already.
        of_numbers = p.loss.name in ("squared_error", "absolute_error")
        if of_numbers and isinstance(problems, Columns) and len(problems) > 1:
            numbers = problems.numbers if rows is None else problems.numbers[rows]
            units = units.with_targets(numbers)
        return units

    def _find_l1(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        shape: tuple[int, int, int],
        sizes: NDArray[np.float64] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Where no l1 is given, let the rows decide on it: all, or the ``rows`` to train on.

        ``shape`` is that of ``_find_epochs``, of the rows as they were given; ``sizes`` are the
        sizes of the rows that the rates follow, if they are known already.
        """
        if p.finds_l1 and p.engine.takes_l1:
            norms = sizes if p.plan.sizes == _NORMS else None
            norms = sizes_of(X, _NORMS) if norms is None else norms
            assert norms is not None, "a kind of size is named"
            if rows is not None:
                norms, problems = norms[rows], problems.only(rows)
            targets = problems.numbers_of_targets() if surveys_targets(p, problems) else None
            survey = Survey.of(norms, targets, problems.importances)
            self._take_l1(p, survey, shape)
            self._take_constant(p, survey, shape)

    def _take_l1(self, p: SimpleNamespace, survey: Survey, shape: tuple[int, int, int]) -> None:
        """Take the l1 that suits the rows that were surveyed; see ``found_l1``."""
        p.l1 = found_l1(survey, p.loss, found_share(*shape, p.loss.margin))
        # Two classes may have become one problem since the plan was made.
        p.plan = replace(Plan.of(p), softmax=p.plan.softmax)

    def _take_constant(
        self, p: SimpleNamespace, survey: Survey, shape: tuple[int, int, int]
    ) -> None:
        """Take the loss of the best constant, where the first epoch is compared with it.

        The first epoch of a model that goes on learning does not tell what can be learned.
        """
        total = survey.n_rows * survey.mean_importance
        goes_on = p.warm_start and self.__sklearn_is_fitted__()
        if (
            p.may_begin_anew
            and survey.targets
            and total > 0
            and not is_table(*shape)
            and not goes_on
        ):
            summed = loss_of_two_classes(survey.positive, total, p.loss, p.fit_intercept)
            p.constant = summed / survey.n_rows

    def _find_epochs(
        self, p: SimpleNamespace, shape: tuple[int, int, int], listed: int | None = None
    ) -> None:
        """Take the epochs that suit the rows, where no number is given; let the rates suit them.

        ``shape`` are the numbers of rows, of features, and of values that are not 0; ``listed`` is
        the number of epochs whose order is given.

        Where nothing is given, and rows are no table, a classifier that goes on after its own
        epochs learns its rows by heart, unless its rates fall; and a regressor of few epochs is far
        from done, unless its rates are high.
        """
        classifies = self._takes_margin_losses
        if p.max_iter is None:
            p.max_iter = listed or found_epochs(*shape, classifies, penalised=p.penalised)
        if p.penalised or p.plan.sizes is None or is_table(*shape):
            return
        if classifies and p.rule.divides:
            p.plan = replace(p.plan, full_epochs=EPOCHS_OF_CLASSIFIERS)
        elif (
            not classifies
            and p.plan.adaptive
            and is_auto(self.schedule)
            and p.loss.name == "squared_error"
        ):
            schedule = FromData(factor_of_rates(p.max_iter))
            p.plan = p.plan.with_schedule(check_schedule("schedule", schedule))

    def _scale_of_rates(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix | Callable[[bool], float],
        weights: NDArray[np.float64] | None,
        rows: NDArray[np.int64] | None = None,
    ) -> float:
        """The given eta0, or the largest rate at which no gradient step on a row overshoots.

        ``rows`` are the rows to train on, None for all rows.  In place of X a function may tell the
        largest squared norm of a row, with or without the weights of rows.
        """
        if p.eta0 is not None:
            return float(p.eta0)
        if not p.rule.scheduled:
            find = partial(self._suitable_rate, p, X, weights, p.rule.rate, rows)
            return float(p.rule.rate_for(find))
        if not needs_scale(p.schedule):
            return float(getattr(p.schedule, "eta0", 1.0))
        # With a bounded slope training cannot diverge, however large an importance is; a rate
        # that suits one heavy example would only keep the other examples from learning.
        counts = weights if p.loss.unbounded_slope else None
        # The default rate must not be a rate that the rule refuses.
        largest = p.rule.largest_rate(p.plan.penalty) / 2 if not p.rule.has_state else np.inf
        return min(self._suitable_rate(p, X, counts, "eta0", rows), largest)

    def _suitable_rate(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix | Callable[[bool], float],
        counts: Any,
        given: str,
        rows: NDArray[np.int64] | None,
    ) -> float:
        """The largest rate at which no step on a row overshoots; ``given`` would replace it."""
        if callable(X):
            return suitable_rate(X(counts is not None), p.loss, given)
        if rows is not None:
            X, counts = copied_rows(X, rows), None if counts is None else counts[rows]
        norm = as_examples(X, None, counts).largest_squared_norm(float(p.fit_intercept))
        return suitable_rate(norm, p.loss, given)

    def _learns_from_streams(self) -> bool:
        if is_auto(self.rule):
            return True
        try:
            rule = check_rule("rule", self.rule)
        except (TypeError, ValueError):
            return True  # partial_fit says what is wrong with the rule
        rule.check_streams("partial_fit")
        return True


def shape_to_learn(X: sparse.csr_matrix, rows: NDArray[np.int64] | None) -> tuple[int, int, int]:
    """The numbers of rows, of features, and of values that are not 0.

    Of some ``rows`` of X the values are not counted: they are taken for as long as all rows are.
    Where X stores so few values that it is no table by them, the stored zeros count too.
    """
    n_rows, n_features = X.shape
    stored = len(touched_columns(X))
    n_values = count_of_values(X) if is_table(n_rows, n_features, stored) else stored
    if rows is None:
        return n_rows, n_features, n_values
    return len(rows), n_features, n_values * len(rows) // n_rows


def keeps_best(p: SimpleNamespace) -> bool:
    """Whether a fit returns to the end of its best epoch."""
    # The progressive loss judges the last weights, not their average.
    return bool(p.early_stopping or (p.tol is not None and p.plan.average is None))


def allowed_threads(p: SimpleNamespace) -> int:
    """The number of threads that the user allows, asked for once in a call."""
    known: int | None = getattr(p, "n_threads", None)
    if known is None:
        known = p.n_threads = int(effective_n_jobs(getattr(p, "n_jobs", None)))
    return known


def workers_for(p: SimpleNamespace, n_engines: int) -> Workers:
    """The threads that share the engines."""
    return Workers(min(allowed_threads(p), n_engines))


def has_scale(p: SimpleNamespace) -> bool:
    """Whether the rates are as large as an eta0, of the schedule or found from the data."""
    return bool(p.rule.scheduled and hasattr(p.schedule, "eta0"))


def surveys_targets(p: SimpleNamespace, problems: Problems) -> bool:
    """Whether the defaults of a fit ask for the targets of all rows."""
    return follows_targets(p.loss) or (p.may_begin_anew and len(problems) == 1)


def let_two_classes_be_one_problem(p: SimpleNamespace, problems: Problems) -> None:
    """The softmax of two classes is the logistic loss of one output."""
    if len(problems) == 1:
        p.plan = replace(p.plan, softmax=False)


def in_units(
    units: Units | None, X: sparse.csr_matrix, problems: Problems
) -> tuple[sparse.csr_matrix, Problems]:
    """X and the targets in ``units``; copies, unless there are none."""
    if units is None:
        return X, problems
    if units.targets is not None and isinstance(problems, Columns):
        problems = Columns(problems.numbers / units.targets, problems.importances)
    return units.rows(X), problems
