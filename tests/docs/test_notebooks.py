"""The notebooks are small, numbered, executed in order, free of errors, and made for exercising."""

import json
import re

import pytest
from support import ROOT

FOLDER = ROOT / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 500_000


def cells(path, kind):
    document = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in document["cells"] if cell["cell_type"] == kind]


def text(cell):
    return "".join(cell["source"])


def blanks(path):
    """The cells of the exercises: those in which a reader fills in a blank."""
    blank = re.compile(r"^\w+(?:, \w+)* = \.\.\.", re.MULTILINE)
    return [cell for cell in cells(path, "code") if blank.search(text(cell))]


def test_they_are_numbered():
    """The notebooks are numbered from 0 on, and no number is missing."""
    assert [int(path.name[:2]) for path in PATHS] == list(range(len(PATHS)))
    assert PATHS


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
class TestEach:
    def test_is_small_and_says_nothing_of_the_machine_it_ran_on(self, path):
        assert path.stat().st_size < LARGEST
        assert not re.search(r"/(home|root|tmp|Users|work)/", path.read_text(encoding="utf-8"))

    def test_was_executed_from_a_clean_kernel(self, path):
        """Every cell was run in turn, has its output, raised no error and warned of nothing."""
        code = cells(path, "code")
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        outputs = [output for cell in code for output in cell["outputs"]]
        kinds = {output["output_type"] for output in outputs}
        assert kinds <= {"stream", "display_data", "execute_result"}
        assert {output.get("name", "stdout") for output in outputs} <= {"stdout"}

    def test_shows_figures_that_need_no_kernel(self, path):
        """Figures are SVG or PNG with a description; no output needs a widget."""
        drawn = [
            output["data"]
            for cell in cells(path, "code")
            for output in cell["outputs"]
            if "data" in output and set(output["data"]) != {"text/plain"}
        ]
        assert drawn
        for data in drawn:
            assert set(data) in ({"image/svg+xml", "text/plain"}, {"image/png", "text/plain"})

    def test_says_how_long_it_takes_and_what_a_reader_can_do_after_it(self, path):
        """The first cell has the computed time, the aim, and the notebook that comes before."""
        begin = text(cells(path, "markdown")[0])
        stated = re.search(
            r"^\*Time: about (\d+) minutes .* (\d+) exercises\.\*$", begin, re.MULTILINE
        )
        assert stated, "write *Time: .* and let notebooks/run.py --write compute the line"
        assert int(stated[2]) == len(blanks(path))
        assert "After this notebook you can" in begin

    def test_a_question_stands_before_each_slider_and_three_settings_in_its_place(self, path):
        """A reader predicts before sliding; a page without widgets shows three figures."""
        document = json.loads(path.read_text(encoding="utf-8"))["cells"]
        asked = False
        for cell in document:
            if cell["cell_type"] == "markdown":
                asked = "**Predict, then slide.**" in text(cell)
            elif re.search(r"\b(style|drawing)\.explore\(", text(cell)):
                assert asked, text(cell)
                shown = [o["data"]["image/svg+xml"] for o in cell["outputs"] if "data" in o]
                [svg] = map("".join, shown)
                assert svg.count("<svg") == 1 + 3
                asked = False

    def test_exercises_have_blanks_that_are_checked_and_no_answer_yet(self, path):
        """A cell with a blank calls ``check``, which finds no answer in it."""
        assert len(blanks(path)) >= 3
        for cell in blanks(path):
            printed = "".join("".join(output["text"]) for output in cell["outputs"])
            assert "\ncheck(" in text(cell)
            assert printed.splitlines()[-1].startswith("No answer yet")

    def test_has_a_title_exercises_with_folded_solutions_and_links_that_lead_somewhere(self, path):
        markdown = [text(cell) for cell in cells(path, "markdown")]
        assert markdown[0].startswith(f"# {int(path.name[:2])}. ")
        whole = "\n".join(markdown)
        assert whole.count("<details>") == whole.count("</details>") >= 3
        for target in re.findall(r"\]\((?!http)([^)#\s]+)\)", whole):
            assert (FOLDER / target).exists(), target
