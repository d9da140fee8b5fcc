"""The command; `command.py` has its options."""

import sys

from ..start import start

sys.exit(start(__package__))
