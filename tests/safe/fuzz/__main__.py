"""The command line: ``python -m tests.fuzz SECONDS``, or ``python tests/fuzz SECONDS``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The fuzzer has one name, ``fuzz``, however it is started and under pytest.
    tests = str(Path(__file__).resolve().parents[1])
    if not __package__:
        # Python has put the folder of this file in front, whose modules have common names.
        sys.path[0] = tests
    elif tests not in sys.path:
        sys.path.insert(1, tests)
    from fuzz.command import main

    sys.exit(main())
