"""The judgement of one call: a finite result, a clean error, or a failure.

A clean error is of a type that is accepted, names an argument, and leaves the model what it was.
"""

import re
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from support.portrait import differences, portrait

import lazynet

CLEAN = (ValueError, TypeError, FloatingPointError)
#: Warnings that are meant for those who wrote the code, not for those who call it.
LEAKS = (RuntimeWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning)
#: What scikit-learn says in words of its own, which its checks of estimators ask for.
WORDS_OF_SKLEARN = re.compile(
    r"Expected 2D array|Found array with|inconsistent numbers of samples|Unknown label type"
    r"|Complex data not supported|Input contains|Input (X|y) contains|1d array|bad input shape"
    r"|sparse (matrix|data|array)|not fitted yet|Sparse|dtype=object|softmax|one sample"
    r"|array of at least|Expected n_neighbors|minimum of|requires y to be passed"
    r"|labels represented as bytes|is expecting \d+ features|feature names|class label"
    r"|[Ss]ample weights"
    # A schedule that the caller gave, called as schedules are.
    r"|positional arguments but|has no len\(\)"
)

#: What Cython says of an object that is no array of the kind that a kernel takes.
WORDS_OF_CYTHON = re.compile(
    r"not C-contiguous|read-only|not writable|[Bb]uffer|cannot convert float|a bytes-like object"
    r"|must be real|an integer is required|has incorrect type|__cinit__|too large to convert"
    r"|__index__|arrays can be converted|truth value of an (?:empty )?array|unsized object"
    r"|not supported between instances|cannot be interpreted as an integer|(positional|keyword) arg"
)

_FOLDER = Path(lazynet.__file__).parent.as_posix()
#: In place of a line of the package, where none is involved: in scikit-learn's own ``score``.
OUTSIDE = "outside lazynet"


class Stopped(KeyboardInterrupt):
    """The fuzzer itself ended a call that asked for more work than it waits for."""


def place_of(filename, line):
    """The place of a line in the package, or None if it is not in it."""
    # Kernels say where they were compiled: relative to the root.
    for start in (f"{_FOLDER}/", "lazynet/"):
        if filename.startswith(start):
            return f"lazynet/{filename.removeprefix(start)}:{line}"
    return None


def _inside(frames):
    """The frames inside the package, outermost first."""
    places = (place_of(frame.filename, frame.lineno or 0) for frame in frames)
    return [place for place in places if place]


def innermost(error):
    """The line of the package where an error came from."""
    return (_inside(traceback.extract_tb(error.__traceback__)) or [OUTSIDE])[-1]


@contextmanager
def listening():
    """Collect the warnings that must not be seen: their text, and the line of the package."""
    heard = []

    def show(message, category, *_):
        lines = _inside(traceback.extract_stack())
        # Without a line of the package it is a warning of scikit-learn's own methods.
        if issubclass(category, LEAKS) and lines:
            heard.append((f"{category.__name__}: {message}", lines[-1]))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield heard


def plain(text):
    """A message without its numbers and quoted values, so that equal ones look equal."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\[.*\]|\(.*\)|<[^>]*>", "_", text.split("\n")[0])
    return re.sub(r"0x[0-9a-f]+|[-+]?\d[\d.e+]*", "N", text)[:90]


def names_one(text, words):
    """Whether a message names one of the arguments."""
    return any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", text)
               for word in words)  # fmt: skip


def judged(ledger, title, call, *, words, model=None, accepted=(), finite=True):
    """Make the call and enter in the ledger what becomes of it; returns its result, or None.

    ``words`` are the arguments that an error may name, ``model`` must survive it unchanged.
    """
    before = None if model is None else portrait(model)
    ledger.tell(title)
    result, error, name = None, None, title.split()[0]
    with listening() as heard:
        try:
            result = call()
        except BaseException as raised:
            error = raised
    for text, line in heard:
        ledger.fail(f"{plain(text)} at {line}", f"{title} let a warning out: {text} ({line})")
    if error is None:
        if finite and not all_finite(result):
            ledger.fail(f"{name} gave what is not finite", f"{title} returned {result!r:.200}")
        else:
            ledger.finite += 1
        return result
    judge_error(ledger, title, error, words, accepted)
    changed = [] if model is None else differences(before, portrait(model))
    if changed:
        ledger.fail(
            f"a failed {name} changed the model ({type(error).__name__} at {innermost(error)})",
            f"{title} raised {error!r:.200}, and the model changed: {'; '.join(changed[:3])}",
        )
    return None


def judge_error(ledger, title, error, words, accepted):
    """Enter an error in the ledger: a refusal in clean words, or a failure."""
    kind, line, text = type(error).__name__, innermost(error), str(error)
    if isinstance(error, Stopped):
        ledger.refused["stopped by the fuzzer"] += 1
    elif not isinstance(error, CLEAN + accepted):
        ledger.fail(f"{kind} at {line}", f"{title} raised {error!r:.300} at {line}")
    elif not (
        isinstance(error, MemoryError)
        or line == OUTSIDE
        or names_one(text, words)
        or WORDS_OF_SKLEARN.search(text)
        or ((".pyx" in line or ".pxd" in line) and WORDS_OF_CYTHON.search(text))
    ):
        ledger.fail(
            f"{kind} names no argument in {line.split(':')[0]}: {plain(text)}",
            f"{title} raised {error!r:.300} at {line}, which names no argument",
        )
    else:
        ledger.refused[kind] += 1


def all_finite(result):
    """Whether every number in a result, or in a fitted model, is finite."""
    if isinstance(result, (tuple, list)):
        return all(map(all_finite, result))
    if hasattr(result, "coef_"):
        return all_finite([np.asarray(result.coef_), np.asarray(result.intercept_)])
    if isinstance(result, (np.ndarray, float, complex, np.floating)):
        numbers = np.asarray(result)
        return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())
    return True
