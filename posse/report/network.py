"""The network as it was used: who sent to whom, how much, and who was what."""

from collections import defaultdict
from dataclasses import dataclass

import msgspec

from posse.measure.numbers import by_name, capital, counted, named, number
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Plane
from posse.reading.folder import Series
from posse.report import graph
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import Section


def section(series: Series) -> Section | None:
    """The network as it was used, and who was what in it; None if nothing was sent.

    That all speak with the coordinator and with nobody else is said and not drawn.
    """
    used = use(series)
    if not used.bytes:
        return None
    star = all(COORDINATOR in pair for pair in used.bytes)
    text = [_star(used)] if star else []
    text += [f"{capital(role)}: {named(sorted(ranks))}." for role, ranks in roles(series).items()]
    if series.network.names:
        text.append(f"Agents by name: {by_name(series.network.names)}.")
    facts = [
        f"{name.replace('_', ' ')} {number(value)}"
        for name, value in msgspec.to_builtins(series.network).items()
        if isinstance(value, int | float | str) and value != 0
    ]
    if facts:
        text.append(capital("; ".join(facts)) + ".")
    return Section(
        id="network",
        title="Who spoke with whom",
        text=text,
        charts=[] if star else [draw(series, used)],
    )


def roles(series: Series) -> dict[str, set[int]]:
    """Agents that the result says something particular about, by what it says."""
    gone = {rank for run in series.runs for rank in run.without if rank >= 0}
    left = {rank for run in series.runs for rank in run.detail.left_early}
    by_role = {
        "sink": set(series.network.sinks or ()),
        "byzantine": set(series.network.byzantine or ()),
        "gone": gone,
        "left early": left - gone,
    }
    return {role: ranks for role, ranks in by_role.items() if ranks}


@dataclass(frozen=True)
class Use:
    """What went over each link of the first run, either way: messages and payload bytes.

    Where a system's messages all belong to the world (the arms' medium), those count.
    """

    what: str
    bytes: dict[tuple[int, int], float]
    messages: dict[tuple[int, int], float]

    @property
    def range(self) -> str:
        """The least and the largest number of bytes over a link."""
        least, most = min(self.bytes.values()), max(self.bytes.values())
        return f"{least:,.0f}" + (f" to {most:,.0f}" if most > least else "")


def use(series: Series) -> Use:
    """The links of the first run that carried the paper's messages, or the world's."""
    payload: dict[int, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    messages: dict[int, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
    for link in series.links(first=True):
        pair = (min(link.source, link.target), max(link.source, link.target))
        payload[link.plane][pair] += link.payload_bytes
        messages[link.plane][pair] += link.messages
    if payload.get(Plane.DATA):
        return Use("paper's messages", payload[Plane.DATA], messages[Plane.DATA])
    what = "messages to and from the arms' medium"
    return Use(what, payload[Plane.WORLD], messages[Plane.WORLD])


def _star(used: Use) -> str:
    agents = counted(len(used.bytes), "agent")
    return (
        f"A plain star: {agents} spoke with the coordinator, and no agent with another. Each link "
        f"carried {used.range} payload bytes of the {used.what} in the first run."
    )


def draw(series: Series, used: Use) -> Chart:
    """The network with link thickness by payload bytes."""
    agents, weights = series.spec.agents.count, used.bytes
    with canvas(*graph.size(agents)) as (figure, axes):
        drawn = graph.draw(axes, agents, weights, roles(series), COLOUR)
    caption = (
        f"{len(weights):,} links carried the {used.what}; the thicker, the more payload bytes "
        f"({used.range} in the first run)."
    )
    if omitted := len(weights) - len(drawn):
        caption += f" The {len(drawn):,} heaviest are drawn, {omitted:,} are not."
    idle = agents - len({n for pair in weights for n in pair if n != COORDINATOR})
    if idle:
        caption += f" {counted(idle, 'agent')} sent and heard nothing."
    return Chart(
        name="network",
        title="The network",
        caption=caption,
        svg=to_svg(figure, "network", f"Network of {agents} agents"),
        header=("source", "target", "messages", "payload_bytes"),
        rows=[
            (source, target, round(used.messages[source, target], 2), round(weight, 1))
            for (source, target), weight in sorted(weights.items())
        ],
        wide=True,
    )
