"""The command line of the fuzzer: ``python -m safe.fuzz SECONDS``, in the folder ``tests``."""

import sys

from safe.fuzz.command import main

if __name__ == "__main__":
    sys.exit(main())
