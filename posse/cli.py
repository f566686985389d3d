"""The command line. Heavy imports wait until a command needs them.

Exit codes: 0 the command did what it says (a run that ended without consensus is a result);
2 the input was wrong and nothing was started; 3 a run failed; 1 another error of use;
130 interrupted.
"""

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from posse.errors import PosseError

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: int = options.command(options)
        return code
    except PosseError as error:
        print(f"posse: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("posse: interrupted; every agent was told to go", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="posse",
        description="Private multi-agent bandits, run for real: agents are processes, messages "
        "cross real sockets, costs and disclosure are measured on the wire.",
        epilog="Exit codes: 0 done, 1 cannot be done, 2 wrong input (nothing started), 3 a run "
        "failed, 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run a run file: every agent, all repeats, one result")
    _run_file(run)
    run.add_argument("--engine", choices=("processes", "memory"), help="where agents run")
    run.add_argument("--seed", type=int, metavar="N", help="the seed of all randomness")
    run.add_argument("--repeat", type=int, metavar="N", help="how many runs")
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
    graph.add_argument("--run", type=int, default=0, metavar="N", help="the graph of run N")
    graph.add_argument("--draw", type=Path, metavar="OUT", help="draw to OUT.png or OUT.svg")
    graph.add_argument("--json", action="store_true", help="print one JSON document")
    graph.set_defaults(command=_topology)

    coordinator = commands.add_parser("coordinator", help="wait for agents elsewhere, then run")
    _run_file(coordinator)
    coordinator.add_argument("--bind", required=True, metavar="ADDRESS", help="tcp://HOST:PORT")
    coordinator.add_argument("--out", type=Path, metavar="DIR", help="directory of the result")
    coordinator.add_argument("--json", action="store_true", help="print one JSON document")
    _insecure(coordinator)
    coordinator.set_defaults(command=_coordinator)

    agent = commands.add_parser("agent", help="join a coordinator as one agent")
    agent.add_argument("--join", required=True, metavar="ADDRESS", help="tcp://HOST:PORT")
    agent.add_argument("--rank", default="auto", help="a number, or auto (default)")
    agent.add_argument(
        "--inbox", default="", metavar="ADDRESS", help="where neighbours reach this agent"
    )
    _insecure(agent)
    agent.set_defaults(command=_agent)
    _evidence(commands)
    return parser


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
    paper.add_argument("--out", type=Path, default=Path("runs/papers"), metavar="DIR")
    paper.add_argument(
        "--document", type=Path, metavar="FILE", help="write all outcomes in DIR as Markdown"
    )
    paper.set_defaults(command=_paper)


def _run_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the run file (TOML)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="override a key of the run file, as in parameters.epsilon=0.5",
    )


def _insecure(parser: argparse.ArgumentParser) -> None:
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
    from posse import api, command_run, spec  # noqa: PLC0415

    checked = spec.load(options.file, _overrides(options))
    return command_run.run(checked, options, api.run)


def _coordinator(options: argparse.Namespace) -> int:
    from posse import api, command_run, spec  # noqa: PLC0415

    checked = spec.load(options.file, [*_overrides(options), "engine.kind=processes"])
    _refuse_open_address(options.bind, options.insecure)

    def serve(source: Any, **callbacks: Any) -> Any:
        return api.serve(source, bind=options.bind, **callbacks)

    return command_run.run(checked, options, serve)


def _agent(options: argparse.Namespace) -> int:
    from posse.engines.agent_process import AgentProcess  # noqa: PLC0415

    _refuse_open_address(options.join, options.insecure)
    if options.rank != "auto" and not options.rank.isdigit():
        raise PosseError(f"--rank {options.rank}: must be a number from 0, or auto")
    rank = -1 if options.rank == "auto" else int(options.rank)
    return AgentProcess(options.join, rank, token="", inbox=options.inbox).serve()


def _refuse_open_address(address: str, insecure: bool) -> None:
    loopback = address.startswith(("tcp://127.", "tcp://localhost:", "tcp://[::1]:", "ipc://"))
    if not loopback and not insecure:
        raise PosseError(
            f"{address} is reached from other machines and there are no keys; add --insecure if "
            "everybody who reaches it may join"
        )


def _check(options: argparse.Namespace) -> int:
    from posse import command_list, spec  # noqa: PLC0415

    command_list.describe(spec.load(options.file, _overrides(options)), options.file)
    return 0


def _report(options: argparse.Namespace) -> int:
    from posse import command_report  # noqa: PLC0415

    return command_report.report(options.directory, options.out)


def _compare(options: argparse.Namespace) -> int:
    from posse import command_report  # noqa: PLC0415

    return command_report.compare(options.directories, options.out)


def _topology(options: argparse.Namespace) -> int:
    from posse import topology_command  # noqa: PLC0415

    return topology_command.run(
        options.file, options.set, number=options.run, draw=options.draw, as_json=options.json
    )


def _paper(options: argparse.Namespace) -> int:
    from posse import command_paper  # noqa: PLC0415

    if not options.names and not options.all:
        return command_paper.show()
    return command_paper.run(
        options.names,
        quick=options.quick,
        engine=options.engine,
        out=options.out,
        document=options.document,
    )


def _list(options: argparse.Namespace) -> int:
    from posse import command_list  # noqa: PLC0415

    command_list.show(options.what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
