"""Objects in arguments: ``ftrl(alpha=0.1)`` becomes ``FTRL(alpha=0.1)``; nothing is executed."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable, Mapping
from typing import Any


def count_from(least: int) -> Callable[[str], int]:
    """What makes a whole number of an argument; argparse names the option in its error.

    >>> count_from(1)("3")
    3
    >>> count_from(1)("0")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: must be a whole number from 1 on, got 0
    """

    def of(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} on, got {text}")
        return number

    return of


def value_of(text: str) -> Any:
    """A number, a flag, None or a string; a word is a string of itself.

    >>> value_of("0.5"), value_of("none"), value_of("true"), value_of("ovr")
    (0.5, None, True, 'ovr')
    """
    plain = {"none": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def object_of(option: str, text: str, known: Mapping[str, type[Any]]) -> Any:
    """A name as it is; a name with parameters in brackets as the object that it names.

    >>> from lazynet.rules.ftrl import FTRL
    >>> object_of("--rule", "ftrl(alpha=0.5)", {"ftrl": FTRL}), object_of("--rule", "sgd", {})
    (FTRL(alpha=0.5), 'sgd')
    >>> object_of("--rule", "ftrl(open('x'))", {"ftrl": FTRL})
    Traceback (most recent call last):
    ValueError: --rule must be a name, or a name with parameters such as ftrl(...=1), \
got "ftrl(open('x'))"
    """
    if "(" not in text:
        return text
    name = text.partition("(")[0].strip()
    try:
        call = ast.parse(text.strip(), mode="eval").body
        named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        words = call.keywords if isinstance(call, ast.Call) and named and not call.args else None
        if words is None or name not in known or any(word.arg is None for word in words):
            raise ValueError
        given = {str(word.arg): ast.literal_eval(word.value) for word in words}
    except (ValueError, SyntaxError):
        example = next(iter(known), "name")
        raise ValueError(
            f"{option} must be a name, or a name with parameters such as {example}(...=1), "
            f"got {text!r}"
        ) from None
    try:
        return known[name](**given)
    except TypeError as error:
        raise ValueError(f"{option}: {error}") from None
