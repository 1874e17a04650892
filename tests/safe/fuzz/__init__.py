"""A fuzzer: odd matrices, changes of models and calls of kernels, each from one number.

cd tests && python -m safe.fuzz SECONDS
"""
