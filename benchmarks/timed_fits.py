"""The fits that ``compare`` times: ``python -P timed_fits.py ROWS.npz``, a checkout on the path.

It imports lazynet alone, and of that only what many commits have in common.  The first line of the
output is the folder of the package.  Then each line of the input is the name of a fit, and the
answer is one line: the processor seconds and a digest of the weights, or what went wrong.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

import lazynet

#: The rules that learn chunk by chunk.
RULES = "fobos", "rda", "ftrl", "adagrad", "truncated_gradient"
#: The least time of so many calls is taken, so that the first one warms the caches.
CALLS = 3
EPOCHS = 5
#: Rows of a call of ``partial_fit``.
CHUNK = 500

Fit = Callable[[Any, Any], Any]


def fits() -> dict[str, Fit]:
    """The fits by their names."""
    minimum = lazynet.DualNetClassifier(l1=1e-3, l2=1e-4, random_state=0)
    return {
        **{f"fit, {rule}": online(rule).fit for rule in (*RULES, "saga")},
        "fit, averaged fobos": lambda X, y: online(lazynet.FoBoS(average=True)).fit(X, y),
        "fit, tables": lambda X, y: online(lazynet.FoBoS(storage="tables")).fit(X, y),
        "fit, five classes": lambda X, y: online("adagrad").fit(X, np.arange(len(y)) % 5),
        **{f"partial_fit, {rule}": partial(stream, rule) for rule in RULES},
        "certified minimum": minimum.fit,
    }


def online(rule: Any) -> Any:
    return lazynet.LazyNetClassifier(
        l1=1e-6, l2=1e-6, rule=rule, max_iter=EPOCHS, tol=None, random_state=0
    )


def stream(rule: str, X: Any, y: Any) -> Any:
    """A model that has learned the rows chunk by chunk."""
    model, classes = online(rule), np.unique(y)
    for first in range(0, len(y), CHUNK):
        rows = slice(first, first + CHUNK)
        model.partial_fit(X[rows], y[rows], classes=classes)
    return model


def answer(fit: Fit, X: Any, y: Any) -> dict[str, Any]:
    """The least processor seconds of a fit, and a digest of its weights."""
    seconds = []
    try:
        for _ in range(CALLS):
            began = time.process_time()
            model = fit(X, y)
            seconds.append(time.process_time() - began)
    except Exception as error:  # the other checkout may not have this fit
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    digest = hashlib.sha256(np.ascontiguousarray(model.coef_).tobytes()).hexdigest()
    return {"seconds": min(seconds), "digest": digest}


def main(rows: str, names: Iterable[str]) -> None:
    data, indices, indptr, shape, y = np.load(rows).values()
    X = sparse.csr_matrix((data, indices, indptr), tuple(shape))
    print(lazynet.__path__[0], flush=True)
    for name in names:
        print(json.dumps(answer(fits()[name.strip()], X, y)), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.stdin)
