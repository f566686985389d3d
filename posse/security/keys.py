"""Key pairs and allowlists: which keys may take part, known beforehand on each side.

Each party has two key pairs in one file: Curve25519 for connections (CURVE) and Ed25519 for
signatures. Each party has a folder of its own:

    coordinator.key_secret          the coordinator's own pairs
    agent-3.key_secret              or agent 3's
    coordinator.key                 the coordinator's public keys
    allowlist.toml                  all agents' public keys, by rank

`posse keys DIR --rank 3` makes agent 3's folder on agent 3's machine, so that no secret travels;
`posse keys DIR --allow` writes down others' public keys, and `--agents N` makes all parties'
folders: DIR/coordinator, DIR/agent-0 and so on. DIR can be given for the folder of any of them.
"""

import base64
import binascii
import dataclasses
import os
import re
import secrets
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import tomli_w
import zmq
from zmq.utils import z85

from posse.errors import InputError, PosseError
from posse.gates import files, locks
from posse.gates.decode import Undecodable, from_toml
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.masking import agrees
from posse.protocol.signing import Register, Signer, is_weak, public_of
from posse.security import files as key_files

ALLOWLIST = "allowlist.toml"
COORDINATOR = "coordinator"

RandomBytes = Callable[[int], bytes]
"""Draws this many bytes of secrets."""

_RANK = re.compile("0|[1-9][0-9]*")
_DIGITS = len(str(MOST_AGENTS - 1))
"""Of a rank: who lists a larger one asks for a table as long."""
_BYTES = 32
_WORD = "pk_"
_IN_REFUSALS = 8 * _BYTES // 6
"""Characters of a key that its first half, for connections, decides."""
_HEADER = "# Agents by rank. An agent whose key is not here is refused, and so is what it signed.\n"


@dataclass(frozen=True)
class Public:
    """Two public keys: `connects` as ZeroMQ writes it (40 characters of Z85), `signs` 32 bytes."""

    connects: str
    signs: bytes

    def __str__(self) -> str:
        """The word that `posse keys --allow` is given for these keys."""
        both = z85.decode(self.connects) + self.signs
        return _WORD + base64.urlsafe_b64encode(both).decode().rstrip("=")

    def shares(self, other: "Public") -> bool:
        """Whether one of these keys is one of the other's."""
        return self.connects == other.connects or self.signs == other.signs

    @classmethod
    def parse(cls, word: str) -> "Public":
        """The keys of a word that `str` made; `InputError` for any other word."""
        text = word.removeprefix(_WORD)
        try:
            both = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            both = b""
        if text != word and len(text.rstrip("…")) == _IN_REFUSALS:
            raise InputError(
                f"'{word}' is only the beginning of a public key, as a refusal shows it; the whole "
                "is in the log of the agent that was refused, and posse keys on its machine prints "
                "it"
            )
        if text == word or len(both) != 2 * _BYTES:
            raise InputError(
                f"'{word[:100]}' is not a public key; give the one that posse keys printed, which "
                f"begins with {_WORD}"
            )
        if is_weak(both[_BYTES:]) or not agrees(both[:_BYTES]):
            raise InputError(
                f"'{word[:100]}' is a key of small order, for which anybody can speak; whoever "
                "sent it did not make it with posse keys: do not let it in"
            )
        return cls(z85.encode(both[:_BYTES]).decode(), both[_BYTES:])


def beginning(connects: str) -> str:
    """How the word for `--allow` begins of which only the key for connections is known."""
    whole = str(Public(connects, bytes(_BYTES))) if connects else ""
    return whole[: len(_WORD) + _IN_REFUSALS] + "…"


@dataclass(frozen=True)
class KeyPair:
    """A public and a secret key, as ZeroMQ writes them, and 32 secret bytes for signing."""

    public: str
    secret: str = field(repr=False)
    signing: bytes = field(default=b"", repr=False, kw_only=True)

    @property
    def public_keys(self) -> Public:
        """The public keys, which others may know."""
        return Public(self.public, public_of(self.signing))


