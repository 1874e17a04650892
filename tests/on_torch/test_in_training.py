"""Training scripts, each compared with a dense table: the penalty for every row at every step."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

import torch
from torch.utils.checkpoint import checkpoint

from lazynet.torch import LazyDecay
from on_torch.scripts import (
    COLUMNS,
    L1,
    L2,
    RATE,
    ROWS,
    Dense,
    assert_same,
    batch,
    both,
    loss_of,
    model_of,
    optimizer_of,
    pair,
    train,
)

# --- PyTorch's own decays --------------------------------------------------------------------


def test_sgd_with_the_weight_decay_of_a_dense_table():
    """The weight_decay of SGD, which refuses sparse gradients."""
    lazy, dense = model_of(), model_of()
    dense[0].sparse = False
    groups = [
        {"params": dense[0].parameters(), "weight_decay": L2},
        {"params": dense[1].parameters()},
    ]
    reference = torch.optim.SGD(groups, lr=RATE)
    optimizer = optimizer_of(lazy)
    LazyDecay(lazy[0], optimizer, l2=L2, penalty="weight_decay")
    for _ in range(3):
        train(lazy, optimizer)
        train(dense, reference)
        assert_same(lazy[0].weight, dense[0].weight)


def test_adamw_when_every_batch_has_every_row():
    """SparseAdam is Adam there, so that the decay must be that of AdamW."""
    lazy, dense = model_of()[0], model_of()[0]
    dense.sparse = False
    # The two add epsilon in different places.
    sparse = torch.optim.SparseAdam(lazy.parameters(), lr=RATE, eps=1e-14)
    adamw = torch.optim.AdamW(dense.parameters(), lr=RATE, weight_decay=L2, eps=1e-14)
    LazyDecay(lazy, sparse, l2=L2, penalty="weight_decay")
    ids = torch.arange(ROWS)
    for k in range(10):
        for embedding, optimizer in ((lazy, sparse), (dense, adamw)):
            optimizer.zero_grad()
            (embedding(ids) - k).square().sum().backward()
            optimizer.step()
    assert_same(lazy.weight, dense.weight, 1e-10)


# --- scripts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adagrad, torch.optim.SparseAdam])
def test_a_training_loop_makes_no_pass_over_the_table(kind):
    lazy, dense = model_of(), model_of()
    tables = []
    for model, penalty in ((lazy, LazyDecay), (dense, Dense)):
        optimizer = kind(model[0].parameters(), lr=RATE)
        tables.append(penalty(model[0], optimizer, l1=L1, l2=L2))
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
        for k in range(20):
            train(model, optimizer, [k])
            scheduler.step()
            sum(p.numel() for p in model.parameters() if p.requires_grad)
            torch.nn.utils.clip_grad_norm_(model[1].parameters(), 1.0)
    assert tables[0].flushes == 0
    assert_same(lazy[0].weight, dense[0].weight)
    assert tables[0].flushes == 1


def test_gradients_that_accumulate():
    def run(model, optimizer, _):
        for k in range(30):
            loss_of(model, k).backward()
            if k % 3 == 2:
                optimizer.step()
            if k % 9 == 8:
                optimizer.zero_grad(set_to_none=k % 2 == 0)

    both(run)


def test_two_passes_before_a_backward_pass():
    def run(model, optimizer, _):
        for k in range(20):
            optimizer.zero_grad()
            (loss_of(model, k) * loss_of(model, k + 4)).backward()
            optimizer.step()

    both(run)


def test_a_closure():
    def run(model, optimizer, _):
        for k in range(20):

            def closure(k=k):
                optimizer.zero_grad()
                loss = loss_of(model, k)
                loss.backward()
                return loss

            optimizer.step(closure)

    both(run)


def test_a_rate_that_is_a_tensor():
    def run(model, optimizer, _):
        for k in range(20):
            optimizer.param_groups[0]["lr"] = torch.tensor(0.01 * k, dtype=torch.float64)
            train(model, optimizer, [k])

    both(run)


def test_activations_that_are_computed_again():
    def run(model, optimizer, _):
        for k in range(20):
            optimizer.zero_grad()
            rows = checkpoint(model[0], batch(k), use_reentrant=False)
            rows.sigmoid().sum().backward()
            optimizer.step()

    both(run)


def test_steps_without_a_gradient():
    def run(model, optimizer, _):
        train(model, optimizer)
        optimizer.zero_grad(set_to_none=True)
        for _ in range(5):
            optimizer.step()

    both(run)


def test_a_scaler_that_skips_steps():
    def run(model, optimizer, _):
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for k in range(20):
            optimizer.zero_grad()
            scaler.scale(loss_of(model, k) * (float("inf") if k % 4 == 1 else 1.0)).backward()
            scaler.step(optimizer)
            scaler.update()

    both(run)


def test_evaluation_between_steps():
    def run(model, optimizer, _):
        for k in range(20):
            train(model, optimizer, [k])
            model.eval()
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    model(torch.tensor([k, 39]))
            model.train()

    both(run)
    (lazy, optimizer, decay), (dense, other, _) = pair()
    train(lazy, optimizer)
    train(dense, other)
    with torch.inference_mode():
        assert_same(lazy.eval()(torch.arange(ROWS)), dense.eval()(torch.arange(ROWS)))
        decay.flush()
    train(lazy, optimizer)
    train(dense, other)
    assert_same(lazy[0].weight, dense[0].weight)


def test_a_dense_gradient_of_a_shared_weight():
    """The table is the last layer too: every row is written."""

    def run(model, optimizer, _):
        for k in range(20):
            optimizer.zero_grad()
            (model[0](batch(k)) @ model[0].weight.t()).sigmoid().sum().backward()
            optimizer.step()

    both(run)


def test_two_modules_with_one_weight():
    (lazy, _, decay), (dense, other, _) = pair()
    decay.remove()
    optimizer = optimizer_of(lazy)
    bag = torch.nn.EmbeddingBag(ROWS, COLUMNS, sparse=True, mode="mean", dtype=torch.float64)
    bag.weight = lazy[0].weight
    LazyDecay([lazy[0], bag], optimizer, l1=L1, l2=L2)
    for k in range(20):
        for model, step, pooled in ((lazy, optimizer, bag), (dense, other, None)):
            step.zero_grad()
            mean = pooled(batch(k + 9)) if pooled else model[0](batch(k + 9)).mean(1)
            (loss_of(model, k) + mean.sigmoid().sum()).backward()
            step.step()
    assert_same(lazy[0].weight, dense[0].weight)


def test_weights_for_each_id_of_a_bag():
    """The backward pass of the weights of ids reads the table."""
    bags = [
        torch.nn.EmbeddingBag(ROWS, 2, sparse=True, mode="sum", dtype=torch.float64) for _ in "ab"
    ]
    bags[1].weight.data.copy_(bags[0].weight.data)
    optimizers = [torch.optim.SGD(bag.parameters(), lr=RATE) for bag in bags]
    LazyDecay(bags[0], optimizers[0], l1=L1, l2=L2)
    Dense(bags[1], optimizers[1], l1=L1, l2=L2)
    factors = [torch.ones(2, 2, dtype=torch.float64, requires_grad=True) for _ in "ab"]
    for k in range(20):
        for bag, optimizer, factor in zip(bags, optimizers, factors, strict=True):
            optimizer.zero_grad()
            first = bag(batch(k), per_sample_weights=factor).sum()
            (first * bag(batch(k + 3), per_sample_weights=factor).sum()).sigmoid().backward()
            optimizer.step()
    assert_same(bags[0].weight, bags[1].weight)
    assert_same(factors[0].grad, factors[1].grad)
