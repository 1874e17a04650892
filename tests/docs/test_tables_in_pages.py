"""Tables and lists in pages are those of the code: rules, storages, defaults, errata, sources."""

import dataclasses
import inspect
import re
from fractions import Fraction

from support import ROOT
from support.matrices import make_data
from support.parameters import OF_RULES

from lazynet import StabilisedSGDClassifier
from lazynet.data.statistics import FAR
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.kernels.table import RULES
from lazynet.losses import LOSSES
from lazynet.reference import closed_forms
from lazynet.reference.affine import fobos_shrink, sgd_shrink
from lazynet.rules.storage import STORAGES
from lazynet.training.automatic import (
    EPOCHS_OF_CLASSIFIERS,
    EPOCHS_OF_REGRESSORS,
    L1_SHARE,
    SHARE_AFTER_RESTART,
    rule_for,
    schedule_of,
    share_of_rates,
)

DOCS = ROOT / "docs"
ERRATA, SOURCE_MAP, DEFAULTS, RULES_AND_STORAGE = (
    (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in ("errata", "source_map", "defaults", "rules_and_storage")
)


# --- rules and storages -----------------------------------------------------------------------


def table_of_rules():
    """The table of the page, a line for every row of the catalogue."""
    for row in ALGORITHMS.values():
        fields = [f for f in dataclasses.fields(row.rule) if f.name not in OF_RULES]
        parameters = ", ".join(f"{f.name}={f.default!r}" for f in fields)
        if row.engine is None:
            weights_in = "any storage"
            reference = "lazynet/reference/affine.py"
        else:
            kind = row.engine.kind
            count = RULES[kind].numbers
            weights_in = f"[{count} number{'s' * (count > 1)}](../lazynet/kernels/rules/{kind}.pxd)"
            reference = f"lazynet/reference/{kind}.py"
        found = [
            f'`"{row.rule.name}"`',
            f"`{row.rule.__name__}({parameters})`",
            weights_in,
            row.paper + ("" if row.exact else "; NOT exact for l2 > 0"),
            f"[reference](../{reference})",
        ]
        yield f"| {' | '.join(found)} |"


def test_the_table_of_rules_is_the_catalogue():
    """A line for every rule: its name, its object with its own parameters, source and files."""
    expected = "\n".join(table_of_rules())
    assert len(expected.splitlines()) == len(ALGORITHMS) >= 7
    assert f"|---|---|---|---|---|\n{expected}\n\n" in RULES_AND_STORAGE, f"write:\n{expected}"


def test_the_table_of_shared_parameters_is_complete():
    """A line for every parameter: its default and its rules, in the order of the catalogue."""
    expected = {}
    for row in ALGORITHMS.values():
        for f in dataclasses.fields(row.rule):
            if f.name in OF_RULES:
                expected.setdefault((f.name, repr(f.default)), []).append(f"`{row.rule.__name__}`")
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| (`.*?`) \| \S", RULES_AND_STORAGE, re.MULTILINE)
    assert {(name, default): rules.split(", ") for name, default, rules in rows} == expected
    assert len(rows) == len(expected) == len(OF_RULES)


def test_the_table_of_storage_has_every_class():
    """The table names every storage, its object and the defaults."""
    rows = re.findall(
        r'^\| `"(\w+)"`(?: \(default\))? \| `(.*?)` \|', RULES_AND_STORAGE, re.MULTILINE
    )
    written = {name: code for name, code in rows if name not in ALGORITHMS}
    assert set(written) == set(STORAGES)
    for name, code in written.items():
        defaults = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(STORAGES[name]))
        assert code == f"{STORAGES[name].__name__}({defaults})"


def test_the_grids_search():
    """All grids find a best candidate on small data."""
    namespace = {}
    (code,) = re.findall(
        r"```python\n(.{,60}import GridSearchCV.*?)```", RULES_AND_STORAGE, re.DOTALL
    )
    exec(code, namespace)
    X, y = make_data(n=90)
    for name, candidates in (("rates", 2), ("gammas", 4), ("rules", 3)):
        search = namespace[name].set_params(cv=2, error_score="raise").fit(X, y)
        assert len(search.cv_results_["params"]) == candidates
        assert search.best_score_ > 0.5


