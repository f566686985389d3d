"""How a package adds a verb to the command `posse`.

Its distribution names a module in the entry point group `posse.verbs`, by the verb:

    [project.entry-points."posse.verbs"]
    paper = "posse_papers.verb"

The module has `add(parser)`, which adds the verb's options, and `run(options)`, which carries it
out and returns the exit code. `posse --help` says what the verb does by the distribution's summary,
for which nothing of the package is loaded.
"""

from posse.cli.options import add_engine, add_jobs, place
from posse.cli.parser import Parser
from posse.cli.paths import file as writable_file
from posse.cli.paths import folder as writable_folder
from posse.cli.progress import screen
from posse.cli.report import require as require_report
from posse.gates.files import read as read_whole
from posse.gates.files import require_room
from posse.gates.files import write as write_whole
from posse.gates.locks import held
from posse.log import complain, remark

__all__ = [
    "Parser",
    "add_engine",
    "add_jobs",
    "complain",
    "held",
    "place",
    "read_whole",
    "remark",
    "require_report",
    "require_room",
    "screen",
    "writable_file",
    "writable_folder",
    "write_whole",
]
