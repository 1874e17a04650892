"""A fit in a file while it runs, so that the same call goes on after its process was killed.

A checkpoint is a file of the container with a document of three parts:

    call        what the call of ``fit`` was: the class, the parameters, checksums of the data
    seed        the seed of a run whose ``random_state`` is None
    state       where the run stands, a part for everyone who follows the run

A run does everything anew that follows from its parameters and data, and reads from the file what
the steps have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet._version import __version__
from lazynet.data import atomic_files
from lazynet.data.atomic_files import check_path
from lazynet.parameters import Number, shown
from lazynet.persistence import container
from lazynet.persistence.values import CannotSave, Reader, Writer

#: What the metadata of a file call it.
FORMAT = "lazynet checkpoint"
#: The version of the format that this lazynet writes and reads.
FORMAT_VERSION = 1
#: Seconds between two files, where the user does not say.
EVERY = 60.0

_SECONDS = Number(least=0)
# Writing takes at most this share of the time, except where a file is asked for after every chunk.
_SHARE = 1 / 64
# Parameters that change no bit of a model.
_FREE = {"verbose", "n_jobs"}
_WHAT_TO_DO = "Delete the file to begin anew, or name another file"

#: Writes one part of the state.
Write = Callable[[Writer], Any]


# --- what a call was -----------------------------------------------------------------------------


def _checksum(array: NDArray[Any]) -> str:
    """The type, the shape and a checksum of the numbers of an array."""
    numbers = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    digest = hashlib.blake2b(numbers.data, digest_size=12)
    return f"{array.dtype.str} {array.shape} {digest.hexdigest()}"


def told(value: Any, name: str = "value") -> list[str]:
    """What a value is, in words, and a checksum of its contents; errors call it ``name``.

    >>> told(np.zeros((2, 3)))[0], told(0.5)[0], told(sparse.eye_array(3, format="csr"))[0]
    ('an array of float64 of the shape (2, 3)', '0.5', 'a matrix of the shape (3, 3) with 3 values')
    """
    if type(value) is tuple and value:
        words, sums = zip(*(told(part, name) for part in value), strict=True)
        return ["; ".join(words), " ".join(sums)]
    if sparse.issparse(value):
        rows = value if value.format == "csr" else value.tocsr()
        parts = [_checksum(each) for each in (rows.data, rows.indices, rows.indptr)]
        return [
            f"a matrix of the shape {rows.shape} with {rows.nnz} values",
            " ".join([str(rows.shape), *parts]),
        ]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return [f"an array of {value.dtype} of the shape {value.shape}", _checksum(value)]
    writer = Writer()
    text = json.dumps(writer.value(name, value))
    arrays = [f"{key} {_checksum(array)}" for key, array in sorted(writer.arrays.items())]
    digest = hashlib.blake2b("\n".join([text, *arrays]).encode(), digest_size=12)
    return [f"{shown(value):.80}", digest.hexdigest()]


def _call_of(model: Any, p: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """What identifies a call of ``fit``."""
    given = {name: getattr(model, name) for name in model._kinds if name not in _FREE}
    if isinstance(p.random_state, np.random.RandomState):
        given["random_state"] = p.random_state
    try:
        parameters = {name: told(value, name) for name, value in given.items()}
    except CannotSave as error:
        raise CannotSave(
            f"a checkpoint cannot tell whether a later call has the same parameters: {error}"
        ) from None
    return {
        "class": type(model).__name__,
        "parameters": parameters,
        "data": {name: told(value, name) for name, value in data.items()},
    }


def _differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between the call of a file and this one, in words."""
    if saved["class"] != now["class"]:
        return [f"the estimator ({saved['class']} in the file, {now['class']} in this call)"]
    found = []
    for part in ("parameters", "data"):
        for name in sorted(saved[part].keys() | now[part].keys()):
            there, here = saved[part].get(name), now[part].get(name)
            if there is None or here is None:
                found.append(f"{name} ({'not ' * (there is None)}in the file alone)")
            elif there[1] == here[1]:
                continue  # the texts of two generators have different addresses
            elif there[0] != here[0]:
                found.append(f"{name} ({there[0]} in the file, {here[0]} in this call)")
            else:
                found.append(f"{name} ({here[0]}, with other contents)")
    return found


# --- what a file holds ---------------------------------------------------------------------------


