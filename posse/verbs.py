"""How a package adds a verb to the command `posse`.

Its distribution names a function in the entry point group `posse.verbs`, by the verb:

    [project.entry-points."posse.verbs"]
    paper = "posse_papers.verb:paper"

Its parameters are the verb's arguments and options, by their types (`cyclopts` reads them; those
before `/` and `*names` are arguments), and it returns the exit code. `Args:` in its docstring says
what each means. A class marked `shared`, such as `Jobs`, stands for several options. `posse --help`
says what the verb does by the distribution's summary, for which nothing of the package is loaded.
"""

from posse.cli.options import Engine, FolderToWrite, Jobs, shared
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
    "Engine",
    "FolderToWrite",
    "Jobs",
    "complain",
    "held",
    "read_whole",
    "remark",
    "require_report",
    "require_room",
    "screen",
    "shared",
    "writable_file",
    "writable_folder",
    "write_whole",
]
