"""`posse completion`: a script for shell completion, made by shtab."""

import argparse
from pathlib import Path

import shtab

from posse.cli.main import parser
from posse.cli.parser import Parser


def add(own: Parser) -> None:
    shells = ("bash", "zsh", "fish", "tcsh", "powershell")
    own.option("shell", "shell for which to print it", choices=shells)


def run(options: argparse.Namespace) -> None:
    whole = parser()
    commands = next(a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    for command in commands.choices.values():
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
            if action.dest in command.offered:
                action.choices = command.offered[action.dest]()
    print(shtab.complete(whole, shell=options.shell))
