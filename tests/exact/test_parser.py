"""The kernel gives the rows of the plain parser, and refuses the same lines."""

import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damage import damaged
from support.parser import BadLine, PlainParser, Row, murmur

from lazynet.kernels.text import parse

# --- both parsers, in one form ------------------------------------------------------------------


def rows_of(arrays, several):
    """The rows that the kernel gives, as the plain parser writes them."""
    indptr, columns, values, labels, importances, _ = arrays
    assert indptr[0] == 0
    assert indptr[-1] == len(columns) == len(values)
    rows = []
    for i, (start, stop) in enumerate(pairwise(indptr)):
        entries = dict(zip(columns[start:stop].tolist(), values[start:stop].tolist(), strict=True))
        assert len(entries) == stop - start
        if several:
            ends, codes = labels
            label = codes[ends[i - 1] if i else 0 : ends[i]].tolist()
        else:
            label = float(labels[i])
        rows.append(Row(label, 1.0 if importances is None else float(importances[i]), entries))
    return rows


def compiled(text, sizes=(), **options):
    """Rows, or the line of the error; the text comes in parts of so many lines."""
    lines, rows, n_lines = re.findall(rb"[^\n]*\n|[^\n]+", text), [], 0
    try:
        for size in [*sizes, len(lines)]:
            part, lines = b"".join(lines[:size]), lines[size:]
            arrays = parse(part, name="words.txt", n_lines_before=n_lines, **options)
            rows += rows_of(arrays, options.get("several", False))
            n_lines += arrays[-1]
    except ValueError as error:
        return int(re.match(r"words\.txt: line (\d+), column \d+: expected ", str(error))[1])
    return rows


def plain(text, kind=PlainParser, **options):
    """Rows of the plain parser, or the line of the error."""
    try:
        return kind(**options).rows(text)
    except BadLine as error:
        return error.line


def ordered(found):
    """Rows with the order of their entries, which dicts do not compare, and the sign of zeros."""
    if isinstance(found, int):
        return found
    return [
        (row.label, row.importance, [(j, v, math.copysign(1, v)) for j, v in row.entries.items()])
        for row in found
    ]


def assert_equal(text, sizes=(), kind=PlainParser, **options):
    """Both parsers give the same rows or refuse the same line."""
    assert ordered(compiled(text, sizes, **options)) == ordered(plain(text, kind, **options))


# --- text that means something ------------------------------------------------------------------

SPACES = st.sampled_from([" ", " ", " ", "  ", "\t", " \t"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n", " # words: 1:2\n"])
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(0, 30).map(str),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["1", "-1", "+1", ".5", "1.", "1e2", "-0", "0e0", "1E-3", "0.1", "00.10"]),
    st.tuples(st.integers(0, 10**30), st.integers(0, 10**30), st.integers(-330, 250)).map(
        lambda parts: "{}.{}e{}".format(*parts)
    ),
)
SMALL_NUMBERS = NUMBERS.filter(lambda text: abs(float(text)) < 1e100)
NAMES = st.text("ab1é0\x01'#-", min_size=1, max_size=9)


@st.composite
def svmlight_texts(draw, several=False, base=0):
    """Sound lines of svmlight's form."""
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        if several:
            label = ",".join(map(str, draw(st.lists(st.integers(0, 9), max_size=3, unique=True))))
        else:
            label = draw(NUMBERS)
        parts = [label] + (["qid:7"] if draw(st.integers(0, 9)) == 0 else [])
        columns = draw(st.lists(st.integers(base, base + 12), max_size=8))
        if several and not label and not columns:
            parts.append("3:1")
        parts += [f"{column}:{draw(SMALL_NUMBERS)}" for column in columns]
        lines.append(draw(SPACES).join(parts) + draw(ENDS))
    text = "".join(lines)
    return (text.rstrip("\n") if draw(st.booleans()) else text).encode()


#: Numbers that Vowpal Wabbit reads with few digits lost: its float32 of 0.875 is 0.87499994.
EASY_NUMBERS = st.sampled_from(["1", "-1", "2.5", "-0.25", "7", "0.875", "1e2", "12"])


