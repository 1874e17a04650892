"""
A grid of penalties in one fit
==============================

All settings of a grid train in the same epochs, in all folds.  The weights of a setting equal those
of a separate fit with the same rows, order and sizes of the features.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from lazynet import LazyNetClassifier, LazyNetClassifierCV, plot_choice

# %%
# The rows
# --------
# Texts of fifty words; the words from 100 to 199 indicate one class and those from 200 to 399 the
# other.  The class of one text in ten is wrong.

rng = np.random.default_rng(0)
words = (20_000 ** rng.random((8_000, 50))).astype(int)
X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 50)))
y = (X[:, 100:200].sum(axis=1) > X[:, 200:400].sum(axis=1)) ^ (rng.random(8_000) < 0.1)
X_train, X_test, y_train, y_test = X[:6_000], X[6_000:], y[:6_000], y[6_000:]

# %%
# The search
# ----------
# Nine penalties, compared by the loss on held-out rows in five folds.  The best setting is then
# trained on all rows.

l1s = np.geomspace(1e-2, 1e-6, 9)
begun = perf_counter()
search = LazyNetClassifierCV(l1s=l1s, random_state=0).fit(X_train, y_train)
together = perf_counter() - begun
print(f"chosen: l1 {search.l1_:.2g}, {search.n_iter_} epochs")
print(f"accuracy on new texts {search.score(X_test, y_test):.3f}")
figure = plot_choice(search)

# %%
# Comparison with separate fits
# -----------------------------
# ``GridSearchCV`` fits every setting in every fold separately.

begun = perf_counter()
apart = GridSearchCV(
    LazyNetClassifier(random_state=0),
    {"l1": l1s},
    scoring="neg_log_loss",
).fit(X_train, y_train)
one_by_one = perf_counter() - begun
print(f"the same choice: {apart.best_params_['l1'] == search.l1_}")
print(f"the same weights: {(apart.best_estimator_.coef_ == search.coef_).all()}")

# %%
# The rings lie on the line: both methods agree, up to the order of the rows in a fold and the sizes
# of the features.  The bars are the times.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), width_ratios=[2.5, 1], layout="constrained"
)
left.semilogx(search.cv_results_["l1"], search.cv_results_["mean_loss"], label="side by side")
rings = dict(color="black", marker="o", fillstyle="none", linestyle="none")
left.semilogx(l1s, -apart.cv_results_["mean_test_score"], **rings, label="a fit of its own")
left.set_xlabel("l1")
left.set_ylabel("mean loss of held-out rows")
right.bar(["side by side", "apart"], [together, one_by_one], color=["#0b3c6f", "#a8481a"])
right.set_ylabel("seconds")
figure.legend(loc="outside upper left", ncols=4)
