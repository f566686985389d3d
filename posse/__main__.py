"""`python -m posse` is the command line."""

import sys

from posse.cli import main

sys.exit(main())
