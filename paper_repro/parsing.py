"""How fast text becomes rows: ``python -m paper_repro.parsing``, beside scikit-learn on one thread.

The same files, in turn, in one process; the script prints medians and writes nothing.  The bound:
at least three times the speed of ``sklearn.datasets.load_svmlight_file``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from lazynet.streams import Cached, SvmlightFile

#: The least ratio of the speeds.
BOUND = 3.0
FEATURES = 200_000
NONZEROS = 80

#: What the values of the generated files are.
VALUES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "ones": lambda random, n: np.ones(n),
    "counts": lambda random, n: random.integers(1, 9, n).astype(float),
    "four digits": lambda random, n: np.round(random.random(n), 4),
    "16 digits": lambda random, n: random.standard_normal(n),
}


def written(path: Path, kind: str, n_rows: int) -> None:
    """A file with values of one kind."""
    random = np.random.default_rng(0)
    columns = np.sort(random.integers(0, FEATURES, (n_rows, NONZEROS)), axis=1).ravel()
    X = sparse.csr_matrix(
        (VALUES[kind](random, len(columns)), columns, np.arange(n_rows + 1) * NONZEROS),
        shape=(n_rows, FEATURES),
    )
    X.sum_duplicates()
    dump_svmlight_file(X, random.integers(0, 2, n_rows), str(path), zero_based=False)


def seconds(read: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    read()
    return time.perf_counter() - start


def passed(source: SvmlightFile | Cached) -> None:
    """One pass over a source."""
    for _ in source.chunks():
        pass


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each kind of values; 1 if a ratio is below the bound."""
    parser = argparse.ArgumentParser(prog="python -m paper_repro.parsing", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a generated file")
    parser.add_argument("--times", type=int, default=5, help="how often each program reads")
    parser.add_argument("files", nargs="*", type=Path, help="files instead of generated ones")
    chosen = parser.parse_args(arguments)
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        files = {str(path): path for path in chosen.files}
        for kind in VALUES if not files else ():
            files[kind] = Path(folder) / f"{kind.replace(' ', '_')}.svm"
            written(files[kind], kind, chosen.rows)
        print(f"{'MB/s, median of ' + str(chosen.times):24} lazynet  scikit-learn  ratio  cached")
        for name, path in files.items():
            size = path.stat().st_size / 1e6
            source = SvmlightFile(path)
            n_features, zero_based = source.n_features, source.zero_based
            source = SvmlightFile(path, zero_based=zero_based, n_features=n_features)
            source.facts()
            cached = Cached(source, Path(folder) / "cache.rows")
            passed(cached)

            def theirs(path: Path = path, n_features: int = n_features) -> object:
                return load_svmlight_file(str(path), n_features=n_features)

            taken: dict[str, list[float]] = {"ours": [], "theirs": [], "cached": []}
            for _ in range(chosen.times):
                taken["ours"].append(seconds(lambda source=source: passed(source)))  # type: ignore[misc]
                taken["theirs"].append(seconds(theirs))
                taken["cached"].append(seconds(lambda source=cached: passed(source)))  # type: ignore[misc]
            speed = {who: size / statistics.median(times) for who, times in taken.items()}
            ratio = speed["ours"] / speed["theirs"]
            slow |= ratio < BOUND
            print(f"{name[-24:]:24} {speed['ours']:7.0f}  {speed['theirs']:12.0f}  {ratio:5.1f}"
                  f"  {speed['cached']:6.0f}", flush=True)  # fmt: skip
    print(f"at least {BOUND:g} times scikit-learn: {'no' if slow else 'yes'}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