class Saved:
    """One part of the state in a file; every value is checked as it is read."""

    def __init__(self, path: str, reader: Reader, node: Any) -> None:
        self._path, self.reader, self._node = path, reader, node
        if type(node) is not dict:
            raise self.refusal("a part of the state is not as it must be")

    def refusal(self, why: object) -> ValueError:
        """The error that says why a fit cannot go on from the file."""
        return ValueError(
            f"{self._path} is no checkpoint that this fit can go on from: {why}. {_WHAT_TO_DO}"
        )

    def node(self, name: str) -> Any:
        """The JSON of a value."""
        if name not in self._node:
            raise self.refusal(f"the state has no {name}")
        return self._node[name]

    def value(self, name: str, suits: Callable[[Any], bool]) -> Any:
        """A value, if it is what it must be."""
        try:
            found = self.reader.value(self.node(name))
            sound = suits(found)
        except (
            LookupError, TypeError, AttributeError, ValueError, ArithmeticError, MemoryError,
        ) as error:  # fmt: skip
            raise self.refusal(f"{name} cannot be read: {error}") from None
        if not sound:
            raise self.refusal(f"{name} is not as it must be")
        return found

    def part(self, name: str) -> Saved:
        """A part of this part."""
        return Saved(self._path, self.reader, self.node(name))

    def parts(self, name: str) -> list[Saved]:
        """The parts of a list."""
        nodes = self.node(name)
        if type(nodes) is not list:
            raise self.refusal(f"{name} is no list")
        return [Saved(self._path, self.reader, node) for node in nodes]

    def into(self, name: str, target: NDArray[Any]) -> None:
        """Copy an array into ``target``, which has its shape and type."""
        target[...] = self.value(name, is_like(target))


def is_like(wanted: NDArray[Any]) -> Callable[[Any], bool]:
    """Whether a value is an array of the same shape and type."""
    known = wanted.shape, wanted.dtype
    return lambda found: type(found) is np.ndarray and (found.shape, found.dtype) == known


def is_whole(most: float = np.inf) -> Callable[[Any], bool]:
    """Whether a value is an integer from 0 to ``most``."""
    return lambda found: type(found) is int and 0 <= found <= most


def is_number(found: Any) -> bool:
    """Whether a value is a float."""
    return type(found) is float


# --- who keeps the file --------------------------------------------------------------------------


class Keeper:
    """Keeps no file: a fit without a checkpoint."""

    #: whether the state is written now and then
    writes = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def identify(self, model: Any, p: Any, data: Callable[[], Mapping[str, Any]]) -> None:
        """Say which call this is; reads the file if there is one, and refuses another call's."""

    def seed(self, random_state: Any) -> Any:
        """The ``random_state`` of the run: the same whenever the run goes on."""
        return random_state

    def peek(self, name: str) -> Saved | None:
        """A part of the state in the file."""
        return None

    def found(self, name: str) -> Saved | None:
        """A part of the state in the file, which is handed out for the last time."""
        return None

    @contextlib.contextmanager
    def following(self, name: str, write: Write) -> Iterator[None]:
        """Within the block, ``write`` writes the part ``name`` of the state at every ``point``."""
        yield

    def point(self) -> None:
        """Called where the state may be written."""

    def outside(self) -> AbstractContextManager[None]:
        """A block that changes no part of the state: Ctrl-C ends the block at once."""
        return contextlib.nullcontext()


