"""A fuzzer of lazynet's memory: odd matrices and odd calls of kernels, each from one number.

cd tests && python -m safe.fuzz SECONDS
"""
