"""Sound arguments for every function, class and method of the kernels.

``RECIPES`` has an entry for each, which follows from the names of the arguments where they say
what is meant; a test fails if a kernel offers what has none.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lazynet.kernels
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.clock import tuning_of
from lazynet.kernels import averages, cells, clock, dekel, dual, released, stabilised
from lazynet.kernels.averages import Average
from lazynet.kernels.batches import Batches, Merger
from lazynet.kernels.examples import MEASURED, Examples, Steps, Task
from lazynet.kernels.newton import WorkingSet
from lazynet.kernels.released import Listed
from lazynet.kernels.stabilised import Records
from lazynet.losses import get_loss
from lazynet.schedules import FromData
from safe.fuzz import outputs, text

#: Lets a recipe lay out its arrays: fenced, or anywhere.
Place = Callable[[NDArray[Any]], NDArray[Any]]
Arguments = dict[str, Any]
#: Every kind of cell that an engine has.
KINDS = sorted(
    ["tables", *(row.engine.kind for row in ALGORITHMS.values() if row.engine is not None)]
)
#: The kinds whose weights the kernel brings current; of the others the engines do.
SWEPT = ("adagrad",)
#: The kinds that can take a step on several rows.
IN_BATCHES = sorted(
    row.engine.kind for row in ALGORITHMS.values() if row.engine and "batch_size" in row.rule._kinds
)
#: Numbers that are seldom a place in an array.
ODD_PLACES = [-1, -7, 7, 1000, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1]
#: Functions and classes that are listed once for each of several variants.
VARIANTS: dict[str, tuple[str, ...]] = {
    "cells.sweep": SWEPT,
    "cells.retune": SWEPT,
    **outputs.VARIANTS,
}


def kernel_functions() -> dict[str, Callable[..., Any]]:
    """Every function, class and method that the kernels offer, by name.

    A function of several kinds of cells is listed once for every kind, as ``cells.run rda``, and
    what ``VARIANTS`` names once for every variant.
    """
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(lazynet.kernels.__path__):
        if module.name == "turn":
            continue  # it takes no arrays
        kernel = importlib.import_module(f"lazynet.kernels.{module.name}")
        for name, offered in vars(kernel).items():
            if name.startswith("_") or getattr(offered, "__module__", kernel.__name__) != (
                kernel.__name__
            ):
                continue
            full = f"{module.name}.{name}"
            if full in VARIANTS:
                found.update({f"{full} {variant}": offered for variant in VARIANTS[full]})
            elif inspect.isclass(offered) or (
                callable(offered) and "kind" not in inspect.signature(offered).parameters
            ):
                found[full] = offered
            elif callable(offered):
                found.update({f"{full} {kind}": offered for kind in KINDS})
            if inspect.isclass(offered):
                for method, function in vars(offered).items():
                    if not method.startswith("_") and callable(function):
                        found[f"{full}.{method}"] = function
    return found


class Parts:
    """Sound parts of one small problem: ``n`` rows, ``d`` columns, ``k`` steps."""

    def __init__(self, random: np.random.Generator, place: Place = lambda array: array) -> None:
        self.random, self.place = random, place
        self.n, self.d = int(random.integers(1, 9)), int(random.choice([1, 2, 5, 9, 33]))
        self.k = int(random.integers(1, 20))
        self.wide = bool(random.integers(2))
        # Of blocks of several outputs: how many there are, and whether their weights are float32.
        self.n_outputs, self.narrow = int(random.integers(1, 40)), bool(random.integers(2))
        # Whether columns, row starts, labels and visited rows may lie outside their arrays.
        self.hostile = False

    def integers(self, array: NDArray[Any]) -> NDArray[Any]:
        """Row numbers, columns or row starts; of hostile parts one of them may be any number."""
        if self.hostile and len(array) and self.random.random() < 0.4:
            odd = ODD_PLACES[self.random.integers(len(ODD_PLACES))]
            limits = np.iinfo(array.dtype)
            array = array.copy()
            array[self.random.integers(len(array))] = min(max(odd, limits.min), limits.max)
        return self.place(array)

    def reals(self, *shape: int, least: float = -2.0) -> NDArray[np.float64]:
        """Numbers of ordinary size."""
        return self.place(self.random.uniform(least, 2.0, shape))

    def csr(self) -> Arguments:
        """Rows as ``Examples`` takes them."""
        index = np.int64 if self.wide else np.int32
        filled = self.random.random((self.n, self.d)) < 0.5
        columns = np.nonzero(filled)[1].astype(index)
        starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(index)
        value = np.float64 if self.random.integers(2) else np.float32
        return dict(
            values=self.place(self.random.standard_normal(len(columns)).astype(value)),
            columns=self.integers(columns),
            starts=self.integers(starts),
            n_columns=self.d,
            targets=self.place(np.where(self.random.random(self.n) < 0.5, 1.0, -1.0)),
            importances=self.reals(self.n, least=0.0),
            sizes=self.sizes(),
        )

    def sizes(self) -> NDArray[np.float64] | str:
        """What rates follow, or how the kernel is to measure it."""
        named = [*MEASURED, None][int(self.random.integers(len(MEASURED) + 1))]
        return self.reals(self.n, least=0.0) if named is None else named

    def examples(self) -> Examples:
        return Examples(**self.csr())

    def order(self) -> NDArray[np.int64]:
        """Rows to visit."""
        return self.integers(self.random.integers(0, self.n, self.k))

    def schedule(self) -> Arguments:
        """Steps as ``Steps`` takes them; no pull, which some kernels refuse."""
        return dict(
            order=self.order(),
            rates=self.reals(self.k, least=0.0),
            keep=self.place(np.full(self.k, 0.99)),
            keep_low=self.place(np.zeros(self.k)),
            pull=self.place(np.zeros(self.k)),
            counts=self.place(np.ones(self.k)),
            predictions=self.reals(self.k),
        )

    def steps(self, pull: float = 0.0) -> Steps:
        given = self.schedule()
        given["pull"] = self.place(np.full(self.k, pull))
        return Steps(**given)

    def batch_schedule(self) -> Arguments:
        """What ``Batches`` takes."""
        size = int(self.random.integers(1, 2 * self.k + 2))
        n = -(-self.k // size)
        return dict(
            order=self.order(),
            size=size,
            rates=self.reals(n, least=0.0),
            keep=self.place(np.full(n, 0.99)),
            keep_low=self.place(np.zeros(n)),
            pull=self.place(np.full(n, 0.01)),
            counts=self.place(np.ones(n)),
            predictions=self.reals(self.k),
            merger=Merger() if self.random.integers(2) else None,
        )

    def batches(self) -> Batches:
        return Batches(**self.batch_schedule())

    def task_numbers(self) -> Arguments:
        """What ``Task`` takes."""
        return dict(
            loss=int(self.random.integers(8)),
            epsilon=0.1,
            shrink_first=bool(self.random.integers(2)),
            fit_intercept=bool(self.random.integers(2)),
            smallest_scale=2.0**-500,
            cushion=float(self.random.choice([0.0, 1.0])),
            largest_cushion=2.0**10,
            enough_work=16.0 * self.d,
            soft_reach=2.0**6,
            hard_reach=2.0**10,
        )

    def task(self) -> Task:
        return Task(**self.task_numbers())

    def tuned_task(self) -> Task:
        """A task whose rates the kernel computes from the rows."""
        losses = [get_loss(name) for name in ("hinge", "log_loss", "squared_error", "huber")]
        loss = losses[self.random.integers(len(losses))]
        numbers = {**self.task_numbers(), "loss": loss.code, "epsilon": loss.epsilon}
        tuning = tuning_of(FromData(), loss, 0.01, 0.0, np.inf, bool(self.random.integers(2)))
        return Task(**numbers, tuning=tuning)

    def begun(self, pull: float = 0.0) -> Arguments:
        """What every ``run`` begins with."""
        return dict(examples=self.examples(), steps=self.steps(pull), task=self.task())

    def clock_fields(self) -> NDArray[np.float64]:
        fields = self.place(np.zeros(clock.CLOCK_FIELDS))
        clock.start(fields)
        return fields

    def burst_fields(self) -> NDArray[np.float64]:
        return self.reals(stabilised.STABILISED_FIELDS, least=0.0)

    def past(self) -> Arguments:
        """What ``Average`` takes: a past with nothing in it."""
        room = int(self.random.integers(1, 30))
        return dict(
            shifts=self.place(np.zeros(room)),
            scales=self.place(np.zeros(room + 1)),
            pulls=self.place(np.zeros(room + 1)),
            fields=self.place(np.zeros(averages.AVERAGE_FIELDS)),
        )

    def average(self) -> Average:
        average = Average(**self.past())
        averages.begin(average)
        return average

    def record_arrays(self, room: int | None = None) -> Arguments:
        """What ``Records`` takes."""
        room = int(self.random.integers(1, 200)) if room is None else room
        return dict(
            features=self.place(np.zeros(room, np.int64)),
            ratios=self.place(np.zeros(room)),
            vanished=self.place(np.zeros(room, np.uint8)),
        )

    def records(self) -> Records:
        """Records of a few steps, where there is room for them."""
        records = Records(**self.record_arrays())
        given = self.burst(records)
        given["size"] = 10**6
        stabilised.run(**given)
        return records

    def list_arrays(self) -> Arguments:
        """What ``Listed`` takes: room for all features and those of any row."""
        room = 2 * self.d + 3
        return dict(
            features=self.place(np.zeros(room, np.int64)),
            sizes=self.place(np.zeros(room)),
            kept=self.place(np.zeros(self.d, np.int64)),
        )

    def listed(self) -> Arguments:
        """A list with some features on it, and the cells that belong to it."""
        listed, cells = Listed(**self.list_arrays()), self.cells()
        features = self.random.integers(0, self.d, 3)
        released.go_back(listed, cells, features, self.random.normal(size=3))
        return dict(listed=listed, cells=cells)

    def released_burst(self) -> Arguments:
        return dict(
            examples=self.examples(),
            order=self.order(),
            position=1.0,
            loss=int(self.random.integers(8)),
            size=int(self.random.integers(1, 6)),
            share=float(self.random.choice([0.0, 0.5, 0.9])),
            n_left=self.d,
            live=self.place(np.ones(self.n, np.uint8)),
            cells=self.cells(),
            listed=Listed(**self.list_arrays()),
            first=0,
        )

    def cells(self, columns: int = 2) -> NDArray[np.float64]:
        return self.place(np.zeros((self.d, columns)))

    def burst(self, records: Records) -> Arguments:
        return dict(
            examples=self.examples(),
            order=self.order(),
            rates=self.reals(self.k, least=0.0),
            loss=int(self.random.integers(8)),
            epsilon=0.1,
            fit_intercept=True,
            size=int(self.random.integers(1, 6)),
            gravity=float(self.random.choice([-1.0, 0.0, 0.01])),
            universal=bool(self.random.integers(2)),
            cells=self.cells(),
            fields=self.place(np.zeros(stabilised.STABILISED_FIELDS)),
            records=records,
            first=0,
        )

    def columns(self) -> Arguments:
        """What ``WorkingSet`` takes."""
        return dict(
            examples=self.examples(),
            loss=int(self.random.integers(8)),
            epsilon=0.1,
            curvature=1.0,
            share=1.0 / self.n,
            fit_intercept=bool(self.random.integers(2)),
        )

    def new_features(self) -> NDArray[np.int64]:
        """Features that a working set does not have yet."""
        some = self.random.random(self.d) < 0.5
        return self.place(np.flatnonzero(some).astype(np.int64))

    def beginning(self) -> Arguments:
        """What the weights of a working set begin with, smoothed or not."""
        smoothed = bool(self.random.integers(2))
        return dict(
            l1=0.01,
            l2=float(self.random.choice([0.0, 0.1])),
            weights=self.reals(self.d),
            intercept=0.5,
            nu=0.5 if smoothed else 0.0,
            held=self.reals(self.n if smoothed else 0),
        )

    def working_set(self, until: str = "") -> WorkingSet:
        """A working set on which the methods up to the one called ``until`` have been called."""
        columns = WorkingSet(**self.columns())
        size = columns.name(self.new_features())
        for method in ("name", "pick", "place", "start", "model"):
            if method == "pick":
                columns.pick(0)
            elif method == "place":
                columns.place(size)
            elif method == "start":
                columns.start(**self.beginning())
            elif method == "model":
                columns.model(0.0)
            if method == until:
                break
        return columns

    def counts(self) -> NDArray[np.int32]:
        return self.place(np.zeros((self.d, 2), np.int32))


def _place_columns(parts: Parts) -> Arguments:
    columns = WorkingSet(**parts.columns())
    size = columns.name(parts.new_features())
    columns.pick(0)
    return dict(self=columns, size=size)


def _clock_run(parts: Parts) -> Arguments:
    given = dict(**parts.begun(pull=0.01), stored=parts.reals(parts.d),
                 fields=parts.clock_fields(), first=0, average=None, rates=None)  # fmt: skip
    if parts.random.integers(2):
        given.update(task=parts.tuned_task(), rates=parts.place(np.zeros(clock.FROM_DATA_FIELDS)))
    elif parts.random.integers(2):
        given.update(steps=parts.batches())
    if parts.random.integers(2):
        given.update(stored=parts.reals(2 * parts.d), average=parts.average())
    return given


def _dense_run(parts: Parts) -> Arguments:
    averaged, spread = parts.random.integers(2, size=2)
    return dict(
        **parts.begun(pull=0.01),
        weights=parts.reals(parts.d),
        intercept=parts.reals(1),
        spread=parts.place(np.zeros(parts.d if spread else 0)),
        sums=parts.place(np.zeros(parts.d if averaged else 0)),
        totals=parts.place(np.zeros(averages.AVERAGE_FIELDS if averaged else 0)),
        vectorised=bool(parts.random.integers(2)),
        first=0,
    )


def _judge(parts: Parts) -> Arguments:
    records = parts.records()
    return dict(
        records=records,
        least=1,
        threshold=0.7,
        counts=parts.counts(),
        frequency=parts.reals(parts.d),
        purged=parts.place(np.zeros(records.n, np.int64)),
    )


def _ratios(parts: Parts) -> Arguments:
    given = by_names("stabilised.truncate")(parts)
    given.pop("gravity")
    return dict(**given, out=parts.reals(given["records"].n - given["records"].began))


def _extend(parts: Parts) -> Arguments:
    records = parts.records()
    return dict(self=records, **parts.record_arrays(records.n + 5))


def _add_gram(parts: Parts) -> Arguments:
    size = int(parts.random.integers(1, 2 * parts.d))
    places = parts.random.integers(-1, size + 1, parts.d).astype(np.int32)
    return dict(
        examples=parts.examples(),
        curvatures=parts.reals(parts.n),
        places=parts.integers(places),
        sums=parts.reals(size * (size + 1) // 2),
        size=size,
        start=0,
    )


def _descend(parts: Parts) -> Arguments:
    root = parts.random.standard_normal((parts.k, parts.d + 1))
    return dict(
        hessian=parts.place(root.T @ root),
        weights=parts.reals(parts.d),
        slopes=parts.reals(parts.d),
        l1=0.1,
        l2=float(parts.random.choice([0.0, 0.1])),
        fit_intercept=bool(parts.random.integers(2)),
        accuracy=1e-3,
    )


def _cells(parts: Parts, kind: str) -> NDArray[np.float64]:
    """Cells of a kind, which nothing has been learned by or something has."""
    shape = parts.d, cells.numbers(kind)
    if parts.random.integers(2):
        return parts.place(np.zeros(shape))
    return parts.place(parts.random.uniform(0.0, 2.0, shape))


def _steps(parts: Parts, kind: str) -> Steps | Batches:
    if kind in IN_BATCHES and parts.random.integers(2):
        return parts.batches()
    return parts.steps(float(parts.random.choice([0.0, 0.01])))


#: Arguments that depend on the kind of cell.
OF_KIND: dict[str, Callable[[Parts, str], Any]] = {
    "kind": lambda parts, kind: kind,
    "settings": lambda parts, kind: parts.reals(len(cells.settings(kind)), least=0.01),
    # Counts, rates, sums of squares, and an intercept: 5 suits each of them.
    "fields": lambda parts, kind: parts.place(
        np.full(len(cells.fields(kind)), float(parts.random.choice([0.0, 5.0])))
    ),
    "cells": _cells,
    "steps": _steps,
    "entries": lambda parts, kind: parts.place(np.ones(2 * int(parts.random.integers(7, 30)))),
}

#: Everything that the kernels offer.
FUNCTIONS = kernel_functions()

#: Sound arguments by their names, and by the module or class of whose functions they are.
NAMED: dict[str, Callable[[Parts], Any]] = {
    "examples": Parts.examples, "steps": Parts.steps, "batches": Parts.batches,
    "order": Parts.order, "task": Parts.task,
    "average": Parts.average, "records": Parts.records, "counts": Parts.counts,
    "features": lambda p: p.place(p.random.integers(0, p.d, 3)),
    "cells": lambda p: p.reals(p.d, 2),
    "fields": Parts.clock_fields,
    "stabilised.fields": Parts.burst_fields,
    "dekel.fields": lambda p: p.place(np.ones(dekel.DEKEL_FIELDS)),
    "dual.fields": lambda p: p.place(np.zeros(dual.DUAL_FIELDS)),
    "mean": lambda p: p.reals(p.d if p.random.integers(2) else 0),
    "squared_norms": lambda p: p.reals(p.n, least=0.0),
    "dual.duals": lambda p: p.place(np.zeros(p.n)),
    "sizes": lambda p: p.reals(p.n, least=0.0),
    "sums.sizes": lambda p: p.reals(p.n, least=0.0) if p.random.integers(2) else None,
    "sums.out": lambda p: p.reals(p.n),
    "merger": lambda p: Merger(),
    "loss": lambda p: int(p.random.integers(8)),
    "intercept_scale": lambda p: float(p.random.choice([0.0, 1.0])),
    "stop": lambda p: p.n,
    "examples.Examples.self": Parts.examples, "examples.Steps.self": Parts.steps,
    "batches.Batches.self": Parts.batches, "batches.Merger.self": lambda p: Merger(),
    "stabilised.Records.self": Parts.records,
    "columns.Columns.self": Parts.working_set, "newton.WorkingSet.self": Parts.working_set,
    **dict.fromkeys(
        ("weights", "out", "sums", "z", "centre", "stored", "vector", "u"), lambda p: p.reals(p.d)
    ),
    **dict.fromkeys(
        ("predictions", "targets", "duals", "factors", "margins", "slopes"), lambda p: p.reals(p.n)
    ),
    **dict.fromkeys(
        ("batches.Batches.predictions", "examples.Steps.predictions"), lambda p: p.reals(p.k)
    ),
    **dict.fromkeys(("first", "start", "row", "step", "level"), lambda p: 0),
    **dict.fromkeys(("l1", "share", "epsilon", "strength", "gravity"), lambda p: 0.1),
    **dict.fromkeys(
        ("intercept", "shift", "factor", "threshold", "kappa", "old"), lambda p: 0.5
    ),
    **dict.fromkeys(("scale", "new", "extra"), lambda p: 1.0),
    **dict.fromkeys(("theta", "size"), lambda p: 3.0),
    "want": lambda p: 1e-9, "target": lambda p: 0.0, "only_range": lambda p: False,
    **dict.fromkeys(("compensated", "universal"), lambda p: bool(p.random.integers(2))),
}  # fmt: skip


def by_names(name: str) -> Callable[[Parts], Arguments]:
    """The recipe of a function all of whose arguments are in ``NAMED`` or in ``OF_KIND``."""
    makers = {}
    function, _, kind = name.partition(" ")
    for argument in inspect.signature(FUNCTIONS[name]).parameters:
        if kind in KINDS and argument in OF_KIND:
            makers[argument] = partial(OF_KIND[argument], kind=kind)
            continue
        owner, key = function, ""
        while owner and key not in NAMED:
            owner = owner.rpartition(".")[0]
            key = f"{owner}.{argument}" if owner else argument
        makers[argument] = NAMED[key]
    return lambda parts: {argument: make(parts) for argument, make in makers.items()}


RECIPES: dict[str, Callable[[Parts], Arguments]] = {
    **outputs.RECIPES,
    **text.RECIPES,
    "averages.Average": Parts.past,
    "stabilised.Records": Parts.record_arrays,
    "stabilised.Records.extend": _extend,
    "stabilised.run": lambda p: p.burst(Records(**p.record_arrays())),
    "stabilised.ratios": _ratios,
    "stabilised.judge": _judge,
    "released.Listed": Parts.list_arrays,
    "released.run": Parts.released_burst,
    "released.end_burst": lambda p: dict(**p.listed(), n_left=p.d, share=0.5),
    "released.unlist_purged": Parts.listed,
    "released.go_back": lambda p: dict(
        **p.listed(), features=p.place(p.random.integers(0, p.d, 3)), weights=p.reals(3)
    ),
    "batches.Merger": lambda p: {},
    "batches.Batches": Parts.batch_schedule,
    "clock.run": _clock_run,
    "dense.run": _dense_run,
    "gram.add_gram": _add_gram,
    "gram.descend": _descend,
    "sums.add_compensated": lambda p: dict(cells=p.reals(p.d, 2), others=p.reals(p.d, 2)),
    "examples.Examples": Parts.csr,
    "examples.Visited": lambda p: {},
    "examples.Steps": Parts.schedule,
    "examples.Task": Parts.task_numbers,
    "sums.excess": lambda p: dict(sums=p.reals(p.d, int(p.random.integers(1, 3))), share=0.1,
                                  l1=0.1, wrong=0.0),
    "columns.Columns": lambda p: dict(examples=p.examples()),
    "newton.WorkingSet": Parts.columns,
    "columns.Columns.name": lambda p: dict(self=WorkingSet(**p.columns()),
                                             features=p.new_features()),
    "columns.Columns.pick": lambda p: dict(self=p.working_set("name"), start=0),
    "columns.Columns.place": _place_columns,
    "newton.WorkingSet.start": lambda p: dict(self=p.working_set("place"), **p.beginning()),
}  # fmt: skip
for _name in FUNCTIONS.keys() - RECIPES.keys():
    with contextlib.suppress(KeyError):
        RECIPES[_name] = by_names(_name)


def names_held(given: Arguments) -> list[str]:
    """Names of the numbers among the settings and fields of a rule, which errors may name."""
    block = given.get("block")
    kind = block.kind if isinstance(block, outputs.Block) else given.get("kind")
    return [*cells.settings(kind), *cells.fields(kind)] if kind in KINDS else []


def call(name: str, given: Arguments) -> Any:
    """Call the function with these arguments; a method with its ``self`` among them."""
    if "self" in given:
        rest = {key: value for key, value in given.items() if key != "self"}
        # Bound to the object: through the class, Cython does not look what kind of object it is.
        return getattr(given["self"], name.split(".")[-1])(**rest)
    return FUNCTIONS[name](**given)
