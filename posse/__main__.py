"""The command line: `posse`, or `python -m posse`."""

import sys

from posse.cli import streams


def main() -> int:
    """Run the command line; signals end it cleanly even while it still loads."""
    streams.leave_on_signals()
    from posse.cli import main as whole  # noqa: PLC0415  (it takes long)

    return whole.main()


if __name__ == "__main__":
    sys.exit(main())
