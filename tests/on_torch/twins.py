"""A lazy table and its dense twin in plain Python, through the same training."""

import copy
import math
from collections import Counter
from dataclasses import dataclass

import torch
from hypothesis import strategies as st

from lazynet.reference.embeddings import proximal, weight_decay
from lazynet.torch import LazyDecay
from lazynet.torch.table import FAR

OPTIMIZERS = {
    "SGD": lambda groups: torch.optim.SGD(groups, lr=0.1),
    "Adagrad": lambda groups: torch.optim.Adagrad(groups, lr=0.1),
    "SparseAdam": lambda groups: torch.optim.SparseAdam(groups, lr=0.1),
}
DTYPES = (torch.float64, torch.float32, torch.bfloat16)
#: What a user does between two steps; each action must find current weights.
ACTIONS = ("nothing", "flush", "state_dict", "weight", "deepcopy", "data")


@dataclass(frozen=True)
class Step:
    """One step: the penalties, the rates of the groups, and the ids of each forward pass."""

    l1: float
    l2: float
    rates: tuple[float, ...]
    batches: tuple[tuple[int, ...], ...]
    taken: bool = True  # False as when a scaler of gradients skips it
    keep: bool = False  # gradients accumulate
    action: str = "nothing"


@dataclass(frozen=True)
class Plan:
    """A training of one or two tables."""

    steps: tuple[Step, ...]
    rows: int = 6
    columns: int = 2
    tables: int = 1
    groups: int = 1
    bag: bool = False
    optimizer: str = "SGD"
    dtype: torch.dtype = torch.float64
    penalty: str = "proximal"
    by_row: bool = False
    budget: int = 2**16
    padding: int | None = None
    max_norm: float | None = None
    seed: int = 0
    #: The number of steps that the counters begin with.
    begin: int = 0


@st.composite
def plans(draw):
    """Plans of all kinds."""
    rows, tables = draw(st.integers(1, 8)), draw(st.integers(1, 2))
    decay = draw(st.booleans())
    strength = st.sampled_from((0.0, 1e-9, 1e-3, 0.1, 0.7))
    batch = st.lists(st.integers(0, rows - 1), max_size=4).map(tuple)
    groups = draw(st.integers(1, tables))
    steps = st.builds(
        Step,
        l1=st.just(0.0) if decay else strength,
        l2=strength,
        rates=st.tuples(*[st.sampled_from((0.0, 1e-3, 0.1, 1.0))] * groups),
        batches=st.lists(batch, max_size=2).map(tuple),
        taken=st.sampled_from((True, True, True, False)),
        keep=st.booleans(),
        action=st.sampled_from(("nothing",) * 12 + ACTIONS),
    )
    return Plan(
        steps=tuple(draw(st.lists(steps, min_size=1, max_size=25))),
        rows=rows,
        columns=draw(st.integers(1, 3)),
        tables=tables,
        groups=groups,
        bag=draw(st.booleans()),
        optimizer=draw(st.sampled_from(sorted(OPTIMIZERS))),
        dtype=draw(st.sampled_from(DTYPES)),
        penalty="weight_decay" if decay else "proximal",
        by_row=draw(st.booleans()),
        budget=draw(st.sampled_from((1, 2, 5, 2**16))),
        padding=draw(st.none() | st.integers(0, rows - 1)),
        max_norm=draw(st.none() | st.sampled_from((0.1, 1.0))),
        seed=draw(st.integers(0, 99)),
    )


