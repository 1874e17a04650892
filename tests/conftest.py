"""Which tests run, and with how many examples.

make test             every test function, with a few of its cases and few examples; no slow tests
make test-rest        all other cases, and every property with 25 examples; no test may be skipped
make test-all         all cases, with 25 examples for each property
make test-thorough    10,000 examples for each property, and the tests that take minutes
make test-torch       the tests of lazynet.torch
make wheels           the profile "few", 3 examples: the tests ask whether the wheel works
"""

import gc
import os
import signal
from collections import defaultdict
from importlib.util import find_spec

import pytest
import sklearn
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


#: Reasons for which a test may be skipped in ``make test-rest``, and why they are no failures.
MAY_SKIP = {
    **{
        f"{peer} is not installed": "the study runs in an environment with another NumPy"
        for peer in (
            "adelie",
            "celer",
            "cyanure",
            "glum",
            "liblinear",
            "R or glmnet",
            "skein_glm",
            "skglm",
        )
    },
    "typst is not installed: make article builds the report": "a compiler for one document",
    "torch is not installed: make test-torch runs these tests": "PyTorch is large",
    **{
        f"lazynet/torch/{name}.py')": "its examples run in make test-torch"
        for name in ("__init__", "decay", "table", "weight")
    },
    f"not in scikit-learn {sklearn.__version__}": "a later version brings the solver",
    "needs localedef and the sources of a locale": "the system has none",
    "other libraries have other bits on this machine": "digests are of two kinds of machine",
    "fewer than two processors are free": "the time of two threads cannot be measured",
    "the system does not tell how long a thread waits": "as above",
    "all tests skipped by +SKIP option": "an example in a docstring that must not run",
    "SCIPY_ARRAY_API is not set: not checking array_api input": "a check of scikit-learn",
}
#: Packages of extras, without which their tests are not collected.
OPTIONAL = ["dask", "lxml", "matplotlib", "pandas", "pyarrow", "tqdm", "vowpalwabbit"]
#: Where a quick run notes the cases that passed.
PASSED = "lazynet/passed-quick"


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a few cases and examples of each test")
    parser.addoption("--rest", action="store_true", help="what has not passed in a quick run")
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
    if find_spec("matplotlib") is None:  # which the module imports when it draws
        selected = [item for item in selected if item.path.name != "plots.py"]
    if quick:
        selected = few_cases(selected)
    elif config.getoption("--rest"):
        selected = remaining(selected, set(config.cache.get(PASSED, [])))
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


def remaining(items, passed):
    """The items that have not passed, and the properties, which now have more examples."""
    return [
        item
        for item in items
        if item.nodeid not in passed or hasattr(getattr(item, "obj", None), "hypothesis")
    ]


def pytest_terminal_summary(terminalreporter, config):
    """Note what has passed in a quick run, and name the packages that it did without."""
    if hasattr(config, "workerinput") or not config.getoption("--quick"):
        return
    if cache := getattr(config, "cache", None):
        cache.set(PASSED, [report.nodeid for report in terminalreporter.stats.get("passed", [])])
    missing = [name for name in OPTIONAL if find_spec(name) is None]
    if names := ", ".join(missing):
        terminalreporter.write_line(
            f"Not installed and not tested: {names}; make test-all installs all."
        )


def pytest_sessionfinish(session):
    """A run of the rest fails if a test is skipped for no reason of ``MAY_SKIP``."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("--rest"):
        return
    reasons = {report.longrepr[-1] for report in reporter.stats.get("skipped", [])}
    unlisted = sorted(reason for reason in reasons if not reason.endswith(tuple(MAY_SKIP)))
    if unlisted:
        reporter.write_line(f"\nSkipped for reasons that are not in MAY_SKIP: {unlisted}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
