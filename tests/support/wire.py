"""Three hosts (network namespaces) on a wire that loses, doubles, reorders, delays or is slow.

A process between them passes each packet on, as a kernel's netem does, which few kernels have. It
takes root, and `ip` and `ethtool`.
"""

import heapq
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from tests.support.patience import PATIENCE

HOSTS = ("a", "b", "c")
_ALL_KINDS = socket.htons(3)
_IGNORE_OUTGOING = (263, 23)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
_LONGEST = 2.0
"""Seconds that a packet waits for those before it; then there is no room for it."""


class Faults(msgspec.Struct, frozen=True):
    """Of all packets: how many are lost, come twice, come `shuffle` late; `rate` in bytes/s."""

    loss: float = 0.0
    twice: float = 0.0
    shuffled: float = 0.0
    delay: float = 0.0
    rate: float = 1e9


def missing() -> str:
    """What this machine lacks for it, as a sentence; empty if nothing."""
    if os.geteuid() != 0:
        return "network namespaces take root"
    lacks = [command for command in ("ip", "ethtool") if shutil.which(command) is None]
    return f"there is no {lacks[0]}" if lacks else ""


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)


@contextmanager
def wire(faults: Faults, prefix: str = "10.83.7") -> Iterator[dict[str, tuple[str, str]]]:
    """The hosts by name, each with its namespace and its address."""
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
        told = msgspec.json.encode(faults).decode()
        relay = subprocess.Popen(
            ["ip", "netns", "exec", switch, sys.executable, "-P", __file__, told],
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


def relay(faults: Faults) -> None:
    """Pass packets on between the ports, until killed."""
    ports = [_open(name) for name in HOSTS]
    chance, known = random.Random(1), dict[bytes, int]()
    waiting: list[tuple[float, int, int, bytes]] = []
    free, number = [0.0] * len(ports), 0
    print("up", flush=True)
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for came in select.select(ports, [], [], left)[0]:
            packet, source, now = came.recv(65535), ports.index(came), time.monotonic()
            known[packet[6:12]] = source
            to = known.get(packet[:6])
            if chance.random() < faults.loss:
                continue
            for target in range(len(ports)) if to is None else (to,):
                for _ in range(1 + (chance.random() < faults.twice)):
                    at = max(now, free[target])
                    if target == source or at > now + _LONGEST:
                        continue
                    free[target] = at + len(packet) / faults.rate
                    late = 0.02 * (chance.random() < faults.shuffled)
                    number += 1
                    due = free[target] + faults.delay + late
                    heapq.heappush(waiting, (due, number, target, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(waiting)
            with suppress(OSError):  # its host is gone
                ports[target].send(packet)


if __name__ == "__main__":
    relay(msgspec.json.decode(sys.argv[1], type=Faults))
