"""``python -m paper_repro rcv1``: RCV1-v2 whole, from the network to the study ``stability``.

scikit-learn downloads RCV1-v2 (Lewis, Yang, Rose & Li 2004) and checks its SHA-256 sums.  This
command writes NAME.train.svm.gz and NAME.test.svm.gz of one topic against the rest, by the split of
Lewis and others, and runs a study on them.  The vectors are taken as they are: TF-IDF, rows of
length 1.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, fetch_rcv1

from lazynet.data.files import replaced


def prepared(arguments: list[str]) -> list[str]:
    """Write the files; returns the arguments of ``paper_repro`` for the study of them, or none."""
    options = _parser().parse_args(arguments)
    train, test = prepare(options.folder, options.topic)
    print(f"written: {train}, {test}", flush=True)
    if options.study is None:
        return []
    more = ["--out", str(options.out)] if options.out else []
    return [options.study, "--full", "--data", str(train), str(test), "--label", "1", *more]


def prepare(folder: Path, topic: str) -> tuple[Path, Path]:
    """The two svmlight files of one topic against the rest; the same rows give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in ("train", "test"):
        rows = fetch_rcv1(subset=kind)
        topics = [str(name) for name in rows.target_names]
        if topic not in topics:
            raise ValueError(f"topic must be one of {', '.join(topics)}; got {topic!r}")
        has_topic = rows.target[:, [topics.index(topic)]].toarray().ravel()
        path = folder / f"rcv1_{topic}.{kind}.svm.gz"
        # Without name and time in the packed file.
        with replaced(path) as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
            dump_svmlight_file(rows.data, np.where(has_topic, 1, -1), file, zero_based=False)
        written.append(path)
    return written[0], written[1]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro rcv1",
        description=(__doc__ or "").split("\n\n", 1)[1],
    )
    parser.add_argument("--topic", default="CCAT", help="the topic (default: %(default)s)")
    parser.add_argument(
        "--folder", type=Path, default=Path("rcv1-v2"), help="of the files (default: %(default)s)"
    )
    parser.add_argument(
        "--study", default="stability", help="the study to run (default: %(default)s)"
    )
    parser.add_argument(
        "--prepare-only", dest="study", action="store_const", const=None, help="run no study"
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    return parser
