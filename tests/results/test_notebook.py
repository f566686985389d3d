"""A result's tables in a notebook."""

import importlib.util

import pandas as pd
import pytest

import posse
from tests.support.runfile import describe_run

SPEC = describe_run("mase", 8, [0.9, 0.1], repeat=2, engine="memory")


@pytest.fixture(scope="module")
def result():
    return posse.run(SPEC)


def test_a_row_per_run(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["rounds"].tolist() == [run.rounds for run in result.runs]
    assert frame["right"].tolist() == [1, 1]
    assert frame["best_arm"].dtype == "Int64"
    assert frame["slots"].isna().all()


def test_a_row_per_agent_per_link_and_per_point_of_a_curve(result):
    agents, links, curve = result.agents_frame(), result.links_frame(), result.regret_frame()
    assert len(agents) == 2 * 8
    runs = result.runs
    assert agents.groupby("run")["pulls"].sum().tolist() == [run.pulls for run in runs]
    sent = links[links["plane"] == 0].groupby("run")["payload_bytes"].sum()
    assert sent.tolist() == [run.communication.data.payload_bytes for run in runs]
    ends = curve.groupby("run").last()["regret"]
    assert ends.tolist() == pytest.approx([run.regret for run in runs])


def test_every_column_has_its_type_whatever_is_known(result):
    types = result.to_frame().dtypes.astype(str).to_dict()
    assert types["slots"] == types["pulls"] == "Int64"
    assert types["rewards"] == types["regret"] == "Float64"
    assert (types["right"], types["status"]) == ("boolean", "string")
    assert result.agents_frame().dtypes["epsilon_spent"] == "Float64"
    assert result.links_frame().dtypes["kind"] == "string"
    assert [*result.regret_frame().dtypes] == ["Int64", "Float64", "Float64"]


def test_without_pandas_plain_columns(result, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    columns = result.to_frame()
    assert columns["run"] == [0, 1]
    assert columns["slots"] == [None, None]
    assert {len(column) for column in columns.values()} == {2}
    shown = repr(result.regret_frame()).splitlines()
    rows = len(result.regret_frame()["t"])
    assert shown[0] == f"{rows} rows in 3 columns (with pandas installed, a DataFrame)"
    assert shown[1] == "  run: [0, 0, 0, 0, 0, 0, ...]"
    assert max(map(len, shown)) < 200
