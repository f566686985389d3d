"""The options for keys; they refuse an address open to other machines without keys."""

import argparse
from pathlib import Path

from posse.cli.options import seconds
from posse.cli.parser import Parser
from posse.errors import InputError
from posse.log import LOG
from posse.security import address as addresses


def add(parser: Parser) -> None:
    parser.option("--keys DIR", "folder of keys, made by posse keys (default: none)", type=Path)
    parser.option(
        "--wait-for-keys SECONDS",
        "longest wait for the folder of keys to appear",
        type=seconds,
        default=0.0,
    )
    parser.option(
        "--insecure",
        "allow an address beyond this machine without keys: anybody who reaches it may join",
    )


def check(option: str, address: str, options: argparse.Namespace) -> None:
    """`InputError` for an invalid address, or one that others can reach without keys."""
    addresses.check(option, address, bind=option != "--join")
    if options.keys and options.insecure:
        raise InputError("--keys and --insecure contradict each other; choose one")
    if not options.keys and not options.insecure and not addresses.is_local(address):
        raise InputError(
            f"other machines can reach {address}, and there are no keys; make them with "
            "posse keys and add --keys DIR, or add --insecure to let anybody who reaches it join"
        )


def warn(options: argparse.Namespace) -> None:
    """Log that there are no keys."""
    if options.keys is None:
        LOG.warning(
            "there are no keys: anybody who reaches this address may join and read everything"
        )
