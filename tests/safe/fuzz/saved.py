"""Files of models: one that is whole gives the same bits, one that is damaged a clean error."""

import tempfile
import warnings
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from scipy import sparse
from support.algorithms import STREAMING_RULES
from support.damage import damaged, seal

import lazynet
from lazynet import DualNetClassifier, FoBoS, LazyNetClassifier, LazyNetRegressor
from safe.fuzz.oracle import judged
from safe.fuzz.worker import stopped_after

_X = sparse.csr_matrix(np.random.default_rng(0).standard_normal((12, 5)))
_Y = np.arange(12) % 3
# Numbers and parameters that somebody has changed may be refused in any words.
_REFUSALS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError)
_RULES = [*STREAMING_RULES, *(FoBoS(eta0=0.1, **options) for options in (
    dict(storage="tables"), dict(storage="dense"), dict(average=True)))]  # fmt: skip
_MODELS = [
    *(LazyNetClassifier(l1=0.01, rule=rule, random_state=0) for rule in _RULES),
    LazyNetRegressor(random_state=0),
    LazyNetRegressor(l1=0.01, rule=FoBoS(eta0=0.1, average="polynomial"), random_state=0),
    DualNetClassifier(random_state=0, warm_start=True),
]


def generate(random, ledger):
    """One file, damaged; sometimes with a checksum that somebody has made to fit."""
    data = damaged(
        _bytes_of(int(random.integers(len(_MODELS)))), Random(int(random.integers(2**63)))
    )
    sealed = random.random() < 0.7
    with tempfile.TemporaryDirectory() as folder, stopped_after(5.0):
        path = Path(folder) / "model"
        path.write_bytes(data)
        if sealed:
            seal(path)
        model = judged(
            ledger, f"load of a {'sealed' if sealed else 'damaged'} file",
            lambda: lazynet.load(path), words=[str(path)], finite=False,
        )  # fmt: skip
        if model is None:
            return
        if not sealed:
            ledger.fail("a damaged file was read", f"{data!r:.300}")
        for use in (
            lambda: model.predict(_X), lambda: model.coef_, lambda: model.partial_fit(_X, _Y),
            lambda: model.coef_,
        ):  # fmt: skip
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    use()
                except _REFUSALS:
                    ledger.refused["a sealed file"] += 1


@cache
def _bytes_of(number):
    """The file of a model, after two passes."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        _MODELS[number].set_params(max_iter=2).fit(_X, _Y).save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()
