"""``python -m benchmarks NAME``: comparisons of lazynet with other programs, and other studies.

Each study writes NAME.json (every repeat, with machine, versions, seeds and commit), NAME.md and
NAME.svg.  README.md in the same folder is the index.  The same command continues an interrupted
run.  ``embeddings`` and ``long_tail`` need PyTorch and run only when named, in the environment of
``make test-torch``: ``.venv-torch/bin/python -m benchmarks embeddings``.  Five commands print their
figures instead:

    python -m benchmarks readme              the README's figure from the committed results
    python -m benchmarks machines [ROWS]     fits over blocks on workers, and in one process
    python -m benchmarks large [ROWS]        fits of one large problem: seconds and peak memory
    python -m benchmarks compare --old PATH  fits of the build in another checkout, and in this one
    python -m benchmarks build               the time to build each compiled module
"""

from __future__ import annotations

import sys
from importlib import import_module

from paper_repro.command import Collected, guarded, run_studies

COMMAND = "python -m benchmarks"


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    return guarded(COMMAND, lambda: _run(arguments))


def _run(arguments: list[str]) -> int:
    from benchmarks.studies import RESULTS, STUDIES, write_index

    if arguments == ["readme"]:
        from benchmarks import readme

        return readme.main()
    if arguments and arguments[0] in ("machines", "large", "compare", "build"):
        module = import_module(f"benchmarks.{arguments[0]}")
        return int(module.main(arguments[1:]))
    collected = Collected(COMMAND, __doc__ or "", STUDIES, STUDIES, RESULTS, write_index)
    return run_studies(collected, arguments)


if __name__ == "__main__":
    sys.exit(main())
