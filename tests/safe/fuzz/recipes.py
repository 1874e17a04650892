"""Sound arguments for every function, class and method of the kernels.

``DRAWN`` says how an argument is drawn, by its name, and where the name alone does not say what is
meant by the module, class or function before it.  A test fails if a kernel offers what has none.
"""

import inspect

import numpy as np

from lazynet.kernels import dekel, many_outputs, moments, one_output, table
from lazynet.kernels.columns import Columns
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.examples import SIZE_KINDS, Examples
from lazynet.kernels.gram import Gram
from lazynet.kernels.many_outputs import OutputBlock
from lazynet.kernels.newton import NewtonColumns
from lazynet.kernels.steps import AVERAGE_FIELDS, Average, OutputTargets, Steps, Task
from lazynet.kernels.working_set import WorkingSet
from lazynet.losses import get_loss
from lazynet.schedules import FromData
from lazynet.training.tuning import tuning_of
from safe.fuzz.offered import (
    CLASSES,
    CLOCKS,
    FORMS,
    FUNCTIONS,
    KINDS,
    PLAIN,
    RULES,
    RUNS,
    WIDE_KINDS,
    Sizes,
    signature_of,
)


class Parts(Sizes):
    """Draws the arguments of the kernels."""

    #: the examples of compact rows whose values stay where they are
    in_place = None

    def made(self, kind):
        """An object of this class."""
        made = kind(**self.arguments_of(kind))
        if kind is Average:
            made.begin()
        elif kind in (Examples, CompactRows):
            made.at_level(self.below(-1, 4))
        elif issubclass(kind, Columns):
            made.fill()
        return made

    def arguments_of(self, kind):
        """What the constructor of a class takes, of any variant."""
        if kind is OutputTargets:
            return self.target_arguments()
        variant, self.kind = self.kind, ""
        module = kind.__module__.removeprefix("lazynet.kernels.")
        given = self.arguments(f"{module}.{kind.__name__}", CLASSES[kind].split())
        self.kind = variant
        return given

    def arguments(self, function, names):
        """Arguments of these names, drawn one after the other."""
        found = {}
        for name in names:
            owner, key = function, f"{function}.{name}"
            while key not in DRAWN and owner:
                owner = owner.rpartition(".")[0]
                key = f"{owner}.{name}" if owner else name
            found[name] = DRAWN[key](self)
        return found

    # --- arguments that belong together: the first one that is drawn decides ---

    def values(self):
        index = self.one_of(np.int32, np.int64)
        filled = self.random.random((self.n, self.d)) < 0.5
        self._columns = np.nonzero(filled)[1].astype(index)
        self._starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(index)
        numbers = self.random.standard_normal(len(self._columns))
        return self.place(numbers.astype(self.one_of(np.float32, np.float64)))

    def order(self):
        """Rows to visit; the scalars of their steps are as many."""
        self.n_scalars = self.k
        return self.integers(self.random.integers(0, self.n, self.k))

    def room(self, least, most):
        self.size = self.below(least, most)
        return self.size

    def copied_rows(self):
        """Compact rows that are copied."""
        rows = self.made(CompactRows)
        examples = self.in_place or self.made(Examples)
        rows.copy(examples, **self.arguments("compact.CompactRows.copy", ["places", "counts"]))
        return rows

    def room_for_rows(self):
        """How many values the rows may have; the values of these examples if they stay in place."""
        examples = self.one_of(None, self.made(Examples))
        self.in_place = examples if examples is not None and examples.has_wide_values else None
        return self.n * self.d if self.in_place is None else self.in_place.n_values

    def places(self):
        """The number that each column is to have, or -1."""
        if self.in_place or self.flag():
            return self.integers(np.arange(self.d, dtype=np.int32))
        return self.integers(self.random.integers(-1, self.d, self.d).astype(np.int32))

    def working_set(self):
        """A working set with a model of some columns."""
        columns, start = self.made(NewtonColumns), "working_set.WorkingSet.start"
        columns.join(self.new_features())
        columns.start(**self.arguments(start, signature_of(start)[1:]))
        columns.model(0.0)
        return columns

    def new_features(self, kind=np.int64):
        return self.place(np.flatnonzero(self.random.random(self.d) < 0.5).astype(kind))

    def chosen_features(self):
        """The features of a Gram matrix, some of which are heads."""
        features = self.new_features(np.int32)
        self.size = len(features)
        return features

    def block_kind(self):
        run = {"with an average": "averaged clock"}.get(self.kind, self.kind)
        wide_kind = run if run in WIDE_KINDS else "clock" if run in RUNS else None
        self.of_block = wide_kind or str(self.one_of(*WIDE_KINDS))
        self.narrow &= self.of_block != "averaged clock"
        return self.of_block

    def block_cells(self):
        shape = self.d, self.width * many_outputs.numbers(self.of_block)
        numbers = self.random.uniform(0.0, 2.0, shape) * self.below(0, 2)
        return self.place(numbers.astype(np.float32 if self.narrow else np.float64))

    def block(self, *kinds):
        """A block of the variant of the function, or of one of these kinds."""
        if kinds:
            self.kind = str(self.one_of(*kinds))
        block = OutputBlock(
            **self.arguments("many_outputs.OutputBlock", CLASSES[OutputBlock].split())
        )
        block.at_level(self.below(-1, 4))
        return block

    def target_arguments(self, form=""):
        """The arguments of ``OutputTargets``; some labels lie outside the outputs of the block."""
        form, first = form or self.one_of(*FORMS), self.below(0, 3)
        stop = first + self.n_outputs
        given = dict(first=first, n_outputs=self.n_outputs)
        if form == "labels":
            given["labels"] = self.integers(self.random.integers(-1, stop + 1, self.n))
        elif form == "several labels":
            lengths = self.random.integers(0, 4, self.n)
            starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            given["starts"] = self.integers(starts)
            given["labels"] = self.integers(self.random.integers(0, stop + 1, starts[-1]))
        else:
            given["numbers"] = self.signs(self.n, stop if form == "numbers" else 1)
        return given

    def targets(self):
        """Targets for a softmax, which takes labels, or for any other loss."""
        self.softmax = self.flag() and self.kind != "of rates from the rows"
        return OutputTargets(**self.target_arguments("labels" if self.softmax else ""))

    def own_steps(self):
        """Rates and shrinks that differ from output to output; all may have one rate."""
        shape = self.k, self.one_of(1, self.width)
        return (
            self.reals(*shape, least=0.0), self.full(shape, 0.99), self.full(shape),
            self.full((self.k, self.width), 0.01),
        )  # fmt: skip

    def constants_of_outputs(self):
        """Settings of every output, whose rates follow the rows or do not."""
        if self.of_block not in RULES:
            return None
        names = table.RULES[self.of_block].constants
        settings = self.random.uniform(0.01, 2.0, (self.width, len(names)))
        if self.flag():  # these settings say that the rates follow the rows
            follow = [name == "follows" or name.startswith("free") for name in names]
            settings[:, follow] = 0.0
        return self.place(settings)

    def fields_of_outputs(self):
        if self.of_block not in RULES:
            return None
        shape = self.width, len(table.RULES[self.of_block].fields)
        return self.full(shape, self.one_of(0.0, 5.0))

    def clocks(self):
        """Clocks at their start: one for all outputs, or one for each."""
        named, free = self.kind in RUNS, self.of_block == "clock" and self.flag()
        differs = self.kind in RUNS[1:3] if named else free
        rows = np.zeros((many_outputs.CLOCK_ROWS, self.width if differs else 1))
        rows[0] = 1.0
        return self.place(rows)

    def cell_fields(self):
        # A clock has a scale, which is positive.
        least = 1.0 if self.kind in ("tables", *CLOCKS) else 0.0
        return self.full(len(table.RULES[self.kind].fields), self.one_of(least, 5.0))

    def cells(self):
        """Cells of a kind, which nothing has been learned by or something has."""
        shape = self.d, table.RULES[self.kind].numbers
        return self.full(shape) if self.flag() else self.reals(*shape, least=0.0)

    def memory(self):
        """What a kind of cells keeps beside them."""
        if self.kind in CLOCKS:
            return self.full(one_output.RATE_FIELDS)
        if self.kind == "tables":
            return self.full(2 * self.below(7, 30), 1.0)
        return self.reals(self.n) if self.kind == "saga" else None

    def task(self):
        """A task; of runs whose rates follow the rows, one that computes them."""
        tuned = self.kind == "of rates from the rows" or (self.kind in CLOCKS and self.flag())
        given = self.arguments("steps.Task", CLASSES[Task].split())
        if self.kind == "groups":  # rows of weights shrink after the gradient
            given["shrink_first"] = False
        return self.tuned(given) if tuned else Task(**given)

    def tuned(self, given):
        loss = get_loss(self.one_of("hinge", "log_loss", "squared_error", "huber"))
        tuning = tuning_of(FromData(), loss, 0.01, 0.0, np.inf, self.flag())
        return Task(**{**given, "loss": loss.code, "epsilon": loss.epsilon}, tuning=tuning)

    def means(self):
        """Means of columns, some of them 0."""
        self._means = self.reals(self.d) * (self.random.random(self.d) < 0.5)
        return self.place(self._means)

    def starts_in_units(self):
        """Where rows begin that have a value for every column with a mean."""
        rows = np.repeat(np.arange(self.n), np.diff(self._starts))
        stay = np.bincount(rows[self._means[self._columns] == 0.0], minlength=self.n)
        lengths = stay + np.count_nonzero(self._means)
        self._length = int(lengths.sum())
        return self.integers(np.append(0, np.cumsum(lengths)).astype(np.int64))

    def nu(self):
        self.smoothed = self.flag()
        return 0.5 if self.smoothed else 0.0


