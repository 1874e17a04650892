"""What is trusted: every weight at every step, in plain Python.

Deliberately dense, deliberately slow, readable beside the papers, and importing nothing compiled.
The functions work on floats and on exact fractions alike.

- ``lazynet.reference.dense`` trains as the papers describe it
- ``lazynet.reference.losses``: value and slope of every loss
- ``lazynet.reference.shrink``: one shrink of one weight
- ``lazynet.reference.closed_forms``: what a gap of missed shrinks amounts to; also as the papers
  misprint it
- ``lazynet.reference.lazy``: the clock and the tables in a page each, for reading and for exact
  tests
- ``lazynet.reference.averages``: the mean of all iterates, summed up, and lazily on the clock
- ``lazynet.reference.dekel``: Dekel's SGD with averaged and with centered predictors
- ``lazynet.reference.truncated``: truncated gradient, gravity every K steps up to a threshold
- ``lazynet.reference.rda``: regularised dual averaging
- ``lazynet.reference.ftrl``: FTRL-Proximal
- ``lazynet.reference.adagrad``: AdaGrad with an elastic net, dense and lazy
- ``lazynet.reference.carpenter``: Carpenter's scheme, which is inexact
- ``lazynet.reference.stabilised``: Ma & Zheng's stabilised truncated SGD
- ``lazynet.reference.rescaling``: the classic trick for l2, weights as a scale times a vector
"""

from lazynet.reference.dense import DenseReference
from lazynet.reference.lazy import PlainClock, PlainTables

__all__ = ["DenseReference", "PlainClock", "PlainTables"]