@st.composite
def vowpal_texts(draw, several=False, numbers=NUMBERS, small=SMALL_NUMBERS):
    """Sound lines of Vowpal Wabbit's form."""
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        label = draw(numbers) if not several else ",".join(
            map(str, draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)))
        )  # fmt: skip
        head = label + draw(st.sampled_from([" ", " 2 ", " 0.5 'tag ", " tag", " 'tag", "  1 tag"]))
        spaces = []
        for _ in range(draw(st.integers(1, 3))):
            name = draw(st.one_of(st.just(""), NAMES, NAMES.map(lambda name: name + ":0.5")))
            features = draw(
                st.lists(
                    st.one_of(
                        NAMES,
                        st.tuples(NAMES, small).map(":".join),
                        small.map(lambda number: ":" + number),
                        st.just("a:0"),
                    ),
                    max_size=6,
                )
            )
            spaces.append("|" + " ".join([name, *features]) + draw(st.sampled_from(["", " "])))
        lines.append(head + "".join(spaces))
    return "\n".join(lines + [""] * draw(st.integers(0, 2))).encode()


CUTS = st.lists(st.integers(0, 3), max_size=4)
#: Bytes that mean something to one of the forms, and a few that do not.
WORDS = [b"qid:", b"1 ", b"1:1 ", b" |f a:2", b"nan", b"inf", b"99999999999999999999", b"1e308"]
BYTES = [bytes([byte]) for byte in b"017-+.eE:, \t\n\r|#'qa\x00\xff"]
TELLING = st.lists(st.sampled_from(BYTES + WORDS), max_size=14).map(b"".join)
FORMS = [
    dict(vowpal=vowpal, several=several, base=base)
    for vowpal in (False, True)
    for several in (False, True)
    for base in (0, 1)
    if not (vowpal and base)
]


def texts(form):
    """Sound text of a form."""
    if form["vowpal"]:
        return vowpal_texts(several=form["several"])
    return svmlight_texts(several=form["several"], base=form["base"])


# --- the properties -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(data=st.data())
def test_sound_text_gives_the_same_rows(form, data):
    """However the text is cut into parts."""
    text = data.draw(texts(form))
    if not form["vowpal"]:
        form = {**form, "n_columns": 13}
    assert isinstance(plain(text, **form), list)
    assert_equal(text, data.draw(CUTS), **form)


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@pytest.mark.every_case
def test_unsound_text_is_refused_in_the_same_line(form, data, seed):
    """Or read alike: sound text that has suffered, and bytes that mean something to a form."""
    text = damaged(data.draw(texts(form)), random.Random(seed))[:4000]
    limits = data.draw(st.sampled_from([{}, {"n_columns": 9, "n_labels": 8, "bits": 5}]))
    assert_equal(text, data.draw(CUTS), **limits, **form)
    assert_equal(data.draw(TELLING), data.draw(CUTS), **limits, **form)


# --- numbers ------------------------------------------------------------------------------------


def value_of(text):
    """The kernel's reading of a number."""
    return float(parse(b"1 0:" + text.encode())[2][0])


def bits(number):
    """The bits of a double."""
    return struct.pack("d", number)


@given(
    number=st.floats(allow_nan=False, allow_infinity=False), digits=st.integers(0, 30),
    zeros=st.integers(0, 900),
)  # fmt: skip
def test_numbers_have_the_bits_of_pythons_float(number, digits, zeros):
    """With too many digits and with too few; in the middle of two doubles, and just beside it."""
    texts, size = [repr(number), f"{number:.{digits}e}", f"{number:.{digits}f}"], abs(number)
    if size <= 1e308:
        middle = (Fraction(size) + Fraction(math.nextafter(size, math.inf))) / 2
        power = middle.denominator.bit_length() - 1
        whole = middle.numerator * 5**power
        texts.append(f"{whole}e-{power}")
        texts.append(f"{whole}{'0' * zeros}1e-{power + zeros + 1}")
        texts.append(f"{whole - 1}{'9' * zeros}e-{power + zeros}")
    for text in texts:
        if not math.isinf(float(text)):
            assert bits(value_of(text)) == bits(float(text))


