"""The memory that a fit takes, estimated before it begins, and the memory of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass

#: Bytes of a weight of ``coef_``, and of a weight in a CSR matrix: the number and its column.
WEIGHT_BYTES, SPARSE_WEIGHT_BYTES = 8, 12
#: A fit that takes fewer bytes than this is not compared with the memory of the machine.
_SMALL = 2**22


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

    @property
    def small(self) -> bool:
        """Whether the fit takes so little that the memory of the machine need not be looked up."""
        return self.total < _SMALL

    def told(self) -> str:
        """The estimate in one line."""
        terms = [f"{in_bytes(self.weights)} of weights in {self.dtype}"]
        if self.best:
            terms.append(f"{in_bytes(self.best)} for the best epoch")
        if self.judged:
            terms.append(f"{in_bytes(self.judged)} to judge an epoch")
        if self.coef is None:
            terms.append(f"{SPARSE_WEIGHT_BYTES} bytes for a weight of coef_ that is not 0")
        else:
            terms.append(f"{in_bytes(self.coef)} for coef_")
        outputs = f"{self.n_outputs:,} output{'s' * (self.n_outputs > 1)}"
        return f"{outputs} x {self.n_features:,} features: {', '.join(terms)}"

    def check(self, there: int | None, advice: str) -> None:
        """Raise MemoryError where more is needed than is ``there``; None: unknown.

        >>> Estimate(2, 10**9, "float64", 10**11, 0, None).check(10**9, "take fewer features")
        Traceback (most recent call last):
        ...
        MemoryError: 2 outputs x 1,000,000,000 features: 100 GB of weights in float64, 12 bytes \
for a weight of coef_ that is not 0; the fit needs 100 GB, and the machine has 1 GB of \
memory: take fewer features
        """
        if there is not None and self.total > there:
            raise MemoryError(
                f"{self.told()}; the fit needs {in_bytes(self.total)}, and the machine has "
                f"{in_bytes(there)} of memory: {advice}"
            )


def in_bytes(count: float) -> str:
    """Bytes in the unit in which they can be read.

    >>> in_bytes(64), in_bytes(1_044_000_000), in_bytes(999_900_000)
    ('64 bytes', '1.04 GB', '1 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= 0.9995 * size:
            return f"{count / size:.3g} {unit}" if count < 1e12 else f"{count / size:,.0f} {unit}"
    return f"{count:g} bytes"


def physical_bytes() -> int | None:
    """Bytes of memory that the machine has; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
