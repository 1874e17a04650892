"""What LazyDecay does not support is refused with a message."""

import copy
import pickle
import re

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

import torch

from lazynet.torch import LazyDecay
from on_torch.scripts import (
    L2,
    RATE,
    assert_same,
    batch,
    loss_of,
    model_of,
    optimizer_of,
    pair,
    train,
)


def lazy_decay(model=None, kind=torch.optim.SGD, options=(), **arguments):
    model = model_of() if model is None else model
    return LazyDecay(model[0], optimizer_of(model, kind, **dict(options)), **arguments)


REFUSED = [
    (dict(model=model_of()[1:]), TypeError, "takes Embedding and EmbeddingBag, got Linear"),
    (dict(options={"momentum": 0.9}), ValueError, "momentum moves all rows"),
    (dict(options={"weight_decay": 0.1}), ValueError, "the optimizer has a weight_decay"),
    (dict(l1=-1.0), ValueError, "l1 must be at least 0 and finite, got -1.0"),
    (dict(l2=float("inf")), ValueError, "l2 must be at least 0 and finite"),
    (dict(l1=1.0, penalty="weight_decay"), ValueError, "has no l1"),
    (dict(penalty="decay"), ValueError, "penalty must be 'proximal' or 'weight_decay'"),
    (dict(group="column"), ValueError, "group must be None or 'row'"),
    (dict(budget=0), ValueError, "budget must be between 1"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        lazy_decay(**arguments)


def test_refused_embeddings():
    model = model_of()
    model[0].sparse = False
    with pytest.raises(ValueError, match="needs sparse=True: a dense gradient writes every row"):
        lazy_decay(model)
    model[0].sparse = True
    with pytest.raises(ValueError, match="the optimizer does not have the weight"):
        LazyDecay(model[0], torch.optim.SGD(model[1].parameters(), lr=RATE))
    lazy_decay(model)
    with pytest.raises(ValueError, match=re.escape("has a LazyDecay: call its remove() first")):
        lazy_decay(model)
    weighted = torch.nn.utils.parametrizations.orthogonal(model_of()[0])
    with pytest.raises(ValueError, match="computes its weight from other parameters"):
        LazyDecay(weighted, torch.optim.SGD(weighted.parameters(), lr=RATE))


def test_refused_steps():
    """The optimizer has not moved a weight when a step is refused."""
    model = model_of()
    optimizer = optimizer_of(model)
    decay = LazyDecay(model[0], optimizer, l2=L2, penalty="weight_decay")
    train(model, optimizer)
    loss_of(model, 0).backward()
    before = [p.tolist() for p in model.parameters()]
    with pytest.raises(ValueError, match="does not support a closure"):
        optimizer.step(lambda: 0.0)
    decay.l2 = 1 / RATE
    with pytest.raises(
        ValueError, match=re.escape("the factor 1 - rate l2 must be above 0, got 0.0")
    ):
        optimizer.step()
    decay.l2 = float("nan")
    with pytest.raises(ValueError, match=re.escape("l2 must be at least 0 and finite, got nan")):
        optimizer.step()
    decay.l2 = L2
    optimizer.param_groups[0]["lr"] = -1.0
    with pytest.raises(ValueError, match="must be at least 0"):
        optimizer.step()
    assert [p.tolist() for p in model.parameters()] == before


@pytest.mark.parametrize("how", ["assign", "swap"])
def test_a_weight_that_is_replaced(how):
    (lazy, optimizer, _), _ = pair()
    train(lazy, optimizer)
    if how == "assign":
        lazy.load_state_dict(model_of().state_dict(), assign=True)
    else:
        torch.__future__.set_swap_module_params_on_conversion(True)
        lazy.float()
        torch.__future__.set_swap_module_params_on_conversion(False)
    with pytest.raises(RuntimeError, match="the weight of an embedding was replaced"):
        optimizer.step()


def test_the_penalties_themselves_are_not_copied():
    (_, optimizer, decay), _ = pair()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a LazyDecay cannot be copied or saved"):
            copied(decay)
    copy.deepcopy(optimizer)


def test_compilers():
    """What is compiled would not see the missed steps; the way out that the message tells works."""
    (lazy, optimizer, _), (dense, other, _) = pair()
    train(lazy, optimizer)
    with pytest.raises(
        RuntimeError, match=re.escape("does not support torch.compile and torch.jit")
    ):
        torch.jit.trace(lazy, batch(0))
    try:
        found, refusal = torch.compile(lazy, backend="eager")(batch(39)), None
    except Exception as error:
        refusal = str(error)
    if refusal is None:  # PyTorch 2.3 does not compile such a lookup
        assert_same(found, lazy(batch(39)))
    else:
        assert "LazyDecay does not support torch.compile" in refusal
    lazy[0].forward = torch.compiler.disable(lazy[0].forward)
    train(torch.compile(lazy, backend="eager"), optimizer)
    for _ in range(2):
        train(dense, other)
    assert_same(lazy[0].weight, dense[0].weight)
