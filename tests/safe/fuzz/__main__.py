"""The command line of the fuzzer: ``python -m tests.safe.fuzz SECONDS``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The package has one name, ``safe.fuzz``, however it is started and under pytest.
    tests = str(Path(__file__).resolve().parents[2])
    if not __package__:
        # Python has put the folder of this file in front, whose modules have common names.
        sys.path[0] = tests
    elif tests not in sys.path:
        sys.path.insert(1, tests)
    from safe.fuzz.command import main

    sys.exit(main())
