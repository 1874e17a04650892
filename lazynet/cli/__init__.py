"""The command line: ``lazynet train | test | predict | convert``.

Each command is a module of this package with ``EXAMPLES`` for its help, ``add``, which adds its
options to a parser, and ``run``.  This module finds the command in the arguments, and turns its
errors into messages and exit codes.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from lazynet._version import __version__

#: The exit codes: success; wrong usage or bad input; Ctrl-C.
DONE, REFUSED, INTERRUPTED = 0, 2, 130

#: The purpose of each command, for --help.
COMMANDS = {
    "train": "train a model from files",
    "test": "measure a model on files",
    "predict": "write the predictions of a model",
    "convert": "write rows in another form",
}

_EPILOG = """\
examples:
  lazynet train rows.svm -o model.lazy
  lazynet test model.lazy new.svm
  lazynet predict model.lazy new.svm -o predictions.txt

exit codes:
  0    done
  2    wrong usage, or input that cannot be used; the message names the file and the line
  130  ended by Ctrl-C

'lazynet COMMAND --help' explains each command with examples.
"""


#: Phrases of messages about calls in Python, and what they are for commands.
PHRASES = {
    "error: paths: ": "error: ",
    "warm_start=True continues": "--from continues",
    "fit it with warm_start=False": "leave out --from",
    "fit them with warm_start=False": "leave out --from",
    "in the last of max_iter=": "in the last of ",
    "epochs: raise max_iter,": "epochs: raise --passes,",
    "or raise max_iter": "or raise --passes",
    "write standardize='auto'": "write --set standardize=auto",
    "of another call of fit.": "of another command.",
    "by checkpoint=...": "by --checkpoint",
    "(zero_based=True takes 0)": "(--base 0 takes 0)",
}


def say(text: str) -> None:
    """Write a line to stderr, with options in place of arguments in Python."""
    for python, command in PHRASES.items():
        text = text.replace(python, command)
    print(text, file=sys.stderr, flush=True)


def _module(command: str) -> Any:
    return import_module(f"lazynet.cli.{command}")


def new_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of all commands, with the options of this one.

    It does not import the modules of the other commands, because this would take a second.
    """
    # No option is named by its beginning, and the lines of examples stay.
    style: Any = {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(
        prog="lazynet",
        description="Sparse linear models from files that need not fit into memory.",
        epilog=_EPILOG,
        **style,
    )
    parser.add_argument("--version", action="version", version=f"lazynet {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        described: Any = {"help": line, "description": f"{line.capitalize()}."}
        options = commands.add_parser(name, **described, **style)
        if name == command:
            options.epilog = _module(name).EXAMPLES
            _module(name).add(options)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    >>> main(["test", "there/is/no/model", "rows.svm"])
    2
    """
    if isinstance(sys.stdout, TextIOWrapper):
        # Write characters that are not in the encoding as their numbers.
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        options = new_parser(arguments[0] if arguments else None).parse_args(arguments)
    except SystemExit as ending:
        return int(ending.code or 0)
    except KeyboardInterrupt:  # while the module of the command was imported
        say("lazynet: stopped by Ctrl-C; nothing was written")
        return INTERRUPTED
    try:
        return _run(options)
    except BrokenPipeError:
        # The reader of the output, such as head, has closed it.
        _drop_output()
        return DONE


def _drop_output() -> None:
    """Drop the output that is still in memory: Python would try to write it at exit, and fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(options: argparse.Namespace) -> int:
    name = f"lazynet {options.command}"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _shown  # type: ignore[assignment]
            _module(options.command).run(options)
            sys.stdout.flush()
            return DONE
    except KeyboardInterrupt:
        path = getattr(options, "checkpoint", None)
        if path is not None and os.path.exists(path):
            say(f"{name}: stopped by Ctrl-C; {path} keeps the run: the same command resumes it")
        else:
            say(f"{name}: stopped by Ctrl-C; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        # The message names the file, also if the disk is full.
        path = error.filename
        if path is None and error.errno == errno.ENOSPC:
            path = "standard output"
            _drop_output()
        prefix = "" if path is None else f"{path}: "
        say(f"{name}: error: {prefix}{error.strerror or error}")
    except (ValueError, TypeError, ArithmeticError, ImportError, MemoryError) as error:
        say(f"{name}: error: {error}")
    return REFUSED


def _shown(message: Warning | str, *_: Any) -> None:
    say(f"warning: {message}")
