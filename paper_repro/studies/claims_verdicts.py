"""Study ``claims``: claims with a verdict, in the words of its page and of ``printed.md``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise, product

import numpy as np
from sklearn.preprocessing import normalize

from lazynet import ASGDClassifier, FoBoS, StabilisedSGDClassifier, Tables
from paper_repro import published
from paper_repro.competitors.base import (
    NONZERO_WEIGHTS,
    SPARSE_PREDICTIONS,
    TABLES,
    Problem,
    weights_after,
)
from paper_repro.competitors.compiled import after_a_pass
from paper_repro.competitors.dicts import ON_ZEROS
from paper_repro.documents import from_settings
from paper_repro.measure import Turn, in_turns
from paper_repro.pages import Template, table
from paper_repro.planted import planted
from paper_repro.runs import L1, learner, plan, seconds_per_step
from paper_repro.score import equality, ratios, significant
from paper_repro.study import Record, Records, Settings
from paper_repro.uniform import uniform_rows

PAGE = Template.beside(__file__)
#: Rows and features of the planted problem, orders of its rows, passes, and strengths l2.
ROWS, FEATURES, ORDERS = 4_000, 5_000, 20
PASSES, L2 = (1, 10), (2.5e-4, 1e-3, 1e-2)
VARIANCE, STEP = "variance over orders", "move of the last step"
#: An epoch of as many steps as the papers have examples, of as many nonzeros.
EPOCH, TIMED_ROWS, NONZEROS = 1_000_000, 2_000, 89
#: Strengths l1 = l2 at which a dense learner that skips zero weights is timed, the rows that are
#: dictionaries, and those after which all learners have the same weights.
STRENGTHS, MOST_ROWS, EQUALITY_ROWS = (L1, 1e-4, 1e-3, 1e-2), 10_000, 10
#: What takes at most this share of an epoch is negligible.
NEGLIGIBLE = 0.01
HOLDS = {True: "It holds here", False: "It does not hold here"}


def orders(settings: Settings, _: Records) -> Record:
    """The squared spread of Dekel's two solutions, by l2 and passes: last iterate and average."""
    corpus, _mattering = planted(ROWS, FEATURES, settings.seed)
    X, found = normalize(corpus.X), {}
    for l2, passes in product(L2, PASSES):
        model = ASGDClassifier("log_loss", l2=l2)
        ends, steps = [], []
        for seed in range(ORDERS):
            order = np.random.default_rng([settings.seed, seed]).integers(ROWS, size=passes * ROWS)
            two = []
            for rows in (order[:-1], order):
                model.fit(X, corpus.y, sample_order=rows)
                two.append(np.stack([model.last_coef_.ravel(), model.coef_.ravel()]))
            ends.append(two[1])
            steps.append(((two[1] - two[0]) ** 2).sum(axis=1))
        found[f"{l2:g}, {passes}"] = {
            VARIANCE: np.var(ends, axis=0, ddof=1).sum(axis=1).tolist(),
            STEP: np.mean(steps, axis=0).tolist(),
        }
    return found


def bursts(settings: Settings, _: Records) -> Record:
    """The length of the bursts, the features left and the steps so far, stage by stage."""
    corpus, _mattering = planted(ROWS, FEATURES, settings.seed)
    model = StabilisedSGDClassifier(gravity="informative", random_state=settings.seed)
    trace = model.fit(corpus.X, corpus.y).trace_
    stages = [[stage[name] for name in ("burst_size", "n_stable", "steps")] for stage in trace]
    return {"stages": stages, "bursts": model.bursts_per_stage * len(stages)}


