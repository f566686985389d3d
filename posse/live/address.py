"""Where a live agent is asked: `unix:PATH` or `http://ADDRESS:PORT`."""

import importlib.util
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from posse.live.service import Service

_NEEDED = "needs starlette and uvicorn: pip install 'posse-bandits[live]'"


class LiveDoor(Protocol):
    """A place where a service is asked. `address`: where it is, with its port."""

    address: str

    def close(self) -> None:
        """Close it."""


def fault(listen: str, *, token: bool = False) -> str:
    """What is wrong with an address, in a sentence; "" if nothing is.

    Only whoever asks for a `token` may listen to other machines.
    """
    if listen.startswith("unix:"):
        return "" if listen[5:] else "names no file"
    try:
        parts = urlsplit(listen)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme != "http" or host is None or port is None or parts.path not in ("", "/"):
        return "must be unix:PATH or http://127.0.0.1:PORT"
    if not token and not is_local(host):
        return "is reached by other machines; listen locally, or set arms.token (--live-token)"
    return ""


def is_local(host: str) -> bool:
    """Whether this host is this machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def resolved(listen: str, base: str, rank: int) -> str:
    """The address of agent `rank`: its path from the run file's folder, or its port."""
    if listen.startswith("unix:"):
        return f"unix:{Path(base).resolve() / listen[5:].replace('{rank}', str(rank))}"
    if "{rank}" in listen:
        return listen.replace("{rank}", str(rank))
    parts = urlsplit(listen)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"http://{host}:{(parts.port or 0) + (rank if parts.port else 0)}"


def lacks_http() -> str:
    """What this machine lacks to serve HTTP; "" if nothing."""
    here = all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn"))
    return "" if here else f"listen: HTTP {_NEEDED}"


def open_door(service: "Service", where: str, token: Path | None, rate: float) -> LiveDoor:
    """Listen there; `PosseError` if that cannot be."""
    from posse.live.doors import Doors  # noqa: PLC0415  (asyncio is not for who only asks)

    return Doors(service, where, token, rate)
