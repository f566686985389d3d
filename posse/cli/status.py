"""`posse status`: who is up, what was heard, what is waited for."""

from pathlib import Path
from typing import Annotated
from urllib.error import URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from posse.cli.options import Duration, Json, print_json
from posse.errors import InputError, PosseError
from posse.gates.decode import Undecodable, from_json
from posse.gates.shown import printable
from posse.hosts.status import LIVE
from posse.operate.live import LiveState, read_live

_LONGEST = 64 << 20
"""Bytes of an answer."""


def status(
    where: Annotated[str, Parameter(metavar="DIR|URL")] = "",
    /,
    *,
    wait: Duration = 5.0,
    how: Json = Json(),
    join: Annotated[str, Parameter(show=False)] = "",
) -> None:
    """Show which agents of a run under way are up and which it waits for.

    Args:
        where: directory that runs write into, or the address that --http or --watch printed
        wait: longest wait for an answer
        join: what 0.2 asked
    """
    if join or not where:
        raise InputError("posse status is now posse status DIR, or the URL of --http or --watch")
    state = _asked(where, wait) if where.startswith("http://") else _read(Path(where))
    if how.json:
        print_json(state)
        return
    hub = state.status
    table = Table(box=None, pad_edge=False, show_header=False)
    for rank in range(hub.agents):
        heard = hub.heard_seconds_ago.get(rank)
        last = printable(hub.heard.get(rank) or "nothing")
        table.add_row(
            f"agent {rank}",
            "not here" if heard is None else f"said {last} {heard:.1f} s ago",
            f"waited for ({printable(hub.waiting)})" if rank in hub.waiting_for else "",
        )
    console = Console(markup=False, emoji=False)
    for line in state.lines():
        console.print(line, soft_wrap=True)
    console.print(table)


def _read(folder: Path) -> LiveState:
    found = read_live(folder)
    if found is None:
        raise PosseError(f"no run goes on in {folder}; posse report shows what did")
    return found[0]


def _asked(url: str, wait: float) -> LiveState:
    """The state that a server of posse gives; `PosseError` if it does not within `wait` seconds."""
    parts = urlsplit(url)
    asked = urlunsplit(parts._replace(path=f"/{LIVE}", fragment=""))
    try:
        with urlopen(asked, timeout=wait) as answer:
            state: LiveState = from_json(answer.read(_LONGEST), LiveState)
            return state
    except (URLError, OSError, ValueError, Undecodable) as error:
        raise PosseError(
            f"{parts.scheme}://{parts.netloc} does not tell how its run is: "
            f"{printable(str(error), 300)}; check the address, and that a run goes on there"
        ) from None
