"""The command line. Heavy imports wait until a command needs them.

Exit codes: 0 the command did what it says (a run that ended without consensus is a result);
2 the input was wrong and nothing was started; 3 a run failed; 1 this machine cannot do it (an extra
is missing, a port is taken, nobody answers); 130 interrupted.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from posse import __version__
from posse.errors import InputError, PosseError

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int | None = options.command(options)
        return code or 0
    except PosseError as error:
        print(f"posse: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("posse: interrupted; every agent was told to go", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    whole = argparse.ArgumentParser(
        prog="posse",
        description="Private multi-agent bandits, run for real: agents are processes, messages "
        "cross real sockets, costs and disclosure are measured on the wire.",
        epilog="Exit codes: 0 done, 1 cannot be done, 2 wrong input (nothing started), 3 a run "
        "failed, 130 interrupted.",
    )
    whole.add_argument("--version", action="version", version=f"posse {__version__}")
    whole.set_defaults(command=lambda options: whole.print_help())
    commands = whole.add_subparsers(title="commands", metavar="COMMAND")

    run = commands.add_parser("run", help="run a run file: every agent, all repeats, one result")
    _run_file(run)
    run.add_argument("--engine", choices=("processes", "memory"), help="where agents run")
    run.add_argument("--seed", type=int, metavar="N", help="the seed of all randomness")
    run.add_argument("--repeat", type=int, metavar="N", help="how many runs")
    run.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help="processes for the repeats of engine memory (cores)",
    )
    run.add_argument("--out", type=Path, metavar="DIR", help="directory of the result")
    run.add_argument("--json", action="store_true", help="print one JSON document, nothing else")
    run.set_defaults(command=_run)

    show = commands.add_parser("list", help="systems, arms and topologies, with their parameters")
    show.add_argument(
        "what",
        nargs="?",
        default="all",
        help="systems, arms, topologies, or the name of one system (default: all)",
    )
    show.set_defaults(command=_list)

    check = commands.add_parser("check", help="check a run file and start nothing")
    _run_file(check)
    check.set_defaults(command=_check)

    graph = commands.add_parser("topology", help="describe and draw a run file's graph")
    _run_file(graph)
    graph.add_argument("--run", type=_number, default=0, metavar="N", help="the graph of run N")
    graph.add_argument("--draw", type=Path, metavar="OUT", help="draw to OUT.png or OUT.svg")
    graph.add_argument("--json", action="store_true", help="print one JSON document")
    graph.set_defaults(command=_topology)

    _elsewhere(commands)
    _many(commands)
    _evidence(commands)

    completion = commands.add_parser("completion", help="what a shell needs to complete commands")
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "powershell"))
    completion.set_defaults(command=_completion)
    return whole


def _elsewhere(commands: Any) -> None:
    """The commands of coordinators and agents on several machines."""
    coordinator = commands.add_parser("coordinator", help="wait for agents elsewhere, then run")
    _run_file(coordinator)
    coordinator.add_argument("--bind", required=True, metavar="ADDRESS", help="tcp://HOST:PORT")
    coordinator.add_argument("--out", type=Path, metavar="DIR", help="directory of the result")
    coordinator.add_argument("--json", action="store_true", help="print one JSON document")
    coordinator.add_argument(
        "--make-keys", action="store_true", help="make the keys that the folder lacks"
    )
    coordinator.add_argument(
        "--metrics", metavar="[HOST]:PORT", help="serve metrics for Prometheus there"
    )
    _security(coordinator)
    coordinator.set_defaults(command=_coordinator)

    keys = commands.add_parser("keys", help="make key pairs for a coordinator and its agents")
    keys.add_argument("folder", type=Path, metavar="DIR", help="where to; adds what is missing")
    keys.add_argument("--agents", type=_count, required=True, metavar="N", help="how many agents")
    keys.set_defaults(command=_keys)

    status = commands.add_parser("status", help="who is up, what was heard, what is waited for")
    status.add_argument("--join", required=True, metavar="ADDRESS", help="the coordinator's")
    status.add_argument("--json", action="store_true", help="print one JSON document")
    status.add_argument(
        "--wait", type=float, default=5.0, metavar="SECONDS", help="for an answer (default: 5)"
    )
    _security(status)
    status.set_defaults(command=_status)

    agent = commands.add_parser("agent", help="join a coordinator as one agent")
    agent.add_argument("--join", required=True, metavar="ADDRESS", help="tcp://HOST:PORT")
    agent.add_argument("--rank", default="auto", help="a number, or auto (default)")
    agent.add_argument(
        "--inbox", default="", metavar="ADDRESS", help="where neighbours reach this agent"
    )
    agent.add_argument(
        "--run", type=Path, metavar="FILE", help="this machine's own run file, for its arms"
    )
    agent.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="as for posse run"
    )
    agent.add_argument(
        "--wait",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="how long to wait for a coordinator (default: 300)",
    )
    agent.add_argument(
        "--lab", action="store_true", help="let a lab's seeded noise protect real rewards"
    )
    _security(agent)
    agent.set_defaults(command=_agent)


def _many(commands: Any) -> None:
    """The commands of many runs."""
    sweep = commands.add_parser("sweep", help="a run file over all values of some keys")
    _run_file(sweep)
    sweep.add_argument(
        "--over",
        action="append",
        required=True,
        metavar="PATH=A,B,C",
        help="a key and its values; several make all combinations",
    )
    sweep.add_argument("--jobs", type=_count, metavar="N", help="processes (default: all cores)")
    sweep.add_argument("--dask", metavar="ADDRESS", help="a Dask cluster to run on instead")
    sweep.add_argument("--out", type=Path, metavar="DIR", help="directory of the result")
    sweep.add_argument("--json", action="store_true", help="print one JSON document")
    sweep.set_defaults(command=_sweep)


def _evidence(commands: Any) -> None:
    """The commands that read what runs left, or repeat a paper's experiment."""
    report = commands.add_parser("report", help="one page for a run's directory, or for a sweep's")
    report.add_argument("directory", type=Path, metavar="DIR", help="what posse run wrote")
    report.add_argument("--out", type=Path, metavar="FILE", help="the page (DIR/report.html)")
    report.set_defaults(command=_report)

    compare = commands.add_parser("compare", help="one page for several runs on the same arms")
    compare.add_argument("directories", type=Path, nargs="+", metavar="DIR")
    compare.add_argument("--out", type=Path, default=Path("compare.html"), metavar="FILE")
    compare.set_defaults(command=_compare)

    paper = commands.add_parser("paper", help="list the papers' experiments, or run them by name")
    paper.add_argument("names", nargs="*", metavar="NAME", help="as posse paper lists them")
    paper.add_argument("--all", action="store_true", help="run every experiment")
    paper.add_argument("--quick", action="store_true", help="less than a minute each")
    paper.add_argument("--engine", choices=("processes", "memory"), default="memory")
    paper.add_argument(
        "--estimate",
        action="store_true",
        help="run one repetition of each point and say what all would cost",
    )
    paper.add_argument("--out", type=Path, default=Path("runs/papers"), metavar="DIR")
    paper.add_argument(
        "--document", type=Path, metavar="FILE", help="write all outcomes in DIR as Markdown"
    )
    paper.set_defaults(command=_paper)