@dataclass
class CoordinatorKeys:
    """Who is let in: the coordinator's own pair, and the agents' keys as its allowlist has them.

    `agents`: their public keys by rank, "" where there is none; `signers`: their Ed25519 keys. Both
    are read anew from the `allowlist`, if there is one, whenever it has changed: a key that was
    replaced is believed no longer than one that was revoked. `trouble` says why it cannot be read;
    then agents stay, and nobody new comes.
    """

    own: KeyPair
    agents: tuple[str, ...]
    signers: dict[int, bytes] = field(default_factory=dict)
    allowlist: Path | None = None
    trouble: str = ""
    _read: tuple[int, ...] = ()

    def rank_of(self, public: str) -> int | None:
        """The rank to which a key is bound, None for a stranger's."""
        self.refresh()
        return self.agents.index(public) if public and public in self.agents else None

    def believes(self, rank: int, public: str) -> bool:
        """Whether an agent that joined with this key ("": unknown) may still be here."""
        listed = self.agents[rank] if rank < len(self.agents) else ""
        return bool(listed) and public in ("", listed)

    def refresh(self) -> None:
        """Read the allowlist anew if it has changed."""
        if self.allowlist is None:
            return
        try:
            status = self.allowlist.stat()
            at = status.st_ino, status.st_ctime_ns, status.st_size
            if at == self._read and not self.trouble:
                return
            listed = _read_allowlist(self.allowlist)
        except (OSError, InputError) as error:
            self.trouble = str(error)
            return
        self.agents = (
            tuple(
                listed[rank].connects if rank in listed else "" for rank in range(max(listed) + 1)
            )
            if listed
            else ()
        )
        self.signers = {rank: public.signs for rank, public in listed.items()}
        self._read, self.trouble = at, ""


@dataclass(frozen=True)
class AgentKeys:
    """An agent's own pair, bound to its rank, and the coordinator's key.

    `signers`: the public Ed25519 keys of the agents whose signatures this agent believes, by rank.
    `connects`: the agents' public keys for connections, by rank; None where the coordinator started
    this agent with keys of its own making. `claim` keeps the lock on a secret key that was taken
    from a folder with several. `orders_by`: the coordinator's public Ed25519 key, empty where it
    started this agent.
    """

    rank: int
    own: KeyPair
    coordinator: str
    signers: dict[int, bytes] = field(default_factory=dict)
    connects: dict[int, str] | None = field(default_factory=dict)
    claim: BinaryIO | None = field(default=None, repr=False, compare=False)
    orders_by: bytes = b""

    def signer(self, agents: int, name: bytes, register: Register | None = None) -> Signer:
        """The signer for this agent in the run `name`; `PosseError` if it lacks an agent's keys."""
        lacking = [rank for rank in range(agents) if rank not in self.signers]
        if lacking:
            raise PosseError(
                f"this agent's {ALLOWLIST} has no keys of agent {lacking[0]}, so its signatures "
                f"cannot be checked; add them with posse keys DIR --allow {lacking[0]} PUBLIC"
            )
        return Signer(self.own.signing, self.signers, name, register)


def make_ephemeral_keys(
    agents: int, draw: RandomBytes = secrets.token_bytes
) -> tuple[CoordinatorKeys, tuple[KeyPair, ...]]:
    """Keys that live as long as their processes: a coordinator's, and each agent's by rank.

    For agents that one command starts: over this machine's loopback, which every local user can
    reach, or on other machines.
    """
    own, *pairs = (_fresh(draw) for _ in range(agents + 1))
    signers = {rank: pair.public_keys.signs for rank, pair in enumerate(pairs)}
    return CoordinatorKeys(own, tuple(pair.public for pair in pairs), signers), tuple(pairs)


def _fresh(draw: RandomBytes = secrets.token_bytes) -> KeyPair:
    secret = z85.encode(draw(_BYTES))
    return KeyPair(zmq.curve_public(secret).decode(), secret.decode(), signing=draw(_BYTES))


# --- making --------------------------------------------------------------------------------------


def create(folder: Path, agents: int, draw: RandomBytes = secrets.token_bytes) -> int:
    """Make the folders that `folder` lacks for a coordinator and `agents` agents.

    Returns how many parties got new pairs; `draw` draws them. Each party's folder has its own
    secret and no other. A list of who is trusted that is there already gains new pairs alone: what
    was revoked stays so.
    """
    key_files.open_folder(folder, of_folders=True)
    parties = [COORDINATOR, *(f"agent-{rank}" for rank in range(agents))]
    made = {party for party in parties if make(folder / party, party, draw)}
    public = {party: _pair(folder / party / f"{party}.key_secret").public_keys for party in parties}
    known = {rank: public[f"agent-{rank}"] for rank in range(agents)}
    new = {rank: keys for rank, keys in known.items() if f"agent-{rank}" in made}
    # the coordinator's list is written last: `wait_for` waits for it
    for party in reversed(parties):
        with key_files.changing(folder / party):
            key_files.write(folder / party / f"{COORDINATOR}.key", f"{public[COORDINATOR]}\n")
            path = folder / party / ALLOWLIST
            gained = new if path.exists() else known
            _write_allowlist(path, {**_listed(folder / party), **gained})
    return len(made)


