"""A file that is trained out of core: ``python -m benchmarks.from_file``, beside Vowpal Wabbit.

The script generates a file of rows in Vowpal Wabbit's form.  ``lazynet train`` and Vowpal Wabbit
read the same file in turn, each in a process of its own on one core, end to end.  The first pass
goes from the text to a saved model and keeps the rows in a cache.  Two more runs learn from the
cache, with one pass and with several more; a later pass is the difference of the two divided by the
number of passes that the second makes more, so that no start of a program is in it.  Both programs
run with the steps that they take unless told otherwise, whose rates adapt to every weight, and with
plain gradient descent (``rule=fobos`` and ``--sgd``).  The script prints medians with their
range, the ratios of the programs' speeds beside their bounds, and writes nothing.

    python -m benchmarks.from_file --megabytes 5000 --times 1

The bounds, for the steps that each program takes unless told otherwise: less than 1 GB of memory,
at least twice the speed of Vowpal Wabbit in the first pass, and at least eight times in later
passes, by the seconds that the processor was busy.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import statistics
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
#: For each kind of steps, the options of lazynet and of Vowpal Wabbit.
STEPS: dict[str, tuple[list[str], list[str]]] = {
    "adaptive": ([], []),
    "plain": (["--set", "rule=fobos"], ["--sgd"]),
}
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


# Seconds between two looks at the memory of a process.
_BETWEEN_LOOKS = 0.02


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
        ended, memory = 0, 0
        while not ended:
            memory = max(memory, peak_of(process.pid))
            time.sleep(_BETWEEN_LOOKS)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            told.seek(0)
            sys.exit(f"{' '.join(command)}\n{told.read().decode(errors='replace')}")
    memory = memory or usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Ran(seconds, usage.ru_utime + usage.ru_stime, memory)


def peak_of(pid: int) -> int:
    """The most bytes that a running process has held since its program began; 0: not known.

    What the system tells when the process has ended counts what this process held when it started
    the other.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def ours(path: Path, folder: Path, passes: int, steps: str) -> list[str]:
    """The command of ``lazynet train``; its cache stands in the folder."""
    return [
        sys.executable, "-m", "lazynet", "train", str(path), "--bits", str(BITS), "--l1", L1,
        "--task", "classification", "--passes", str(passes), "--cache", str(folder / "ours.rows"),
        "-o", str(folder / "ours.lazy"), *STEPS[steps][0],
    ]  # fmt: skip


def theirs(path: Path, folder: Path, passes: int, steps: str) -> list[str]:
    """The command of Vowpal Wabbit."""
    program = shutil.which("vw")
    return [
        *([program] if program else [sys.executable, "-c", _VOWPAL]),
        "-d", str(path), "-b", str(BITS), "--l1", L1, "--loss_function", "logistic",
        "--passes", str(passes), "--holdout_off", "--cache_file",
        str(folder / "theirs.cache"), "-f", str(folder / "theirs.model"), "--quiet",
        *STEPS[steps][1],
    ]  # fmt: skip


COMMANDS = {"lazynet": ours, "vw": theirs}
FROM_TEXT, LATER = "first pass, from text", "a later pass, from the cache"


def without_caches(folder: Path) -> None:
    """Remove what an earlier run has kept."""
    for name in ("ours.rows", "theirs.cache"):
        (folder / name).unlink(missing_ok=True)


def measured(
    program: str, path: Path, folder: Path, more: int, steps: str, core: int | None
) -> dict[str, Ran]:
    """What the first pass takes, and each of the passes after it."""
    command = COMMANDS[program]
    without_caches(folder)
    first = ran(command(path, folder, 1, steps), core)
    one = ran(command(path, folder, 1, steps), core)
    many = ran(command(path, folder, 1 + more, steps), core)
    later = Ran(
        (many.seconds - one.seconds) / more,
        (many.busy - one.busy) / more,
        max(one.memory, many.memory),
    )
    return {FROM_TEXT: first, LATER: later}


def spread(numbers: list[float], form: str) -> str:
    """The median, and the range of more numbers than one.

    >>> spread([1.0, 3.0, 2.0], ".1f"), spread([1.0], ".1f")
    ('2.0 (1.0-3.0)', '1.0')
    """
    told = format(statistics.median(numbers), form)
    if len(numbers) == 1:
        return told
    return f"{told} ({min(numbers):{form}}-{max(numbers):{form}})"


