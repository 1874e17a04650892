"""Hypothesis profiles, and the tests that take minutes.

make wheels           the few profile: the test asks whether the wheel works
make test             the fast profile, without the thorough tests
make test-thorough    10,000 examples a property, and the thorough tests
"""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Problems are drawn from many parts, and shared machines are slow at times.
_COMMON = dict(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)
settings.register_profile("few", max_examples=3, **_COMMON)
settings.register_profile("fast", max_examples=25, **_COMMON)
settings.register_profile("thorough", max_examples=10_000, **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--thorough"):
        return
    skip = pytest.mark.skip(reason="takes minutes: make test-thorough")
    for item in items:
        if "thorough" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def python_hears_ctrl_c():
    """The handler that an interactive session has: a background job starts with Ctrl-C ignored.

    Python drops an exception that is raised in a callback of the garbage collector.  Hypothesis has
    such a callback, and a signal that arrives just before it is lost: there is none meanwhile.
    """
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    yield
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, previous)
