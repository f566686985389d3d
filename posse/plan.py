"""A plan: a run file with the system that it names, checked once before anything starts.

Everything that runs, measures, shows or writes a run receives a plan.
"""

import ipaddress
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from posse import defect, own_code
from posse.arms import ChangingMeans, DelayedArms, LiveArms, RealArms
from posse.arms.base import RandomMeans
from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.errors import ArmsError, SpecError
from posse.gates.decode import Packed
from posse.protocol import control
from posse.protocol.machine import COORDINATOR, MOST_ARMS, OnMissing, Parameters
from posse.protocol.privacy import Claim
from posse.protocol.wire import MAX_DATA, Codec
from posse.results.record import RunRecord
from posse.results.result import NO_KEYS, Links, Result
from posse.security import noise
from posse.spec.activity import ActivitySpec
from posse.spec.explain import convert
from posse.spec.privacy import TOO_LIKELY, TOO_MUCH
from posse.spec.runfile import Clock, RunSpec, put, read
from posse.spec.topology import require_connected
from posse.system import find_system
from posse.system.bounds import Bound, NoBoundError, means_table
from posse.system.claims import ClaimContext, for_persons
from posse.system.network import Network
from posse.system.record import Field, LabOnly, System
from posse.system.truth import truth_of

NOT_IMPORTABLE = (
    "names code of __main__, this script or notebook, which other processes cannot import; put it "
    "into a file of its own beside it, as 'module:object'"
)


