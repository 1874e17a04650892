"""The page on rules and storage has every rule and storage, and its code works."""

import dataclasses
import re

from support import ROOT
from support.matrices import make_data
from support.parameters import OF_RULES

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.kernels.table import RULES
from lazynet.rules.storage import STORAGES

PAGE = (ROOT / "docs" / "rules_and_storage.md").read_text(encoding="utf-8")


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
    assert f"|---|---|---|---|---|\n{expected}\n\n" in PAGE, f"write:\n{expected}"


def test_the_table_of_shared_parameters_is_complete():
    """A line for every parameter: its default and its rules, in the order of the catalogue."""
    expected = {}
    for row in ALGORITHMS.values():
        for f in dataclasses.fields(row.rule):
            if f.name in OF_RULES:
                expected.setdefault((f.name, repr(f.default)), []).append(f"`{row.rule.__name__}`")
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| (`.*?`) \| \S", PAGE, re.MULTILINE)
    assert {(name, default): rules.split(", ") for name, default, rules in rows} == expected
    assert len(rows) == len(expected) == len(OF_RULES)


def test_the_table_of_storage_has_every_class():
    """The table names every storage, its object and the defaults."""
    rows = re.findall(r'^\| `"(\w+)"`(?: \(default\))? \| `(.*?)` \|', PAGE, re.MULTILINE)
    written = {name: code for name, code in rows if name not in ALGORITHMS}
    assert set(written) == set(STORAGES)
    for name, code in written.items():
        defaults = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(STORAGES[name]))
        assert code == f"{STORAGES[name].__name__}({defaults})"


def test_the_grids_search():
    """All grids find a best candidate on small data."""
    namespace = {}
    (code,) = re.findall(r"```python\n(.{,60}import GridSearchCV.*?)```", PAGE, re.DOTALL)
    exec(code, namespace)
    X, y = make_data(n=90)
    for name, candidates in (("rates", 2), ("gammas", 4), ("rules", 3)):
        search = namespace[name].set_params(cv=2, error_score="raise").fit(X, y)
        assert len(search.cv_results_["params"]) == candidates
        assert search.best_score_ > 0.5
