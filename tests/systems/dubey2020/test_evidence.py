"""What comes of an agent that signs two messages for one slot, where others pass them on."""

import struct
from typing import Any

import numpy as np
import pytest

from posse.errors import RunFailed
from posse.protocol.errors import Contradiction
from posse.protocol.signing import HASH_BYTES, Signer
from posse.results.record import RunRecord
from posse_systems.dubey2020.evidence import KIND, Evidence, place_of
from posse_systems.dubey2020.flooding import Flood
from posse_systems.dubey2020.messages import Bundle
from tests.support.signing import RING, require_proof, run_signed, signers, states_anew

SYSTEMS: dict[str, dict[str, Any]] = {
    "private-ucb": {"epsilon": 1.0},
    "byzantine-ucb": {"assumed_contamination": 0.05},
    "robust-private-ucb": {"epsilon": 1.0, "assumed_contamination": 0.2},
}


class TwoTongued:
    """Agent 0, which tells the neighbours in `to` another message of its own, and signs it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *to: int, signs: bool = True) -> None:
        self.to, self.signs = to, signs
        self.flood: Flood | None = None
        bundle, take = Flood.bundle, Flood.take

        def bundles(flood: Flood, own: Any) -> Bundle:
            if flood.rank == 0:
                self.flood = flood
            return bundle(flood, own)

        def takes(flood: Flood, sender: int, message: Bundle) -> None:
            take(flood, sender, self.told(flood.rank, sender, message))

        monkeypatch.setattr(Flood, "bundle", bundles)
        monkeypatch.setattr(Flood, "take", takes)
        monkeypatch.setattr(Flood, "take_all", lambda *_: False)

    @property
    def signer(self) -> Signer:
        assert self.flood is not None
        assert self.flood.signer is not None
        return self.flood.signer

    def told(self, rank: int, sender: int, message: Bundle) -> Bundle:
        if sender or rank not in self.to:
            return message
        assert self.flood is not None
        records = np.frombuffer(message.items, dtype=self.flood.record_type).copy()
        if "reward" in records.dtype.names:
            records["reward"][0] = 0.75
        else:
            records["means"][0] = np.nan_to_num(records["means"][0]) + 1e-3
        own = records[:1].tobytes()
        if self.signs:
            signed = states_anew(self.signer, KIND, place_of(own), own[10:-64])
            own = own[:-64] + signed[HASH_BYTES:]
        return Bundle(message.slot, own + records[1:].tobytes())


def run(system: str, on_missing: str = "continue") -> RunRecord:
    return run_signed(system, RING, on_missing, horizon=60, gamma="diameter", **SYSTEMS[system])


@pytest.mark.inside
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_origin_is_dismissed_by_proof_and_the_others_go_on(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = TwoTongued(monkeypatch, 1)
    record = run(system)
    assert record.dismissed == {0: "equivocation"}
    assert record.refused.keys() == {"equivocation"}
    require_proof(record, liar.signer, KIND)


@pytest.mark.inside
def test_a_run_that_needs_all_ends_by_the_origins_name_and_no_relays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    TwoTongued(monkeypatch, 1)
    with pytest.raises(RunFailed, match="agent 0 told others different things") as failed:
        run("private-ucb", "end")
    assert "refused what" not in str(failed.value)


@pytest.mark.inside
def test_a_message_that_its_origin_did_not_sign_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    TwoTongued(monkeypatch, 1, signs=False)
    record = run("private-ucb")
    assert not record.dismissed
    assert record.refused.keys() == {"bad-signature"}


def message(signer: Signer, slot: int, reward: float, life: int = 2) -> bytes:
    """One that the signer's agent signs as agent 0, with a content of eight bytes."""
    content = np.float64(reward).tobytes()
    head = struct.pack("<IIH", 0, slot, life)
    return head + content + states_anew(signer, KIND, head[:8], content)[HASH_BYTES:]


def proofs(*messages: bytes, slot: int = 5) -> list[Contradiction]:
    """What an agent that hears these, one from each neighbour, can prove."""
    kind = np.dtype("<u4,<u4,<u2,<f8,V64")
    kind.names = "origin", "created", "life", "content", "signature"
    records = np.frombuffer(b"".join(messages), kind)
    return Evidence(4, signers(2)[1]).compare(slot, records)


def test_what_an_honest_agent_signed_elsewhere_proves_nothing_against_it() -> None:
    own = signers(2)[0]
    said = message(own, 5, 0.5)
    assert len(proofs(said, message(own, 5, 0.25))) == 1
    assert proofs(said, said, message(own, 5, 0.5, life=1)) == []
    of_slot_4, of_another_run = message(own, 4, 0.25), message(signers(2, b"another")[0], 5, 0.25)
    moved = of_slot_4[:4] + said[4:8] + of_slot_4[8:]
    cut = said[:10] + bytes(8) + said[18:]
    for replayed in (of_slot_4, moved, of_another_run, cut):
        assert proofs(said, replayed) == []
        # nor does what is forged hide the guilt of who is guilty
        assert len(proofs(replayed, said, message(own, 5, 0.25))) == 1
