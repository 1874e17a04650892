"""What the kernels offer, by name, and the sizes of a small problem for it."""

import importlib
import inspect
import pkgutil

import numpy as np

import lazynet.kernels
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.kernels import dual, many_outputs, stabilised, table
from lazynet.kernels.arrays import Held
from lazynet.kernels.columns import Columns
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import Examples
from lazynet.kernels.gram import Gram
from lazynet.kernels.many_outputs import OutputBlock
from lazynet.kernels.newton import NewtonColumns
from lazynet.kernels.steps import AVERAGE_FIELDS, Average, OutputTargets, Steps, Task
from lazynet.kernels.working_set import WorkingSet
from safe.fuzz.disguises import with_an_odd_entry

ENGINES = [row for row in ALGORITHMS.values() if row.engine is not None]
#: The clocks of one output, and every kind of cell that an engine has.
CLOCKS = ("clock", "averaged clock")
KINDS = sorted([*CLOCKS, "tables", *(row.engine.kind for row in ENGINES)])
#: The kinds of cells of several outputs: those of rules with cells of their own, and all.
RULES = tuple(name for name, row in table.RULES.items() if row.lanes and not row.on_clock)
WIDE_KINDS = ("clock", "averaged clock", "groups", *RULES)
#: The forms of targets, and where the rates and shrinks of a run on the clock come from.
FORMS = ("labels", "several labels", "numbers", "shared")
RUNS = ("of shared steps", "of own steps", "of rates from the rows", "with an average", "groups")
#: Functions and classes that are listed once for each of several variants.
VARIANTS = {
    "one_output.sweep": ("adagrad",), "one_output.retune": ("adagrad",),
    "many_outputs.numbers": WIDE_KINDS, "many_outputs.OutputBlock": WIDE_KINDS,
    "steps.OutputTargets": FORMS, "many_outputs.run": (*RULES, *RUNS),
}  # fmt: skip
#: The arguments of the classes, which Cython does not tell.
CLASSES = {
    Held: "name array shape formats writes",
    Examples: "values columns starts n_columns targets importances row_sizes",
    Steps: "order rates keep keep_low pull counts predictions",
    Task: "loss epsilon shrink_first fit_intercept smallest_scale cushion largest_cushion "
          "enough_work soft_reach hard_reach",
    Average: "shifts scale_sums shift_sums fields",
    CompactRows: "n_rows n_columns n_values values_of",
    Gram: "rows features n_heads fit_intercept",
    Columns: "rows examples",
    **dict.fromkeys((WorkingSet, NewtonColumns),
                    "rows examples loss epsilon curvature share fit_intercept"),
    OutputTargets: "first n_outputs labels starts numbers",
    OutputBlock: "kind cells width stamps clocks own scalars rates constants fields",
}  # fmt: skip


def kernel_functions():
    """Every function, class and method that the kernels offer, by name.

    A function of several kinds is listed once for every kind, as ``one_output.run rda``, and what
    ``VARIANTS`` names once for every variant.
    """
    found = {}
    for module in pkgutil.iter_modules(lazynet.kernels.__path__):
        # Vector units may be missing on this machine; text is no array, and has tests of its own.
        if "_v" in module.name or module.name in ("text", "table"):
            continue
        kernel = importlib.import_module(f"lazynet.kernels.{module.name}")
        for name, offered in vars(kernel).items():
            of_module = getattr(offered, "__module__", kernel.__name__) == kernel.__name__
            if name.startswith("_") or not of_module or not callable(offered):
                continue
            full, is_class = f"{module.name}.{name}", inspect.isclass(offered)
            several = not is_class and "kind" in inspect.signature(offered).parameters
            variants = VARIANTS.get(full, KINDS if several else ())
            found |= {f"{full} {variant}": offered for variant in variants} or {full: offered}
            for method, function in vars(offered).items() if is_class else ():
                if not method.startswith("_") and callable(function):
                    found[f"{full}.{method}"] = function
    return found


#: Everything that the kernels offer.
FUNCTIONS = kernel_functions()


def signature_of(name):
    """The names of the arguments of a function or method."""
    return list(inspect.signature(FUNCTIONS[name]).parameters)


