"""A folder of svmlight files: which sets of rows are in it.

The name of a set is the part of the file name before the first dot.  ``NAME.train.svm`` and
``NAME.test.svm`` belong together; of any other file a share of the rows is split off to test on.
"""

from __future__ import annotations

from pathlib import Path

from paper_repro.documents import from_svmlight
from paper_repro.rows import Rows, divided, with_test_file

_ENDINGS = (".svm", ".svm.gz", ".svm.bz2")
#: The share of the rows to test on where no test file is given.
TEST_SHARE = 0.2


def svmlight_files(folder: str | Path) -> list[Path]:
    """The svmlight files of a folder, by name."""
    path = Path(folder)
    if not path.is_dir():
        raise ValueError(f"folder must be a folder of svmlight files, got {path}")
    found = sorted(part for part in path.iterdir() if part.name.endswith(_ENDINGS))
    if not found:
        raise ValueError(f"folder must hold files that end in {', '.join(_ENDINGS)}: {path}")
    return found


def sets_in(folder: str | Path) -> dict[str, tuple[Path, Path | None]]:
    """The file to learn from and the file to test on, or None, of every set of a folder."""
    found: dict[str, tuple[Path, Path | None]] = {}
    tests = {}
    for path in svmlight_files(folder):
        name, second = path.name.split(".")[:2]
        if second == "test":
            tests[name] = path
        elif name in found:
            raise ValueError(
                f"the files of a folder must have names of their own before the first dot, "
                f"found {found[name][0].name} and {path.name}"
            )
        else:
            found[name] = (path, None)
    for name, path in tests.items():
        if name not in found:
            raise ValueError(f"{path.name} needs a file {name}.train beside it")
        found[name] = (found[name][0], path)
    return found


def rows_of_files(train: Path, test: Path | None, seed: int) -> Rows:
    """One label of the file to learn from against the rest, and rows to test on."""
    corpus = from_svmlight(train)
    return divided(corpus, TEST_SHARE, seed) if test is None else with_test_file(corpus, test)
