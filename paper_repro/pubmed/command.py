"""``python -m paper_repro medline``: counts in PubMed files, as svmlight.

Counts the words of the abstracts in PubMed XML files (.xml or .xml.gz: exports from the web site,
or the yearly baseline of the NLM, which --download fetches), and writes them with MeSH headings as
labels.  The corpus of Lipton & Elkan's papers has the first 1,000,000 abstracts and 260,941 words:

    python -m paper_repro medline --download 100 --abstracts 1000000 --words 260941 --save own.svm
    python -m paper_repro corpus table --full --data own.svm
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

_NLM = "that of the NLM"


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns 0, or 1 if something failed, or 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(argv)
    if not options.files and options.download is None:
        parser.error("name files, or give --download N")
    try:
        return _run(options)
    except ModuleNotFoundError as missing:
        if missing.name not in ("lxml", "tqdm", "matplotlib"):
            raise
        problem = f"{missing.name} is needed here: pip install lxml matplotlib tqdm"
    except (ValueError, OSError, RuntimeError) as error:
        problem = str(error)
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted; what is downloaded is kept", file=sys.stderr)
        return 130
    print(f"{parser.prog}: {problem}", file=sys.stderr)
    return 1


def _run(options: argparse.Namespace) -> int:
    # Not at the top of the file: these modules need packages that only this command needs.
    from paper_repro.index import check_index, write_index
    from paper_repro.machine import provenance
    from paper_repro.pubmed.bag import collect
    from paper_repro.pubmed.download import NLM_BASELINE, download
    from paper_repro.pubmed.page import MEDLINE, counted
    from paper_repro.pubmed.save import save, stem_of
    from paper_repro.results import RESULTS, finished, write

    for name in ("download", "min_df", "top_labels", "abstracts", "words"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    if options.save is not None:
        stem_of(options.save)  # refuse a wrong name before files are read
    out = options.out or RESULTS / "quick"
    check_index(out, [MEDLINE.name])
    files = list(options.files)
    if options.download is not None:
        mirror = NLM_BASELINE if options.mirror is None else options.mirror
        files += download(options.download, options.folder, mirror)
    with _bar(files) as bar:
        bag = collect(
            files,
            min_document_frequency=options.min_df,
            abstracts=options.abstracts,
            words=options.words,
            on_file=lambda _, n_bytes: bar.update(n_bytes),
        )
    if options.label is not None:
        bag.column(options.label)  # refuse a heading that is not there
    if options.label is not None:
        bag.column(options.label)  # refuse a heading that is not there
    choice: dict[str, Any] = dict(label=options.label, top=options.top_labels)
    if options.save is not None:
        paths = save(bag.indexed(), options.save, **choice)
        print(f"saved, of the citations with MeSH headings: {', '.join(map(str, paths))}\n")
    limits = {name: getattr(options, name) for name in ("min_df", "abstracts", "words")}
    settings = {"files": [file.name for file in files], **limits, **choice}
    document = finished(MEDLINE, settings, provenance(), {"medline": counted(bag)})
    print(MEDLINE.page(document))
    write(MEDLINE, document, out)
    write_index(out)
    print(f"\nwritten with its curves: {out / 'medline.md'}")
    return 0


def _bar(files: list[Path]) -> Any:
    """Bytes of all files, shown on a terminal only."""
    from tqdm import tqdm

    total = sum(path.stat().st_size for path in files if path.is_file())
    return tqdm(total=total, desc="reading", unit="B", unit_scale=True, leave=False, disable=None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro medline",
        description=(__doc__ or "").split("\n\n", 1)[1],
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help=".xml or .xml.gz")
    parser.add_argument(
        "--download", type=int, metavar="N", help="fetch the first N files of the baseline"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("pubmed-baseline"),
        help="where downloads go (default: %(default)s)",
    )
    parser.add_argument("--mirror", metavar="URL", help=f"folder to fetch from (default: {_NLM})")
    parser.add_argument(
        "--min-df",
        type=int,
        default=2,
        metavar="N",
        help="leave out words that fewer citations have (default: %(default)s)",
    )
    parser.add_argument(
        "--abstracts", type=int, metavar="N", help="read no further than the first N abstracts"
    )
    parser.add_argument(
        "--words", type=int, metavar="N", help="keep the N words that occur most often"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--label", metavar="HEADING", help='one MeSH heading, "D006801" or "Humans"')
    which.add_argument(
        "--top-labels",
        type=int,
        default=10,
        metavar="K",
        help="the K most frequent headings (default: %(default)s)",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="NAME.svm",
        help="write the counts and labels as svmlight (.svm or .svm.gz)",
    )
    parser.add_argument("--out", type=Path, help="folder of the report")
    return parser
