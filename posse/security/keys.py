"""Key pairs and the allowlist: who may talk to whom, known beforehand on each side.

`posse keys DIR --agents N` makes

    DIR/coordinator.key, DIR/coordinator.key_secret     the coordinator's pair
    DIR/agent-0.key, DIR/agent-0.key_secret, …          one pair per agent
    DIR/allowlist.toml                                  every public key, by rank

The coordinator's machine needs `coordinator.key_secret` and `allowlist.toml`; an agent's machine
`agent-RANK.key_secret` and `coordinator.key`, and nobody else's secret.
"""

import os
import re
import stat
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import zmq.auth
from zmq.utils import z85

from posse.errors import InputError, PosseError

ALLOWLIST = "allowlist.toml"
OPERATOR = -2
"""The name, where ranks are expected, of whoever holds the coordinator's own secret key."""

_LENGTH = 40  # characters of a public key as ZeroMQ writes it (Z85)
_HEADER = """# Who may join, by rank. A key that is not here is refused.
"""


@dataclass(frozen=True)
class Pair:
    """A public and a secret key, as ZeroMQ writes them (40 characters of Z85)."""

    public: str
    secret: str = field(repr=False)


@dataclass(frozen=True)
class CoordinatorKeys:
    """The coordinator's own pair, and every agent's public key by rank."""

    own: Pair
    agents: tuple[str, ...]

    def rank_of(self, public: str) -> int | None:
        """The rank that a key is bound to, `OPERATOR` for our own, None for a stranger's."""
        if public == self.own.public:
            return OPERATOR
        return self.agents.index(public) if public in self.agents else None


@dataclass(frozen=True)
class AgentKeys:
    """An agent's own pair, bound to its rank (None: an operator), and the coordinator's key.

    `claim` keeps the lock on a secret key that was taken from a folder with several.
    """

    rank: int | None
    own: Pair
    coordinator: str
    claim: TextIO | None = field(default=None, repr=False, compare=False)


def create(folder: Path, agents: int) -> int:
    """Make the pairs that `folder` lacks for `agents` agents; returns how many were made.

    Secret files are never readable by others, not even while they are written.
    """
    mask = os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = ["coordinator", *(f"agent-{rank}" for rank in range(agents))]
        missing = [name for name in names if not (folder / f"{name}.key_secret").exists()]
        for name in missing:
            zmq.auth.create_certificates(folder, name)
        public = {name: _load(folder / f"{name}.key").public for name in names}
        lines = [f'coordinator = "{public["coordinator"]}"', "agents = ["]
        lines += [f'  "{public[name]}",' for name in names[1:]]
        draft = folder / f"{ALLOWLIST}.new"
        draft.write_text(_HEADER + "\n".join([*lines, "]", ""]))
        draft.rename(folder / ALLOWLIST)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}") from None
    finally:
        os.umask(mask)
    return len(missing)


def wait_for(folder: Path, seconds: float) -> None:
    """Wait until `create` has ended in this folder, if another process is at it.

    The allowlist is written last. An agent's own folder need not have one.
    """
    deadline = time.monotonic() + seconds
    while not (folder / ALLOWLIST).exists() and time.monotonic() < deadline:
        time.sleep(0.1)


def for_coordinator(folder: Path, agents: int) -> CoordinatorKeys:
    """The coordinator's keys from its folder; it must know the keys of all `agents`."""
    own = _secret(folder / "coordinator.key_secret")
    path = folder / ALLOWLIST
    try:
        raw = tomllib.loads(path.read_text())
        allowed = tuple(str(key) for key in raw["agents"])
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}; make it by posse keys"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not an allowlist: {error}; make it by posse keys") from None
    for rank, key in enumerate(allowed):
        if not _is_key(key):
            raise InputError(f"{path}: the key of agent {rank} is not a public key of ZeroMQ")
        if key in allowed[:rank]:
            raise InputError(f"{path}: agents {allowed.index(key)} and {rank} have the same key")
    if len(allowed) < agents:
        raise InputError(
            f"{path} has the keys of {len(allowed)} agents and the run file asks for {agents}; "
            f"run: posse keys {folder} --agents {agents}"
        )
    return CoordinatorKeys(own, allowed)


def for_agent(folder: Path, rank: int) -> AgentKeys:
    """An agent's keys from its folder.

    With rank -1 the folder's only secret key says the rank. Of several the first one is taken that
    no other process of this machine holds: it is locked as long as this process lives.
    """
    coordinator = _load(folder / "coordinator.key").public
    if rank >= 0:
        return AgentKeys(rank, _secret(folder / f"agent-{rank}.key_secret"), coordinator)
    import fcntl  # noqa: PLC0415  (Windows has none, and can make keys all the same)

    found = {
        int(match[1]): path
        for path in folder.glob("agent-*.key_secret")
        if (match := re.fullmatch(r"agent-(\d+)\.key_secret", path.name))
    }
    if not found:
        raise InputError(f"{folder} has no secret key of an agent (agent-RANK.key_secret)")
    for free, path in sorted(found.items()):
        pair = _secret(path)
        claim = path.open()
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            claim.close()
            continue
        return AgentKeys(free, pair, coordinator, claim)
    raise PosseError(
        f"all {len(found)} keys in {folder} are in use on this machine; make more by posse keys"
    )


def for_operator(folder: Path) -> AgentKeys:
    """The keys by which one asks a coordinator how it is."""
    own = _secret(folder / "coordinator.key_secret")
    return AgentKeys(None, own, own.public)


def _secret(path: Path) -> Pair:
    """A secret key, which others must not be able to read."""
    pair = _load(path)
    if not pair.secret:
        raise InputError(f"{path} has no secret key in it")
    if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        raise InputError(f"{path} is readable by everybody; run: chmod 600 {path}")
    return pair


def _load(path: Path) -> Pair:
    try:
        public, secret = zmq.auth.load_certificate(path)
    except OSError as error:
        reason = error.strerror or "no such file"
        raise InputError(f"{path} cannot be read: {reason}; make it by posse keys") from None
    except ValueError as error:
        raise InputError(f"{path} is not a key of posse: {error}") from None
    if not _is_key(public.decode()):
        raise InputError(f"{path} is not a key of posse: its public key is malformed")
    return Pair(public.decode(), secret.decode() if secret else "")


def _is_key(text: str) -> bool:
    if len(text) != _LENGTH:
        return False
    try:
        z85.decode(text)
    except (ValueError, KeyError):
        return False
    return True