class Twin:
    """The rows of a dense table as lists of floats, with a bound on the rounding of the lazy one.

    The optimizer of the twin moves a table of zeros of the same dtype with the same gradients, so
    that its updates are known exactly.  A step, a renormalisation and a penalty bring two vectors
    no further apart, so that the errors of all roundings add up.
    """

    def __init__(self, plan, weight):
        self.plan = plan
        self.rows = weight.detach().double().tolist()
        self.zeros = torch.nn.Parameter(torch.zeros_like(weight.detach()))
        self.padding = set() if plan.padding is None else {plan.padding}
        self.writes, self.n_steps, self.l1_part = 1, 0, 0.0
        self.largest = max(abs(w) for row in self.rows for w in row)

    def read(self, ids):
        """The rows of a lookup, renormalised if there is a ``max_norm``."""
        if (most := self.plan.max_norm) is not None:
            for k in set(ids):
                norm = math.hypot(*self.rows[k])
                factor = most / (norm + 1e-7) if norm > most else 1.0
                self.rows[k] = [factor * w for w in self.rows[k]]
        self.writes += 2
        return [self.rows[k] for k in ids]

    def decay(self, step, rate):
        if self.plan.penalty == "weight_decay":
            self.rows = weight_decay(self.rows, rate, step.l2, padding=self.padding)
        else:
            self.rows = proximal(
                self.rows, rate, step.l1, step.l2, group=self.plan.by_row, padding=self.padding
            )
        self.writes, self.n_steps = self.writes + 2, self.n_steps + 1
        self.l1_part += rate * step.l1

    def update(self):
        """What the optimizer added to the table of zeros."""
        moved = self.zeros.detach().double().tolist()
        self.rows = [
            [w + d for w, d in zip(row, deltas, strict=True)]
            for row, deltas in zip(self.rows, moved, strict=True)
        ]
        self.largest = max(self.largest, *(abs(w) for row in (*self.rows, *moved) for w in row))
        self.zeros.data.zero_()

    def tolerance(self):
        """A write has at most 8 roundings, and a logarithm at most one of size FAR per step."""
        own = torch.finfo(self.plan.dtype).eps / 2
        tables = 2.0**-53 * (FAR + 2) * self.n_steps
        size = self.largest + self.l1_part
        return math.sqrt(self.plan.columns) * size * (8 * own * self.writes + tables)


