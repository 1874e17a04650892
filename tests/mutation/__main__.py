"""How many small changes of the sources the tests notice.

Each change is made in a copy of the repository, whose tests then run: first the quick tier, as in
make test, then all tests for the changes that survive.  Tests of pages, notebooks, papers and
wheels are left out.  A change that does not compile is not counted.  Results are added to a file; a
later run continues.  Run from the folder tests/.
"""

import argparse
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mutation.changes import drawn, mutants_of
from mutation.named import named
from mutation.report import report
from mutation.tiers import ROOT, base_in, failing_test, files_for, tried

FOLDERS = ("kernels", "engines", "rules", "training", "minimum", "data")
EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def text_of(file):
    """The source of a file."""
    return (ROOT / file).read_text()


def all_mutants(folders=FOLDERS):
    """Every mutant of the sources in some folders of the package."""
    paths = [path for folder in folders for path in sorted((ROOT / "lazynet" / folder).rglob("*"))]
    files = [
        str(path.relative_to(ROOT)) for path in paths if path.suffix in (".py", ".pyx", ".pxd")
    ]
    return [mutant for file in files for mutant in mutants_of(file, text_of(file))]


def equivalents():
    """The reason for each mutant that changes nothing, by its identity.

    Each line of the file has the identity, the reason, and the place, separated by tabs.
    """
    rows = [line.split("\t") for line in EQUIVALENT.read_text().splitlines() if line[:1] != "#"]
    return {row[0]: row[1] for row in rows}


def parsed(arguments=None):
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    add = parser.add_argument
    add("--count", type=int, default=300, help="drawn mutants besides the named (default: 300)")
    add("--seed", type=int, default=0, help="of the draw (default: 0)")
    add("--only", choices=FOLDERS, help="only the sources of this folder, and no named mutants")
    add("--jobs", type=int, default=2, help="mutants at a time (default: 2)")
    add("--tier", choices=("quick", "whole"), help="only this tier (default: both)")
    add("--named", action="store_true", help="only the named mutants")
    add("--list", action="store_true", help="print the mutants, and run nothing")
    add("--report", action="store_true", help="print the report of the results so far")
    add("--check", action="store_true", help="run all tests on a copy without a change")
    add("--results", type=Path, default=ROOT / "build/mutation.jsonl")
    add("--folder", type=Path, default=Path(tempfile.gettempdir()) / "lazynet-mutation",
        help="where the copies are made")  # fmt: skip
    return parser.parse_args(arguments)


def main():
    """Run what the command line asks for."""
    options = parsed()
    if options.report:
        return print_report(options)
    mutants = [] if options.only else named(text_of)
    if not options.named:
        chosen = all_mutants([options.only] if options.only else FOLDERS)
        mutants += drawn(chosen, options.seed)[: options.count]
    mutants = [mutant for mutant in mutants if mutant.id not in equivalents()]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.id} {mutant.file}:{mutant.line} {mutant.operator}")
            print(f"    - {mutant.before}\n    + {mutant.after}")
        return None
    base = base_in(options.folder)
    for tier in [options.tier] if options.tier else ["quick", "whole"]:
        if options.check:
            for tests in files_for("lazynet/engines/base.py"):
                print(tier, failing_test(base, tests, tier) or "no test fails")
        else:
            run(mutants, base, tier, options)
    return None if options.check else print_report(options)


def run(mutants, base, tier, options):
    """Try the mutants that have no result of this tier yet, and write their results."""
    records = records_in(options.results)
    done = {r["id"] for r in records if r["tier"] in (tier, "discarded")}
    survived = {r["id"] for r in records if r["tier"] == "quick" and r["test"] is None}
    left = [m for m in mutants if m.id not in done and (tier == "quick" or m.id in survived)]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with options.results.open("a") as file, ThreadPoolExecutor(options.jobs) as pool:
        for each in as_completed([pool.submit(tried, mutant, base, tier) for mutant in left]):
            record = each.result()
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(record["tier"], record["seconds"], record["file"], record["line"],
                  record["test"] or "survives", flush=True)  # fmt: skip


def records_in(path):
    """The results in a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def print_report(options):
    """Print the scores and the survivors."""
    print("\n".join(report(records_in(options.results), equivalents())))


if __name__ == "__main__":
    main()
