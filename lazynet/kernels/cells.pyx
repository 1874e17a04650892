"""The rules whose weights are computed from a cell of numbers each: one walking loop for all.

A rule with a state of its own keeps a cell per weight, from which the weight is computed when an
example needs it.  What a kind of cell computes, with its paper and the property that ties it to
the reference, is told in its header in cells/; cell_kind.h says what such a header defines.  The
loop here takes a step as follows, whatever the kind: load the row, compute the prediction from its
cells, move along the example, update the cells of the row, and let the rule count the step.

State is plain arrays of float64: ``cells``, a row per weight; ``fields``, the scalars that change
from step to step; ``settings``, the constants of the rule.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    Visit,
    begin_visits,
    check_cells,
    check_runnable,
    check_vector,
    end_visits,
    move_of,
    visit,
)
from .rows cimport LANES, CellOps, Csr, Room, make_room

cdef extern from "cell_kind.h" nogil:
    ctypedef const char* Name "lazynet_name"

    ctypedef struct Head "lazynet_cell_head":
        double intercept
        Room scratch

    ctypedef struct Refusal "lazynet_refusal":
        const char* message
        double numbers[2]

    ctypedef struct Kind "lazynet_cell_kind":
        const char* name
        Py_ssize_t numbers
        const Name* settings
        const Name* fields
        size_t size
        bint scheduled
        bint updates_always
        bint frozen_intercept
        Py_ssize_t scratch
        Refusal (*refusal)(
            const double* settings, const double* fields, bint running) noexcept nogil
        void (*begin)(void* rule, const double* settings, const double* fields) noexcept nogil
        void (*end)(const void* rule, double* fields) noexcept nogil
        bint (*advance)(
            void* rule, double move, double rate, double pull, double largest_cushion
        ) noexcept nogil
        void (*read)(
            const void* rule, const double* cells, Py_ssize_t n, double* weights) noexcept nogil
        void (*retune)(const void* rule, double* cells, Py_ssize_t n) noexcept nogil

cdef extern from *:
    """
    #include "every_kind.h"

    static const lazynet_cell_kind *const lazynet_kinds[] = {
    #define LAZYNET_ADDRESS_OF(kind) &lazynet_kind_##kind,
        LAZYNET_FOR_KINDS(LAZYNET_ADDRESS_OF)
    #undef LAZYNET_ADDRESS_OF
    };
    enum { LAZYNET_N_KINDS = sizeof lazynet_kinds / sizeof lazynet_kinds[0] };
    """
    const Kind** lazynet_kinds
    Py_ssize_t LAZYNET_N_KINDS


cdef dict NUMBER_OF = {
    lazynet_kinds[i].name.decode(): i for i in range(LAZYNET_N_KINDS)
}


cdef Py_ssize_t number_of(str kind) except -1:
    """Where the kind stands in every_kind.h."""
    if kind not in NUMBER_OF:
        raise ValueError(f"kind must be one of {', '.join(sorted(NUMBER_OF))}, got {kind!r}")
    return NUMBER_OF[kind]


cdef Py_ssize_t count_of(const Name* names) noexcept:
    cdef Py_ssize_t n = 0
    while names[n] != NULL:
        n += 1
    return n


cdef tuple texts_of(const Name* names):
    return tuple([names[n].decode() for n in range(count_of(names))])


def numbers(str kind not None):
    """How many numbers a cell has."""
    return lazynet_kinds[number_of(kind)].numbers


def fields(str kind not None):
    """The names of the scalars that change from step to step, in order."""
    return texts_of(lazynet_kinds[number_of(kind)].fields)


def settings(str kind not None):
    """The names of the constants of the rule, in order."""
    return texts_of(lazynet_kinds[number_of(kind)].settings)


cdef Head* rule_of(
    const Kind* kind, const double[::1] constants, const double[::1] scalars, bint running
) except NULL:
    """The rule as of now, to be freed; raises where its settings or fields cannot be used."""
    cdef Refusal refusal
    cdef Head* rule
    check_vector("settings", constants, count_of(kind.settings))
    check_vector("fields", scalars, count_of(kind.fields))
    refusal = kind.refusal(&constants[0], &scalars[0], running)
    if refusal.message != NULL:
        message = refusal.message.decode()
        raise ValueError(message.format(refusal.numbers[0], refusal.numbers[1]))
    rule = <Head*> calloc(1, kind.size)
    if rule == NULL:
        raise MemoryError("no memory for the numbers of the rule")
    kind.begin(rule, &constants[0], &scalars[0])
    return rule


def run(
    str kind not None,
    Examples examples,
    Steps steps,
    Task task,
    const double[::1] settings not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Py_ssize_t number = number_of(kind)
    cdef const Kind* of = lazynet_kinds[number]
    cdef Csr* csr = &examples.csr
    cdef const CellOps* ops = &examples.ops.cells[number]
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef double prediction, move
    cdef bint adds_intercept = task.fit_intercept or of.frozen_intercept
    cdef Head* rule
    check_cells(cells, csr.n_columns, of.numbers)
    check_runnable(examples, task.loss)
    rule = rule_of(of, settings, fields, True)
    if not 0 <= first < n_steps:
        free(rule)
        return <int> FINISHED, n_steps
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    cdef const int64_t* order = &steps.order[0]
    with nogil:
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if of.scratch > 0 and not make_room(
                &rule.scratch, of.scratch * (at.now.length + LANES) * sizeof(double)
            ):
                status = OUT_OF_MEMORY
                break
            prediction = ops.dot(&at.now, &at.following, cell, rule)
            if adds_intercept:
                prediction += rule.intercept
            move = move_of(
                examples, task, at.number, prediction, steps.rates[step] if of.scheduled else 1.0
            )
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            if move != 0.0 or of.updates_always:
                ops.update(csr, &at.now, at.ahead, cell, rule, move)
            touched += at.now.length
            step += 1
            if of.advance(
                rule,
                move if task.fit_intercept else 0.0,
                steps.rates[step - 1],
                steps.pull[step - 1],
                task.wear.largest_cushion,
            ):
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        of.end(rule, &fields[0])
        free(rule.scratch.bytes)
        free(rule)
    return <int> status, step


def read(
    str kind not None,
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    const double[::1] settings not None,
    double[::1] weights not None,  # OUT
):
    """weights <- the weights as of now."""
    cdef const Kind* of = lazynet_kinds[number_of(kind)]
    cdef Head* rule
    check_cells(cells, cells.shape[0], of.numbers)
    check_vector("weights", weights, cells.shape[0])
    rule = rule_of(of, settings, fields, False)
    with nogil:
        if cells.shape[0]:
            of.read(rule, &cells[0, 0], cells.shape[0], &weights[0])
        free(rule)


def intercept(
    str kind not None, const double[::1] fields not None, const double[::1] settings not None
):
    """The intercept as of now."""
    cdef Head* rule = rule_of(lazynet_kinds[number_of(kind)], settings, fields, False)
    cdef double now = rule.intercept
    free(rule)
    return now


def retune(
    str kind not None,
    double[:, ::1] cells not None,  # IN/OUT
    const double[::1] fields not None,
    const double[::1] settings not None,
):
    """Recompute what every cell caches of the settings."""
    cdef const Kind* of = lazynet_kinds[number_of(kind)]
    cdef Head* rule
    check_cells(cells, cells.shape[0], of.numbers)
    rule = rule_of(of, settings, fields, False)
    with nogil:
        if cells.shape[0] and of.retune != NULL:
            of.retune(rule, &cells[0, 0], cells.shape[0])
        free(rule)
