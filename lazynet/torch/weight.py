"""A parameter that is current whenever it is read or written.

PyTorch passes every operation on a subclass of a tensor to ``__torch_function__``.  A lookup needs
the rows that it reads, the sparse update of an optimizer the rows that it writes, and any other
operation all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

LOOKUPS = {
    functional.embedding,
    functional.embedding_bag,
    torch.embedding,
    torch.embedding_bag,
}

#: What neither reads nor writes a value of the weights.  Another operation costs a pass over the
#: table, so that a name that is missing here makes no weight wrong.
PASSIVE = {
    *(
        getattr(getattr(torch.Tensor, name), kind)
        for name in ("grad", "requires_grad")
        for kind in ("__get__", "__set__", "__delete__")
    ),
    *(
        getattr(torch.Tensor, name).__get__
        for name in (
            *("_backward_hooks", "_version", "device", "dtype", "grad_fn", "is_cpu", "is_cuda"),
            *("is_leaf", "is_meta", "is_quantized", "is_sparse", "is_sparse_csr", "layout", "ndim"),
            *("retains_grad", "shape"),
        )
    ),
    torch.Tensor.__len__,
    torch.Tensor.dim,
    torch.Tensor.element_size,
    torch.Tensor.is_complex,
    torch.Tensor.is_contiguous,
    torch.Tensor.is_floating_point,
    torch.Tensor.nelement,
    torch.Tensor.numel,
    torch.Tensor.requires_grad_,
    torch.Tensor.size,
    torch.Tensor.stride,
    torch.empty_like,
    torch.is_complex,
    torch.is_floating_point,
    torch.numel,
    torch.ones_like,
    torch.zeros_like,
}


class LazyWeight(torch.nn.Parameter):
    """The weight of an embedding; ``_table`` has the steps that its rows have missed."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            if func not in PASSIVE:
                make_current(func, args, kwargs)
            return func(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.nn.Parameter:
        """A parameter without a penalty: its optimizer is another one."""
        if id(self) not in memo:
            memo[id(self)] = torch.nn.Parameter(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return torch.nn.Parameter(self.detach(), self.requires_grad).__reduce_ex__(protocol)


def make_current(func: Any, args: Any, kwargs: Any) -> None:
    """Bring the rows that the operation reads or writes up to date."""
    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        raise RuntimeError(
            "LazyDecay does not support torch.compile and torch.jit: exclude the embedding by "
            "embedding.forward = torch.compiler.disable(embedding.forward)"
        )
    rows = None
    if func in LOOKUPS:
        ids = [x for x in args if torch.is_tensor(x) and not x.is_floating_point()]
        rows = kwargs.get("input", kwargs.get("indices", ids[0] if ids else None))
    elif func is torch.Tensor.add_ and isinstance(args[0], LazyWeight):
        other = args[1] if len(args) > 1 else kwargs["other"]
        if torch.is_tensor(other) and other.layout is torch.sparse_coo and other.sparse_dim() == 1:
            rows = other._indices()[0]
    for weight in _weights((args, kwargs)):
        if rows is None:
            weight._table.flush()
        else:
            weight._table.catch_up(rows.reshape(-1))


def _weights(values: Any) -> Iterator[Any]:
    """The lazy weights in nested arguments."""
    if isinstance(values, LazyWeight):
        yield values
    elif isinstance(values, dict):
        yield from _weights(tuple(values.values()))
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _weights(value)
