"""A hook of the documentation's build: the page of commands is what the command line prints."""

import io
from typing import Any

from rich.console import Console

from posse.cli import main as cli

PLACE = "<!-- commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put every command's help where a page asks for it."""
    return markdown.replace(PLACE, _helps()) if PLACE in markdown else markdown


def _helps() -> str:
    whole = cli.whole()
    parts = []
    for verb in [*cli.VERBS, *cli.added_verbs()]:
        console = Console(file=io.StringIO(), width=80)
        whole.meta.help_print([verb], console=console)
        parts.append(f"## posse {verb}\n\n```text\n{console.file.getvalue()}```\n")
    return "\n".join(parts)
