"""Where a command shows its progress: on standard error, unless it is to be quiet."""

from rich.console import Console
from rich.live import Live
from rich.text import Text

from posse.cli import call
from posse.cli.version import PLAIN_HINT, is_compiled
from posse.log import LOG
from posse.progress import Screen


class PlainLines(Screen):
    """A plain line every few seconds."""

    every = 5.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = ""
        self.hint = "" if is_compiled() else PLAIN_HINT

    def say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)

    def show(self, line: str) -> None:
        """Print a line unless it says what the last one did."""
        if line != self._shown:
            self._shown = line
            self.say(line)


class Terminal(PlainLines):
    """One moving line."""

    every = 0.1

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def show(self, line: str) -> None:
        if not self._live.is_started:
            self._live.start()
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self) -> None:
        self._live.stop()


class Objects(Screen):
    """No moving line; lines that stay go to the log as JSON objects."""

    def say(self, line: str) -> None:
        LOG.info("%s", line)

    def warn(self, line: str) -> None:
        LOG.warning("%s", line)


def screen() -> Screen:
    """Where this command shows its progress."""
    if call.current().quiet:
        return Screen()
    if call.current().json_log:
        return Objects()
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    return Terminal(console) if console.is_terminal else PlainLines(console)