def make(folder: Path, party: str, draw: RandomBytes = secrets.token_bytes) -> bool:
    """Make the pairs of one party in its own folder; False if it has them already."""
    key_files.open_folder(folder)
    path = folder / f"{party}.key_secret"
    if path.exists() or path.is_symlink():
        return False
    pair = _fresh(draw)
    signing = z85.encode(pair.signing).decode()
    written = {"public": pair.public, "secret": pair.secret, "signing": signing}
    key_files.write(path, f"# Secret: only for {party}.\n{tomli_w.dumps(written)}")
    return True


def own(folder: Path, party: str) -> Public:
    """The public keys of the pairs in a folder."""
    return _pair(folder / f"{party}.key_secret").public_keys


def allow(folder: Path, party: str, public: Public) -> None:
    """Write the public keys of another `party` into a party's folder."""
    with key_files.changing(folder):
        if party == COORDINATOR:
            key_files.write(folder / f"{COORDINATOR}.key", f"{public}\n")
            return
        listed = _listed(folder)
        same = [rank for rank, key in listed.items() if rank != int(party) and key.shares(public)]
        if same:
            raise InputError(f"agent {same[0]} has one of these keys; each agent needs its own")
        _write_allowlist(folder / ALLOWLIST, {**listed, int(party): public})


def revoke(folder: Path, rank: int) -> None:
    """Take an agent off the allowlist; a running coordinator dismisses it within seconds."""
    if rank not in _listed(folder):  # looked at first: no folder is made for nothing
        raise InputError(f"{folder / ALLOWLIST} has no agent {rank}")
    with key_files.changing(folder):
        kept = {other: key for other, key in _listed(folder).items() if other != rank}
        _write_allowlist(folder / ALLOWLIST, kept)


def wait_for(folder: Path, seconds: float) -> None:
    """Wait, `seconds` at most, until another process has ended `create` in this folder."""
    deadline = time.monotonic() + seconds
    while not _folder_of(folder, COORDINATOR).joinpath(ALLOWLIST).exists():
        if time.monotonic() >= deadline:
            return
        time.sleep(0.1)


# --- reading -------------------------------------------------------------------------------------


def for_coordinator(folder: Path, agents: int, *, resumes: bool = False) -> CoordinatorKeys:
    """The coordinator's keys from its folder; it must know the keys of all `agents`.

    Not if it `resumes` a run: those that were revoked since are known by that.
    """
    folder = _folder_of(folder, COORDINATOR)
    key_files.check_folder(folder)
    pair = _own(folder, COORDINATOR)
    path = folder / ALLOWLIST
    allowed = _read_allowlist(path)
    lacking = [rank for rank in range(agents) if rank not in allowed]
    if lacking and not (resumes and allowed):
        raise InputError(
            f"{path} has the keys of {agents - len(lacking)} agents and the run file asks for "
            f"{agents}; agent {lacking[0]} is the first without. Add its key by posse keys "
            "--allow, or make all keys with posse keys DIR --agents N"
        )
    known = CoordinatorKeys(pair, (), allowlist=path)
    known.refresh()
    return known


def for_agent(folder: Path, rank: int) -> AgentKeys:
    """An agent's keys from its folder.

    With rank -1 the folder's only secret key says the rank. From several it takes the first that no
    other process of this machine holds, and locks it as long as this process lives.
    """
    if rank >= 0:
        return _agent(_folder_of(folder, f"agent-{rank}"), rank)
    secret = {
        int(match[1]): path
        for path in (*folder.glob("agent-*.key_secret"), *folder.glob("*/agent-*.key_secret"))
        if (match := re.fullmatch(r"agent-(\d+)\.key_secret", path.name))
    }
    if not secret:
        raise InputError(f"{folder} has no secret key of an agent (agent-RANK.key_secret)")
    for free, path in sorted(secret.items()):
        keys = _agent(path.parent, free)
        claim = files.opened(path, links=False)
        if locks.take(claim.fileno()) is False:
            claim.close()
            continue
        return dataclasses.replace(keys, claim=claim)
    raise PosseError(
        f"every key in {folder} is in use by an agent on this machine; end that agent, or make "
        "keys for another with posse keys"
    )


