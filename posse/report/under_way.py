"""What goes on in a series that is under way: progress, trouble, and its run so far."""

from dataclasses import replace

from posse.measure.numbers import capital, named, number
from posse.reading.folder import LATE, LiveState, Series
from posse.report import figures, graph
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import Section, some
from posse.results.record import RunRecord


def section(series: Series) -> Section | None:
    """The run under way as its coordinator sees it; None for a series that is over."""
    state = series.live
    if state is None:
        return None
    status, run = state.status, state.run
    terms = []
    if run is not None and series.runs:  # else the page's title says it
        terms.append(("Run", f"{number(run.run + 1)} of {number(state.runs)}"))
    if run is not None or series.runs:
        terms.append(("Agents here", f"{number(status.arrived)} of {number(status.agents)}"))
    charts: list[Chart] = []
    if run is not None:
        if run.progress:
            terms.append(("Progress", " · ".join(run.progress)))
        if run.regret is not None:
            terms.append(("Regret so far", number(run.regret)))
        if status.frames:
            terms.append(("Frames from agents", number(status.frames)))
        terms += [(f"Messages {kind}", number(n)) for kind, n in sorted(run.messages.items())]
        so_far = RunRecord(run=run.run, seed=series.spec.seed, log=run.log)
        charts = [
            *figures.draw_declared(replace(series, runs=[so_far])),
            *some(_network(state)),
        ]
    trouble = [f"{capital(sentence)}." for sentence in state.trouble()]
    return Section(id="now", title="Under way", text=trouble, terms=terms, charts=charts)


def roles(state: LiveState) -> dict[str, set[int]]:
    """Agents of which something particular is known, by what it is; each has one role."""
    status, run = state.status, state.run
    ago = status.heard_seconds_ago
    by_role = {
        "gone": set(run.dismissed if run is not None else ()),
        "disconnected": set(status.away),
        "finished": set(run.finished if run is not None else ()),
        "waited for": {rank for rank in status.waiting_for if ago.get(rank, LATE) >= LATE},
    }
    taken: set[int] = set()
    for role, ranks in by_role.items():
        by_role[role] = ranks - taken
        taken |= ranks
    return {role: ranks for role, ranks in by_role.items() if ranks}


def _network(state: LiveState) -> Chart | None:
    """The graph of the run, and who was what in it; None where agents have no neighbours."""
    run, agents = state.run, state.status.agents
    if run is None or not run.links:
        return None
    marks = roles(state)
    with canvas(*graph.size(agents)) as (figure, axes):
        graph.draw(axes, agents, dict.fromkeys(run.links, 1.0), marks, COLOUR)
    return Chart(
        name="now-network",
        title="The network",
        caption=" ".join(f"{capital(role)}: {named(sorted(n))}." for role, n in marks.items()),
        svg=to_svg(figure, "now-network", f"Network of {agents} agents"),
        header=("source", "target"),
        rows=run.links,
    )
