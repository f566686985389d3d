"""`posse judge`: what posse's own systems must hold, tried on anybody's."""

import argparse

from posse.cli.options import FOREIGN, add_jobs, add_json, add_trust, number, print_json
from posse.cli.parser import Parser
from posse.errors import RunFailed
from posse.testing.judge import CHECKS, MESSAGES, SEEDS, judge


def add(parser: Parser) -> None:
    parser.option("source SYSTEM", "module:SYSTEM, a name from posse list, or a run file (TOML)")
    add_trust(parser, FOREIGN)
    parser.option("--seeds N", "how many seeds of faults to try", type=number, default=SEEDS)
    text = "how many bad messages to try"
    parser.option("--messages N", text, type=number, default=MESSAGES)
    text = f"only checks with this in their names: {'; '.join(CHECKS)}"
    parser.option("--only TEXT", text, default="")
    add_jobs(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print each finding as it is made."""
    tried = {"seeds": options.seeds, "messages": options.messages, "jobs": options.jobs}
    found = []
    for finding in judge(options.source, only=options.only, **tried):
        found.append(finding)
        if not options.json:
            print(finding, flush=True)
    broken = sum(finding.held is False for finding in found)
    if options.json:
        print_json([finding._asdict() for finding in found])
    else:
        print(f"\n{broken} of {len(found)} broken")
    return RunFailed.exit_code if broken else 0
