"""Lines of text, for the kernel that parses them and for the readers of streams."""

import numpy as np

_NUMBERS = ["1", "-1", "0.5", "1e3", ".25", "7.", "-0", "123456789012345678901", "1e-400", "5e-324",
            "0.30000000000000004", "9007199254740993", "1e308"]  # fmt: skip
_ODD_NUMBERS = ["nan", "inf", "1e309", "1e", "--1", "0x1", "1_0", "", ".", "1,5", "9" * 400]
_NAMES = ["a", "b", "7", "12", "é", "word", "\x01", "'", "#", "a" * 70]


def form_of(random):
    """The form of a text, as ``parse`` takes it."""
    return dict(
        vowpal=bool(random.integers(2)),
        several=bool(random.integers(2)),
        base=int(random.integers(2)),
        n_columns=int(random.choice([3, 9, 2**31 - 1, 2**31, 2**62])),
        n_labels=int(random.choice([1, 4, 2**62])),
        bits=int(random.choice([1, 5, 18, 31, 32, 62])),
    )


def number(random):
    """A number, and now and then what is none."""
    pool = _ODD_NUMBERS if random.random() < 0.02 else _NUMBERS
    return pool[random.integers(len(pool))]


def line(random, form):
    """One line of a form; a few are refused."""
    label = number(random)
    if form["several"]:
        label = ",".join(str(k) for k in random.permutation(4)[: random.integers(4)])
    entries = int(random.choice([0, 1, 3, 8, 40]))
    if form["vowpal"]:
        words = [label, *(["0.5"] if random.integers(2) else []), ""]
        text = str(random.choice(["", "'tag", "tag"])).join([" ".join(words), "|"])
        for _ in range(entries):
            name = _NAMES[random.integers(len(_NAMES))]
            value = f":{number(random)}" if random.integers(2) else ""
            text += str(random.choice([" ", " ", " ", " |", "|"])) + name + value
        return text
    columns = random.integers(form["base"], min(form["n_columns"], 9) + form["base"], entries)
    if random.integers(2):
        columns = np.sort(columns)
    text = " ".join([label, *(f"{column}:{number(random)}" for column in columns)])
    return text + (" # words" if random.random() < 0.1 else "")


def text(random, form):
    """Some lines, with an end behind the last one or without."""
    lines = [line(random, form) for _ in range(int(random.integers(0, 9)))]
    ends = ["\n", "\r\n", "\n\n"]
    joined = "".join(f"{one}{ends[random.integers(3)]}" for one in lines)
    return (joined if random.integers(2) else joined.rstrip("\r\n")).encode()
