"""The losses and their slopes over arrays."""

import numpy as np

from .arrays cimport check_aligned
from .losses cimport N_LOSSES, loss_slope, loss_value

LOSS_COUNT = N_LOSSES


def values_and_slopes(
    int loss,
    const double[::1] predictions not None,
    const double[::1] targets not None,
    double epsilon,
):
    """l(p, y) and dl/dp elementwise."""
    if not 0 <= loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {loss}")
    if predictions.shape[0] != targets.shape[0]:
        raise ValueError("predictions and targets must be equally long")
    if predictions.shape[0]:
        check_aligned("predictions", &predictions[0])
        check_aligned("targets", &targets[0])
    cdef Py_ssize_t i
    cdef double[::1] values = np.empty(predictions.shape[0])
    cdef double[::1] slopes = np.empty(predictions.shape[0])
    for i in range(predictions.shape[0]):
        values[i] = loss_value(loss, predictions[i], targets[i], epsilon)
        slopes[i] = loss_slope(loss, predictions[i], targets[i], epsilon)
    return np.asarray(values), np.asarray(slopes)
