"""What the estimators of lazynet.dask share: a client, and predictions that stay lazy."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

from distributed import Client
from sklearn.base import clone

from lazynet.dask.predictions import is_lazy, mapped
from lazynet.estimators.base import SparseClassifier, SparseLinear

#: The docstring of an estimator over blocks: the name of the serial one, and more attributes.
_DOC = """``lazynet.{name}`` over blocks of rows on the workers of a Dask cluster.

    Parameters and attributes are those of the serial estimator, and these:

    Parameters
    ----------
    client : distributed.Client, optional
        The client of the cluster; None: the current one.
{more}"""


def described(more: str = "") -> Callable[[type], type]:
    """Give a class the docstring of an estimator over blocks."""

    def describe(estimator: type) -> type:
        estimator.__doc__ = _DOC.format(name=estimator.__name__, more=more)
        return estimator

    return describe


class WithClient(SparseLinear):
    """An estimator with a client, which is no part of the model."""

    #: the serial estimator, which has the same parameters but for ``client``
    _serial: ClassVar[type[Any]]
    #: the attributes that the serial estimator does not have
    _more: ClassVar[tuple[str, ...]] = ()

    client: Client | None

    def to_local(self) -> Any:
        """The same model as an estimator of lazynet itself, without a client."""
        model = self._serial(**{k: v for k, v in self.get_params(False).items() if k != "client"})
        own = ("client", *self._more)
        model.__setstate__({k: v for k, v in self.__getstate__().items() if k not in own})
        return model

    def predict(self, X: Any) -> Any:
        """As the serial estimator; for a Dask array a lazy Dask array."""
        return mapped(self, "predict", X) if is_lazy(X) else super().predict(X)  # type: ignore[misc]

    def save(self, path: str | os.PathLike[str], *, training_state: bool = True) -> None:
        """Write the model to a file, as the serial estimator does; ``lazynet.load`` gives one."""
        self.to_local().save(path, training_state=training_state)

    # --- the client is no part of a model ---

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        params = self.get_params(deep=False)
        client = params.pop("client")
        return type(self)(**{k: clone(v, safe=False) for k, v in params.items()}, client=client)


class Classifies(SparseClassifier):
    """Predictions of classifiers."""

    def predict_proba(self, X: Any) -> Any:
        """As the serial estimator; for a Dask array a lazy Dask array."""
        return mapped(self, "predict_proba", X) if is_lazy(X) else super().predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """As the serial estimator; for a Dask array a lazy Dask array."""
        return mapped(self, "decision_function", X) if is_lazy(X) else super().decision_function(X)


def with_client(serial_init: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a serial estimator with a last parameter ``client``."""

    @functools.wraps(serial_init)
    def construct(self: Any, *arguments: Any, client: Any = None, **options: Any) -> None:
        serial_init(self, *arguments, **options)
        self.client = client

    known = inspect.signature(serial_init)
    extra = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    construct.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), extra]
    )
    return construct
