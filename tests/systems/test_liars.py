"""Servers that lie, and agents in league with them: what they bring honest agents to tell."""

from collections.abc import Callable
from typing import Any

import pytest

from posse.agent.masking import SumMasker
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.sharing import derived, pack
from tests.systems.liars import Liars, search

TOLD = ("Keys", "Survivors", "Settle", "Confirm", "Reveal", "Unmask", "Assign")
"""Messages in which the liars lie."""


def test_of_honest_servers_the_liars_read_the_whole_sum_and_no_less() -> None:
    for seed in range(60):
        liars = Liars(seed, honest_story=True)
        lie = liars.lie()
        left_out = int(liars.grouped)  # a round of a group leaves a member out
        assert lie.smallest is not None
        assert len(lie.smallest) == len(liars.honest) - left_out
        assert not lie.refused
        assert not lie.violation


@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 4_000), marks=pytest.mark.slow)]
)
def test_no_lie_reads_less_than_a_sum_over_those_that_are_claimed(seeds: range) -> None:
    found, told, refused = search(seeds)
    assert [lie.violation for lie in found] == []
    for name in TOLD:
        assert told[name] > 10
        assert refused[name] > 10


def _told_that_all_are_lost(patch: pytest.MonkeyPatch) -> None:
    """Who is told that as many are lost as may be asks for no tags: once it was so."""
    real = SumMasker.reveal

    def reveal(masker: SumMasker, number: int, tags: bytes = b"") -> bytes:
        if not masker.covers or masker.dropouts:
            return real(masker, number, tags)
        if number == masker.revealed or number != masker.reported:
            raise RemoteProtocolError("stale-unmask")
        masker.revealed = number
        return masker.own_seed(number)

    patch.setattr(SumMasker, "reveal", reveal)


def _without_tags(patch: pytest.MonkeyPatch) -> None:
    def reveal(masker: SumMasker, number: int, tags: bytes = b"") -> bytes:
        if number == masker.revealed or number != masker.reported:
            raise RemoteProtocolError("stale-unmask")
        masker.revealed = number
        return masker.own_seed(number)

    patch.setattr(SumMasker, "reveal", reveal)


def _of_any_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SumMasker, "_check_size", lambda masker, group, least: None)


def _shares_at_once(patch: pytest.MonkeyPatch) -> None:
    def share(masker: SumMasker, number: int, owner: int) -> bytes:
        if owner not in masker.survivors or owner == masker.rank or number != masker.last:
            raise RemoteProtocolError("wrong-member")
        return pack([derived(masker.seeds[owner][32:], owner, number)])

    patch.setattr(SumMasker, "share", share)


def _a_mask_too_few(patch: pytest.MonkeyPatch) -> None:
    real: Any = SumMasker._shared_masks

    def shared_masks(masker: SumMasker, number: int, group: Any, which: Any, width: int) -> Any:
        return real(masker, number, group, which & (which.cumsum() > 1), width)

    patch.setattr(SumMasker, "_shared_masks", shared_masks)


@pytest.mark.parametrize(
    ("plant", "within", "said"),
    [
        (_told_that_all_are_lost, 400, "alone, and at least"),
        (_without_tags, 200, "alone, and at least"),
        (_of_any_size, 200, "alone, and at least"),
        (_a_mask_too_few, 10, "words that are not what hides its report"),
        pytest.param(_shares_at_once, 8_000, "alone, and at least", marks=pytest.mark.slow),
    ],
)
def test_what_agents_do_not_check_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    within: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    assert any(said in Liars(seed).lie().violation for seed in range(within))
