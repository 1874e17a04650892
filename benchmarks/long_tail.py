"""Study ``long_tail``: does an exact penalty of embeddings give a lower loss on long-tailed ids?

Trainings without a penalty, with a penalty of the rows of the batch alone, and with the exact one
of ``lazynet.torch``.  The rate, the strength and the epoch are chosen on validation rows; a search
whose best strength lies at an edge goes on.  It needs PyTorch, as the study ``embeddings``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.lines import source_lines
from paper_repro.machine import version_of
from paper_repro.render import Content, Dots, Table
from paper_repro.score import Spread, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

NONE, TOUCHED, EXACT = "no penalty", "rows of the batch alone", "lazynet LazyDecay"
L2, ROWS_TO_ZERO = "l2", 'l1, group="row"'
LINES, CLICKS = "lines of code", "clicks"
RATES = (0.03, 0.1, 0.3, 1.0)
#: A search begins with these strengths, goes on by the factor while an edge is best, and then tries
#: half the factor on both sides of the best.
STRENGTHS, FACTOR, MOST_RUNS = (1e-4, 1e-3, 1e-2), 10.0, 8
FULL = {"rows": 20_000, "epochs": 6, "seeds": 3}
QUICK = {"rows": 3_000, "epochs": 2, "seeds": 1}
COLUMNS, BATCH = 8, 512
#: Percent of the examples for training, and for choices; the rest is the test.
TRAINED, CHOSEN = 70, 15


@dataclass(frozen=True)
class Data:
    """Ids of each row of a table of ids, a row of ``width`` per example; -1 stands for none."""

    ids: Any
    y: Any
    n_ids: int
    #: Whether the ids of an example are a pair of factors, or a bag.
    pair: bool


def cells(settings: Settings) -> Sequence[Cell]:
    size = FULL if settings.full else QUICK
    data = lru_cache(maxsize=1)(lambda name, seed: DATA[name](int(size["rows"]), seed))

    def setting(_: Records) -> Record:
        return {"torch": version_of("torch"), "sets": {n: described(data(n, 0)) for n in DATA}}

    def run(name: str, seed: int, _: Records) -> Record:
        return compared(data(name, seed), int(size["epochs"]), seed)

    return [
        Cell("setting", setting, 5.0),
        *(
            Cell(f"loss/{name}/{seed}", partial(run, name, seed), 10.0)
            for name in DATA
            for seed in range(int(size["seeds"]))
        ),
    ]


# --- data ------------------------------------------------------------------------------------


def lines_of_code(n: int, seed: int) -> Data:
    """The words and pairs of words of lines of source code: scikit-learn or SciPy?"""
    from sklearn.feature_extraction.text import CountVectorizer

    texts, y = source_lines()
    order = np.random.default_rng(seed).permutation(len(texts))[:n]
    words = CountVectorizer(binary=True, token_pattern=r"\w+", ngram_range=(1, 2))
    X = words.fit_transform([texts[k] for k in order]).tocsr()
    ids = np.full((X.shape[0], 40), -1)
    for k in range(X.shape[0]):
        row = X.indices[X.indptr[k] : X.indptr[k + 1]][: ids.shape[1]]
        ids[k, : len(row)] = row
    return Data(ids, np.asarray(y)[order].astype(np.float32), X.shape[1], pair=False)


def clicks(n: int, seed: int) -> Data:
    """Users and items that occur as by Zipf's law; a click depends on the product of factors."""
    generator = np.random.default_rng(seed)
    users, items = n // 5, n // 5

    def drawn(size: int) -> Any:
        shares = 1 / np.arange(1, size + 1) ** 1.05
        return generator.choice(size, n, p=shares / shares.sum())

    user, item = drawn(users), drawn(items)
    factors = generator.standard_normal((users + items, COLUMNS)) / COLUMNS**0.25
    margins = np.einsum("ij,ij->i", factors[user], factors[users + item])
    y = generator.random(n) < 1 / (1 + np.exp(-1.5 * margins))
    return Data(np.stack([user, users + item], 1), y.astype(np.float32), users + items, pair=True)


DATA: dict[str, Callable[[int, int], Data]] = {LINES: lines_of_code, CLICKS: clicks}


def described(data: Data) -> Record:
    used = data.ids[data.ids >= 0]
    counts = np.bincount(used, minlength=data.n_ids)
    return {
        "examples": len(data.y),
        "ids": data.n_ids,
        "ids per example": len(used) / len(data.y),
        "ids that occur once": float((counts == 1).sum() / (counts > 0).sum()),
    }


# --- training --------------------------------------------------------------------------------


