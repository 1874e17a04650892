"""Weights are current wherever a user or PyTorch reads or writes them."""

import copy
import io

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

import torch
from torch.nn import functional

from lazynet.torch import LazyDecay
from on_torch.scripts import (
    COLUMNS,
    L1,
    L2,
    RATE,
    ROWS,
    assert_same,
    batch,
    both,
    model_of,
    pair,
    train,
)

READS = {
    "weight": lambda m, o: m[0].weight * 1,
    "detach": lambda m, o: m[0].weight.detach(),
    "numpy": lambda m, o: torch.from_numpy(m[0].weight.detach().numpy()),
    "a row": lambda m, o: torch.stack([m[0].weight[k] for k in range(ROWS)]),
    "of the optimizer": lambda m, o: o.param_groups[0]["params"][0].data,
    "parameters": lambda m, o: torch.cat([p.reshape(-1) for p in m[0].parameters()]).view(ROWS, -1),
    "state_dict": lambda m, o: m.state_dict()["0.weight"],
    "deepcopy": lambda m, o: copy.deepcopy(m)[0].weight,
    "deepcopy of both": lambda m, o: copy.deepcopy((o, m))[0].param_groups[0]["params"][0],
    "torch.save": lambda m, o: saved(m)[0].weight,
    "torch.save of the weight": lambda m, o: saved(m[0].weight),
    "lookup": lambda m, o: functional.embedding(torch.arange(ROWS), m[0].weight),
    "lookup by name": lambda m, o: functional.embedding(
        weight=m[0].weight, input=torch.arange(ROWS)
    ),
    "bag": lambda m, o: functional.embedding_bag(
        offsets=torch.arange(ROWS), weight=m[0].weight, input=torch.arange(ROWS)
    ),
    "lookup in C++": lambda m, o: torch.embedding(m[0].weight, torch.arange(ROWS)),
    "functional_call": lambda m, o: torch.func.functional_call(
        m[0], dict(m[0].named_parameters()), torch.arange(ROWS)
    ),
    "several": lambda m, o: torch._foreach_mul(list(m[0].parameters()), 1.0)[0],
    "average": lambda m, o: torch.optim.swa_utils.AveragedModel(m).module[0].weight,
}


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("name", READS)
def test_reads(name):
    (lazy, optimizer, _), (dense, other, _) = pair()
    for _ in range(2):
        train(lazy, optimizer)
        train(dense, other)
        found = READS[name](lazy, optimizer)
        assert_same(found, dense[0].weight)
        assert type(found) in (torch.Tensor, torch.nn.Parameter)


def sparse(indices, values):
    return torch.sparse_coo_tensor(indices, values.double(), (ROWS, COLUMNS))


WRITES = {
    "fill": lambda m: m[0].weight.data.fill_(0.5),
    "a row": lambda m: m[0].weight[5].add_(1.0),
    "copy_": lambda m: m[0].weight.copy_(torch.arange(ROWS * COLUMNS).view(ROWS, -1)),
    "sparse rows": lambda m: m[0].weight.add_(sparse([[5, 5, 7]], torch.ones(3, COLUMNS))),
    "sparse": lambda m: m[0].weight.add_(sparse([[5], [1]], torch.ones(1))),
    "init": lambda m: torch.nn.init.ones_(m[0].weight),
    "load_state_dict": lambda m: m.load_state_dict(model_of().state_dict()),
    "double": lambda m: m.double(),
    "set data": lambda m: setattr(m[0].weight, "data", torch.ones(ROWS, COLUMNS).double()),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    """What is written takes the penalty of later steps alone."""

    def run(model, optimizer, _):
        for _ in range(2):
            train(model, optimizer)
            with torch.no_grad():
                WRITES[name](model)

    both(run)


def test_a_table_of_another_dtype():
    """The rows follow the weight to another type of numbers."""

    def run(model, optimizer, _):
        train(model, optimizer)
        model.float()
        train(model, optimizer)
        model.double()

    (lazy, *rest), (dense, *others) = pair()
    run(lazy, *rest)
    run(dense, *others)
    assert_same(lazy[0].weight, dense[0].weight, 1e-5)


def test_a_training_that_is_saved_and_resumed():
    """Loading the optimizer makes new parameter groups, with the rate of the first training."""

    def begun(rate):
        model = model_of()
        optimizer = torch.optim.Adagrad(model[0].parameters(), lr=rate)
        LazyDecay(model[0], optimizer, l1=L1, l2=L2)
        return model, optimizer

    (first, optimizer), (whole, other) = begun(RATE), begun(RATE)
    train(first, optimizer)
    train(whole, other, range(40))
    resumed, again = begun(1.0)
    resumed.load_state_dict(first.state_dict())
    again.load_state_dict(optimizer.state_dict())
    train(resumed, again, range(20, 40))
    assert_same(resumed[0].weight, whole[0].weight)


def test_a_copy_has_no_penalty_and_takes_one():
    (lazy, optimizer, _), _ = pair()
    train(lazy, optimizer)
    copied, its_optimizer = copy.deepcopy((lazy, optimizer))
    assert its_optimizer.param_groups[0]["params"][0] is copied[0].weight
    LazyDecay(copied[0], its_optimizer, l1=L1, l2=L2)
    train(copied, its_optimizer)
    train(lazy, optimizer)
    assert_same(copied[0].weight, lazy[0].weight)


def test_remove():
    (lazy, optimizer, decay), (dense, other, _) = pair()
    train(lazy, optimizer)
    train(dense, other)
    decay.remove()
    assert type(lazy[0].weight) is torch.nn.Parameter
    assert_same(lazy[0].weight, dense[0].weight)
    before = lazy[0].weight[39].tolist()
    train(lazy, optimizer)
    assert lazy[0].weight[39].tolist() == before
    LazyDecay(lazy[0], optimizer, l2=L2)


def test_rows_of_zeros_can_be_pruned():
    """Rows that no batch reads become zero as a whole; the others have no zero at all."""
    embedding = model_of()[0]
    optimizer = torch.optim.SGD(embedding.parameters(), lr=RATE)
    LazyDecay(embedding, optimizer, l1=0.3, group="row")
    for k in range(200):
        optimizer.zero_grad()
        (embedding(batch(k)) - 1).square().sum().backward()
        optimizer.step()
    zeros = embedding.weight == 0
    assert zeros.any(1).tolist() == zeros.all(1).tolist() == [k > 10 for k in range(ROWS)]
