"""Study ``embeddings``: seconds of a training step of ``lazynet.torch``, and of other penalties.

All programs train one table in turns, with Adagrad on sparse gradients, on one thread.  It needs
PyTorch: ``.venv-torch/bin/python -m benchmarks embeddings --full`` after ``make test-torch``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from paper_repro.machine import version_of
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.score import Spread, duration, in_bytes, ratios
from paper_repro.study import Cell, Measured, Record, Records, Settings

NONE, LAZY, BLOCKS, WHOLE, TOUCHED = (
    "no penalty",
    "lazynet LazyDecay",
    "every row, in blocks",
    "every row, whole table",
    "rows of the batch alone",
)
PROGRAMS = (NONE, LAZY, BLOCKS, WHOLE, TOUCHED)
#: Rows of the table, columns, and rows of a batch.
MAIN = (1_000_000, 64, 4096)
FULL_SIZES = (
    (100_000, 64, 4096),
    MAIN,
    (1_000_000, 64, 256),
    (1_000_000, 64, 32_768),
    (1_000_000, 16, 4096),
    (1_000_000, 128, 4096),
    (10_000_000, 64, 4096),
)
QUICK_SIZES = ((20_000, 16, 512),)
#: Larger tables have no copy of the whole table, for want of memory.
MOST_WHOLE = 200_000_000
#: Steps of a turn, and those before them that do not count.
STEPS, UNCOUNTED = {NONE: 20, LAZY: 20, BLOCKS: 5, WHOLE: 3, TOUCHED: 20}, 2
RATE, L1, L2 = 0.1, 1e-5, 1e-4
BLOCK = 4096
#: Steps between two passes of LazyDecay over all rows.
BUDGET = 2**16


def cells(settings: Settings) -> Sequence[Cell]:
    sizes = FULL_SIZES if settings.full else QUICK_SIZES
    return [
        Cell("setting", lambda _: {"torch": version_of("torch")}),
        *(
            Cell(f"size/{'/'.join(map(str, size))}", partial(measured, size, settings.repeats), 5.0)
            for size in sizes
        ),
    ]


def measured(size: tuple[int, int, int], repeats: int, _: Records) -> Record:
    """Seconds per step of each program in each round, and seconds of a pass over all rows."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows, columns, batch = size
    embedding = torch.nn.Embedding(rows, columns, sparse=True)
    optimizer = torch.optim.Adagrad(embedding.parameters(), lr=RATE)
    chosen = [name for name in PROGRAMS if name != WHOLE or rows * columns <= MOST_WHOLE]
    found: Record = {name: [] for name in chosen}
    found["pass"] = []
    for repeat in range(repeats):
        for name in turns(chosen, repeat):
            after, decay = attached(name, embedding, optimizer)
            seconds = []
            for _step in range(UNCOUNTED + STEPS[name]):
                ids = torch.randint(rows, (batch,))
                begun = time.perf_counter()
                optimizer.zero_grad()
                embedding(ids).sum().backward()
                optimizer.step()
                after()
                seconds.append(time.perf_counter() - begun)
            counted = sorted(seconds[UNCOUNTED:])
            found[name].append(counted[len(counted) // 2])
            if decay is not None:
                begun = time.perf_counter()
                decay.remove()
                found["pass"].append(time.perf_counter() - begun)
    return found


def attached(name: str, embedding: Any, optimizer: Any) -> tuple[Callable[[], None], Any]:
    """What the program does after a step, and its LazyDecay if it has one."""
    import torch

    from lazynet.torch import LazyDecay

    def nothing() -> None: ...

    def shrink(values: Any) -> Any:
        return torch.nn.functional.softshrink(values.mul_(1 / (1 + RATE * L2)), RATE * L1)

    def in_blocks() -> None:
        for start in range(0, len(embedding.weight), BLOCK):
            values = embedding.weight.data[start : start + BLOCK]
            values.copy_(shrink(values))

    def whole() -> None:
        embedding.weight.data.copy_(shrink(embedding.weight.data))

    def touched() -> None:
        ids = embedding.weight.grad._indices()[0].unique()
        values = embedding.weight.data
        values.index_copy_(0, ids, shrink(values.index_select(0, ids)))

    if name == LAZY:
        return nothing, LazyDecay(embedding, optimizer, l1=L1, l2=L2, budget=BUDGET)
    return {NONE: nothing, BLOCKS: in_blocks, WHOLE: whole, TOUCHED: touched}[name], None


class Steps(Measured):
    """Seconds per step by size and program."""

    def sizes(self) -> list[tuple[tuple[int, int, int], Record]]:
        return [((int(r), int(c), int(b)), record) for (r, c, b), record in self.group("size")]


def content(document: Mapping[str, Any]) -> Content:
    found = Steps(document)
    shown = dict(found.sizes())
    size, main = (MAIN, shown[MAIN]) if MAIN in shown else next(iter(shown.items()))

    def ratio(record: Record, slow: str, fast: str) -> Spread | None:
        return ratios(record[slow], record[fast]) if record.get(slow) else None

    def told(spread: Spread | None) -> str:
        return "-" if spread is None else str(spread)

    rows = []
    for (n, columns, batch), record in shown.items():
        medians = [duration(Spread.of(record[name]).median) if record.get(name) else "-"
                   for name in PROGRAMS]  # fmt: skip
        rows.append([f"{n:,} x {columns}, {batch:,} a batch", *medians])
    compared = [
        [
            f"{n:,} x {columns}, {batch:,}",
            told(ratio(record, WHOLE, LAZY)),
            told(ratio(record, BLOCKS, LAZY)),
            told(ratio(record, LAZY, NONE)),
            told(ratio(record, TOUCHED, NONE)),
            duration(Spread.of(record["pass"]).median),
            in_bytes(4 * n),
        ]
        for (n, columns, batch), record in shown.items()
    ]
    rows_, columns_, batch_ = size
    return Content(
        f"A table of {rows_:,} rows and {columns_} columns, {batch_:,} ids a batch: the step with "
        f"an exact penalty takes {told(ratio(main, LAZY, NONE))} times as long as without one. A "
        f"penalty of every row takes {told(ratio(main, WHOLE, LAZY))} times as long as the lazy "
        f"one by operations on the whole table, and {told(ratio(main, BLOCKS, LAZY))} times in "
        f"blocks that stay in the cache.",
        [
            f"A step looks up random ids, adds up their rows, and updates them with Adagrad; l1 is "
            f"{L1:g}, l2 {L2:g}. One thread, float32, torch {found.records['setting']['torch']}. "
            f"The programs take turns on one table; medians of {found.repeats} rounds of "
            f"{STEPS[LAZY]} steps ({STEPS[BLOCKS]} and {STEPS[WHOLE]} of those that visit every "
            f"row). The penalty of the rows of the batch alone is not exact.",
            Table(["time of a step", *PROGRAMS], rows),
            Table(
                [
                    "ratio (range)",
                    "every row, whole / lazy",
                    "every row, blocks / lazy",
                    "lazy / no penalty",
                    "batch alone / no penalty",
                    "a pass over all rows",
                    "memory of the counters",
                ],
                compared,
            ),
            f"A pass over all rows is needed once in {BUDGET:,} steps, and before the whole table "
            f"is read, for instance to save it.",
        ],
        [
            Dots(
                "A step",
                "seconds",
                {
                    f"{n:,} x {columns}, {batch:,}": {
                        name: Spread.of(record[name]) for name in PROGRAMS if record.get(name)
                    }
                    for (n, columns, batch), record in shown.items()
                },
            )
        ],
    )
