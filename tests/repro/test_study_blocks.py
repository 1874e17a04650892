"""Study blocks runs at a small size, counts bytes and seconds, and says where blocks are faster."""

import copy

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.studies", reason="only in a checkout")
from paper_repro.results import load, run
from paper_repro.studies import STUDIES, blocks
from paper_repro.study import FULL, QUICK, Settings

TINY = Settings(examples=400, features=300, nonzeros=10)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blocks")
    return run(STUDIES["blocks"], TINY, folder), folder


def test_a_tiny_run_writes_page_figure_and_numbers(document):
    found, folder = document
    page = (folder / "blocks.md").read_text()
    assert "nan" not in page.lower()
    assert "**400 rows, elastic net**" in page
    assert "<svg" in (folder / "blocks.svg").read_text()
    assert load("blocks", folder) == found


def test_seconds_and_bytes_are_those_of_the_rounds(document):
    found, _ = document
    searches = blocks.Searches(found)
    for penalty in blocks.PENALTIES:
        for way in blocks.ways():
            record = searches.of(400, penalty, way)
            assert record["work"] == sorted(record["work"])
            assert all(s <= w for s, w in zip(record["seconds"], record["work"], strict=True))
            if way in (blocks.DEFAULT, blocks.ASCENT):
                assert record["seconds"] == record["work"]
                assert not any(record["bytes"])
            else:
                assert record["solver"] == "blocks"
                # z and the weights go out, and a move comes back.
                round_of = 3 * int(way) * 300 * 8
                assert record["bytes"] == [round_of * k for k in range(len(record["gaps"]))]
        assert searches.of(400, penalty, blocks.DEFAULT)["arrived"]


def test_a_search_that_does_not_arrive_is_told(document):
    changed = copy.deepcopy(document[0])
    for way in ("2", "4", "8"):
        changed["records"][f"400/l1 alone/{way}"]["arrived"] = False
    page = STUDIES["blocks"].page(changed)
    assert "not after" in page
    assert "l1 alone: (not arrived), (not arrived) and (not arrived) times" in page


def test_sizes_follow_the_settings():
    assert blocks.sizes(QUICK) == [100_000]
    assert blocks.sizes(FULL) == [100_000, 1_000_000]
    assert blocks.sizes(TINY) == [400]