def _number(text: str) -> int:
    """The number of one of several; they begin at 0."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"is {text}; it must be a whole number from 0")
    return int(text)


def _count(text: str) -> int:
    """A number of something of which there must be one."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"is {text}; it must be a whole number from 1")
    return int(text)


def _run_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the run file (TOML)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a key of the run file, as in parameters.epsilon=0.5",
    )


def _security(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keys", type=Path, metavar="DIR", help="the folder of keys, made by posse keys"
    )
    parser.add_argument(
        "--wait-for-keys",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long the folder of keys may take to appear (default: 0)",
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow addresses beyond this machine without keys: everybody there may join",
    )


def _overrides(options: argparse.Namespace) -> list[str]:
    overrides: list[str] = list(options.set)
    for name, path in (("engine", "engine.kind"), ("seed", "seed"), ("repeat", "repeat")):
        if getattr(options, name, None) is not None:
            overrides.append(f"{path}={getattr(options, name)}")
    return overrides


def _run(options: argparse.Namespace) -> int:
    from posse import api  # noqa: PLC0415
    from posse.cli import run as command_run  # noqa: PLC0415
    from posse.plan import prepare  # noqa: PLC0415
    from posse.spec.runfile import read  # noqa: PLC0415

    plan = prepare(read(options.file, _overrides(options)))
    plan.require()
    jobs = options.jobs or os.cpu_count() or 1

    def run(source: Any, **callbacks: Any) -> Any:
        return nullcontext(api.run(source, jobs=jobs, **callbacks))

    return command_run.run(plan, options, run)


