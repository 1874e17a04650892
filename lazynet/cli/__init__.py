"""The command line: ``lazynet train | test | predict | convert``.

``main`` reads the arguments and turns errors into messages and exit codes; each subcommand is a
module with ``add``, which describes its options, and ``run``.
"""
