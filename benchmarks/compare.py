"""``python -m benchmarks compare --old PATH``: fits of two builds of lazynet in turns.

PATH is a checkout with kernels built in place, for example of an older commit; the other build is
this checkout.  Every fit runs in turns in processes of their own, which run this file with one of
the checkouts on the path, and use of lazynet only what many commits have in common.  Seconds are
those of the processor.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

import lazynet

#: The rules that learn chunk by chunk, and the rows of a chunk.
RULES, CHUNK = ("fobos", "rda", "ftrl", "adagrad", "truncated_gradient"), 500
#: The least time of so many calls counts: the first one warms the caches.
CALLS = 3
#: Builds before the parameter ``standardize`` take these fits on the features as passed.
AS_PASSED: dict[str, Any] = (
    {"standardize": False} if hasattr(lazynet.LazyNetClassifier, "standardize") else {}
)


def online(rule: Any) -> Any:
    return lazynet.LazyNetClassifier(
        l1=1e-6, l2=1e-6, rule=rule, max_iter=5, tol=None, random_state=0, **AS_PASSED
    )


def stream(rule: str, X: Any, y: Any) -> Any:
    """A model that has learned the rows chunk by chunk."""
    model, classes = online(rule), np.unique(y)
    for first in range(0, len(y), CHUNK):
        rows = slice(first, first + CHUNK)
        model.partial_fit(X[rows], y[rows], classes=classes)
    return model


FITS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"fit, {rule}": online(rule).fit for rule in (*RULES, "saga")},
    "fit, averaged fobos": lambda X, y: online(lazynet.FoBoS(average=True)).fit(X, y),
    "fit, tables": lambda X, y: online(lazynet.FoBoS(storage="tables")).fit(X, y),
    "fit, five classes": lambda X, y: online("adagrad").fit(X, np.arange(len(y)) % 5),
    **{f"partial_fit, {rule}": partial(stream, rule) for rule in RULES},
    "certified minimum": lambda X, y: lazynet.DualNetClassifier(
        l1=1e-3, l2=1e-4, random_state=0
    ).fit(X, y),
}


def answer(rows: str, name: str) -> dict[str, Any]:
    """The least processor seconds of a fit, and a digest of its weights."""
    data, indices, indptr, shape, y = np.load(rows).values()
    X = sparse.csr_matrix((data, indices, indptr), tuple(shape))
    seconds = []
    for _ in range(CALLS):
        began = time.process_time()
        model = FITS[name](X, y)
        seconds.append(time.process_time() - began)
    digest = hashlib.sha256(model.coef_.tobytes()).hexdigest()
    return {"seconds": min(seconds), "digest": digest}


def ask(checkout: Path, rows: str, name: str) -> dict[str, Any]:
    """The answer of the lazynet of a checkout, or its error: it may not have this fit."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-P", __file__, rows, name],
        cwd=Path(rows).parent, env={**os.environ, "PYTHONPATH": str(checkout.resolve())},
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout))


def line(name: str, old: Sequence[Any], new: Sequence[Any]) -> str:
    """The medians of a fit, their ratio, and whether the weights are the same."""
    from paper_repro.score import duration, ratios

    if errors := [each["error"] for each in (*old, *new) if "error" in each]:
        return f"{name:34} not compared: {errors[0]}"
    seconds = [[each["seconds"] for each in answers] for answers in (old, new)]
    same = "same" if len({each["digest"] for each in (*old, *new)}) == 1 else "other"
    middle = "  ".join(f"{duration(median(each)):>8}" for each in seconds)
    return f"{name:34} {middle}  {ratios(*seconds)!s:24} {same} bits"


def main(arguments: Sequence[str]) -> int:
    from paper_repro.documents import medline
    from paper_repro.measure import turns

    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="fits whose name contains this")
    options = parser.parse_args(arguments)
    checkouts = [options.old, Path(__file__).parent.parent]
    for checkout in checkouts:
        if not list(checkout.glob("lazynet/kernels/*.so")):
            raise ValueError(f"{checkout} has no lazynet with built kernels")
    X, y = (corpus := medline(options.rows)).X, corpus.y
    print(f"{'':34} {'old':>8}  {'new':>8}  old / new: median (range)")
    with tempfile.TemporaryDirectory() as folder:
        rows = str(Path(folder) / "rows.npz")
        np.savez(rows, X.data, X.indices, X.indptr, X.shape, y)
        for name in (each for each in FITS if options.only in each):
            answers: list[list[Any]] = [[], []]
            for k in range(options.rounds):
                for which in turns((0, 1), k):
                    answers[which].append(ask(checkouts[which], rows, name))
            print(line(name, *answers), flush=True)
    return 0


if __name__ == "__main__":
    print(json.dumps(answer(*sys.argv[1:])))
