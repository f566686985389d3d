"""What `posse audit` wrote into a folder."""

from pathlib import Path

from posse.audit.whole import AUDIT, Document
from posse.errors import InputError
from posse.gates import files
from posse.gates.decode import from_json

__all__ = ["Document", "is_audit", "read"]


def is_audit(folder: Path) -> bool:
    """Whether `posse audit` wrote this directory."""
    return (folder / AUDIT).is_file()


def read(folder: Path) -> Document:
    """What `posse audit` wrote into a folder; `InputError` if it did not."""
    try:
        document: Document = from_json(files.read(folder / AUDIT), Document)
    except OSError as error:
        raise InputError(f"{folder / AUDIT} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{folder / AUDIT}: is not what posse audit wrote ({error})") from None
    return document