def signers_of(folder: Path) -> dict[int, bytes]:
    """The public Ed25519 keys in a folder's allowlist, by rank; the coordinator's as of rank -1."""
    folder = _folder_of(folder, COORDINATOR)
    signers = {rank: public.signs for rank, public in _read_allowlist(folder / ALLOWLIST).items()}
    path = folder / f"{COORDINATOR}.key"
    if os.path.lexists(path):
        signers[-1] = _public(path, key_files.read(path)).signs
    return signers


def _agent(folder: Path, rank: int) -> AgentKeys:
    key_files.check_folder(folder)
    pair = _own(folder, f"agent-{rank}")
    path = folder / f"{COORDINATOR}.key"
    coordinator = _public(path, key_files.read(path))
    listed = _listed(folder)
    signers = {other: public.signs for other, public in listed.items()}
    if signers.setdefault(rank, pair.public_keys.signs) != pair.public_keys.signs:
        raise InputError(f"{folder / ALLOWLIST} has keys of agent {rank} that are not its own")
    connects = {other: public.connects for other, public in listed.items()}
    orders_by = coordinator.signs
    return AgentKeys(rank, pair, coordinator.connects, signers, connects, orders_by=orders_by)


def _folder_of(folder: Path, party: str) -> Path:
    """A party's own folder: the one of its name below `folder`, or `folder` itself."""
    return folder / party if (folder / party).is_dir() else folder


def _own(folder: Path, party: str) -> KeyPair:
    """The pairs of a party in its folder; `InputError` for the folder of another party."""
    path = folder / f"{party}.key_secret"
    others = sorted(other.stem for other in folder.glob("*.key_secret"))
    if others and not os.path.lexists(path):
        raise InputError(
            f"{folder} is the key folder of {others[0]} and has no {path.name}; give the key "
            f"folder of {party}"
        )
    return _pair(path)


def _pair(path: Path) -> KeyPair:
    """The pairs in a secret file, which others must not be able to read."""
    raw = _toml(path, key_files.read(path, secret=True), "a secret key of posse")
    public, secret, signing = (str(raw.get(name, "")) for name in ("public", "secret", "signing"))
    if not (_is_key(public) and _is_key(secret) and _is_key(signing)):
        raise InputError(f"{path} is not a secret key of posse; make it with posse keys")
    if zmq.curve_public(secret.encode()).decode() != public:
        raise InputError(f"{path}: its public key does not belong to its secret key")
    return KeyPair(public, secret, signing=z85.decode(signing))


def _public(where: object, word: str) -> Public:
    try:
        return Public.parse(word.strip())
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _listed(folder: Path) -> dict[int, Public]:
    """The agents in a folder's allowlist, by rank; empty without one."""
    path = folder / ALLOWLIST
    return _read_allowlist(path) if path.exists() or path.is_symlink() else {}


def _read_allowlist(path: Path) -> dict[int, Public]:
    document = _toml(path, key_files.read(path), "an allowlist")
    table = document.get("agents", {})
    if not isinstance(table, dict) or document.keys() - {"agents"}:
        raise InputError(f"{path} is not an allowlist; make it with posse keys")
    for rank in table:
        if not _RANK.fullmatch(rank) or len(rank) > _DIGITS:
            raise InputError(f"{path}: '{rank}' is no rank of an agent; ranks are 0, 1, 2, …")
    allowed: dict[int, Public] = {}
    for rank, word in sorted((int(rank), str(word)) for rank, word in table.items()):
        public = _public(f"{path}, agent {rank}", word)
        for other, known in allowed.items():
            if known.shares(public):
                raise InputError(f"{path}: agents {other} and {rank} have the same key")
        allowed[rank] = public
    return allowed


def _write_allowlist(path: Path, listed: dict[int, Public]) -> None:
    table = {str(rank): str(listed[rank]) for rank in sorted(listed)}
    key_files.write(path, _HEADER + tomli_w.dumps({"agents": table}))


def _toml(path: Path, text: str, what: str) -> dict[str, object]:
    try:
        return from_toml(text)
    except Undecodable as error:
        raise InputError(f"{path} is not {what}: {error}; make it with posse keys") from None


def _is_key(text: str) -> bool:
    try:
        return len(z85.decode(text)) == _BYTES
    except (ValueError, KeyError, struct.error):  # the last for five characters above 2^32 - 1
        return False
