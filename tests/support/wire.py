"""Three hosts (network namespaces) on a wire that loses packets.

A process between them passes each packet on, as a kernel's netem does, which few kernels have. It
takes root, and `ip` and `ethtool`.
"""

import os
import random
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support.patience import PATIENCE

HOSTS = ("a", "b", "c")
_ALL_KINDS = socket.htons(3)
_IGNORE_OUTGOING = (263, 23)  # SOL_PACKET, PACKET_IGNORE_OUTGOING


def missing() -> str:
    """What this machine lacks for it, as a sentence; empty if nothing."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    lacks = [command for command in ("ip", "ethtool") if shutil.which(command) is None]
    return f"there is no {lacks[0]}" if lacks else ""


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


@contextmanager
def wire(loss: float, prefix: str = "10.83.7") -> Iterator[dict[str, tuple[str, str]]]:
    """The hosts by name, each with its namespace and its address; `loss`: share of packets."""
    lab = f"posse-wire-{os.getpid()}"
    switch, hosts = f"{lab}-s", {}
    relay = None
    try:
        _call("ip", "netns", "add", switch)
        for at, name in enumerate(HOSTS, 1):
            space, address = f"{lab}-{name}", f"{prefix}.{at}"
            _call("ip", "netns", "add", space)
            hosts[name] = (space, address)
            ends = ("name", name, "type", "veth", "peer", "name", "eth0", "netns", space)
            _call("ip", "-n", switch, "link", "add", *ends)
            _call("ip", "-n", switch, "link", "set", "dev", name, "up")
            _call("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _call("ip", "-n", space, "link", "set", "dev", device, "up")
            # what the relay carries must be whole packets with whole checksums
            off = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
            _call("ip", "netns", "exec", space, "ethtool", "-K", "eth0", *off)
        relay = subprocess.Popen(
            ["ip", "netns", "exec", switch, sys.executable, "-P", __file__, str(loss)],
            stdout=subprocess.PIPE,
        )
        assert relay.stdout is not None
        assert relay.stdout.readline() == b"up\n"
        yield hosts
    finally:
        if relay is not None:
            relay.kill()
            relay.communicate()
        for space in (switch, *(space for space, _ in hosts.values())):
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def _open(name: str) -> socket.socket:
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _ALL_KINDS)
    port.setsockopt(*_IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    port.bind((name, 0))
    return port


def relay(loss: float) -> None:
    """Pass packets on between the ports, until killed."""
    ports = [_open(name) for name in HOSTS]
    chance, known = random.Random(1), dict[bytes, int]()
    print("up", flush=True)
    while True:
        for came in select.select(ports, [], [])[0]:
            packet, source = came.recv(65535), ports.index(came)
            known[packet[6:12]] = source
            to = known.get(packet[:6])
            if chance.random() < loss:
                continue
            for target in range(len(ports)) if to is None else (to,):
                if target != source:
                    with suppress(OSError):  # its host is gone
                        ports[target].send(packet)


if __name__ == "__main__":
    relay(float(sys.argv[1]))
