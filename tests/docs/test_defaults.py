"""The page on defaults has the automatic choices of the code."""

from support import ROOT

from lazynet.data.statistics import FAR
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES
from lazynet.training.automatic import (
    EPOCHS_OF_CLASSIFIERS,
    EPOCHS_OF_REGRESSORS,
    L1_SHARE,
    SHARE_AFTER_RESTART,
    rule_for,
    schedule_of,
    share_of_rates,
)

PAGE = (ROOT / "docs" / "defaults.md").read_text(encoding="utf-8")


def rules(classifies):
    """The rule of ``rule="auto"``, and the losses with another one."""
    losses = [loss for loss in LOSSES.values() if classifies or not loss.margin]
    by_rule = {}
    for loss in losses:
        by_rule.setdefault(repr(rule_for(loss, classifies)), []).append(f'`"{loss.name}"`')
    (usual, _), *others = sorted(by_rule.items(), key=lambda each: -len(each[1]))
    cases = [f"`{each}` for {', '.join(of)}" for each, of in others]
    weighted = {repr(rule_for(loss, classifies, True)) for loss in losses}
    cases += [f"`{each}` with class weights" for each in weighted if each != usual]
    return "; ".join([f"`{usual}`", *cases])


def schedules(_):
    """The schedules of the rules that have one."""
    found = {}
    for row in ALGORITHMS.values():
        if row.rule.scheduled:
            chosen = schedule_of(row.rule().settled())
            found.setdefault(f"`{chosen!r}`", []).append(f"`{row.rule.__name__}`")
    return "; ".join(f"{chosen} for {', '.join(of)}" for chosen, of in found.items())


def epochs(classifies):
    return EPOCHS_OF_CLASSIFIERS if classifies else EPOCHS_OF_REGRESSORS


def shares(classifies):
    """The shares of the rates in the epochs of a fit."""
    n = epochs(classifies)
    found = [f"{share_of_rates(epoch, n):.2g}" for epoch in range(n)]
    full = found.count("1")
    last = found[full:] if n < 10 else [*found[full : full + 2], "...", found[-1]]
    return f"{full} times 1, then {', '.join(last)}"


def restart(classifies):
    return f"zero weights, and {SHARE_AFTER_RESTART:g} of the rates" if classifies else "nothing"


#: What is left open, and the choice, for a classifier and for a regressor.
ROWS = {
    '`rule="auto"`': rules,
    '`schedule="auto"` of a rule': schedules,
    '`standardize="auto"`': lambda _: (
        "features that are nonzero in half of the rows have their own mean and size; sparser ones "
        f"share a size, within a factor of {FAR:g}"
    ),
    "`l1=None`": lambda _: f"{L1_SHARE:g} * slope * norm / n",
    "`max_iter=None`": lambda classifies: f"{epochs(classifies)} epochs",
    "the share of automatic rates in these epochs": shares,
    "after a first epoch that is worse than a constant": restart,
}


def test_the_table_is_that_of_the_code():
    """A line for every automatic choice."""
    choices = {name: (of(True), of(False)) for name, of in ROWS.items()}
    expected = "\n".join(
        f"| {name} | {first} | {'the same' if first == second else second} |"
        for name, (first, second) in choices.items()
    )
    assert f"|---|---|---|\n{expected}\n\n" in PAGE, f"write:\n{expected}"
