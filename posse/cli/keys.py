"""`posse keys`: key pairs for a coordinator and its agents."""

import argparse
from pathlib import Path

from posse.cli.options import Commands, count


def add(commands: Commands) -> None:
    """The verb and its options."""
    parser = commands.add_parser("keys", help="make key pairs for a coordinator and its agents")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to; adds what is missing")
    parser.add_argument("--agents", type=count, required=True, metavar="N", help="how many agents")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Make what is missing, and say who needs which."""
    from posse.security import keys

    made = keys.create(options.folder, options.agents)
    print(
        f"{made} key pairs made in {options.folder}.\n"
        f"The coordinator's machine needs coordinator.key_secret and {keys.ALLOWLIST}; an agent's "
        "needs agent-RANK.key_secret and coordinator.key."
    )
