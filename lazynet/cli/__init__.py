"""The command line: ``lazynet train | test | predict | convert``.

``main`` has the table of the subcommands, and turns errors into messages and exit codes.
"""
