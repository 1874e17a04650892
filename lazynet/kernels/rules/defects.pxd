# Why the constants and fields of a rule cannot be used; None if they can.
from libc.math cimport INFINITY

from ..from_data cimport most_rows


cdef inline str not_positive(str name, double value):
    """Of a constant that must be positive and finite."""
    return None if 0.0 < value < INFINITY else f"{name} must be positive and finite, got {value}"


cdef inline str negative(str name, double value):
    """Of a constant that must be finite and may be 0."""
    if 0.0 <= value < INFINITY:
        return None
    return f"{name} must be finite and not negative, got {value}"


cdef inline str negative_penalty(double l1, double l2):
    return negative("l1", l1) or negative("l2", l2)


cdef inline str not_a_count(str name, double value):
    """Of a field that counts steps or rows."""
    if 0.0 <= value <= most_rows():
        return None
    return f"fields: {name} must lie between 0 and {most_rows():.0f}, got {value}"


cdef inline str defect_of_mean_size(double rows, double sum_of_sizes, double mean):
    if not (sum_of_sizes >= 0.0 and mean >= 0.0):
        return f"fields: sum_of_sizes and mean must not be negative, got {sum_of_sizes} and {mean}"
    return not_a_count("rows", rows)
