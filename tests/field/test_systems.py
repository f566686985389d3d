"""Every system of the field: what leaves its processes, of what it depends, and that it answers."""

import io
import json
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from rich.console import Console

from posse.cli import series as closing
from posse.cli.main import main
from posse.coordinator.setups import agent_setups
from posse.durable.directory import RunDirectory
from posse.engines import memory
from posse.errors import ArmsError, SpecError
from posse.hosts.sources import Chance
from posse.protocol.machine import COORDINATOR
from posse.protocol.masking import PublicKey
from posse.protocol.wire import encode, read_header
from posse.results.record import RunRecord
from posse.seeds import Purpose
from posse.system import get_system, names
from posse.system.reading import Recorder
from posse.system.record import Field
from posse_systems.dubey2020.messages import means_record, reward_record
from posse_systems.esfandiari2022 import anonymity
from posse_systems.li2022.messages import Adv
from tests.support.field import (
    CASES,
    FAMILIES,
    MASKED,
    MASKING,
    MEANS,
    VARIATIONS,
    Frames,
    allowed,
    captured,
    documented,
    family_of,
    field,
    logs,
    message,
    sent,
)
from tests.support.hosts import Recorded, begin, sources
from tests.support.noise import needs_noise

needs_noise()

LAB = {"Report", "Due", "Advance", "Attested"}


@pytest.fixture(scope="module")
def rewards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logs(tmp_path_factory.mktemp("rewards"), MEANS, seed=5)


@cache
def played(system: str, rewards: Path, variation: int = 0) -> tuple[RunRecord, Frames]:
    """A run that several tests look at."""
    parameters = [{}, *VARIATIONS.get(system, [])][variation]
    return captured(field(system, rewards, parameters=parameters))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return logs(tmp_path_factory.mktemp("others"), MEANS[::-1], seed=6)


def variations(system: str) -> range:
    return range(1 + len(VARIATIONS.get(system, [])))


WITH_KEYS = {"Held", "Stated"}
"""Sent only where agents sign; see tests/systems/li2022/test_comparison.py."""

WITH_LOSSES = {"Covered", "Survivors", "Rest", "Settle", "Settled", "Confirm", "Reveal", "Share"}
"""Sent only where masked sums may lose agents; see tests/runs/test_missing.py."""


def arms_without_replacement() -> dict[str, Any]:
    return {"kind": "csv", "path": "rewards-{rank}.csv", "count": len(MEANS)}


def test_every_system_runs_in_the_field_or_says_why_not() -> None:
    fit = [name for name in names() if isinstance(get_system(name).field, Field)]
    assert set(fit) == set(CASES)
    assert {family_of(name) for name in fit} == FAMILIES


@pytest.mark.slow
@pytest.mark.parametrize("system", CASES)
def test_a_system_sends_what_the_page_lists_and_ends(system: str, rewards: Path) -> None:
    for variation in variations(system):
        record, frames = played(system, rewards, variation)
        page, said = allowed(system), sent(frames)
        assert said["agent"] <= page["agent"]
        assert said["coordinator"] <= page["coordinator"]
        assert LAB.isdisjoint(said["agent"] | said["coordinator"])
        for _, _, frame in frames:
            header = read_header(frame)
            assert header.sent % 1_000_000 == 0
            assert header.now * 1e3 == pytest.approx(round(header.now * 1e3), abs=1e-6)
        assert record.status in ("identified", "horizon")
        assert not record.refused
        assert record.privacy is not None
        assert record.privacy.spent_per_agent is None


@pytest.mark.slow
def test_the_page_lists_nothing_that_nobody_sends(rewards: Path) -> None:
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for system in CASES:
        for variation in variations(system):
            said = sent(played(system, rewards, variation)[1])
            seen[family_of(system)] |= said["agent"] | said["coordinator"]
    for heading in MASKING:
        seen[MASKED] |= seen[heading]
    for heading in (*FAMILIES, MASKED):
        listed = documented(heading)
        assert (listed["agent"] | listed["coordinator"]) - WITH_KEYS - WITH_LOSSES <= seen[heading]


