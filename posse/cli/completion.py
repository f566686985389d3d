"""`posse completion`: what a shell needs to complete posse's commands, by shtab."""

import argparse
from pathlib import Path

import shtab

from posse.cli import listing
from posse.papers import experiments


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The shell's script, with files, folders, systems and experiments where they are asked for."""
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            if (name, action.dest) == ("list", "what"):
                action.choices = listing.names()
            if (name, action.dest) == ("paper", "names"):
                action.choices = list(experiments())
    return shtab.complete(parser, shell=shell)
