"""Which tests run, and with how many examples.

make test             every test function, with a few of its cases and few examples; no slow tests
make test-all         all cases, with 25 examples for each property
make test-thorough    10,000 examples for each property, and the tests that take minutes
make wheels           the profile "few": the tests ask whether the wheel works
"""

import gc
import os
import signal
from collections import defaultdict

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


#: The most cases of a test function that ``--quick`` runs.
QUICK_CASES = 3


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a few cases and examples of each test")
    parser.addoption("--thorough", action="store_true", help="run the tests that take minutes")


def pytest_configure(config):
    if config.getoption("--quick"):
        settings.load_profile("few")


def pytest_collection_modifyitems(config, items):
    quick = config.getoption("--quick")
    left_out = set() if config.getoption("--thorough") else {"thorough"}
    if quick:
        left_out.add("slow")
    selected = [item for item in items if not left_out & set(item.keywords)]
    if quick:
        selected = few_cases(selected)
    chosen = set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = selected


def few_cases(items):
    """At most QUICK_CASES of the cases of each test function, the first and the last among them.

    The marker ``every_case`` keeps all cases.
    """
    chosen = {item for item in items if "every_case" in item.keywords}
    functions = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        count = min(len(cases), QUICK_CASES)
        chosen.update(cases[k * (len(cases) - 1) // max(count - 1, 1)] for k in range(count))
    return [item for item in items if item in chosen]


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
