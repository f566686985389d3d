"""The sums that a coordinator can form of masked reports."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from posse.audit.sums import RevealedSums
from posse.protocol.masking import keystream, pack_words
from posse.system.reading import MessageReader
from tests.audit.test_view import seen
from tests.support.runfile import describe_run


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=2, max_size=5))
@example([(1, 4), (2, 5), (3, 6)])
def test_sums_are_those_of_whom_all_revealed_their_masks(rewards):
    seeds = [bytes([rank]) * 32 for rank in range(len(rewards))]
    pair = np.array([7, 9], dtype=np.uint64)  # added by agent 0, taken off by agent 1
    sums = RevealedSums(MessageReader((), None, None), len(rewards), precision=4)
    for rank, (seed, own) in enumerate(zip(seeds, rewards, strict=True)):
        masks = [pair, -pair][rank] if rank < 2 else pair * np.uint64(0)
        words = np.array(own, dtype=np.uint64) * np.uint64(16) + keystream(seed, 1, 2) + masks
        sums.hear(rank, -1, "Masked", [1, pack_words(words)])
        assert dict(sums.form()) == {}
        sums.hear(rank, -1, "Unmasked", [1, seed])
    everybody = f"of sum 1 over agents {[*range(len(rewards))]}"
    assert dict(sums.form()) == {
        f"word {n} {everybody}": float(sum(own[n] for own in rewards)) for n in (0, 1)
    }


def test_the_coordinator_sees_the_sums_that_masks_allow():
    given = {"horizon": 100, "group_size": 2, "decomposition": "greedy"}
    users = describe_run("anonymous", 6, [1.0, 1.0], parameters=given, engine="memory")
    found = seen(users, "coordinator")
    sums = {name: value for name, value in found.items() if " over agents " in name}
    # every reward is 1, so that a sum counts whom it covers
    assert sums
    for name, value in sums.items():
        members = name.partition("[")[2].rstrip("]").split(", ")
        assert value % len(members) == 0
        assert value >= len(members) > 1
    assert not [name for name in seen(users, "messages") if " over agents " in name]
