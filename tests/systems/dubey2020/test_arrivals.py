"""What is kept from slot to slot: nothing comes out otherwise than where it is not kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse_systems.dubey2020.agent import SharedMeans
from posse_systems.dubey2020.flooding import Flood, SeenMessages
from posse_systems.dubey2020.messages import Bundle, means_record

GAMMA = 2
SAID = {1: [(1, 0), (2, 1), (3, 1)], 2: [(2, 0), (0, 1), (4, 1)]}
"""By each of two neighbours: origins, and how old their messages are."""

WRONG = ("mean", "counts-go-down", "life", "created", "origin", "lacks", "twice", "empty")


def bundle(slot: int, neighbour: int, wrong: str | None) -> Bundle:
    """What a neighbour says in a slot, wrong in its last message."""
    said = [(origin, age) for origin, age in SAID[neighbour] if age < slot]
    items = np.zeros(len(said), dtype=means_record(2))
    for item, (origin, age) in zip(items, said, strict=True):
        item["origin"], item["created"], item["life"] = origin, slot - age, GAMMA - age
        item["means"], item["counts"] = [0.25, np.nan if slot < 3 else 0.5], [slot - age, 0]
    match wrong:
        case "mean":
            items["means"][-1] = 7.0
        case "counts-go-down":
            items["counts"][-1] = 0
        case "life" | "created" | "origin":
            items[wrong][-1] += 1
        case "lacks":
            items = items[:-1]
        case "twice":
            items = np.concatenate([items, items[-1:]])
        case "empty":
            items = items[:0]
    return Bundle(slot, items.tobytes())


class Two:
    """Agents 0 and 5, who have the same neighbours, in one process."""

    def __init__(self, *, keeps: bool) -> None:
        self.keeps, self.kept = keeps, 0
        ties = [np.random.default_rng(0)] * 2
        self.learner = SharedMeans(2, ties, 6, (0.0, 1.0), 2)
        self.seen = SeenMessages(6, GAMMA, means_record(2), 2)
        self.floods = [Flood(rank, (1, 2), self.seen) for rank in (0, 5)]

    def slot(self, *bundles: dict[int, Bundle], late: bool) -> list[object]:
        """What comes of what each hears; `late`: the second of them is asked by itself."""
        found: list[object] = []
        for flood, heard in zip(self.floods, bundles, strict=True):
            flood.begin_slot()
            flood.bundle(self.learner.message[:1])
            for neighbour, said in heard.items():
                flood.take(neighbour, said)
        for floods in (self.floods[:1], self.floods[1:]) if late else (self.floods,):
            if not self.keeps and self.seen.arrivals is not None:
                self.seen.arrivals.state = None  # so that no slot is like the one before
            news = self.seen.merge(floods, self.learner)
            self.kept += self.seen.arrivals is not None and self.seen.arrivals.repeated is not None
            self.learner.hear(news)
            found += [news.records[news.index].tolist(), news.row.tolist(), news.cell.tolist()]
        found += [flood.relayed.tolist() for flood in self.floods]
        found += [flood.refused.copy() for flood in self.floods]
        known, learner = self.seen, self.learner
        known.settle()
        return [*found, *(x.tolist() for x in (known.tallies, known.latest, learner.heard))]


SLOT = st.tuples(
    st.sampled_from([None] * 12 + [*WRONG]), st.sampled_from([1, 2]), st.integers(0, 9)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(SLOT, min_size=1, max_size=16))
def test_what_is_kept_from_slot_to_slot_changes_nothing(slots) -> None:
    keeps, looks = Two(keeps=True), Two(keeps=False)
    for slot, (wrong, liar, late) in enumerate(slots, start=1):
        lies = {n: bundle(slot, n, wrong if n == liar else None) for n in SAID}
        # a liar may lie to one of them only: repr, since NaN is not NaN
        heard = {n: bundle(slot, n, None) for n in SAID} if late % 2 else lies
        found, expected = (two.slot(heard, lies, late=late == 0) for two in (keeps, looks))
        assert repr(found) == repr(expected)
    assert looks.kept == 0


def test_slots_that_are_alike_are_looked_at_no_more() -> None:
    two = Two(keeps=True)
    for slot in range(1, 9):
        heard = {n: bundle(slot, n, None) for n in SAID}
        two.slot(heard, heard, late=False)
    # in slot 1 nothing is passed on; 3 is like 2
    assert two.kept == len(range(3, 9))
    assert not any(flood.refused for flood in two.floods)


def test_it_goes_on_where_the_lower_half_of_the_slot_is_full() -> None:
    keeps, looks, full = Two(keeps=True), Two(keeps=False), (1 << 16) - 1
    for flood in (*keeps.floods, *looks.floods):
        flood.slot = full - 6
    for slot in range(full - 5, full + 6):
        heard = {n: bundle(slot, n, None) for n in SAID}
        found, expected = (two.slot(heard, heard, late=False) for two in (keeps, looks))
        assert repr(found) == repr(expected)
    assert keeps.kept > 6
    assert not any(flood.refused for flood in keeps.floods)
