"""
Hundreds of labels at once
==========================

A text may have any number of labels.  One pass over the texts trains all labels, from a sparse
matrix with a column per label.  The weights of a label equal those of a separate fit.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score

from lazynet import LazyNetClassifier

# %%
# The texts
# ---------
# 300 labels, few of them frequent and most of them rare.  A text has thirty words of any kind, and
# three more for each of its labels, out of eight words that indicate the label.  One label in ten
# is missing.

rng = np.random.default_rng(0)
n_texts, n_words, n_labels = 12_000, 10_000, 300
truth = rng.random((n_texts, n_labels)) < 0.4 / np.arange(1, n_labels + 1) ** 0.9
texts, labels = np.nonzero(truth)
speak_for = rng.integers(n_words, size=(n_labels, 8))
speak = speak_for[labels[:, None], rng.integers(8, size=(len(labels), 3))]
any_words = (n_words ** rng.random((n_texts, 30))).astype(int)
words = np.concatenate([any_words.ravel(), speak.ravel()])
rows = np.concatenate([np.repeat(np.arange(n_texts), 30), np.repeat(texts, 3)])
X = sparse.csr_array((np.ones(len(words)), (rows, words)), shape=(n_texts, n_words))
Y = sparse.csr_array(truth & (rng.random(truth.shape) < 0.9), dtype=np.int8)
X_train, X_test, Y_train, Y_test = X[:8_000], X[8_000:], Y[:8_000], Y[8_000:]
print(f"{Y.shape[1]} labels, {Y.nnz / n_texts:.1f} for a text")

# %%
# One pass over the texts for all labels
# --------------------------------------
# ``predict`` gives a sparse matrix with the labels of each text, and ``predict_top`` the labels
# with the highest scores.

options = dict(rule="fobos", l1=1e-4, tol=None, random_state=0)
model = LazyNetClassifier(**options, max_iter=10).fit(X_train, Y_train)
found = model.predict(X_test)
print(f"micro-F1 {f1_score(Y_test, found, average='micro'):.3f}")
top, scores = model.predict_top(X_test, 3)
for text in np.flatnonzero(Y_test.sum(axis=1) == 2)[:3]:
    print(f"text {text}: labels {Y_test[[text]].indices.tolist()}, best three {top[text].tolist()}")

# %%
# Accuracy of the labels
# ----------------------
# A label that few texts have is hard to learn.  Because one label in ten is missing, even a model
# that predicts all true labels predicts some that are not in the matrix: the dashed line is its F1
# over all labels together.

f1 = f1_score(Y_test, found, average=None, zero_division=0)
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.axhline(f1_score(Y.toarray(), truth, average="micro"), color="0.35", linestyle="--")
ax.semilogx(Y_train.sum(axis=0), f1, "o", alpha=0.6)
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.set_ylim(-0.03, 1.03)
ax.set_xlabel("training texts with the label")
ax.set_ylabel("F1 of the label on new texts")
ax.set_title(f"{n_labels} labels: a point is a label")

# %%
# Time
# ----
# One epoch for different numbers of labels: in one fit, and in a fit for each label.  The
# weights are equal, up to rounding.

options = dict(**options, max_iter=1)
numbers = [1, 8, 32, 128]
together, apart = [], []
for n in numbers:
    begun = perf_counter()
    joint = LazyNetClassifier(**options).fit(X_train, Y_train[:, :n])
    together.append(perf_counter() - begun)
    columns = list(Y_train[:, :n].toarray().T)
    begun = perf_counter()
    single = [LazyNetClassifier(**options).fit(X_train, column) for column in columns]
    apart.append(perf_counter() - begun)
distance = abs(joint.coef_ - np.vstack([each.coef_ for each in single])).max()
print(f"all weights of {n} labels differ by less than 1e-12: {distance < 1e-12}")

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.loglog(numbers, apart, "s--", color="#a8481a", label="a fit for each label")
ax.loglog(numbers, together, "o-", color="#0b3c6f", label="one fit for all labels")
ends = dict(xy=(n, together[-1]), xytext=(n, apart[-1]))
ax.annotate("", **ends, arrowprops=dict(arrowstyle="->", shrinkA=6, shrinkB=6))
ratio = apart[-1] / together[-1]
ax.text(0.93 * n, together[-1] * ratio**0.35, f"{ratio:.1f} times", ha="right", va="center")
ax.set_xticks(numbers, labels=numbers)
ax.minorticks_off()
ax.yaxis.set_major_formatter("{x:g}")
ax.set_xlabel("labels")
ax.set_ylabel("seconds for one epoch")
ax.legend()
