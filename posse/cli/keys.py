"""`posse keys`: key pairs; `posse allow` and `posse revoke`: which keys are trusted."""

import argparse
from functools import partial
from pathlib import Path

from posse.cli.options import number, place
from posse.cli.parser import Parser
from posse.protocol.bounds import MOST_AGENTS
from posse.security import keys
from posse.security.keys import COORDINATOR

_rank = partial(number, most=MOST_AGENTS - 1)


def add(parser: Parser) -> None:
    parser.option("folder DIR", "folder for the keys; keys that it has are kept", type=place)
    whose = parser.add_mutually_exclusive_group(required=True)
    parser.option(
        "--rank RANK", "make the key pair of this agent, which runs here", whose, type=_rank
    )
    parser.option("--coordinator", "make the key pair of the coordinator, which runs here", whose)
    parser.option(
        "--agents N",
        "make the key pairs of a coordinator and N agents, each in its own folder",
        whose,
        type=partial(number, least=1, most=MOST_AGENTS),
    )


def add_allow(parser: Parser) -> None:
    parser.option("folder DIR", "key folder of this machine", type=Path)
    parser.option("who WHO", "owner of the key: a rank, or coordinator", type=_party)
    parser.option("public PUBLIC", "public key that posse keys printed on the owner's machine")


def add_revoke(parser: Parser) -> None:
    parser.option("folder DIR", "key folder of this machine", type=Path)
    parser.option("rank RANK", "rank of the agent", type=number)


def _party(text: str) -> str:
    if text == COORDINATOR:
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is {text}; it must be an agent's rank or {COORDINATOR}")
    return str(_rank(text))


def run(options: argparse.Namespace) -> None:
    if options.agents:
        made = keys.create(options.folder, options.agents)
        print(
            f"{made} key pairs made in {options.folder}, in a folder for each party.\n"
            "Give each machine its own folder (coordinator, agent-0, agent-1, …) and no other."
        )
        return
    owner = COORDINATOR if options.coordinator else str(options.rank)
    party = owner if options.coordinator else f"agent-{owner}"
    made = keys.make(options.folder, party)
    public = keys.own(options.folder, party)
    keys.allow(options.folder, owner, public)
    print(
        f"{party}.key_secret {'was made' if made else 'exists already'} in {options.folder}; "
        f"keep it there.\nOn every other machine, run: posse allow DIR {owner} {public}"
    )


def run_allow(options: argparse.Namespace) -> None:
    keys.allow(options.folder, options.who, keys.Public.parse(options.public))
    named = "the coordinator" if options.who == COORDINATOR else f"agent {options.who}"
    print(
        f"{options.folder}: {named} is trusted by this key, by a running coordinator at once, by "
        "agents from their next start on"
    )


def run_revoke(options: argparse.Namespace) -> None:
    keys.revoke(options.folder, options.rank)
    print(
        f"{options.folder}: agent {options.rank} is refused, by a running coordinator within "
        "seconds, by agents from their next start on"
    )
