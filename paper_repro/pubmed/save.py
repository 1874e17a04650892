"""Writes a bag of words as files that other programs read: svmlight, vocabulary, labels."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sklearn.datasets import dump_svmlight_file

from lazynet.data.files import replaced
from paper_repro.pubmed.bag import Bag

_ENDINGS = (".svm", ".svm.gz")


def save(bag: Bag, name: str | Path, *, top: int = 10) -> list[Path]:
    """Write NAME.svm (or NAME.svm.gz), NAME.vocab.txt and NAME.labels.txt, and return their paths.

    A row lists those of the ``top`` most frequent descriptors that it is indexed with, by line of
    the labels; the first line is 0.  Feature 1 is the first line of the vocabulary.
    """
    path = Path(name)
    stem = stem_of(path)
    y, labels = bag.top_labels(top)
    paths = [path, path.with_name(f"{stem}.vocab.txt"), path.with_name(f"{stem}.labels.txt")]
    with ExitStack() as stack:
        files = [stack.enter_context(replaced(each)) for each in paths]
        matrix: Any = files[0]
        if path.suffix == ".gz":
            # Without name and time, so that the same bag gives the same bytes.
            matrix = stack.enter_context(gzip.GzipFile("", "wb", fileobj=files[0], mtime=0))
        dump_svmlight_file(bag.X, y, matrix, zero_based=False, multilabel=True)
        files[1].writelines(f"{word}\n".encode() for word in bag.vocabulary)
        files[2].writelines(f"{ui}\t{descriptor}\n".encode() for ui, descriptor in labels)
    return paths


def stem_of(path: Path) -> str:
    """The name without its ending; an ending that cannot be written is refused."""
    for ending in _ENDINGS:
        if path.name.endswith(ending) and path.name != ending:
            return path.name.removesuffix(ending)
    raise ValueError(f"the name must end in {' or '.join(_ENDINGS)}, got {str(path)!r}")
