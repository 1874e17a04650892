"""Every algorithm in plain Python: slow on purpose, and easy to compare with its paper.

This package imports only the standard library, no compiled code and no other module of lazynet.
Functions without square roots, exponentials or logarithms take floats and exact fractions.  A
``Dense...`` class applies the algorithm of the paper to every weight at every step, and the tests
compare the compiled code with it.  A ``Plain...`` class is a lazy form: a step visits only the
features of its example.

The constructor is ``Class(n_features, *, loss, l1, l2, fit_intercept, epsilon, ...)``, with the
parameters of the rule at the end.  An object has ``step(indices, values, target, importance=1)``,
where ``importance`` is a factor of the loss of the example, ``weights``, ``intercept`` and the step
count ``t``.  If the algorithm does not have a penalty, its strength must be 0.
The constructors of ``DenseDualAscent`` and ``DenseNewton`` take all examples: ``step(i)`` of the
first visits example i, and ``step(W)`` of the second all examples.

>>> dense = DenseRDA(2, loss="squared_error", gamma=2.0)
>>> dense.step([0], [1.0], target=4.0)
0.0
>>> dense.weights, dense.intercept, dense.t
([2.0, 0.0], 0.0, 1)

- ``lazynet.reference.losses``: value, slope, conjugate and best dual variable of every loss
- ``lazynet.reference.learner``: the base of the learners; mean sizes; standardized features
- ``lazynet.reference.affine``: SGD and FoBoS as the papers describe them
- ``lazynet.reference.closed_forms``: the composition of missed shrinks; also as the papers misprint
  it
- ``lazynet.reference.storage``: their lazy forms: the clock, with one number per weight and two
  scalars; Lipton & Elkan's tables, with one entry per step
- ``lazynet.reference.averages``: averages of all iterates, summed densely and lazily on the clock
- ``lazynet.reference.from_data``: SGD and FoBoS with rates that are computed from the rows
- ``lazynet.reference.outputs``: classes with the softmax as their common loss; FoBoS with a penalty
  on rows of weights
- ``lazynet.reference.truncated_gradient``: gravity every ``period`` steps, up to a threshold
- ``lazynet.reference.rda``: regularised dual averaging
- ``lazynet.reference.ftrl``: FTRL-Proximal
- ``lazynet.reference.adagrad``: AdaGrad with an elastic net, dense and lazy
- ``lazynet.reference.saga``: SAGA with an elastic net, on the numbered rows of a dataset
- ``lazynet.reference.carpenter``: Carpenter's scheme, which is inexact
- ``lazynet.reference.dekel``: Dekel's SGD with averaged and with centered predictors
- ``lazynet.reference.embeddings``: penalties of all rows of a table, for ``lazynet.torch``
- ``lazynet.reference.stabilised``: Ma & Zheng's stabilised truncated SGD
- ``lazynet.reference.dual``: dual coordinate ascent to the minimum, with a certificate
- ``lazynet.reference.newton``: Newton steps to the minimum, on a working set
"""

from lazynet.reference.adagrad import DenseAdaGrad, PlainAdaGrad
from lazynet.reference.affine import DenseReference
from lazynet.reference.averages import DenseAverage, PlainAverage
from lazynet.reference.carpenter import PlainCarpenter
from lazynet.reference.dekel import DenseDekel, PlainDekel
from lazynet.reference.dual import DenseDualAscent
from lazynet.reference.from_data import DenseFromData
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.newton import DenseNewton
from lazynet.reference.outputs import DenseGroups, DenseSoftmax
from lazynet.reference.rda import DenseRDA
from lazynet.reference.saga import DenseSAGA
from lazynet.reference.stabilised import DenseStabilised
from lazynet.reference.storage import PlainClock, PlainTables
from lazynet.reference.truncated_gradient import DenseTruncatedGradient

__all__ = [
    "DenseAdaGrad",
    "DenseAverage",
    "DenseDekel",
    "DenseDualAscent",
    "DenseFTRL",
    "DenseFromData",
    "DenseGroups",
    "DenseNewton",
    "DenseRDA",
    "DenseReference",
    "DenseSAGA",
    "DenseSoftmax",
    "DenseStabilised",
    "DenseTruncatedGradient",
    "PlainAdaGrad",
    "PlainAverage",
    "PlainCarpenter",
    "PlainClock",
    "PlainDekel",
    "PlainTables",
]
