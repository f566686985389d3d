"""`posse judge`: what posse's own systems must hold, tried on anybody's."""

from typing import Any

from posse.cli.options import Jobs, Json, Trust, WholeNumber, print_json
from posse.errors import RunFailed
from posse.testing.foreign import judge_agent
from posse.testing.judge import MESSAGES, SEEDS
from posse.testing.judge import judge as findings


def judge(
    source: str,
    /,
    *,
    seeds: WholeNumber = SEEDS,
    messages: WholeNumber = MESSAGES,
    only: str = "",
    trust: Trust = Trust(),
    jobs: Jobs = Jobs(),
    how: Json = Json(),
) -> int:
    """Try on a system of your own what ours must hold.

    Each finding is printed as it is made.

    Args:
        source: module:SYSTEM, a name from posse list, a run file (TOML), or an address, tcp://…, at
            which to wait for an agent of mase that is not posse's, and judge it by docs/wire.md
        seeds: how many seeds of faults to try
        messages: how many bad messages to try
        only: only checks with this in their names
    """
    found: list[Any] = []
    tried = findings(source, only=only, seeds=seeds, messages=messages, jobs=jobs.jobs)
    if source.startswith(("tcp://", "ipc://")):
        tried = judge_agent(source)
    for finding in tried:
        found.append(finding)
        if not how.json:
            print(finding, flush=True)
    broken = sum(finding.held is False for finding in found)
    if how.json:
        print_json([finding._asdict() for finding in found])
    else:
        untried = sum(finding.held is None for finding in found)
        print(f"\n{broken} of {len(found) - untried} broken, {untried} not applicable")
    return RunFailed.exit_code if broken else 0
