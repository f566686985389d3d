"""`python -m posse` is the command line."""

import sys

from posse.cli.main import main

sys.exit(main())
