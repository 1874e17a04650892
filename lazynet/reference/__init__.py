"""What is trusted: every weight at every step, in plain Python.

Deliberately dense, deliberately slow, readable beside the papers, and importing nothing compiled.
The functions work on floats and on exact fractions alike.

``DenseReference``  trains as the papers describe it (``dense``)
``losses``          value and slope of every loss
``shrink``          one shrink of one weight
``closed_forms``    what a gap of missed shrinks amounts to; also as the papers misprint it
``lazy``            the clock and the tables in a page each, for reading and for exact tests
``averages``        the mean of all iterates: summed up, and lazily on the clock
``dekel``           Dekel's SGD with averaged and with centered predictors
``truncated``       truncated gradient: gravity every K steps, up to a threshold
``rda``             regularised dual averaging
``ftrl``            FTRL-Proximal
``adagrad``         AdaGrad with an elastic net, dense and lazy
``carpenter``       Carpenter's scheme, which is inexact
``stabilised``      Ma & Zheng's stabilised truncated SGD
``rescaling``       the classic trick for l2: weights as a scale times a vector
"""

from lazynet.reference.dense import DenseReference
from lazynet.reference.lazy import PlainClock, PlainTables

__all__ = ["DenseReference", "PlainClock", "PlainTables"]
