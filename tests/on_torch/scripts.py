"""Training scripts with a lazy table, and the same with a dense one."""

import torch

from lazynet.torch import LazyDecay

ROWS, COLUMNS, RATE, L1, L2 = 40, 3, 0.1, 0.01, 0.5


def batch(k):
    """Few ids, so that most rows miss many steps."""
    return torch.tensor([[k % 7, 3], [k % 5, k % 11]])


def model_of(**options):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Embedding(ROWS, COLUMNS, sparse=True, dtype=torch.float64, **options),
        torch.nn.Linear(COLUMNS, 1, dtype=torch.float64),
    )


def optimizer_of(model, kind=torch.optim.SGD, **options):
    return kind(model.parameters(), lr=RATE, **options)


class Dense:
    """The penalty of every row at every step."""

    def __init__(self, embedding, optimizer, l1=0.0, l2=0.0):
        self.l1, self.l2, self.weight = l1, l2, embedding.weight
        optimizer.register_step_post_hook(self.shrink)

    @torch.no_grad()
    def shrink(self, optimizer, *_):
        (rate,) = {group["lr"] for group in optimizer.param_groups}
        size = (self.weight.abs() - rate * self.l1).clamp(min=0) / (1 + rate * self.l2)
        self.weight.copy_(torch.copysign(size, self.weight))


def loss_of(model, k):
    return model(batch(k)).mul(k % 3 - 1.5).sigmoid().sum()


def train(model, optimizer, steps=range(20)):
    for k in steps:
        optimizer.zero_grad()
        loss_of(model, k).backward()
        optimizer.step()


def pair(kind=torch.optim.SGD, **options):
    """Models with optimizers and penalties: lazy, and dense."""
    found = []
    for penalty in (LazyDecay, Dense):
        model = model_of()
        optimizer = optimizer_of(model, kind, **options)
        found.append((model, optimizer, penalty(model[0], optimizer, l1=L1, l2=L2)))
    return found


def assert_same(first, second, tolerance=1e-13):
    torch.testing.assert_close(first.detach(), second.detach(), rtol=0, atol=tolerance)


def both(run, **options):
    """Run the lazy and the dense training, and compare the tables."""
    (lazy, *rest), (dense, *others) = pair(**options)
    run(lazy, *rest)
    run(dense, *others)
    assert_same(lazy[0].weight, dense[0].weight)
    assert_same(lazy[1].weight, dense[1].weight)
