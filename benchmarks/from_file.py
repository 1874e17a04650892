"""Study ``from_file``: a text file that is trained out of core, beside Vowpal Wabbit.

``lazynet train`` and Vowpal Wabbit read the same file in turn, each in a process of its own on one
core.  The first pass goes from the text to a saved model and keeps the rows in a cache.  Two more
runs learn from the cache, with one pass and with several more; a later pass is the difference of
the two divided by the passes that the second makes more, so that no start of a program is in it.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from paper_repro.machine import version_of
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.score import Spread, in_bytes, significant
from paper_repro.score import ratios as ratios_of
from paper_repro.study import Cell, Measured, Record, Records, Settings

BITS, NONZEROS, ROWS_OF_A_BLOCK = 18, 60, 5_000
VALUES = ((b"1", 1.0), (b"0.5", 0.5), (b"0.25", 0.25), (b"2", 2.0))
#: For each kind of steps, the options of lazynet and of Vowpal Wabbit; the penalty of both.
STEPS: dict[str, dict[str, list[str]]] = {
    "adaptive": {"lazynet": [], "Vowpal Wabbit": []},
    "plain": {"lazynet": ["--set", "rule=fobos"], "Vowpal Wabbit": ["--sgd"]},
}
L1 = "1e-8"
#: Passes beyond the first one; the names of the two kinds of passes, and the bounds of the ratios
#: of the processor's seconds, for the steps that each program takes unless told otherwise.
MORE = 4
BOUNDS = {"first pass, from text": 2.0, "a later pass, from the cache": 8.0}
#: Vowpal Wabbit's program, where only its package for Python is there.
_VOWPAL = (
    "import sys; from vowpalwabbit import Workspace; Workspace(arg_list=sys.argv[1:]).finish()"
)
# Seconds between two looks at the memory of a process.
_BETWEEN_LOOKS = 0.02


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell(f"{steps}/{k}", partial(one_round, settings, steps, k), 10.0)
        for k in range(settings.repeats)
        for steps in STEPS
    ]


@lru_cache(maxsize=1)
def file_of(settings: Settings) -> Path:
    """A file of generated rows, which is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="lazynet-file-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "rows.vw"
    write_rows(path, settings.examples, settings.seed)
    return path


def write_rows(path: Path, n_rows: int, seed: int) -> None:
    """Write rows in Vowpal Wabbit's form, whose labels follow a linear model with noise.

    A few features are frequent and most are rare, as in texts.
    """
    rng = np.random.default_rng(seed)
    n = 2**BITS
    tokens = [b" %d:%s" % (j, text) for text, _ in VALUES for j in range(n)]
    values, truth = np.array([value for _, value in VALUES]), rng.standard_normal(n)
    with open(path, "wb", buffering=1 << 22) as file:
        for start in range(0, n_rows, ROWS_OF_A_BLOCK):
            shape = min(ROWS_OF_A_BLOCK, n_rows - start), NONZEROS
            columns = np.sort((n ** rng.random(shape)).astype(np.int64), axis=1)
            kept = np.ones(shape, dtype=bool)
            kept[:, 1:] = columns[:, 1:] != columns[:, :-1]
            which = rng.integers(0, len(values), shape)
            margins = (truth[columns] * values[which] * kept).sum(axis=1)
            labels = margins + rng.standard_normal(len(margins)) > 0
            for label, row, each in zip(labels, which * n + columns, kept, strict=True):
                file.write(b"1 |" if label else b"-1 |")
                file.write(b"".join(map(tokens.__getitem__, row[each].tolist())) + b"\n")


def ours(path: Path, folder: Path, passes: int) -> list[str]:
    """The command of ``lazynet train``; its cache is in the folder."""
    return [
        sys.executable, "-m", "lazynet", "train", str(path), "--bits", str(BITS), "--l1", L1,
        "--task", "classification", "--passes", str(passes), "--cache", str(folder / "ours.rows"),
        "-o", str(folder / "ours.lazy"),
    ]  # fmt: skip