SHORT = st.text("0123456789.+-eE", max_size=9)


@pytest.mark.parametrize("vowpal", [False, True], ids=["svmlight", "vowpal"])
@given(values=st.lists(SHORT, min_size=1, max_size=200), behind=st.integers(0, 20))
def test_short_values_are_those_of_python(vowpal, values, behind):
    """However few bytes follow the line."""
    start = b"1 |" if vowpal else b"1"
    for value in dict.fromkeys(values):
        one = b" %b 7:%b" % (start, value.encode()) + b"\n" * behind
        options = {"vowpal": vowpal}
        assert compiled(one, **options) == plain(one, **options)


#: The least and the greatest doubles, long ways to write ordinary ones, and what is no number.
AT_THE_ENDS = [
    "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623158e308",
    "0e99999999999999999999", "0." + "0" * 400 + "1e100", "1" + "0" * 400 + "e-300",
    "9007199254740993", "900719925474099.3", "1.2345678901234567e-11",
    "9007199254740992.999999999999999999999", "123456789012345678901234567890",
]  # fmt: skip
NO_NUMBERS = ["nan", "inf", "-inf", "1e309", "1.7976931348623159e308", "1_0", "0x1", "", "1e",
              "--1", "infinity", "1d3"]  # fmt: skip


@pytest.mark.parametrize("text", AT_THE_ENDS + NO_NUMBERS)
def test_numbers_at_the_ends(text):
    """Words that Python's float takes, too, are refused where they are no finite number."""
    if text in AT_THE_ENDS:
        assert bits(value_of(text)) == bits(float(text))
    else:
        with pytest.raises(ValueError, match=r"text: line 1, column \d+: expected"):
            value_of(text)


LOCALEDEF = shutil.which("localedef")


@pytest.mark.skipif(
    LOCALEDEF is None or not Path("/usr/share/i18n/locales/de_DE").exists(),
    reason="needs localedef and the sources of a locale",
)
@pytest.mark.slow
def test_numbers_do_not_depend_on_the_locale(tmp_path):
    """A locale with a decimal comma changes no number, in particular none that strtod reads."""
    locale = tmp_path / "de_DE.UTF-8"
    subprocess.run([LOCALEDEF, "-i", "de_DE", "-f", "UTF-8", locale], capture_output=True)
    code = (
        "import locale; from lazynet.kernels.text import parse\n"
        "locale.setlocale(locale.LC_NUMERIC, 'de_DE.UTF-8')\n"
        "assert locale.localeconv()['decimal_point'] == ','\n"
        "print(parse(b'1 0:0.5 1:1.2345678901234567e-200\\n')[2].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LOCPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[0.5, 1.2345678901234567e-200]\n", "")


# --- messages -----------------------------------------------------------------------------------

