"""Tables and figures of a page in files for a paper."""

from pathlib import Path

import pytest

from posse.cli.main import main
from posse.report.formats import tabular
from posse.report.page import Cell, table
from tests.cli.conftest import run_file

pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")

__all__ = ["run_file"]


def test_a_table_in_latex() -> None:
    made = table(
        "", ("system", "data_bytes"), [("a & b", Cell("5 (3 to 8, n = 5)", 5.0)), ("50%", 7)]
    )
    assert tabular(made) == (
        "\\begin{tabular}{lr}\n\\toprule\nsystem & data\\_bytes \\\\\n\\midrule\n"
        "a \\& b & 5 (3 to 8, n = 5) \\\\\n50\\% & 7 \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


@pytest.mark.slow
def test_a_report_in_each_format(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(run_file), "--out", "ride"]) == 0
    for kind, files in (
        ("tex", {"runs.tex", "found.tex"}),
        ("csv", {"runs.csv", "found.csv"}),
        ("svg", {"regret.svg", "regret.csv"}),
    ):
        capsys.readouterr()
        assert main(["report", "ride", "--format", kind, "--out", f"paper/{kind}"]) == 0
        written = {path.name for path in Path("paper", kind).iterdir()}
        assert files <= written
        assert {Path(line).name for line in capsys.readouterr().out.split()} == written
    assert Path("paper/csv/found.csv").read_text().startswith("arm,true mean,runs,agents,pulls")