def controls(frames: Frames) -> dict[int, list[list[Any]]]:
    """By sender: its control messages in order, but for those that a clock alone brings about."""
    out: defaultdict[int, list[list[Any]]] = defaultdict(list)
    for source, _, frame in frames:
        if read_header(frame).plane == 1 and message(frame)[0] != "SlotReached":
            out[source].append(message(frame))
    return out


LOCKSTEP = [
    name
    for name in CASES
    if name not in ("mase", "dp-mase", "corrupted-elimination", "central")
    and not name.endswith("-mab")
]


@pytest.mark.slow
@pytest.mark.parametrize("system", LOCKSTEP)
def test_control_messages_do_not_depend_on_rewards(
    system: str, rewards: Path, others: Path
) -> None:
    """Byte for byte the same for other rewards, but for the answer where the page says so."""
    one, other = (controls(played(system, where)[1]) for where in (rewards, others))
    if get_system(system).end == "answer":
        for said in (one, other):
            for messages in said.values():
                for text in messages:
                    if text[0] == "Finished":
                        assert text[1] is not None
                        text[1] = None
    assert one == other


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab", "hdp-mab", "single-mab"])
def test_control_messages_of_eliminations_tell_of_rounds_at_most(
    system: str, rewards: Path, others: Path
) -> None:
    """How many rounds there were follows from noisy means; a round's messages from nothing."""
    per_run = []
    for where in (rewards, others):
        said = controls(played(system, where)[1])
        rounds: defaultdict[tuple[int, int], list[Any]] = defaultdict(list)
        rest: defaultdict[int, list[Any]] = defaultdict(list)
        for source, messages in said.items():
            for kind, *fields in messages:
                if kind == "Quiet":
                    rounds[(source, fields[0])].append(fields[1:])
                else:
                    rest[source].append([kind] if kind == "Finished" else [kind, *fields])
        per_run.append((rounds, rest))
    (one, one_rest), (other, other_rest) = per_run
    assert one_rest == other_rest
    for at in one.keys() & other.keys():
        assert sorted(one[at]) == sorted(other[at])


@pytest.mark.parametrize("system", ["mase", "dp-mase", "central", "corrupted-elimination"])
def test_control_messages_of_votes_tell_of_the_end_at_most(
    system: str, rewards: Path, others: Path
) -> None:
    one, other = (controls(played(system, where)[1]) for where in (rewards, others))
    if system == "corrupted-elimination":
        assert not any(text[0] == "Finished" for said in one.values() for text in said)
    without = [
        {who: [text for text in texts if text[0] != "Finished"] for who, texts in said.items()}
        for said in (one, other)
    ]
    assert without[0] == without[1]


@pytest.mark.parametrize("system", ["ucb1", "parallel-ucb"])
def test_who_sends_nothing_does_not_send_its_answer_either(system: str, rewards: Path) -> None:
    _, frames = played(system, rewards)
    finished = [message(frame) for _, _, frame in frames if message(frame)[0] == "Finished"]
    assert finished == [["Finished", None, ""]] * 4
    short = field(
        system, logs(rewards / "short", MEANS, seed=7, rows=10), arms=arms_without_replacement()
    )
    _, frames = captured(short)
    assert ["Finished", None, ""] in [message(frame) for _, _, frame in frames]
    assert not any(b"used up" in frame for _, _, frame in frames)


@pytest.mark.parametrize("exchange", ["gis", "flooding", "gossip"])
def test_a_mean_is_noised_once_and_passed_on_byte_for_byte(exchange: str, rewards: Path) -> None:
    _, frames = captured(field("ddp-mab", rewards, parameters={"exchange": exchange}))
    said: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
    copies = 0
    for _, _, frame in frames:
        kind, *fields = message(frame)
        if kind == "Data":
            round_, _, origins, means = fields
            width = len(means) // len(origins)
            for place, origin in enumerate(origins):
                said[(round_, origin)].add(means[place * width : (place + 1) * width])
                copies += 1
    assert copies > len(said)
    assert {len(rows) for rows in said.values()} == {1}


