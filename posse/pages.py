"""Pages of figures and tables as `posse report` draws them, in one file each. Extra: `report`."""

from posse.report.drawing import (
    COLOUR,
    Chart,
    bars,
    canvas,
    curve,
    large_numbers,
    points,
    to_svg,
)
from posse.report.page import (
    Candidate,
    Choosing,
    Page,
    RankedRow,
    Ranking,
    Section,
    Table,
    Verdict,
    mean_cell,
    table,
)
from posse.report.regret import mean_curve
from posse.results.verdict import VerdictLine, alerts, verdict_line

__all__ = [
    "COLOUR",
    "Candidate",
    "Chart",
    "Choosing",
    "Page",
    "RankedRow",
    "Ranking",
    "Section",
    "Table",
    "Verdict",
    "VerdictLine",
    "alerts",
    "bars",
    "canvas",
    "curve",
    "large_numbers",
    "mean_cell",
    "mean_curve",
    "points",
    "table",
    "to_svg",
    "verdict_line",
]
