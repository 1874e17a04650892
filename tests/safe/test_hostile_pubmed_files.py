"""A small PubMed file that expands without end is read in bounded work and memory."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytest.importorskip("lxml")
pytest.importorskip("paper_repro.pubmed", reason="only in a checkout")

from paper_repro.damaged import DamagedFile
from paper_repro.pubmed.citations import read_citations
from paper_repro.pubmed.opened import LARGEST_HEAD, LARGEST_RECORD, opened

HEAD, BEGIN, END = b'<?xml version="1.0"?>\n', b"<PubmedArticleSet>\n", b"</PubmedArticleSet>\n"
MANY = 1 << 22
LONG = 40 << 20


def record(inside=b"", authors=b""):
    return (
        b"<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Abstract><AbstractText>words"
        + inside
        + b"</AbstractText></Abstract><AuthorList>"
        + authors
        + b"</AuthorList></Article></MedlineCitation></PubmedArticle>\n"
    )


@pytest.fixture
def packed(tmp_path):
    """A file of these bytes, packed, with a good record before the end."""

    def written(*parts):
        path = tmp_path / "small.xml.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for part in (*parts, record(), END):
                file.write(part)
        return path

    return written


#: Each unpacks to 16 MiB or more, and would make a tree of 500 MB or more, if it is not long text.
LARGE = {
    "elements": (HEAD, BEGIN, b"<x/>a" * MANY),
    "nested elements": (HEAD, BEGIN, b"<y>", b"<x/>" * MANY, b"</y>"),
    "elements in a record": (HEAD, BEGIN, record(b"<x/>" * MANY)),
    "comments": (HEAD, BEGIN, b"<!---->" * MANY),
    "comments behind the end": (HEAD, BEGIN, END, b"<!---->" * MANY),
    "instructions": (HEAD, BEGIN, b"<?x?>" * MANY),
    "attributes": (HEAD, BEGIN, b"".join(b'<x b="1" c="2" d="3"/>' for _ in range(MANY // 4))),
    **{f"a long {name}": (HEAD, BEGIN, begin, b"a" * LONG, end) for name, begin, end in (
        ("comment", b"<!--", b"-->"), ("instruction", b"<?x ", b"?>"), ("text", b"<x>", b"</x>"),
        ("section", b"<x><![CDATA[", b"]]></x>"), ("attribute", b'<x a="', b'"/>'),
        ("name", b"<", b"/>"))},
    "a long comment in the head": (HEAD, b"<!--", b"a" * LONG, b"-->", BEGIN),
    "comments in the head": (HEAD, b"<!---->" * MANY, BEGIN),
}  # fmt: skip

PROGRAM = """
import re, resource, sys
from paper_repro.damaged import DamagedFile
from paper_repro.pubmed.citations import read_citations
from paper_repro.damaged import DamagedFile
# Whatever goes wrong here should not take the machine's memory.
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak()
try:
    for _ in read_citations(sys.argv[1]):
        pass
except DamagedFile as error:
    print(peak() - before, error)
"""


@pytest.mark.parametrize("parts", LARGE.values(), ids=LARGE)
def test_what_a_small_file_unpacks_to_does_not_take_memory(packed, parts):
    """The file is refused in a line, long before the parser has kept all of it."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to see what the parser itself takes")
    path = packed(*parts)
    assert path.stat().st_size < 2**18
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, path],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    kilobytes, told = run.stdout.strip().split(" ", 1)
    assert told.startswith(f"{path}: ")
    assert int(kilobytes) < 250_000


def test_no_more_is_read_than_can_be_a_head_or_a_record(packed):
    """What a parser looks at again and again is that short that it does not matter."""
    for name, most in (
        ("a long comment in the head", LARGEST_HEAD), ("comments in the head", LARGEST_HEAD),
        ("a long comment", LARGEST_RECORD), ("a long attribute", LARGEST_RECORD),
    ):  # fmt: skip
        with opened(packed(*LARGE[name])) as source:
            with pytest.raises(DamagedFile):
                list(iter(lambda source=source: source.read(1 << 15), b""))
            assert source.unpacked <= most + (1 << 15)


def test_the_largest_records_are_read(packed):
    """15,000 authors with addresses, twice over, since the count begins anew with every record."""
    author = b"<Author ValidYN='Y'><LastName>%d</LastName><ForeName>A</ForeName><Initials>A"
    author += b"</Initials><AffiliationInfo><Affiliation>" + b"a" * 250
    author += b"</Affiliation></AffiliationInfo></Author>\n"
    authors = b"".join(author % i for i in range(15_000))
    assert 5e6 < len(authors) < LARGEST_RECORD / 2
    records = list(read_citations(packed(HEAD, BEGIN, *[record(authors=authors)] * 5)))
    assert [citation.abstract for citation in records] == ["words"] * 6


def test_a_file_of_short_records_again_and_again_is_refused(packed):
    """The size of what it unpacks to gives the file away: each record by itself is sound."""
    path = packed(HEAD, BEGIN, *[record(b"a" * 16_384)] * 2048)
    with pytest.raises(DamagedFile, match="unpacks to more than 100 times its size"):
        list(read_citations(path))
    assert path.stat().st_size < LARGEST_RECORD // 100


def test_declared_attributes_are_refused(tmp_path):
    """A parser would write a default out for every element that does not have the attribute."""
    path = tmp_path / "some.xml"
    for element in ("PubmedArticle", "x"):
        declared = f'<!DOCTYPE PubmedArticleSet [<!ATTLIST {element} a CDATA "{"a" * 1000}">]>\n'
        path.write_bytes(HEAD + declared.encode() + BEGIN + record() + END)
        with pytest.raises(DamagedFile, match=f"line 2 declares the attribute 'a' of '{element}'"):
            list(read_citations(path))
