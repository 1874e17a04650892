"""The distance between two models, and what a reference asks for beside an example."""

import numpy as np


def numbered(rule, row):
    """The argument that tells a reference which row of the dataset an example is, if it asks."""
    return {} if rule.streams else dict(row=int(row))


def apart(found, expected):
    """The greatest difference, by 1 + the largest number."""
    expected = np.asarray(expected, dtype=float)
    return np.abs(found - expected).max(initial=0.0) / (1.0 + np.abs(expected).max(initial=0.0))
