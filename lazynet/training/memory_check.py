"""The memory that a fit takes, compared with what there is before it begins."""

from __future__ import annotations

from lazynet.data.memory import WEIGHT_BYTES, Estimate, physical_bytes
from lazynet.training.plan import Plan
from lazynet.training.settings import Settings

# A model of at most this many weights needs so little memory that no check is worth its time.
_FEW_WEIGHTS = 2**12


def check_memory(
    settings: Settings, n_features: int, n_outputs: int, sparse_coef: bool, labels: str | None
) -> None:
    """Print what a fit of several outputs takes, with ``verbose``; refuse it where it is too much.

    ``labels`` is "dense" where y is an array with a column for each label.
    """
    if n_features * n_outputs <= _FEW_WEIGHTS and settings.verbose == 0:
        return
    plan = settings.plan(0.0, n_outputs)
    estimate = _estimate(settings, plan, n_features, n_outputs, sparse_coef)
    if settings.verbose > 0 and n_outputs > 1:
        print(estimate.told())
    if not estimate.small:
        estimate.check(physical_bytes(), _what_takes_less(settings, plan, n_outputs, labels))


def _estimate(
    settings: Settings, plan: Plan, n_features: int, n_outputs: int, sparse_coef: bool
) -> Estimate:
    threads = settings.n_threads
    weights = n_features * plan.bytes_of_a_feature(n_outputs, threads)
    judged = 0
    if settings.early_stopping:
        most = max(new_engine.n_outputs for new_engine in plan.new_engines(0, n_outputs, threads))
        judged = WEIGHT_BYTES * n_features * most
    coef = None if sparse_coef else WEIGHT_BYTES * n_features * n_outputs
    best = weights if settings.returns_to_best and settings.max_iter != 1 else 0
    return Estimate(n_outputs, n_features, plan.dtype, weights, best, coef, judged)


def _what_takes_less(settings: Settings, plan: Plan, n_outputs: int, labels: str | None) -> str:
    """What to do where a fit takes too much memory."""
    ways = []
    if n_outputs > 1 and not plan.coupled:
        ways.append("fit some columns of y after the other, each with a model of its own")
    if n_outputs > 1 and plan.joins_outputs and plan.average is None and plan.dtype != "float32":
        ways.append("write dtype='float32'")
    if settings.returns_to_best:
        tol = "tol=None and early_stopping=False" if settings.early_stopping else "tol=None"
        ways.append(f"write {tol}, which keeps no copy of the best epoch")
    if labels == "dense":
        ways.append("give y as a sparse matrix, which makes coef_ sparse")
    ways.append("take fewer features, for instance by hashing them")
    return ", or ".join(ways)
