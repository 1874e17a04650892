"""What several outputs have learned, after their engines are given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.base import LOWER_ETA0, Engine

#: A row of weights for every output: an array or a CSR matrix.
Rows: TypeAlias = Any


class LearnedOutputs(Engine):
    """The weights and intercepts of many outputs, to be read; they learn no further.

    Where outputs learn one part after the other, every part hands its weights over and gives back
    its engines, which take more memory: numbers per weight, and weights that are 0.
    """

    name = "learned"
    _per_weight = ()
    _scalars = ()

    def __init__(
        self,
        rows: Rows,
        intercepts: NDArray[np.float64],
        last: tuple[Rows, NDArray[np.float64]] | None,
        rate: float | None,
        advice: str,
    ) -> None:
        super().__init__(rows.shape[1])
        self.n_outputs = rows.shape[0]
        self._model, self._last = (rows, intercepts), last
        self._rate, self.advice = rate, advice

    @property
    def averaging(self) -> bool:
        return self._last is not None

    @property
    def given(self) -> Rows:
        """The weights that predict: the engine's own read-only rows, an array or a CSR matrix."""
        return self._model[0]

    def rows(
        self, out: NDArray[np.float64] | None = None, *, last: bool = False
    ) -> NDArray[np.float64]:
        found, _ = self._of(last)
        out = np.empty((self.n_outputs, self.n_features)) if out is None else out
        if sparse.issparse(found):
            found.toarray(out=out)
        else:
            out[...] = found
        return out

    def sparse_rows(self, *, last: bool = False) -> sparse.csr_matrix:
        return sparse.csr_matrix(self._of(last)[0])

    def rows_at(self, which: NDArray[Any]) -> NDArray[np.float64]:
        found = self.given[:, which]
        return np.asarray(found.toarray() if sparse.issparse(found) else found)

    @property
    def intercepts(self) -> NDArray[np.float64]:
        return self._of(last=True)[1].copy()

    @property
    def model_intercepts(self) -> NDArray[np.float64]:
        return self._model[1].copy()

    @property
    def present_rate(self) -> float | None:
        return self._rate

    def _of(self, last: bool) -> tuple[Rows, NDArray[np.float64]]:
        return self._model if self._last is None or not last else self._last


class Gathering:
    """Takes over the weights of one part of the outputs after the other.

    >>> from lazynet.engines.clock import ClockEngine
    >>> gathering = Gathering(2, 3, as_sparse=False)
    >>> for weight in (1.0, 2.0):
    ...     engine = ClockEngine(3)
    ...     engine.load(np.full(3, weight), 0.5)
    ...     _ = gathering.take([engine])
    >>> learned = gathering.done()
    >>> learned.rows().tolist(), learned.intercepts.tolist()
    ([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [0.5, 0.5])
    """

    def __init__(self, n_outputs: int, n_features: int, *, as_sparse: bool) -> None:
        self.shape = n_outputs, n_features
        self._as_sparse = as_sparse
        #: the weights that predict, and the last weights, where these are others
        self._places: dict[bool, _Place] = {}
        self._rate: float | None = None
        self._advice = LOWER_ETA0

    def take(self, engines: Sequence[Engine]) -> list[NDArray[np.float64]]:
        """Read the weights of the next outputs; the engines can then be given back.

        Returns all numbers that were read.
        """
        if not self._places:
            self._rate, self._advice = engines[0].present_rate, engines[0].advice
            kinds = (False, True) if any(engine.averaging for engine in engines) else (False,)
            self._places = {last: _Place(self.shape, self._as_sparse, last) for last in kinds}
        return [
            numbers
            for place in self._places.values()
            for engine in engines
            for numbers in place.take(engine)
        ]

    @property
    def n_taken(self) -> int:
        """The number of outputs that have been read."""
        return max((place.taken for place in self._places.values()), default=0)

    def kept(self) -> dict[str, Any]:
        """What has been read so far, as numbers and arrays by name."""
        places = {str(last): place.kept() for last, place in self._places.items()}
        return {"rate": self._rate, "advice": self._advice, "places": places}

    def keep(self, kept: dict[str, Any]) -> None:
        """Take over what another gathering of the same outputs has ``kept``."""
        self._rate, self._advice = kept["rate"], kept["advice"]
        self._places = {}
        for last in (False, True):
            if str(last) in kept["places"]:
                self._places[last] = _Place(self.shape, self._as_sparse, last)
                self._places[last].keep(kept["places"][str(last)], self.shape)

    def done(self) -> LearnedOutputs:
        """All outputs, after the last part."""
        model, *last = (self._places[kind].all() for kind in sorted(self._places))
        return LearnedOutputs(*model, last[0] if last else None, self._rate, self._advice)