def test_a_released_mean_is_sent_again_as_it_was(rewards: Path) -> None:
    """`private-ucb`: a mean changes when its count does, so one number per arm and count."""
    _, frames = played("private-ucb", rewards)
    said: defaultdict[tuple[int, int, int], set[float]] = defaultdict(set)
    copies = 0
    for _, _, frame in frames:
        kind, *fields = message(frame)
        if kind == "Bundle":
            for record in np.frombuffer(fields[1], dtype=means_record(len(MEANS))):
                for arm in np.flatnonzero(record["counts"]):
                    at = (int(record["origin"]), int(arm), int(record["counts"][arm]))
                    said[at].add(float(record["means"][arm]))
                    copies += 1
    assert copies > 10 * len(said)
    assert {len(means) for means in said.values()} == {1}


def test_masks_hide_every_user_and_keys_are_new_in_every_run(rewards: Path) -> None:
    spec = field("anonymous", rewards)
    public = []
    for _ in range(2):
        heard = Recorder()
        memory.run(spec, 0, tap=heard)
        verdict = anonymity.check(heard, group_size=2, precision=16)
        assert verdict.count > 0
        assert verdict.violations == []
        said = [message(frame) for _, _, frame in heard]
        public.append({fields[1] for fields in said if fields[0] == PublicKey.__name__})
    assert len(public[0]) == len(public[1]) == 4
    assert public[0].isdisjoint(public[1])


@pytest.mark.parametrize("system", ["cooperative-ucb", "byzantine-ucb", "central", "tdfs-ucb"])
def test_a_system_without_privacy_says_so(system: str, rewards: Path) -> None:
    (said,) = field(system, rewards).advice()
    assert said.startswith(f"{system} does not protect real rewards: ")
    assert field(system, rewards, mode="lab").advice() == []


@pytest.mark.parametrize(
    ("system", "changes", "match"),
    [
        (
            "byzantine-ucb",
            {"parameters": {"contamination": {"rate": 0.1}}},
            "no agent is told to lie",
        ),
        (
            "byzantine-ucb",
            {"parameters": {"assumed_contamination": None}},
            "assumed_contamination: is required in the field",
        ),
        ("tdfs-ucb", {"arms": arms_without_replacement()}, "players share the arms"),
    ],
)
def test_what_a_system_refuses_in_the_field(
    system: str, changes: dict[str, Any], match: str, rewards: Path
) -> None:
    with pytest.raises(SpecError, match=match):
        field(system, rewards, **changes)


@pytest.mark.parametrize("kind", ["csv", "python"])
def test_arms_that_all_share_and_that_are_missing_are_the_coordinators(
    kind: str, rewards: Path
) -> None:
    where = {"csv": {"path": "nowhere.csv"}, "python": {"target": "no_such_module:arms"}}
    spec = field("tdfs-ucb", rewards, arms={"kind": kind, "count": 4, **where[kind]})
    with pytest.raises(ArmsError, match="^the coordinator: "):
        captured(spec)


def test_everybodys_randomness_is_new_in_every_run_of_the_field() -> None:
    for purpose in Purpose:
        lab, real = (Chance(sources(), field, 0, 0, COORDINATOR) for field in (False, True))
        for chance, repeats in ((lab, True), (real, False)):
            for drawn in (chance.generator, chance.common):
                once, again = (drawn(purpose).integers(2**62) for _ in range(2))
                assert (once == again) == repeats
        assert lab.secret(purpose) == lab.secret(purpose)
        assert real.secret(purpose) != real.secret(purpose)


