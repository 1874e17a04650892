"""Small changes of a source of Python or Cython, one at a time: what the tests must notice.

Both languages have the tokens of Python.  A change replaces a part of one statement; imports,
signatures, declarations, docstrings, messages of errors and comments are not changed.
"""

import hashlib
import io
import keyword
import random
import re
import tokenize
from collections import defaultdict
from itertools import zip_longest
from typing import NamedTuple

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/="}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "//=", "|=", "&="}
WORDS = {"and": "or", "or": "and", "True": "False", "False": "True", "min": "max", "max": "min"}
#: Statements that begin with these words are not changed.
UNCHANGED = {
    "import", "from", "cimport", "include", "class", "def", "cpdef", "ctypedef", "@", "raise",
}  # fmt: skip
_BLOCK = re.compile(r"(cdef|ctypedef) .*\b(enum|struct|extern|fused)\b")
#: The factors and the terms of an expression end at these tokens.
_END_OF_TERM = {
    "+", "-", ",", ")", "]", "}", ":", "=", "<", "<=", ">", ">=", "==", "!=", "and", "or", "if",
    "else", "for", "in", "is", "not", "|", "&", "<<", ">>",
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of a file: the characters from ``start`` to ``end`` become ``new``."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    start: int
    end: int
    new: str

    @property
    def id(self):
        """The same in every run, also if lines are added above."""
        text = "\0".join([self.file, self.before, self.after])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def applied(self, text):
        """The source with the change."""
        return text[: self.start] + self.new + text[self.end :]


class Part(NamedTuple):
    """A token, and where its characters lie in the source."""

    string: str
    start: int
    end: int
    kind: int


def statements(text):
    """The tokens of every statement that may be changed."""
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    parts, block = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            column = parts[0].start - text.rfind("\n", 0, parts[0].start) - 1
            if block is not None and column <= block:
                block = None
            first = text[parts[0].start : parts[-1].end]
            if _BLOCK.match(first) and first.endswith(":"):
                block = column
            elif block is None and not is_unchanged(parts):
                yield parts
            parts = []
        elif token.string.strip() and token.type not in (tokenize.COMMENT, tokenize.NL):
            start, end = (offsets[row - 1] + column for row, column in (token.start, token.end))
            parts.append(Part(token.string, start, end, token.type))


def is_unchanged(parts):
    """Whether a statement declares, documents or refuses something."""
    first = parts[0].string
    is_signature = first == "cdef" and parts[-1].string == ":"
    is_declaration = first == "cdef" and not any(part.string == "=" for part in parts)
    return (
        first in UNCHANGED or is_signature or is_declaration
        or (len(parts) == 1 and parts[0].kind == tokenize.STRING)
    )  # fmt: skip


def changes_of(text, parts, is_cython):
    """(operator, start, end, new) of every change of a statement."""
    first, last = parts[0], parts[-1]
    for k, part in enumerate(parts):
        string, start, end = part.string, part.start, part.end
        spaced = text[start - 1] == " " and text[end : end + 1] == " "
        previous, following = parts[k - 1] if k else None, parts[k + 1] if part != last else None
        if string in COMPARISONS and spaced:
            yield "comparison", start, end, COMPARISONS[string]
        elif string in ARITHMETIC and spaced:
            yield "arithmetic", start, end, ARITHMETIC[string]
            if len(string) == 1:
                yield "dropped term", previous.end, end_of_term(parts, k + 1, string in "*/"), ""
        elif string == "-" and following and following.start == end:
            yield "sign", start, end, ""
        elif string in WORDS:
            yield "word", start, end, WORDS[string]
        elif string == "not":
            yield "word", start, following.start, ""
        elif part.kind == tokenize.NUMBER:
            yield "constant", start, end, other_number(string)
        elif string == "copy" and text[start - 1 : end + 2] == ".copy()":
            yield "missing copy", start - 1, end + 2, ""
        elif string == "deepcopy" and following and following.string == "(":
            yield "missing copy", parts[k - 2].start, end, ""
        elif string == "(" and k and is_name(previous):
            arguments = arguments_of(parts, k)
            if len(arguments) > 1:
                (begin, middle), (later, stop) = arguments[:2]
                swapped = text[later:stop] + text[middle:later] + text[begin:middle]
                yield "swapped arguments", begin, stop, swapped
    if first.string in ("if", "elif", "while") and last.string == ":":
        condition = text[parts[1].start : parts[-2].end]
        yield "skipped branch", parts[1].start, parts[-2].end, "False"
        yield "branch", parts[1].start, parts[-2].end, f"not ({condition})"
    elif first.string in ("break", "continue") or (first.string == "return" and len(parts) == 1):
        yield "missing statement", first.start, last.end, "pass"
    elif text[first.start - 1] == " " and first.string not in ("cdef", "return", "yield"):
        is_call = last.string == ")" and (is_name(first) or first.string == "await")
        if is_call or (is_name(first) and is_assignment(parts, is_cython)):
            yield "missing statement", first.start, last.end, "pass"


def is_name(part):
    """Whether a token is a name, and no keyword."""
    return part.kind == tokenize.NAME and not keyword.iskeyword(part.string)


def is_assignment(parts, is_cython):
    """Whether a statement assigns to what exists already: not to a new name of Python."""
    depth, exists = 0, is_cython
    for part in parts:
        depth += (part.string in "([{") - (part.string in ")]}")
        exists |= part.string in ".["
        if depth == 0 and part.string in ASSIGNMENTS:
            return exists or part.string != "="
        if depth == 0 and part.string == ":":
            return False
    return False


def end_of_term(parts, k, is_factor):
    """Where the term or the factor ends that begins with token ``k``."""
    depth, begin = 0, k
    while k < len(parts):
        string = parts[k].string
        at_end = string in _END_OF_TERM or (is_factor and string in ("*", "/", "//", "%", "@"))
        if depth == 0 and k > begin and at_end:
            break
        depth += (string in "([{") - (string in ")]}")
        k += 1
    return parts[k - 1].end


def arguments_of(parts, bracket):
    """Where the positional arguments of the call with the bracket at this token lie."""
    arguments, depth, begin, named = [], 0, bracket + 1, False
    for k, part in enumerate(parts[bracket:], bracket):
        string = part.string
        depth += (string in "([{") - (string in ")]}")
        named |= depth == 1 and string in ("=", "*", "**", "for")
        if depth == 0 or (depth == 1 and string == ","):
            if k > begin and not named:
                arguments.append((parts[begin].start, parts[k - 1].end))
            begin, named = k + 1, False
        if depth == 0:
            break
    return arguments


def other_number(string):
    """An integer and one, or a number twice as large; 1.0 for 0.0."""
    try:
        return str(int(string, 0) + 1)
    except ValueError:
        return repr(2 * float(string) or 1.0)


def lines_of(text, start, end):
    """The lines with these characters, as one line without indentation."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    return " ".join(text[first : last if last >= 0 else None].split())


def mutants_of(file, text):
    """Every mutant of a source, each with another text of its lines."""
    found = {}
    for parts in statements(text):
        for operator, start, end, new in changes_of(text, parts, not file.endswith(".py")):
            changed = text[:start] + new + text[end:]
            before, after = lines_of(text, start, end), lines_of(changed, start, start + len(new))
            line = text.count("\n", 0, start) + 1
            mutant = Mutant(file, line, operator, before, after, start, end, new)
            if before != after:
                found.setdefault(mutant.id, mutant)
    return list(found.values())


def drawn(mutants, seed):
    """All mutants in an order that the seed gives, the operators in turns."""
    groups = defaultdict(list)
    for mutant in mutants:
        groups[mutant.operator].append(mutant)
    for operator, group in groups.items():
        random.Random(f"{seed} {operator}").shuffle(group)
    turns = zip_longest(*(groups[operator] for operator in sorted(groups)))
    return [mutant for turn in turns for mutant in turn if mutant is not None]
