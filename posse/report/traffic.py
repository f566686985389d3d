"""What went over the wire: by kind of message, by link, and what it cost."""

import msgspec

from posse.measure.numbers import average, short
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.reading.folder import Series
from posse.report.drawing import COLOUR, Chart, canvas, large_numbers, note, to_svg
from posse.report.page import MOST_ROWS, Section, some, table
from posse.results.measures import DATA_MESSAGES
from posse.results.record import RunRecord

_ORDER = {"data": 0, "world": 1, "control": 2}
_COUNTS = ("messages", "payload bytes", "frame bytes")

Kind = tuple[str, str, float, float, float]
"""Plane and kind of message; messages, payload and frame bytes of a run on average."""


def section(series: Series) -> Section:
    """Costs as the papers count them, and the tables behind them."""
    costs = {
        "Messages, agent to coordinator": lambda run: run.communication.links.agent_coordinator,
        "Messages, coordinator to agent": lambda run: run.communication.links.coordinator_agent,
        "Messages, agent to agent": lambda run: run.communication.links.agent_agent,
        "Cost as the paper counts it": _paper_cost,
        "Rounds of communication": lambda run: run.communication.rounds,
        "Bytes on the sockets": _kernel_bytes,
    }
    terms = [(term, values) for term, read in costs.items() if any(values := series.values(read))]
    kinds = _kinds(series)
    note = "Means per run. Payload: what the codec made; frame: what ZeroMQ was handed."
    tables = [table("By kind of message", ("plane", "kind", *_COUNTS), kinds, note=note)]
    heavy = sorted(
        (link for link in series.links() if link.plane != Plane.CONTROL),
        key=lambda link: (-link.payload_bytes, link.source, link.target),
    )
    if heavy:
        runs = len(series.runs)
        by_link = [
            (
                _name(link.source),
                _name(link.target),
                Plane(link.plane).name.lower(),
                link.kind,
                link.messages / runs,
                link.payload_bytes / runs,
                link.frame_bytes / runs,
            )
            for link in heavy[:MOST_ROWS]
        ]
        heaviest = f"the {MOST_ROWS} heaviest of " * (len(heavy) > MOST_ROWS)
        title = f"By link ({heaviest}{len(heavy):,})"
        note = "Every link of every run is in links.csv."
        header = ("from", "to", "plane", "kind", *_COUNTS)
        tables.append(table(title, header, by_link, note=note, folded=True))
    return Section(
        id="traffic",
        title="What went over the wire",
        text=[_in_words(series)],
        terms=[(term, average(values)) for term, values in terms],
        charts=some(_bytes_by_kind(kinds, series.spec.mode == "field")),
        tables=tables,
    )


def _in_words(series: Series) -> str:
    """What a run sent, on average."""
    data = series.values(DATA_MESSAGES.read)
    if not data:
        return (
            "In the field nobody reports what agents send each other; what is counted here is the "
            "coordinator's links."
        )
    world = series.values(lambda run: run.communication.world.messages)
    parts = {
        "messages of the paper's own": data,
        "to and from the arms that all share": world,
        "of control": series.values(lambda run: run.communication.control.messages),
    }
    said = [f"{average(values)} {name}" for name, values in parts.items() if any(values)]
    return f"A run sends {'; '.join(said) or 'nothing'}."


def _paper_cost(run: RunRecord) -> float | None:
    """The cost in links, where the system's paper has a formula for it."""
    traffic = run.communication
    return traffic.cost if traffic.per_round or traffic.closed_form else None


def _kernel_bytes(run: RunRecord) -> float | None:
    counted = run.communication.socket_bytes
    return None if counted is None else counted.sent + counted.received


def _kinds(series: Series) -> list[Kind]:
    """All kinds of messages, the paper's own first, the heaviest first."""
    total: dict[tuple[str, str], list[int]] = {}
    for run in series.runs:
        for plane in _ORDER:
            for kind, amount in getattr(run.communication, plane).kinds.items():
                row = total.setdefault((plane, kind), [0, 0, 0])
                for n, count in enumerate(msgspec.structs.astuple(amount)):
                    row[n] += count or 0
    runs = len(series.runs)
    means = ((*key, m / runs, p / runs, f / runs) for key, (m, p, f) in total.items())
    return sorted(means, key=lambda row: (_ORDER[row[0]], -row[4], row[1]))


def _name(rank: int) -> str:
    return "coordinator" if rank == COORDINATOR else f"agent {rank}"


def _bytes_by_kind(kinds: list[Kind], field: bool) -> Chart | None:
    """Frame bytes per kind of message, data apart from control."""
    if not kinds:
        return None
    colours = {"data": "s1", "world": "s2", "control": "s7"}
    with canvas(1.3 + 0.3 * len(kinds)) as (figure, axes):
        seen: set[str] = set()
        for row, (plane, _, _, _, value) in enumerate(kinds):
            label = None if plane in seen else plane
            seen.add(plane)
            axes.barh(row, value, height=0.68, color=COLOUR[colours[plane]], label=label)
            note(axes, f"{short(value)}B", (value, row), (4, 0))
        axes.set_yticks(range(len(kinds)), [kind for _, kind, *_ in kinds])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.16)
        axes.set_xlabel("bytes handed to ZeroMQ, a run")
        large_numbers(axes, x=True, y=False)
    return Chart(
        name="bytes",
        title="Bytes by kind",
        caption=""
        if field
        else "Control messages belong to the lab (clock, reports); in the field most of them do "
        "not exist.",
        svg=to_svg(figure, "bytes", "Bytes per kind of message"),
        header=("plane", "kind", "frame_bytes"),
        rows=[(plane, kind, value) for plane, kind, _, _, value in kinds],
    )
