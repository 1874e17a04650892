"""Short runs of studies: what every run writes, whatever it measures."""

import re

from paper_repro.results import load, run, whole_page


def tiny_run(study, settings, out):
    """The document of a run, and its page: whole, with its finding first and no missing number."""
    document = run(study, settings, out)
    assert load(study.name, out) == document
    page = (out / f"{study.name}.md").read_text()
    assert page == whole_page(study, document)
    assert page.splitlines()[2].startswith("**")
    assert not {"nan", "inf"} & set(re.findall(r"\w+", page))
    assert (out / f"{study.name}.svg").read_text().startswith("<?xml")
    return document, page