# --- automatic choices ------------------------------------------------------------------------


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


def test_the_table_of_defaults_is_that_of_the_code():
    """A line for every automatic choice."""
    choices = {name: (of(True), of(False)) for name, of in ROWS.items()}
    expected = "\n".join(
        f"| {name} | {first} | {'the same' if first == second else second} |"
        for name, (first, second) in choices.items()
    )
    assert f"|---|---|---|\n{expected}\n\n" in DEFAULTS, f"write:\n{expected}"


# --- errata and sources -----------------------------------------------------------------------


def test_the_smallest_examples_of_what_is_printed_wrong():
    """The formulas that are kept give the true and the printed values of the cards."""
    pattern = (
        r" w = (?P<w>\S+), eta = (?P<eta>[\d/ then]+), l1 = (?P<l1>\S+), l2 = (?P<l2>\S+): "
        r"true (?P<true>\S+), printed (?P<printed>\S+) \(`(?P<name>\w+)`"
    )
    rows = list(re.finditer(pattern, ERRATA))
    assert len(rows) == 5
    for row in rows:
        w, l1, l2, true, printed = (
            Fraction(row[key]) for key in ["w", "l1", "l2", "true", "printed"]
        )
        rates = [Fraction(rate) for rate in row["eta"].split(" then ")]
        shrink = fobos_shrink if row["name"] == "printed_theorem_2" else sgd_shrink
        assert closed_forms.repeated(shrink)(w, rates, l1, l2) == true
        assert getattr(closed_forms, row["name"])(w, rates, l1, l2) == printed


def test_every_card_on_lipton_and_elkan_names_what_refutes_it():
    """A formula of ``closed_forms`` with an example, or a test of ``test_closed_forms.py``."""
    section = ERRATA.partition("## Lipton and Elkan")[2].partition("\n## What the paper")[0]
    cards = section.split("\n### ")[1:]
    assert len(cards) == 8 + 3, "errata, ambiguities"
    tests = (ROOT / "tests" / "exact" / "test_closed_forms.py").read_text(encoding="utf-8")
    for card in cards:
        name = re.search(r"\*\*Counterexample\.\*\* .*\(`(\w+)`\)$", card, re.MULTILINE)[1]
        assert hasattr(closed_forms, name) or f"def {name}_" in tests, card


def test_the_default_gravity_is_named():
    """The page and the docstring say which truncation ``StabilisedSGDClassifier()`` computes."""
    default = inspect.signature(StabilisedSGDClassifier).parameters["gravity"].default
    assert f'The default is `gravity="{default}"`' in ERRATA
    assert f'the default, `gravity="{default}"`' in ERRATA
    assert f'gravity : {{"universal", "informative"}}, default="{default}"' in " ".join(
        StabilisedSGDClassifier.__doc__.split()
    )


def test_where_is_what_names_what_is_there():
    """Every name in a row of the table stands in a file that the row links to."""
    rows = [line for line in SOURCE_MAP.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 9
    for row in rows:
        paths = [DOCS / target for target in re.findall(r"\]\(([^)]+)\)", row)]
        assert paths, row
        assert all(path.exists() for path in paths), row
        texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
        for name in re.findall(r"(?<!\[)`(\w+)`(?!\])", row.partition("|")[2].partition("|")[2]):
            assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{name}: {row}"


def test_the_lines_of_the_kernel_are_those_of_the_sources():
    """The blocks of ``docs/paper_and_code.md`` in Cython and C stand in the files named before."""
    page = (DOCS / "paper_and_code.md").read_text(encoding="utf-8")
    kernel = page.partition("## The kernel")[2]
    named = re.findall(r"\]\((\.\./lazynet/kernels/[\w./]+)\)", kernel)
    sources = "".join((DOCS / path).read_text(encoding="utf-8") for path in named)
    blocks = re.findall(r"```(?:cython|c)\n(.*?)```", kernel, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks[:4]:
        assert block in sources
    assert all(line in sources for line in blocks[4].splitlines())