SVMLIGHT, ONE_BASED = {}, {"base": 1}
LABELS, VOWPAL = {"several": True, "n_labels": 7}, {"vowpal": True}
SPACE, NUMBER = "a space or the end of the line", "a finite number such as 0.5"
QUERY, IMPORTANCE = "the digits of a query's number", "an importance that is not negative"
COMMAS = "commas belong to several labels a row (multilabel)"
#: The form, a text, the line and the column of its fault, what is expected there, and what stands.
MESSAGES = [
    (ONE_BASED, b"1 1:2\n1 0:3\n", 2, 3, "a column from 1 on (zero_based=True takes 0)", "'0:3'"),
    (SVMLIGHT, b"1 -1:2", 1, 3, "a column and its value, such as 3:0.5", "'-1:2'"),
    ({"n_columns": 9}, b"1 9:2", 1, 3, "a column from 0 to 8", "'9:2'"),
    (SVMLIGHT, b"1 2:nan", 1, 5, NUMBER, "'nan'"),
    (SVMLIGHT, b"# a\n\n1 2:", 3, 5, NUMBER, "the end of the line"),
    (SVMLIGHT, b"1,2 3:1", 1, 2, SPACE, f"',2'; {COMMAS}"),
    (SVMLIGHT, b"1 3 :1", 1, 4, "':' behind the column", "a space"),
    (SVMLIGHT, b"1 qid: 1:2", 1, 7, QUERY, "a space"),
    (SVMLIGHT, b"1 q:1 1:2", 1, 3, "a column and its value, such as 3:0.5", "'q:1'"),
    (SVMLIGHT, b"1 2:1e309", 1, 5, "a number that a float64 holds", "'1e309'"),
    (SVMLIGHT, b"1 0:1e308 0:1e308", 1, 1, "values of one column whose sum a float64 holds", "'1'"),
    (LABELS, b"1,3,1 0:1", 1, 1, "labels that differ from one another", "'1,3,1'"),
    (LABELS, b"7 0:1", 1, 1, "a label from 0 to 6", "'7'"),
    (VOWPAL, b"1|f a", 1, 2, "a label such as 1 or -0.5", "'|f'"),
    (VOWPAL, b"1 2 3 |f", 1, 5, "'|' behind the label and the importance", "'3'"),
    (VOWPAL, b"1 -2 |f", 1, 3, IMPORTANCE, "'-2'"),
    (VOWPAL, b"1 a b", 1, 3, IMPORTANCE, "'a'"),
    (VOWPAL, b"1 |f a:x", 1, 8, NUMBER, "'x'"),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("options", "text", "line", "column", "expected", "stands"), MESSAGES)
def test_errors_say_what_was_expected_and_found(options, text, line, column, expected, stands):
    """With the name of the text, the line and the column."""
    message = f"a.svm: line {line}, column {column}: expected {expected}, found {stands}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse(text, name="a.svm", **options)


# --- other programs -----------------------------------------------------------------------------


#: (text, seed, hash): the verification vectors that Appleby's and other programs publish.
MURMUR_VECTORS = [
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"aaaa", 0x9747B28C, 0x5A97808A),
    (b"aaa", 0x9747B28C, 0x283E0130),
    (b"aa", 0x9747B28C, 0x5D211726),
    (b"a", 0x9747B28C, 0x7FA09EA6),
]


def test_murmur_hashes_are_the_published_ones():
    """Of the plain parser, with which the kernel is compared."""
    assert [murmur(text, seed) for text, seed, _ in MURMUR_VECTORS] == [
        expected for *_, expected in MURMUR_VECTORS
    ]


@pytest.fixture(scope="module")
def workspaces():
    """Vowpal Wabbit with several sizes of tables, if it is installed."""
    package = pytest.importorskip("vowpalwabbit")
    made = {size: package.Workspace(f"--quiet -b {size}") for size in (5, 18, 22)}
    yield made
    for workspace in made.values():
        workspace.finish()


#: The number of Vowpal Wabbit's constant feature.
CONSTANT = 11650396


@given(
    text=vowpal_texts(numbers=EASY_NUMBERS, small=EASY_NUMBERS), size=st.sampled_from([5, 18, 22])
)
def test_features_are_those_of_vowpal_wabbit(workspaces, text, size):
    """The package itself hashes the same lines to the same features; its values are float32."""
    lines = filter(None, text.decode().split("\n"))
    for line, row in zip(lines, plain(text, vowpal=True, bits=size), strict=True):
        example = workspaces[size].parse(line)
        theirs = {}
        for column, value in example.iter_features():
            if column != CONSTANT:
                column %= 2**size
                theirs[column] = theirs.get(column, 0.0) + value
        label, importance = example.get_simplelabel_label(), example.get_simplelabel_weight()
        workspaces[size].finish_example(example)
        assert row.label == pytest.approx(label, rel=1e-6)
        assert row.importance == pytest.approx(importance, rel=1e-6)
        assert row.entries == pytest.approx(theirs, rel=1e-6, abs=1e-5)
