"""`posse abandon`: give up a run that nobody wants to resume."""

from pathlib import Path

from posse.durable.journal import is_held
from posse.durable.lifetime import SUFFIX, read
from posse.errors import InputError
from posse.gates.databases import remove
from posse.gates.signatures import SIGNED

_JOURNAL = ".journal"


def abandon(folder: Path, /) -> None:
    """Give up an interrupted run that nobody wants to resume.

    It removes the journals, and says what was spent on their runs.

    Args:
        folder: folder with the journal of a coordinator (its --out) or of agents; or one journal
    """
    journals = [folder] if folder.suffix == _JOURNAL else sorted(folder.glob(f"*{_JOURNAL}"))
    if not any(path.is_file() for path in journals):
        raise InputError(f"{folder} has no journal: there is no run to give up")
    held = [path for path in journals if is_held(path)]
    if held:
        raise InputError(f"{held[0]} is in use by a process; stop that process first")
    for path in journals:
        remove(path)
        remove(path.with_name(f"{path.name}{SIGNED}"))
        ledger = path.with_suffix(SUFFIX)
        spent = "what it used is in each agent's ledger (posse ledger)"
        if ledger.is_file():
            spent = f"{read(ledger).says} ({ledger.name})"
        print(f"{path}: its run is given up; {spent}")
