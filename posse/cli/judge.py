"""`posse judge`: what posse's own systems must hold, tried on anybody's."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from posse.cli import paths, report
from posse.cli.options import FileToWrite, Jobs, Json, Trust, WholeNumber, print_json
from posse.errors import RunFailed
from posse.testing.foreign import Part, judge_agent
from posse.testing.judge import MESSAGES, SEEDS, summary
from posse.testing.judge import judge as judgements


def judge(
    source: str,
    /,
    *,
    seeds: WholeNumber = SEEDS,
    messages: WholeNumber = MESSAGES,
    only: str = "",
    part: Part = "wall",
    keys: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    page: FileToWrite | None = None,
    trust: Trust = Trust(),
    jobs: Jobs = Jobs(),
    how: Json = Json(),
) -> int:
    """Try on a system of your own what ours must hold.

    Each finding is printed as it is made.

    Args:
        source: module:SYSTEM, a name from posse list, a run file (TOML), or an address, tcp://…, at
            which to wait for an agent that is not posse's, and judge it by docs/wire.md
        seeds: how many seeds of faults to try
        messages: how many bad messages to try
        only: only checks with this in their names
        part: at an address: mase by the clock wall or virtual, or ddp-mab with a neighbour
        keys: at an address: the folder of everybody's keys, as posse keys makes it
        page: HTML file to write with what held, what broke, and the command that repeats it
    """
    if page:
        report.require()
        paths.file(page)
    findings: list[Any] = []
    tried = judgements(source, only=only, seeds=seeds, messages=messages, jobs=jobs.jobs)
    if source.startswith(("tcp://", "ipc://")):
        tried = judge_agent(source, part=part, keys=keys)
    for finding in tried:
        findings.append(finding)
        if not how.json:
            print(finding, flush=True)
    if how.json:
        print_json([finding._asdict() for finding in findings])
    else:
        print(f"\n{summary(findings)}")
    if page:
        from posse.testing.judged import judged_page

        judged_page(source, findings).write(page)
    return RunFailed.exit_code if any(each.held is False for each in findings) else 0
