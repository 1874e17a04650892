"""Figures need matplotlib, and whoever lacks it reads what to install."""

import sys

import numpy as np
import pytest
from support.matrices import make_data

from lazynet import (
    DualNetRegressorCV,
    SelectionReport,
    net_path,
    plot_choice,
    plot_path,
    plot_selection,
)


@pytest.mark.parametrize("plot", [plot_path, plot_choice, plot_selection])
def test_without_matplotlib_the_error_says_what_to_install(plot, monkeypatch):
    """The error is the same whether matplotlib is missing as a whole or in part."""
    X, y = make_data(n=30, d=5, n_classes=0)
    drawn = {
        plot_path: net_path(X, y, loss="squared_error", l1s=3),
        plot_choice: DualNetRegressorCV(l1s=3, cv=2).fit(X, y),
        plot_selection: {"one": SelectionReport(*[np.zeros(2)] * 4)},
    }
    for missing in ("matplotlib.figure", "matplotlib"):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ImportError, match=rf"{plot.__name__} needs matplotlib: .*\[plots\]"):
            plot(drawn[plot])