def table(taken: dict[str, dict[str, list[Ran]]], rows: int) -> list[str]:
    """The lines of a table: what every program took for every kind of pass."""
    lines = [f"{'':38}{'busy seconds':>18}{'seconds':>18}{'rows/s':>12}{'memory':>10}"]
    for what in (FROM_TEXT, LATER):
        for program, found in taken.items():
            runs = found[what]
            busy = spread([each.busy for each in runs], ".2f")
            seconds = spread([each.seconds for each in runs], ".2f")
            speed = rows / statistics.median(each.seconds for each in runs)
            most = max(each.memory for each in runs) / 1e6
            lines.append(
                f"{program + ', ' + what:38}{busy:>18}{seconds:>18}{speed:12,.0f}{most:7,.0f} MB"
            )
    return lines


def ratios(taken: dict[str, dict[str, list[Ran]]], bounded: bool) -> tuple[list[str], bool]:
    """Lines with the ratios of the speeds, run by run, and whether a bound is missed."""
    lines, missed = [], False
    for what, bound in ((FROM_TEXT, FIRST_PASS), (LATER, LATER_PASSES)):
        pairs = list(zip(taken["lazynet"][what], taken["vw"][what], strict=True))
        busy = [other.busy / one.busy for one, other in pairs]
        seconds = [other.seconds / one.seconds for one, other in pairs]
        line = (
            f"{what}: {spread(busy, '.2f')} times as fast as vw by the processor's time, "
            f"{spread(seconds, '.2f')} by the clock"
        )
        if bounded:
            low = statistics.median(busy) < bound
            missed |= low
            line += f"; at least {bound:g}: {'no' if low else 'yes'}"
        lines.append(line)
    return lines, missed


def main(arguments: list[str] | None = None) -> int:
    """Print what each program took; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.from_file", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--megabytes", type=float, default=50, help="size of the file (50)")
    parser.add_argument("--more", type=int, default=4, help="passes beyond the first one (4)")
    parser.add_argument("--times", type=int, default=3, help="how often each program runs (3)")
    parser.add_argument("--steps", choices=list(STEPS), nargs="+", default=list(STEPS),
                        help="which steps the programs take (all)")  # fmt: skip
    parser.add_argument("--folder", type=Path, help="where everything is written, and removed")
    parser.add_argument("--file", type=Path, help="a file that was generated before")
    parser.add_argument("--only-generate", type=Path, metavar="FILE", help="write it and end")
    chosen = parser.parse_args(arguments)
    if chosen.more < 1 or chosen.times < 1:
        parser.error("--more and --times must be at least 1")
    if chosen.folder is not None and not chosen.folder.is_dir():
        parser.error(f"--folder must be a folder, and {chosen.folder} is none")
    if chosen.file is not None and not chosen.file.is_file():
        parser.error(f"--file must be a file, and {chosen.file} is none")
    if chosen.only_generate is not None:
        rows = written(chosen.only_generate, chosen.megabytes * 1e6)
        print(f"{chosen.only_generate}: {rows:,} rows")
        return 0
    core = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    there = shutil.which("vw") or importlib.util.find_spec("vowpalwabbit")
    programs = ["lazynet", "vw"] if there else ["lazynet"]
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
              f"{'one core' if core is not None else 'any core'}, median of {chosen.times} "
              f"(least-greatest)")  # fmt: skip
        most = 0
        for steps in chosen.steps:
            taken: dict[str, dict[str, list[Ran]]] = {
                program: {FROM_TEXT: [], LATER: []} for program in programs
            }
            for _ in range(chosen.times):
                for program in programs:
                    found = measured(program, path, folder, chosen.more, steps, core)
                    for what, each in found.items():
                        taken[program][what].append(each)
            print(f"\n{steps} steps", *table(taken, rows), sep="\n")
            most = max(most, *(each.memory for runs in taken["lazynet"].values() for each in runs))
            if there:
                lines, low = ratios(taken, bounded=steps == "adaptive")
                missed |= low
                print(*lines, sep="\n", flush=True)
        if not there:
            print("not compared, because Vowpal Wabbit is not installed")
        missed |= most >= MEMORY
        print(f"\nless than {MEMORY / 1e9:g} GB of memory: {'no' if most >= MEMORY else 'yes'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
