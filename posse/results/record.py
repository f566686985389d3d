"""What one run turned out to be; the document that `--json` prints of it."""

from collections import Counter
from typing import Any, ClassVar, Self

import msgspec

from posse.results.traffic import Traffic
from protocol.control import LinkCount
from protocol.log import Log
from protocol.privacy import Promise, Release


class Quantiles(msgspec.Struct):
    """Half of `count` values lie within `p50`, and so on; all within `p100`."""

    count: int
    p50: float
    p90: float
    p99: float
    p100: float


class Delay(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How long messages took, in seconds (quantiles, and [seconds, messages] by bucket) and slots.

    `exchange_slots`: the slots of each round's exchange; `t_delay`: those in which nothing else was
    done. `taken`: what the agents took the time of, by name.
    """

    messages: int | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    p100: float | None = None
    histogram: list[tuple[float, int]] | None = None
    exchange_slots: list[int] | None = None
    t_delay: list[int] | None = None
    taken: dict[str, Quantiles] = {}


class Privacy(msgspec.Struct, kw_only=True):
    """What was claimed, and what each agent spent of it: None in the field, where it says nothing.

    `protects` is False in the lab, which illustrates a claim: whoever reads `Begin` has the seed of
    all noise and of all keys. `records`: what a claim about rewards means for the records that they
    come from; `ends`: what the end of a run may tell of them. `spent_per_agent` is what the ledger
    costs the most exposed reward: its sum, or, where the claim has a δ, composed up to it. That is
    after the fact, for how many releases there were depended on rewards: what holds is the claim.
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
    """Sizes of the graph, and what a family has to say of it; all empty where there is none.

    `components` by their sizes; `resamples`: how often a random graph was drawn again until it was
    connected. `gamma`: how many hops a message goes, and what the run file asked for; `byzantine`:
    the ranks that lie, with the share of lies that estimators bear; `sinks`: the agents that talk
    to the server.
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


Lines = list[tuple[str, str]]
"""Rows of the closing table: a label and a sentence each."""


class Detail(msgspec.Struct):
    """What only one family of systems has to tell of a run; each has a subclass of its own.

    `units`: what a measure counts, where the family does not mean by it what all others do.
    `seeks`: what is found where it is not one arm for all.
    """

    units: ClassVar[dict[str, str]] = {}
    seeks: ClassVar[str] = ""

    def lines(self, run: "RunRecord") -> Lines:
        """What the closing table says of `run` in the family's own terms: who answered what."""
        return [("answers", run.answers_said())] if any(n is not None for n in run.answers) else []


class Absence(msgspec.Struct, frozen=True):
    """An agent took no part from `since` to `until`, in the unit of the run's clock."""

    agent: int
    since: float
    until: float
    why: str


class RunRecord(msgspec.Struct, kw_only=True):
    """One run. Times are in the unit of the run's clock; what does not apply is None.

    `rounds` counts activations in the sense of Rio et al. (one agent pulls each of its arms), or
    communication rounds where the paper counts those; `slots` the slots of a lockstep system.
    `best_arm` is the server's, or, where there is none, the arm that most agents answered; `right`:
    whether it is the best, where means are known (`posse.results.assembly.right`).
    `network` says what the graph was. `log` has what the coordinator's machine noted,
    `agent_logs` what each agent's machine noted. `answers` has each agent's own arm,
    `pulls_per_arm` is summed over agents. `exhausted` says whose arms ran out (-1: those that all
    share), `dismissed` which agents the run went on without, and why; `missing` from when to when,
    and `loss` what that did to the answer and to the claims; `restarts` how often which agent was
    killed and started again. These three stand in the document only where there was anything.

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
    regret_local: float | None = None
    regret_per_agent: list[float] | None = None
    regret_curve: list[list[float]] | None = None
    pulls_per_arm: list[int] = []
    pulls_per_agent: list[int] = []
    activations_per_agent: list[int] = []
    answers: list[int | None] = []
    exhausted: dict[int, str] = {}
    dismissed: dict[int, str] = {}
    missing: list[Absence] = []
    loss: str = ""
    restarts: dict[int, int] = {}
    log: Log = {}
    agent_logs: list[Log] = []
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
        said = [f"{name}={value!r}" for name in shown if (value := getattr(self, name)) is not None]
        messages = self.communication.data.messages
        return f"RunRecord({', '.join(said)}, data_messages={messages}, …)"

    @property
    def answered(self) -> bool:
        """Whether it ended with what was sought; without consensus or at its horizon it did, too.

        It did not where too few were left, or the rewards were used up before anything was found.
        """
        if self.status not in ("missing", "exhausted"):
            return True
        if self.status == "missing":
            return self.best_arm is not None
        return self.best_arm is not None or any(arm is not None for arm in self.answers)

    @property
    def sought(self) -> str:
        """What was found where that is not one arm for all; nothing if it ended without."""
        return self.detail.seeks if self.answered else ""

    @property
    def without(self) -> set[int]:
        """The agents that were lost, or whose rewards ran out: the others went on without them."""
        return {*self.dismissed, *self.exhausted}

    @property
    def used_up(self) -> bool:
        """Whether every agent ran out of rewards, or was lost."""
        return bool(self.exhausted) and self.without >= set(range(len(self.answers)))

    def answers_said(self) -> str:
        """Which arm was answered by how many agents, the commonest first."""
        answers = Counter(arm for arm in self.answers if arm is not None)
        said = [f"arm {arm} by {n} of {len(self.answers)}" for arm, n in answers.most_common(5)]
        return ", ".join(said) or "none"

    def document(self) -> dict[str, Any]:
        """The run as plain data, without the tables of single links and of single releases."""
        slim = msgspec.structs.replace(self, links=[], ledgers=[])
        plain: dict[str, Any] = msgspec.to_builtins(slim, enc_hook=_number)
        del plain["links"], plain["ledgers"]
        for only_if_any in ("missing", "loss"):
            if not plain[only_if_any]:
                del plain[only_if_any]
        if not self.restarts:
            del plain["restarts"]
        if plain["delay"] is not None:
            taken = plain["delay"].pop("taken", {})
            plain["delay"] |= {f"{name}_seconds": found for name, found in taken.items()}
        return plain

    @classmethod
    def read(cls, document: dict[str, Any], detail: type[Detail] = Detail) -> Self:
        """What `document` gave, of a family with this `detail`.

        Raises `msgspec.ValidationError` where it is something else.
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
        # as they were noted: whole numbers stay whole
        record.log = document.get("log", {})
        record.agent_logs = document.get("agent_logs", [])
        record.regret_curve = document.get("regret_curve")
        return record

    def encoded(self) -> bytes:
        """The whole run as bytes; see `decoded`."""
        links, ledgers = msgspec.to_builtins((self.links, self.ledgers), enc_hook=_number)
        return msgspec.msgpack.encode({**self.document(), "links": links, "ledgers": ledgers})

    @classmethod
    def decoded(cls, encoded: bytes, detail: type[Detail] = Detail) -> Self:
        """The run that `encoded` made, with the `detail` of its family.

        Raises `msgspec.MsgspecError` where it did not.
        """
        return cls.read(msgspec.msgpack.decode(encoded), detail)


def _number(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item()
