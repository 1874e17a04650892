"""Blocks of rows on the workers of a Dask cluster."""

from __future__ import annotations

import hashlib
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import cloudpickle
import dask
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client, Future, get_client
from scipy import sparse

from lazynet.dask.held import (
    BlockFacts,
    Prepare,
    as_wide,
    facts_of,
    held,
    made,
    prepared,
)
from lazynet.dask.ring import Ring
from lazynet.params import shown
from lazynet.streams.chunks import Chunk, Passing, rechunked
from lazynet.streams.opening import Paths, files_of
from lazynet.streams.source import Facts, Labels, Source

_ONE_COLUMN_OF_BLOCKS = (
    "must have its columns in one block: write X.rechunk({1: -1}), so that a row is in one block"
)


class Blocks(Source):
    """Rows in blocks on the workers of a cluster, in the order of the blocks.

    A block is made once, on a worker, and stays there; Dask writes blocks to the disk of the worker
    where they do not fit its memory, and makes the blocks of a lost worker anew on another.
    Several fits may use the same blocks.

    Parameters
    ----------
    parts : list of Delayed or Future
        Each gives ``(X, y)`` or ``(X, y, weights)`` of the rows of a block, or a source of
        ``lazynet.streams``: X a CSR matrix or an array, y numbers, or a matrix with a column of 0
        and 1 for each label.
    client : distributed.Client, optional
        The client of the cluster; None: the current one.
    names : list of str, optional
        What errors call the blocks.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        *,
        client: Client | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        parts = list(parts)
        for number, part in enumerate(parts):
            if not isinstance(part, (Delayed, Future)):
                raise TypeError(
                    f"parts must hold delayed calls or futures that give (X, y), and part {number} "
                    f"is {shown(part):.100}"
                )
        if not parts:
            raise ValueError("parts must hold at least one block")
        self.client = get_client() if client is None else client
        names = [f"block {k}" for k in range(len(parts))] if names is None else list(names)
        if len(names) != len(parts):
            raise ValueError(f"names must be as many as parts, {len(parts)}, got {len(names)}")
        self._begin([(held, (part, name)) for part, name in zip(parts, names, strict=True)], names)

    def _begin(self, calls: Sequence[tuple[Any, tuple[Any, ...]]], names: list[str]) -> None:
        """Let the workers make the blocks, each of them as many as the others if it can be.

        Blocks that follow each other are on the same worker, where a model visits them in one task.
        """
        workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        wanted, unique = [], uuid.uuid4().hex
        for number, (function, arguments) in enumerate(calls):
            key = f"lazynet-block-{number}-{unique}"
            free = bool(workers) and not any(_is_placed(each) for each in arguments)
            place: dict[str, Any] = {}
            if free:
                worker = workers[number * len(workers) // len(calls)]
                place = {"workers": [worker], "allow_other_workers": True}
            with dask.annotate(**place):
                wanted.append(delayed(function, pure=False)(*arguments, dask_key_name=key))
        futures = self.client.compute(wanted)
        self.ring = Ring(self.client, names, futures)
        self._known: list[BlockFacts] | None = None
        self._width = 0
        self._prepared: dict[str, list[Future]] = {}
        self._lock = threading.RLock()

    @classmethod
    def of_arrays(
        cls, X: Any, y: Any, sample_weight: Any = None, *, client: Client | None = None
    ) -> Blocks:
        """The blocks of a Dask array X, of CSR matrices or dense, with Dask arrays y and weights.

        The blocks of rows of y and of the weights are those of X.
        """
        columns = [("X", X), ("y", y)]
        columns += [] if sample_weight is None else [("sample_weight", sample_weight)]
        for name, array in columns:
            if not hasattr(array, "to_delayed") or not hasattr(array, "numblocks"):
                raise TypeError(f"{name} must be a Dask array as X is, got {shown(array):.100}")
            if array.ndim > 1 and array.numblocks[1] > 1:
                raise ValueError(f"{name} {_ONE_COLUMN_OF_BLOCKS}")
            if array.numblocks[0] != X.numblocks[0] or _differ(array.chunks[0], X.chunks[0]):
                raise ValueError(
                    f"{name} must have the blocks of rows of X, {X.chunks[0]}, got "
                    f"{array.chunks[0]}: write {name}.rechunk"
                )
        parts = zip(*(array.to_delayed().ravel() for _, array in columns), strict=True)
        return cls([delayed(tuple)(list(part)) for part in parts], client=client)

    @classmethod
    def from_partitions(
        cls, collection: Any, function: Callable[[Any], Any], *, client: Client | None = None
    ) -> Blocks:
        """A block of every partition of a DataFrame, a bag or another collection.

        ``function`` makes ``(X, y)`` or ``(X, y, weights)`` of a partition, on a worker.
        """
        found = cls.__new__(cls)
        found.client = get_client() if client is None else client
        parts = [*np.ravel(collection.to_delayed())]
        names = [f"partition {k}" for k in range(len(parts))]
        found._begin(
            [(made, (function, part, name)) for part, name in zip(parts, names, strict=True)],
            names,
        )
        return found

    @classmethod
    def from_files(
        cls,
        paths: Paths,
        reader: Callable[[str], Any],
        *,
        client: Client | None = None,
    ) -> Blocks:
        """A block of every file, which a worker reads by ``reader``.

        ``reader`` is a source of ``lazynet.streams``, such as ``SvmlightFile``, or a function that
        makes ``(X, y)`` of the name of a file.  Every worker must see the files.
        """
        found = cls.__new__(cls)
        found.client = get_client() if client is None else client
        names = [os.path.abspath(path) for path in files_of(paths)]
        found._begin([(made, (reader, name, name)) for name in names], names)
        return found

    def __len__(self) -> int:
        return len(self.ring.futures)

    def __repr__(self) -> str:
        return f"Blocks({len(self)} blocks)"

    # --- a source ---

    def known(self) -> list[BlockFacts]:
        """The facts of every block that has rows; waits until all blocks are made."""
        with self._lock:
            if self._known is None:
                self.ring.owners()
                # Where a block is decides where this is done, also after a loss.
                key = f"lazynet-facts-{uuid.uuid4().hex}"
                found = self.ring.gathered(
                    self.client.map(facts_of, self.ring.futures, key=key, pure=False)
                )
                kinds = {each.n_labels is None for each in found}
                if len(kinds) > 1:
                    raise ValueError(
                        "y must have a column per label in every block, or a number per row in "
                        "every block"
                    )
                self._width = max(each.n_features for each in found)
                # A block without rows is no place to visit.
                full = [k for k, each in enumerate(found) if each.tally.n_rows]
                if full:
                    names, futures = self.ring.names, self.ring.futures
                    self.ring = Ring(
                        self.client, [names[k] for k in full], [futures[k] for k in full]
                    )
                    found = [found[k] for k in full]
                self._known = found
            return self._known

    @property
    def lengths(self) -> list[int]:
        """The number of rows of every block that has rows."""
        return [each.tally.n_rows for each in self.known()]

    def _find_features(self) -> int:
        self.known()
        return self._width

    def _find_labels(self) -> int | None:
        found = [each.n_labels for each in self.known() if each.n_labels is not None]
        return max(found) if found else None

    def _find_facts(self) -> Facts:
        known = self.known()
        labels = Labels()
        for each in known:
            labels.join(each.tally.labels)
        return Facts(
            sum(each.tally.n_rows for each in known),
            sum(each.tally.n_values for each in known),
            self.n_features,
            self.n_labels,
            labels.classes,
            labels.counts,
        )

    def _find_identity(self) -> dict[str, Any] | None:
        return {"blocks": [each.told for each in self.known()]}

    def _pass(self, rows: int, epoch: int) -> Passing:
        """The rows on the client, one block after the other."""
        wide = self.n_features, self.n_labels
        return rechunked((as_wide(chunk, *wide) for chunk in self._fetched()), rows)

    def _fetched(self) -> Iterator[Chunk]:
        """The rows of every block, on the client."""
        for future in self.ring.futures:
            yield self.ring.gathered([future])[0]

    # --- for fits ---

    def prepared(self, prepare: Prepare) -> list[Future]:
        """What the rows of every block are for a fit; fits that ask for the same share it."""
        token = hashlib.blake2b(cloudpickle.dumps(prepare), digest_size=12).hexdigest()
        wide = self.n_features, self.n_labels
        with self._lock:
            if token not in self._prepared:
                # What a block is prepared from decides where this is done, also after a loss.
                self._prepared[token] = [
                    self.client.submit(
                        prepared, future, prepare, *wide, name,
                        key=f"lazynet-prepare-{number}-{uuid.uuid4().hex}", pure=False,
                    )
                    for number, (name, future) in enumerate(
                        zip(self.ring.names, self.ring.futures, strict=True)
                    )
                ]  # fmt: skip
            return self._prepared[token]


def _is_placed(part: Any) -> bool:
    """Whether a part is on a worker already, or is computed from what is on workers."""
    if isinstance(part, Future):
        return True
    if not isinstance(part, Delayed):
        return False
    return any(
        isinstance(getattr(value, "value", value), Future)
        for value in dict(part.__dask_graph__()).values()
    )


def _differ(found: Iterable[float], wanted: Iterable[float]) -> bool:
    """Whether blocks have other numbers of rows; unknown numbers differ from none."""
    pairs = zip(found, wanted, strict=False)
    return any(a != b for a, b in pairs if a == a and b == b)


def as_blocks(X: Any, y: Any, sample_weight: Any, client: Client | None) -> Blocks:
    """What ``fit`` was given, as blocks.

    Rows are blocks already, a Dask array beside a Dask array y, or a list of delayed calls or of
    futures.
    """
    if isinstance(X, (Blocks, list, tuple)):
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(f"{name} must be None where X is blocks, which have it")
        return X if isinstance(X, Blocks) else Blocks(X, client=client)
    if hasattr(X, "to_delayed") and hasattr(X, "numblocks"):
        return Blocks.of_arrays(X, y, sample_weight, client=client)
    if hasattr(X, "to_delayed"):
        raise TypeError(
            "X is a collection of partitions: write "
            "X=Blocks.from_partitions(collection, function), with a function that makes (X, y) of "
            "a partition"
        )
    kind = "sparse matrix" if sparse.issparse(X) else type(X).__name__
    raise TypeError(
        f"X must be Blocks, a Dask array, or a list of delayed calls or futures that give (X, y), "
        f"got {kind}: for rows in the memory of this process take lazynet's own estimators"
    )
