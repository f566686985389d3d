"""How a verb is declared, and how a command line becomes a call of its function, by cyclopts.

A verb is a typed function: parameters before `/` are arguments, those after `*` are options, and a
frozen dataclass of `posse.cli.options` stands for options that several verbs share. What each
means is under `Args:` in the docstring. The function returns its exit code, or None for 0. One line
in `posse.cli.main.VERBS_BY_PURPOSE` names it, and has the example that ends its help.
"""

import difflib
import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from cyclopts import App, CycloptsError, Group, Parameter, Token
from cyclopts import exceptions as wrong
from cyclopts.config import Env
from cyclopts.help import DefaultFormatter, HelpPanel, PanelSpec
from rich.box import Box
from rich.text import Text

from posse.cli.call import Verb
from posse.errors import InputError

_BLANK = "    \n" * 8
"""A box whose lines are blank."""


class _Help(DefaultFormatter):
    """A table for each group; its sentences have many lines in the code, and are filled again."""

    def __call__(self, console: Any, options: Any, panel: HelpPanel) -> None:
        for entry in panel.entries:
            if isinstance(text := getattr(entry.description, "primary_renderable", None), Text):
                entry.description.primary_renderable = Text(" ".join(text.plain.split()))
        super().__call__(console, options, panel)


class ParsedCall(NamedTuple):
    """A function and its arguments, as a command line asks for them."""

    verb: str
    function: Callable[..., int | None]
    bound: inspect.BoundArguments
    quiet: bool
    verbose: bool

    def carry_out(self) -> int:
        """The exit code."""
        return self.function(*self.bound.args, **self.bound.kwargs) or 0


def shown(default: object) -> object:
    """A default as the help shows it; None if it goes without saying."""
    if default is None or default is False or default in ("", ()):
        return None
    return f"{default:g}" if isinstance(default, float) else default


def app(
    purposes: Mapping[str, Mapping[str, Verb]],
    places: Mapping[str, str],
    variables: Container[str],
    epilogue: str,
) -> App:
    """The command line of these verbs, whose functions are at `places`; none is loaded yet.

    `variables`: verbs whose options may come from the environment.
    """
    whole = App(
        name="posse",
        help="Private multi-agent bandits, run for real: agents are processes, messages cross real "
        "sockets, and costs and disclosure are measured on the wire.",
        help_epilogue=epilogue,
        help_format="plaintext",
        help_formatter=_Help(panel_spec=PanelSpec(box=Box(_BLANK), padding=(0, 0))),
        group_commands=Group("Options", sort_key=100),
        group_parameters=Group("Options", sort_key=100),
        group_arguments=Group("Arguments", sort_key=99),
        default_parameter=Parameter(negative=(), allow_repeating=True, show_default=shown),
        print_error=False,
        exit_on_error=False,
    )
    whole["--help"].help = "show this help"
    whole["--version"].help = "show what is installed"
    for number, (purpose, verbs) in enumerate(purposes.items()):
        group = Group(purpose, sort_key=number)
        for place, (name, verb) in enumerate(verbs.items()):
            whole.command(
                places[name],
                name=name,
                group=group,
                help=f"{verb.does[0].upper()}{verb.does[1:]}.",
                help_epilogue=f"Example: posse {name} {verb.example}" if verb.example else " ",
                sort_key=place,
                config=Env("POSSE_", command=False) if name in variables else None,
            )

    @whole.meta.default
    def posse(
        *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
        quiet: Annotated[bool, Parameter(alias="-q")] = False,
        verbose: Annotated[bool, Parameter(alias="-v")] = False,
    ) -> None:
        """Parse what every verb has, before its name or after it.

        Args:
            quiet: print no progress and no closing table
            verbose: print each run as it ends, and tracebacks of defects
        """

    return whole


def parse(whole: App, words: Sequence[str]) -> ParsedCall:
    """What a command line asks for; `InputError` if it is wrong."""
    verb = next((word for word in words if not word.startswith("-")), "")
    try:
        function, bound, _ = whole.meta.parse_args(words)
        quiet, verbose = (bool(bound.arguments.get(name)) for name in ("quiet", "verbose"))
        if function is whole.meta.default_command:
            function, bound, _ = whole.parse_args(bound.args)
    except CycloptsError as error:
        raise InputError(_sentence(error, verb, whole)) from None
    named = {*_paths(bound.arguments.values())}
    for word in words:
        text = word.partition("=")[2] if word.startswith("--") else word
        if "://" in text and Path(text) in named:
            raise InputError(
                f"{text} is an address, and posse {verb} needs a file or folder on this machine; a "
                "page that posse serves opens in a browser, and posse status asks its address"
            )
    if quiet and verbose:
        raise InputError("--quiet and --verbose contradict each other; choose one")
    return ParsedCall(verb, function, bound, quiet, verbose)


def _paths(values: Iterable[Any]) -> Iterator[Path]:
    """All files and folders among arguments, in those that stand for several options too."""
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, tuple):
            yield from _paths(value)
        elif is_dataclass(value):
            yield from _paths(vars(value).values())


def options(whole: App, verb: str) -> set[str]:
    """The names of a verb's options, and of those that every verb has."""
    return {
        name
        for one in (whole.meta, whole[verb])
        for argument in one.assemble_argument_collection()
        for name in {*argument.names} - {*argument.negatives}
    } | {"--help"}


def _sentence(error: CycloptsError, verb: str, whole: App) -> str:
    """What is wrong, where, and what to do."""
    helped = f"posse {verb} --help lists all options" if verb else "posse --help lists all options"
    argument = error.argument
    match error:
        case wrong.UnknownCommandError():
            word = (error.unused_tokens or [""])[0]
            if word.startswith("-"):
                return f"{word} is unknown; {_nearest(word, ['--help', '--version'])}{helped}"
            hint = _nearest(word, list(whole._commands))
            return f"{word} is not a command; {hint}posse --help lists all"
        case wrong.UnknownOptionError():
            name = (error.token.keyword or error.token.value).partition("=")[0]
            known = options(whole, verb) if verb else ["--help", "--version"]
            return f"{name} is unknown; {_nearest(name, known)}{helped}"
        case wrong.UnusedCliTokensError():
            return f"{(error.unused_tokens or [''])[0]} is one argument too many; {helped}"
        case wrong.ConsumeMultipleError() if argument is not None:
            return f"{argument.name} takes one value; {helped}"
        case wrong.MissingArgumentError() if argument is not None:
            name = error.keyword or argument.name
            what = "needs a value" if error.keyword or argument.tokens else "is missing"
            return f"{name} {what}; {helped}"
        case wrong.CoercionError(token=Token() as token):
            name = token.keyword or (argument.name if argument is not None else "an argument")
            must = error.msg or f"is {token.value}; it must be {_kind(error.target_type)}"
            return f"{name} {must}"
    return f"{str(error).rstrip('.')}; {helped}"


def _kind(type_: Any) -> str:
    if get_origin(type_) is Literal:
        return " or ".join(map(str, get_args(type_)))
    names = {int: "a whole number", float: "a number", bool: "1, true or yes, or 0, false or no"}
    return names.get(type_, getattr(type_, "__name__", str(type_)))


def _nearest(word: str, known: Iterable[str]) -> str:
    """A question that names the known word nearest to `word`; "" if none is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}? " if close else ""
