"""A fuzzer of lazynet: inputs that nobody would write, each made from one number.

python -m tests.safe.fuzz SECONDS        from the root of the repository, the package beside it
cd tests && python -m safe.fuzz SECONDS  the package that is installed
"""
