"""What a fit takes in memory, told before it begins, and the memory that the machine has left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

#: Bytes of a weight of ``coef_``, and of a weight in a CSR matrix: the number and its column.
WEIGHT_BYTES, SPARSE_WEIGHT_BYTES = 8, 12
#: A fit that takes fewer bytes than this is not compared with the memory that is left.
_SMALL = 2**22

#: The folder of the control groups; the files of a group in version 2 and in version 1: the limit,
#: the use, and the name of the part of the use that the system gives up when it is asked to.
_GROUPS = "sys/fs/cgroup"
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


@dataclass(frozen=True)
class Estimate:
    """The bytes that a fit takes at the most, beside X and y.

    >>> estimate = Estimate(128, 260_941, "float32", 133_601_792, 133_601_792, None)
    >>> print(estimate.told().replace(": ", ":\\n"))
    128 outputs x 260,941 features:
    134 MB of weights in float32, 134 MB for the best epoch, 12 bytes for a weight of coef_ that \
is not 0
    """

    n_outputs: int
    n_features: int
    dtype: str
    #: bytes of the weights that learn, and of their copy at the best epoch
    weights: int
    best: int
    #: bytes of ``coef_``; None where it is sparse, and its size is known only at the end
    coef: int | None
    #: bytes of the weights that are read at once to judge an epoch
    judged: int = 0

    @property
    def total(self) -> int:
        """All bytes that are known beforehand."""
        return self.weights + self.best + (self.coef or 0) + self.judged

    def told(self) -> str:
        """The estimate in one line."""
        return f"{self._shape()}: {', '.join(self._terms())}"

    def check(self, available: int | None, advice: str) -> None:
        """Raise MemoryError where more is needed than is ``available``; None: nobody knows.

        >>> Estimate(2, 10**9, "float64", 10**11, 0, None).check(10**9, "take fewer features")
        Traceback (most recent call last):
        ...
        MemoryError: 2 outputs x 1,000,000,000 features: 100 GB of weights in float64, 12 bytes \
for a weight of coef_ that is not 0; the fit needs 100 GB, and 1 GB of memory is available: take \
fewer features
        """
        if available is not None and self.total > available:
            raise MemoryError(
                f"{self.told()}; the fit needs {in_bytes(self.total)}, and {in_bytes(available)} "
                f"of memory is available: {advice}"
            )

    @property
    def small(self) -> bool:
        """Whether the fit takes so little that the memory that is left need not be looked up."""
        return self.total < _SMALL

    def _shape(self) -> str:
        outputs = f"{self.n_outputs:,} output{'s' * (self.n_outputs > 1)}"
        return f"{outputs} x {self.n_features:,} features"

    def _terms(self) -> Iterator[str]:
        yield f"{in_bytes(self.weights)} of weights in {self.dtype}"
        if self.best:
            yield f"{in_bytes(self.best)} for the best epoch"
        if self.judged:
            yield f"{in_bytes(self.judged)} to judge an epoch"
        if self.coef is None:
            yield f"{SPARSE_WEIGHT_BYTES} bytes for a weight of coef_ that is not 0"
        else:
            yield f"{in_bytes(self.coef)} for coef_"


def in_bytes(count: float) -> str:
    """Bytes in the unit in which they can be read.

    >>> in_bytes(64), in_bytes(1_044_000_000), in_bytes(999_900_000)
    ('64 bytes', '1.04 GB', '1 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * size:
            return f"{count / size:.3g} {unit}" if count < 1e12 else f"{count / size:,.0f} {unit}"
    return f"{count:g} bytes"


def available_bytes(root: str | Path = "/") -> int | None:
    """Bytes of memory that are free without swapping; None where the system does not say.

    The least of what the machine has left and of what the control groups of the process allow.
    ``root`` is the folder below which the files of Linux lie.
    """
    found = [_left_on_the_machine(Path(root)), *_left_in_groups(Path(root))]
    return min((number for number in found if number is not None), default=None)


def _left_on_the_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not count its pages
        return None


def _left_in_groups(root: Path) -> Iterator[int]:
    """What the limits of the control groups leave, of the process's own group and those above."""
    for line in _lines(root / "proc/self/cgroup"):
        _, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if kinds == "":
            folder, names = root / _GROUPS, _VERSION_2
        elif "memory" in kinds.split(","):
            folder, names = root / _GROUPS / "memory", _VERSION_1
        else:
            continue
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            limit, used = (_number(folder / group / name) for name in names[:2])
            if limit is not None and used is not None:
                yield max(limit - used + _given_up(folder / group / "memory.stat", names[2]), 0)


def _given_up(path: Path, name: str) -> int:
    """Bytes of files that the system keeps in memory as long as nobody needs the memory."""
    found = (line.split() for line in _lines(path))
    return next((int(words[1]) for words in found if words[0] == name), 0)


def _number(path: Path) -> int | None:
    """The number in a file; None for "max" and where there is no such file."""
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
