"""Ctrl-C at any line of a call, once or twice, and what can be seen of a model afterwards."""

import os
import sys
from pathlib import Path

import lazynet
from support.portrait import portrait

PACKAGE = str(Path(lazynet.__file__).parent) + os.sep


class Presses:
    """Raises KeyboardInterrupt at chosen lines of the package, and counts the lines.

    Python takes a trace function away that has raised.  A profile function, which stays, puts it
    back for the second one.
    """

    def __init__(self, first=None, second=None):
        self.left = [each for each in (first, second) if each is not None]
        self.lines = 0
        #: where the key was pressed
        self.places = []

    def _trace(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.left and self.lines >= self.left[0]:
                self.left.pop(0)
                self.lines = 0
                name = Path(frame.f_code.co_filename).relative_to(PACKAGE)
                self.places.append(f"{name}:{frame.f_lineno}")
                raise KeyboardInterrupt
        return self._trace

    def _profile(self, frame, event, arg):
        if self.places and self.left and sys.gettrace() is None:
            outer = frame
            while outer is not None:
                if outer.f_code.co_filename.startswith(PACKAGE):
                    outer.f_trace = self._trace
                outer = outer.f_back
            sys.settrace(self._trace)

    def during(self, call):
        """Make the call; returns what it raised."""
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        try:
            call()
        except BaseException as error:
            return error
        finally:
            # First of all: the profile function would put the trace function back.
            self.left = []
            sys.setprofile(None)
            sys.settrace(None)
        return None


def observed(model):
    """What can be seen of a model, bit for bit."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    if not parameters:
        names = ["t", "weights", "intercept", "averages", "average_intercept", "_prediction"]
    found = [(name, portrait(getattr(model, name, "absent"))) for name in sorted(names)]
    return (*found, ("parameters", portrait(parameters)))
