"""The code and the tables of the README do what the README says."""

import dataclasses
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from support import ROOT
from support.matrices import make_data

import lazynet
from lazynet.catalogue import ALGORITHMS
from lazynet.forms import FORMS
from lazynet.kernels import cells
from lazynet.reference import closed_forms
from lazynet.reference.shrink import fobos_shrink, sgd_shrink

README = ROOT / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


class MyLazyRule:
    """A lazy rule: squared error, FoBoS with l1 and l2, kept in two scalars and a dictionary."""

    def __init__(self, n_features, l1, l2, rates, broken=False):
        self.n_features, self.l1, self.l2, self.rates = n_features, l1, l2, rates
        self.stored, self.scale, self.shift, self.t = {}, 1.0, 0.0, 0
        self.broken = broken

    def read(self, j):
        z = self.stored.get(j, 0.0)
        return float(np.sign(z) * max(abs(z) - self.shift, 0.0) * self.scale)

    def step(self, indices, values, target, weight):
        eta = self.rates[self.t]
        slope = sum(self.read(j) * x for j, x in zip(indices, values, strict=True)) - target
        for j, x in zip(indices, values, strict=True):
            w = self.read(j) - eta * weight * slope * x
            self.stored[j] = np.sign(w) * (abs(w) / self.scale + self.shift)
        self.shift += eta * self.l1 / self.scale
        self.scale /= 1 + eta * self.l2 * (2 if self.broken else 1)
        self.t += 1

    @property
    def weights(self):
        return np.array([self.read(j) for j in range(self.n_features)])


def snippet_with(text):
    (found,) = [snippet for snippet in SNIPPETS if text in snippet]
    return found


def own_rule_test(rule):
    """The test of the README, with ``rule`` as MyLazyRule."""
    namespace = {"MyLazyRule": rule}
    exec(snippet_with("assert_matches_twin"), namespace)
    return settings(
        max_examples=200, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )(namespace["test_my_rule"])


def test_a_correct_rule_of_ones_own_passes():
    """The test that the README prints passes on a rule written from the README's two formulas."""
    own_rule_test(MyLazyRule)()


def test_a_broken_rule_of_ones_own_is_caught():
    """The test that the README prints finds the mistake and says where."""
    broken = lambda *arguments, **options: MyLazyRule(*arguments, **options, broken=True)  # noqa: E731
    with pytest.raises(AssertionError, match="away from the dense twin"):
        own_rule_test(broken)()


def test_the_stepper_example():
    """The weight is the number in the comment."""
    namespace = {}
    exec(snippet_with("Stepper(1_000_000"), namespace)
    assert namespace["stepper"].weight(7) == 0.95


def printed_and_shown(first_line, capsys, namespace=None):
    """The lines that a snippet prints, and the lines that the README shows below it."""
    snippet = snippet_with(first_line)
    exec(snippet, {} if namespace is None else namespace)
    shown = README.read_text().split(snippet)[1].split("```")[2]
    return capsys.readouterr().out.splitlines(), shown.strip().splitlines()


def numbers_in(line):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d.,]*", line)]


def test_the_first_example_prints_what_is_shown(capsys):
    """Accuracy, number of weights and verdict agree, up to what another machine may change."""
    printed, shown = printed_and_shown("1_000_000 ** rng.random", capsys)
    assert numbers_in(printed[0]) == pytest.approx(numbers_in(shown[0]), rel=3e-3)
    assert numbers_in(printed[1]) == pytest.approx(numbers_in(shown[1]), rel=1e-2)
    assert printed[2] == shown[2]
    assert [line.split("  ")[:2] for line in printed[3:]] == [
        line.split("  ")[:2] for line in shown[3:]
    ]


def test_the_defaults_print_what_is_shown(capsys):
    """The fits with nothing set and with l1 alone run on the data of the first example."""
    namespace = {}
    exec(snippet_with("1_000_000 ** rng.random").partition("penalty")[0], namespace)
    printed, shown = printed_and_shown("for chosen in", capsys, namespace)
    assert len(printed) == len(shown) == 2
    for line, expected in zip(printed, shown, strict=True):
        assert re.sub(r"\d[\d.,e-]*", "", line) == re.sub(r"\d[\d.,e-]*", "", expected)
        assert numbers_in(line) == pytest.approx(numbers_in(expected), rel=1e-2)


def test_the_minimum_prints_what_is_shown(capsys):
    """The lines on the minimum run on the data and beside the model of the first example."""
    namespace = {}
    exec(snippet_with("1_000_000 ** rng.random"), namespace)
    capsys.readouterr()
    printed, shown = printed_and_shown("DualNetClassifier, net_path", capsys, namespace)
    assert len(printed) == len(shown) == 5
    for line, expected in zip(printed, shown, strict=True):
        assert re.sub(r"\d[\d.,e-]*", "", line) == re.sub(r"\d[\d.,e-]*", "", expected)
    for number in (0, 1, 3, 4):
        assert numbers_in(printed[number]) == pytest.approx(numbers_in(shown[number]), rel=1e-2)
    # The gap may be any below tol; the objectives differ by gaps at most.
    assert namespace["minimum"].duality_gap_ <= 1e-4 * np.log(2)
    assert numbers_in(printed[2])[0] == pytest.approx(numbers_in(shown[2])[0], abs=2e-4)


def test_the_averages_print_what_is_shown(capsys):
    """Accuracies and supports agree, up to what another machine may change."""
    printed, shown = printed_and_shown("sparse.random(12_000", capsys)
    assert len(printed) == len(shown) == 3
    for line, expected in zip(printed, shown, strict=True):
        assert line.split(":")[0] == expected.split(":")[0]
        assert numbers_in(line) == pytest.approx(numbers_in(expected), rel=5e-3)


