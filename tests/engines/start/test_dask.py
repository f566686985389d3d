"""How a Dask cluster is named and reached."""

import pytest

from posse.engines.start import dask
from posse.engines.start.dask import DaskPlacement, connect
from posse.errors import InputError, PosseError


@pytest.mark.parametrize("on", ["192.0.2.1:8786", "tcp://192.0.2.1:8786", "dask://", "dask:///"])
def test_what_is_no_cluster_is_said(on: str) -> None:
    with pytest.raises(InputError, match="must be a scheduler's dask://HOST:PORT"):
        DaskPlacement(on)


@pytest.mark.parametrize("on", ["dask://127.0.0.1:1", "dask:///nowhere/scheduler.json"])
def test_where_no_scheduler_answers_is_said(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    monkeypatch.setattr(dask, "_ANSWERS", 0.2)
    with (
        pytest.raises(PosseError, match=f"--on {on}: no scheduler answers"),
        connect(DaskPlacement(on)),
    ):
        raise AssertionError
