"""PubMed files are read, counted and saved as documented."""

import gzip
import itertools
import re
import socket
from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from paper_repro.__main__ import main
from paper_repro.damaged import DamagedFile
from paper_repro.pubmed.bag import collect
from paper_repro.pubmed.citations import (
    BOOK_ARTICLE,
    NO_ABSTRACT,
    NO_PMID,
    Citation,
    Deleted,
    Skipped,
    read_citations,
)
from paper_repro.pubmed.save import save

DOCTYPE = '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "{}">'
HUMANS, MICE = ("D006801", "Humans"), ("D051379", "Mice")


def article(pmid, abstract="some words", *, version=1, mesh=(), title="A", more=""):
    """A citation; an abstract that begins with a tag is used unchanged, and None leaves it out.

    A title of one letter adds no word.
    """
    if abstract is not None and "<AbstractText" not in abstract:
        abstract = f"<AbstractText>{abstract}</AbstractText>"
    headings = "".join(
        f'<MeshHeading><DescriptorName UI="{ui}">{name}</DescriptorName>'
        f'<QualifierName UI="Q000">drug effects</QualifierName></MeshHeading>'
        for ui, name in mesh
    )
    return (
        f"<PubmedArticle><MedlineCitation>"
        f'{"" if pmid is None else f"""<PMID Version="{version}">{pmid}</PMID>"""}'
        f"<Article><ArticleTitle>{title}</ArticleTitle>"
        f"{'' if abstract is None else f'<Abstract>{abstract}</Abstract>'}</Article>"
        f"<MeshHeadingList>{headings}</MeshHeadingList>{more}</MedlineCitation></PubmedArticle>\n"
    )


def export(*records, head='<?xml version="1.0" encoding="utf-8"?>\n'):
    return f"{head}<PubmedArticleSet>\n{''.join(records)}</PubmedArticleSet>\n".encode()


def deletion(*pmids):
    numbers = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in pmids)
    return f"<DeleteCitation>{numbers}</DeleteCitation>"


@pytest.fixture
def write(tmp_path):
    """Write bytes to a file of the test's folder; numbered unless named."""

    def written(content, name=None):
        path = tmp_path / (name or f"{len(list(tmp_path.iterdir()))}.xml")
        path.write_bytes(content)
        return path

    return written


@pytest.fixture
def read(write):
    """All records of a file with these bytes."""
    return lambda content: list(read_citations(write(content)))


# --- reading --------------------------------------------------------------------------------


SECTIONS = (
    '<AbstractText Label="AIM">Why.</AbstractText><AbstractText Label="END">So.</AbstractText>'
)
FOREIGN = "<OtherAbstract><AbstractText>Pourquoi.</AbstractText></OtherAbstract>"
MATHML = (
    '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mrow><m:mi>sin</m:mi>'
    "<m:mi>beta</m:mi></m:mrow></m:math>"
)
MARKUP = f"CO<sub>2</sub> (<i>P</i>&lt;0.05)<!-- no --><?no way?> of{MATHML}was\n  caf&#233;"
COMMENT = "<CommentsCorrections><PMID>9</PMID></CommentsCorrections>"
BOOK = (
    '<PubmedBookArticle><BookDocument><PMID Version="2">7</PMID><Abstract><AbstractText>Text'
    "</AbstractText></Abstract></BookDocument></PubmedBookArticle>"
)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        # Descriptors without their qualifiers.
        (
            article(12, "Words here.", version=3, mesh=[HUMANS, MICE]),
            Citation(12, 3, "A", "Words here.", (HUMANS, MICE)),
        ),
        # Sections without their labels; abstracts in other languages do not count.
        (article(1, SECTIONS, more=FOREIGN), Citation(1, 1, "A", "Why. So.", ())),
        # An index belongs to its word, a symbol of a formula is a word, a comment is left out.
        (
            article(1, MARKUP, title="The <b>bold</b> one"),
            Citation(1, 1, "The bold one", "CO2 (P<0.05) of sin beta was café", ()),
        ),
        # The number of a comment or a correction belongs to another citation.
        (article(1, more=COMMENT), Citation(1, 1, "A", "some words", ())),
        (article(None, more=COMMENT), Skipped(None, NO_PMID)),
        (BOOK, Skipped(7, BOOK_ARTICLE, 2)),
        (article(2, None), Skipped(2, NO_ABSTRACT)),
        (article(3, " "), Skipped(3, NO_ABSTRACT)),
        (article("x"), Skipped(None, NO_PMID)),
        (deletion(4), Deleted(4)),
    ],
)
def test_a_record_is_read_or_skipped_with_a_reason(read, record, expected):
    """In an export, and alone, as tools that split exports write it."""
    assert read(export(record)) == [expected]
    assert read(export(article(8), record, article(9)))[1:-1] == [expected]
    assert read(record.encode()) == [expected]


# --- refusing -------------------------------------------------------------------------------


