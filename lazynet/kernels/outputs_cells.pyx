"""Several outputs of a rule with a state of its own: RDA, FTRL and AdaGrad.

The rules are those of rules/.  A number of a rule exists once per output, and AdaGrad has one stamp
for the row of a feature: a step touches all of it.  ``settings`` and ``fields`` have a row per
output; their columns are those of a single output (cells.pyx).

Property: see online_outputs.pyx.
"""

from libc.stdlib cimport calloc, free

from .cells cimport AnyRule, _Described, begin_rule, described, end_rule, measures
from .chunk cimport ADAGRAD, DECAYING_ADAGRAD, FTRL, RDA
from .examples cimport FINISHED, Examples, Status, Steps, Task, has_sizes
from .outputs cimport Block, Targets, add_run, check_matrix, check_run
from .outputs_chunk cimport OutputRule, Outputs


cdef class _Rules:
    """The rule of every output as of now; raises where settings or fields cannot be used."""
    cdef AnyRule* rules
    cdef _Described of
    cdef Py_ssize_t width

    def __cinit__(self, Block block, const double[:, ::1] settings, const double[:, ::1] fields):
        cdef Py_ssize_t k
        if block.outputs.kind not in (ADAGRAD, FTRL, RDA):
            raise ValueError(
                f"block must be of the kind of a rule with a state of its own, got {block.kind!r}"
            )
        self.of, self.width = described(block.kind), block.width
        check_matrix("settings", settings, self.width, len(self.of.settings))
        check_matrix("fields", fields, self.width, len(self.of.fields))
        self.rules = <AnyRule*> calloc(<size_t> self.width, sizeof(AnyRule))
        if self.rules == NULL:
            raise MemoryError(f"no memory for the rules of {self.width} outputs")
        for k in range(self.width):
            try:
                begin_rule(&self.rules[k], self.of, &settings[k, 0], &fields[k, 0], True)
            except ValueError as problem:
                raise ValueError(f"output {k}: {problem}") from None

    def __dealloc__(self):
        free(self.rules)

    cdef int place(self, Outputs* at) except -1:
        """Let the run use the rules."""
        cdef Py_ssize_t k
        at.rules = <OutputRule*> self.rules
        if at.kind == ADAGRAD:
            for k in range(self.width):
                if self.rules[k].adagrad.l2 > 0.0:
                    at.kind = DECAYING_ADAGRAD
        return 0

    cdef int save(self, double[:, ::1] fields) except -1:
        """Write the fields as of now."""
        cdef Py_ssize_t k
        for k in range(self.width):
            end_rule(&self.rules[k], self.of, &fields[k, 0])
        return 0


def run_cells(
    Block block,
    Examples examples,
    Targets targets,
    Steps steps,
    Task task,
    double[::1] losses not None,             # IN/OUT: the sums of importance times loss
    Py_ssize_t first,
    const double[:, ::1] settings not None,  # a row per output
    double[:, ::1] fields not None,          # IN/OUT: a row per output
    bint softmax=False,
    bint learns=True,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken.

    Without ``learns`` no step is taken, and the losses are added up.  AdaGrad's weights of the rows
    are brought current, which changes them by rounding alone.
    """
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Status status
    cdef Outputs at = block.outputs
    check_run(block, examples, targets, task, losses, softmax)
    cdef _Rules rules = _Rules(block, settings, fields)
    if learns and measures(rules.of, &rules.rules[0]) and not has_sizes(examples):
        raise ValueError(
            f"examples must have sizes: the rates of {block.kind!r} follow the sizes of the rows"
        )
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    add_run(&at, examples, targets, steps, task, losses, first)
    at.softmax, at.learns = softmax, learns
    rules.place(&at)
    with nogil:
        status = block.loops.walk(&at)
    rules.save(fields)
    return <int> status, at.chunk.step


def read_cells(
    Block block,
    const double[:, ::1] settings not None,
    const double[:, ::1] fields not None,
    double[:, ::1] out not None,  # OUT: a row per feature, a column per output
):
    """The weights of every output as of now."""
    cdef Outputs at = block.outputs
    cdef Py_ssize_t n = out.shape[1]
    cdef bint done
    check_matrix("out", out, at.n_features, n)
    if n > at.width:
        raise ValueError(f"out must have up to {at.width} columns, got {n}")
    cdef _Rules rules = _Rules(block, settings, fields)
    rules.place(&at)
    if at.n_features == 0 or n == 0:
        return
    with nogil:
        done = block.loops.read(&at, &out[0, 0], n)
    if not done:
        raise MemoryError(f"no memory for the weights of {at.width} outputs")


def sweep_adagrad(
    Block block, const double[:, ::1] settings not None, double[:, ::1] fields not None
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef Outputs at = block.outputs
    cdef bint done
    if at.kind != ADAGRAD:
        raise ValueError(f"block must be of the kind 'adagrad', got {block.kind!r}")
    cdef _Rules rules = _Rules(block, settings, fields)
    rules.place(&at)
    with nogil:
        done = block.loops.sweep(&at)
    if not done:
        raise MemoryError(f"no memory for the weights of {at.width} outputs")
    rules.save(fields)
