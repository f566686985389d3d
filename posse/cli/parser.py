"""The parser of a command, whose options may also come from environment variables.

These are for container launchers: `POSSE_JOIN` stands for `--join`. The command line takes
precedence. For an option that may be repeated, both count.
"""

import argparse
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_RUN_FILE = "file"
"""The positional argument; its variable has the name of the agents' `--run`."""

_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


class Parser(argparse.ArgumentParser):
    """The parser of a command; after `add_variables`, it also takes options from variables."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.variables: dict[str, argparse.Action] = {}
        self.offered: dict[str, Callable[[], list[str]]] = {}

    def option(
        self,
        name: str,
        text: str,
        among: argparse._MutuallyExclusiveGroup | None = None,
        offered: Callable[[], list[str]] | None = None,
        **more: Any,
    ) -> None:
        """Add an option as its help shows it, "--wait SECONDS"; without a value it is a switch.

        An argument is "dest METAVAR"; `offered` gives the names that a shell completes it with.
        `more` is as for `add_argument`; the help ends with the default.
        """
        flag, _, value = name.partition(" ")
        if value:
            more["metavar"] = value
        elif flag.startswith("--") and "choices" not in more:
            more["action"] = "store_true"
        if (default := more.get("default")) not in (None, "", []):
            said = f"{default:g}" if isinstance(default, float) else default
            text = f"{text} (default: {said})"
        action = (among or self).add_argument(flag, help=text, **more)
        if offered is not None:
            self.offered[action.dest] = offered

    def add_variables(self) -> None:
        """Allow variables for all options of this command, and name them in its help."""
        actions = [one for one in self._actions if not isinstance(one, argparse._HelpAction)]
        self.variables = {
            "POSSE_" + ("RUN" if one.dest == _RUN_FILE else one.dest.upper()): one
            for one in actions
        }
        for name, action in self.variables.items():
            action.help = f"{action.help} [{name}]"
            if not action.option_strings and (text := os.environ.get(name)):
                action.nargs, action.required, action.default = "?", False, text

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the variables' options, then `args`; unknown arguments are an error."""
        found, rest = super().parse_known_args([*self._given(), *(args or ())], namespace)
        if rest:
            self.error(f"{rest[0]} is unknown; {self.prog} --help lists all options")
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
