"""
Features for all targets, or for none
=====================================

A model of several targets has a row of weights per feature.  The l1 penalty sets single weights to
zero; a penalty of the whole row selects a feature for all targets or for none.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from lazynet import FoBoS, LazyNetRegressor

# %%
# Twelve targets
# --------------
# A row has two of sixty features, for instance a customer and a product.  Ten features matter,
# and each of the ten matters for all targets.

rng = np.random.default_rng(0)
n_rows, n_features, n_targets = 6_000, 60, 12
X = np.zeros((n_rows, n_features))
X[np.arange(n_rows)[:, None], rng.integers(n_features, size=(n_rows, 2))] = 1
truth = np.zeros((n_features, n_targets))
matter = rng.choice(n_features, 10, replace=False)
truth[matter] = rng.choice([-1, 1], (10, n_targets)) * rng.uniform(0.2, 2, (10, n_targets))
targets = X @ truth + 0.05 * rng.standard_normal((n_rows, n_targets))
train, test = (X[:4_000], targets[:4_000]), (X[4_000:], targets[4_000:])

# %%
# Two penalties
# -------------
# The norm of a row is larger than each of its weights, so that it needs another strength.
# To compare sparse models that predict equally well, we take the largest l1 with an R2 of at
# least 0.9 on new rows.

options = dict(max_iter=20, tol=None, random_state=0)
weights = {"truth": truth}
for name, group in {"l1": None, 'group="l2"': "l2"}.items():
    for l1 in np.geomspace(1, 0.001, 31):
        model = LazyNetRegressor(rule=FoBoS("power", group=group), l1=l1, **options).fit(*train)
        if model.score(*test) >= 0.9:
            break
    weights[name] = model.coef_.T
    kept = np.any(model.coef_ != 0, axis=0)
    zeros = np.count_nonzero(model.coef_[:, kept] == 0)
    print(f"{name}: l1 {l1:.3f}, R2 {model.score(*test):.2f}, {kept.sum()} features are kept,")
    print(f"    {kept[matter].sum()} of the ten among them; {zeros} zeros in their weights,")
    others = np.delete(abs(model.coef_), matter, axis=1)
    print(f"    and {others.max():.2f} is the largest weight of a feature that does not matter")

# %%
# Their weights
# -------------
# A row of an image is a feature, and a column is a target.  White is zero.  A black bar marks a
# feature with a nonzero weight for some target.  Bars beside the ten are features of the last rows,
# whose small weights have not yet shrunk to zero.

blue_to_rust = ["#0b3c6f", "#3f7fb5", "#ffffff", "#c0803f", "#a8481a"]
colours = LinearSegmentedColormap.from_list("weights", blue_to_rust)
figure, axes = plt.subplots(1, 3, figsize=(7, 4.8), sharey=True, layout="constrained")
for ax, (name, matrix) in zip(axes, weights.items(), strict=True):
    image = ax.imshow(matrix, colours, vmin=-2, vmax=2, aspect="auto", interpolation="none")
    (kept,) = np.nonzero(np.any(matrix != 0, axis=1))
    ax.plot(np.full(len(kept), n_targets), kept, "_", color="black")
    ax.set_title(f"{name}\n{len(kept)} of {n_features} features")
    ax.set_xlabel("target")
axes[0].set_ylabel("feature")
figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