def _coordinator(options: argparse.Namespace) -> int:
    from posse import api, log  # noqa: PLC0415
    from posse.cli import run as command_run  # noqa: PLC0415
    from posse.measure import metrics  # noqa: PLC0415
    from posse.plan import prepare  # noqa: PLC0415
    from posse.security import keys  # noqa: PLC0415
    from posse.spec.runfile import read  # noqa: PLC0415

    plan = prepare(read(options.file, [*_overrides(options), "engine.kind=processes"]))
    plan.require(0)
    if plan.spec.mode == "field" and not options.keys:
        raise InputError("the field needs keys: make them by posse keys DIR and add --keys DIR")
    _refuse_open_address("--bind", options.bind, options)
    if options.metrics:
        metrics.place(options.metrics)
    log.begin("coordinator", insecure=options.keys is None)
    if options.keys:
        if options.make_keys:
            keys.create(options.keys, plan.spec.agents.count)
        keys.wait_for(options.keys, options.wait_for_keys)
    pairs = keys.for_coordinator(options.keys, plan.spec.agents.count) if options.keys else None
    _say_insecure(options)

    def publish(hub: Any) -> None:
        if options.metrics:
            metrics.publish(hub.status, options.metrics)

    @contextmanager
    def serve(source: Any, **callbacks: Any) -> Iterator[Any]:
        served = api.serve(source, bind=options.bind, keys=pairs, on_hub=publish, **callbacks)
        with served as result:
            yield result
            # it is written: who ends everybody when the first agent leaves does not spoil it
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    return command_run.run(plan, options, serve)


def _agent(options: argparse.Namespace) -> int:
    from posse.engines.platform import require_processes  # noqa: PLC0415

    require_processes()
    from posse import log  # noqa: PLC0415
    from posse.engines.remote_agent import remote_agent  # noqa: PLC0415
    from posse.plan import prepare  # noqa: PLC0415
    from posse.security import keys  # noqa: PLC0415
    from posse.spec.runfile import read  # noqa: PLC0415

    _refuse_open_address("--join", options.join, options)
    if options.inbox:
        _refuse_open_address("--inbox", options.inbox, options)
    rank = _rank(options.rank)
    if options.keys:
        keys.wait_for(options.keys, options.wait_for_keys)
    pair = keys.for_agent(options.keys, rank) if options.keys else None
    rank = pair.rank if pair is not None and pair.rank is not None else rank
    log.begin(f"agent {rank}" if rank >= 0 else "agent", insecure=pair is None)
    _say_insecure(options)
    own = prepare(read(options.run, options.set)) if options.run else None
    return remote_agent(
        options.join,
        rank,
        keys=pair,
        inbox=options.inbox,
        plan=own,
        wait=options.wait,
        lab=options.lab,
    ).serve()


