"""The scikit-learn estimators, a file per family; and ``load``, which reads them from files."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from lazynet.persistence import files

#: All estimators, by the module that has them.
_NAMES = {
    "averaged": "ASGDClassifier ASGDRegressor",
    "certified": "DualNetClassifier DualNetRegressor",
    "certified_cv": "DualNetClassifierCV DualNetRegressorCV",
    "cross_validation": "LazyNetClassifierCV LazyNetRegressorCV",
    "online": "LazyNetClassifier LazyNetRegressor",
    "stabilised": "StabilisedSGDClassifier",
}


def every_estimator() -> tuple[type[Any], ...]:
    """All estimators; the call imports their modules."""
    modules = {import_module(f"{__name__}.{key}"): names for key, names in _NAMES.items()}
    return tuple(
        getattr(module, name) for module, names in modules.items() for name in names.split()
    )


def load(path: str | os.PathLike[str]) -> Any:
    """The model that ``model.save(path)`` has written, with the same bits.

    A file that is damaged, cut off, of another program, or of another format is refused with a
    ``ValueError`` that names the file and the defect, before a model is made.  Nothing in a file is
    executed, so files from unknown sources can be loaded.  ``partial_fit`` continues with the same
    bits as before ``save``.

    >>> import os, tempfile
    >>> import lazynet
    >>> model = lazynet.LazyNetClassifier(random_state=0)
    >>> model = model.partial_fit([[0.0, 9.0]], ["spam"], classes=["ham", "spam"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model"))
    ...     loaded = lazynet.load(os.path.join(folder, "model"))
    >>> loaded.predict([[0.0, 1.0]]), (loaded.coef_ == model.coef_).all()
    (array(['spam'], dtype='<U4'), np.True_)
    """
    return load_with_note(path)[0]


def load_with_note(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The model of a file, and how the command line read its rows."""
    return files.load(path, every_estimator())
