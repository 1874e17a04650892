"""``python -m paper_repro``: the timing studies of the papers, rerun.

Without names all studies run but ``released``, in turn.  Each study writes NAME.json (every repeat,
with machine, versions, seeds and commit), NAME.md and NAME.svg.  README.md in the same folder is
the index.  The same command continues an interrupted run.  Three more commands:

    python -m paper_repro medline FILES...   real abstracts, from PubMed's XML
    python -m paper_repro rcv1               RCV1-v2 whole: fetched, checked, and a study of it
    python -m paper_repro printed            what the papers print, with the committed results,
                                             and the index of the results
"""

from __future__ import annotations

import sys

from paper_repro.command import Collected, guarded, run_studies

COMMAND = "python -m paper_repro"


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    return guarded(COMMAND, lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["medline"]:
        from paper_repro.pubmed import command

        return command.main(arguments[1:])
    if arguments[:1] == ["rcv1"]:
        from paper_repro import rcv1

        arguments = rcv1.prepared(arguments[1:])
        if not arguments:
            return 0
    from paper_repro.index import REPORTS, write_index
    from paper_repro.results import RESULTS
    from paper_repro.studies import STUDIES

    if arguments == ["printed"]:
        write_index(RESULTS)
        print("README.md and printed.md of the results written")
        return 0
    collected = Collected(COMMAND, __doc__ or "", STUDIES, REPORTS, RESULTS, write_index)
    return run_studies(collected, arguments)


if __name__ == "__main__":
    sys.exit(main())
