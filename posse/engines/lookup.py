"""What a coordinator's address means on this machine."""

import socket


def unresolved(endpoint: str) -> str:
    """Why the address's name means nothing here; empty if it does."""
    if not endpoint.startswith("tcp://"):
        return ""
    host, port = _host_and_port(endpoint)
    try:
        # ZeroMQ too takes names for IPv4 unless told otherwise
        socket.getaddrinfo(host, port, socket.AF_INET)
    except OSError as error:
        return f"the name {host} does not resolve ({error.strerror})"
    return ""


def own_address(endpoint: str) -> str:
    """The address by which this machine reaches the coordinator."""
    if not endpoint.startswith("tcp://"):
        return "127.0.0.1"
    host, port = _host_and_port(endpoint)
    address = socket.getaddrinfo(host, port, socket.AF_INET)[0][4]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing: a datagram socket only picks a route
        return str(probe.getsockname()[0])


def _host_and_port(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port) if port.isdigit() else 0


def greets(endpoint: str, patience: float = 2.0) -> bool:
    """Whether ZeroMQ answers there, and not a relay that closes what it accepts (`ssh -L`).

    ZeroMQ says who it is as soon as it is connected to (ZMTP 3.1); the first byte is 255.
    """
    host, port = _host_and_port(endpoint)
    try:
        with socket.create_connection((host, port), patience) as connection:
            return connection.recv(1) == b"\xff"
    except OSError:
        return False
