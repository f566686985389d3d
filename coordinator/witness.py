"""The witness: a coordinator keeps where agents' ledgers are, beside its allowlist.

A ledger alone cannot tell that it was deleted, that a backup was put in its place, or that a copy
went on by itself. But an agent with keys tells the last heads of its ledger before it is ready and
before it has stopped, and signs the newest. A ledger that goes on from where it was has the head
that was kept among those before its own; no other has, as each head is of random bytes, too.

In the file is a line for each head. Lines are added; when a coordinator starts and most are of
heads that others followed, it keeps the last of each ledger, as no earlier one is ever compared.
So the file is as long as there are ledgers, and tells no history of runs: who wants one keeps
copies. What a loss of power takes from its end is no matter: a ledger goes on from its earlier
heads, too.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from posse.errors import InputError
from posse.gates import files, locks
from posse.gates.decode import Undecodable, from_json
from posse.hosts.spending import HEAD_KIND, head_content
from posse.protocol import control
from posse.protocol.control import HEAD_BYTES, LedgerHead
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.signing import HASH_BYTES, Signer, hash_of
from posse.security import files as key_files

NAME = "ledgers.witness"

_MOST_LOGS = 1_000
"""Ledgers of one agent that are kept."""

_PATIENCE = 2.0
"""Seconds in which another coordinator of these keys has written."""

_MOST_LINES = 4
"""Lines for each ledger, beyond which only the last of each is kept."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """A head of a ledger, as agent `rank` stated it in the run of this name; all in hexadecimal.

    `key` is the agent's for signatures. `logs`: what it calls the ledger, and called it before.
    """

    key: str
    logs: list[str]
    number: int
    head: str
    statement: str
    run: str


class Witness:
    """The heads in a file; `InputError` if it is not as it was written.

    `checker` checks what agents sign in the run under way, `keys` has their keys for that by rank.
    """

    def __init__(self, path: Path, checker: Signer) -> None:
        self._path = path
        self._checker = checker
        self.trouble = ""
        """Why nothing more can be written, if so."""
        self._kept: dict[str, dict[str, _Line]] = {}
        """By key and log, the line with the last head."""
        if os.path.lexists(path) and self._read():
            with suppress(InputError), locks.held(path.parent, _PATIENCE):
                self._read()  # others may have added some
                key_files.write(path, b"".join(map(_written, self._last())).decode())

    def _read(self) -> bool:
        """Read the file; whether most of its lines are of heads that others followed."""
        text = key_files.read(self._path, most=files.MOST)
        if text and not text.endswith("\n"):
            text = self._mended(text)
        lines = text.splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                read: _Line = from_json(line, _Line)
            except Undecodable as error:
                raise InputError(f"{self._path}, line {number}, is not posse's: {error}") from None
            self._keep(read)
        return len(lines) > _MOST_LINES * len(self._last())

    def _last(self) -> list[_Line]:
        """The line with the last head of each ledger; one may be of several names."""
        return list({id(n): n for kept in self._kept.values() for n in kept.values()}.values())

    def take(self, rank: int, key: bytes, head: LedgerHead) -> str:
        """Keep what agent `rank`, which signs by `key`, told; why that cannot be, if it cannot.

        `RemoteProtocolError` if it did not sign it.
        """
        heads = _split(head.heads)
        place, content = head.heads[-HEAD_BYTES:], head_content(head.log, head.number)
        self._checker.check_statement(rank, HEAD_KIND, place, head.statement)
        if head.statement[:HASH_BYTES] != hash_of(content):
            raise RemoteProtocolError("bad-signature", "of another head")
        log, kept = head.log.hex(), self._kept.get(key.hex(), {})
        last = kept.get(log)
        if last is not None and (last.number, last.head) == (head.number, heads[-1]):
            return ""  # told again, by a journal
        if last is not None and not _goes_on(last, head.number, heads):
            return (
                f"agent {rank}'s ledger does not go on from where it was: it was deleted, an "
                "earlier one was put in its place, or it is one of two copies, so that rewards may "
                "cost more than their ledger says. Give the agent the right file; or, if its "
                f"rewards are new, take the lines with {log} out of {self._path}"
            )
        if last is None and len(kept) >= _MOST_LOGS:
            raise RemoteProtocolError("too-many-ledgers", str(_MOST_LOGS))
        # a ledger that was moved with its log has another name now, and its old one ends
        before = [
            name
            for name, known in kept.items()
            if head.number - known.number < control.MOST_HEADS
            and _goes_on(known, head.number, heads)
        ]
        line = _Line(
            key=key.hex(),
            logs=sorted({log, *before}),
            number=head.number,
            head=heads[-1],
            statement=head.statement.hex(),
            run=self._checker.run.hex(),
        )
        self._keep(line)
        self._add(line)
        return ""

    def _keep(self, line: _Line) -> None:
        kept = self._kept.setdefault(line.key, {})
        for log in line.logs:
            before = kept.get(log)
            if before is None or (before.number, before.head) <= (line.number, line.head):
                kept[log] = line

    def _add(self, line: _Line) -> None:
        if self.trouble:
            return
        text = _written(line)
        try:
            with locks.held(self._path.parent, _PATIENCE):  # nobody makes it shorter now
                descriptor = files.append(self._path)
                try:
                    if not files.add(descriptor, self._path, text):
                        self.trouble = f"{self._path} cannot be written: its disk is full"
                finally:
                    os.close(descriptor)
        except OSError as error:
            self.trouble = f"{self._path} cannot be written: {error.strerror}"
        except InputError as error:
            self.trouble = str(error)

    def _mended(self, text: str) -> str:
        """The text without its last line, which was not written whole, in the file, too."""
        whole = text[: text.rfind("\n") + 1]
        try:
            descriptor = files.claim(self._path, make=False)
            try:
                os.ftruncate(descriptor, len(whole.encode()))
            finally:
                os.close(descriptor)
        except OSError as error:
            self.trouble = f"{self._path} cannot be written: {error.strerror}"
        return whole


def _written(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _split(heads: bytes) -> list[str]:
    if len(heads) % HEAD_BYTES:
        raise RemoteProtocolError("malformed", f"{len(heads)} bytes of heads")
    return [heads[at : at + HEAD_BYTES].hex() for at in range(0, len(heads), HEAD_BYTES)]


def _goes_on(last: _Line, number: int, heads: list[str]) -> bool:
    """Whether a ledger with these last heads had this one; true if that was too long ago."""
    since = number - last.number
    return since >= control.MOST_HEADS or (
        0 < since < len(heads) and heads[-1 - since] == last.head
    )
