"""Compiled kernels: one file an algorithm, shared inline functions in ``.pxd`` and ``lanes.h``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what the kernels hold has no types

    def __getattr__(name: str) -> Any: ...
