"""The record of one run, which `--json` prints as a document."""

from collections import Counter
from typing import Any, ClassVar, Self

import msgspec

from posse.gates.decode import unpacked
from posse.protocol.control import LinkCount
from posse.protocol.estimates import Estimate
from posse.protocol.log import LogTables
from posse.protocol.privacy import Promise, Release
from posse.results.traffic import Traffic
from posse.results.vouched import Signed


class Quantiles(msgspec.Struct):
    """Quantiles of `count` values: half of them are at most `p50`, all at most `p100`."""

    count: int
    p50: float
    p90: float
    p99: float
    p100: float


class LinkDelay(msgspec.Struct, array_like=True, frozen=True):
    """How long the messages of a link took in one direction, in seconds: median and 99 %."""

    source: int
    target: int
    messages: int
    p50: float
    p99: float


class Delay(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How long messages took, in seconds (quantiles, [seconds, messages] by bucket) and slots.

    `links`: by direction of a link, as [source, target, messages, median, 99 %].
    `exchange_slots`: the slots of each round's exchange. `t_delay`: the part of these in which
    agents did nothing else. `taken`: the durations that agents measured, by name.
    """

    messages: int | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    p100: float | None = None
    histogram: list[tuple[float, int]] | None = None
    links: list[LinkDelay] = []
    exchange_slots: list[int] | None = None
    t_delay: list[int] | None = None
    taken: dict[str, Quantiles] = {}


ILLUSTRATES = (
    "A run of the lab illustrates this and protects nothing: its messages carry the seed of all "
    "noise and keys."
)


class Privacy(msgspec.Struct, kw_only=True):
    """What was claimed, and what each agent spent of it (None in the field: not reported).

    - `protects`: False in the lab, as whoever reads `Begin` has the seed of all noise and keys.
    - `records`: what a claim about rewards means for the records behind them.
    - `ends`: what the end of a run may reveal of rewards.
    - `spent_per_agent`: the ledger's cost of the most exposed reward: the sum, or composed at the
      claim's δ if there is one. Releases depended on rewards, so only the claim is a guarantee.
    """

    claim: Promise
    protects: bool = True
    records: str | None
    ends: str | None = None
    variant: str
    spent_per_agent: list[float] | None
    releases_per_agent: list[int] | None


class Resources(msgspec.Struct, kw_only=True):
    """What each agent's process used."""

    cpu_seconds_per_agent: list[float]
    peak_bytes_per_agent: list[int]
    proportional_bytes_per_agent: list[int]


class NetworkFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of the graph, and facts that a family adds; all None without a graph.

    - `components`: their sizes
    - `resamples`: how often a random graph was drawn again until it was connected
    - `gamma`, `gamma_asked`: hops that a message travels, and the run file's request
    - `byzantine`, `assumed_contamination`: ranks that lie, and the share of lies allowed for
    - `sinks`: the agents that talk to the server
    - `names`: what the graph's source calls each agent, if that is not its rank
    """

    agents: int | None = None
    edges: int | None = None
    components: list[int] | None = None
    diameter: int | None = None
    resamples: int | None = None
    gamma: int | None = None
    gamma_asked: int | str | None = None
    byzantine: list[int] | None = None
    assumed_contamination: float | None = None
    sinks: list[int] | None = None
    names: list[str] | None = None


Lines = list[tuple[str, str]]
"""Rows of the closing table: a label and a sentence each."""


class Detail(msgspec.Struct):
    """What a family of systems alone reports of a run; each family has a subclass.

    `units`: what a measure counts, where the family deviates from the others. `seeks`: what the
    family looks for, if that is not one arm for all agents.
    """

    units: ClassVar[dict[str, str]] = {}
    seeks: ClassVar[str] = ""

    def lines(self, run: "RunRecord") -> Lines:
        """Rows of the closing table in the family's terms; by default, who answered what."""
        return [("answers", run.answers_said())] if any(n is not None for n in run.answers) else []

    @property
    def left_early(self) -> list[int]:
        """Agents that took no further part by the family's own rules."""
        return []


class Absence(msgspec.Struct, frozen=True):
    """An agent took no part from `since` to `until`, in the unit of the run's clock."""

    agent: int
    since: float
    until: float
    why: str


class Proof(msgspec.Struct, frozen=True):
    """Two statements that an agent signed for one `place` of the run, in hexadecimal.

    Each is a hash (32 bytes) and a signature of `kind`, place and hash (64 bytes, Ed25519).
    """

    kind: str
    place: str
    statements: tuple[str, str]


_UNANSWERED = ("missing", "exhausted", "implausible")


class RunRecord(msgspec.Struct, kw_only=True):
    """The record of one run. Times are in the unit of the run's clock; None: does not apply.

    - `rounds`: activations as in Rio et al. (one agent pulls each of its arms), or communication
      rounds where the paper counts those. `slots`: for clock `slots`.
    - `best_arm`: the server's answer; without a server, the arm that most agents answered. `right`:
      see `posse.coordinator.assembly.right`.
    - `rewards`: the sum that all agents earned, in a lab whose means are unknown; else left out.
    - `estimates`: of the arms of which anything may be told; see `posse.protocol.estimates`.
    - `answers`: each agent's own arm. `pulls_per_arm` is summed over agents.
    - `log`, `agent_logs`: what the coordinator's machine noted, and what each agent's did.
    - `exhausted`: whose arms ran out (-1: shared). `dismissed`: who was left out. Both say why.
    - `missing`, `loss`, `restarts`: absences; their effect on answer and claims; how often agents
      were killed and started again. `proofs`: of agents that told others different things.
      `signed`: agents' answers, as `posse verify` checks. Left out of the document when empty.

    Above 20 fields: one for each key of a run in `result.json`.
    """

    run: int
    seed: int
    status: str = "unknown"
    best_arm: int | None = None
    right: bool | None = None
    rounds: int | None = None
    slots: int | None = None
    pulls: int | None = 0
    regret: float | None = None
    rewards: float | None = None
    regret_local: float | None = None
    regret_per_agent: list[float] | None = None
    regret_curve: list[list[float]] | None = None
    estimates: list[Estimate] = []
    pulls_per_arm: list[int] = []
    pulls_per_agent: list[int] = []
    activations_per_agent: list[int] = []
    answers: list[int | None] = []
    exhausted: dict[int, str] = {}
    dismissed: dict[int, str] = {}
    missing: list[Absence] = []
    loss: str = ""
    restarts: dict[int, int] = {}
    proofs: dict[int, Proof] = {}
    signed: Signed | None = None
    log: LogTables = {}
    agent_logs: list[LogTables] = []
    network: NetworkFacts = msgspec.field(default_factory=NetworkFacts)
    communication: Traffic = msgspec.field(default_factory=Traffic)
    delay: Delay | None = None
    privacy: Privacy | None = None
    refused: dict[str, int] = {}
    resources: Resources | None = None
    elapsed_seconds: float | None = None
    detail: Detail = msgspec.field(default_factory=Detail)
    links: list[LinkCount] = []
    ledgers: list[list[Release]] = []

    def __repr__(self) -> str:
        """Answer and totals, without the tables."""
        shown = ("run", "seed", "status", "best_arm", "right", "rounds", "slots", "pulls", "regret")
        fields = [
            f"{name}={value!r}" for name in shown if (value := getattr(self, name)) is not None
        ]
        messages = self.communication.data.messages
        return f"RunRecord({', '.join(fields)}, data_messages={messages}, …)"

    @property
    def answered(self) -> bool:
        """Whether the run ended with what was sought, or by its own rules without finding it.

        It did not if too few agents were left, or the rewards ran out before anything was found.
        """
        if self.best_arm is not None or self.status not in _UNANSWERED:
            return True
        return self.status == "exhausted" and any(arm is not None for arm in self.answers)

    @property
    def sought(self) -> str:
        """What the family looked for, if not one arm for all; "" if the run ended without it."""
        return self.detail.seeks if self.answered else ""

    @property
    def without(self) -> set[int]:
        """Agents that were lost or ran out of rewards: the others continued without them."""
        return {*self.dismissed, *self.exhausted}

    @property
    def used_up(self) -> bool:
        """Whether every agent ran out of rewards or was lost."""
        return bool(self.exhausted) and self.without >= set(range(len(self.answers)))

    def answers_said(self) -> str:
        """How many agents answered each arm, the commonest first."""
        answers = Counter(arm for arm in self.answers if arm is not None)
        parts = [f"arm {arm} by {n} of {len(self.answers)}" for arm, n in answers.most_common(5)]
        return ", ".join(parts) or "none"

    def document(self) -> dict[str, Any]:
        """The run as plain data, without the tables of single links and single releases."""
        slim = msgspec.structs.replace(self, links=[], ledgers=[])
        plain: dict[str, Any] = msgspec.to_builtins(slim, enc_hook=_number)
        del plain["links"], plain["ledgers"]
        for only_if_any in ("missing", "loss", "restarts", "proofs", "signed"):
            if not plain[only_if_any]:
                del plain[only_if_any]
        if self.rewards is None:
            del plain["rewards"]
        if plain["delay"] is not None:
            taken = plain["delay"].pop("taken", {})
            plain["delay"] |= {f"{name}_seconds": seconds for name, seconds in taken.items()}
        return plain

    @classmethod
    def read(cls, document: dict[str, Any], detail: type[Detail] = Detail) -> Self:
        """The run that `document` gave, of a family with this `detail`.

        Raises `msgspec.ValidationError` for any other document.
        """
        delay = document.get("delay")
        if isinstance(delay, dict):
            taken = {name: delay[name] for name in delay if name.endswith("_seconds")}
            delay = {
                **{name: value for name, value in delay.items() if name not in taken},
                "taken": {name.removesuffix("_seconds"): value for name, value in taken.items()},
            }
        record = msgspec.convert({**document, "delay": delay}, cls, strict=False)
        record.detail = msgspec.convert(document.get("detail", {}), detail, strict=False)
        # keep the notes as they were: conversion would turn whole numbers into floats
        record.log = document.get("log", {})
        record.agent_logs = document.get("agent_logs", [])
        record.regret_curve = document.get("regret_curve")
        return record

    def encoded(self) -> bytes:
        """The whole run as bytes, for `decoded`."""
        links, ledgers = msgspec.to_builtins((self.links, self.ledgers), enc_hook=_number)
        return msgspec.msgpack.encode({**self.document(), "links": links, "ledgers": ledgers})

    @classmethod
    def decoded(cls, encoded: bytes, detail: type[Detail] = Detail) -> Self:
        """The run from `encoded`, with the `detail` of its family.

        Raises `ValueError` or `msgspec.MsgspecError` for other bytes.
        """
        return cls.read(unpacked(encoded), detail)


def _number(value: Any) -> Any:
    """Convert a NumPy number to Python's."""
    return value.item()
