"""The checker of what a server could see finds what breaks the promise."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posse.protocol.machine import COORDINATOR
from posse.protocol.masking import Masked, keystream, pack_words, unpack_words
from posse.protocol.message import Message
from posse.protocol.wire import encode
from posse_systems.esfandiari2022.anonymity import Observations, check
from posse_systems.esfandiari2022.messages import Commit, Sealed
from tests.support.anonymous import FIVE_FIVE, Link, assign


def tampered(altered: Callable[[int, Message], Message], **changes: Any) -> Observations:
    return Link([FIVE_FIVE], altered=altered, **changes).run().verdict()


def test_the_checker_finds_a_report_without_masks() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 4 and isinstance(message, Masked):
            return Masked(message.number, pack_words(np.full(8, 200, dtype=np.uint64)))
        return message

    assert any("unhidden (4,)" in text for text in tampered(altered).violations)


def test_the_checker_finds_a_report_with_its_self_mask_alone() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 4 and isinstance(message, Masked):
            own = keystream(link.players[4].masker.own_seed(message.number), message.number, 8)
            return Masked(message.number, pack_words(own + np.uint64(3)))
        return message

    link = Link([FIVE_FIVE], altered=altered)
    assert any("unhidden (4,)" in text for text in link.run().verdict().violations)


def test_the_checker_finds_groups_that_are_too_small() -> None:
    # players with C = 2 in a run that promises C = 3
    link = Link([assign(0, 0, 0, 1, 1, 1, 2, 2, 2, 2)])
    link.server.group_size = 2
    for player in link.players:
        player.masker.group_size = 2
    link.run()
    seen = check(link.heard, 2, 8)
    assert (seen.violations, seen.smallest) == ([], 2)
    strict = check(link.heard, 3, 8)
    assert strict.violations


def test_the_checker_finds_a_word_in_a_round_without_its_sender() -> None:
    def altered(user: int, message: Message) -> Message:
        if isinstance(message, Masked):
            words = unpack_words(message.words, 8)
            words[words == 0] = 9
            return Masked(message.number, pack_words(words))
        return message

    assert any("round without it" in text for text in tampered(altered).violations)


def test_the_checker_finds_a_report_in_the_clear_and_unknown_messages() -> None:
    def altered(user: int, message: Message) -> Message:
        if user == 1 and isinstance(message, Sealed):
            return Sealed(message.number, bytes(80))
        return message

    clear = tampered(altered, aggregation="sink")
    assert any("in the clear" in text for text in clear.violations)
    link = Link([FIVE_FIVE]).run()
    frame = encode(Commit(0, 1), run=0, source=3, sequence=9, now=0.0, sent=0)
    link.heard(3, COORDINATOR, frame)
    assert any("agent 3" in text for text in link.verdict().violations)