class Training:
    """A plan under way: lazy tables, their twins, and what was met."""

    def __init__(self, plan):
        self.plan, self.met = plan, Counter()
        generator = torch.Generator().manual_seed(plan.seed)
        kind = torch.nn.EmbeddingBag if plan.bag else torch.nn.Embedding
        options = {"mode": "sum"} if plan.bag else {}
        self.modules = []
        for _ in range(plan.tables):
            start = torch.randn(plan.rows, plan.columns, generator=generator, dtype=torch.float64)
            self.modules.append(
                kind(plan.rows, plan.columns, sparse=True, padding_idx=plan.padding,
                     max_norm=plan.max_norm, dtype=plan.dtype, **options)
            )  # fmt: skip
            self.modules[-1].weight.data.copy_(start)
        self.generator = generator
        self.twins = [Twin(plan, module.weight) for module in self.modules]
        self.optimizer = self.optimizer_of([module.weight for module in self.modules])
        self.dense = self.optimizer_of([twin.zeros for twin in self.twins])
        self.decay = LazyDecay(
            self.modules, self.optimizer, budget=plan.budget, penalty=plan.penalty,
            group="row" if plan.by_row else None,
        )  # fmt: skip
        for table in self.tables:
            table.t = plan.begin
            table.last.masked_fill_(table.last == 0, plan.begin)

    @property
    def tables(self):
        return [module.weight._table for module in self.modules]

    def optimizer_of(self, weights):
        size = -(-len(weights) // self.plan.groups)
        groups = [{"params": weights[k : k + size]} for k in range(0, len(weights), size)]
        return OPTIMIZERS[self.plan.optimizer](groups)

    def run(self):
        for step in self.plan.steps:
            self.take(step)
            self.compare()

    def take(self, step):
        self.decay.l1, self.decay.l2 = step.l1, step.l2
        for groups in (self.optimizer.param_groups, self.dense.param_groups):
            for group, rate in zip(groups, step.rates, strict=False):
                group["lr"] = rate
        loss = torch.zeros((), dtype=self.plan.dtype)
        for ids in step.batches:
            for module, twin in zip(self.modules, self.twins, strict=True):
                loss = loss + self.forward(module, twin, ids)
        self.met["two passes"] += len(step.batches) > 1
        if loss.requires_grad:
            loss.backward()
        if step.taken:
            self.step(step)
        else:
            self.met["skipped"] += 1
        if not step.keep:
            self.optimizer.zero_grad(set_to_none=self.plan.seed % 2 == 0)
        self.act(step.action)

    def forward(self, module, twin, ids):
        table = module.weight._table
        self.met["missed steps"] += any(table.last[k] < table.t - 1 for k in ids)
        self.met["repeated ids"] += len(set(ids)) < len(ids)
        indices = torch.tensor(ids, dtype=torch.int64)
        found = module(indices, torch.zeros(1, dtype=torch.int64)) if self.plan.bag else module(
            indices)  # fmt: skip
        rows = twin.read(ids)
        if self.plan.bag:
            rows = [row for k, row in zip(ids, rows, strict=True) if k != self.plan.padding]
            rows = [[sum(row[k] for row in rows) for k in range(self.plan.columns)]]
        tolerance = twin.tolerance() * (len(ids) + 1) * 2
        expected = torch.tensor(rows, dtype=torch.float64).reshape(found.shape)
        assert torch.allclose(found.detach().double(), expected, rtol=0, atol=tolerance)
        factors = torch.randn(found.shape, generator=self.generator, dtype=torch.float64)
        return (found * factors.to(found.dtype)).sum()

    def step(self, step):
        rates = {
            id(p): group["lr"] for group in self.optimizer.param_groups for p in group["params"]
        }
        flushes = self.decay.flushes
        for module, twin in zip(self.modules, self.twins, strict=True):
            grad = module.weight.grad
            twin.zeros.grad = None if grad is None else grad.clone()
        self.optimizer.step()
        self.dense.step()
        for module, twin in zip(self.modules, self.twins, strict=True):
            rate = rates[id(module.weight)]
            if self.plan.penalty == "weight_decay":
                twin.decay(step, rate)
                twin.update()
            else:
                twin.update()
                before = sum(w != 0 for row in twin.rows for w in row)
                twin.decay(step, rate)
                self.met["became zero"] += before > sum(w != 0 for row in twin.rows for w in row)
            self.met["rate 0"] += rate == 0
        self.met["budget"] += self.decay.flushes > flushes

    def act(self, action):
        """Read the weights as a user may, and compare what is read."""
        if action == "nothing":
            return
        self.met[action] += 1
        for module, twin in zip(self.modules, self.twins, strict=True):
            if action == "flush":
                self.decay.flush()
            read = {
                "flush": lambda m: m._parameters["weight"].data,
                "state_dict": lambda m: m.state_dict()["weight"],
                "weight": lambda m: m.weight * 1,
                "deepcopy": lambda m: copy.deepcopy(m).weight,
                "data": lambda m: m.weight.data,
            }[action](module)
            assert close(read.detach(), twin)

    def compare(self):
        """The lazy rows, with the steps that they have missed, are those of the dense twin."""
        for table, twin in zip(self.tables, self.twins, strict=True):
            assert close(current(table), twin), "the lazy rows differ from the dense rows"


def current(table):
    """The rows of a table after all missed steps, in a copy."""
    apart = copy.copy(table)
    with torch._C.DisableTorchFunctionSubclass():
        apart.weight = torch.nn.Parameter(table.weight.data.clone())
    apart.last = table.last.clone()
    apart.flush()
    return apart.weight.data


def close(rows, twin):
    expected = torch.tensor(twin.rows, dtype=torch.float64)
    return torch.allclose(rows.double(), expected, rtol=0, atol=twin.tolerance())