def test_who_uploads_and_who_wins_is_drawn_anew(rewards: Path) -> None:
    """Were the coordinator's draws the lab's of seed 0, all runs would be the same."""
    asked = set()
    for _ in range(8):
        frames = captured(field("cdp-mab", rewards, parameters={"participation": 0.5}))[1]
        said = [(target, message(frame)) for _, target, frame in frames]
        asked.add(tuple(to for to, text in said if text[0] == "Active" and text[3])[:2])
    assert len(asked) > 1  # one of six pairs each: all alike once in 280,000


@pytest.mark.parametrize("system", ["ddp-mab", "parallel-ucb"])
def test_a_sign_of_life_follows_from_time_alone(system: str, rewards: Path) -> None:
    """It is said once in five seconds of the clock, whatever the agent does in them."""
    spec = field(system, rewards)
    network = spec.network(0)
    clock = [0]
    host = Recorded(agent_setups(spec, network)[0], 0, sources(lambda: clock[0]))
    host.receive(COORDINATOR, begin())
    seconds = []
    for _ in range(20):
        clock[0] += 1_300_000_000
        if not host.busy:
            break
        host.step()
        if any(message(frame)[0] == "SlotReached" for _, frame in host.sent):
            seconds.append(clock[0] * 1e-9)
        host.sent.clear()
    if system == "parallel-ucb":
        assert len(seconds) >= 3
        assert all(later - earlier >= 5 for earlier, later in pairwise([0.0, *seconds]))
    else:  # its first round is one order to its arms; then it waits for its neighbours
        assert seconds == []
        clock[0] = 60_000_000_000
        adv = Adv(1, 1, (1,))
        host.receive(1, encode(adv, run=0, source=1, sequence=0, now=0.0, sent=0))
        assert [message(f)[0] for to, f in host.sent if to == COORDINATOR] == ["SlotReached"]


@pytest.mark.slow
@pytest.mark.parametrize("system", ["dp-mase", "ddp-mab", "private-ucb", "anonymous", "tdfs-ucb"])
def test_a_result_of_the_field_is_written_and_reported(
    system: str, rewards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")
    spec = field(system, rewards)
    result = spec.result([played(system, rewards)[0]])
    where = tmp_path / "out"
    RunDirectory(where, spec).open().complete(result)
    written = json.loads((where / "result.json").read_text())
    assert written["warnings"] == spec.advice()
    console = Console(file=io.StringIO(), width=200)
    closing.show(result, where, console)
    page = page_of(where)
    if get_system(system).wiring is not None:
        assert written["runs"][0]["communication"]["links"]["agent-agent"] is None
        assert written["runs"][0]["communication"]["data"]["messages"] is None
        assert "in the field nobody reports" in console.file.getvalue()  # type: ignore[attr-defined]
        assert "nobody reports what agents send each other" in page
    if system != "tdfs-ucb":
        assert written["runs"][0]["pulls"] is None
    if written["runs"][0]["privacy"]["claim"]["epsilon"] is not None:
        assert "its own log" in page


def page_of(where: Path) -> str:
    assert main(["report", str(where)]) == 0
    return (where / "report.html").read_text()


@pytest.mark.parametrize(("mode", "lied"), [("lab", True), ("field", False)])
def test_nobody_lies_in_the_field_whatever_it_is_told(mode: str, lied: bool, rewards: Path) -> None:
    """Rewards are 0 or 1; an agent that obeys would send 0.25."""
    spec = field("byzantine-ucb", rewards)
    network = spec.network(0)
    assert not any("contamination" in told for told in network.knowledge)
    network.knowledge[0]["contamination"] = {"rate": 1.0, "value": 0.25}
    setup = msgspec.structs.replace(agent_setups(spec, network)[0], mode=mode)
    host = Recorded(setup, 0, sources())
    host.receive(COORDINATOR, begin())
    host.step()
    said = [message(frame) for _, frame in host.sent]
    (bundle,) = {text[2] for text in said if text[0] == "Bundle"}
    (record,) = np.frombuffer(bundle, dtype=reward_record())
    assert (record["reward"] == 0.25) == lied
