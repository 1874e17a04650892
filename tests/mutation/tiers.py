"""Copies of the repository with a changed source, and the tests that fail in them."""

import contextlib
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = Path(__file__).with_name("build.py")
#: Tests that need many seconds or other processes; they come last.
SLOW = [
    "golden/test_bits.py", "lazynet", "safe/test_interrupts.py", "safe/test_threads.py",
    "safe/test_kernels_stay_inside_arrays.py", "safe/test_the_fuzzer.py",
    "safe/test_command_line.py", "on_dask",
]  # fmt: skip
_ENGINES = (
    "exact/test_lazy_equals_dense exact/test_references_of_rules_with_cells "
    "exact/test_averages_equal_the_plain_mean exact/test_rates_follow_the_rows exact/test_groups "
    "exact/test_saga exact/test_storages exact/test_losses exact/test_several_classes "
    "estimators/test_many_outputs safe/test_memory_layouts_of_arrays"
)
_MINIMUM = (
    "exact/test_gram exact/test_newton_steps exact/test_compact_rows exact/test_minima "
    "exact/test_certificates exact/test_dual_ascent_equals_the_reference "
    "exact/test_losses_that_jump estimators/test_dual_net estimators/test_paths exact/test_losses"
)
_DATA = (
    "exact/test_parser exact/test_streams estimators/test_fit_from_sources estimators/test_units "
    "exact/test_units_of_chunks safe/test_files_cut_short safe/test_input "
    "safe/test_memory_layouts_of_arrays "
    "safe/test_streams_in_trouble"
)
# Short tests of whole models, which notice faults of all kinds.
_MODELS = "safe/test_model_files safe/test_checkpoints exact/test_rows_in_any_order"
#: The tests to begin with, by the beginning of the file's path below lazynet/.
CLOSE = {
    "kernels/(text|moments|rows|words|examples|arrays)": _DATA,
    "minimum": _MINIMUM,
    "kernels/(col|comp|conj|dual|gram|model|newton|objective|slopes|sums|working_set)": _MINIMUM,
    "(kernels|engines)/stabilised": "exact/test_stabilised estimators/test_selection",
    "(kernels|engines)/dekel": "exact/test_dekel",
    "kernels|engines": f"{_MODELS} {_ENGINES}",
    "rules": f"exact/test_formulas_of_rules_and_schedules safe/test_parameters {_MODELS} "
    f"{_ENGINES}",
    "training": f"{_MODELS} estimators/test_training estimators/test_many_outputs "
    "estimators/test_units exact/test_grids "
    "estimators/test_choices_by_folds safe/test_weights_that_are_given safe/test_parameters "
    "estimators/test_parameter_objects exact/test_rates_of_later_epochs exact/test_streams",
    "data": f"{_DATA} {_MODELS}",
    "dask": "on_dask/test_blocks",
    "estimators": f"estimators/test_scikit_learn estimators/test_training {_MODELS}",
}
FOLDERS_OF_TESTS = ("tests/exact", "tests/estimators", "tests/safe")
#: Seconds for a run of the tests, and bytes of memory; beyond them a mutant counts as caught.
LONGEST = {"quick": 900, "whole": 4000}
MOST_MEMORY = 2**34


def files_for(file):
    """The test files in two lists: those to begin with, and all others."""
    pattern = next(each for each in CLOSE if re.match(f"lazynet/({each})", file))
    close = [f"tests/{name}.py" for name in CLOSE[pattern].split()]
    others = [f"{each}/{path.name}" for each in FOLDERS_OF_TESTS
              for path in sorted((ROOT / each).glob("test_*.py"))]  # fmt: skip
    slow = [name if name == "lazynet" else f"tests/{name}" for name in SLOW]
    return close, [each for each in others if each not in {*close, *slow}] + slow


def base_in(folder):
    """A copy of the repository without a change, built; an earlier one if nothing has changed."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()]
    files = [name for name in names if not name.startswith("tests/mutation")]
    digest = hashlib.sha256(BUILD.read_bytes())
    for name in files:
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    base = folder / f"base-{digest.hexdigest()[:12]}"
    if not (base / ".built").exists():
        shutil.rmtree(base, ignore_errors=True)
        for name in files:
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, base / name)
        if not built(base):
            raise SystemExit(f"the kernels cannot be built in {base}")
        # Copies of the base get its bytecode.
        if failed := first_failure(base, ["--collect-only", *FOLDERS_OF_TESTS], "quick"):
            raise SystemExit(f"the tests cannot be collected in {base}: {failed}")
        (base / ".built").touch()
    return base


def environment(folder):
    """The environment of a process that imports the package of a folder, and keeps its bytecode."""
    own = {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "",
           "LAZYNET_LEVELS": "1"}  # fmt: skip
    return os.environ | own


def built(folder):
    """Build what has changed; whether it compiles."""
    command = [sys.executable, str(BUILD)]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True)
    return done.returncode == 0


def failing_test(folder, tests, tier):
    """The first test that fails, crashes or hangs, also when it runs again; None if there is none.

    On a busy machine a test may fail once without a fault.
    """
    passed_later = []
    while True:
        test = first_failure(folder, tests, tier, passed_later)
        if test is None or "::" not in test or first_failure(folder, [test], tier):
            return test
        passed_later.append(test)


def first_failure(folder, tests, tier, left_out=()):
    """The first test that fails, crashes or hangs, or None."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-v", "--tb=no", "-p", "no:xdist", "-p",
        "no:cacheprovider", "--hypothesis-seed=0", *["--quick"][: tier == "quick"], *tests,
        *(f"--deselect={test}" for test in left_out),
    ]  # fmt: skip
    # A file: a process that the tests have left would keep a pipe open.
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=printed, stderr=printed,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY)),
        )  # fmt: skip
        ended = ""
        try:
            process.wait(timeout=LONGEST[tier])
        except subprocess.TimeoutExpired:
            ended = "\ntests that do not end:: FAILED"
        finally:
            # Also the processes that the tests have left, so that none outlives its folder.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        output = printed.read() + ended
    if process.returncode == 0:
        return None
    failed = re.search(r"^(\S+::.*?|tests that do not end::) (?:FAILED|ERROR)", output, re.M)
    failed = failed or re.search(r"^ERROR (\S+)", output, re.M)
    running = re.findall(r"^(\S+::\S+)", output, re.M)
    return failed[1] if failed else running[-1] if running else output[-300:]


def tried(mutant, base, tier):
    """The record of a mutant in one tier: the test that fails, if one does."""
    folder, begin = base.with_name(f"{tier}-{mutant.id}"), time.time()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    record = {"id": mutant.id, **mutant._asdict(), "tier": tier, "test": None}
    for name in ("start", "end", "new"):
        del record[name]
    try:
        source = folder / mutant.file
        source.write_text(mutant.applied(source.read_text()))
        if source.suffix == ".py":
            try:
                compile(source.read_text(), mutant.file, "exec")
            except SyntaxError:
                record["tier"] = "discarded"
        elif not built(folder):
            record["tier"] = "discarded"
        if record["tier"] == tier:
            close, others = files_for(mutant.file)
            test = failing_test(folder, close, tier) or failing_test(folder, others, tier)
            record["test"] = test
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {**record, "seconds": round(time.time() - begin, 1)}
