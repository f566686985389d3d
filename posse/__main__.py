"""`posse`, or `python -m posse`, is the command line."""

import sys

from posse.cli import streams


def main() -> int:
    """The command line, which may be interrupted while it loads, too."""
    streams.leave_on_signals()
    from posse.cli import main as whole  # noqa: PLC0415  (it takes long)

    return whole.main()


if __name__ == "__main__":
    sys.exit(main())
