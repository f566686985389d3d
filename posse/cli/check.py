"""`posse check`: explain a run file, or what is wrong with it."""

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from posse.cli.listing import in_toml
from posse.cli.options import Duration, Json, RunFile, SetOptions, WholeNumber
from posse.cli.security import KeyOptions
from posse.cli.streams import wrapped
from posse.errors import InputError
from posse.measure.numbers import by_name, counted
from posse.plan import Plan
from posse.protocol.machine import COORDINATOR
from posse.results.record import ILLUSTRATES
from posse.security import keys as key_files
from posse.system.claims import records
from posse.system.network import Network


def check(
    file: Path,
    /,
    *,
    topology: bool = False,
    run: WholeNumber = 0,
    draw: Annotated[Path | None, Parameter(metavar="OUT")] = None,
    how: Json = Json(),
    join: Annotated[str, Parameter(metavar="ADDRESS")] = "",
    inbox: Annotated[str, Parameter(metavar="ADDRESS")] = "",
    advertise: Annotated[str, Parameter(metavar="ADDRESS")] = "",
    wait: Duration = 5.0,
    keys: KeyOptions = KeyOptions(),
    settings: SetOptions = SetOptions(),
) -> int:
    """Check and explain a run file without starting anything.

    Args:
        file: run file (TOML)
        topology: describe the graph instead, for which the file needs only [topology]
        run: with --topology: number of the run whose graph is shown
        draw: with --topology: draw the graph to this file, a .png or .svg
        join: also check that an agent of this machine can take part in a coordinator's run:
            address, keys, clock, version, limits, locks, disk, inbox
        inbox: with --join: where the agent would listen to neighbours
        advertise: with --join: by which they would reach it, if another
        wait: with --join: longest wait
    """
    if topology:
        from posse.cli.topology import describe

        describe(file, settings.set, run, draw, json=how.json)
        return 0
    if run or draw or how.json:
        raise InputError("--run, --draw and --json are for --topology; add it")
    checked = RunFile(file, settings).plan()
    _explain(file, checked)
    if join:
        return _take_part(checked, keys, join, (inbox, advertise), wait)
    if absent := checked.missing():
        print(wrapped(f"  not on this machine: {absent}", 4))
    return 0


def _explain(file: Path, checked: Plan) -> None:
    spec, system, advice = checked.spec, checked.system, checked.advice()
    network = checked.network(0)  # finds mistakes that would otherwise stop a run
    checked.check_logs()
    print(wrapped(f"{file}: {system.name}, {system.title} ({system.paper})", 2))
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


def _take_part(
    checked: Plan, keys: KeyOptions, join: str, inbox: tuple[str, str], wait: float
) -> int:
    """What would hurt this machine's agent; 1 if anything would.

    `inbox`: where it would listen, and by which address neighbours would reach it.
    """
    from posse.operate import doctor

    keys.check("--join", join)
    if inbox[0]:
        keys.check("--inbox", inbox[0])
    keys.wait()
    pair = key_files.for_agent(keys.keys, -1) if keys.keys else None
    found = [
        *doctor.of_machine(checked),
        *doctor.of_disk(Path(checked.spec.base)),
        *doctor.of_coordinator(join, pair, wait),
    ]
    if checked.system.wiring is not None:
        found += doctor.of_inbox(join, *inbox)
    if pair is not None and pair.claim is not None:
        pair.claim.close()
    for sentence in found:
        print(wrapped(f"  will hurt: {sentence}", 4))
    if not found:
        print(f"  an agent of this machine can take part in the run of {join}")
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
