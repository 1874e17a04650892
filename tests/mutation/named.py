"""Faults that this project has had, and faults that its tests had missed, put back."""

from mutation.changes import Mutant, lines_of

#: name: (file, the replacements of the fault)
NAMED = {
    "AdaGrad renews no cell whose weights are zero now": (
        "lazynet/kernels/rules/adagrad.pxd",
        [
            ("    cell[0] = kept[0] * broadcast(factor)\n    cell[2], cell[3] = decay",
             "    if any_nonzero(kept[0]):\n        cell[0] = kept[0] * broadcast(factor)\n"
             "        cell[2], cell[3] = decay"),
        ],
    ),
    "copies of an estimator share engines": (
        "lazynet/estimators/linear.py",
        [("vars(self).keys() & {\"_engines\", \"_generator\", \"_moments\"}", "()")],
    ),
    "copies of an engine share arrays": (
        "lazynet/engines/base.py", [("    __copy__ = copy.deepcopy\n", "")],
    ),
    "copies of a Stepper share engines": (
        "lazynet/training/stepper.py", [("    __copy__ = copy.deepcopy\n", "")],
    ),
    "the first column is that of each file": (
        "lazynet/dask/blocks.py",
        [
            ("future, each, base, self._layout,",
             "future, each, base if each.base is None else each.base, self._layout,"),
            ("return self.n_features + own - base, self.n_labels",
             "return self.n_features, self.n_labels"),
        ],
    ),
    "the first column changes no number of features": (
        "lazynet/dask/blocks.py",
        [("return self.n_features + own - base,", "return self.n_features,")],
    ),
    "archives are read to the end of the first stream": (
        "lazynet/data/files.py",
        [("packed, n_zeros = stream.unused_data or read(), 0", "packed, n_zeros = b\"\", 0")],
    ),
    "what follows a stream in its last block is lost": (
        "lazynet/data/files.py", [("stream.unused_data or read(), 0", "read(), 0")],
    ),
    "a file may change between two passes": (
        "lazynet/data/files.py", [("            raise changed(path)\n", "            pass\n")],
    ),
    "averages of several outputs forget vanished weights once l1 is 0": (
        "lazynet/kernels/many_outputs.pyx",
        [("if not task.has_pull and at.clocks[SHIFT] == 0.0:", "if not task.has_pull:")],
    ),
    "the average of one output forgets vanished weights once l1 is 0": (
        "lazynet/kernels/one_output.pyx",
        [("if not task.has_pull and rule.clock.clock.shift == 0.0:", "if not task.has_pull:")],
    ),
    "other constants without a sweep": (
        "lazynet/engines/cells.py",
        [("            self.sweep()\n            self.constants[:] = constants",
          "            self.constants[:] = constants")],
    ),
    "other constants of AdaGrad without a sweep": (
        "lazynet/engines/adagrad.py",
        [("            return\n        self.sweep()\n        if constants[_FOLLOWS]",
          "            return\n        if constants[_FOLLOWS]")],
    ),
    "other constants of sums of gradients without a sweep": (
        "lazynet/engines/cells.py",
        [("            return\n        self.sweep()\n        weights, intercept",
          "            return\n        weights, intercept")],
    ),
    "given weights of several outputs are rescaled": (
        "lazynet/engines/outputs.py",
        [("self.rates[:, one_output.LOADED_FIELD] = coefficients.any(axis=1)", "pass")],
    ),
    "given weights of one output are rescaled": (
        "lazynet/engines/clock.py",
        [("self.memory[one_output.LOADED_FIELD] = float(coefficients.any())", "pass")],
    ),
    "the shift loses its low digits": (
        "lazynet/kernels/rules/motion.pxd",
        [("    clock.shift_low = error - (clock.shift - total)", "    clock.shift_low = 0.0")],
    ),
    "a weight at the threshold is not pulled": (
        "lazynet/kernels/rules/truncated_gradient.pxd",
        [("where(exceeds(absolute(w), rule.threshold), w, shrunk)",
          "where(exceeds(absolute(w), rule.threshold * (1.0 - 1e-15)), w, shrunk)")],
    ),
    "B of the tables as the first paper prints it": (
        "lazynet/kernels/rules/tables.pxd",
        [("entry[0], entry[1] = rule.next_P, rule.next_B",
          "entry[0], entry[1] = rule.next_P, rule.B + pull / rule.P")],
    ),
    "the eta0 of a stream follows a first chunk of one row": (
        "lazynet/training/fit.py", [("statistics.expect(len(moments.full))", "pass")],
    ),
    "float32 loops have the name of the float64 loops": (
        "lazynet/kernels/examples.pyx",
        [('        import_module(f"lazynet.kernels.{module}")\n', "")],
    ),
    "arrays of a pickle stay in the message": (
        "lazynet/data/arrays.py",
        [('        return np.require(part, requirements=["ALIGNED", "WRITEABLE"])\n',
          "        return part\n")],
    ),
    "a callback that keeps engines keeps those that train": (
        "lazynet/engines/undo.py", [("                state[name] = state[name].copy()",
                                      "                pass")],
    ),
}  # fmt: skip


def named(text_of):
    """The named mutants; ``text_of`` gives the source of a file."""
    found = []
    for name, (file, replacements) in NAMED.items():
        text = changed = text_of(file)
        for old, new in replacements:
            if changed.count(old) != 1:
                raise ValueError(f"{name}: {file} has {changed.count(old)} times {old!r}, not once")
            changed = changed.replace(old, new)
        start = text.index(replacements[0][0])
        line = text.count("\n", 0, start) + 1
        before = lines_of(text, start, start + len(replacements[0][0]))
        found.append(Mutant(file, line, "named", before, name, 0, len(text), changed))
    return found
