"""``LazyDecay``: the penalties of embeddings, attached to an optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

import torch

from lazynet.torch.table import Table
from lazynet.torch.weight import LazyWeight

PROXIMAL, WEIGHT_DECAY = "proximal", "weight_decay"


class LazyDecay:
    """Penalise all rows of embeddings at every step, at the cost of the rows of the batch.

    The weights have the values of an optimizer that penalises the whole table at every step, up to
    rounding.  The rate is that of the parameter group at this step, so that schedulers work, and
    the penalties may change during training.  A row that is read or written is brought up to date
    first: by a lookup or by the optimizer its rows, and by any other operation on the weight (such
    as ``state_dict()``, ``copy.deepcopy`` or ``embedding.weight.norm()``) all rows.

    Parameters
    ----------
    embeddings : Embedding or EmbeddingBag, or an iterable of them
        With ``sparse=True``. They may share weights. The row ``padding_idx`` has no penalty.
    optimizer : torch.optim.Optimizer
        It has the weights of the embeddings. `SGD` without momentum, `Adagrad`, `SparseAdam` and
        others that write only the rows of a sparse gradient.
    l1, l2 : float, default=0
        The strengths. Both are attributes that may be set between two steps.
    budget : int, default=65536
        The steps after which all rows are brought up to date. Memory: 16 bytes per step, and 4
        bytes per row.
    penalty : {"proximal", "weight_decay"}, default="proximal"
        "proximal": after the update of the optimizer, ``|w| <- [|w| - rate l1]+ / (1 + rate l2)``.
        "weight_decay": before the update, ``w <- (1 - rate l2) w``, as in `torch.optim.AdamW`;
        ``l1`` must be 0.
    group : {"row"}, optional
        The proximal step acts on the Euclidean norm of each row, so that whole rows become zero.

    Attributes
    ----------
    flushes : int
        The passes over whole tables so far. If the number grows at every step, some operation on
        the weight reads all rows.

    Examples
    --------
    >>> embedding = torch.nn.Embedding(1000, 2, sparse=True)
    >>> optimizer = torch.optim.SGD(embedding.parameters(), lr=0.5)
    >>> decay = LazyDecay(embedding, optimizer, l1=0.25)
    >>> _ = torch.nn.init.ones_(embedding.weight)
    >>> optimizer.step()
    >>> embedding(torch.tensor([7])).tolist()
    [[0.875, 0.875]]
    """

    def __init__(
        self,
        embeddings: torch.nn.Module | Iterable[torch.nn.Module],
        optimizer: torch.optim.Optimizer,
        *,
        l1: float = 0.0,
        l2: float = 0.0,
        budget: int = 2**16,
        penalty: str = PROXIMAL,
        group: str | None = None,
    ) -> None:
        if penalty not in (PROXIMAL, WEIGHT_DECAY):
            raise ValueError(f"penalty must be 'proximal' or 'weight_decay', got {penalty!r}")
        if group not in (None, "row"):
            raise ValueError(f"group must be None or 'row', got {group!r}")
        if not 1 <= budget < 2**31 - 1:
            raise ValueError(f"budget must be between 1 and 2**31 - 2, got {budget}")
        self.l1, self.l2, self.penalty = l1, l2, penalty
        self._step_of(0.0)  # checks l1 and l2
        self._modules = (
            [embeddings] if isinstance(embeddings, torch.nn.Module) else list(embeddings)
        )
        groups = _groups(optimizer)
        padding: dict[torch.nn.Parameter, set[int]] = {}
        for module in self._modules:
            _check(module, groups)
            padding.setdefault(module.weight, set()).update({module.padding_idx} - {None})
        self._tables = [
            Table(weight, rows, budget, group == "row") for weight, rows in padding.items()
        ]
        for table in self._tables:
            table.weight.__class__ = LazyWeight
            table.weight._table = table
        self._hooks = (
            optimizer.register_step_pre_hook(self._before),
            optimizer.register_step_post_hook(self._after),
        )

    @property
    def flushes(self) -> int:
        return sum(table.flushes for table in self._tables)

    def flush(self) -> None:
        """Bring every row up to date, in tensors that share the memory of a weight too."""
        for table in self._tables:
            table.flush()

    def remove(self) -> None:
        """Bring every row up to date, and end the penalties."""
        self.flush()
        for hook in self._hooks:
            hook.remove()
        for table in self._tables:
            table.weight.__class__ = torch.nn.Parameter
            del table.weight._table
        self._modules, self._tables = [], []

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a LazyDecay cannot be copied or saved: copy or save the model and the optimizer, and "
            "make a LazyDecay for them"
        )

    def _before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        """Check the step; "weight_decay" acts before the update."""
        weights = {id(table.weight) for table in self._tables}
        for module in self._modules:
            weight = module._parameters.get("weight")
            if id(weight) not in weights or not isinstance(weight, LazyWeight):
                raise RuntimeError(
                    "the weight of an embedding was replaced: call remove() before, and make a "
                    "LazyDecay for the new weight"
                )
        groups = _groups(optimizer)
        self._steps = [
            (table, self._step_of(float(groups[id(table.weight)]["lr"]))) for table in self._tables
        ]
        if self.penalty == WEIGHT_DECAY:
            if any(x is not None for x in (*args[1:], *kwargs.values())):
                raise ValueError("penalty='weight_decay' does not support a closure")
            self._advance()

    def _after(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        if self.penalty == PROXIMAL:
            self._advance()

    def _advance(self) -> None:
        for table, step in self._steps:
            table.advance(*step)

    def _step_of(self, rate: float) -> tuple[float, float, float]:
        """a, its logarithm, and b of a step |w| <- [a |w| - b]+."""
        l1, l2 = float(self.l1), float(self.l2)
        for name, number in (("l1", l1), ("l2", l2), ("the learning rate", rate)):
            if not 0 <= number < math.inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {number}")
        if self.penalty == PROXIMAL:
            a = 1 / (1 + rate * l2)
            return a, -math.log1p(rate * l2), a * rate * l1
        if l1 > 0:
            raise ValueError("penalty='weight_decay' has no l1: use penalty='proximal'")
        if rate * l2 >= 1:
            raise ValueError(f"the factor 1 - rate l2 must be above 0, got {1 - rate * l2}")
        return 1 - rate * l2, math.log1p(-rate * l2), 0.0


def _groups(optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Any]]:
    """The parameter group of each parameter, by its identity."""
    return {id(p): group for group in optimizer.param_groups for p in group["params"]}


def _check(module: torch.nn.Module, groups: dict[int, dict[str, Any]]) -> None:
    """Refuse an embedding or an optimizer that writes rows which the batch does not read."""
    if not isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        raise TypeError(
            f"LazyDecay takes Embedding and EmbeddingBag, got {type(module).__name__}: pass the "
            "embedding of the model, or a list of embeddings"
        )
    if not module.sparse:
        raise ValueError(
            f"{module} needs sparse=True: a dense gradient writes every row, and a dense step of "
            "the penalty then costs no more"
        )
    if "weight" not in module._parameters:
        raise ValueError(f"{module} computes its weight from other parameters")
    if isinstance(module.weight, LazyWeight):
        raise ValueError(f"{module} has a LazyDecay: call its remove() first")
    group = groups.get(id(module.weight))
    if group is None:
        raise ValueError(f"the optimizer does not have the weight of {module}")
    if group.get("momentum"):
        raise ValueError(
            "momentum moves all rows that were ever read, at every step: use momentum=0, or "
            "Adagrad or SparseAdam"
        )
    if group.get("weight_decay"):
        raise ValueError("the optimizer has a weight_decay: set it to 0, or leave LazyDecay out")