class _Place:
    """The place of one kind of weights: an array of all outputs, or a list of CSR matrices."""

    def __init__(self, shape: tuple[int, int], as_sparse: bool, last: bool) -> None:
        self._last = last
        self._dense = None if as_sparse else np.empty(shape)
        self._sparse: list[sparse.csr_matrix] = []
        self._intercepts: list[NDArray[np.float64]] = []
        #: the number of outputs that have been read
        self.taken = 0

    def kept(self) -> dict[str, Any]:
        """What has been read so far."""
        found: dict[str, Any] = {"intercepts": np.concatenate(self._intercepts)}
        if self._dense is None:
            rows = sparse.vstack(self._sparse, format="csr")
            found |= {"values": rows.data, "columns": rows.indices, "starts": rows.indptr}
        else:
            found["rows"] = self._dense[: self.taken]
        return found

    def keep(self, kept: dict[str, Any], shape: tuple[int, int]) -> None:
        """Take over what another place has ``kept``."""
        intercepts = kept["intercepts"]
        taken = len(intercepts)
        if intercepts.dtype != np.float64 or intercepts.ndim != 1 or not 0 < taken <= shape[0]:
            raise ValueError("the intercepts that were gathered are not as they must be")
        if self._dense is None:
            parts = kept["values"], kept["columns"], kept["starts"]
            rows = sparse.csr_matrix(parts, shape=(taken, shape[1]))
            rows.check_format(full_check=True)
            if rows.data.dtype != np.float64:
                raise ValueError("the weights that were gathered are not as they must be")
            self._sparse = [rows]
        elif kept["rows"].shape != (taken, shape[1]) or kept["rows"].dtype != np.float64:
            raise ValueError("the weights that were gathered are not as they must be")
        else:
            self._dense[:taken] = kept["rows"]
        self._intercepts, self.taken = [intercepts], taken

    def take(self, engine: Engine) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the weights and the intercepts that it has read."""
        if self._dense is None:
            rows = engine.sparse_rows(last=self._last)
            self._sparse.append(rows)
            numbers = rows.data
        else:
            numbers = self._dense[self.taken : self.taken + engine.n_outputs]
            engine.rows(numbers, last=self._last)
        self.taken += engine.n_outputs
        self._intercepts.append(engine.intercepts if self._last else engine.model_intercepts)
        return numbers, self._intercepts[-1]

    def all(self) -> tuple[Rows, NDArray[np.float64]]:
        if self._dense is None:
            rows: Rows = _stacked(self._sparse)
            arrays = [rows.data, rows.indices, rows.indptr]
        else:
            rows, arrays = self._dense, [self._dense]
        for array in arrays:
            array.flags.writeable = False
        return rows, np.concatenate(self._intercepts)


def _stacked(parts: list[sparse.csr_matrix]) -> sparse.csr_matrix:
    """The rows of all parts as one matrix; each part is given back as soon as it is copied.

    >>> parts = [sparse.csr_matrix([[1.0, 0.0]]), sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]])]
    >>> _stacked(parts).toarray().tolist(), parts
    ([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [])
    """
    shape = sum(part.shape[0] for part in parts), parts[0].shape[1]
    size = sum(part.nnz for part in parts)
    kind = np.int32 if max(size, *shape) < 2**31 else np.int64
    # Memory that is not written yet takes no room where the system pages.
    numbers, columns = np.empty(size), np.empty(size, dtype=kind)
    starts = np.zeros(shape[0] + 1, dtype=kind)
    row = place = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        numbers[place : place + part.nnz] = part.data
        columns[place : place + part.nnz] = part.indices
        starts[row + 1 : row + 1 + part.shape[0]] = part.indptr[1:] + kind(place)
        row, place = row + part.shape[0], place + part.nnz
    return sparse.csr_matrix((numbers, columns, starts), shape=shape)
