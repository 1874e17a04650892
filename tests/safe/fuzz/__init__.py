"""A fuzzer of matrices, models and kernels: cd tests && python -m safe.fuzz SECONDS."""
