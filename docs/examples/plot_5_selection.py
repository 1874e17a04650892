"""
Stability of a feature selection
================================

Fits on the same rows in different orders select different features.  ``selection_stability`` counts
how often each feature is selected, and Cohen's kappa measures the agreement.
"""

import numpy as np
from scipy import sparse

from lazynet import (
    DualNetClassifier,
    FoBoS,
    LazyNetClassifier,
    StabilisedSGDClassifier,
    plot_selection,
    selection_stability,
)

rng = np.random.default_rng(0)
X = sparse.random(2_000, 300, 0.05, "csr", random_state=rng)
y = np.asarray(X[:, :5].sum(axis=1) - X[:, 5:10].sum(axis=1)).ravel() > 0  # ten features matter
rows = X[:1_500], y[:1_500], X[1_500:], y[1_500:]

# %%
# Three models, ten orders of the rows each
# -----------------------------------------

models = {
    "FoBoS": LazyNetClassifier(
        "hinge", l1=1e-3, rule=FoBoS(eta0=4.0), standardize=False, max_iter=10, tol=None
    ),
    "stabilised SGD": StabilisedSGDClassifier(rejection_rate=0.8),
    "minimum": DualNetClassifier("squared_hinge", l1=2e-3, l2=0),
}
reports = {name: selection_stability(model, *rows, n_runs=10) for name, model in models.items()}
for name, report in reports.items():
    print(f"{name}: {report}")

# %%
# How often each feature was selected
# -----------------------------------

figure = plot_selection(reports)