@dataclass(frozen=True)
class Plan:
    """What is to be run. `prepare` makes it and checks that its parts fit together.

    `parameters` are the run file's, as the system's own model. `clock` is the run file's choice; by
    default it is "wall" in the field, and the system's first clock in the lab.
    """

    spec: RunSpec
    system: System
    parameters: Parameters
    clock: Clock

    @property
    def field(self) -> bool:
        """Whether rewards are real."""
        return self.spec.mode == "field"

    @property
    def on_missing(self) -> OnMissing:
        """What happens if an agent does not come back: the run file's choice, else the system's."""
        return self.spec.engine.on_missing or self.system.loss.default

    @cached_property
    def claim(self) -> Claim:
        """What the system claims to protect in this run, of persons if `[privacy]` names them."""
        return for_persons(self.reward_claim, self.spec.privacy)

    @cached_property
    def reward_claim(self) -> Claim:
        """What the system claims to protect of a reward.

        If the proof needs rewards in [0, 1] and these arms have no bound, the claim does not hold.
        """
        context = ClaimContext(
            agents=self.spec.agents.count,
            arms=self.spec.arms.arm_count(),
            parameters=self.parameters,
            variant=self.spec.variant,
            field=self.field,
        )
        with defect.in_system(self.spec.system):
            claim = self.system.claim(context)
        if not isinstance(claim, Claim):
            raise SpecError("system", f"'{self.spec.system}' claims {claim!r}; it must be a Claim")
        if not self.system.unit_interval or self.spec.arms.unit_interval:
            return claim
        why = "Not satisfied here: its proof needs rewards in [0, 1], and these have no bound."
        return msgspec.structs.replace(claim, holds=False, note=f"{why} {claim.note}".rstrip())

    @cached_property
    def coordinators_codec(self) -> Codec:
        """The codec of messages that a coordinator may receive; in the field without the lab's."""
        kinds = control.TO_COORDINATOR + (() if self.field else control.TO_LABS_COORDINATOR)
        return Codec(self.system.server_hears + kinds, MAX_DATA)

    def network(self, run: int) -> Network:
        """Which agents hear which in run `run`, and what each is told of the graph."""
        wiring, agents = self.system.wiring, self.spec.agents.count
        if wiring is None:  # agents know the coordinator only
            return Network([()] * agents, [{}] * agents)
        with defect.in_system(self.spec.system):
            network = wiring.network(self.spec, self.parameters, run)
            is_one = isinstance(network, Network)
            fault = network.fault(agents) if is_one else f"is {network!r:.80}; it must be a Network"
        if fault:
            raise SpecError("system", f"the network of '{self.spec.system}' {fault}")
        return network

    def bound(self, run: int) -> Bound:
        """What theory says about run `run`."""
        try:
            bound = self.system.bound(self.spec, self.parameters, run)
        except NoBoundError as why:
            return Bound(note=f"No bound is drawn: {why}")
        if not isinstance(bound, Bound):
            raise SpecError(
                "system", f"the bound of '{self.spec.system}' is {bound!r}; it must be a Bound"
            )
        return bound

    def missing(self, spawn: int | None = None) -> str:
        """What the first `spawn` agents (default: all) lack on this machine; "" if nothing.

        It checks reward logs, the module of the user's own arms, and the field's noise. Where
        agents share arms, it checks the coordinator's, whatever `spawn` is.
        """
        count = self.spec.agents.count if spawn is None else spawn
        if problem := self.spec.arms.missing(self.spec.base, self._keepers(count)):
            return f"arms.{problem}"
        if self.field and count and not noise.is_here():
            return f"mode: {noise.NEEDED}"
        return ""

    def _keepers(self, count: int) -> Sequence[int]:
        """The ranks whose arms the first `count` agents use."""
        return (COORDINATOR,) if self.system.shares_arms else range(count)

    def check_logs(self) -> None:
        """`LogError` if a reward log on this machine has a mistake."""
        if isinstance(self.spec.arms, CsvArms):
            self.spec.arms.check(
                self.spec.base, self._keepers(self.spec.agents.count), self.spec.privacy.persons
            )

    def remarks_on_logs(self) -> list[str]:
        """Sentences about what reward logs on this machine hold that may surprise."""
        if not isinstance(self.spec.arms, CsvArms):
            return []
        return self.spec.arms.remarks(
            self.spec.base, self._keepers(self.spec.agents.count), self.spec.privacy.persons
        )

    @property
    def main_code(self) -> str:
        """The key that names code of the script or notebook itself (`__main__`); "" if none does.

        Agents do not lay out the topology, so theirs may.
        """
        targets = {"system": self.spec.system, "arms.target": getattr(self.spec.arms, "target", "")}
        return next((key for key, name in targets.items() if name.startswith("__main__:")), "")

    def require(self, spawn: int | None = None) -> None:
        """`SpecError` if the first `spawn` agents (default: all) lack anything on this machine."""
        if self.main_code and self.spec.engine.kind == "processes":
            raise SpecError(self.main_code, f"{NOT_IMPORTABLE}, or use engine.kind = 'memory'")
        if problem := self.missing(spawn):
            raise SpecError(*problem.split(": ", 1))

    def result(self, records: list[RunRecord], links: Links = "local") -> Result:
        """Put these runs together as a result; `links` as in `Result`."""
        spec = self.spec
        return Result(
            system=spec.system,
            variant=spec.variant,
            engine=spec.engine.kind,
            seed=spec.seed,
            links=links,
            runs=records,
            specification=msgspec.to_builtins(spec),
            network=self.network(0).facts,
            warnings=[NO_KEYS] * (links == "insecure") + self.advice(),
            truths=[truth_of(spec, self.system, self.parameters, record) for record in records],
        )

    def advice(self) -> list[str]:
        """Sentences about settings that are allowed but probably not meant."""
        claim, advice = self.claim, []
        if self.field and (not claim.holds or claim.mechanism == "none"):
            advice = [f"{self.spec.system} does not protect real rewards: {claim.note}"]
        if self.clock != "virtual" and self.spec.agents.activity != ActivitySpec():
            advice.append(
                f"agents.activity has no effect with the clock '{self.clock}': only the clock "
                "'virtual' draws which agent is active"
            )
        with defect.in_system(self.spec.system):
            more = self.system.advise(self.spec, self.parameters)
        if not isinstance(more, list | tuple) or not all(isinstance(name, str) for name in more):
            must = "it must be a list of sentences"
            raise SpecError("system", f"'{self.spec.system}' advises {more!r:.80}; {must}")
        return [*advice, *more]


Source = str | Path | dict[str, Any] | RunSpec | Plan
"""A run file's path, its content as plain data, its specification, or the plan itself."""


def prepare(source: Source) -> Plan:
    """Make a plan of a run file; `SpecError` where its parts do not fit together.

    The user's own code must be as this process imported it, also for a plan that was made earlier.
    """
    own_code.require_unchanged()
    match source:
        case Plan():
            return source
        case RunSpec():
            spec = source
            system = find_system(spec.system, own_code.folders_of(spec.base, spec.path))
        case dict():
            source = _with_names(source)
            system = _named_system(source)  # before other mistakes
            spec = convert(source, RunSpec, "")
        case _:
            return prepare(read(source))
    if spec.mode == "field" and isinstance(system.field, Field):
        spec = msgspec.structs.replace(spec, parameters={**system.field.safer, **spec.parameters})
    with defect.in_system(spec.system):
        parameters = convert(spec.parameters, system.parameters, "parameters")
    plan = Plan(
        spec=spec,
        system=system,
        parameters=parameters,
        clock=spec.engine.clock or _default_clock(spec, system),
    )
    check(plan)
    return plan


