"""Addresses of coordinators and agents, as people write them."""

import ipaddress
import re
from collections.abc import Sequence

from posse.errors import InputError
from posse.gates.shown import printable

IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED = "coordinator"
"""The inbox of an agent that accepts no connections: neighbours' data come by its coordinator."""

_TCP = re.compile(r"tcp://(?P<host>[^\s/:\[\]]+|\[[^\s/\[\]]+\]):(?P<port>\d{1,5}|\*)")


def check(option: str, address: str, *, bind: bool = False) -> None:
    """`InputError`, which names the option, unless `address` is tcp://HOST:PORT or ipc://PATH.

    In an address to `bind` PORT may be * (any free one).
    """
    if address.startswith("ipc://") and len(address) > len("ipc://"):
        return
    match = _TCP.fullmatch(address)
    port = match["port"] if match is not None else ""
    host = match["host"] if match is not None else ""
    by_number = _number(host.strip("[]")) if host.startswith("[") else None
    if (
        not _is_host(host)
        or (host.startswith("[") and not isinstance(by_number, ipaddress.IPv6Address))
        or not (bind if port == "*" else port and int(port) <= 0xFFFF)
    ):
        raise InputError(
            f"{option} {address}: must be tcp://HOST:PORT, as in tcp://192.0.2.1:7000, with a "
            "name, an IPv4 address, or an IPv6 address in brackets for HOST, and a number up to "
            "65535 for PORT"
        )


def _is_host(host: str) -> bool:
    """Whether the host can be looked up at all: each part has 63 letters at most."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False


def split(address: str) -> tuple[str, str]:
    """Host and port of tcp://HOST:PORT; IPv6 without its brackets."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host.strip("[]"), port


def join(host: str, port: str) -> str:
    """The address that `split` takes apart into these."""
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def plain(host: str) -> str:
    """A peer's address as people know it: an IPv4 address mapped to IPv6 becomes IPv4 again."""
    ip = _number(host)
    return str(getattr(ip, "ipv4_mapped", None) or ip) if ip is not None else host


def _number(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def inbox_trouble(inbox: str, host: str, networks: Sequence[IpNetwork]) -> str:
    """Why an agent's neighbours must not connect to this inbox; "" if they may.

    `host` is the address that the agent itself comes from ("" if unknown), `networks` are others
    that the operator allows. Names, and IPv6 addresses with a zone, are refused: they may mean
    different machines to different agents.
    """
    shown = f"its inbox {printable(inbox)}"
    match = _TCP.fullmatch(inbox)
    ip = _number(split(inbox)[0])
    zone = getattr(ip, "scope_id", None)
    port = int(match["port"].replace("*", "0")) if match is not None else 0
    if ip is None or zone or not 0 < port <= 0xFFFF or join(str(ip), str(port)) != inbox:
        return f"{shown} is not tcp://ADDRESS:PORT with an IPv4 address, or an IPv6 one in brackets"
    if host and ip != _number(host) and not any(ip in network for network in networks):
        return (
            f"{shown} is not on its own host {host}; if that is right, add "
            f"{ipaddress.ip_network(ip)} to engine.inboxes in the coordinator's run file"
        )
    return ""


def is_loopback(host: str) -> bool:
    """Whether this IP address means the machine that uses it; False for names."""
    ip = _number(host)
    return ip is not None and ip.is_loopback


def is_local(address: str) -> bool:
    """Whether only this machine reaches it. Any name but localhost may mean another machine."""
    if not address.startswith("tcp://"):
        return True
    host, _ = split(address)
    ip = _number(host)
    return ip.is_loopback if ip is not None else host == "localhost"
