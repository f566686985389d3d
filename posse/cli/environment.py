"""Options by the environment, for what starts processes by files: `POSSE_JOIN` is `--join`.

The command line has the last word; of options that may be given several times both count.
"""

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

_RUN_FILE = "file"
"""The argument without an option's name; its variable is the one that agents have for theirs."""

_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


class Parser(argparse.ArgumentParser):
    """A verb's; once `add` was called its options are taken from variables, too."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.variables: dict[str, argparse.Action] = {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As if what the variables say stood before `args`; all must be known."""
        found, rest = super().parse_known_args([*self._given(), *(args or ())], namespace)
        if rest:
            self.error(f"{rest[0]} is not known; {self.prog} --help says what is")
        return found, rest

    def _given(self) -> Iterator[str]:
        for name, action in self.variables.items():
            if text := os.environ.get(name, ""):
                yield from self._arguments(name, text, action)

    def _arguments(self, name: str, text: str, action: argparse.Action) -> Sequence[str]:
        if not action.option_strings:
            return ()
        option = action.option_strings[-1]
        if action.nargs == 0:
            if text.lower() not in _YES + _NO:
                self.error(f"{name}={text}: must be one of {', '.join(_YES + _NO)}")
            return (option,) if text.lower() in _YES else ()
        values = shlex.split(text) if isinstance(action, argparse._AppendAction) else [text]
        try:
            for value in values:
                self._check_value(action, self._get_value(action, value))
        except argparse.ArgumentError as error:
            self.error(f"{name}={text}: {error.message}")
        return [f"{option}={value}" for value in values]


def add(parser: Parser) -> None:
    """Let all options of this verb be given by variables, and say their names in its help."""
    actions = [one for one in parser._actions if not isinstance(one, argparse._HelpAction)]
    parser.variables = {
        "POSSE_" + ("RUN" if one.dest == _RUN_FILE else one.dest.upper()): one for one in actions
    }
    for name, action in parser.variables.items():
        action.help = f"{action.help} [{name}]"
        if not action.option_strings and (text := os.environ.get(name)):
            action.nargs, action.required, action.default = "?", False, text
