"""The steps that the rows of one table have missed, and their composition.

A step maps a weight w to ``sign(w) [a |w| - b]+``.  As in the tables of Lipton & Elkan, two numbers
are stored for every step: the logarithm of the product of all a, and the l1 part B <- a B + b.  A
row stores how many steps it has taken (int32).  The steps from s to t are one step with

    A = exp(log_t - log_s)  and  B = B_t - A B_s.

tests/on_torch/test_lazy_equals_dense.py compares it with ``lazynet.reference.embeddings``.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

#: What ``last`` holds for a row that takes no step.
NEVER = 2**31 - 1
#: The rows that a pass over the table updates at once.
BLOCK = 2**13
#: The tables restart when the product of all a is below exp(-FAR): a logarithm is rounded to a
#: fraction of its size.
FAR = 64.0


class Table:
    """The weights of a table, and the steps that its rows have missed."""

    def __init__(
        self, weight: torch.nn.Parameter, padding: Iterable[int], budget: int, by_row: bool
    ) -> None:
        self.weight, self.padding, self.budget, self.by_row = weight, set(padding), budget, by_row
        #: The passes over all rows so far.
        self.flushes = 0
        self._begin()

    def _begin(self) -> None:
        """No row has missed a step; the tables are on the device of the weights."""
        #: The steps since the tables began, the logarithm of the product of their a, and their B.
        self.t, self.log, self.b = 0, 0.0, 0.0
        values = self.weight.data
        with torch.inference_mode(False):
            self.last = torch.zeros(len(values), dtype=torch.int32, device=values.device)
            for row in self.padding:
                self.last[row] = NEVER
            self.steps = torch.zeros(self.budget + 1, 2, dtype=torch.float64, device=values.device)

    def advance(self, a: float, log_a: float, b: float) -> None:
        """Every row misses one more step."""
        if self.t == 0 and (
            len(self.last) != len(self.weight.data) or self.last.device != self.weight.device
        ):
            self._begin()
        self.t, self.log, self.b = self.t + 1, self.log + log_a, a * self.b + b
        self.steps[self.t, 0], self.steps[self.t, 1] = self.log, self.b
        if self.t == self.budget or self.log < -FAR:
            self.flush()

    def catch_up(self, rows: torch.Tensor) -> None:
        """Apply the missed steps of these rows; a row may occur several times."""
        if self.t == 0:
            return
        since = self.last.index_select(0, rows)
        late = since < self.t
        count = int(late.sum())
        if count == 0:
            return
        if count < len(rows):
            rows, since = rows[late], since[late]
        values = self.weight.data.index_select(0, rows)
        # Of a row that occurs twice the same value is written twice.
        self.weight.data.index_copy_(0, rows, self._stepped(values, since))
        self.last.index_fill_(0, rows.long(), self.t)

    def flush(self) -> None:
        """Apply the missed steps of all rows, and restart the tables."""
        if self.t == 0:
            return
        values = self.weight.data
        for start in range(0, len(values), BLOCK):
            block, last = values[start : start + BLOCK], self.last[start : start + BLOCK]
            since = last.clamp(max=self.t)
            if (since < self.t).any():
                block.copy_(self._stepped(block, since))
                last.clamp_(min=self.t)
        self.flushes += 1
        self.t, self.log, self.b = 0, 0.0, 0.0
        self.last.masked_fill_(self.last < NEVER, 0)

    def _stepped(self, values: torch.Tensor, since: torch.Tensor) -> torch.Tensor:
        """The values after the steps from ``since`` on; float32 and float64 change in place."""
        if values.dtype not in (torch.float32, torch.float64):
            return self._stepped(values.float(), since).to(values.dtype)
        log, b = self.steps.index_select(0, since).unbind(1)
        a = torch.exp(self.log - log)
        if self.b == 0:
            return values.mul_(a.to(values.dtype)[:, None])
        b = (self.b - a * b).clamp_(min=0)
        if self.by_row:
            norm = torch.linalg.vector_norm(values, dim=1, dtype=torch.float64)
            # A row of zeros stays one.
            factor = (a * norm - b).clamp_(min=0) / norm.clamp(min=torch.finfo(norm.dtype).tiny)
            return values.mul_(factor.to(values.dtype)[:, None])
        values.mul_(a.to(values.dtype)[:, None])
        b = b.to(values.dtype)[:, None]
        return values.sub_(torch.clamp(values, -b, b))
