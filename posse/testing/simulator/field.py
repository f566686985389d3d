"""Simulated runs of the field: their logs of rewards, and what must hold of ledgers and noise."""

import functools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from posse.audit.captured import checks
from posse.coordinator.witness import NAME
from posse.durable.frames import read as read_frames
from posse.durable.lifetime import read as read_ledger
from posse.durable.persons import NAME as NAME_OF_PERSONS
from posse.durable.persons import summary
from posse.engines.simulated.cluster import SimulatedCluster
from posse.gates import files
from posse.gates.databases import read_only
from posse.gates.signatures import ORDERS
from posse.plan import Plan, prepare
from posse.reading.orders import chains_in, compared
from posse.security.keys import signers_of
from posse.testing.small import SMALL

_LOG = "rewards-{rank}.csv"
_MEANS = (0.8, 0.5, 0.2)
"""Of arms 0, 1 and 2, in logs whose rewards are 0 or 1."""

_PERSON, _GIVEN, _SHARED = "who", 2, 20
"""The column that names persons, how many rewards of one may be used, and of how many rows one is
of somebody whom all logs name; others are in one log."""

_REPEATED = "nothing is said more than once of one thing"

_ONCE = (
    "no statistic is sent again with other noise",
    _REPEATED,
    "an arm that rests is not noised again",
)
"""Checks of a capture by which noise that was drawn twice is found."""

_OF_NO_REWARDS = {"PublicKey"}
"""Kinds of messages that are sent before any reward is used."""

SYSTEMS = ("dp-mase", "private-ucb", "anonymous", "cdp-mab", "ddp-mab")
"""Systems that protect real rewards, with agents that have logs of their own."""


def field_plan(name: str, engine: dict[str, Any] | None = None, *, persons: bool = False) -> Plan:
    """The small run of a system, in the field and over logs; `engine` are keys of that table.

    `persons`: the logs name them, if the system claims an ε for one.
    """
    arms = {"kind": "csv", "count": len(_MEANS), "path": _LOG}
    raw: dict[str, Any] = {**SMALL[name], "arms": arms, "engine": engine or {}}
    if persons and name != "anonymous":
        raw["privacy"] = {"person": _PERSON, "rewards_per_person": _GIVEN, "budget": 1e3}
    return prepare({"system": name, **raw, "mode": "field"})


def write_logs(cluster: SimulatedCluster) -> None:
    """Write the log of each agent: of each arm more rewards than its run needs."""
    spec = cluster.plan.spec
    rewards = spec.parameters.get("horizon", 3_000) + 200
    for rank in range(spec.agents.count):
        text = _log(rank, rewards, persons=bool(spec.privacy.person))
        files.write(cluster.folder / _LOG.format(rank=rank), text, lasting=False)


@functools.cache
def _log(rank: int, rewards: int, *, persons: bool) -> str:
    """The log of an agent, with this many rewards of each arm."""
    draws = np.random.default_rng(rank).random((rewards, len(_MEANS))) < _MEANS
    rows = [f"{arm},{int(draw)}" for row in draws for arm, draw in enumerate(row)]
    if not persons:
        return "\n".join(["arm,reward", *rows]) + "\n"
    named = [
        f"{row},{number // _SHARED if number % _SHARED == 0 else f'{number // _GIVEN} of {rank}'}"
        for number, row in enumerate(rows)
    ]
    return "\n".join([f"arm,reward,{_PERSON}", *named]) + "\n"


def _booked_amiss(path: Path) -> list[int]:
    """The runs in a ledger whose rows are not as many as the rewards that they used."""
    rows = "(SELECT TOTAL(last - first) FROM rows WHERE rows.run = runs.run)"
    with closing(read_only(path)) as ledger:
        return [run for (run,) in ledger.execute(f"SELECT run FROM runs WHERE rewards != {rows}")]


