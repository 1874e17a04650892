"""glmnet in a process of R: the rows are in files, and R measures the seconds of its processor."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.minima import Task
from benchmarks.programs.base import Array

Folder = tempfile.TemporaryDirectory[str]


@cache
def version() -> str:
    """The version of glmnet; "not installed" where R or glmnet is not there."""
    asked = ["Rscript", "-e", "cat(as.character(packageVersion('glmnet')))"]
    if which(asked[0]) is None:
        return "not installed"
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "not installed"


def missing() -> str | None:
    """Why the program cannot run here, or None."""
    return None if version()[0].isdigit() else "R or glmnet is not installed"


def written(task: Task) -> Folder:
    """A folder with the columns and the labels in files."""
    folder, X = tempfile.TemporaryDirectory(prefix="peers-"), task.by_columns
    files: dict[str, Any] = {"values": X, "labels": 0.5 * (task.y + 1.0)}
    if sparse.issparse(X):
        files |= {"values": X.data, "indices": X.indices, "starts": X.indptr}
    for name, array in files.items():
        kind = np.float64 if array.dtype.kind == "f" else np.int32
        array.astype(kind).ravel(order="F").tofile(Path(folder.name) / name)
    return folder


def fitted(folder: Folder, task: Task, points: int, tol: float) -> tuple[Array, float]:
    """The weights at the end of a path of so many penalties, and the seconds of R's processor."""
    script = Path(__file__).with_suffix(".R")
    numbers = map(float, (*task.X.shape, task.strength, points, task.l1_ratio, tol))
    # R ends with the process that asked for it (PR_SET_PDEATHSIG of Linux, SIGKILL).
    subprocess.run(
        ["Rscript", str(script), folder.name, *map(repr, numbers)],
        check=True,
        capture_output=True,
        preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9),
    )
    found = np.fromfile(Path(folder.name) / "found")
    return found[1:], float(found[0])
