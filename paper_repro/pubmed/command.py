"""``python -m paper_repro medline``: counts in PubMed files, as svmlight.

Counts the words of the abstracts in PubMed XML files (.xml or .xml.gz: exports from the web site,
or the yearly baseline at https://ftp.ncbi.nlm.nih.gov/pubmed/baseline/), and writes them with MeSH
headings as labels.  The corpus of Lipton & Elkan's papers has the first 1,000,000 abstracts and
260,941 words:

    python -m paper_repro medline *.xml.gz --abstracts 1000000 --words 260941 --save own.svm
    python -m paper_repro corpus table --full --data own.svm
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Read the files, and write the report and what ``--save`` asks for."""
    # Not at the top of the file: these modules need packages that only this command needs.
    from tqdm import tqdm

    from paper_repro.index import check_index, write_index
    from paper_repro.machine import provenance
    from paper_repro.pubmed.bag import collect
    from paper_repro.pubmed.page import MEDLINE, counted
    from paper_repro.pubmed.save import save, stem_of
    from paper_repro.results import RESULTS, finished, write

    options = _parser().parse_args(arguments)
    for name in ("min_df", "top_labels", "abstracts", "words"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    if options.save is not None:
        stem_of(options.save)  # refuse a wrong name before files are read
    out = options.out or RESULTS / "quick"
    check_index(out, [MEDLINE.name])
    bag = collect(
        tqdm(options.files, desc="reading", unit="file", leave=False, disable=None),
        min_document_frequency=options.min_df,
        abstracts=options.abstracts,
        words=options.words,
    )
    if options.save is not None:
        paths = save(bag.indexed(), options.save, top=options.top_labels)
        print(f"saved, of the citations with MeSH headings: {', '.join(map(str, paths))}\n")
    settings = {
        "files": [file.name for file in options.files],
        **{name: getattr(options, name) for name in ("min_df", "abstracts", "words")},
        "top": options.top_labels,
    }
    document = finished(MEDLINE, settings, provenance(), {"medline": counted(bag)})
    print(MEDLINE.page(document))
    write(MEDLINE, document, out)
    write_index(out)
    print(f"\nwritten with its curves: {out / 'medline.md'}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro medline",
        description=(__doc__ or "").split("\n\n", 1)[1],
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".xml or .xml.gz")
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
    parser.add_argument(
        "--top-labels",
        type=int,
        default=10,
        metavar="K",
        help="the K most frequent MeSH headings are the labels (default: %(default)s)",
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="NAME.svm",
        help="write the counts and labels as svmlight (.svm or .svm.gz)",
    )
    parser.add_argument("--out", type=Path, help="folder of the report")
    return parser
