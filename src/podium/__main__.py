"""`python -m podium` is the command `podium`."""

import sys

from podium.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
