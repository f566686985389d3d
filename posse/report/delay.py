"""How long messages took, in seconds and in slots."""

from collections import Counter

import numpy as np

from posse.measure.numbers import capital, counted, number
from posse.protocol.machine import peer_name
from posse.reading.folder import Series
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import MOST_ROWS, Section, Table, some, table
from posse.results.delays import Delays, delays
from posse.results.record import Delay


def section(series: Series) -> Section:
    """The distribution over all runs, and in numbers the delays of the last that has any."""
    timed = delays(series.runs)
    chart = _distribution(timed.counts)
    text = []
    if chart is None:
        text.append(
            "Seconds were not measured: in the memory engine a message arrives when it is sent."
            if series.spec.engine.kind == "memory"
            else "No delay was measured."
        )
    terms = _quantiles(series, timed)
    return Section(
        id="delay",
        title="Delay",
        text=text,
        terms=terms,
        charts=some(chart),
        tables=_by_link(series),
    )


def _last(series: Series) -> Delay | None:
    """The delays of the last run that measured any."""
    return next((run.delay for run in reversed(series.runs) if run.delay is not None), None)


def _by_link(series: Series) -> list[Table]:
    """The slowest links of the last run that has any."""
    delay = _last(series)
    if delay is None or not delay.links:
        return []
    slowest = sorted(delay.links, key=lambda link: (-link.p50, link.source, link.target))
    rows = [
        (
            peer_name(link.source),
            peer_name(link.target),
            link.messages,
            1e3 * link.p50,
            1e3 * link.p99,
        )
        for link in slowest[:MOST_ROWS]
    ]
    title = f"By link (the {len(rows)} slowest of {len(slowest):,})"
    header = ("from", "to", "messages", "half within (ms)", "99% within (ms)")
    note = "Of the last run; all are in result.json."
    return [table(title, header, rows, note=note, folded=True)]


def _quantiles(series: Series, timed: Delays) -> list[tuple[str, str]]:
    """Quantiles of what the figure shows, and the slots of the last run that measured any."""
    delay = _last(series)
    if delay is None:
        return []
    terms = []
    if timed.counts:
        terms.append(("Messages timed", number(timed.counts.total())))
        terms += [(capital(name), f"{1e3 * s:,.2f} ms") for name, s in timed.within()]
    if delay.exchange_slots:
        terms.append(("Exchange slots", _spread(delay.exchange_slots)))
    if delay.t_delay:
        terms.append(("T delay", _spread(delay.t_delay)))
    return terms


def _spread(values: list[int]) -> str:
    """A list of numbers by its least and largest."""
    low, high = min(values), max(values)
    same = f"{number(low)} each time" if low == high else f"{number(low)} to {number(high)}"
    return f"{same} ({counted(len(values), 'time')})"


def _distribution(counts: Counter[float]) -> Chart | None:
    """Seconds from send to receipt, all messages of all runs, as a distribution."""
    if not counts:
        return None
    delays = np.array(sorted(counts))
    numbers = np.array([counts[s] for s in delays])
    with canvas() as (figure, axes):
        axes.bar(
            1e3 * delays,
            100 * numbers / numbers.sum(),
            width=1e3 * delays * 0.085,
            color=COLOUR["s0"],
        )
        axes.set_xscale("log")
        axes.set(xlabel="delay (ms)", ylabel="messages (%)")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return Chart(
        name="delay",
        title="Delay",
        caption=f"From send to receipt, control messages included; {numbers.sum():,} messages "
        "of all runs.",
        svg=to_svg(figure, "delay", "Delay of messages"),
        header=("seconds", "messages"),
        rows=list(zip(delays.tolist(), numbers.tolist(), strict=True)),
    )