def test_the_usual_doctype_is_accepted_and_not_fetched(read):
    """The DTD's address is a socket, to which nothing connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        head = DOCTYPE.format(f"http://127.0.0.1:{server.getsockname()[1]}/pubmed.dtd")
        assert [record.pmid for record in read(export(article(1), head=head))] == [1]
        with pytest.raises(BlockingIOError):
            server.accept()


_UNDECLARED = [article(1, "&alpha;"), article(1, mesh=[("&alpha;", "N")]), article(1) + "&alpha;"]
#: Declarations, used or not, and records with an entity that is not declared.
ENTITIES = [
    ('<!DOCTYPE PubmedArticleSet [<!ENTITY used "text">]>', article(1, "&used;")),
    ('<!DOCTYPE PubmedArticleSet [<!ENTITY unused "text">]>', article(1)),
    ('<!DOCTYPE PubmedArticleSet [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>', article(1)),
    *((head, record) for head in ("", DOCTYPE.format("pubmed.dtd")) for record in _UNDECLARED),
]


@pytest.mark.parametrize(("head", "record"), ENTITIES)
def test_entities_are_refused(write, head, record):
    """No citation is yielded without the text of its entity."""
    got, message = [], r"declares the entity|broken XML|Entity 'alpha' not defined"
    with pytest.raises(DamagedFile, match=message):
        got.extend(read_citations(write(export(record, head=head))))
    assert all(citation.abstract == "some words" and citation.mesh == () for citation in got)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "broken XML"),
        (gzip.compress(b"", mtime=0), "broken XML"),
        (b"PMID- 123", "broken XML: line 1, column 1"),
        (b"<html><body>Not found</body></html>", "outermost element is 'html'"),
        (b'<PubmedArticleSet xmlns="u"/>', "outermost element is '{u}PubmedArticleSet'"),
        (export(article(1))[:-30], "broken XML: line 3, column"),
        (export(article(1, "<b>x</i>")), "broken XML: line 3, column .*[mM]ismatch"),
        (export(article(1, "na\u00efve")).replace("ï".encode(), b"\xef"), "broken XML: line 3"),
        (export(article(1), head='<?xml version="1.0" encoding="klingon"?>'), "broken XML"),
        (gzip.compress(export(article(1)), mtime=0)[:-12], "damaged gzip data"),
        (b"\x1f\x8b rubbish", "damaged gzip data"),
    ],
)
def test_damage_is_refused_with_file_and_place(write, content, complaint):
    """All damage raises one kind of error, which begins with the file's name."""
    path = write(content)
    with pytest.raises(DamagedFile, match=f"^{re.escape(str(path))}: .*{complaint}") as caught:
        list(read_citations(path))
    assert caught.value.path == path


# --- counting -------------------------------------------------------------------------------


def check_tally(bag):
    """The tally accounts for every citation."""
    tally = bag.tally
    assert tally.seen == sum((tally.kept, *tally.skipped.values(), tally.superseded, tally.deleted))
    assert tally.kept == bag.X.shape[0] == bag.mesh.shape[0] == len(bag.pmids)
    most = tally.most_frequent_words
    assert (tally.words if most is None else most) == bag.X.shape[1] == len(bag.vocabulary)
    assert len(bag.descriptors) == bag.mesh.shape[1]


def plain_count(files, min_document_frequency, abstracts, most):
    """The words of each PMID, of records (pmid, version, words or None, deleted); and deletions."""
    in_force, n_deleted = {}, 0
    for pmid, version, words, deleted in itertools.chain(*files):
        if deleted:
            n_deleted += in_force.pop(pmid, (0, None))[1] is not None
        elif version >= in_force.get(pmid, (0,))[0]:
            in_force.pop(pmid, None)  # the last of all rows
            in_force[pmid] = version, words
        if sum(words is not None for _, words in in_force.values()) == abstracts:
            break
    counts = {pmid: Counter(words) for pmid, (_, words) in in_force.items() if words is not None}
    having = Counter(word for each in counts.values() for word in each)
    occurring = sum(counts.values(), Counter())
    enough = sorted(word for word in having if having[word] >= min_document_frequency)
    frequent = set(sorted(enough, key=lambda word: -occurring[word])[:most])
    left = {pmid: {w: row[w] for w in row if w in frequent} for pmid, row in counts.items()}
    return {pmid: row for pmid, row in left.items() if row}, n_deleted


