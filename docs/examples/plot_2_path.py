"""
A path of penalties
===================

The minimum of an l1 problem for decreasing penalties, from the smallest penalty for which all
weights are zero.  Each minimum has a duality gap.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from lazynet import DualNetClassifierCV, net_path, plot_choice, plot_path

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
y = data.target

# %%
# All minima
# ----------

path = net_path(X, y, l1s=40, smallest=1e-3, random_state=0)
print(path)
figure = plot_path(path, feature_names=data.feature_names)

# %%
# Which penalty?
# --------------
# Cross-validation computes the loss on held-out rows.  The one-standard-error rule takes
# the sparsest model that is not clearly worse than the best.  The figure counts the weights as a
# mean over the folds.  The model is then fitted to all rows, and may have a weight more or less.

choice = DualNetClassifierCV(l1s=path.l1s, one_standard_error=True, random_state=0).fit(X, y)
n_features = np.count_nonzero(choice.coef_)
print(f"l1 = {choice.l1_:.4f}, fitted to all rows: {n_features} features")
figure = plot_choice(choice)
