"""
Which average?
==============

The last weights of an online rule are noisy.  The mean of the weights after every step is less
noisy, and a step still costs only the nonzeros of its row.  The mean of all steps includes the
first steps; two other averages give them little or no weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from lazynet import FoBoS, LazyNetClassifier

# %%
# Noisy labels
# ------------

rng = np.random.default_rng(0)
X = sparse.random(8_000, 1_000, 0.03, "csr", random_state=rng)
truth = rng.standard_normal(1_000) * (rng.random(1_000) < 0.2)
y = X @ truth + 0.5 * rng.standard_normal(8_000) > 0

# %%
# Four predictors at four rates
# -----------------------------

averages = {
    "last weights": False,
    "mean of all steps": True,
    "mean of the last half": "suffix",
    "polynomial decay": "polynomial",
}
rates = [0.05, 0.2, 0.8, 3.2]
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, average in averages.items():
    errors = []
    for eta0 in rates:
        model = LazyNetClassifier(
            l1=3e-4,
            rule=FoBoS("constant", eta0=eta0, average=average),
            max_iter=8,
            tol=None,
            random_state=0,
        ).fit(X[:6_000], y[:6_000])
        errors.append(1 - model.score(X[6_000:], y[6_000:]))
    ax.semilogx(rates, errors, "o-", label=name)
    print(f"{name}: least error {min(errors):.3f}")
ax.set_xlabel("rate, the same in every step")
ax.set_ylabel("error on new rows")
ax.legend()