def _default_clock(spec: RunSpec, system: System) -> Clock:
    if spec.mode == "field":
        return "wall"
    live = isinstance(spec.arms, LiveArms)  # whose rewards nobody can look ahead of
    return next((c for c in system.clocks if not (live and c == "virtual")), system.clocks[0])


def _with_names(raw: dict[str, Any]) -> dict[str, Any]:
    """Plain data in which classes and functions given as `target` are named, as a file must."""
    named = dict(raw)
    for table in ("arms", "topology"):
        own = raw.get(table)
        target = own.get("target") if isinstance(own, dict) else None
        if isinstance(own, dict) and callable(target):
            name = f"{target.__module__}:{target.__qualname__}"
            if "<locals>" in name:
                raise SpecError(
                    f"{table}.target", f"is {target!r:.80}, which is within a function: move it out"
                )
            module = getattr(sys.modules.get(target.__module__), "__file__", None)
            path = [str(Path(module).resolve().parent)] if module else ["."]
            named[table] = {"path": path, **own, "target": name}
    return named


def decode_plan(document: bytes) -> Plan:
    """The plan of a specification that another process encoded in msgpack."""
    own_code.require_unchanged()
    return _decode_plan(document)


@lru_cache(maxsize=8)
def _decode_plan(document: bytes) -> Plan:
    return prepare(Packed[RunSpec](RunSpec).read(document))


def _named_system(raw: dict[str, Any]) -> System:
    """The system that a run file names, which was not checked yet."""
    if "system" not in raw:
        raise SpecError("system", "is required but missing")
    name = convert(raw["system"], str, "system")
    path = convert(raw.get("path", ["."]), tuple[str, ...], "path")
    base = convert(raw.get("base", "."), str, "base")
    return find_system(name, own_code.folders_of(base, path))


