"""`posse check`: explain a run file, or what is wrong with it."""

import argparse
from pathlib import Path

import msgspec

from posse.cli import security
from posse.cli.listing import in_toml
from posse.cli.options import add_run_file, plan, seconds
from posse.cli.parser import Parser
from posse.cli.streams import wrapped
from posse.gates.code import Imports
from posse.measure.numbers import by_name, counted
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.results.record import ILLUSTRATES
from posse.security import keys
from posse.system.claims import records
from posse.system.network import Network


def add(parser: Parser) -> None:
    add_run_file(parser)
    parser.option(
        "--join ADDRESS",
        "also check that an agent of this machine can take part in a coordinator's run: address, "
        "keys, clock, version, limits, locks, disk, inbox",
        default="",
    )
    parser.option(
        "--inbox ADDRESS", "with --join: where the agent would listen to neighbours", default=""
    )
    parser.option(
        "--advertise ADDRESS", "with --join: by which they would reach it, if another", default=""
    )
    parser.option("--wait SECONDS", "with --join: longest wait", type=seconds, default=5.0)
    security.add(parser)
    parser.set_defaults(imports=Imports.OFFERED)


def run(options: argparse.Namespace) -> int:
    checked = plan(options)
    spec, system, advice = checked.spec, checked.system, checked.advice()
    network = checked.network(0)  # finds mistakes that would otherwise stop a run
    checked.check_logs()
    print(wrapped(f"{options.file}: {system.name}, {system.title} ({system.paper})", 2))
    print(
        f"  variant {spec.variant}; {counted(spec.agents.count, 'agent')}; "
        f"{counted(spec.arms.arm_count(), 'arm')}; {counted(spec.repeat, 'run')}"
        + ("" if checked.field else f" from seed {spec.seed}")
    )
    engine = f"  engine {spec.engine.kind}, clock {checked.clock}"
    print(f"{engine}, {spec.engine.transport}" if spec.engine.kind == "processes" else engine)
    if spec.network is not None:
        print(wrapped(f"  network: {_links(checked, network)}", 4))
    for name, value in msgspec.to_builtins(checked.parameters, enc_hook=str).items():
        if value is not None:
            print(f"  parameters.{name} = {in_toml(value)}")
    claim = checked.claim
    illustrates = ILLUSTRATES if claim.guarantees and not checked.field else ""
    print(wrapped(f"  claim: {claim.says}", 9))
    for line in (records(spec, claim), spec.arms.ends, illustrates):
        if line:
            print(wrapped(f"         {line}", 9))
    if checked.field:
        print(wrapped(f"  privacy: {spec.privacy.says}", 4))
    for sentence in advice:
        print(wrapped(f"  warning: {sentence}", 4))
    for sentence in checked.remarks_on_logs():
        print(wrapped(f"  note: {sentence}", 4))
    if network.facts.names:
        print(wrapped(f"  agents by name: {by_name(network.facts.names)}", 4))
    if target := getattr(spec.arms, "target", ""):
        print(
            wrapped(f"  arms.target: a run imports '{target}'; nothing of it is imported here", 4)
        )
    if options.join:
        return _take_part(checked, options)
    if absent := checked.missing():
        print(wrapped(f"  not on this machine: {absent}", 4))
    return 0


def _take_part(checked: Plan, options: argparse.Namespace) -> int:
    """What would hurt this machine's agent; 1 if anything would."""
    from posse.operate import doctor

    security.check("--join", options.join, options)
    if options.inbox:
        security.check("--inbox", options.inbox, options)
    pair = None
    if options.keys:
        keys.wait_for(options.keys, options.wait_for_keys)
        pair = keys.for_operator(options.keys) if keys.has_operator(options.keys) else None
        pair = pair or keys.for_agent(options.keys, -1)
    found = [
        *doctor.of_machine(checked),
        *doctor.of_disk(Path(checked.spec.base)),
        *doctor.of_coordinator(checked, options.join, pair, options.wait),
    ]
    if checked.system.wiring is not None:
        found += doctor.of_inbox(options.join, options.inbox, options.advertise)
    for sentence in found:
        print(wrapped(f"  will hurt: {sentence}", 4))
    if not found:
        print(f"  an agent of this machine can take part in the run of {options.join}")
    return bool(found)


def _links(plan: Plan, network: Network) -> str:
    """What `[network]` gives the links of a run, and what realises it."""
    spec = plan.spec
    conditions = spec.conditions(0)
    links = {(rank, COORDINATOR) for rank in range(spec.agents.count)}
    links |= {(min(i, j), max(i, j)) for i, near in enumerate(network.neighbours) for j in near}
    given = [conditions(*link) for link in sorted(links)]
    words = []
    for key, unit, factor in (
        ("delay", " ms", 1e3),
        ("jitter", " ms", 1e3),
        ("loss", " %", 100.0),
        ("bandwidth", " bytes/s", 1.0),
    ):
        values = sorted({factor * value for c in given if (value := getattr(c, key))})
        if values:
            few = counted(sum(bool(getattr(c, key)) for c in given), "link")
            span = " to ".join(f"{value:g}" for value in {values[0]: 0, values[-1]: 0})
            words.append(f"{key} {span}{unit} on {few}")
    where = "in virtual time" if spec.engine.kind == "memory" else "over relays of this machine"
    return f"{'; '.join(words) or 'links that take no time'}; {where}"
