"""A fuzzer of lazynet: inputs that nobody would write, each made from one number.

python -m tests.fuzz SECONDS        from the root of the repository, the package beside it
cd tests && python -m fuzz SECONDS  the package that is installed
"""
