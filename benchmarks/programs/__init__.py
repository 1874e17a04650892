"""The peers: programs that learn sparse linear classifiers, one file each, one row here.

A program that is not installed says so, and is left out with its reason.  The extra ``[peers]``
installs them.
"""

from __future__ import annotations

from benchmarks.programs import own, river_rows, sgd, wabbit
from benchmarks.programs.base import Peer
from paper_repro.machine import version_of
from paper_repro.study import Record

ALL: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        own.FoBoS(),
        own.Default(),
        sgd.SGD(),
        wabbit.Plain(),
        wabbit.Default(),
        river_rows.River(),
    )
}


def present() -> dict[str, Peer]:
    """The peers that can run here."""
    return {name: peer for name, peer in ALL.items() if peer.missing is None}


def participants() -> Record:
    """Who takes part, in which version, and why others do not, in words."""
    versions = {peer.package: version_of(peer.package) for peer in present().values()}
    absent = {name: why for name, peer in ALL.items() if (why := peer.missing) is not None}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    left_out = "; ".join(f"{name} ({why})" for name, why in absent.items())
    text = f"Took part: {told}." + (f" Left out: {left_out}." if left_out else "")
    return {"versions": versions, "absent": absent, "text": text}
