"""The results for the entries of Ma & Zheng's paper, and for the files that they published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from paper_repro.found import ERRATA, Committed, Found, Missing, fills, finds, link, number_of, told
from paper_repro.pages import Template
from paper_repro.published import DEXTER_FEATURES, UPDATES, Printed
from paper_repro.studies.claims import REGRET_LOSSES, REGRET_STEPS, Claims
from paper_repro.studies.released import Runs
from paper_repro.studies.stability import LOSSES
from paper_repro.studies.stability_outcomes import Selections, is_insensitive
from paper_repro.studies.stability_page import Verdicts, data_name, signs_in_words
from paper_repro.studies.tuning import TRUNCATED, UNIVERSAL

PAGE = Template.beside(__file__)
#: The folders of results on data sets of the paper; the others are data of this package.
OF_THE_PAPER = ("dexter", "rcv1")


def _told_of_each(
    found: Committed, tell: Callable[[Selections], str], folders: tuple[str, ...] = ()
) -> tuple[str, str]:
    """What there is to tell of the study ``stability`` on each data set, and its pages."""
    chosen: Mapping[str, Selections] = {
        folder: selections
        for folder, selections in found.stability.items()
        if not folders or folder in folders
    }
    if not chosen:
        raise Missing
    words = "; ".join(
        f"{data_name(selections.settings['data'])}: {tell(selections)}"
        for selections in chosen.values()
    )
    return words, ", ".join(link("stability", folder) for folder in chosen)


# --- the data ----------------------------------------------------------------------------------


@finds("data sets")
def data_sets(found: Committed, entry: Printed) -> Found:
    names = {
        folder: data_name(selections.settings["data"])
        for folder, selections in found.stability.items()
    }
    if not names:
        raise Missing
    theirs = [name for folder, name in names.items() if folder in OF_THE_PAPER]
    own = " and ".join(name for folder, name in names.items() if folder not in OF_THE_PAPER)
    missing = number_of(entry) - len(theirs)
    words = PAGE("data sets", names=" and ".join(theirs), missing=missing, own=own)
    return Found(words, ", ".join(link("stability", folder) for folder in names))


@finds("Dexter density")
def density(found: Committed, _: Printed) -> Found:
    rows = found.on("dexter").rows
    values = {"features": DEXTER_FEATURES, "occurring": rows["occurring"]}
    words = PAGE("density", density=rows["nonzeros"] / DEXTER_FEATURES, **values)
    return Found(words, link("stability", "dexter"))


@finds("repository rows", "repository features")
def repository_data(found: Committed, entry: Printed) -> Found:
    rows = found.on("dexter").rows
    value = rows["train" if entry.key == "repository rows" else "occurring"]
    return Found(PAGE("of their files", value=value), link("stability", "dexter"))


@finds("orders")
def orders(found: Committed, _: Printed) -> Found:
    selections = found.on("dexter")
    runs = len(selections.outcome("hinge", selections.methods[0]).errors)
    return Found(PAGE("orders", runs=runs), link("stability", "dexter"))


@fills(PAGE, "released", "released figures")
def released_figures(document: Any) -> Mapping[str, Any]:
    return Runs(document).means_beside_theirs


# --- the claims --------------------------------------------------------------------------------


@finds("claim", "claim stabler")
def claim(found: Committed, entry: Printed) -> Found:
    """Of every data set and form how many comparisons hold, and the sums by form."""
    sums: dict[str, list[int]] = {}

    def counts(selections: Selections, name: str) -> tuple[int, int]:
        verdicts = Verdicts.on(selections, name)
        if entry.key == "claim":
            return verdicts.held, verdicts.judged
        return verdicts.stabler, verdicts.compared

    def tell(selections: Selections) -> str:
        cells = []
        for name in selections.stabilised:
            held, judged = counts(selections, name)
            before = sums.setdefault(name, [0, 0])
            sums[name] = [before[0] + held, before[1] + judged]
            cells.append(f"*{name}* {held} of {judged}")
        return ", ".join(cells)

    words, pages = _told_of_each(found, tell)
    totals = ", ".join(f"*{name}* {held} of {judged}" for name, (held, judged) in sums.items())
    return Found(PAGE(entry.key, totals=totals, words=words), pages)


@finds("sparsest gains")
def sparsest_gains(found: Committed, _: Printed) -> Found:
    """How much higher kappa is than that of truncated gradient, by the density of the rows."""
    gains = {}
    for selections in found.stability.values():
        share = selections.rows["nonzeros"] / selections.rows["occurring"]
        gains[share] = (
            data_name(selections.settings["data"]),
            [
                selections.outcome(loss, UNIVERSAL).kappa
                - selections.outcome(loss, TRUNCATED).kappa
                for loss in LOSSES
            ],
        )
    if len(gains) < 2:
        raise Missing
    words = "; ".join(
        PAGE("gain", data=data, share=share, hinge=hinge, logistic=logistic)
        for share, (data, (hinge, logistic)) in sorted(gains.items())
    )
    means = {share: sum(each) for share, (_, each) in gains.items()}
    as_claimed = max(means, key=lambda share: means[share]) == min(means)
    part = "sparsest gain most" if as_claimed else "sparsest do not gain most"
    pages = ", ".join(link("stability", folder) for folder in found.stability)
    return Found(PAGE(part, form=UNIVERSAL, words=words), pages)


@fills(PAGE, "released", "tables of errors")
def tables_of_errors(_: Any) -> Mapping[str, Any]:
    return {}


@finds("oscillation", "constant nonzeros")
def last_updates(found: Committed, entry: Printed) -> Found:
    """Least to most nonzeros over the last updates, in per cent of all features."""
    selections = found.on("dexter")
    names = [TRUNCATED] if entry.key == "oscillation" else selections.stabilised
    told, spans = [], []
    for name, (loss, title) in product(names, LOSSES.items()):
        counts = selections.updates(loss, name)[-UPDATES:]
        if len(counts) < 2:
            continue
        least, most = min(counts) / DEXTER_FEATURES, max(counts) / DEXTER_FEATURES
        spans.append(most - least)
        whose = f"*{name}*, " if len(names) > 1 else ""
        told.append(PAGE("span", who=whose + title, least=least, most=most, span=spans[-1]))
    words = "; ".join(told)
    if entry.number is not None:
        words = PAGE("bound" if max(spans) <= entry.number else "above the bound", spans=words)
    return Found(words, link("stability", "dexter"))


@finds("annealing")
def annealing(found: Committed, _: Printed) -> Found:
    rises = Claims(found.of("claims")).curves_as_described
    return Found(PAGE("annealing" if rises else "not annealing"), link("claims"))


@finds("pi0")
def pi0(found: Committed, _: Printed) -> Found:
    """Whether the error depends on pi0, of every form of the algorithm and every data set."""
    values: set[float] = set()

    def tell(selections: Selections) -> str:
        cells = []
        for name, (loss, title) in product(selections.stabilised, LOSSES.items()):
            points = selections.sweep(loss, name)["stability"]
            values.update(point["value"] for point in points)
            errors = [point["error"] for point in points]
            same = is_insensitive(errors, selections.rows["test"])
            judged = "insensitive" if same else "sensitive"
            cells.append(f"*{name}* ({title}) {judged} ({min(errors):.1%} to {max(errors):.1%})")
        return ", ".join(cells)

    words, pages = _told_of_each(found, tell)
    return Found(PAGE("pi0", least=min(values), most=max(values), words=words), pages)


@finds("gamma")
def gamma(found: Committed, _: Printed) -> Found:
    """The signs of gamma with the least error, as far as the test rows can tell them apart."""

    def tell(selections: Selections) -> str:
        return ", ".join(
            f"*{name}* ({title}) "
            + signs_in_words(selections.sweep(loss, name)["annealing"], selections.rows["test"])
            for name, (loss, title) in product(selections.stabilised, LOSSES.items())
        )

    of_rcv1, _page = _told_of_each(found, tell, ("rcv1",))
    words, pages = _told_of_each(found, tell, tuple(f for f in found.stability if f != "rcv1"))
    return Found(PAGE("gamma", rcv1=of_rcv1, others=words), f"{_page}, {pages}")


@fills(PAGE, "claims", "regret")
def regret(document: Any) -> Mapping[str, Any]:
    return dict(share=Claims(document).greatest_share_of_the_bound())


@fills(PAGE, "claims", "corollary")
def corollary(document: Any) -> Mapping[str, Any]:
    claims = Claims(document)
    first, last = REGRET_STEPS[0], REGRET_STEPS[-1]

    def falls(of: Callable[[str], dict[int, float]]) -> str:
        return " and ".join(
            f"{of(loss)[first] / of(loss)[last]:.1f} ({LOSSES[loss]})" for loss in REGRET_LOSSES
        )

    root, regrets, bounds = (last / first) ** 0.5, falls(claims.regrets), falls(claims.bounds)
    return dict(first=first, last=last, root=root, regrets=regrets, bounds=bounds)


#: What is lost or wrong by proof.
PROVEN = {
    "formulas": told(PAGE("errata of Ma & Zheng"), ERRATA),
    "lemmas": told(PAGE("lemmas")),
    "assumption": told(PAGE("erratum of the assumption"), ERRATA),
}
