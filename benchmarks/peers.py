"""Study ``peers``: lazynet beside every program that learns the same models.

Five parts, one module each: are the weights those that are described (``peers_exactness``), seconds
per example (``peers_throughput``), objective and test loss against seconds (``peers_time``), how
far a program goes (``peers_scale``), and test loss after equal tuning (``peers_quality``).  The
peers themselves are in ``benchmarks/programs``, one file each.  Every run of a peer has a process
of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import (
    peers_exactness,
    peers_quality,
    peers_scale,
    peers_throughput,
    peers_time,
)
from benchmarks.peers_quality import NEAR, Quality
from benchmarks.peers_scale import Scales
from benchmarks.peers_throughput import SGD_NET, Passes
from benchmarks.peers_time import Times
from benchmarks.programs import absent, present
from benchmarks.programs.base import LASSO, LYING, NET, RANDOM
from benchmarks.programs.own import FoBoS
from benchmarks.programs.sgd import SGD
from benchmarks.programs.wabbit import Plain
from paper_repro.score import significant
from paper_repro.solvers import warm_up
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: In the order in which they run.
PARTS = (peers_exactness, peers_quality, peers_scale, peers_throughput, peers_time)
#: lazynet's peer whose passes are compared, and the two that the bounds name.
OURS, SCIKIT_LEARN, WABBIT = FoBoS.name, SGD.name, Plain.name
#: The bounds.
LEAST_WABBIT, LEAST_LYING, LEAST_RANDOM, LEAST_WHOLE = 8.0, 5.0, 4.0, 2.0


def cells(settings: Settings) -> Sequence[Cell]:
    found = [Cell("setting", setting, 20.0)]
    for part in PARTS:
        found += [_warm(cell) for cell in part.cells(settings)]
    return found


def setting(_: Records) -> Record:
    """Who takes part, in which version, and why others do not."""
    return {
        "versions": {name: peer.version for name, peer in present().items()},
        "packages": {peer.package: peer.version for peer in present().values()},
        "absent": absent(),
    }


def _warm(cell: Cell) -> Cell:
    """The cell, after what compiles itself was compiled: processes inherit it."""

    def run(records: Records) -> Record:
        warm_up()
        return cell.run(records)

    return Cell(cell.key, run, cell.cost)


# --- reading what was measured ---------------------------------------------------------------


class Found(Measured):
    """The records of the five parts."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.setting = self.records["setting"]
        self.passes = Passes(self.records)
        self.quality = Quality(self.records)
        self.times = Times(self.records)
        self.scales = Scales(self.records)
        self.exactness: dict[str, Record] = {
            parts[0]: record for parts, record in self.group(peers_exactness.PART)
        }


@dataclass(frozen=True)
class Bound:
    """A line of the table of bounds: what was measured, in words, and whether it is enough."""

    label: str
    asked: str
    measured: Callable[[Found], tuple[str, bool] | None]

    def line(self, found: Found) -> tuple[str, str, str, str]:
        told = self.measured(found)
        if told is None:
            return self.label, self.asked, "not measured", ""
        return self.label, self.asked, told[0], "holds" if told[1] else "MISSED"


def _first(order: str, kind: str) -> Callable[[Found], tuple[str, bool] | None]:
    def measured(found: Found) -> tuple[str, bool] | None:
        ranking = found.passes.fastest(order, kind)
        if len(ranking) < 2:
            return None
        (name, least), (second, next_least) = ranking[:2]
        ours = name in (OURS, "lazynet AdaGrad")
        return f"{name}; {second} takes {significant(next_least / least)} times as long", ours

    return measured


def _ratio(order: str, slow: str, least: float) -> Callable[[Found], tuple[str, bool] | None]:
    def measured(found: Found) -> tuple[str, bool] | None:
        spread = found.passes.ratio(order, NET, slow, OURS)
        return None if spread is None else (str(spread), spread.median >= least)

    return measured


def _whole(found: Found) -> tuple[str, bool] | None:
    spread = found.passes.whole_ratio(SGD_NET)
    return str(spread), spread.median >= LEAST_WHOLE


def _quality(
    ratio: Callable[[Quality, str], float],
) -> Callable[[Found], tuple[str, bool] | None]:
    def near(found: Found) -> tuple[str, bool] | None:
        ratios = [ratio(found.quality, name) for name in found.quality.found]
        least = sum(each <= NEAR for each in ratios)
        return f"{least} of {len(ratios)}", least == len(ratios)

    return near


BOUNDS = (
    Bound("first in throughput, l1, as they lie", "first", _first(LYING, LASSO)),
    Bound("first in throughput, l1, in random order", "first", _first(RANDOM, LASSO)),
    Bound("first in throughput, elastic net, as they lie", "first", _first(LYING, NET)),
    Bound("first in throughput, elastic net, in random order", "first", _first(RANDOM, NET)),
    Bound(
        "Vowpal Wabbit (cached pass, one core) / ours, elastic net",
        f">= {LEAST_WABBIT:g}",
        _ratio(LYING, WABBIT, LEAST_WABBIT),
    ),
    Bound(
        "scikit-learn SGD / ours, elastic net, as they lie",
        f">= {LEAST_LYING:g}",
        _ratio(LYING, SCIKIT_LEARN, LEAST_LYING),
    ),
    Bound(
        "scikit-learn SGD / ours, elastic net, in random order",
        f">= {LEAST_RANDOM:g}",
        _ratio(RANDOM, SCIKIT_LEARN, LEAST_RANDOM),
    ),
    Bound(
        "SGDClassifier(penalty='elasticnet') / LazyNetClassifier(), whole fits",
        f">= {LEAST_WHOLE:g}",
        _whole,
    ),
    Bound(
        "test loss at equal tuning: an estimator of lazynet is first, or within "
        f"{NEAR - 1:.0%} of the first",
        "every set",
        _quality(Quality.ratio_of_any),
    ),
    Bound(
        "test loss, lazynet's estimator chosen by validation rows: first, or within "
        f"{NEAR - 1:.0%} of the first",
        "every set",
        _quality(Quality.ratio),
    ),
)
