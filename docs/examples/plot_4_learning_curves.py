"""
Learning curves of the rules
============================

The loss of several rules after each epoch.  The progressive loss is the mean loss of predictions,
each made before the model learns from the row, so that it needs no held-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from lazynet import LazyNetClassifier

rng = np.random.default_rng(0)
words = (50_000 ** rng.random((6_000, 40))).astype(int)
X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 40)))
y = X[:, 50:150].sum(axis=1) > X[:, 150:500].sum(axis=1)

# %%
# All rules have the same penalty, and their automatic learning rates.

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for rule in ("fobos", "rda", "ftrl", "adagrad", "saga"):
    model = LazyNetClassifier(rule=rule, l1=1e-4, max_iter=12, tol=None, random_state=0).fit(X, y)
    losses = [epoch["progressive_loss"] for epoch in model.history_]
    ax.semilogy(range(1, len(losses) + 1), losses, "o-", markersize=3, label=rule)
    print(f"{rule}: loss {losses[-1]:.3f}, {np.count_nonzero(model.coef_):,} weights")
ax.set_xlabel("epoch")
ax.set_ylabel("progressive loss")
ax.legend()