def theirs(path: Path, folder: Path, passes: int) -> list[str]:
    """The command of Vowpal Wabbit."""
    program = shutil.which("vw")
    return [
        *([program] if program else [sys.executable, "-c", _VOWPAL]),
        "-d", str(path), "-b", str(BITS), "--l1", L1, "--loss_function", "logistic",
        "--passes", str(passes), "--holdout_off", "--cache_file", str(folder / "theirs.cache"),
        "-f", str(folder / "theirs.model"), "--quiet",
    ]  # fmt: skip


def programs() -> dict[str, Any]:
    """The commands of the programs that are installed."""
    there = shutil.which("vw") or importlib.util.find_spec("vowpalwabbit")
    return {"lazynet": ours, **({"Vowpal Wabbit": theirs} if there else {})}


def one_round(settings: Settings, steps: str, repeat: int, _: Records) -> Record:
    """What the first pass takes, and each of the passes after it, of every program."""
    path, found = file_of(settings), {}
    for name in turns(list(programs()), repeat):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            first, one, many = (
                ran(programs()[name](path, Path(folder), passes) + STEPS[steps][name])
                for passes in (1, 1, 1 + MORE)
            )
        later = {what: (many[what] - one[what]) / MORE for what in ("seconds", "busy")}
        memory = max(one["memory"], many["memory"])
        found[name] = dict(zip(BOUNDS, (first, {**later, "memory": memory}), strict=True))
    version = version_of("vowpalwabbit")
    return {"bytes": path.stat().st_size, "version": version, "programs": found}


def ran(command: list[str]) -> dict[str, float]:
    """Seconds, seconds of the processor, and the most memory of a program on one core."""

    def on_one_core() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

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
            raise ValueError(f"{' '.join(command)}\n{told.read().decode(errors='replace')}")
    memory = memory or usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"seconds": seconds, "busy": usage.ru_utime + usage.ru_stime, "memory": memory}


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


def content(document: Mapping[str, Any]) -> Content:
    measured = Measured(document)
    rows = measured.settings["examples"]

    def values(steps: str, name: str, kind: str, what: str) -> list[float]:
        found = (record["programs"].get(name) for _, record in measured.group(steps))
        return [each[kind][what] for each in found if each is not None]

    first = measured.records["adaptive/0"]
    names = list(first["programs"])
    lines = []
    for steps in STEPS:
        for kind in BOUNDS:
            for name in names:
                seconds, busy, memory = (
                    Spread.of(values(steps, name, kind, what))
                    for what in ("seconds", "busy", "memory")
                )
                speed = significant(rows / seconds.median)
                lines.append(
                    [f"{name}, {steps} steps, {kind}", busy, seconds, speed, in_bytes(memory.most)]
                )
    ratios = {
        f"{steps} steps, {kind}": ratios_of(
            *(values(steps, name, kind, "busy") for name in ("Vowpal Wabbit", "lazynet"))
        )
        for steps in STEPS
        for kind in BOUNDS
        if len(names) > 1
    }
    verdicts = [
        [label, found, f">= {bound:g}", "holds" if found.median >= bound else "MISSED"]
        for kind, bound in BOUNDS.items()
        for label, found in ratios.items()
        if label == f"adaptive steps, {kind}"
    ]
    told = ", and ".join(f"{found} times ({label})" for label, found in ratios.items())
    return Content(
        f"From a file Vowpal Wabbit takes {told or '(not measured)'} as long as lazynet.",
        [
            f"{in_bytes(first['bytes'])} of text, {rows:,} rows of up to "
            f"{NONZEROS} values, hashed to {2**BITS:,} features; {measured.repeats} rounds, one "
            "core. Both programs run with the steps that they take unless told otherwise, whose "
            "rates adapt to every weight, and with plain gradient descent. *Busy* are the "
            "seconds of the processor, which other programs on the machine do not lengthen.",
            Table(["", "busy seconds", "seconds", "rows a second", "memory"], lines),
            Table(["Vowpal Wabbit / lazynet", "busy seconds", "expected", ""], verdicts),
        ],
        [
            Dots(
                "Passes over a file",
                "busy seconds",
                {
                    f"{steps} steps, {kind}": {
                        name: Spread.of(values(steps, name, kind, "busy")) for name in names
                    }
                    for steps in STEPS
                    for kind in BOUNDS
                },
            )
        ],
        width=9.5,
    )
