"""`posse check`: explain a run file, or what is wrong with it."""

import argparse

import msgspec

from posse.cli.listing import in_toml
from posse.cli.options import add_run_file, plan
from posse.cli.parser import Parser
from posse.cli.streams import wrapped
from posse.families.claims import records
from posse.measure.numbers import by_name, counted
from posse.own_code import Imports
from posse.results.record import ILLUSTRATES


def add(parser: Parser) -> None:
    add_run_file(parser)
    parser.set_defaults(imports=Imports.NOTHING)


def run(options: argparse.Namespace) -> None:
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
    if absent := checked.missing():
        print(wrapped(f"  not on this machine: {absent}", 4))