@pytest.mark.parametrize("seed", range(20))
def test_the_bag_is_that_of_a_plain_count(write, seed):
    """The highest version counts wherever it is, and among equal versions the last, also one
    without an abstract; a deletion removes what stands before it; frequencies and limits are those
    of what remains."""
    random = np.random.default_rng(seed)
    files, paths = [], []

    def record():
        """A number from 1 to 8, a version, three words or none, and whether it is a deletion."""
        pmid, version = int(random.integers(1, 9)), int(random.integers(1, 3))
        missing = random.random() < 0.2
        words = None if missing else random.choice(["aa", "bb", "cc", "dd", "ee"], 3).tolist()
        return pmid, version, words, random.random() < 0.2

    def text_of(pmid, version, words, deleted):
        return (
            deletion(pmid) if deleted else article(pmid, words and " ".join(words), version=version)
        )

    for _ in range(random.integers(1, 4)):
        files.append([record() for _ in range(8)])
        paths.append(write(export(*(text_of(*each) for each in files[-1]))))
    for least, abstracts, most in ((1, None, None), (2, None, None), (1, 3, None), (1, None, 2)):
        expected, n_deleted = plain_count(files, least, abstracts, most)
        options = dict(min_document_frequency=least, abstracts=abstracts, words=most)
        if not expected:
            with pytest.raises(ValueError, match=r"no word|no citation"):
                collect(paths, **options)
            continue
        bag = collect(paths, **options)
        rows = bag.X.toarray()
        found = {
            int(pmid): {word: n for word, n in zip(bag.vocabulary, row, strict=True) if n}
            for pmid, row in zip(bag.pmids, rows, strict=True)
        }
        assert (found, bag.tally.deleted) == (expected, n_deleted)
        check_tally(bag)


def test_a_damaged_file_does_not_stop_the_others(write, tmp_path):
    """The tally names the file and the problem, and the records before the damage count."""
    broken = write(export(article(2), article(3))[:-70])
    missing = tmp_path / "missing.xml"
    bag = collect([write(export(article(1))), broken, missing, tmp_path, write(export(article(4)))])
    assert bag.pmids.tolist() == [1, 2, 4]
    assert [path for path, _ in bag.tally.damaged] == [str(broken), str(missing), str(tmp_path)]
    assert "broken XML: line 4" in bag.tally.damaged[0][1]
    assert "No such file" in bag.tally.damaged[1][1]
    check_tally(bag)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no citation with an abstract in 1 file\n.*broken XML"),
        (export(article(1, None)), "no citation with an abstract in 1 file\n  1 skipped: no abs"),
        (export(article(1, "? !")), "no word in 1 file"),
        (export(article(1, "one"), article(2, "two")), "no word that 2 citations have"),
        (export(article(1), deletion(1)), "no word that 2 citations have"),
    ],
)
def test_nothing_at_all_is_an_error(write, content, complaint):
    """The error gives the known reasons."""
    with pytest.raises(ValueError, match=complaint):
        collect([write(content)])


# --- saving ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.svm", "a.svm.gz"])
def test_saved_files_load_as_they_were(write, tmp_path, name):
    """Counts and labels are equal; every number has its line of text."""
    records = [
        article(1, "men and mice", mesh=[HUMANS, MICE, HUMANS]),
        article(2, "men and men", mesh=[HUMANS]),
        article(3, "mice and mice", mesh=[MICE]),
        article(4, "men", mesh=[HUMANS]),
        article(5, "and"),
        article(6, "gone", mesh=[("D000001", "Calcimycin")]),
        deletion(6),
    ]
    labelled = collect([write(export(*records))])
    paths = save(labelled, tmp_path / name, top=2)
    assert [path.name for path in paths] == [name, "a.vocab.txt", "a.labels.txt"]
    X, y = load_svmlight_file(str(paths[0]), zero_based=False, multilabel=True)
    assert (X != labelled.X).nnz == 0
    assert y == [(0, 1), (0,), (1,), (0,), ()]
    assert paths[1].read_text().splitlines() == labelled.vocabulary
    assert paths[2].read_text() == "D006801\tHumans\nD051379\tMice\n"
    before = paths[0].read_bytes()
    assert save(labelled, tmp_path / name, top=2)[0].read_bytes() == before
    assert len(list(tmp_path.glob("*a.*"))) == 3


# --- the command ----------------------------------------------------------------------------


def test_the_papers_corpus_takes_one_command(write, tmp_path, monkeypatch, capsys):
    """The command reads, counts, saves, reports, and names damaged files.

    It takes the first abstracts of a file, with the most frequent words, for ``--data``.
    """
    records = [
        article(i + 1, f"word{i % 7} word{i % 11} word{i % 30}", mesh=[HUMANS, MICE][: 1 + i % 2])
        for i in range(80)
    ]
    write(gzip.compress(export(*records)), "some.xml")  # packed without the ending
    write(b"", "broken.xml")
    monkeypatch.chdir(tmp_path)
    options = ["--abstracts", "60", "--words", "20", "--top-labels", "2", "--save", "own.svm.gz"]
    assert main(["medline", "broken.xml", "some.xml", *options, "--out", "report"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.search(r"kept \| 60 \|\n(.*\n)*\| .*most frequent.* \| 20 \|", out)
    assert re.search(r"broken\.xml: broken XML", out)
    assert re.search(r"\| Humans \(D006801\) \| 60 \|", out)
    assert "nan" not in out
    assert load_svmlight_file("own.svm.gz", multilabel=True)[0].shape == (60, 20)
    page = (tmp_path / "report" / "medline.md").read_text()
    assert "broken.xml, some.xml" in page
    assert "Mice (D051379) | 30 |" in page
    assert "<svg" in (tmp_path / "report" / "medline.svg").read_text()
    printed = (tmp_path / "report" / "printed.md").read_text()
    assert "60 real abstracts were read" in printed
    assert "generated" not in printed
