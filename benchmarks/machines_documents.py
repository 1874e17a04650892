"""Generated documents with labels, for the study ``machines``."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from paper_repro.documents import medline
from paper_repro.study import Settings

#: The words that speak for each label; the share of their documents that the label is missing in.
WORDS, MISSING = 6, 0.1
#: The shares of the documents between which a word must occur to speak for a label.
RARE, FREQUENT = 5e-4, 5e-3
#: Examples of the settings to a document of this study.
EXAMPLES_OF_A_DOCUMENT = 50
#: Documents that there are at least.
_FEWEST_DOCUMENTS = 40


def documents(settings: Settings, n_labels: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Documents of the corpus, and a column of 0 and 1 per label.

    A label belongs to the documents in which one of its words occurs, but for some of them.
    """
    n_documents = max(settings.examples // EXAMPLES_OF_A_DOCUMENT, _FEWEST_DOCUMENTS)
    X = medline(n_documents, settings.features, settings.nonzeros, seed=settings.seed).X
    generator = np.random.default_rng(settings.seed)
    shares = np.bincount(X.indices, minlength=X.shape[1]) / n_documents
    usual = np.flatnonzero((shares >= RARE) & (shares <= FREQUENT))
    if len(usual) < n_labels:  # few documents, or few words
        usual = np.flatnonzero(shares)
    words = generator.choice(usual, n_labels * WORDS)
    speaks = (np.ones(len(words)), (words, np.repeat(np.arange(n_labels), WORDS)))
    Y = X @ sparse.csr_matrix(speaks, shape=(X.shape[1], n_labels))
    Y.data[:] = generator.random(Y.nnz) >= MISSING
    Y.eliminate_zeros()
    return X, sparse.csr_matrix(Y, dtype=np.int8)
