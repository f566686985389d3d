"""Finds out whether two machines have the same run file, by a short hash per key."""

import hashlib
from collections.abc import Collection
from typing import Any

import msgspec

from posse.spec.runfile import RunSpec

_WAITING = (
    "engine.absence",
    "engine.deadline",
    "engine.durable",
    "engine.joining",
    "engine.restarts",
)

_LOCAL = (
    "base",
    "path",
    "arms.path",
    "arms.target",
    *(
        f"arms.{key}"
        for key in ("durable", "flag", "idle.arm", "idle.choose", "listen", "on_timeout", "open")
    ),
    *(f"arms.{key}" for key in ("rate", "store", "timeout", "token")),
    "engine.inboxes",
    "engine.on_missing",
    "engine.transport",
    "privacy.budget",
    "privacy.delta",
    "privacy.reuse",
    "privacy.slack",
    "seed",
    *_WAITING,
)
"""Keys that may differ between machines: where this one keeps its arms, what it lets them cost, how
long each end waits, and the seed, which agents receive with every run."""

PATIENCE = (*_WAITING, "repeat")
"""Keys without influence on the result of a single run."""


def fingerprint(spec: RunSpec, without: Collection[str] = _LOCAL) -> dict[str, str]:
    """Eight bytes of SHA-256 per key of the resolved run file, except the keys in `without`."""
    return {
        path: hashlib.sha256(msgspec.json.encode(value)).hexdigest()[:16]
        for path, value in sorted(flat(msgspec.to_builtins(spec)).items())
        if path not in without and value is not None
    }


def differences(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    """The keys in which two run files differ."""
    return sorted(path for path in {*ours, *theirs} if ours.get(path) != theirs.get(path))


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A specification as `{"parameters.epsilon": 0.1, …}`."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        path = prefix + key
        values |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return values