class Sizes:
    """The sizes of one small problem: ``n`` rows, ``d`` columns, ``k`` steps; draws plain arrays.

    ``place`` lays out an array: fenced, or anywhere.  Of hostile parts, columns, row starts, labels
    and visited rows may lie outside their arrays.
    """

    def __init__(self, random, place=lambda array: array):
        self.random, self.place, self.hostile = random, place, False
        self.resize(9, 20)
        self.d = int(random.choice([1, 2, 5, 9, 33]))
        #: the variant of the function whose arguments are drawn
        self.kind = ""

    def resize(self, most, most_steps=None):
        """Draw all sizes anew."""
        random = self.random
        self.n, self.d = (int(number) for number in random.integers(1, most, 2))
        self.k = int(random.integers(1, most_steps or most))
        # Of blocks of several outputs: how many there are, and whether their weights are float32.
        self.n_outputs, self.narrow = int(random.integers(1, 40)), self.flag()

    def flag(self):
        return bool(self.random.integers(2))

    def one_of(self, *values):
        return values[self.random.integers(len(values))]

    def below(self, least, most):
        return int(self.random.integers(least, most))

    def integers(self, array):
        """Row numbers, columns or row starts; of hostile parts one of them may be any number."""
        if self.hostile and len(array) and self.random.random() < 0.4:
            array, _ = with_an_odd_entry(array, self.random)
        return self.place(array)

    def reals(self, *shape, least=-2.0):
        """Numbers of ordinary size."""
        return self.place(self.random.uniform(least, 2.0, shape))

    def full(self, shape, value=0.0, kind=np.float64):
        return self.place(np.full(shape, value, kind))

    def signs(self, *shape):
        return self.place(self.random.choice([-1.0, 1.0], shape))

    @property
    def width(self):
        """The number of outputs, filled up to whole cache lines."""
        line = many_outputs.LINE_BYTES // (4 if self.narrow else 8)
        return -(-self.n_outputs // line) * line


#: How an argument is drawn that depends on nothing but the sizes.
PLAIN = {
    # numbers
    "intercept_scale": lambda p: p.one_of(0.0, 1.0), "cushion": lambda p: p.one_of(0.0, 1.0),
    "stop": lambda p: p.n, "n_outputs": lambda p: p.n_outputs,
    "smallest_scale": lambda p: 2.0**-500, "largest_cushion": lambda p: 2.0**10,
    "enough_work": lambda p: 16.0 * p.d, "soft_reach": lambda p: 2.0**6,
    "hard_reach": lambda p: 2.0**10, "accuracy": lambda p: 1e-3, "l2": lambda p: p.one_of(0.0, 0.1),
    "gravity": lambda p: p.one_of(0.0, 0.01), "tie": lambda p: 0.01,
    **dict.fromkeys(("first", "start", "row", "step", "level"), lambda p: 0),
    **dict.fromkeys(("l1", "share", "epsilon", "strength"), lambda p: 0.1),
    **dict.fromkeys(("intercept", "shift", "factor", "threshold", "kappa", "old"), lambda p: 0.5),
    **dict.fromkeys(("scale", "new", "extra", "curvature", "jump"), lambda p: 1.0),
    **dict.fromkeys(("theta", "size"), lambda p: 3.0),
    "want": lambda p: 1e-9, "target": lambda p: 0.0, "wrong": lambda p: 0.0,
    "only_range": lambda p: False, "most_sweeps": lambda p: 9,
    **dict.fromkeys(("compensated", "universal", "shrink_first", "fit_intercept", "vectorised",
                     "learns", "by_target", "exactly"), Sizes.flag),
    # arrays with a number for each column, row or step
    **dict.fromkeys(("weights", "out", "sums", "z", "centre", "stored", "vector", "u", "frequency"),
                    lambda p: p.reals(p.d)),
    **dict.fromkeys(("predictions", "duals", "factors", "margins", "slopes", "sums.out",
                     "curvatures", "compact.out", "next_margins", "next_duals",
                     "next_curvatures", "slopes.out"),
                    lambda p: p.reals(p.n)),
    "slopes.totals": lambda p: p.full(6),
    "most": lambda p: p.one_of(1.0, np.inf),
    **dict.fromkeys(("squared_norms", "row_sizes", "sizes", "importances"),
                    lambda p: p.reals(p.n, least=0.0)),
    "steps.Steps.predictions": lambda p: p.reals(p.k),
    "mean": lambda p: p.reals(p.one_of(0, p.d)),
    "features": lambda p: p.integers(p.random.integers(0, p.d, 3)),
    "ratios": lambda p: p.reals(3), "vanished": lambda p: p.full(3, 0, np.uint8),
    "purged": lambda p: p.full(3, 0, np.int64), "counts": lambda p: p.full((p.d, 2), 0, np.int32),
    "informed": lambda p: p.full(p.d + 1, 0, np.int64),
    **dict.fromkeys(("cells", "others", "compact.bounds.sums"), lambda p: p.reals(p.d, 2)),
    "compact.counts": lambda p: p.full(p.d),
    "X": lambda p: p.reals(p.n, p.d),
    "stabilised.fields": lambda p: p.full(stabilised.N_FIELDS),
    "dual.fields": lambda p: p.full(dual.DUAL_FIELDS), "dual.duals": lambda p: p.full(p.n),
    "steps.Average.fields": lambda p: p.full(AVERAGE_FIELDS),
    "dense.run.intercept": lambda p: p.reals(1), "dense_row": lambda p: p.full(p.one_of(0, p.d)),
    **dict.fromkeys(("sums.excess.sums", "sums.add_rows.sums"),
                    lambda p: p.reals(p.d, p.below(1, 3))),
}  # fmt: skip
