"""``python -m paper_repro.killed``: fits are killed at random moments, and go on to the same bits.

A fit runs in a process of its own with a checkpoint after every chunk of rows, or every stage or
epoch of a search.  The process gets SIGKILL after a random time; a new process makes the same call,
and may be killed too.  Whoever comes to the end must have every bit of the run that nobody killed:
weights, averages, histories but for the seconds, random generators, the state of the engines.

``--cost`` measures instead what checkpoints cost.  A fit without and a fit with a checkpoint take
turns in one process; the seconds that the file and the checksums of the data took are added up,
too.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    ReleasedStabilisedSGDClassifier,
    StabilisedSGDClassifier,
)
from lazynet.checks.bits import bits_of
from lazynet.models.checkpoints import FileKeeper
from lazynet.streams import Shuffled, SvmlightFile

Fit = Callable[[dict[str, Any]], Any]

_ROWS, _COLUMNS, _NONZEROS = 20_000, 3_000, 10
# A run is killed after at most this multiple of the seconds of the run that nobody kills.
_LATEST = 1.1


def data_of(
    n_rows: int, n_columns: int, per_row: int, seed: int
) -> tuple[sparse.csr_matrix, np.ndarray[Any, Any]]:
    """Sparse rows and numbers that depend on some of the columns."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, n_columns, (n_rows, per_row), dtype=np.int32)
    starts = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int64)
    values = rng.standard_normal(n_rows * per_row)
    X = sparse.csr_matrix((values, columns.ravel(), starts), shape=(n_rows, n_columns))
    X.sum_duplicates()
    truth = rng.standard_normal(n_columns) * (rng.random(n_columns) < 0.3)
    return X, X @ truth + rng.standard_normal(n_rows)


def fits(folder: Path) -> dict[str, Fit]:
    """The calls of ``fit`` by name; each takes the arguments of the checkpoint."""
    X, y = data_of(_ROWS, _COLUMNS, _NONZEROS, 0)
    two, three = (y > 0).astype(int), np.digitize(y, [-1.0, 1.0])
    labels = sparse.csr_matrix(np.column_stack([y > k / 4 for k in range(-6, 6)]).astype(int))
    few, many = slice(0, 4_000), {"max_iter": 12, "tol": None, "random_state": 0}
    dump_svmlight_file(X, two, str(folder / "rows.svm"))

    def source() -> Shuffled:
        return Shuffled(SvmlightFile(str(folder / "rows.svm")), window=3_000, seed=1)

    C, R = LazyNetClassifier, LazyNetRegressor
    return {
        "nothing set": lambda k: C(random_state=0, max_iter=12).fit(X, two, **k),
        "early stopping, average": lambda k: C(
            early_stopping=True, average=True, max_iter=12, random_state=0
        ).fit(X, two, **k),
        "a generator": lambda k: C(max_iter=12, random_state=np.random.RandomState(7)).fit(
            X, two, **k
        ),
        "adaptive": lambda k: C(
            schedule="adaptive", eta0=8.0, n_iter_no_change=1, max_iter=20, random_state=0
        ).fit(X, two, **k),
        "saga": lambda k: C(rule="saga", l1=1e-5, **many).fit(X, two, **k),
        "tables": lambda k: R(engine="tables", eta0=1e-2, l1=1e-4, **many).fit(X, y, **k),
        "softmax": lambda k: C(multi_class="multinomial", **many).fit(X, three, **k),
        "labels, in parts": lambda k: C(
            outputs_at_once=4, max_iter=6, random_state=0, n_jobs=2
        ).fit(X, labels, **k),
        "group": lambda k: C(group="l2", eta0=0.5, max_iter=6, random_state=0).fit(X, labels, **k),
        "from a source": lambda k: C(max_iter=4, rule="adagrad").fit(source(), **k),
        "from a source, rows held out": lambda k: C(
            max_iter=4, early_stopping=True, class_weight="balanced", random_state=3
        ).fit(source(), **k),
        "grid": lambda k: LazyNetClassifierCV(
            n_points=6, cv=3, max_iter=4, random_state=0, n_jobs=2
        ).fit(X, three, **k),
        "grid, from a source": lambda k: LazyNetClassifierCV(
            l1s=[1e-5, 1e-4, 1e-3], cv=None, refit=False, max_iter=6, random_state=0
        ).fit(source(), **k),
        "choice": lambda k: DualNetClassifierCV(
            n_points=8, smallest=0.05, cv=3, random_state=0, n_jobs=2
        ).fit(X[few], three[few], **k),
        "asgd": lambda k: ASGDClassifier(max_iter=40, random_state=0).fit(X, three, **k),
        "asgd, permuted": lambda k: ASGDRegressor(max_iter=40, replace=False, random_state=0).fit(
            X, y, **k
        ),
        "stabilised": lambda k: StabilisedSGDClassifier(
            max_iter=20, rejection_rate=0.6, random_state=0
        ).fit(X, three, **k),
        "released": lambda k: ReleasedStabilisedSGDClassifier(
            burst_size=50, max_iter=2, random_state=0, stability=0.5
        ).fit(X[few], two[few], **k),
        "dual, newton": lambda k: DualNetClassifier(
            l1=2e-4, l2=0, tol=1e-10, random_state=0, n_jobs=2
        ).fit(X, three, **k),
        "dual, multipliers": lambda k: DualNetClassifier(
            "hinge", l1=1e-3, l2=1e-4, tol=1e-5, random_state=0
        ).fit(X[few], two[few], **k),
        "dual, ascent": lambda k: DualNetRegressor(l1=0, l2=1e-3, tol=1e-10, random_state=0).fit(
            X, y, **k
        ),
    }


