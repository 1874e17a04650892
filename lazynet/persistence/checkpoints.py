"""The state of a running fit in a file: if the process is killed, the same call resumes the fit.

A checkpoint is a file of the container with four parts in its header:

    call       the version, the class, and checksums of the parameters and the data of the call
    seed       the seed of a run whose ``random_state`` is None
    n_threads  the number of threads that divide the outputs
    state      the state of the run after its last epoch

A resumed run computes again what follows from its parameters and data, and reads the numbers that
the steps have changed from the file.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lazynet._version import __version__
from lazynet.data.files import NO_DOCUMENT, check_path, check_writable, remove_leftovers
from lazynet.parameters import check_integer, kinds_of, shown
from lazynet.persistence import container
from lazynet.persistence.container import Arrays, decoded, digest, encoded

#: The format in the header of the file.
FORMAT = "lazynet checkpoint"
#: The default of ``every``: seconds between two files.
EVERY = 60.0

# Parameters that change no bit of a model.
_NOT_COMPARED = {"verbose", "n_jobs"}
_ADVICE = "Delete the file to start again, or name another file by checkpoint=..."


class Checkpoint:
    """Writes the state of a fit to a file at ``path``, at most once in ``every`` seconds."""

    def __init__(self, path: str | os.PathLike[str], every: float) -> None:
        name = os.fspath(path) if isinstance(path, os.PathLike) else path
        if not isinstance(name, str):
            raise TypeError(f"checkpoint must be None or the path of a file, got {shown(path)}")
        if not name:
            raise ValueError("checkpoint must be None or the path of a file, got an empty string")
        check_path("checkpoint", name)
        self.path, self.every = name, every
        #: the header of the file without the state
        self._run: dict[str, Any] = {}
        self._resumed: dict[str, Any] | None = None
        self._next = np.inf
        self._has_warned = False

    def begin(self, model: Any, p: Any, data: Mapping[str, Any]) -> Any:
        """Read the file if it exists, and refuse the file of another call.

        Returns the settings ``p`` with the seed and the number of threads of the run, which are
        the same whenever it resumes.
        """
        remove_leftovers(self.path)
        self._run = {"call": _call_of(model, p, data), "seed": None, "n_threads": p.n_threads}
        if os.path.lexists(self.path):
            self._read()
            if p.verbose > 0:
                print(f"resuming from {self.path}")
        else:
            check_writable(self.path)
        self._next = time.monotonic() + self.every
        if p.random_state is None:
            if self._run["seed"] is None:
                # The same draw as in new_generator.
                self._run["seed"] = int(np.random.randint(2**31))  # noqa: NPY002
            p = replace(p, random_state=self._run["seed"])
        return replace(p, n_threads=self._run["n_threads"])

    def _read(self) -> None:
        try:
            header, arrays = container.read(self.path, FORMAT)
            saved, call, seed = dict(header["call"]), self._run["call"], header["seed"]
            n_threads = check_integer("n_threads", header["n_threads"], 1)
            self._resumed = decoded(header["state"], arrays)
        except NO_DOCUMENT as error:
            raise self._unusable(error) from None
        differ = [name for name in {**call, **saved} if saved.get(name) != call.get(name)]
        if differ:
            raise ValueError(
                f"{self.path} is a checkpoint of another call of fit. Differences: "
                f"{', '.join(differ)}. {_ADVICE}"
            )
        self._run |= {"seed": seed, "n_threads": n_threads}

    def _unusable(self, error: Exception) -> ValueError:
        return ValueError(
            f"a fit cannot resume from {self.path}, and does not change it: {error}. {_ADVICE}"
        )

    def resume(self, set_state: Callable[[dict[str, Any]], None]) -> None:
        """Give the state in the file to ``set_state`` at the first call."""
        state, self._resumed = self._resumed, None
        try:
            if state is not None:
                set_state(state)
        except NO_DOCUMENT as error:
            raise self._unusable(error) from None

    def write_if_due(self, state: Callable[[], dict[str, Any]]) -> None:
        """Write the file if the time has come; called between two epochs.

        If writing fails, warn, because the run itself can continue.
        """
        if time.monotonic() < self._next:
            return
        try:
            arrays: Arrays = {}
            document = encoded("state", state(), arrays)
            container.write(self.path, FORMAT, {**self._run, "state": document}, arrays)
        except (OSError, MemoryError) as error:
            self._warn(
                f"the checkpoint {self.path} could not be written ({error}); the fit continues, "
                f"and tries again"
            )
        self._next = time.monotonic() + self.every

    def _warn(self, text: str) -> None:
        """Warn once; a warning filter must not make it an error, which would end the fit."""
        if not self._has_warned:
            self._has_warned = True
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn(text, RuntimeWarning, stacklevel=2)

    def remove(self) -> None:
        """Remove the file of a fit that is done."""
        try:
            Path(self.path).unlink(missing_ok=True)
        except OSError as failure:
            self._warn(f"the checkpoint {self.path} of a fit that is done stays: {failure}")


def _call_of(model: Any, p: Any, data: Mapping[str, Any]) -> dict[str, str]:
    """The values that identify a call of ``fit``: names, versions, and checksums of values."""
    names = [name for name in kinds_of(type(model)) if name not in _NOT_COMPARED]
    parameters = {name: getattr(model, name) for name in names}
    if isinstance(p.random_state, np.random.RandomState):
        parameters["random_state"] = p.random_state
    call = {"the version of lazynet": __version__, "the estimator": type(model).__name__}
    return call | {name: digest(name, value) for name, value in {**parameters, **data}.items()}
