"""An agent of `mase` without any code of posse: msgpack and a ZeroMQ socket, as in docs/wire.md.

posse coordinator run.toml --bind tcp://127.0.0.1:7000   # with engine.clock = "wall"
python foreign_agent.py tcp://127.0.0.1:7000
"""

import math
import os
import random
import struct
import sys
import time
from typing import Any

import msgpack
import zmq

HEADER, ENVELOPE = struct.Struct("<2sBBIiIdq"), struct.Struct("<4sII")
DATA, CONTROL = 0, 1
socket = zmq.Context().socket(zmq.DEALER)
socket.connect(sys.argv[1])
rank, run, sequence, sent, taken = -1, 0, 0, 0, 0


def say(*message: Any, plane: int = CONTROL, numbered: bool = True) -> None:
    global sequence, sent
    frame = HEADER.pack(b"po", 1, plane, run, rank, sequence, 0.0, 0) + msgpack.packb(message)
    if numbered:
        sequence, sent = sequence + 1, sent + 1
        frame = ENVELOPE.pack(b"pn\x01F", sent, taken) + frame
    socket.send(frame)


def hear() -> Any:
    global taken
    while True:
        data = socket.recv()
        if data[:2] == b"pn":
            mark, number, _ = ENVELOPE.unpack_from(data)
            if mark == b"pn\x01P":
                socket.send(ENVELOPE.pack(b"pn\x01C", 0, taken))
            if mark != b"pn\x01F" or number != taken + 1:
                continue
            taken, data = number, data[ENVELOPE.size :]
        return msgpack.unpackb(data[HEADER.size :], strict_map_key=False)


say("Join", rank, "", "", 0, os.urandom(8), time.time(), {}, numbered=False)
while (message := hear())[0] != "Goodbye":
    match message:
        case ["Refused", reason]:
            sys.exit(reason)
        case ["Welcome", rank, _]:
            say("Arrived", "")
        case ["Configure", rank, setup]:
            setup = msgpack.unpackb(setup, strict_map_key=False)
            means = setup["arms"]["means"]
            say("Ready", setup["first"])
        case ["Begin", _, run]:
            sequence, t, left = 0, 0, list(range(len(means)))
            sums, pulls = [0] * len(means), [0] * len(means)
            while len(left) > 1:  # successive elimination, with each vote as soon as it is sure
                t += 1
                for arm in left:
                    sums[arm] += random.random() < means[arm]
                    pulls[arm] += 1
                best = max(sums[arm] for arm in left) / t
                radius = math.sqrt(math.log(2 * len(means) * t * t) / t)
                if worse := [arm for arm in left if best - sums[arm] / t >= 2 * radius]:
                    say("Vote", worse, plane=DATA)
                    left = [arm for arm in left if arm not in worse]
            say("Finished", left[0], "")
        case ["Stop"]:
            pulled, curve = struct.pack(f"<{len(pulls)}q", *pulls), {"regret": bytes(24)}
            none: list[Any] = [[], {}, {}, [], {}, {}, [0.0, 0, 0]]
            say("Report", pulled, t, t, {"regret": 0.0}, curve, *none)
socket.send(ENVELOPE.pack(b"pn\x01C", 0, taken))  # confirms Goodbye, as the coordinator awaits
