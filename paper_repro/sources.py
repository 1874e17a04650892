"""Where the files come from on which committed results were measured, told by their digests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_repro.pages import Template

PAGE = Template.beside(__file__)
#: The known files: SHA-256 of the packed svmlight file, and the part of the page on its source.
SOURCES = {
    "3847a1488ce9bff858cab398c7a3521cd3550e1fd5b42dc2ce2d98094a9d264c": "Dexter",
    "2934c95b5c6d19cddbab0ad604781b7dc4cde2f9b238dfda93ee1fa16c5310ee": "Dexter",
    "6c903cd6c8820bb8242181a8bc1536a665f2fb81812fe74ce7da3192c45daf06": "RCV1",
    "d3b6c4868103f7c174a79893cf75b4e0c7cf3b9626038b5baf06cacaa7308d3b": "RCV1",
    "b7ead17300e4641a46f14d6ea93904cd88daa6b7fc81c09a9046a5337265896d": "Dorothea",
}


def told(document: Mapping[str, Any]) -> str:
    """The sources and the digests of a document's files; empty where all rows are generated."""
    files = {
        Path(document["settings"][kind]).name: document[kind]
        for kind in ("data", "test")
        if document.get(kind)
    }
    if not files:
        return ""
    known = dict.fromkeys(SOURCES[digest] for digest in files.values() if digest in SOURCES)
    return PAGE(
        "files",
        sources=" ".join(PAGE(name) for name in known) or PAGE("unknown"),
        digests=", ".join(
            PAGE("digest", name=name, digest=digest) for name, digest in files.items()
        ),
    )