def compared(data: Data, epochs: int, seed: int) -> Record:
    """For every method the loss on test rows where the loss on validation rows is least."""
    run = partial(trained, data, epochs, seed)
    by_rate = {rate: run(rate, NONE, 0.0, 0.0) for rate in RATES}
    rate = min(RATES, key=lambda each: best(by_rate[each])["validation"])
    bound = best(by_rate[rate])["validation"]
    found: Record = {"rate": rate, NONE: {"strength": 0.0, **best(by_rate[rate])}}
    found["curves"] = {NONE: [epoch["test"] for epoch in by_rate[rate]]}
    for kind in (L2, ROWS_TO_ZERO):
        for method in (TOUCHED, EXACT):

            def at(strength: float, kind: str = kind, method: str = method) -> list[Record]:
                l1, l2 = (0.0, strength) if kind == L2 else (strength, 0.0)
                return run(rate, method, l1, l2)

            runs = searched(at)
            strength = min(runs, key=lambda each: best(runs[each])["validation"])
            as_good = [e for each in runs.values() for e in each if e["validation"] <= bound]
            found[f"{method}, {kind}"] = {
                "strength": strength,
                "strengths": sorted(runs),
                "pruned": max((epoch["zeros"] for epoch in as_good), default=None),
                **best(runs[strength]),
            }
            found["curves"][f"{method}, {kind}"] = [epoch["test"] for epoch in runs[strength]]
    return found


def best(epochs: Sequence[Record]) -> Record:
    return min(epochs, key=lambda epoch: epoch["validation"])


def searched(run: Callable[[float], list[Record]]) -> dict[float, list[Record]]:
    """The runs by strength, from a grid that is widened while its best strength is at an edge."""
    runs = {strength: run(strength) for strength in STRENGTHS}

    def chosen() -> float:
        return min(runs, key=lambda each: best(runs[each])["validation"])

    while (least := chosen()) in (min(runs), max(runs)) and len(runs) < MOST_RUNS:
        wider = least / FACTOR if least == min(runs) else least * FACTOR
        runs[wider] = run(wider)
    for near in (least / math.sqrt(FACTOR), least * math.sqrt(FACTOR)):
        runs[near] = run(near)
    return runs


