"""``check`` compares a reader's answer to an exercise with the right one, and says what is wrong.

An exercise is a cell with a blank, ``answer = ...``, and a call of ``check``.  ``run.py`` puts the
folded solution in place of the blank, runs the cell, and stops if the answer is not right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["check"]

RIGHT, BLANK = "Right.", "No answer yet: replace the dots, and run this cell again."


def check(
    answer: Any,
    right: Any,
    *,
    wrong: Mapping[Any, str] | None = None,
    hint: str = "",
    tolerance: float = 1e-6,
) -> None:
    """Print whether ``answer`` is right, and otherwise what to think of.

    ``right`` is the answer, or a function that takes an answer and says whether it is right.
    ``wrong`` maps likely wrong answers to what is wrong with them; ``hint`` is for all others.

    >>> check(0.05, right=0.005, wrong={0.05: "You forgot the rate."}, hint="Multiply.")
    Not yet. You forgot the rate.
    >>> check("0.005", right=0.005, hint="Give a number.")
    Not yet. Give a number.
    >>> check(61.0, right=lambda n: len(range(n)) == 61)
    Right.
    """
    if answer is ... or (isinstance(answer, tuple | list) and any(part is ... for part in answer)):
        print(BLANK)
        return
    try:
        if isinstance(answer, float) and answer.is_integer():
            answer = int(answer)  # 61.0 is as right as 61, also as the end of a range
        is_right = right(answer) if callable(right) else _same(answer, right, tolerance)
        if is_right:
            print(RIGHT)
            return
        told = [text for other, text in (wrong or {}).items() if _same(answer, other, tolerance)]
    except Exception as error:  # whatever a reader's code raises is told, not raised
        print(f"Not yet. The check of your answer stopped with {type(error).__name__}: {error}")
        return
    print("Not yet.", *(told or [hint]))


def _same(answer: Any, other: Any, tolerance: float) -> bool:
    """Whether two answers are equal: numbers nearly, words but for capital letters.

    >>> _same([1.0, (2, 3)], ([1, [2, 3]]), 1e-6), _same([1.0], 1.0, 1e-6), _same(True, 1, 1e-6)
    (True, False, True)
    """
    # An array of NumPy becomes a list, and a number of NumPy a number of Python.
    answer, other = (each.tolist() if hasattr(each, "tolist") else each for each in (answer, other))
    if isinstance(other, str):
        return isinstance(answer, str) and answer.strip().lower() == other.lower()
    if isinstance(other, set | frozenset):
        return isinstance(answer, set | frozenset | list | tuple) and set(answer) == set(other)
    if isinstance(other, bool):
        return isinstance(answer, bool) and answer is other
    if isinstance(answer, str):
        return False
    if isinstance(other, list | tuple):
        return (
            isinstance(answer, list | tuple)
            and len(answer) == len(other)
            and all(_same(*pair, tolerance) for pair in zip(answer, other, strict=True))
        )
    if isinstance(answer, list | tuple):
        return False
    return math.isclose(float(answer), float(other), rel_tol=tolerance)
