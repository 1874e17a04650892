"""Blocks of rows; each is the result of a Dask task, which Dask repeats if a worker is lost."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client, Future, get_client
from distributed.client import FuturesCancelledError
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import checked_csr, plain_arrays
from lazynet.data.chunks import Chunk, Passing, joined, rechunked, reordered
from lazynet.data.files import Paths, changed, files_of
from lazynet.data.source import Facts, Source, Tally, check_no_y_with_source, checked_chunk
from lazynet.data.text_files import LinesFile
from lazynet.parameters import check_integer, shown

#: Neighbouring blocks of a worker share a task, up to this number of stored values.
VALUES_OF_A_TASK = 2**24


class UnreadableBlock(ValueError):
    """A block could not be read or used for training; the message names the block."""


@dataclass(frozen=True)
class Layout:
    """The columns of every block, and the seed of the orders of its rows."""

    n_features: int
    n_labels: int | None
    seed: int | None

    def order(self, chunk: Chunk, number: int, epoch: int) -> NDArray[np.int64]:
        """The order of the rows of a block in an epoch; without a seed that of the block."""
        n_rows = chunk.X.shape[0]
        if self.seed is None:
            return np.arange(n_rows)
        return np.random.default_rng([self.seed, epoch, number]).permutation(n_rows)


def aligned(chunk: Chunk) -> Chunk:
    """The chunk with arrays that kernels can read: those from a network or a disk may be others."""
    return chunk._replace(X=plain_arrays(chunk.X))


def _read_block(part: Any) -> Chunk | Source:
    """The rows of (X, y), (X, y, weights) or a source; a source of files is returned unchanged.

    >>> _read_block(([[0.0, 2.0]], [1])).X.toarray()
    array([[0., 2.]])
    """
    if isinstance(part, Source) and part.identity() is not None:
        _columns_of(part)  # the source keeps what a first pass finds
        return part
    return _rows_of(part)


def _rows_of(part: Any) -> Chunk:
    chunks = [*part.chunks()] if isinstance(part, Source) else [checked_chunk(part, "the block")]
    if chunks:
        chunk = joined(chunks)
        return chunk._replace(X=checked_csr(chunk.X))
    labels = part.n_labels
    y = np.zeros(0) if labels is None else sparse.csr_matrix((0, labels), dtype=np.int8)
    return Chunk(sparse.csr_matrix((0, part.n_features)), y, None)


class Columns(NamedTuple):
    """The columns of a block, before those of all blocks are known."""

    n_features: int
    n_labels: int | None
    #: whether the rows of all blocks give the number of features, and of labels
    are_counted: tuple[bool, bool] = (False, False)
    #: the first column that the rows give, if they give it
    base: int | None = None
    #: of a source of files, whose rows are not read yet
    identity: dict[str, Any] | None = None

    def counts_from(self, base: int) -> tuple[int, int | None]:
        """The numbers of features and of labels if ``base`` is the first column."""
        own = self.base if self.are_counted[0] and self.base is not None else base
        return self.n_features + own - base, self.n_labels


def _columns_of(block: Chunk | Source) -> Columns:
    if isinstance(block, Chunk):
        n_labels = block.y.shape[1] if sparse.issparse(block.y) else None
        return Columns(block.X.shape[1], n_labels)
    columns = Columns(block.n_features, block.n_labels, identity=block.identity())
    if isinstance(block, LinesFile):
        columns = columns._replace(are_counted=block._counts, base=block._found_base())
    return columns


def _read_source(block: Source, columns: Columns, base: int, layout: Layout) -> Chunk:
    """The rows of a source of files, with the columns of all blocks."""
    if block.identity() != columns.identity:
        raise changed(str(block))
    if isinstance(block, LinesFile):
        block = block._settled(base, layout.n_features, layout.n_labels)
    return _rows_of(block)


def _agreed(names: Sequence[str], part: str, counts: Sequence[Any], are_counted: Any) -> Any:
    """The number of columns of all blocks; refuses a block that has others."""
    given = [k for k, is_counted in enumerate(are_counted) if not is_counted]
    first = given[0] if given else int(np.argmax(counts))
    wanted = counts[first]
    for name, count, is_counted in zip(names, counts, are_counted, strict=True):
        if count != wanted and not (is_counted and wanted is not None):
            found = "a number per row" if count is None else count
            expected = "a number per row" if wanted is None else wanted
            raise ValueError(
                f"{name} must have as many columns of {part} as {names[first]}, {expected}, got "
                f"{found}"
            )
    return wanted


def _facts_of(chunk: Chunk) -> tuple[Tally, Chunk]:
    """The counts and the first row of a block, for the client."""
    tally = Tally()
    tally.add(chunk)
    return tally, reordered(chunk, np.arange(min(1, chunk.X.shape[0])))


class Blocks(Source):
    """Rows in blocks on the workers of a cluster, in the order of the blocks.

    A block is made once, on a worker, and stays there.  Dask writes blocks to the disk of the
    worker if they do not fit its memory, and makes the blocks of a lost worker again on another
    worker.  Several fits may use the same blocks.

    Parameters
    ----------
    parts : list of Delayed or Future
        Each gives ``(X, y)`` or ``(X, y, weights)`` of the rows of a block, or a source of
        ``lazynet.data``: X a CSR matrix or an array, y numbers, or a matrix with a column of 0
        and 1 for each label.  All blocks have the same columns.
    client : distributed.Client, optional
        The client of the cluster; None: the current one.
    names : list of str, optional
        The names of the blocks in errors.
    seed : int, optional
        Visit the rows of a block in a random order, which depends on the seed, the epoch and the
        number of the block; None: in the order of the block.  For blocks of equal length this is
        the order of ``lazynet.data.Shuffled`` with windows of this length.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        *,
        client: Client | None = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> None:
        parts = list(parts)
        for number, part in enumerate(parts):
            if not isinstance(part, (Delayed, Future)):
                raise TypeError(
                    f"parts must hold delayed calls or futures that give (X, y), and part {number} "
                    f"is {shown(part):.100}"
                )
        self.names = [f"block {k}" for k in range(len(parts))] if names is None else list(names)
        if len(self.names) != len(parts):
            raise ValueError(f"names must be as many as parts, {len(parts)}, got {len(self.names)}")
        if not parts:
            raise ValueError("parts must hold at least one block")
        self.seed = None if seed is None else check_integer("seed", seed, 0)
        try:
            self.client: Client = get_client() if client is None else client
        except ValueError:
            raise ValueError("there is no client: make dask.distributed.Client()") from None
        workers, calls = sorted(self.client.scheduler_info(n_workers=-1)["workers"]), []
        unique = uuid.uuid4().hex
        for number, part in enumerate(parts):
            place: dict[str, Any] = {}
            # Neighbouring blocks are made on the same worker.
            if workers and not _is_placed(part):
                worker = workers[number * len(workers) // len(parts)]
                place = {"workers": [worker], "allow_other_workers": True}
            with dask.annotate(**place):
                key = f"lazynet-block-{number}-{unique}"
                calls.append(delayed(_read_block, pure=False)(part, dask_key_name=key))
        self.futures: list[Future] = self.client.compute(calls)
        self._block_facts: list[tuple[Tally, Chunk]] | None = None
        #: the results for which fits wait
        self.pending: set[Future] = set()
        self._prepared: dict[str, list[Future]] = {}

    @classmethod
    def of(
        cls, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None,
        seed: int | None = None,
    ) -> Blocks:  # fmt: skip
        """The X, y and weights that ``fit`` takes, as blocks; blocks are returned unchanged.

        The blocks of a Dask array X, of CSR matrices or dense, or the partitions of a DataFrame of
        numbers: y and the weights are Dask arrays, or Series, with the blocks of rows of X.
        """
        if isinstance(X, (Blocks, list, tuple)):
            check_no_y_with_source(y, sample_weight)
            return X if isinstance(X, Blocks) else cls(X, client=client, seed=seed)
        collections = {"X": X, "y": y, "sample_weight": sample_weight}
        if sample_weight is None:
            del collections["sample_weight"]
        parts = []
        for name, collection in collections.items():
            if not hasattr(collection, "to_delayed"):
                kinds = "Blocks, a Dask array or DataFrame, or a list of delayed calls or futures"
                raise TypeError(
                    f"{name} must be {kinds if name == 'X' else 'a Dask array or Series'}, got "
                    f"{type(collection).__name__}: for rows in memory take lazynet's own estimators"
                )
            if max(getattr(collection, "numblocks", (1, 1))[1:], default=1) > 1:
                raise ValueError(
                    f"{name} must have its columns in one block: write {name}.rechunk({{1: -1}}), "
                    f"so that a row is in one block"
                )
            parts.append(np.ravel(collection.to_delayed()).tolist())
            lengths = [getattr(rows, "chunks", [()])[0] for rows in (X, collection)]
            differ = any(a != b for a, b in zip(*lengths, strict=False) if a == a and b == b)
            if differ or len(parts[-1]) != len(parts[0]):
                raise ValueError(f"{name} must have the blocks of rows of X: write {name}.rechunk")
        tuples = [delayed(tuple)(list(block)) for block in zip(*parts, strict=True)]
        return cls(tuples, client=client, seed=seed)

    @classmethod
    def from_files(cls, paths: Paths, reader: Any, **options: Any) -> Blocks:
        """A block per file, which a worker reads by ``reader``; every worker must have access.

        ``reader`` is a source of ``lazynet.data``, such as ``SvmlightFile``, or a function from the
        name of a file to ``(X, y)``.  What ``SvmlightFile`` finds in the rows, the first column and
        the number of columns, it finds in the rows of all files.
        """
        names = [os.path.abspath(path) for path in files_of(paths)]
        parts = [delayed(reader, pure=False)(name) for name in names]
        return cls(parts, names=names, **options)

    def __len__(self) -> int:
        return len(self.futures)

    def gathered(self, futures: Sequence[Future]) -> list[Any]:
        """The results; an error names the block that could not be read or used."""
        self.pending.update(futures)
        try:
            return self.client.gather(futures)  # type: ignore[no-any-return]
        except (CancelledError, FuturesCancelledError) as error:
            raise RuntimeError(
                "a block, or a result from it, is lost with its worker, and cannot be made again: "
                "give blocks as delayed calls, which Dask repeats on another worker"
            ) from error
        except Exception as error:
            rows = zip(self.futures, *self._prepared.values(), strict=True)
            for name, tasks in zip(self.names, rows, strict=True):
                if any(task.status == "error" for task in tasks):
                    verb = "read" if tasks[0].status == "error" else "learned from"
                    raise UnreadableBlock(f"{name} cannot be {verb}: {error}") from error
            raise
        finally:
            self.pending.difference_update(futures)

    def block_facts(self) -> list[tuple[Tally, Chunk]]:
        """The counts and the first row of every block; waits until all blocks are made."""
        if self._block_facts is None:
            made = self.futures
            self._read_files()
            facts = self.gathered(self.client.map(_facts_of, self.futures, pure=False))
            # A task that is restricted to lost workers would wait for them without end.
            free = {future.key: None for future in [*made, *self.futures]}
            self.client.sync(self.client.scheduler.set_restrictions, worker=free)
            # No task visits a block without rows.
            full = [k for k, (tally, _) in enumerate(facts) if tally.n_rows]
            if not full:
                raise ValueError("X must have at least one row, and the blocks have none")
            self.names = [self.names[k] for k in full]
            self.futures = [self.futures[k] for k in full]
            self._block_facts = [facts[k] for k in full]
        return self._block_facts

    def _read_files(self) -> None:
        """Find the columns of all blocks, and let the workers read the sources of files."""
        columns = self.gathered(self.client.map(_columns_of, self.futures, pure=False))
        base = min((each.base for each in columns if each.base is not None), default=0)
        features, labels = zip(*(each.counts_from(base) for each in columns), strict=True)
        of_X, of_y = zip(*(each.are_counted for each in columns), strict=True)
        n_features = _agreed(self.names, "X", features, of_X)
        self._layout = Layout(n_features, _agreed(self.names, "y", labels, of_y), self.seed)
        homes = self.client.who_has(self.futures)
        self.futures = [
            self.submitted(
                "lazynet-block", _read_source, future, each, base, self._layout,
                home=next(iter(homes.get(future.key, ())), None),
            )
            if each.identity is not None
            else future
            for future, each in zip(self.futures, columns, strict=True)
        ]  # fmt: skip

    @property
    def layout(self) -> Layout:
        """The columns of all blocks and the seed of their rows; waits until all are made."""
        self.block_facts()
        return self._layout

    def groups(self) -> list[tuple[range, str | None]]:
        """Ranges of neighbouring blocks on a worker, a task each; and the address of the worker."""
        workers = self.client.who_has(self.futures)
        tasks: list[tuple[range, str | None]] = []
        n_values = 0
        for k, (future, (tally, _)) in enumerate(
            zip(self.futures, self.block_facts(), strict=True)
        ):
            homes, added = workers.get(future.key) or [None], tally.n_values
            last, home = tasks[-1] if tasks else (range(0), None)
            if last and home in homes and n_values + added <= VALUES_OF_A_TASK:
                tasks[-1], n_values = (range(last.start, k + 1), home), n_values + added
            else:
                tasks.append((range(k, k + 1), home if home in homes else homes[0]))
                n_values = added
        return tasks

    def submitted(
        self, key: str, function: Any, *arguments: Any, home: str | None = None
    ) -> Future:
        """The future of a task, preferably on the worker ``home`` if it is not None."""
        place = {"workers": [home], "allow_other_workers": True} if home else {}
        key = f"{key}-{uuid.uuid4().hex}"
        # Dask warns of a large task. A model that is sent in another way is lost with its worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, key=key, pure=False, **place)

    def prepared(self, prepare: Callable[[Chunk], Any]) -> list[Future]:
        """The results of ``prepare`` for every block; fits with the same ``prepare`` share them."""
        token = dask.tokenize.tokenize(prepare)
        if token not in self._prepared:
            make = partial(_prepared, prepare)
            futures = self.client.map(make, self.futures, key="lazynet-prepare", pure=False)
            self._prepared[token] = futures
        return self._prepared[token]

    @property
    def n_features(self) -> int:
        """The number of columns of every block."""
        return self.layout.n_features

    @property
    def n_labels(self) -> int | None:
        """The number of columns of y for several labels a row."""
        return self.layout.n_labels

    def _find_facts(self) -> Facts:
        total = Tally()
        for tally, _ in self.block_facts():
            total.join(tally)
        return total.facts(self.n_features, self.n_labels)

    def _pass(self, rows: int, epoch: int) -> Passing:
        """The rows on the client, one block after the other."""

        def chunks() -> Iterator[Chunk]:
            for number, future in enumerate(self.futures):
                chunk = aligned(self.gathered([future])[0])
                order = self.layout.order(chunk, number, epoch)
                yield chunk if self.seed is None else reordered(chunk, order)

        return rechunked(chunks(), rows)


def _prepared(prepare: Callable[[Chunk], Any], chunk: Chunk) -> Any:
    return prepare(aligned(chunk))


def _is_placed(part: Any) -> bool:
    """Whether a part is on a worker already, or is computed from results on workers."""
    if not isinstance(part, Delayed):
        return isinstance(part, Future)
    values = dict(part.__dask_graph__()).values()
    return any(isinstance(getattr(value, "value", value), Future) for value in values)