def trained(
    data: Data, epochs: int, seed: int, rate: float, method: str, l1: float, l2: float
) -> list[Record]:
    """Losses on validation and test rows, and the share of rows of zeros, after each epoch."""
    import torch

    from lazynet.torch import LazyDecay

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    # Id 0 fills up bags.
    table = torch.nn.Embedding(data.n_ids + 1, COLUMNS, sparse=True, padding_idx=0)
    bias = torch.nn.Embedding(data.n_ids + 1, 1, sparse=True, padding_idx=0)
    last = torch.nn.Linear(COLUMNS, 1)
    torch.nn.init.normal_(table.weight[1:].detach(), std=0.1)
    torch.nn.init.zeros_(bias.weight)
    tables = [table, bias]
    optimizer = torch.optim.Adagrad([each.weight for each in tables], lr=rate)
    dense = torch.optim.Adagrad(last.parameters(), lr=rate)
    row = "row" if l1 else None
    if method == EXACT:
        LazyDecay(tables, optimizer, l1=l1, l2=l2, group=row)
    ids, y = torch.from_numpy(data.ids + 1).long(), torch.from_numpy(data.y)
    cut = [len(y) * TRAINED // 100, len(y) * (TRAINED + CHOSEN) // 100]
    first = torch.arange(cut[0])

    def margins(chosen: Any) -> Any:
        if data.pair:
            rows = table(chosen)
            return (rows[:, 0] * rows[:, 1]).sum(1) + bias(chosen).sum((1, 2)) + last.bias
        counts = (chosen > 0).sum(1)
        bag = {"offsets": counts.cumsum(0) - counts, "mode": "mean", "sparse": True}
        used = chosen[chosen > 0]
        means, biases = (
            torch.nn.functional.embedding_bag(used, each.weight, **bag) for each in tables
        )
        return (last(means) + biases)[:, 0]

    loss = torch.nn.BCEWithLogitsLoss()
    results = []
    for _ in range(epochs):
        for batch in first[torch.randperm(len(first))].split(BATCH):
            optimizer.zero_grad()
            dense.zero_grad()
            loss(margins(ids[batch]), y[batch]).backward()
            optimizer.step()
            dense.step()
            if method == TOUCHED:
                for each in tables:
                    shrink(each.weight, rate, l1, l2)
        with torch.no_grad():
            parts = [margins(ids[start:stop]) for start, stop in ((cut[0], cut[1]), (cut[1], None))]
            values = [float(loss(part, true)) for part, true in
                      zip(parts, (y[cut[0] : cut[1]], y[cut[1] :]), strict=True)]  # fmt: skip
            zeros = float((table.weight[1:] == 0).all(1).double().mean())
        results.append({"validation": values[0], "test": values[1], "zeros": zeros})
        if not all(map(math.isfinite, values)):
            raise ArithmeticError(f"{method}: the loss is not finite")
    return results


def shrink(weight: Any, rate: float, l1: float, l2: float) -> None:
    """The proximal step of the rows that have a gradient, but for the padding."""
    rows = weight.grad._indices()[0].unique()
    rows = rows[rows > 0]
    values = weight.data.index_select(0, rows)
    if l1:
        norm = values.norm(dim=1, keepdim=True)
        values *= (norm - rate * l1).clamp(min=0) / norm.clamp(min=1e-30)
    weight.data.index_copy_(0, rows, values / (1 + rate * l2))


# --- the page --------------------------------------------------------------------------------


class Losses(Measured):
    """Losses and shares of pruned rows by problem and method, a value for each seed."""

    def names(self) -> list[str]:
        return list(self.records["setting"]["sets"])

    def of(self, problem: str) -> list[Record]:
        return [record for (name, _), record in self.group("loss") if name == problem]

    def values(self, problem: str, method: str, what: str = "test") -> list[float]:
        return [r[method][what] for r in self.of(problem) if r[method].get(what) is not None]


METHODS = (
    NONE,
    *(f"{method}, {kind}" for kind in (L2, ROWS_TO_ZERO) for method in (TOUCHED, EXACT)),
)


def content(document: Mapping[str, Any]) -> Content:
    found = Losses(document)
    setting = found.records["setting"]
    tables, told, pruned_of = [], [], []
    for problem in found.names():
        rows = []
        for method in METHODS:
            strengths = [f"{s:.2g}" for s in found.values(problem, method, "strength")]
            pruned = found.values(problem, method, "pruned")
            seeds = len(found.of(problem))
            share = f"{100 * np.median(pruned):.0f} %" if len(pruned) == seeds else "-"
            loss = Spread.of(found.values(problem, method))
            rows.append([method, str(loss), ", ".join(strengths), share])
        shares = [
            100
            * float(np.median(found.values(problem, f"{method}, {ROWS_TO_ZERO}", "pruned") or 0))
            for method in (EXACT, TOUCHED)
        ]
        pruned_of.append(f"{shares[0]:.0f} % and {shares[1]:.0f} % ({problem})")
        tables.append(
            Table([problem, "test loss (range of seeds)", "strengths", "rows of zeros"], rows)
        )
        best_touched, best_exact = (
            np.array(found.values(problem, f"{method}, {L2}")) for method in (TOUCHED, EXACT)
        )
        none = np.array(found.values(problem, NONE))
        told.append(
            f"{problem}: {significant(float(np.median(best_exact)))} with the exact l2, "
            f"{significant(float(np.median(best_touched)))} with that of the rows of the batch "
            f"alone, {significant(float(np.median(none)))} without; the first is lower than the "
            f"second for {int((best_exact < best_touched).sum())} of {len(none)} seeds"
        )
    sets = [
        f"{name}: {each['examples']:,} examples with {each['ids per example']:.1f} of "
        f"{each['ids']:,} ids, of which {100 * each['ids that occur once']:.0f} % occur once"
        for name, each in setting["sets"].items()
    ]
    return Content(
        f"Test log loss. {'; '.join(told)}. Rows of zeros at no higher a loss than without a "
        f"penalty, with the exact l1 and with that of the batch alone: {', '.join(pruned_of)}.",
        [
            f"{'; '.join(sets)}. The lines come from the source of scikit-learn and SciPy, and the "
            f"model is a bag of embeddings with a linear layer; the clicks are generated from "
            f"factors, and the model is a factorisation. {COLUMNS} columns and a bias, Adagrad, "
            f"torch {setting['torch']}. {TRAINED} % of the examples are trained on; {CHOSEN} % "
            f"choose the rate (without a penalty, for all methods), the strength and the epoch; "
            f"the rest is the test. "
            f"A search whose best strength is at an edge goes on. *Rows of zeros*: the largest "
            f"share in a run whose validation loss is at most that without a penalty.",
            *tables,
        ],
        [
            Dots(
                problem,
                "test log loss",
                {m: {"test loss": Spread.of(found.values(problem, m))} for m in METHODS},
                log=False,
            )
            for problem in found.names()
        ],
        columns=1,
    )
