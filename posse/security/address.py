"""Addresses of coordinators and agents, as people write them."""

import ipaddress
import re

from posse.errors import InputError

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


def is_local(address: str) -> bool:
    """Whether only this machine reaches it. A name other than localhost may mean any machine."""
    if not address.startswith("tcp://"):
        return True
    host = address.removeprefix("tcp://").rpartition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
