# The functions that row_loops.pyx offers at one vector level, by their addresses.
from .rows cimport CopyRow, Csr, OwnRow


cdef struct RowLoops:
    CopyRow copy
    # The sum of x_j^2, or of |x_j|; 0 for a row that cannot be read.
    double (*size)(const Csr* csr, Py_ssize_t number, bint absolutes) noexcept nogil
    # Whether every column is larger than the one before; whether all values are finite.
    bint (*increases)(const OwnRow* row) noexcept nogil
    bint (*is_finite)(const OwnRow* row) noexcept nogil
    # Whether the rows lie one after the other, with rising columns of X and finite values.
    bint (*all_sound)(const Csr* csr) noexcept nogil
    # sum x_j w_j with w = soft(z, shift); a weight has one number, or two.
    double (*dot)(const OwnRow* row, const double* z, double shift) noexcept nogil
    double (*dot_of_pairs)(const OwnRow* row, const double* cells, double shift) noexcept nogil
    # w_j <- w_j + factor x_j, and {a, b}_j <- {a, b}_j + {first, second} x_j
    void (*add)(const OwnRow* row, double* w, double factor) noexcept nogil
    void (*add_pairs)(
        const OwnRow* row, double* cells, double first, double second) noexcept nogil
    # sum x_j w_j and the digits that its rounding lost; {sum, low}_j += (factor + low) x_j
    double (*exact_dot)(const OwnRow* row, const double* w, double* low) noexcept nogil
    void (*exact_add)(
        const OwnRow* row, double* sums, double factor, double factor_low) noexcept nogil
    # The steps of a dense loop over all weights (all_weights.pxd).
    void (*shrink_all)(double* w, Py_ssize_t n, double keep, double pull) noexcept nogil
    double (*full_dot)(const double* w, const double* x, Py_ssize_t n) noexcept nogil
    void (*full_move)(double* w, const double* x, Py_ssize_t n, double move) noexcept nogil
    # sum |w|; log(1 + exp(-p y)) of many predictions
    double (*absolute_sum)(const double* w, Py_ssize_t n) noexcept nogil
    void (*log_losses)(
        const double* predictions, const double* targets, double* losses,
        Py_ssize_t n) noexcept nogil
    # ... with both derivatives
    void (*log_derivatives)(
        const double* predictions, const double* targets, double* losses, double* slopes,
        double* curvatures, Py_ssize_t n) noexcept nogil
    # Conjugates of the log loss: m log m + (1 - m) log(1 - m), and the sum of their magnitudes.
    void (*entropies)(
        const double* shares, double* terms, double* sizes, Py_ssize_t n) noexcept nogil
    # sums += block' block of n rows of floats; sums += factor row; both in panels (gram.pyx)
    void (*add_products)(
        const float* block, Py_ssize_t n, Py_ssize_t room, Py_ssize_t width,
        float* sums) noexcept nogil
    void (*add_panels)(
        float* sums, const float* row, Py_ssize_t stride, float factor, Py_ssize_t n) noexcept nogil
