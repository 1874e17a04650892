"""Vowpal Wabbit: rows in a text file, and from the second pass on in its own cache file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.minima import Task
from benchmarks.programs.base import LYING, Array, How, Peer


@dataclass
class File:
    """The rows as text; the first run over them writes the cache into the same folder."""

    folder: tempfile.TemporaryDirectory[str]
    n_features: int

    @property
    def text(self) -> Path:
        return Path(self.folder.name) / "rows.txt"

    @property
    def cache(self) -> Path:
        return Path(self.folder.name) / "rows.cache"


class _Wabbit(Peer):
    package, module = "vowpalwabbit", "vowpalwabbit"
    orders = (LYING,)
    flags: tuple[str, ...] = ()

    def prepare(self, task: Task) -> File:
        found = File(tempfile.TemporaryDirectory(prefix="peers-"), task.X.shape[1])
        plain = found.text.with_suffix(".svm")
        dump_svmlight_file(task.X, task.y.astype(np.int64), str(plain))
        with plain.open() as rows, found.text.open("w") as text:
            for row in rows:
                label, _, values = row.partition(" ")
                text.write(f"{label} | {values}" if values else f"{label.strip()} |\n")
        plain.unlink()
        return found

    def fit(self, rows: File, task: Task, how: How) -> Any:
        from vowpalwabbit import Workspace

        bits = max(18, int(np.ceil(np.log2(max(2, rows.n_features)))))
        arguments = [
            *("-d", str(rows.text), "--cache_file", str(rows.cache)),
            *("--passes", str(how.passes), "--holdout_off", "--quiet"),
            *("--loss_function", "logistic"),
            *("-b", str(bits), "--noconstant", *self.flags),
        ]
        if how.rate is not None:
            arguments += ["-l", repr(how.rate), "--power_t", "0.5"]
        for name, value in (("--l1", task.l1), ("--l2", task.l2)):
            if value:
                arguments += [name, repr(value)]
        return Workspace(arg_list=arguments)

    def fresh(self, rows: File) -> None:
        rows.cache.unlink(missing_ok=True)

    def weights(self, model: Any, task: Task) -> Array:
        """The weights of the saved model: those in memory lack the effects of l1 and l2."""
        from vowpalwabbit import Workspace

        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            path = str(Path(folder) / "model")
            model.save(path)
            model.finish()
            saved = Workspace(arg_list=["-i", path, "-t", "--quiet"])
        found = np.array([saved.get_weight(j) for j in range(task.X.shape[1])])
        saved.finish()
        return found


class Plain(_Wabbit):
    name = "Vowpal Wabbit --sgd"
    flags = ("--sgd",)
    has_rate = True


class Default(_Wabbit):
    """Its default updates: adaptive, normalised, and aware of importances."""

    name = "Vowpal Wabbit"