# --- kills ---------------------------------------------------------------------------------------


def _child(fit: Fit, given: dict[str, Any], answer: Path) -> int:
    """Start a process that fits and writes its bits to a file; returns its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        answer.write_text(bits_of(fit(given)), encoding="ascii")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _ended(child: int) -> bool:
    """Wait for a process; returns whether it was killed."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    if os.WEXITSTATUS(status):
        raise RuntimeError("a fit has failed; its error stands above")
    return False


def kill(n_kills: int, seed: int, folder: Path, names: Sequence[str] = ()) -> Counter[str]:
    """Kill fits in turn until there were so many kills; returns what happened, by name."""
    rng = np.random.default_rng(seed)
    path, answer = folder / "run.lazy", folder / "answer"
    seconds, bits = {}, {}
    calls = {name: fit for name, fit in fits(folder).items() if not names or name in names}
    given = {"checkpoint": path, "every": 0.0}
    for name, fit in calls.items():
        began = time.perf_counter()
        with_file = bits_of(fit(given))
        seconds[name] = time.perf_counter() - began
        bits[name] = bits_of(fit({}))
        if with_file != bits[name]:
            raise AssertionError(f"{name}: a checkpoint has changed the model")
    found: Counter[str] = Counter()
    while found["kills"] < n_kills:
        name = [*calls][found["fits"] % len(calls)]
        found["fits"] += 1
        killed = True
        while killed:
            found["runs that went on from a file"] += path.exists()
            answer.unlink(missing_ok=True)
            child = _child(calls[name], given, answer)
            if found["kills"] < n_kills:
                time.sleep(rng.uniform(0.0, _LATEST * seconds[name]))
                os.kill(child, signal.SIGKILL)
            killed = _ended(child)
            found["kills"] += killed
            found["kills while a file was written"] += killed and any(folder.glob(".run.lazy*"))
        if answer.read_text(encoding="ascii") != bits[name]:
            raise AssertionError(f"{name}: the bits differ after {found['kills']} kills")
        if path.exists() or any(folder.glob(".run.lazy*")):
            raise AssertionError(f"{name}: a file was left behind")
        found[f"ends with the same bits: {name}"] += 1
    return found


# --- cost ----------------------------------------------------------------------------------------


class _Spent:
    """The seconds that checkpoints take while this is watching, and the files that they write."""

    def __init__(self) -> None:
        self.seconds, self.files = 0.0, 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure every checkpoint within the block."""
        identify, write = FileKeeper.identify, FileKeeper._write

        def timed(method: Callable[..., None], *arguments: Any) -> None:
            began = time.perf_counter()
            method(*arguments)
            self.seconds += time.perf_counter() - began
            self.files += method is write

        with (
            patch.object(FileKeeper, "identify", lambda *given: timed(identify, *given)),
            patch.object(FileKeeper, "_write", lambda *given: timed(write, *given)),
        ):
            yield


def cost(every: float, pairs: int, n_rows: int, epochs: int, folder: Path) -> None:
    """Print what a checkpoint costs: seconds without and with, and the share of the file."""
    X, y = data_of(n_rows, 100_000, 50, 1)
    two = (y > 0).astype(int)

    def timed(given: dict[str, Any]) -> float:
        model = LazyNetClassifier(max_iter=epochs, tol=None, random_state=0)
        began = time.perf_counter()
        model.fit(X, two, **given)
        return time.perf_counter() - began

    ratios, shares, told = [], [], []
    for pair in range(pairs):
        spent = _Spent()
        both = {}
        with spent.watching():
            for kept in (True, False) if pair % 2 else (False, True):
                given = {"checkpoint": folder / "run.lazy", "every": every} if kept else {}
                both[kept] = timed(given)
        ratios.append(both[True] / both[False])
        shares.append(spent.seconds / both[True])
        told.append((both[False], both[True], spent.files))
    for without, seconds, files in told:
        print(f"  {without:8.2f} s without, {seconds:8.2f} s with {files} files")
    print(f"  ratio: median {statistics.median(ratios):.4f} of {pairs} pairs")
    print(f"  share of the checkpoint in its run: median {statistics.median(shares):.4%}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m paper_repro.killed", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="names of fits")
    parser.add_argument("--cost", action="store_true", help="measure the cost instead")
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        if options.cost:
            told = f"{options.rows:,} rows of 50 values, 100,000 features, {options.epochs} epochs"
            print(f"every={options.every:g}: {told}")
            cost(options.every, options.pairs, options.rows, options.epochs, Path(name))
        else:
            found = kill(options.kills, options.seed, Path(name), options.only)
            for what, count in found.items():
                print(f"{count:6d}  {what}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
