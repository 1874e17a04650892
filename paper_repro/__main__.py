"""``python -m paper_repro``: Lipton & Elkan's timing study and what belongs to it, rerun.

Without names all studies run but ``released``, ``bench``, ``labels``, ``blocks``, ``machines``,
``optimum``, ``untouched``, ``peers``, in turn.  Each study writes NAME.json (every repeat, with
machine, versions, seeds and commit), NAME.md and NAME.svg.  README.md in the same folder is the
index.  The same command continues an interrupted run.  Four more commands:

    python -m paper_repro medline FILES...   real abstracts, from PubMed's XML
    python -m paper_repro rcv1               RCV1-v2 whole: fetched, checked, and a study of it
    python -m paper_repro readme             the README's figure from the committed results
    python -m paper_repro printed            what the papers print beside the committed results,
                                             and the index of the results
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from paper_repro.study import FULL, QUICK, Settings


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["medline"]:
        from paper_repro.pubmed import command

        return command.main(arguments[1:])
    if arguments[:1] == ["rcv1"]:
        from paper_repro import rcv1

        return rcv1.main(arguments[1:])
    try:
        if arguments == ["readme"]:
            from paper_repro import readme

            return readme.main()
        if arguments == ["printed"]:
            from paper_repro.index import write_index
            from paper_repro.results import RESULTS

            write_index(RESULTS)
            print("README.md and printed.md of the results written")
            return 0
        return run_studies(arguments)
    except (ValueError, OSError, ArithmeticError) as error:
        problem, code = f"python -m paper_repro: {error}", 1
    except KeyboardInterrupt as interrupted:
        problem, code = str(interrupted) or "interrupted", 130
    print(f"\n{problem}", file=sys.stderr)
    return code


def run_studies(arguments: list[str]) -> int:
    """Run the studies that were named, or all."""
    from paper_repro.documents import from_settings, from_svmlight
    from paper_repro.index import check_index, write_index
    from paper_repro.results import RESULTS, run_all
    from paper_repro.studies import STUDIES

    options = _parser(list(STUDIES)).parse_args(arguments)
    for name in options.studies:
        if name not in STUDIES:
            print(f"there is no study {name!r}; there are {', '.join(STUDIES)}", file=sys.stderr)
            return 2
    settings = _settings(options)
    out = options.out or (RESULTS if settings.full else RESULTS / "quick")
    chosen = options.studies or [n for n, study in STUDIES.items() if not study.only_when_named]
    # Refuse files that cannot be read before hours are spent on measuring.
    check_index(out, chosen)
    if settings.data is not None:
        corpus = from_settings(settings)
        if settings.test is not None and any(STUDIES[name].takes_test for name in chosen):
            from_svmlight(settings.test, corpus.label)
    studies = [STUDIES[name] for name in chosen]
    for study, document in run_all(studies, settings, out, fresh=options.fresh):
        print(f"# {study.title}\n\n{study.page(document)}\n", flush=True)
    print(write_index(out))
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    chosen = {
        field.name: value
        for field in fields(Settings)
        if (value := getattr(options, field.name, None)) is not None
    }
    return replace(FULL if options.full else QUICK, **chosen)


class _OneOrTwoFiles(argparse.Action):
    """``--data FILE``, or ``--data FILE TEST``."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        if len(values) > 2:
            parser.error(f"{option} takes one file or two, got {len(values)}")
        namespace.data, namespace.test = (*values, None)[:2]


def _parser(studies: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(studies)}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help="minutes, 100,000 examples (this is the default)"
    )
    size.add_argument("--full", action="store_true", help="1,000,000 examples, longer turns")
    parser.add_argument(
        "--data",
        nargs="+",
        metavar=("FILE", "TEST"),
        action=_OneOrTwoFiles,
        help="an svmlight file in place of generated rows, and another one to test on "
        "(stability, released, untouched)",
    )
    parser.add_argument(
        "--folder",
        help="a folder of svmlight files to learn from beside generated rows "
        "(bench, optimum, untouched, peers)",
    )
    parser.add_argument(
        "--label",
        help="which label to tell from the rest (default: nearest to half)",
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="forget an interrupted run, damaged or not, and measure everything anew",
    )
    for name, kind, text in (
        ("examples", int, "examples to generate"),
        ("features", int, "features of the generated corpus"),
        ("nonzeros", float, "nonzeros per example, on average"),
        ("repeats", int, "rounds in which everybody takes a turn"),
        ("seconds", float, "about how long a turn lasts"),
        ("seed", int, "of the corpus"),
    ):
        parser.add_argument(f"--{name}", type=kind, help=text)
    return parser


if __name__ == "__main__":
    sys.exit(main())
