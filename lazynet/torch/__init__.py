"""Exact l1 and l2 penalties for PyTorch embeddings with sparse gradients.

After a step of the optimizer every row of the table is penalised; the cost is that of the rows that
the batch reads.  This package imports no other module of lazynet, and no compiled code.

>>> import torch
>>> embedding = torch.nn.Embedding(1000, 2, sparse=True)
>>> optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5)
>>> decay = LazyDecay(embedding, optimizer, l2=1.0, penalty="weight_decay")
>>> _ = torch.nn.init.ones_(embedding.weight)
>>> for _ in range(3):
...     optimizer.step()  # the factor 1 - 0.5 * 1
>>> embedding.weight[7].tolist()
[0.125, 0.125]
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError(
        "lazynet.torch needs PyTorch: pip install 'lazynet-linear[torch]'", name=missing.name
    ) from missing

from lazynet.torch.decay import LazyDecay

__all__ = ["LazyDecay"]
