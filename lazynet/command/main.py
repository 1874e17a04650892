"""The arguments of the command line to a subcommand, and its errors to messages and exit codes."""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from lazynet._version import __version__
from lazynet.command.foreign import hint_for, with_hint
from lazynet.command.output import closed_early, say

#: What a subcommand returns: all is well; a comparison has failed; bad usage or bad input; Ctrl-C.
DONE, WORSE, REFUSED, INTERRUPTED = 0, 1, 2, 130

#: Every subcommand and its module in lazynet.command, with the line that --help shows.
COMMANDS = {
    "train": "learn a model from files",
    "test": "measure a model on files",
    "predict": "write the predictions of a model",
    "inspect": "show what a model has learned",
    "verify": "compare the lazy model with its dense twin on your rows",
    "convert": "write rows in another form",
    "path": "models for a row of penalties, from the sparsest on",
}

_EPILOG = """\
examples:
  lazynet train rows.svm -f model.lazy
  lazynet test model.lazy new.svm
  lazynet predict model.lazy new.svm --proba -o predictions.txt
  lazynet inspect model.lazy

exit codes:
  0    done
  1    verify found a difference beyond its bound, or test a score below --at-least
  2    wrong usage, or input that cannot be used; the message names the file and the line
  130  ended by Ctrl-C

'lazynet COMMAND --help' teaches each command with examples.
"""


class _Parser(argparse.ArgumentParser):
    """Names no option by its beginning, and keeps the lines of examples."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)


def new_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; only the subcommand that the arguments name describes its options."""
    parser = _Parser(
        prog="lazynet",
        description="Sparse linear models from files, out of core: train, test, predict, look.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"lazynet {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in arguments if word in COMMANDS), None)
    for name, line in COMMANDS.items():
        # A subcommand loads what it needs, so that --help and mistakes are answered at once.
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if name == chosen:
            module = _module(name)
            module.add(command)
            command.epilog = module.EXAMPLES
    return parser


def _module(command: str) -> Any:
    return importlib.import_module(f"lazynet.command.{command}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    >>> main(["inspect", "there/is/no/model"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = new_parser(given)
    try:
        options, unknown = parser.parse_known_args(given)
    except SystemExit as ending:
        return int(ending.code or 0)
    if unknown:
        say(f"lazynet {options.command}: error: {hint_for(options.command, unknown[0])}")
        return REFUSED
    try:
        return _run(options)
    except BrokenPipeError:
        # Whoever reads the output has had enough of it, such as head.
        closed_early()
        return DONE


def _run(options: argparse.Namespace) -> int:
    name = f"lazynet {options.command}"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _shown  # type: ignore[assignment]
            code = int(_module(options.command).run(options))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        say(f"{name}: stopped by Ctrl-C; {getattr(options, 'when_stopped', 'nothing was written')}")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        say(f"{name}: error: {where}{error.strerror or error}")
    except (ValueError, TypeError, ArithmeticError, ImportError, MemoryError) as error:
        say(f"{name}: error: {with_hint(str(error))}")
    return REFUSED


def _shown(message: Warning | str, *_: Any) -> None:
    say(f"warning: {message}")
