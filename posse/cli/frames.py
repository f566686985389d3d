"""`posse frames`: the frames of a capture, which `--capture` wrote."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from posse.cli import paths
from posse.cli.options import WholeNumber, file_to_write, parsed
from posse.durable import frames as captured
from posse.gates import files
from posse.log import remark
from posse.measure.numbers import listed


def _end(text: str) -> int:
    if text == "coordinator":
        return -1
    if not text.isdecimal():
        raise ValueError(f"is {text}; it must be a rank, or coordinator")
    return int(text)


_End = Annotated[int | None, parsed(_end, "RANK")]


def frames(
    file: Path,
    /,
    *,
    kind: str | None = None,
    plane: Literal["data", "control", "world", "session"] | None = None,
    run: WholeNumber | None = None,
    from_: Annotated[_End, Parameter(name="--from")] = None,
    to: _End = None,
    json: bool = False,
    picture: Annotated[Path | None, parsed(file_to_write, "SVG")] = None,
) -> None:
    """Show the frames of a capture, one per line.

    Args:
        file: file that --capture of posse run, coordinator or agent wrote
        kind: show only frames of this kind, e.g. Vote
        plane: show only frames of this plane
        run: show only frames of this run, from 0
        from_: show only frames from the agent of this rank, or coordinator
        to: show only frames to the agent of this rank, or coordinator
        json: print one JSON document per line
        picture: write the last 400 of them as a space-time picture instead
    """
    found = captured.select(captured.read(file), link=(from_, to), plane=plane, kind=kind, run=run)
    if picture is not None:
        from posse.report.picture import of_frames

        files.write(paths.file(picture), of_frames(str(file), found))
        return
    frame = None
    for frame in found:
        print(msgspec.json.encode(frame).decode() if json else frame)
    if frame is None:
        kinds = sorted({one.kind for one in captured.read(file)})
        remark(f"{file}: no frame matches; its frames are of the kinds {listed(kinds)}")
