"""`posse report`: one page for a run's directory, a sweep's or an audit's."""

import argparse
from pathlib import Path

from posse.cli import extra, paths
from posse.cli.options import place


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="what posse run wrote")
    parser.add_argument("--out", type=place, metavar="FILE", help="the page (DIR/report.html)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    extra.require()
    from posse.report import audit, read, run_page, several

    directory = options.directory
    audited = audit.is_audit(directory)
    found = [] if audited else read.find(directory)
    options.out = paths.file(options.out or directory / "report.html")
    if audited:
        made = audit.audit_page(directory)
    elif read.is_run(directory):
        made = run_page.run_page(found[0])
    else:
        name = directory.resolve().name
        made = several.several_page(found, f"{name}: {len(found)} series", "posse report")
    made.write(options.out)
    print(options.out)