def test_the_selections_print_what_is_shown(capsys):
    """Errors, nonzeros and kappas agree, up to what another machine may change."""
    printed, shown = printed_and_shown("sparse.random(2_000", capsys)
    assert len(printed) == len(shown) == 2
    for line, expected in zip(printed, shown, strict=True):
        assert numbers_in(line) == pytest.approx(numbers_in(expected), rel=5e-2)


def table_of_rules():
    """The table of the README, a line for every row of the catalogue."""
    for row in ALGORITHMS.values():
        parameters = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(row.rule))
        if row.engine is None:
            kept = "any engine"
            reference, name = "lazynet/reference/dense.py", "DenseReference"
        else:
            kind = row.engine.kind
            count = cells.numbers(kind)
            kept = f"[{count} number{'s' * (count > 1)}](lazynet/kernels/cells/{kind}.h)"
            reference = f"lazynet/reference/{kind}.py"
            name = row.reference.__name__
        found = [
            f'`"{row.rule.name}"`',
            f"`{row.rule.__name__}({parameters})`",
            kept,
            f"[`{name}`]({reference})",
            row.paper + ("" if row.exact else "; NOT exact for l2 > 0"),
            f"[`{Path(row.property).name}`]({row.property})",
        ]
        yield f"| {' | '.join(found)} |"


def test_the_table_of_rules_is_the_catalogue():
    """A line for every rule: its name, its object with the defaults, its files and its source."""
    expected = "\n".join(table_of_rules())
    assert len(expected.splitlines()) == len(ALGORITHMS) >= 7
    assert f"|---|---|---|---|---|---|\n{expected}\n\n" in README.read_text(), f"write:\n{expected}"


def test_the_table_of_engines_has_every_form():
    """The table names every form, its object and the defaults."""
    rows = re.findall(
        r'^\| `"(\w+)"`(?: \(default\))? \| `(.*?)` \|', README.read_text(), re.MULTILINE
    )
    written = {name: code for name, code in rows if name not in ALGORITHMS}
    assert set(written) == set(FORMS)
    for name, code in written.items():
        defaults = ", ".join(f"{f.name}={f.default!r}" for f in dataclasses.fields(FORMS[name]))
        assert code == f"{FORMS[name].__name__}({defaults})"


def test_where_is_what_names_what_is_there():
    """Every name in a row of the table stands in a file that the row links to."""
    (section,) = re.findall(
        r"^## Where is what\n(.*?)^## ", README.read_text(), re.DOTALL | re.MULTILINE
    )
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 9
    for row in rows:
        paths = [ROOT / target for target in re.findall(r"\]\(([^)]+)\)", row)]
        assert paths, row
        assert all(path.exists() for path in paths), row
        texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
        for name in re.findall(r"(?<!\[)`(\w+)`(?!\])", row.partition("|")[2].partition("|")[2]):
            assert any(re.search(rf"\b{name}\b", text) for text in texts), f"{name}: {row}"


def test_the_grids_of_the_readme_search():
    """Both grids find a best candidate on small data."""
    namespace = {}
    exec(snippet_with("GridSearchCV"), namespace)
    X, y = make_data(n=90)
    for name, candidates in (("gammas", 4), ("rules", 3)):
        search = namespace[name].set_params(cv=2, error_score="raise").fit(X, y)
        assert len(search.cv_results_["params"]) == candidates
        assert search.best_score_ > 0.5


def test_the_estimator_of_averaged_sgd():
    """The lines for averaged SGD run on the data of the snippet above them."""
    namespace = {}
    exec(
        snippet_with("sparse.random(12_000").replace("12_000", "600").replace("10_000", "500"),
        namespace,
    )
    exec(snippet_with("ASGDClassifier"), namespace)
    assert namespace["model"].coef_.any()


def test_every_block_of_code_is_run():
    """No snippet of the README is left out of the tests above."""
    mine = Path(__file__).read_text(encoding="utf-8")
    asked = re.findall(r'(?:snippet_with|printed_and_shown)\(\s*"([^"]+)"', mine)
    for snippet in SNIPPETS:
        assert [text for text in asked if text in snippet], snippet


def test_the_smallest_examples_of_what_is_printed_wrong():
    """The formulas that are kept give the true and the printed values of the table."""
    pattern = (
        r"\| w = (?P<w>\S+), eta = (?P<eta>[\d/ then]+), l1 = (?P<l1>\S+), l2 = (?P<l2>\S+): "
        r"true (?P<true>\S+), printed (?P<printed>\S+) \| \[`(?P<name>printed_\w+)`\]"
    )
    rows = list(re.finditer(pattern, README.read_text()))
    assert len(rows) == 4
    for row in rows:
        w, l1, l2, true, printed = (
            Fraction(row[key]) for key in ["w", "l1", "l2", "true", "printed"]
        )
        rates = [Fraction(rate) for rate in row["eta"].split(" then ")]
        shrink = fobos_shrink if row["name"] == "printed_theorem_2" else sgd_shrink
        assert closed_forms.repeated(shrink)(w, rates, l1, l2) == true
        assert getattr(closed_forms, row["name"])(w, rates, l1, l2) == printed


def test_links_lead_somewhere():
    """Every link in README, CONTRIBUTING and CHANGELOG leads to a file."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (README.parent / name).read_text()
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (README.parent / target).exists(), f"{name}: {target}"


def test_the_citation_is_of_this_version():
    citation = (README.parent / "CITATION.cff").read_text()
    assert f"\nversion: {lazynet.__version__}\n" in citation
