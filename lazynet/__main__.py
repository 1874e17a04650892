"""``python -m lazynet``: the command line."""

import sys

if __name__ == "__main__":
    from lazynet.cli import main

    sys.exit(main())
