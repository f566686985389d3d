"""The command line: `posse`, or `python -m posse`."""

import sys

from posse.cli import streams, surroundings


def main() -> int:
    """Run the command line; signals end it cleanly even while it still loads."""
    streams.leave_on_signals()
    if trouble := surroundings.trouble():
        print(f"posse: {trouble}", file=sys.stderr)
        return 1
    from posse.cli import main as whole  # noqa: PLC0415  (it takes long)

    return whole.main()


if __name__ == "__main__":
    sys.exit(main())