class FileKeeper(Keeper):
    """Keeps a file at ``path``, not more often than ``every`` seconds.

    Ctrl-C waits for the next point, where the file is written; a second Ctrl-C does not wait.
    """

    writes = True

    def __init__(self, path: str, every: float) -> None:
        self.path, self.every = path, every
        self._call: dict[str, Any] = {}
        self._seed: int | None = None
        self._state: dict[str, Any] = {}
        self._reader = Reader({})
        self._sections: dict[str, Write] = {}
        self._next = np.inf
        #: whether the user was warned, and warnings that are still to be given
        self._told = False
        self._warned: list[Warning] = []
        # Ctrl-C: what answered it before, whether it has come, and whether it need not wait.
        self._before: Any = None
        self._pending = self._outside = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                Path(self.path).unlink(missing_ok=True)
            except OSError as failure:
                self._warn(f"the checkpoint {self.path} of a fit that is done stays: {failure}")
            for warning in self._warned:
                warnings.warn(warning, stacklevel=3)

    def identify(self, model: Any, p: Any, data: Callable[[], Mapping[str, Any]]) -> None:
        atomic_files.remove_leftovers(self.path)
        self._call = _call_of(model, p, data())
        if os.path.lexists(self.path):
            self._read()
            if getattr(p, "verbose", 0) > 0:
                print(f"going on from {self.path}")
        else:
            atomic_files.check_writable(self.path)
        self._next = time.monotonic() + self.every

    def _read(self) -> None:
        header, arrays = read_header(self.path)
        by, version = header.get("lazynet_version"), header.get("format_version")
        if by != __version__ or version != FORMAT_VERSION:
            raise ValueError(
                f"{self.path} was written by lazynet {by} in version {version} of the format, and "
                f"this is lazynet {__version__}, which goes on from its own checkpoints alone: go "
                f"on with lazynet {by}. {_WHAT_TO_DO}"
            )
        self._reader = Reader(arrays)
        document = Saved(self.path, self._reader, header.get("document"))
        self._compare(document.node("call"))
        self._seed = document.value("seed", lambda seed: seed is None or is_whole(2**31)(seed))
        state = document.node("state")
        if type(state) is not dict:
            raise document.refusal("it holds no state")
        self._state = dict(state)

    def _compare(self, saved: Any) -> None:
        """Refuse the file of another call."""
        try:
            found = _differences(saved, self._call)
        except (TypeError, KeyError, IndexError, AttributeError):
            found = ["what the call was, which cannot be read"]
        if found:
            raise ValueError(
                f"{self.path} is a checkpoint of another call of fit. What differs: "
                f"{'; '.join(found)}. {_WHAT_TO_DO} by checkpoint=..."
            )

    def seed(self, random_state: Any) -> Any:
        if random_state is not None:
            return random_state
        if self._seed is None:
            # As new_generator draws it.
            self._seed = int(np.random.randint(2**31))  # noqa: NPY002
        return self._seed

    def peek(self, name: str) -> Saved | None:
        node = self._state.get(name)
        return None if node is None else Saved(self.path, self._reader, node)

    def found(self, name: str) -> Saved | None:
        saved = self.peek(name)
        self._state.pop(name, None)
        return saved

    @contextlib.contextmanager
    def following(self, name: str, write: Write) -> Iterator[None]:
        self._sections[name] = write
        answers = self._answer_later()
        try:
            yield
        finally:
            del self._sections[name]
            if answers:
                signal.signal(signal.SIGINT, self._before)
                pending, self._pending = self._pending, False
        if answers and pending:
            self._before(signal.SIGINT, None)

    def _answer_later(self) -> bool:
        """Let Ctrl-C wait for the next point; returns whether it does so from now on."""
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or not callable(before) or before == self._interrupted:
            return False
        self._before, self._pending = before, False
        signal.signal(signal.SIGINT, self._interrupted)
        return True

    def _interrupted(self, number: int, frame: Any) -> None:
        if self._outside or self._pending:
            self._pending = False
            self._before(number, frame)
        else:
            self._pending = True

    def point(self) -> None:
        if self._pending:
            self._write()
            self._pending = False
            self._before(signal.SIGINT, None)
        elif time.monotonic() >= self._next:
            self._write()

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        if self._pending:
            self.point()
        self._outside = True
        try:
            yield
        except KeyboardInterrupt:
            self._write()
            raise
        finally:
            self._outside = False

    def _write(self) -> None:
        """Write the file; a run is not lost because its file cannot be written."""
        began = time.monotonic()
        try:
            writer = Writer()
            state = {name: write(writer) for name, write in self._sections.items()}
            header = {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "lazynet_version": __version__,
                "document": {"call": self._call, "seed": self._seed, "state": state},
            }
            container.write(self.path, header, writer.arrays)
        except (OSError, MemoryError) as error:
            self._warn(
                f"the checkpoint {self.path} could not be written ({error}); the fit goes on, and "
                f"tries again"
            )
        ended = time.monotonic()
        rest = (ended - began) * (1.0 / _SHARE - 1.0) if self.every else 0.0
        self._next = ended + max(self.every, rest)

    def _warn(self, text: str) -> None:
        """Warn once; a warning that is made an error is given at the end of the fit."""
        if self._told:
            return
        self._told = True
        try:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        except RuntimeWarning as warning:
            self._warned.append(warning)


def read_header(path: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a checkpoint; refuses a file of anything else."""
    try:
        header, arrays = container.read(path)
    except ValueError as error:
        raise ValueError(
            f"{error}. A fit cannot go on from this file, and leaves it as it is. {_WHAT_TO_DO} by "
            f"checkpoint=..."
        ) from None
    if header.get("format") != FORMAT:
        raise ValueError(
            f"{path} is no checkpoint of lazynet, and is left as it is: name another file by "
            f"checkpoint=..."
        )
    return header, arrays


def keeper_of(checkpoint: Any, every: Any) -> Keeper:
    """Who keeps the file that the arguments of ``fit`` name."""
    every = _SECONDS.settled("every", every)
    if checkpoint is None:
        return Keeper()
    path = os.fspath(checkpoint) if isinstance(checkpoint, os.PathLike) else checkpoint
    if not isinstance(path, str):
        raise TypeError(f"checkpoint must be None or the path of a file, got {shown(checkpoint)}")
    if not path:
        raise ValueError("checkpoint must be None or the path of a file, got an empty string")
    check_path("checkpoint", path)
    return FileKeeper(path, every)
