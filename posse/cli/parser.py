"""The parser of a command, whose options may also come from environment variables.

These are for container launchers: `POSSE_JOIN` stands for `--join`. The command line takes
precedence. For an option that may be repeated, both count.
"""

import argparse
import difflib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

_RUN_FILE = "file"
"""The positional argument; its variable has the name of the agents' `--run`."""

_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


class _Strict(argparse.ArgumentParser):
    """A parser for which an argument that it does not know is an error."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse `args`; of an unknown option the nearest is named."""
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            name = rest[0].partition("=")[0]
            hint = did_you_mean(name, self._option_string_actions)
            wrong = f"is unknown; {hint}" if name.startswith("-") else "is one argument too many; "
            self.error(f"{name} {wrong}{self.prog} --help lists all options")
        return options, rest


class Parser(_Strict):
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
            more.setdefault("action", "store_true")
        if (default := more.get("default")) not in (None, "", []):
            shown = f"{default:g}" if isinstance(default, float) else default
            text = f"{text} (default: {shown})"
        action = (among or self).add_argument(flag, help=text, **more)
        if offered is not None:
            self.offered[action.dest] = offered

    def add_variables(self) -> None:
        """Allow variables for all options of this command, and name them in its help."""
        self.variables = {
            "POSSE_" + ("RUN" if action.dest == _RUN_FILE else action.dest.upper()): action
            for action in self._actions
            if not isinstance(action, argparse._HelpAction)
        }
        for name, action in self.variables.items():
            action.help = f"{action.help} [{name}]"
            if not action.option_strings and (text := os.environ.get(name)):
                action.nargs, action.required, action.default = "?", False, text

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the variables' options, then `args`."""
        return super().parse_known_args([*self._read_variables(), *(args or ())], namespace)

    def _read_variables(self) -> Iterator[str]:
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
            if text.lower() in _YES:
                return (next(o for o in action.option_strings if o.startswith("--")),)
            return (option,) if option.startswith("--no-") else ()
        try:
            values = shlex.split(text) if isinstance(action, argparse._AppendAction) else [text]
            for value in values:
                self._check_value(action, self._get_value(action, value))
        except argparse.ArgumentError as error:
            self.error(f"{name}={text}: {error.message}")
        except ValueError as error:  # of shlex
            self.error(
                f"{name}={text}: {error}; several values are split as a shell splits them, so put "
                "a value with a quote into quotes of the other kind"
            )
        return [f"{option}={value}" for value in values]


class CommandsParser(_Strict):
    """The parser of all commands; its help groups them by `purposes`, a title and names each."""

    def __init__(self, purposes: Mapping[str, Iterable[str]], **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._purposes = purposes

    def format_help(self) -> str:
        """The help, with the commands before the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        commands: Any = next(a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        by_name = {command.dest: command for command in commands._get_subactions()}
        for title, names in self._purposes.items():
            formatter.start_section(title)
            formatter.add_arguments([by_name[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action is not commands])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            hint = did_you_mean(value, action.choices)
            self.error(f"{value} is not a command; {hint}{self.prog} --help lists all")
        super()._check_value(action, value)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that names the known word nearest to `word`; "" if none is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}? " if close else ""
