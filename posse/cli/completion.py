"""`posse completion`: a script for shell completion, made by shtab."""

import argparse
from pathlib import Path

import shtab

from posse.cli import listing
from posse.cli.main import parser
from posse.cli.parser import Parser
from posse.papers import experiments


def add(own: Parser) -> None:
    shells = ("bash", "zsh", "fish", "tcsh", "powershell")
    own.option("shell", "shell for which to print it", choices=shells)


def run(options: argparse.Namespace) -> None:
    whole = parser()
    commands = next(a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            if (name, action.dest) == ("list", "what"):
                action.choices = listing.names()
            if (name, action.dest) == ("paper", "names"):
                action.choices = list(experiments())
    print(shtab.complete(whole, shell=options.shell))
