"""The script that damages small files of every kind, on the shortest ones."""

from pathlib import Path

import pytest

pytest.importorskip("paper_repro", reason="only in a checkout")
from paper_repro import every_bit


@pytest.mark.parametrize("name", ["packed text", "svmlight text"])
def test_every_damage_is_counted(name, capsys):
    """Eight flips for a byte, and an end before each."""
    assert every_bit.main(["--only", name]) == 0
    first, flipped, cut, faults = capsys.readouterr().out.splitlines()
    length = int(first.split(", ")[1].split()[0])
    assert flipped.split()[:2] == ["flipped", f"{8 * length}:"]
    assert cut.split()[:2] == ["cut", f"{length}:"]
    assert faults == "faults: 0"


def test_a_kind_that_sees_no_damage_is_caught(tmp_path, monkeypatch):
    """A reader without a checksum, one that fails in another way, and one that refuses."""

    def refuse(path):
        raise ValueError(f"{path} is damaged")

    readers = {"not seen": Path.read_bytes, "another error": lambda path: path.read_bytes()[3],
               "refused": refuse}  # fmt: skip
    for expected, read in readers.items():
        kind = every_bit.Kind(lambda path: path.write_bytes(b"abcd"), read)
        assert every_bit.outcome(kind, tmp_path / "a", b"ab", b"abcd") == expected


@pytest.mark.parametrize("name", every_bit.kinds())
def test_every_kind_is_made_and_read(name, tmp_path):
    """Twice with the same result, or a damage could not be told from it."""
    kind, path = every_bit.kinds()[name], tmp_path / every_bit.NAMES.get(name, "file")
    kind.write(path)
    data = path.read_bytes()
    whole = kind.read(path)
    assert every_bit.outcome(kind, path, data, whole) == every_bit.AS_BEFORE
    assert every_bit.outcome(kind, path, b"", whole) in (every_bit.REFUSED, every_bit.OTHER)
