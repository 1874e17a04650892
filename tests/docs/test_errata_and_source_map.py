"""The errata and the map of the sources say what is so."""

import inspect
import re
from fractions import Fraction

from support import ROOT

from lazynet import StabilisedSGDClassifier
from lazynet.reference import closed_forms
from lazynet.reference.affine import fobos_shrink, sgd_shrink

DOCS = ROOT / "docs"
ERRATA = (DOCS / "errata.md").read_text(encoding="utf-8")
SOURCE_MAP = (DOCS / "source_map.md").read_text(encoding="utf-8")


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
