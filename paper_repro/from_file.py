"""A file that is trained out of core: ``python -m paper_repro.from_file``, beside Vowpal Wabbit.

The script generates a file of rows in Vowpal Wabbit's form.  ``lazynet train`` and Vowpal Wabbit
read the same file, each in a process of its own on one core, end to end: text to a saved model,
with a cache of the rows on the way, and then several passes from each one's cache.  It prints
seconds, rows per second, peak memory and the ratios beside their bounds, and writes nothing.

    python -m paper_repro.from_file --megabytes 5000

The bounds: less than 1 GB of memory, at least twice the speed of Vowpal Wabbit in the first pass,
and at least eight times in later passes.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

#: The most bytes of memory, and the least ratios of the speeds.
MEMORY, FIRST_PASS, LATER_PASSES = 1e9, 2.0, 8.0
BITS = 18
NONZEROS = 60
ROWS_OF_A_BLOCK = 5_000
VALUES = ((b"1", 1.0), (b"0.5", 0.5), (b"0.25", 0.25), (b"2", 2.0))
FROM_TEXT, FROM_CACHE = "first pass, from text", "a pass from the cache"
#: The penalty of both programs.
L1 = "1e-8"

#: Vowpal Wabbit's program, where only its package for Python is there.
_VOWPAL = """\
import sys
from vowpalwabbit import Workspace
Workspace(arg_list=sys.argv[1:]).finish()
"""


def written(path: Path, size: float, seed: int = 0) -> int:
    """Write at least ``size`` bytes of rows; returns their number.

    A few features are frequent and most are rare, as in texts; labels follow a linear model with
    noise.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written(Path(folder, "rows.vw"), 1)
    5000
    """
    rng = np.random.default_rng(seed)
    n = 2**BITS
    tokens = [b" %d:%s" % (j, text) for text, _ in VALUES for j in range(n)]
    values, truth = np.array([value for _, value in VALUES]), rng.standard_normal(n)
    so_far = rows = 0
    with open(path, "wb", buffering=1 << 22) as file:
        while so_far < size:
            shape = ROWS_OF_A_BLOCK, NONZEROS
            columns = np.sort((n ** rng.random(shape)).astype(np.int64), axis=1)
            kept = np.ones(shape, dtype=bool)
            kept[:, 1:] = columns[:, 1:] != columns[:, :-1]
            which = rng.integers(0, len(values), shape)
            margins = (truth[columns] * values[which] * kept).sum(axis=1)
            labels = margins + rng.standard_normal(len(margins)) > 0
            codes = which * n + columns
            lines = [
                (b"1 |" if label else b"-1 |")
                + b"".join(map(tokens.__getitem__, row[kept_].tolist()))
                for label, row, kept_ in zip(labels, codes, kept, strict=True)
            ]
            block = b"\n".join(lines) + b"\n"
            file.write(block)
            so_far, rows = so_far + len(block), rows + len(lines)
    return rows


class Ran(NamedTuple):
    """What a process took."""

    seconds: float
    #: seconds of the processor, which other programs on the machine do not lengthen
    busy: float
    memory: int


def ran(command: list[str], core: int | None) -> Ran:
    """Run a program on one core; an error is shown and ends the script."""

    def on_one_core() -> None:
        if core is not None:
            os.sched_setaffinity(0, {core})

    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    began = time.perf_counter()
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            command, stdout=told, stderr=told, env=environment, preexec_fn=on_one_core
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            sys.exit(f"{' '.join(command)}\n{told.read().decode(errors='replace')}")
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Ran(seconds, usage.ru_utime + usage.ru_stime, memory)


def ours(path: Path, folder: Path, passes: int) -> list[str]:
    """The command of ``lazynet train``; its cache stands in the folder."""
    return [
        sys.executable, "-m", "lazynet", "train", str(path), "-b", str(BITS), "--l1", L1,
        "--task", "classification", "--passes", str(passes), "--cache", str(folder / "ours.rows"),
        "-f", str(folder / "ours.lazy"), "--quiet",
    ]  # fmt: skip


def theirs(path: Path, folder: Path, passes: int) -> list[str]:
    """The command of Vowpal Wabbit, with its own choice of the steps."""
    program = shutil.which("vw")
    return [
        *([program] if program else [sys.executable, "-c", _VOWPAL]),
        "-d", str(path), "-b", str(BITS), "--l1", L1, "--loss_function", "logistic",
        "--passes", str(passes), "--holdout_off", "--cache_file",
        str(folder / "theirs.cache"), "-f", str(folder / "theirs.model"), "--quiet",
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Print what each program took; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro.from_file", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--megabytes", type=float, default=50, help="size of the file (50)")
    parser.add_argument("--passes", type=int, default=3, help="passes from the caches (3)")
    parser.add_argument("--folder", type=Path, help="where everything is written, and removed")
    parser.add_argument("--file", type=Path, help="a file that was generated before")
    parser.add_argument("--only-generate", type=Path, metavar="FILE", help="write it and end")
    chosen = parser.parse_args(arguments)
    if chosen.only_generate is not None:
        rows = written(chosen.only_generate, chosen.megabytes * 1e6)
        print(f"{chosen.only_generate}: {rows:,} rows")
        return 0
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    there = shutil.which("vw") or importlib.util.find_spec("vowpalwabbit")
    missed = False
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        path = chosen.file
        if path is None:
            path = folder / "rows.vw"
            written(path, chosen.megabytes * 1e6)
        with open(path, "rb") as file:
            rows = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 22), b""))
        print(f"{path.stat().st_size / 1e6:,.0f} MB of text, {rows:,} rows, 2^{BITS} features, "
              f"{'one core' if core is not None else 'any core'}")  # fmt: skip
        print(f"{'':32}{'seconds':>9}{'busy':>9}{'rows/s':>12}{'memory':>10}")
        taken: dict[str, Ran] = {}
        programs = {"lazynet": ours} | ({"vw": theirs} if there else {})
        for what, passes in ((FROM_TEXT, 1), (FROM_CACHE, chosen.passes)):
            for program, command in programs.items():
                found = ran(command(path, folder, passes), core)
                each = Ran(found.seconds / passes, found.busy / passes, found.memory)
                taken[f"{program} {what}"] = each
                print(f"{program + ', ' + what:32}{each.seconds:9.2f}{each.busy:9.2f}"
                      f"{rows / each.seconds:12,.0f}{each.memory / 1e6:7,.0f} MB",
                      flush=True)  # fmt: skip
        most = max(each.memory for name, each in taken.items() if name.startswith("lazynet"))
        missed |= most >= MEMORY
        print(f"less than {MEMORY / 1e9:g} GB of memory: {'no' if most >= MEMORY else 'yes'}")
        for what, bound in ((FROM_TEXT, FIRST_PASS), (FROM_CACHE, LATER_PASSES)):
            if not there:
                print(f"{what}: not compared, because Vowpal Wabbit is not installed")
                continue
            one, other = taken[f"lazynet {what}"], taken[f"vw {what}"]
            ratio = other.seconds / one.seconds
            missed |= ratio < bound
            print(f"{what}: {ratio:.2f} times as fast as vw ({other.busy / one.busy:.2f} by the "
                  f"processor's time); at least {bound:g}: "
                  f"{'no' if ratio < bound else 'yes'}")  # fmt: skip
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
