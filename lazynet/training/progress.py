"""A progress bar on a terminal, and no output elsewhere.

The bar is tqdm's, if it is installed (``pip install lazynet-linear[progress]``).
"""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """Counts steps; shows a bar when ``show`` and the error stream is a terminal."""

    def __init__(self, total: int, show: bool, label: str) -> None:
        self.bar: Any = None
        if show and sys.stderr.isatty():
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=total, desc=label, unit="example", leave=False, unit_scale=True)

    def advance(self, steps: int) -> None:
        if self.bar is not None:
            self.bar.update(steps)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
