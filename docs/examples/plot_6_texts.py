"""
From texts to a sparse model
============================

A pipeline from raw texts to a few words that separate two topics.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from lazynet import DualNetClassifier

# %%
# Texts
# -----
# Generated texts of thirty words.  Ten words indicate sport and ten science; one label in
# ten is wrong.

rng = np.random.default_rng(0)
numbers = (5_000 ** rng.random((3_000, 30))).astype(int)
texts = [" ".join(f"word{number}" for number in row) for row in numbers]
votes = np.isin(numbers, range(30, 40)).sum(axis=1) - np.isin(numbers, range(40, 50)).sum(axis=1)
topics = np.where((votes > 0) ^ (rng.random(3_000) < 0.1), "sport", "science")

# %%
# The pipeline
# ------------

model = make_pipeline(TfidfVectorizer(sublinear_tf=True), DualNetClassifier(l1=5e-4, l2=0))
model.fit(texts[:2_000], topics[:2_000])
print(f"accuracy {model.score(texts[2_000:], topics[2_000:]):.3f}")

# %%
# The words
# ---------

weights = model[-1].coef_[0]
names = model[0].get_feature_names_out()
ordered = np.argsort(weights)
shown = np.concatenate([ordered[:10], ordered[-10:]])
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.barh(names[shown], weights[shown])
ax.set_xlabel("weight: science on the left, sport on the right")
ax.set_title(f"{np.count_nonzero(weights)} of {weights.size:,} words have a weight")
