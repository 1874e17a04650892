"""LazyNetClassifier and LazyNetRegressor over blocks; what all estimators over blocks share."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from lazynet.dask.blocks import Blocks, as_blocks
from lazynet.dask.chains import BlockRows, GoesOn, Online, chain, check_any_rows
from lazynet.data.source import Source
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators import online as serial
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.online_model import OnlineModel
from lazynet.persistence.checkpoints import EVERY
from lazynet.training.fit import Callback
from lazynet.training.settings import Settings
from lazynet.training.stream_rows import Prepare, SourceRows

_DOC = """``lazynet.{name}`` over blocks of rows on the workers of a Dask cluster.

    Parameters and attributes are those of the serial estimator, and this parameter:

    Parameters
    ----------
    client : distributed.Client, optional
        The client of the cluster; None: the current one.
    """


class WithClient(SparseLinear):
    """An estimator with a client, which is no part of the model."""

    #: the serial estimator, which has the same parameters but for ``client``
    _serial: ClassVar[type[Any]]
    client: Client | None

    def to_local(self) -> Any:
        """The same model as an estimator of lazynet itself, without a client."""
        model = self._serial(**{k: v for k, v in self.get_params(False).items() if k != "client"})
        model.__setstate__({k: v for k, v in self.__getstate__().items() if k != "client"})
        return model

    def save(self, path: str | os.PathLike[str], *, training_state: bool = True) -> None:
        """Write the model to a file, as the serial estimator does; ``lazynet.load`` gives one."""
        self.to_local().save(path, training_state=training_state)

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        client = params.pop("client")
        return type(self)(**{k: clone(v, safe=False) for k, v in params.items()}, client=client)


def _predicted(rows: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(rows)


def _lazily(method: str) -> Callable[[Any, Any], Any]:
    """The method of the serial estimator, which for a Dask array gives a lazy one."""

    def predict(self: Any, X: Any) -> Any:
        local = self.to_local()
        if not hasattr(X, "__dask_graph__"):
            return getattr(local, method)(X)
        if not isinstance(X, da.Array):
            raise TypeError(
                f"X must be a Dask array, or rows in memory, got {type(X).__name__}: "
                f"map_partitions of a collection with to_local().{method} predicts its partitions"
            )
        if X.numblocks[1] > 1:
            raise ValueError("X must have its columns in one block: write X.rechunk({1: -1})")
        sample = getattr(local, method)(np.zeros((1, X.shape[1])))
        return X.map_blocks(
            _predicted, delayed(local), method, dtype=sample.dtype, meta=sample[:0],
            chunks=(X.chunks[0], *((n,) for n in sample.shape[1:])),
            drop_axis=1 if sample.ndim == 1 else None, name=f"lazynet-{method}-{uuid.uuid4().hex}",
        )  # fmt: skip

    predict.__name__, predict.__qualname__ = method, method
    predict.__doc__ = "As the serial estimator; for a Dask array a lazy Dask array."
    return predict


def over_blocks(serially: type[Any]) -> Callable[[type], type]:
    """Lets a class be ``serially`` with a last parameter ``client`` and lazy predictions."""

    def complete(estimator: Any) -> Any:
        @functools.wraps(serially.__init__)
        def construct(self: Any, *arguments: Any, client: Any = None, **options: Any) -> None:
            serially.__init__(self, *arguments, **options)
            self.client = client

        known = inspect.signature(serially.__init__)
        extra = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = [*known.parameters.values(), extra]
        construct.__signature__ = known.replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        estimator.__init__, estimator._serial = construct, serially
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(serially, name):
                setattr(estimator, name, _lazily(name))
        estimator.__doc__ = _DOC.format(name=serially.__name__)
        return estimator

    return complete


class _OnlineOnBlocks(WithClient, OnlineModel):
    """``fit`` and ``partial_fit`` of the online estimators."""

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train on the workers that have the rows; as ``fit`` of the serial estimator on a source.

        Parameters
        ----------
        X : Blocks, Dask array or DataFrame, or list of Delayed or Future
            The rows: a Dask array of CSR matrices or dense blocks, or a DataFrame of numbers,
            beside a y of the same kind; calls or futures that give ``(X, y)`` or ``(X, y,
            weights)``; or ``Blocks`` of files or partitions, which several fits can share.
        y, sample_weight : Dask array or Series, optional
            Numbers of rows where X is a Dask array or a DataFrame, in the same blocks.
        coef_init, intercept_init, callback, checkpoint, every
            As in the serial estimator.  A checkpoint is written by the client, after an epoch.
        """
        return super().fit(
            as_blocks(X, y, sample_weight, self.client), coef_init=coef_init,
            intercept_init=intercept_init, callback=callback, checkpoint=checkpoint, every=every,
        )  # fmt: skip

    def _source_reader(self, settings: Settings, source: Source) -> tuple[Settings, Prepare]:
        # The outputs of one estimator go in several chains, which keep several workers busy.
        return super()._source_reader(replace(settings, n_threads=2 * len(source)), source)  # type: ignore[arg-type]

    def _source_rows(
        self, settings: Settings, source: Source, prepare: Prepare, files: ExitStack
    ) -> SourceRows:
        if not isinstance(source, Blocks):
            raise TypeError("X must be Blocks: take lazynet's own estimator for another source")
        assert isinstance(prepare, partial), "a method with the parameters and the classes"
        # Workers check rows by the method without the model.
        probe = self._serial()
        probe.n_features_in_ = self.n_features_in_
        label = f"{type(self).__name__}{uuid.uuid4().hex[:6]}"
        return BlockRows(source, partial(probe._prepared, settings, *prepare.args[1:]), label)

    @all_or_nothing
    def _go_on(self, blocks: Blocks, options: dict[str, Any]) -> None:
        """Learn from the rows of the blocks once."""
        facts = blocks.facts()
        check_any_rows(blocks)
        model = self.to_local()
        step = GoesOn(options, facts.n_rows, (facts.n_features, facts.n_labels))
        # What is wrong with the call is told by a row, before a worker is asked.
        first = next(each.first for each in blocks.known() if each.tally.n_rows)
        step(Online(copy.deepcopy(model)), first, np.arange(1))
        end = chain(blocks, step, blocks.futures, Online(model), f"pass{uuid.uuid4().hex[:6]}")
        model = copy.deepcopy(blocks.gathered([end])[0].model)
        model.n_iter_ = getattr(self, "n_iter_", 0) + 1
        own = self.get_params(deep=False)
        self.__dict__.update({k: v for k, v in vars(model).items() if k not in own})


