"""``fit`` of the estimators that find minima over blocks of rows."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import NDArray

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.checked import classes_in
from lazynet.dask.clients import Classifies, WithClient
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of


class LearnsFromBlocks(WithClient):
    """An estimator that learns from blocks as a whole."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train, with the rows on the workers.

        Parameters
        ----------
        X : Blocks, Dask array, or list of Delayed or Future
            The rows, as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        y, sample_weight : Dask array, optional
            Numbers of rows where X is a Dask array, in the same blocks.
        checkpoint, every
            As in the serial estimator.  The client writes the file: after an epoch, after a path in
            a fold, or after all weights of a grid have visited all blocks.
        """
        # What cannot be is refused before a block is made.
        self._settle()
        blocks = as_blocks(X, y, sample_weight, self.client)
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn_blocks(blocks, keeper)
        self._warn(warnings)
        return self

    def _learn_blocks(self, blocks: Blocks, keeper: Keeper) -> list[Warning]:
        """Train on the blocks; returns the warnings to give."""
        raise NotImplementedError

    def _note_features(self, blocks: Blocks) -> None:
        """Take over the number of features; blocks have no names of features."""
        self.n_features_in_ = blocks.n_features
        self.__dict__.pop("feature_names_in_", None)

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any] | None:
        """The classes; None for numbers."""
        return classes_in(p, blocks) if isinstance(self, Classifies) else None
