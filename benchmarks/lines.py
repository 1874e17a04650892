"""Lines of source code of two packages that are installed with lazynet."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType


def source_lines() -> tuple[list[str], list[bool]]:
    """Lines that occur in scikit-learn or in SciPy, but not in both, and whether in the first."""
    import scipy
    import sklearn

    first, second = lines_of(sklearn), lines_of(scipy)
    texts = sorted(first ^ second)
    return texts, [text in first for text in texts]


def lines_of(package: ModuleType) -> set[str]:
    files = Path(str(package.__file__)).parent.rglob("*.py")
    return {line.strip() for file in files for line in file.read_text("utf-8").splitlines()}
