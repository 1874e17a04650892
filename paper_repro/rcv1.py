"""``python -m paper_repro rcv1``: RCV1-v2 whole, from the network to the study ``stability``.

Fetches the vectors and the topics of RCV1-v2 (Lewis, Yang, Rose & Li 2004), checks each file by its
SHA-256 sum, writes NAME.train.svm.gz and NAME.test.svm.gz of one topic against the rest, by the
split of Lewis and others, and runs a study on them.  The vectors are taken as they are: TF-IDF,
rows of length 1.  What is fetched already is not fetched again; an interrupted download goes on.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from paper_repro.damaged import told_of
from paper_repro.pubmed.download import DownloadFailed, Known, download_known

#: Where the files are, under numbers for names.
SITE = "https://ndownloader.figshare.com/files/"
TOPICS = Known(
    "rcv1v2.topics.qrels.gz",
    "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
    "5976048",
)
TRAINING = (
    Known(
        "lyrl2004_vectors_train.dat.gz",
        "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae",
        "5976057",
    ),
)
TEST = (
    Known(
        "lyrl2004_vectors_test_pt0.dat.gz",
        "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374",
        "5976069",
    ),
    Known(
        "lyrl2004_vectors_test_pt1.dat.gz",
        "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6",
        "5976066",
    ),
    Known(
        "lyrl2004_vectors_test_pt2.dat.gz",
        "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5",
        "5976063",
    ),
    Known(
        "lyrl2004_vectors_test_pt3.dat.gz",
        "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39",
        "5976060",
    ),
)
_REMEDY = "delete it and start again"


def main(arguments: list[str]) -> int:
    """Run the command; returns 0, or 1 if something failed, or 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        train, test = prepare(options.folder, options.topic, options.mirror)
        print(f"written: {train}, {test}", flush=True)
    except (ValueError, OSError, DownloadFailed) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted; what is downloaded is kept", file=sys.stderr)
        return 130
    if options.study is None:
        return 0
    from paper_repro.__main__ import main as run

    more = ["--out", str(options.out)] if options.out else []
    return run([options.study, "--full", "--data", str(train), str(test), "--label", "1", *more])


def prepare(
    folder: str | Path, topic: str, mirror: str | None = None, *, pause: float = 2.0
) -> tuple[Path, Path]:
    """The two svmlight files of one topic against the rest, made from checked files."""
    folder = Path(folder)
    files: tuple[Known, ...] = (TOPICS, *TRAINING, *TEST)
    if mirror is not None:
        # A mirror has the files under their own names.
        files = tuple(Known(file.name, file.sha256, file.name) for file in files)
    paths = dict(
        zip(
            (file.name for file in files),
            download_known(files, folder, SITE if mirror is None else mirror, pause=pause),
            strict=True,
        )
    )
    members = documents_of(paths[TOPICS.name], topic)
    written = []
    for kind, parts in (("train", TRAINING), ("test", TEST)):
        path = folder / f"rcv1_{topic}.{kind}.svm.gz"
        write_rows(path, labelled((paths[part.name] for part in parts), members))
        written.append(path)
    return written[0], written[1]


def documents_of(path: Path, topic: str) -> set[bytes]:
    """The numbers of the documents that have the topic; lines are ``TOPIC DOCUMENT 1``."""
    found, topics = set(), set()
    with told_of(path, _REMEDY), gzip.open(path) as lines:
        for line in lines:
            name, document, _ = line.split()
            topics.add(name)
            if name == topic.encode():
                found.add(document)
    if not found:
        known = ", ".join(sorted(name.decode() for name in topics))
        raise ValueError(f"topic must be one of {known}; got {topic!r}")
    return found


def labelled(paths: Iterable[Path], members: set[bytes]) -> Iterator[bytes]:
    """Lines of svmlight from lines ``DOCUMENT  FEATURE:VALUE ...``."""
    for path in paths:
        with told_of(path, _REMEDY), gzip.open(path) as lines:
            for line in lines:
                document, _, features = line.partition(b" ")
                yield (b"1 " if document in members else b"-1 ") + features.strip() + b"\n"


def write_rows(path: Path, lines: Iterable[bytes]) -> None:
    """Write a packed file, whole or not at all; the same rows give the same bytes."""
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
        file.writelines(lines)
    part.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper_repro rcv1",
        description=(__doc__ or "").split("\n\n", 1)[1],
    )
    parser.add_argument("--topic", default="CCAT", help="the topic (default: %(default)s)")
    parser.add_argument(
        "--folder", type=Path, default=Path("rcv1-v2"), help="of the files (default: %(default)s)"
    )
    parser.add_argument("--mirror", metavar="URL", help="a folder of the files by their names")
    parser.add_argument(
        "--study", default="stability", help="the study to run (default: %(default)s)"
    )
    parser.add_argument(
        "--prepare-only", dest="study", action="store_const", const=None, help="run no study"
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    return parser
