"""
A grid of settings in one pass
==============================

Which penalty, and which rate?  All settings of a grid learn side by side, so that a row is read
once for all of them.  Each setting learns what a fit of this setting alone learns.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from lazynet import AdaGrad, LazyNetClassifier, LazyNetClassifierCV

# %%
# The rows
# --------
# Texts of fifty words; the words from 100 to 199 speak for one class and those from 200 to 399 for
# the other.  The class of one text in ten is wrong.

rng = np.random.default_rng(0)
words = (20_000 ** rng.random((8_000, 50))).astype(int)
X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 50)))
y = (X[:, 100:200].sum(axis=1) > X[:, 200:400].sum(axis=1)) ^ (rng.random(8_000) < 0.1)
X_train, X_test, y_train, y_test = X[:6_000], X[6_000:], y[:6_000], y[6_000:]

# %%
# The search
# ----------
# Nine penalties and three rates, judged by the loss of held-out rows in five folds.  The chosen
# setting is then trained with all rows.

grid = dict(l1s=np.geomspace(1e-2, 1e-6, 9), rate_factors=[0.25, 1, 4])
search = LazyNetClassifierCV(rule=AdaGrad(alpha=0.1), **grid, max_iter=10, random_state=0)
search.fit(X_train, y_train)
n_settings, n_epochs, n_folds = search.losses_.shape
print(f"{n_settings} settings, {n_folds} folds, {n_epochs} epochs")
print(f"chosen: l1 {search.l1_:.2g}, rates times {search.rate_factor_:g}, {search.n_iter_} epochs")
print(f"accuracy on new texts {search.score(X_test, y_test):.3f}")
figure = search.plot()

# %%
# Against separate fits
# ---------------------
# One pass over the rows, without held-out rows: the predictions that are made before their rows are
# learned from judge a setting.  A fit of each setting alone arrives at the same losses and at the
# same number of weights.

begun = perf_counter()
one_pass = LazyNetClassifierCV(
    rule=AdaGrad(alpha=0.1), **grid, scoring="progressive", random_state=0
).fit(X_train, y_train)
together = perf_counter() - begun

options = dict(max_iter=1, tol=None, random_state=0)
begun = perf_counter()
fits = [
    LazyNetClassifier(rule=AdaGrad(alpha=0.1 * factor), l1=l1, **options).fit(X_train, y_train)
    for l1, factor in zip(one_pass.l1s_, one_pass.rate_factors_, strict=True)
]
apart = perf_counter() - begun

losses = np.array([fit.history_[0]["progressive_loss"] for fit in fits])
nonzeros = [np.count_nonzero(fit.coef_) for fit in fits]
weights = abs(one_pass.coef_ - fits[one_pass.best_index_].coef_).max()
print(f"losses differ by less than 1e-12: {abs(one_pass.curves_[:, 0] - losses).max() < 1e-12}")
print(f"numbers of weights are equal: {one_pass.nonzeros_[:, 0].tolist() == nonzeros}")
print(f"weights of the chosen setting differ by less than 1e-12: {weights < 1e-12}")

# %%
# Where the rings lie on the lines, both ways agree.  The bars are the time of each way.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), width_ratios=[2.5, 1], layout="constrained"
)
for factor, line in zip(grid["rate_factors"], ("-", "--", "-."), strict=True):
    some = one_pass.rate_factors_ == factor
    label = f"one pass, rates times {factor:g}"
    left.semilogx(one_pass.l1s_[some], one_pass.curves_[some, 0], line, label=label)
rings = dict(color="black", marker="o", fillstyle="none", linestyle="none")
left.semilogx(one_pass.l1s_, losses, **rings, label="a fit of its own")
left.set_xlabel("l1")
left.set_ylabel("mean loss of predictions before learning")
right.bar(["one pass", f"{len(fits)} fits"], [together, apart], color=["#0b3c6f", "#a8481a"])
right.set_ylabel("seconds")
figure.legend(loc="outside upper left", ncols=4)
