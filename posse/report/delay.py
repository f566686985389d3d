"""How long messages took, in seconds and in slots."""

from collections import Counter

import numpy as np

from posse.measure.numbers import counted, number
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import Section, some
from posse.report.read import Series


def section(series: Series) -> Section:
    """The distribution over all runs, and in numbers the delays of the last that has any."""
    chart = _distribution(series)
    text = []
    if chart is None:
        text.append(
            "Seconds were not measured: in the memory engine a message arrives when it is sent."
            if series.spec.engine.kind == "memory"
            else "No delay was measured."
        )
    terms = _quantiles(series)
    if len(series.runs) > 1 and terms:
        text.append("The numbers are those of the last run that has any.")
    return Section(
        id="delay",
        title="Delay",
        text=text,
        terms=terms,
        charts=some(chart),
    )


def _quantiles(series: Series) -> list[tuple[str, str]]:
    """The delays of the last run that measured any."""
    delay = next((run.delay for run in reversed(series.runs) if run.delay is not None), None)
    if delay is None:
        return []
    terms = []
    if delay.messages is not None:
        terms.append(("Messages timed", number(delay.messages)))
        quantiles = (
            ("Half within", delay.p50),
            ("90% within", delay.p90),
            ("99% within", delay.p99),
            ("Slowest", delay.p100),
        )
        terms += [(label, f"{1e3 * s:,.2f} ms") for label, s in quantiles if s is not None]
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


def _distribution(series: Series) -> Chart | None:
    """Seconds from send to receipt, all messages of all runs, as a distribution."""
    counts: Counter[float] = Counter()
    for run in series.runs:
        for seconds, count in (run.delay and run.delay.histogram) or ():
            counts[seconds] += count
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
