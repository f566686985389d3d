"""Compiled code for an agent alone against the same, slowly, in Python."""

import math
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse_systems.dubey2020.agent import SharedMeans
from posse_systems.dubey2020.flooding import Flood, SeenMessages
from posse_systems.dubey2020.messages import Bundle, means_record

kernel = pytest.importorskip("posse_systems.dubey2020.kernel", reason="posse is not compiled")

SLOT = 9
BROKEN = ["nothing", "origin", "created", "life", "short", "infinite", "below", "above", "late"]


@st.composite
def slots(draw):
    """Origins, their messages, and what was heard of them before."""
    arms, count = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    origins = sorted(draw(st.sets(st.integers(0, 90), min_size=count, max_size=count)))
    record = means_record(arms)
    mean = st.one_of(st.just(math.nan), st.floats(0, 1))
    heard = np.zeros((count, 1, 2 * arms))
    bundles = []
    for i, origin in enumerate(origins):
        means = [draw(mean) for _ in range(arms)]
        counts = [draw(st.integers(0, SLOT // arms)) for _ in range(arms)]
        before = [draw(st.integers(0, n)) for n in counts]
        heard[i, 0, :arms] = [0 if math.isnan(m) else n for m, n in zip(means, before, strict=True)]
        heard[i, 0, arms:] = [draw(st.floats(0, 5)) for _ in range(arms)]
        bundles.append(np.array([(origin, SLOT, 1, means, counts)], record).tobytes())
    return arms, np.array(origins), bundles, heard


def slowly(arms, bundles):
    """Counts and sums of each message, 0 where there is no mean."""
    rows = []
    for items in bundles:
        said = np.frombuffer(items, means_record(arms))[0]
        known = [not math.isnan(mean) for mean in said["means"].tolist()]
        counts = [
            float(n) if k else 0.0 for n, k in zip(said["counts"].tolist(), known, strict=True)
        ]
        sums = [
            n * mean if k else 0.0 for n, mean, k in zip(counts, said["means"], known, strict=True)
        ]
        rows.append([counts + sums])
    return np.array(rows)


@settings(deadline=None)
@given(slots())
def test_messages_in_order_are_taken_as_arrays_take_them(case):
    arms, origins, bundles, heard = case
    assert kernel.hear(bundles, origins, SLOT, 0.0, 1.0, heard)
    assert heard.tobytes() == slowly(arms, bundles).tobytes()


@settings(deadline=None)
@given(slots(), st.sampled_from(BROKEN), st.data())
def test_what_is_out_of_the_ordinary_is_left_to_arrays_and_changes_nothing(case, how, data):
    arms, origins, bundles, heard = case
    at, arm = data.draw(st.integers(0, len(bundles) - 1)), data.draw(st.integers(0, arms - 1))
    said = np.frombuffer(bundles[at], means_record(arms)).copy()
    match how:
        case "origin" | "created" | "life":
            said[how] += 1
        case "infinite" | "below" | "above":
            said["means"][0, arm] = {"infinite": math.inf, "below": -0.5, "above": 1.5}[how]
        case "late":
            said["counts"][0, arm] = SLOT + 1
    bundles[at] = said.tobytes()[: -1 if how == "short" else None]
    if how == "nothing":
        heard[at, 0, arm] = SLOT  # more than it says now
    before = heard.tobytes()
    assert not kernel.hear(bundles, origins, SLOT, 0.0, 1.0, heard)
    assert not kernel.hear(bundles[:-1], origins, SLOT, 0.0, 1.0, heard)
    assert heard.tobytes() == before


def test_without_a_range_only_infinite_means_are_out_of_the_ordinary():
    said = np.array([(3, SLOT, 1, [1e9, -1e9], [1, 1])], means_record(2))
    heard = np.zeros((1, 1, 4))
    assert kernel.hear([said.tobytes()], np.array([3]), SLOT, -math.inf, math.inf, heard)
    said["means"][0, 0] = -math.inf
    assert not kernel.hear([said.tobytes()], np.array([3]), SLOT, -math.inf, math.inf, heard)


@settings(deadline=None)
@given(slots(), st.floats(0.1, 20), st.data())
def test_the_best_arm_is_that_of_algorithm_2(case, log, data):
    arms, _, bundles, heard = case
    kernel.hear(bundles, case[1], SLOT, 0.0, 1.0, heard)
    own = np.array([[data.draw(st.integers(0, 3)) for _ in range(2 * arms)]], dtype=float)
    index = []
    for k in range(arms):
        N, s = (own[0, at] + reduce(add, heard[:, 0, at].tolist()) for at in (k, arms + k))
        index.append(s / N + math.sqrt(2 * log / N) if N else math.inf)
    best = index.index(max(index))
    alone = index.count(max(index)) == 1 and math.inf not in index
    assert kernel.best(own, heard, log) == (best if alone else -1)


def test_arms_that_are_level_or_unknown_are_left_to_arrays():
    heard = np.zeros((0, 1, 4))
    assert kernel.best(np.array([[2.0, 2.0, 1.0, 1.0]]), heard, 1.0) == -1
    assert kernel.best(np.array([[2.0, 0.0, 1.0, 0.0]]), heard, 1.0) == -1
    assert kernel.best(np.array([[2.0, 2.0, 0.5, 1.0]]), heard, 1.0) == 1


def test_an_arm_that_few_know_is_explored_by_sqrt_2_log_t_over_N():
    own, heard = np.array([[100.0, 1.0, 90.0, 0.0]]), np.zeros((0, 1, 4))
    assert kernel.best(own, heard, 0.8) == 1  # .90 + .13 against 0 + 1.26
    assert kernel.best(own, heard, 0.4) == 0  # .90 + .09 against 0 + .89


def test_steady_slots_leave_an_agent_where_arrays_leave_it():
    record, ends = means_record(2), []
    for by_kernel in (True, False):
        known, learner = SeenMessages(3, 1, record), SharedMeans(2, [np.random.default_rng(0)], 3)
        flood = Flood(0, (1, 2), known)
        for slot in range(1, 8):
            flood.begin_slot()
            for rank in (1, 2):
                said = (rank, slot, 1, [0.25 * rank, 1 / slot], [1, slot - 1])
                flood.take(rank, Bundle(slot, np.array([said], record).tobytes()))
            if by_kernel and slot > 3:  # two slots alike were seen
                assert known.hear_repeated(flood, learner)
            else:
                learner.hear(known.merge([flood], learner))
        known.settle()
        ends.append([a.tobytes() for a in (learner.heard, known.tallies, known.latest)])
        assert known.hop_counts.tolist() == [[0, 14]]  # 7 slots, 2 neighbours
    assert ends[0] == ends[1]
