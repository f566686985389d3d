"""A hook of the documentation's build: the page of commands is what the command line prints."""

import argparse
import os
from typing import Any

from posse.cli import main as cli

PLACE = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put every command's help where a page asks for it."""
    return markdown.replace(PLACE, _helps()) if PLACE in markdown else markdown


def _helps() -> str:
    os.environ["COLUMNS"] = "80"
    parser = cli.parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return "\n".join(
        f"## posse {name}\n\n```text\n{command.format_help()}```\n"
        for name, command in commands.choices.items()
    )
