"""The peers: programs that learn sparse linear classifiers, one file each, one row here.

A program that is not installed says so, and is left out with its reason.  The extra ``[peers]``
installs them.
"""

from __future__ import annotations

from benchmarks.programs import (
    cyanure_variance,
    glmnet_path,
    linear_svc,
    logistic,
    own,
    river_rows,
    sgd,
    snapml_dual,
    solved,
    wabbit,
)
from benchmarks.programs.base import Peer
from paper_repro.study import Record

OURS: dict[str, Peer] = {
    peer.name: peer for peer in (own.FoBoS(), own.Default(), own.Dual(), own.DualRidge())
}
OTHERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        sgd.SGD(),
        logistic.Saga(),
        logistic.Liblinear(),
        logistic.Lbfgs(),
        logistic.NewtonCholesky(),
        linear_svc.LinearSVC(),
        wabbit.Plain(),
        wabbit.Default(),
        river_rows.River(),
        solved.Skglm(),
        solved.Celer(),
        cyanure_variance.Cyanure(),
        snapml_dual.SnapML(),
        glmnet_path.Glmnet(),
    )
}
ALL: dict[str, Peer] = {**OURS, **OTHERS}


def present(*, tuned: bool = False) -> dict[str, Peer]:
    """The peers that can run here: those that are tuned, or those that differ by more than that."""
    return {
        name: peer
        for name, peer in ALL.items()
        if peer.missing is None and (peer.tuned if tuned else not peer.only_tuned)
    }


def participants() -> Record:
    """Who takes part, in which version, and why others do not, in words."""
    versions = {peer.package: peer.version for peer in present().values()}
    absent = {name: why for name, peer in ALL.items() if (why := peer.missing) is not None}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    left_out = "; ".join(f"{name} ({why})" for name, why in absent.items())
    text = f"Took part: {told}." + (f" Left out: {left_out}." if left_out else "")
    return {"versions": versions, "absent": absent, "text": text}