def no_place_for(raw: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """The keys of `given`, a file for another system, that the system of `raw` does not know."""
    system = _named_system(raw)
    known = {field.encode_name for field in msgspec.structs.fields(system.parameters)}
    parameters = given.get("parameters")
    names = parameters if isinstance(parameters, dict) else {}
    lacks = [f"parameters.{name}" for name in names if name not in known]
    return lacks + ["topology"] * (system.wiring is None and "topology" in given)


def changed(
    source: Source, given: Mapping[str, Any], parameters: Mapping[str, Any] | None = None
) -> Plan:
    """The plan with the values `given` by their keys, as "agents.count", unless they are None.

    Single `parameters` may be given too. An override may supply what the source lacks.
    """
    values = {path: value for path, value in given.items() if value is not None}
    if not values and parameters is None:
        return prepare(source)
    raw = _raw(source)
    for path, value in values.items():
        put(raw, path, value)
    if parameters is not None:
        if not isinstance(parameters, Mapping):
            raise SpecError("parameters", f"is {parameters!r:.60}; it must be a table")
        own = raw.get("parameters", {})
        raw["parameters"] = {**own, **parameters} if isinstance(own, dict) else own
    return prepare(raw)


def _raw(source: Source) -> dict[str, Any]:
    """A source as plain data whose keys may be set."""
    spec = source.spec if isinstance(source, Plan) else source
    if isinstance(spec, RunSpec):
        raw: dict[str, Any] = msgspec.to_builtins(spec)
        return raw
    return dict(spec) if isinstance(spec, dict) else read(spec)


def check(plan: Plan, *, graph: bool = True) -> None:
    """Check what the types of the tables cannot express; without `graph`, all but the graph."""
    spec, system = plan.spec, plan.system
    if not plan.field and plan.clock not in system.clocks:
        raise SpecError(
            "engine.clock",
            f"'{plan.clock}' does not fit {system.name}; known: {', '.join(system.clocks)}",
        )
    if plan.on_missing == "continue" and not system.loss.effect:
        raise SpecError(
            "engine.on_missing",
            f"is 'continue', but {system.name} needs every agent; use wait or end",
        )
    for network in spec.engine.inboxes:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise SpecError("engine.inboxes", f"'{network}' is not a network: {error}") from None
    if (count := spec.arms.arm_count()) > MOST_ARMS:
        raise SpecError("arms", f"has {count:,} arms; at most {MOST_ARMS:,} fit a message")
    try:
        if not system.shares_arms:
            spec.arms.check_agents(spec.agents.count)
    except ValueError as error:
        raise SpecError("arms", str(error)) from None
    _check_candidates(getattr(plan.parameters, "candidates", ()), count)
    _check_timed(plan)
    _check_persons(plan)
    _check_spread(spec)
    _check_network(plan)
    limits = system.unit_interval
    if limits is not None and not spec.arms.unit_interval:
        printed = limits.unless_printed and not plan.field
        if not (printed and spec.variant == "printed"):
            way = ', or variant = "printed", whose claim then does not hold' if printed else ""
            raise SpecError(
                "arms.clip",
                f"{system.name} protects rewards in [0, 1] only, and these arms have no bound; set "
                f"clip = [lo, hi]{way}",
            )
    if plan.field:
        _check_field(plan)
    if spec.topology is not None and system.wiring is None:
        raise SpecError("topology", f"is not used by {system.name}; leave it out")
    if graph and system.wiring is not None:
        _check_graphs(spec, apart=system.wiring.components)
    spec.agents.activity.rates(spec.agents.count)
    with defect.in_system(spec.system):
        system.check(spec, plan.parameters)
        _ = system.agents_codec, plan.coordinators_codec  # fails for unfit message types


def _check_candidates(candidates: Sequence[int], arms: int) -> None:
    """Check which arms a run begins with; all if none are named."""
    if candidates and (len(candidates) < 2 or sorted(set(candidates)) != [*candidates]):
        fault = "must name two arms or more, each once and in their order"
        raise SpecError("parameters.candidates", fault)
    if candidates and candidates[-1] >= arms:
        fault = f"names arm {candidates[-1]}, but there are {arms}, from 0 to {arms - 1}"
        raise SpecError("parameters.candidates", fault)


_GRAPHS = 1_000
"""The graphs of this many runs are drawn before anything starts; a later one may still fail."""


def _check_graphs(spec: RunSpec, *, apart: bool) -> None:
    """Draw the graph of each run; it must be connected unless components may be `apart`."""
    drawn = spec.topology is not None and spec.topology.drawn
    for run in range(min(spec.repeat, _GRAPHS) if drawn else 1):
        graph = spec.graph(run)
        if not apart:
            require_connected(graph)


def _check_persons(plan: Plan) -> None:
    """Check that what `[privacy] person` asks for can be promised."""
    arms, privacy = plan.spec.arms, plan.spec.privacy
    if not privacy.person:
        return
    if not isinstance(arms, RealArms):
        raise SpecError(
            "privacy.person",
            "needs arms of kind csv, python or live, whose rewards are somebody's, and these are "
            f"of kind {arms.__struct_config__.tag}",
        )
    if isinstance(arms, PythonArms) and plan.spec.engine.durable and not plan.field:
        raise SpecError(
            "engine.durable",
            "keeps no count of the persons whom your own arms named, in the lab; delete it, or "
            "privacy.person",
        )
    if isinstance(arms, CsvArms) and arms.replace:
        raise SpecError(
            "arms.replace", "draws a person's rows any number of times; delete it or privacy.person"
        )
    if isinstance(arms, CsvArms) and arms.features:
        raise SpecError(
            "arms.features", "shows all rows of a slot, of whoever; delete it or privacy.person"
        )
    if plan.reward_claim.epsilon is None or not plan.reward_claim.holds:
        raise SpecError(
            "privacy.person",
            f"cannot be kept: {plan.system.name} claims no ε for one reward that holds, and so "
            "none for a person; delete it, or use a system that does",
        )
    epsilon, delta = plan.claim.epsilon, plan.claim.delta or 0.0
    if not (epsilon is not None and math.isfinite(epsilon) and delta < 1):
        raise SpecError(
            "privacy.rewards_per_person",
            f"is {privacy.rewards_per_person}, and for so many rewards {plan.system.name} gives no "
            f"guarantee (ε = {epsilon:.4g}, δ = {delta:.2g}); use fewer",
        )


def _check_timed(plan: Plan) -> None:
    """Check that arms whose rewards depend on an agent's slots are pulled in slots."""
    arms, system = plan.spec.arms, plan.system
    in_slots = isinstance(arms, CsvArms) and bool(arms.features)
    live = isinstance(arms, LiveArms)
    if not (in_slots or live or arms.closes or isinstance(arms, ChangingMeans | DelayedArms)):
        return
    if arms.closes and not system.sleeping:
        raise SpecError(
            "arms.kind",
            f"'{arms.__struct_config__.tag}' with arms that are closed in some slots is not for "
            f"{system.name}, which does not ask what is open; take ucb1, cooperative-ucb, or a "
            "system of your own that says sleeping=True",
        )
    tag = f"{arms.__struct_config__.tag}{' with features' * in_slots}"
    kind = f"'{tag}' {'answers requests at' if live else 'counts the pulls of'} an agent"
    if system.shares_arms:
        raise SpecError("arms.kind", f"{kind}, but the agents of {system.name} share their arms")
    if plan.clock == "virtual":
        raise SpecError(
            "arms.kind",
            f"{kind}, and with the clock 'virtual' {system.name} looks ahead of them; set "
            f"engine.clock = 'wall', or take a system with the clock 'slots'",
        )


_SPREAD_RUNS = 10
"""In this many runs, means are drawn before anything starts."""


def _check_spread(spec: RunSpec) -> None:
    """Check that means spread over agents exist in the first runs; a later run may still fail."""
    means = getattr(spec.arms, "means", None)
    if isinstance(means, RandomMeans) and means.spread:
        try:
            for run in range(min(spec.repeat, _SPREAD_RUNS) if means.seed is None else 1):
                means_table(spec, run)
        except ArmsError as error:
            raise SpecError("arms.means", str(error)) from None


def _check_network(plan: Plan) -> None:
    if (network := plan.spec.network) is None:
        return
    network.check(plan.spec.agents.count)
    if plan.field:
        raise SpecError("network", "is emulated, for the lab; in the field leave it out")
    if plan.spec.engine.kind == "processes" and plan.spec.engine.transport == "ipc":
        raise SpecError(
            "network", 'across processes it needs engine.transport = "tcp", where frames can wait'
        )


def _check_field(plan: Plan) -> None:
    """Check what is not allowed in a run with real rewards."""
    spec, system = plan.spec, plan.system
    if isinstance(system.field, LabOnly):
        raise SpecError(
            "mode",
            f"'field' is not for {system.name}: it {system.field.why}; use the system in the lab",
        )
    if spec.seed:
        raise SpecError(
            "seed", "is for the lab only, as noise in the field cannot be repeated; delete it"
        )
    if spec.repeat != 1:
        raise SpecError("repeat", "must be 1 in the field: every repetition spends epsilon again")
    if spec.engine.kind == "memory":
        raise SpecError(
            "engine.kind", "'memory' is for the lab only; in the field every agent is a process"
        )
    if plan.clock != "wall":
        raise SpecError("engine.clock", f"'{plan.clock}' is for the lab only; delete it")
    if not isinstance(spec.arms, RealArms):
        raise SpecError(
            "arms.kind", "must be csv, python or live in the field: rewards are real there"
        )
    if isinstance(spec.arms, CsvArms) and spec.arms.features:
        raise SpecError("arms.features", "is for the lab: no claim covers what is seen of an arm")
    if isinstance(spec.arms, CsvArms) and spec.arms.replace and spec.privacy.reuse != "unlimited":
        raise SpecError(
            "arms.replace",
            "uses rows more than once, but in the field each row is used once; delete it, or set "
            '[privacy] reuse = "unlimited", which promises nothing over all runs together',
        )
    epsilon = plan.claim.epsilon
    if spec.privacy.reuse == "budget" and (epsilon is None or not plan.claim.holds):
        raise SpecError(
            "privacy.reuse",
            f"is 'budget', but {system.name} has no ε to add up, and a reward that is used twice "
            "can be read from the difference; delete it",
        )
    if epsilon is not None and not epsilon <= spec.privacy.budget:
        raise SpecError("parameters.epsilon", TOO_MUCH.format(epsilon, spec.privacy.budget))
    delta = plan.claim.delta
    if delta is not None and not delta <= spec.privacy.delta:
        raise SpecError("privacy.delta", TOO_LIKELY.format(delta, spec.privacy.delta))
