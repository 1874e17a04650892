"""Properties that must fail, because something that they compare is broken on purpose."""

import pytest
from hypothesis import HealthCheck, Phase, settings


def caught(number=1000, match=None):
    """A decorator that runs a property at once: it must fail on one of ``number`` examples.

    The examples are the same every time.  A failing example is not made smaller.
    """
    same_every_time = settings(
        max_examples=number, phases=[Phase.generate], database=None, derandomize=True,
        deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip

    def run(test):
        with pytest.raises(AssertionError, match=match):
            same_every_time(test)()

    return run