def _charged_amiss(cluster: SimulatedCluster, used: int) -> Iterator[str]:
    """What is wrong with what persons were charged, of whom so many rewards were used in all."""
    privacy, path = cluster.plan.spec.privacy, cluster.folder / NAME_OF_PERSONS
    charged = summary(path)
    if charged is None:
        if privacy.person and used:
            yield f"{used} rewards of persons who were not charged"
        return
    if charged.rows > privacy.rewards_per_person:
        yield f"{charged.rows} rewards of one person were used"
    if charged.cost is None or charged.cost.epsilon > privacy.budget:
        yield f"a person was charged {charged.cost}"
    with closing(read_only(path)) as ledger:
        (rows,) = ledger.execute("SELECT COUNT(*) FROM uses").fetchone()
    if not rows - charged.held <= used <= rows:
        yield f"{used} rewards were used, and {rows} entered, {charged.held} of them held"


def _orders(cluster: SimulatedCluster) -> Iterator[str]:
    """What is wrong with what the coordinator signed, and what agents kept of it."""
    if cluster.keys is None:
        return
    keys = signers_of(cluster.keys)
    shown, *kept = (
        chains_in(path, keys) if path.exists() and path.stat().st_size else {}
        for path in (cluster.journal(rank).with_suffix(ORDERS) for rank in cluster.ranks)
    )
    yield from (chain.fault for chain in shown.values() if chain.fault)
    for own in kept if not cluster.replaced else ():
        yield from (text for holds, text in compared(shown, own) if not holds)


def _unwitnessed(cluster: SimulatedCluster) -> Iterator[str]:
    """Agents of a run that told where their ledgers are, and of which nothing is kept."""
    if cluster.keys is None or not cluster.records or cluster.replaced:
        return
    path = cluster.keys / "coordinator" / NAME
    kept = files.read(path).decode() if path.exists() else ""
    came = [
        (e.source, e.detail.split()[0]) for e in cluster.events if e.what == "came" and e.detail
    ]
    revoked = {event.source for event in cluster.events if event.what == "revoked key"}
    for rank, key in signers_of(cluster.keys).items():
        if rank in revoked:
            continue  # nobody knew by what key it signed
        kinds = {kind for source, kind in came if source == rank}
        if kinds >= {"LedgerHead", "Stopped"} and key.hex() not in kept:
            yield f"nothing is kept of where the ledger of agent {rank} is"


def breaches(cluster: SimulatedCluster) -> Iterator[tuple[str, str]]:
    """What was broken of what holds in the field: the invariant, and how."""
    frames, used_by_all = list(read_frames(cluster.capture)) if cluster.capture.exists() else [], 0
    reports = [f for f in frames if f.plane == "data" and f.kind not in _OF_NO_REWARDS]
    spoke = {frame.source for frame in reports}
    for rank in range(cluster.plan.spec.agents.count):
        path = cluster.folder / f"{_LOG.format(rank=rank)}.ledger"
        runs = read_ledger(path).runs if path.exists() else []
        # only who was started again after its run was lost may use rewards in another one
        again = sum(e.what == "starts" and e.source == rank for e in cluster.events) > 1
        used = sum(run.rewards > 0 for run in runs)
        used_by_all += sum(run.rewards for run in runs)
        most = cluster.plan.spec.repeat
        if len(runs) > most + cluster.replaced or (used > most and not again):
            yield "one run a run", f"the ledger of agent {rank} has {len(runs)} runs"
        if rank in spoke and not any(run.rewards for run in runs):
            yield "a ledger has what was spent", f"agent {rank} spoke of rewards that it lacks"
        for run in _booked_amiss(path) if path.exists() else ():
            yield "a ledger has what was spent", f"run {run} of agent {rank} has a row not once"
    amiss = _charged_amiss(cluster, used_by_all)
    yield from (("persons are charged what was used", how) for how in amiss)
    yield from (("orders are signed once", fault) for fault in _orders(cluster))
    yield from (("a ledger has its witness", how) for how in _unwitnessed(cluster))
    for check in checks(frames, cluster.plan) if spoke else ():
        if check.name == _REPEATED and cluster.went_back:
            continue  # whoever goes on from an older journal says again, to the byte, what followed
        for text in check.violations if check.name in _ONCE else ():
            yield "no statistic is noised twice", text