@over_blocks(serial.LazyNetClassifier)
class LazyNetClassifier(_OnlineOnBlocks, serial.LazyNetClassifier):  # type: ignore[misc]
    @available_if(OnlineModel._learns_from_streams)
    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Train on the rows of these blocks once; as the serial ``partial_fit`` on a source.

        ``X``, ``y`` and ``sample_weight`` as in :meth:`fit`.  The first call names all
        ``classes``, except for a y with a column for each label.
        """
        self._go_on(as_blocks(X, y, sample_weight, self.client), {"classes": classes})
        return self


@over_blocks(serial.LazyNetRegressor)
class LazyNetRegressor(_OnlineOnBlocks, serial.LazyNetRegressor):  # type: ignore[misc]
    @available_if(OnlineModel._learns_from_streams)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on the rows of these blocks once; see :meth:`LazyNetClassifier.partial_fit`."""
        self._go_on(as_blocks(X, y, sample_weight, self.client), {})
        return self


def fit_all(
    estimators: Sequence[Any],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
    **options: Any,
) -> list[Any]:
    """Fit every estimator to the same blocks at the same time; each has the bits of a fit alone.

    With as many estimators as workers every worker is busy.  ``options`` are handed to every
    ``fit``.  A fit that fails leaves its estimator as it was; the others end, and then its error is
    raised.
    """
    blocks, estimators = as_blocks(X, y, sample_weight, client), list(estimators)
    blocks.known()
    if not estimators:
        return []
    with ThreadPoolExecutor(len(estimators), "lazynet fit") as pool:
        fits = [pool.submit(each.fit, blocks, **options) for each in estimators]
        try:
            found = [each.exception() for each in fits]
        except BaseException:
            # Ctrl-C: what the fits wait for is given up, and they leave their estimators as before.
            while wait(fits, timeout=0.1).not_done:
                blocks.give_up()
            raise
    for number, error in enumerate(found):
        if error is not None:
            error.add_note(f"estimator {number} of {len(found)}: {estimators[number]!r}")
            raise error
    return estimators
