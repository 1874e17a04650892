"""Vowpal Wabbit: rows in a text file, and from the second pass on in its own cache file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.minima import Task
from benchmarks.programs.base import LYING, Array, How, Peer

#: The folder of the rows: their text, and the cache that the first run over them writes.
Folder = tempfile.TemporaryDirectory[str]
_TEXT, _CACHE = "rows.txt", "rows.cache"


def _in(folder: Folder, name: str) -> Path:
    return Path(folder.name) / name


class _Wabbit(Peer):
    package, module = "vowpalwabbit", "vowpalwabbit"
    orders = (LYING,)
    flags: tuple[str, ...] = ()

    def prepare(self, task: Task) -> Folder:
        folder = tempfile.TemporaryDirectory(prefix="peers-")
        plain = _in(folder, "rows.svm")
        dump_svmlight_file(task.X, task.y.astype(np.int64), str(plain))
        with plain.open() as rows, _in(folder, _TEXT).open("w") as text:
            for row in rows:
                label, _, values = row.partition(" ")
                text.write(f"{label} | {values}" if values else f"{label.strip()} |\n")
        plain.unlink()
        return folder

    def fit(self, rows: Folder, task: Task, how: How) -> Any:
        from vowpalwabbit import Workspace

        bits = max(18, int(np.ceil(np.log2(max(2, task.X.shape[1])))))
        arguments = [
            *("-d", str(_in(rows, _TEXT)), "--cache_file", str(_in(rows, _CACHE))),
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

    def fresh(self, rows: Folder) -> None:
        _in(rows, _CACHE).unlink(missing_ok=True)

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
    """Its default updates: adaptive, normalised, and aware of importances.

    The rate of a feature falls with its gradients, but l1 shrinks every weight at the rate of the
    whole step, which does not fall: with more passes all weights become 0.
    """

    name = "Vowpal Wabbit"
