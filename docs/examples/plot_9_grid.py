"""
A grid of settings in one pass
==============================

Which penalty, and which rate?  All settings of a grid learn side by side from each row, so that a
search costs little more than a few fits.  Each setting learns what a fit of this setting alone
learns.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from lazynet import LazyNetClassifier, LazyNetClassifierCV

# %%
# The rows
# --------
# Texts of fifty words; the words from 100 to 199 speak for one class and those from 200 to 399 for
# the other.  One class in ten is wrong.

rng = np.random.default_rng(0)
words = (20_000 ** rng.random((8_000, 50))).astype(int)
X = sparse.csr_array((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 50)))
y = (X[:, 100:200].sum(axis=1) > X[:, 200:400].sum(axis=1)) ^ (rng.random(8_000) < 0.1)
X_train, X_test, y_train, y_test = X[:6_000], X[6_000:], y[:6_000], y[6_000:]

# %%
# The search
# ----------
# Eleven penalties and three rates, judged by the loss of held-out rows in five folds.  The chosen
# setting is then trained with all rows.

grid = dict(l1s=np.geomspace(1e-1, 1e-6, 11), rate_factors=[0.1, 1, 10])
rates = dict(rule="fobos", schedule="power", eta0=0.05)
search = LazyNetClassifierCV(**grid, **rates, max_iter=10, tol=None, random_state=0)
search.fit(X_train, y_train)
print(f"{len(search.l1s_)} settings, {search.cv} folds, {search.curves_.shape[1]} epochs")
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
one_pass = LazyNetClassifierCV(**grid, **rates, scoring="progressive", random_state=0)
one_pass.fit(X_train, y_train)
seconds_together = perf_counter() - begun

begun = perf_counter()
rates.pop("eta0")
fits = [
    LazyNetClassifier(
        l1=l1, eta0=0.05 * factor, **rates, max_iter=1, tol=None, random_state=0
    ).fit(X_train, y_train)
    for l1, factor in zip(one_pass.l1s_, one_pass.rate_factors_, strict=True)
]
seconds_apart = perf_counter() - begun

losses = np.array([fit.history_[0]["progressive_loss"] for fit in fits])
nonzeros = np.array([np.count_nonzero(fit.coef_) for fit in fits])
distance = abs(one_pass.coef_ - fits[one_pass.best_index_].coef_).max()
print(f"losses differ by less than 1e-12: {abs(one_pass.losses_[:, 0, 0] - losses).max() < 1e-12}")
print(f"equal numbers of weights: {np.array_equal(one_pass.nonzeros_[:, 0], nonzeros)}")
print(f"weights of the chosen setting differ by less than 1e-12: {distance < 1e-12}")

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8, 3.6), width_ratios=[2.5, 1], layout="constrained"
)
looks = zip(grid["rate_factors"], ("#0b3c6f", "#3f7fb5", "#a8481a"), ("-", "--", "-."), strict=True)
for factor, colour, dashes in looks:
    some = one_pass.rate_factors_ == factor
    label = f"one pass, rates times {factor:g}"
    left.semilogx(one_pass.l1s_[some], one_pass.losses_[some, 0, 0], dashes, color=colour, label=label)
left.semilogx(one_pass.l1s_, losses, "o", color="black", fillstyle="none", label="a fit of its own")
left.set_xlabel("l1")
left.set_ylabel("loss of predictions before learning")
left.legend()
right.bar(["one pass", f"{len(fits)} fits"], [seconds_together, seconds_apart], color=["#0b3c6f", "#a8481a"])
right.set_ylabel("seconds")
