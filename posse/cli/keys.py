"""`posse keys`: key pairs; `posse allow` and `posse revoke`: which keys are trusted."""

import argparse
from pathlib import Path

from posse.cli.options import count, number, place
from posse.security import keys
from posse.security.keys import COORDINATOR
from protocol.control import MOST_AGENTS


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of `posse keys`."""
    parser.add_argument(
        "folder", type=place, metavar="DIR", help="folder for the keys; keys that it has are kept"
    )
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument(
        "--rank",
        type=_rank,
        metavar="RANK",
        help="make the key pair of this agent, which runs here",
    )
    whose.add_argument(
        "--coordinator",
        action="store_true",
        help="make the key pair of the coordinator, which runs here",
    )
    whose.add_argument(
        "--agents",
        type=_agents,
        metavar="N",
        help="make the key pairs of a coordinator and N agents, each in its own folder",
    )


def add_allow(parser: argparse.ArgumentParser) -> None:
    """Add the options of `posse allow`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="key folder of this machine")
    parser.add_argument(
        "who", type=_party, metavar="WHO", help="owner of the key: a rank, or coordinator"
    )
    parser.add_argument(
        "public", metavar="PUBLIC", help="public key that posse keys printed on the owner's machine"
    )


def add_revoke(parser: argparse.ArgumentParser) -> None:
    """Add the options of `posse revoke`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="key folder of this machine")
    parser.add_argument("rank", type=number, metavar="RANK", help="rank of the agent")


def _party(text: str) -> str:
    """Parse a rank, or the coordinator's name."""
    if text == COORDINATOR:
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is {text}; it must be an agent's rank or {COORDINATOR}")
    return str(_rank(text))


def _rank(text: str) -> int:
    """Parse a rank that an agent can have."""
    if (rank := number(text)) >= MOST_AGENTS:
        raise argparse.ArgumentTypeError(f"is {text}; it must be from 0 to {MOST_AGENTS - 1}")
    return rank


def _agents(text: str) -> int:
    """Parse a number of agents that a run can have."""
    if (agents := count(text)) > MOST_AGENTS:
        raise argparse.ArgumentTypeError(f"is {text}; it must be from 1 to {MOST_AGENTS}")
    return agents


def run(options: argparse.Namespace) -> None:
    """Make missing keys, and say who needs which."""
    if options.agents:
        made = keys.create(options.folder, options.agents)
        print(
            f"{made} key pairs made in {options.folder}, in a folder for each party.\n"
            "Give each machine its own folder (coordinator, agent-0, agent-1, …) and no other."
        )
        return
    who = COORDINATOR if options.coordinator else str(options.rank)
    party = who if options.coordinator else f"agent-{who}"
    made = keys.make(options.folder, party)
    public = keys.own(options.folder, party)
    keys.allow(options.folder, who, public)
    print(
        f"{party}.key_secret {'was made' if made else 'exists already'} in {options.folder}; "
        f"keep it there.\nOn every other machine, run: posse allow DIR {who} {public}"
    )


def run_allow(options: argparse.Namespace) -> None:
    """Trust a key from the next start on."""
    keys.allow(options.folder, options.who, keys.Public.parse(options.public))
    named = "the coordinator" if options.who == COORDINATOR else f"agent {options.who}"
    print(f"{options.folder}: {named} is trusted by this key from the next start on")


def run_revoke(options: argparse.Namespace) -> None:
    """Stop trusting a key from the next start on."""
    keys.revoke(options.folder, options.rank)
    print(f"{options.folder}: agent {options.rank} is refused from the next start on")
