"""``fit`` of the estimators that find minima over blocks of rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import NDArray

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.checked import classes_in
from lazynet.dask.clients import Classifies, WithClient


class LearnsFromBlocks(WithClient):
    """An estimator that learns from blocks as a whole."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Train, with the rows on the workers.

        Parameters
        ----------
        X : Blocks, Dask array, or list of Delayed or Future
            The rows, as in :meth:`lazynet.dask.LazyNetClassifier.fit`.
        y, sample_weight : Dask array, optional
            Numbers of rows where X is a Dask array, in the same blocks.
        """
        # What cannot be is refused before a block is made.
        self._settle()
        blocks = as_blocks(X, y, sample_weight, self.client)
        self._warn(self._learn_blocks(blocks))
        return self

    def _learn_blocks(self, blocks: Blocks) -> list[Warning]:
        """Train on the blocks; returns the warnings to give."""
        raise NotImplementedError

    def _note_features(self, blocks: Blocks) -> None:
        """Take over the number of features; blocks have no names of features."""
        self.n_features_in_ = blocks.n_features
        self.__dict__.pop("feature_names_in_", None)

    def _classes_of(self, p: SimpleNamespace, blocks: Blocks) -> NDArray[Any] | None:
        """The classes; None for numbers."""
        return classes_in(p, blocks) if isinstance(self, Classifies) else None
