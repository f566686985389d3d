"""`posse watch`: the page of a folder while runs go on; `--watch` serves it with the runs."""

import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.live import Live
from rich.text import Text

from posse.cli import report, streams
from posse.cli.options import Trust, console
from posse.errors import InputError, PosseError
from posse.gates import files
from posse.log import remark
from posse.operate.live import STALE, read_live
from posse.operate.web import place

_EVERY = 5.0
"""Seconds between two states where output cannot be overwritten."""

FIRST_READER = 60.0
"""Seconds that the page of runs which have ended waits for its first reader."""

_OF_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_IN_CLEAR = "anybody on the network path can read the page and its token; use ssh -L instead"


def watch(
    directory: Path,
    /,
    *,
    text: bool = False,
    at: Annotated[str, Parameter(metavar="[HOST]:PORT")] = ":0",
    trust: Trust = Trust(),
) -> None:
    """Follow the runs that write into a folder, on a live page or as text.

    Args:
        directory: directory that runs write into
        text: show the run as text in this terminal (default: in the browser)
        at: where to serve the page (default: only for this machine, on a free port)
    """
    if not directory.is_dir():
        raise InputError(f"{directory}: is not a directory; give that of a run")
    if text:
        _show(directory)
        return
    serve = serving(directory, at, "--at", trust=trust.trust, farewell=0.0)
    with serve as url, files.temporary() as folder:
        # a browser's address stands in the list of processes, and the page's has its token
        private = Path(folder) / "watch.html"
        files.write(
            private, f'<meta http-equiv="refresh" content="0;url={escape(url)}">', private=True
        )
        webbrowser.open(private.as_uri())
        streams.pause()


def _show(directory: Path) -> None:
    """Show the state in the terminal until the series is over."""
    to = console()
    shown_at = -_EVERY
    current = read_live(directory)
    if current is None:
        raise PosseError(f"no run goes on in {directory}; posse report shows what did")
    with streams.moving(), Live(console=to, auto_refresh=False) as moving:
        while current is not None:
            state, age = current
            lines = state.lines()
            if age > STALE:
                lines.append(f"its last news are {age:,.0f} s old")
            text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
            if to.is_terminal:
                moving.update(text, refresh=True)
            elif time.monotonic() >= shown_at + _EVERY:
                shown_at = time.monotonic()
                to.print(text, soft_wrap=True)
            time.sleep(1.0)
            current = read_live(directory)


@contextmanager
def serving(
    folder: Path, address: str | None, option: str = "--watch", *, stay: bool = False, **given: Any
) -> Iterator[str]:
    """Serve the page of a folder at this address, and print the whole; nothing without one.

    `stay`: at the end wait `FIRST_READER` seconds for somebody to ask, if nobody has. `given` is
    for `ServedPage`.
    """
    if address is None:
        yield ""
        return
    report.require()
    from posse.cli.served import ServedPage

    with ServedPage(folder, option, address, **given) as page:
        remark(f"watch it at {page.url}")
        if place(option, address)[0] not in _OF_THIS_MACHINE:
            remark(f"{address} is not encrypted: {_IN_CLEAR}")
        yield page.url
        if stay and not page.was_asked():
            remark(f"the page waits {FIRST_READER:g} s for its first reader; Ctrl-C ends that")
            with suppress(KeyboardInterrupt):
                page.was_asked(FIRST_READER)