def _rank(said: str) -> int:
    """The rank from the option or from what starts many of us; -1 leaves it to others."""
    names = ("POSSE_RANK", "JOB_COMPLETION_INDEX", "SLURM_PROCID")
    sources = {"--rank": said} if said != "auto" else {n: os.environ.get(n, "") for n in names}
    for name, value in sources.items():
        if value and not value.isdigit():
            raise InputError(f"{name} {value}: must be a number from 0, or auto")
        if value:
            return int(value)
    return -1


def _status(options: argparse.Namespace) -> int:
    from posse.cli import status as command_status  # noqa: PLC0415
    from posse.security import keys  # noqa: PLC0415

    _refuse_open_address("--join", options.join, options)
    pair = keys.for_operator(options.keys) if options.keys else None
    return command_status.show(options.join, pair, options.wait, as_json=options.json)


def _sweep(options: argparse.Namespace) -> int:
    from posse.cli import sweep as command_sweep  # noqa: PLC0415

    return command_sweep.run(options, _overrides(options))


def _keys(options: argparse.Namespace) -> int:
    from posse.security import keys  # noqa: PLC0415

    made = keys.create(options.folder, options.agents)
    print(
        f"{made} key pairs made in {options.folder}.\n"
        f"The coordinator's machine needs coordinator.key_secret and {keys.ALLOWLIST}; an agent's "
        "needs agent-RANK.key_secret and coordinator.key."
    )
    return 0


def _refuse_open_address(option: str, address: str, options: argparse.Namespace) -> None:
    from posse.security import address as addresses  # noqa: PLC0415

    addresses.check(option, address, bind=option != "--join")
    if options.keys and options.insecure:
        raise InputError("--keys and --insecure contradict each other; choose one")
    if not options.keys and not options.insecure and not addresses.is_local(address):
        raise InputError(
            f"{address} is reached from other machines and there are no keys; make them by "
            "posse keys DIR and add --keys DIR, or add --insecure if everybody who reaches it may "
            "join"
        )


def _say_insecure(options: argparse.Namespace) -> None:
    from posse.log import LOG  # noqa: PLC0415

    if options.keys is None:
        LOG.warning("there are no keys: whoever reaches this address may join and read everything")


def _check(options: argparse.Namespace) -> int:
    from posse.cli import listing as command_list  # noqa: PLC0415
    from posse.plan import prepare  # noqa: PLC0415
    from posse.spec.runfile import read  # noqa: PLC0415

    command_list.describe(prepare(read(options.file, _overrides(options))), options.file)
    return 0


def _report(options: argparse.Namespace) -> int:
    from posse.cli import report as command_report  # noqa: PLC0415

    return command_report.report(options.directory, options.out)


def _compare(options: argparse.Namespace) -> int:
    from posse.cli import report as command_report  # noqa: PLC0415

    return command_report.compare(options.directories, options.out)


def _topology(options: argparse.Namespace) -> int:
    from posse.cli import topology as topology_command  # noqa: PLC0415

    return topology_command.run(
        options.file, options.set, number=options.run, draw=options.draw, as_json=options.json
    )


def _paper(options: argparse.Namespace) -> int:
    from posse.cli import paper as command_paper  # noqa: PLC0415

    if options.estimate:
        return command_paper.estimate(
            options.names, quick=options.quick, engine=options.engine, out=options.out
        )
    if not options.names and not options.all:
        return command_paper.show()
    return command_paper.run(
        options.names,
        quick=options.quick,
        engine=options.engine,
        out=options.out,
        document=options.document,
    )


def _completion(options: argparse.Namespace) -> int:
    from posse.cli import completion as command_completion  # noqa: PLC0415

    print(command_completion.script(parser(), options.shell))
    return 0


def _list(options: argparse.Namespace) -> int:
    from posse.cli import listing as command_list  # noqa: PLC0415

    command_list.show(options.what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
