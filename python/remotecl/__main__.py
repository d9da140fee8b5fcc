"""`python -m remotecl` is the command `remotecl`."""

import sys

from ._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
