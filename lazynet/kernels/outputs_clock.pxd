# The clocks of several outputs, as the loops over outputs read them; see outputs_clock.pyx.
from .outputs cimport Block
from .outputs_steps cimport Scratch
from .wide cimport NOW_SHIFT, Clocks

# The rows of the array of clocks.
cdef enum:
    SCALE = 0
    SCALE_LOW = 1
    SHIFT = 2
    SHIFT_LOW = 3
    N_CLOCK_ROWS = 4

# The rows of what every output on the clock keeps for itself.
cdef enum:
    INTERCEPT = 0
    PENDING_MOVE = 1
    INTERCEPT_SUM = 2
    INTERCEPT_SUM_LOW = 3
    N_OWN_ROWS = 4


# Raises unless ``clocks`` has one column or ``width`` of them, and is aligned.
cdef int check_clocks(const double[:, ::1] clocks, Py_ssize_t width) except -1


cdef inline Clocks shown_clocks(
    Scratch* scratch, const Clocks* clock, Py_ssize_t n_clocks
) noexcept nogil:
    """Where the loops over outputs read the clocks: an entry for each output."""
    cdef Clocks shown = clock[0]
    if n_clocks == 1:
        shown.scale, shown.shift = scratch.scales, scratch.numbers + NOW_SHIFT
    return shown


cdef inline void show_clock(Clocks* shown, const Clocks* clock, Block block) noexcept nogil:
    """The one clock of all outputs, as the loops over outputs read it: an entry for each."""
    block.output_ops.fill(shown.scale, clock.scale[0], block.width)
    block.output_ops.fill(shown.shift, clock.shift[0], block.width)
