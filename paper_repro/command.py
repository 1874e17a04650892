"""The command line of a collection of studies: ``paper_repro`` and ``benchmarks`` share it."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from paper_repro.study import FULL, QUICK, Report, Settings, Study


@dataclass(frozen=True)
class Collected:
    """Studies with one command: its name and description, and the folder of the results."""

    command: str
    description: str
    studies: Mapping[str, Study]
    #: The studies, and reports that another command measures.
    reports: Mapping[str, Report]
    results: Path
    #: Writes the index of a folder of results, and returns the text to print.
    write_index: Callable[[Path], str]


def guarded(command: str, call: Callable[[], int]) -> int:
    """The exit code of the call; an error of a user or of a file is one line of text."""
    try:
        return call()
    except ModuleNotFoundError as error:
        problem, code = f"{command}: {error}. Run make .venv/.repro, then .venv/bin/{command}", 1
    except (ValueError, OSError, ArithmeticError) as error:
        problem, code = f"{command}: {error}", 1
    except KeyboardInterrupt as interrupted:
        problem, code = str(interrupted) or "interrupted", 130
    print(f"\n{problem}", file=sys.stderr)
    return code


def run_studies(collected: Collected, arguments: Sequence[str]) -> int:
    """Run the studies that were named, or all."""
    from paper_repro.documents import from_settings, from_svmlight
    from paper_repro.index import check_index
    from paper_repro.results import run_all

    known = collected.studies
    options = _parser(collected).parse_args(arguments)
    for name in options.studies:
        if name not in known:
            print(f"there is no study {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    settings = _settings(options)
    full = settings.full or options.pages
    out = options.out or (collected.results if full else collected.results / "quick")
    chosen = options.studies or [n for n, study in known.items() if not study.only_when_named]
    if options.pages:
        return render_again(collected, out)
    # Refuse files that cannot be read before hours are spent on measuring.
    check_index(out, chosen, collected.reports)
    if settings.data is not None:
        corpus = from_settings(settings)
        if settings.test is not None and any(known[name].takes_test for name in chosen):
            from_svmlight(settings.test, corpus.label)
    studies = [known[name] for name in chosen]
    print(announced(studies, settings, out), flush=True)
    began = time.perf_counter()
    for study, document in run_all(studies, settings, out, fresh=options.fresh):
        seconds = time.perf_counter() - began
        print(f"{study.name} ({seconds:.0f} s): {study.on_terminal(document)}\n", flush=True)
        began = time.perf_counter()
    print(collected.write_index(out))
    return 0


def announced(studies: Sequence[Study], settings: Settings, out: Path) -> str:
    """The studies and the folder of the results; for a short run, about how long each one takes."""
    told = [study.name for study in studies]
    total = ""
    # What a cell costs is known for the sizes of a short run on generated rows.
    if not settings.full and settings.data is None:
        costs = [sum(cell.cost for cell in study.cells(settings)) for study in studies]
        told = [f"{name} {cost:.0f} s" for name, cost in zip(told, costs, strict=True)]
        total = f"; about {math.ceil(sum(costs) / 60)} min of one processor"
    return (
        f"Measures {', '.join(told)}{total}.\n"
        f"Results go to {out}; after Ctrl-C the same command continues.\n"
    )


def render_again(collected: Collected, out: Path) -> int:
    """Write every page and figure in the folder again from the numbers there."""
    from paper_repro.index import documents_below, documents_in
    from paper_repro.results import write

    reports = collected.reports
    below = documents_below(out, reports)
    for folder, documents in (("", documents_in(out, reports)), *below.items()):
        for name, document in documents.items():
            write(reports[name], document, out / folder, numbers=False)
    print(collected.write_index(out))
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    """The settings of a run; ``--data FILE TEST`` names two files."""
    if options.data is not None:
        if len(options.data) > 2:
            raise ValueError(f"--data takes one file or two, got {len(options.data)}")
        options.data, options.test = (*options.data, None)[:2]
    chosen = {
        field.name: value
        for field in fields(Settings)
        if (value := getattr(options, field.name, None)) is not None
    }
    return replace(FULL if options.full else QUICK, **chosen)


def _parser(collected: Collected) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=collected.command,
        description=collected.description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(collected.studies)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {names}")
    parser.add_argument(
        "--full",
        action="store_true",
        help="1,000,000 examples, longer turns (default: 100,000 examples, minutes)",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        metavar=("FILE", "TEST"),
        help="an svmlight file in place of generated rows, and another one to test on "
        "(stability, released, defaults)",
    )
    parser.add_argument(
        "--folder",
        help="a folder of svmlight files, in addition to generated rows (optimum, defaults)",
    )
    parser.add_argument(
        "--only",
        metavar="WORDS",
        help="only rows with one of these words, divided by ;, in their kind or name (optimum)",
    )
    parser.add_argument(
        "--label",
        help="which label to tell from the rest (default: nearest to half)",
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="forget an interrupted run, damaged or not, and measure everything again",
    )
    parser.add_argument(
        "--pages",
        action="store_true",
        help="measure nothing, and write the pages and figures of the results again",
    )
    for name, kind, text in (
        ("examples", int, "examples to generate"),
        ("features", int, "features of the generated corpus"),
        ("nonzeros", float, "nonzeros per example, on average"),
        ("repeats", int, "rounds, in each of which every competitor is measured once"),
        ("seconds", float, "about how long a turn lasts"),
        ("seed", int, "of the corpus"),
    ):
        parser.add_argument(f"--{name}", type=kind, help=text)
    return parser
