"""What is heard of a run's links is the same wherever its agents are."""

from pathlib import Path
from typing import Any

import pytest

import posse
from posse.durable.frames import Frame, read, select

RUNS: dict[str, dict[str, Any]] = {
    "a star": {"system": "mase", "agents": {"count": 6}},
    "one way per neighbour": {
        "system": "hdp-mab",
        "agents": {"count": 4},
        "topology": {"kind": "ring"},
        "parameters": {"epsilon": 1.0, "horizon": 500},
    },
    "one way to all neighbours": {
        "system": "private-ucb",
        "agents": {"count": 4},
        "topology": {"kind": "ring"},
        "parameters": {"epsilon": 1.0, "horizon": 40},
    },
}

Said = dict[tuple[int | None, int | None], list[Any]]


def said(frames: list[Frame]) -> Said:
    """Per link, all data messages in order."""
    links: Said = {}
    for frame in select(frames, plane="data"):
        assert not frame.resent
        message = (frame.run, frame.sequence, frame.now, frame.kind, frame.fields)
        links.setdefault((frame.source, frame.target), []).append(message)
    return links


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_both_engines_are_heard_saying_the_same(name: str, tmp_path: Path) -> None:
    run = {"seed": 2, "arms": {"kind": "bernoulli", "means": [0.8, 0.2]}, **RUNS[name]}
    heard = {}
    for engine in ("memory", "processes"):
        path = tmp_path / engine
        posse.run(run, engine=engine, capture=path)
        heard[engine] = list(read(path))
    assert said(heard["processes"]) == said(heard["memory"])
    assert len(said(heard["memory"])) > 5
    joining = list(select(heard["processes"], plane="control", kind="Join"))
    assert [frame.source for frame in joining] != []
    assert {frame.target for frame in joining} == {-1}
