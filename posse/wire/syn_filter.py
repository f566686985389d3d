"""A filter on a listening socket that drops requests to connect, by their source, at random.

Linux hands a listening TCP socket's packets to the classic BPF program that is attached to it
(`SO_ATTACH_FILTER`, socket(7)). What it drops costs this process no descriptor, no time and no
right. A dropped request is sent again by its sender's system, after a second as a rule. Accepted
sockets inherit the program, which lets everything but requests through.

In ten storms of 1,000 connections a second on two busy cores, from one address or 60,000, some
agent could not join for 20 s in two; without this program in six.
"""

import ctypes
import ipaddress
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress

PacketSource = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_SOURCES = 200
"""Sources in one program, of each kind: an IPv6 source takes eight of the kernel's 4,096 steps."""

_SO_ATTACH_FILTER = 26
_INSTRUCTION = struct.Struct("=HBBI")

_LOAD_BYTE, _LOAD_WORD, _LOAD_KEPT = 0x30, 0x20, 0x60
_KEEP, _AND, _RIGHT_SHIFT, _JUMP, _EQUAL, _AT_LEAST, _RETURN = 0x02, 0x54, 0x74, 0x05, 0x15, 0x35, 6
_NETWORK_HEADER = 0xFFF00000
_RANDOM = 0xFFFFF000 + 56
_TCP_FLAGS, _SYN_ACK, _SYN = 13, 0x12, 0x02

_Program = list[tuple[int, int, int, int]]


def program(shares: Mapping[PacketSource, float], others: float, exempt: Iterable[str]) -> bytes:
    """The program that lets in this share (0 to 1) of each source's requests.

    `others` is the share of all other sources; requests from `exempt` addresses all pass.
    """
    whole = {ipaddress.ip_network(host): 1.0 for host in exempt if _is_address(host)}
    entries = [*list(whole.items())[:MOST_SOURCES], *shares.items()]
    four: _Program = [(_LOAD_WORD, 0, 0, _NETWORK_HEADER + 12), (_KEEP, 0, 0, 0)]
    six: _Program = [
        *((_LOAD_WORD, 0, 0, _NETWORK_HEADER + 8), (_KEEP, 0, 0, 0)),
        *((_LOAD_WORD, 0, 0, _NETWORK_HEADER + 12), (_KEEP, 0, 0, 1)),
    ]
    for source, share in entries:
        if isinstance(source, ipaddress.IPv4Network):
            four += _if_equal(0, int(source.network_address), int(source.netmask), _draw(share))
        else:
            high, low = divmod(int(source.network_address) >> 64, 1 << 32)
            high_mask, low_mask = divmod(int(source.netmask) >> 64, 1 << 32)
            inner = _if_equal(1, low, low_mask, _draw(share))
            six += _if_equal(0, high, high_mask, inner)
    four += _draw(others)
    six += _draw(others)
    steps: _Program = [
        *((_LOAD_BYTE, 0, 0, _TCP_FLAGS), (_AND, 0, 0, _SYN_ACK)),
        *((_EQUAL, 1, 0, _SYN), (_RETURN, 0, 0, 0xFFFFFFFF)),
        *((_LOAD_BYTE, 0, 0, _NETWORK_HEADER), (_RIGHT_SHIFT, 0, 0, 4)),
        *((_EQUAL, 1, 0, 6), (_JUMP, 0, 0, len(six))),
    ]
    return b"".join(_INSTRUCTION.pack(*step) for step in (*steps, *six, *four))


def _if_equal(kept: int, value: int, mask: int, then: _Program) -> _Program:
    """Steps that carry out `then` if a kept word, under its mask, has this value."""
    return [
        *((_LOAD_KEPT, 0, 0, kept), (_AND, 0, 0, mask)),
        *((_EQUAL, 0, len(then), value), *then),
    ]


def _draw(share: float) -> _Program:
    """Steps that let this share of requests through, and end."""
    if share >= 1:
        return [(_RETURN, 0, 0, 0xFFFFFFFF)]
    return [
        *((_LOAD_WORD, 0, 0, _RANDOM), (_AT_LEAST, 0, 1, int(share * (1 << 32)))),
        *((_RETURN, 0, 0, 0), (_RETURN, 0, 0, 0xFFFFFFFF)),
    ]


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


def attach(listener: socket.socket, code: bytes) -> bool:
    """Put this program in the place of the last one; whether the system can do that."""
    kept = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // _INSTRUCTION.size, ctypes.addressof(kept))
    try:
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, header)
    except OSError:
        return False
    return True
