"""
A first model
=============

Generated texts in which a few hundred words of a large vocabulary determine the class.  An online
model has more nonzero weights than the minimum of the same objective.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from lazynet import DualNetClassifier, LazyNetClassifier

# %%
# The rows
# --------
# 8,000 texts of 50 words out of 100,000.  Few words are frequent, most are rare.  The words from
# 100 to 199 indicate one class and those from 200 to 399 the other.

rng = np.random.default_rng(0)
words = (100_000 ** rng.random((8_000, 50))).astype(int)
X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 50)))
y = X[:, 100:200].sum(axis=1) > X[:, 200:400].sum(axis=1)
X_train, X_test, y_train, y_test = X[:6_000], X[6_000:], y[:6_000], y[6_000:]

# %%
# Two models
# ----------

penalty = dict(l1=2e-4, l2=0)
online = LazyNetClassifier(**penalty, random_state=0).fit(X_train, y_train)
minimum = DualNetClassifier(**penalty, random_state=0).fit(X_train, y_train)
for name, model in {"online": online, "minimum": minimum}.items():
    nonzeros = np.count_nonzero(model.coef_)
    print(f"{name}: accuracy {model.score(X_test, y_test):.3f}, {nonzeros:,} weights")

# %%
# Their weights
# -------------
# Words are numbered by frequency.

figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for ax, model, title in zip(axes, (online, minimum), ("online", "minimum"), strict=True):
    (kept,) = np.nonzero(model.coef_[0])
    ax.semilogx(kept + 1, model.coef_[0, kept], ".", markersize=3)
    ax.axvspan(101, 400, color="0.9", zorder=0)
    ax.set_title(f"{title}: {kept.size:,} weights")
    ax.set_xlabel("word; grey: the words that matter")
axes[0].set_ylabel("weight")