#: How an argument is drawn.
DRAWN = {
    **PLAIN,
    # objects of the kernels
    "examples": lambda p: p.made(Examples), "steps": lambda p: p.made(Steps),
    "task": lambda p: p.made(Task), "many_outputs.run.task": Parts.task,
    "one_output.task": Parts.task,
    "average": lambda p: p.made(Average),
    "one_output.average": lambda p: p.made(Average) if p.kind == "averaged clock" else None,
    "block": Parts.block, "targets": lambda p: p.signs(p.n),
    "many_outputs.run.targets": Parts.targets,
    "many_outputs.read.block": lambda p: p.block("clock", "groups", *RULES),
    "many_outputs.sweep.block": lambda p: p.block("clock", "groups", "adagrad"),
    "examples.Examples.self": lambda p: p.made(Examples),
    "steps.Steps.self": lambda p: p.made(Steps), "steps.Average.self": lambda p: p.made(Average),
    "many_outputs.OutputBlock.self": lambda p: p.block(*WIDE_KINDS),
    "newton.NewtonColumns.self": Parts.working_set, "columns.Columns.self": Parts.working_set,
    "working_set.WorkingSet.self": Parts.working_set,
    "working_set.WorkingSet.join.self": lambda p: p.made(WorkingSet),
    "compact.CompactRows.self": Parts.copied_rows, "rows": Parts.copied_rows,
    "compact.CompactRows.copy.self": lambda p: p.made(CompactRows),
    "compact.CompactRows.copy_some.self": lambda p: CompactRows(p.k, p.d, p.k * p.d),
    "gram.Gram.self": lambda p: p.made(Gram),
    # an array that is held
    "arrays.name": lambda p: "array", "array": lambda p: p.reals(p.n, p.d),
    "shape": lambda p: (p.n, None), "formats": lambda p: "d", "writes": Parts.flag,
    # rows, steps and their scalars
    "values": Parts.values, "columns": lambda p: p.integers(p._columns),
    "starts": lambda p: p.integers(p._starts), "n_columns": lambda p: p.d,
    "examples.row_sizes": lambda p: p.one_of(p.reals(p.n, least=0.0), *SIZE_KINDS),
    "order": Parts.order,
    "rates": lambda p: p.reals(p.k, least=0.0),
    "keep": lambda p: p.full(p.k, 0.99), "keep_low": lambda p: p.full(p.k),
    "pull": lambda p: p.full(p.k, p.one_of(0.0, 0.01)),
    "steps.Steps.counts": lambda p: p.full(p.k, 1.0),
    "loss": lambda p: p.below(0, 8), "kind": lambda p: p.kind,
    "nu": Parts.nu, "position": lambda p: 1.0, "least": lambda p: 1,
    "held": lambda p: p.reals(p.n if p.smoothed else 0),
    "working_set.features": Parts.new_features,
    "dekel.fields": lambda p: p.full(dekel.N_FIELDS, 1.0),
    "shifts": lambda p: p.full(p.room(1, 30)), "scale_sums": lambda p: p.full(p.size + 1),
    "shift_sums": lambda p: p.full(p.size + 1),
    "dense.run.sums": lambda p: p.full(p.d * p.room(0, 2)),
    "totals": lambda p: p.full(AVERAGE_FIELDS * p.size),
    # compact rows and their Gram matrix
    "compact.CompactRows.n_rows": lambda p: p.n, "n_values": Parts.room_for_rows,
    "compact.CompactRows.values_of": lambda p: p.in_place, "places": Parts.places,
    "gram.features": Parts.chosen_features, "n_heads": lambda p: p.below(0, p.size + 1),
    "gram.Gram.out": lambda p: p.full((p.size + 1, p.size + 1)),
    "hessian": lambda p: p.place(np.eye(p.d) + 0.1),
    "model.of_weights.hessian": lambda p: p.place(np.eye(p.room(0, p.d + 1) + 1) + 0.1),
    "model.of_weights.features": lambda p: p.integers(
        p.random.permutation(p.d)[:p.size].astype(np.int32)),
    "rise": lambda p: 0.1, "moves": Parts.flag,
    "model.slopes": lambda p: p.reals(p.d), "frequencies": lambda p: p.reals(p.d, least=0.0),
    "squared": Parts.flag, "head": lambda p: 0.2, "model.working_set.least": lambda p: 0.5,
    # cells of one output, by their kind; 5 suits counts, rates, sums of squares and an intercept
    "one_output.constants": lambda p: p.reals(len(table.RULES[p.kind].constants), least=0.01),
    "one_output.fields": Parts.cell_fields,
    "one_output.cells": Parts.cells, "memory": Parts.memory,
    # moments of columns, and rows in units
    "moments.cells": lambda p: p.reals(p.d, moments.MOMENTS, least=0.0),
    "moments.add.order": lambda p: p.one_of(None, p.order()),
    "moments.sizes": lambda p: p.reals(p.d, least=0.1), "moments.means": Parts.means,
    "n_rows": lambda p: 3.0, "shared": lambda p: 1.0, "far": lambda p: 10.0,
    "moments.own": Parts.flag, "centred": Parts.flag,
    "moments.refresh.columns": lambda p: p.one_of(None, p.integers(p.random.integers(0, p.d, 3))),
    "n_moved": lambda p: np.count_nonzero(p._means),
    "moved": lambda p: p.integers(np.flatnonzero(p._means)),
    "moments.starts_of_rows.starts": lambda p: p.full(p.n + 1, 0, np.int64),
    "moments.standardised.starts": Parts.starts_in_units,
    "moments.standardised.values": lambda p: p.full(p._length),
    "moments.standardised.columns": lambda p: p.full(
        p._length if p._means.any() else 0, 0, np.int32),
    # several outputs
    "many_outputs.OutputBlock.kind": Parts.block_kind,
    "many_outputs.OutputBlock.cells": Parts.block_cells,
    "width": lambda p: p.width,
    "stamps": lambda p: p.full(p.d) if p.of_block == "adagrad" else None,
    "many_outputs.OutputBlock.constants": Parts.constants_of_outputs,
    "many_outputs.OutputBlock.fields": Parts.fields_of_outputs,
    "many_outputs.OutputBlock.clocks": Parts.clocks,
    "many_outputs.OutputBlock.rates": lambda p: p.full((p.n_outputs, one_output.RATE_FIELDS)),
    "many_outputs.read.out": lambda p: p.reals(p.d, p.n_outputs),
    # Groups and averages only learn.
    "many_outputs.run.learns": lambda p: p.kind in RUNS[3:] or p.flag(),
    "own": lambda p: p.reals(many_outputs.OWN_ROWS, p.width),
    "scalars": lambda p: p.place(np.array([0.0, p.one_of(0.0, 0.0, 1.0, 2.0)])),
    "losses": lambda p: p.full(p.n_outputs), "softmax": lambda p: p.softmax,
    "own_steps": lambda p: p.own_steps() if p.kind == "of own steps" else None,
    "many_outputs.run.average": lambda p: p.made(Average) if p.kind == "with an average" else None,
    "strengths": lambda p: p.place(p.random.uniform(0.0, 0.1, (p.n_outputs, 3)))
        if p.kind == "of rates from the rows" else None,
}  # fmt: skip


def recipe(name, parts):
    """Sound arguments of what has this name; a KeyError where nobody has said what they are."""
    function, _, parts.kind = name.partition(" ")
    if function == "steps.OutputTargets":
        return parts.target_arguments(parts.kind)
    offered = FUNCTIONS[name]
    names = CLASSES[offered].split() if inspect.isclass(offered) else signature_of(name)
    return parts.arguments(function, names)


def names_held(given):
    """Names of the numbers among the settings and fields of a rule, which errors may name."""
    block = given.get("block")
    kind = block.kind if isinstance(block, OutputBlock) else given.get("kind")
    return [*table.RULES[kind].constants, *table.RULES[kind].fields] if str(kind) in KINDS else []


def call(name, given):
    """Call the function with these arguments; a method with its ``self`` among them."""
    if "self" in given:
        rest = {key: value for key, value in given.items() if key != "self"}
        # Bound to the object: through the class, Cython does not look what kind of object it is.
        return getattr(given["self"], name.split(".")[-1])(**rest)
    return FUNCTIONS[name](**given)
