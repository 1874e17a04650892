"""A fuzzer: odd matrices, files, changes of models and calls of kernels, each from one number.

cd tests && python -m safe.fuzz SECONDS
"""
