"""Addresses of coordinators and agents, as people write them."""

import ipaddress
import re
from collections.abc import Sequence

from posse.errors import InputError
from posse.printable import printable

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_TCP = re.compile(r"tcp://[^\s/:\[\]]+:(?P<port>\d{1,5}|\*)")


def check(option: str, address: str, *, bind: bool = False) -> None:
    """`address` must be tcp://HOST:PORT or ipc://PATH, or `InputError` names the option.

    Where it is to be bound, PORT may be * (any that is free).
    """
    if address.startswith("ipc://") and len(address) > len("ipc://"):
        return
    found = _TCP.fullmatch(address)
    port = found["port"] if found is not None else ""
    if not (bind if port == "*" else port and int(port) <= 0xFFFF):
        raise InputError(
            f"{option} {address}: must be tcp://HOST:PORT, as in tcp://192.0.2.1:7000, with a name "
            "or an IPv4 address for HOST and a number up to 65535 for PORT"
        )


def inbox_trouble(inbox: str, host: str, networks: Sequence[Network]) -> str:
    """Why an agent's neighbours must not be sent to this inbox; "" if they may be.

    `host` is the address that the agent itself comes from ("" where that is not known), `networks`
    are others that the operator allows. A name could mean another machine to each who looks it up.
    """
    shown = f"its inbox {printable(inbox)}"
    found = _TCP.fullmatch(inbox)
    try:
        at = ipaddress.IPv4Address(inbox.removeprefix("tcp://").rpartition(":")[0])
    except ValueError:
        at = None
    if found is None or at is None or not 0 < int(found["port"].replace("*", "0")) <= 0xFFFF:
        return f"{shown} is not tcp://ADDRESS:PORT with an IPv4 address"
    if host and str(at) != host and not any(at in network for network in networks):
        return (
            f"{shown} is not on its own host {host}; if that is right, add {at}/32 to "
            "engine.inboxes in the coordinator's run file"
        )
    return ""


def is_local(address: str) -> bool:
    """Whether only this machine reaches it. A name other than localhost may mean any machine."""
    if not address.startswith("tcp://"):
        return True
    host = address.removeprefix("tcp://").rpartition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
