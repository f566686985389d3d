"""What addresses mean on this machine, and whose connections it closed."""

import contextlib
import errno
import socket
import stat
from pathlib import Path

from posse.gates import files
from posse.security.address import join, plain, split

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ANY = ("0.0.0.0", "::")
_CLOSED_BY_US = ("04", "05", "06")
"""FIN_WAIT1, FIN_WAIT2 and TIME_WAIT (include/net/tcp_states.h)."""


MORE_PORTS = "widen that (sysctl net.ipv4.ip_local_port_range), end what uses them"
"""What to do where no local port is left."""


def unresolved(endpoint: str) -> str:
    """Why the endpoint's host name does not resolve here; "" if it does."""
    if not endpoint.startswith("tcp://"):
        return ""
    try:
        socket.getaddrinfo(*split(endpoint))
    except OSError as error:
        return f"the name {split(endpoint)[0]} does not resolve ({error.strerror})"
    return ""


def why_silent(endpoint: str, patience: float = 2.0) -> str:
    """Why a connection to the endpoint cannot be made from here; "" if it can, or that is unknown.

    `patience` is in seconds.
    """
    if trouble := unresolved(endpoint):
        return trouble
    if not endpoint.startswith("tcp://"):
        return ""
    host, port = split(endpoint)
    try:
        socket.create_connection((host, int(port)), patience).close()
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            return f"this machine has no local port left for it; {MORE_PORTS}"
        return (error.strerror or str(error)).lower()
    return ""


def is_ipv6(endpoint: str) -> bool:
    """Whether ZeroMQ must use IPv6: the host is an IPv6 address, or a name with no IPv4 address.

    ZeroMQ tries only one address of a name, and a peer bound to 0.0.0.0 is reached by IPv4 only.
    """
    if not endpoint.startswith("tcp://"):
        return False
    host, _ = split(endpoint)
    if ":" in host:
        return True
    try:
        kinds = {family for family, *_ in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return socket.AF_INET not in kinds


def own_address(endpoint: str) -> str:
    """This machine's own address on the route to `endpoint`; loopback if that is not tcp."""
    if not endpoint.startswith("tcp://"):
        return "127.0.0.1"
    kind = socket.AF_INET6 if is_ipv6(endpoint) else socket.AF_INET
    address = socket.getaddrinfo(*split(endpoint), kind)[0][4]
    with socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing: a datagram socket only picks a route
        return str(probe.getsockname()[0])


def reachable_address(bound: str, endpoint: str) -> str:
    """The address `bound` as peers at `endpoint` reach it: a wildcard becomes our address."""
    host, port = split(bound)
    return join(own_address(endpoint), port) if host in _ANY else bound


def is_own(host: str) -> bool:
    """Whether this machine has this IP address."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def in_the_way(address: str) -> str:
    """Why nobody may listen at this file, which ZeroMQ would remove; "" if it may, or over tcp."""
    path = Path(address.removeprefix("ipc://"))
    if not address.startswith("ipc://") or address.startswith("ipc://@"):
        return ""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return "something else is there; choose another name"
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)
            probe.connect(str(path))
    except BlockingIOError:
        pass  # it listens, and many wait for it
    except OSError:
        return ""
    return "it is in use; stop the program that listens there, or choose another file"


def greets(endpoint: str, patience: float = 2.0) -> bool:
    """Whether ZeroMQ answers there, rather than a relay that accepts and closes (`ssh -L`).

    ZeroMQ greets a peer at once (ZMTP 3.1); the first byte is 255. `patience` is in seconds.
    """
    if not endpoint.startswith("tcp://"):
        return False
    host, port = split(endpoint)
    try:
        with socket.create_connection((host, int(port)), patience) as connection:
            return connection.recv(1) == b"\xff"
    except OSError:
        return False


def closed_by_us(port: int) -> set[str]:
    """Hosts whose connections to this port this end closed in the last minute (Linux)."""
    hosts: set[str] = set()
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for line in files.text(table).splitlines()[1:]:
                _, local, remote, state, *_ = line.split()
                if state in _CLOSED_BY_US and int(local.rpartition(":")[2], 16) == port:
                    hosts.add(_written(bytes.fromhex(remote.rpartition(":")[0])))
    return hosts


def _written(raw: bytes) -> str:
    """An address of the kernel's tables, whose four-byte words are byte-swapped."""
    words = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    return plain(socket.inet_ntop(socket.AF_INET6 if len(raw) > 4 else socket.AF_INET, words))