def flush(settings: Settings, _: Records) -> Record:
    """Seconds of an epoch with tables, and of bringing all weights current once after it."""
    generator = np.random.default_rng(settings.seed)
    X = uniform_rows(generator, TIMED_ROWS, published.FEATURES, NONZEROS)
    y = np.where(generator.random(TIMED_ROWS) < 0.5, -1.0, 1.0)
    order = generator.integers(TIMED_ROWS, size=EPOCH)
    visiting = learner(X, y, plan(FoBoS(storage=Tables(budget=2 * EPOCH))))
    found: Record = {"epoch": [], "flush": []}
    for _round in range(settings.repeats):
        found["epoch"].append(EPOCH * seconds_per_step(visiting, order))
        began = time.process_time()
        visiting.engine.sweep()
        found["flush"].append(time.process_time() - began)
    return found


def zero_weights(settings: Settings, strength: float, _: Records) -> Record:
    """Seconds per example of FoBoS over dictionaries, from the weights after a pass over all."""
    corpus = from_settings(settings)
    zeros = np.zeros(corpus.X.shape[1])
    fresh = Problem(corpus.X, corpus.y, "fobos", zeros, l1=strength, l2=strength)
    problem = after_a_pass(fresh).first(MOST_ROWS)
    ends = {kind.name: weights_after(kind(problem.first(EQUALITY_ROWS))) for kind in ON_ZEROS}
    turns = {kind.name: Turn(kind(problem), settings.seconds) for kind in ON_ZEROS}
    return {
        "features": len(problem.weights),
        "nonzero": int(np.count_nonzero(problem.weights)),
        "same": {
            name: equality(found, ends[SPARSE_PREDICTIONS], f"{name}, l1 = l2 = {strength:g}")
            for name, found in ends.items()
        },
        "seconds": in_turns(turns, settings.repeats),
    }


def zero_weights_table(skipping: Mapping[float, Record]) -> str:
    """What the dense forms take, by l1 = l2."""
    dense = (NONZERO_WEIGHTS, SPARSE_PREDICTIONS)
    return table(
        ["l1 = l2", "weights that are not zero", *(f"{name} / {TABLES}" for name in dense)],
        [
            [
                f"{strength:g}",
                f"{record['nonzero'] / record['features']:.1%}",
                *(ratios(record["seconds"][name], record["seconds"][TABLES]) for name in dense),
            ]
            for strength, record in skipping.items()
        ],
    )


def verdicts(records: Records) -> dict[str, str]:
    """By the key of the entry in ``published.ENTRIES`` what was found of its claim."""
    variances, steps = (
        [record[what][1] / record[what][0] for record in records["orders"].values()]
        for what in (VARIANCE, STEP)
    )
    stages, made = records["bursts"]["stages"], records["bursts"]["bursts"]
    sizes = [size for size, _left, _steps in stages]
    share = ratios(records["flush"]["flush"], records["flush"]["epoch"])
    strength, skipping = STRENGTHS[-1], records[f"zero weights/{STRENGTHS[-1]:g}"]
    times = skipping["seconds"]
    return {
        "average stabler": PAGE(
            "average",
            holds=HOLDS[max(variances) < 1],
            variances=_between(variances),
            steps=_between(steps),
            smaller=sum(ratio < 1 for ratio in variances),
            of=len(variances),
            orders=ORDERS,
        ),
        "growing bursts": PAGE(
            "bursts",
            holds=HOLDS[all(a <= b for a, b in pairwise(sizes)) and sizes[0] < sizes[-1]],
            sizes=", ".join(f"{size:,}" for size in sizes),
            left=stages[-1][1],
            made=made,
            same=-(-stages[-1][2] // sizes[0]),
        ),
        "flush": PAGE(
            "flush",
            holds=HOLDS[share.most <= NEGLIGIBLE],
            flush=float(np.median(records["flush"]["flush"])),
            share=share,
            negligible=NEGLIGIBLE,
            steps=EPOCH,
        ),
        "skipping zeros": PAGE(
            "skipping",
            strength=strength,
            nonzero=skipping["nonzero"] / skipping["features"],
            skipping=ratios(times[NONZERO_WEIGHTS], times[TABLES]),
            all=ratios(times[SPARSE_PREDICTIONS], times[TABLES]),
        ),
    }


def _between(values: list[float]) -> str:
    return f"{significant(min(values), 2)} to {significant(max(values), 2)}"
