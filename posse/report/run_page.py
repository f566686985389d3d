"""The page of a series: what a person reads first, then the evidence, then every number."""

from collections import Counter
from typing import Any

import msgspec
import tomli_w

from posse.measure.confidence import mean_ci, wilson
from posse.own_code import folders_of
from posse.report import figures, ledger, network
from posse.report.drawing import Chart
from posse.report.numbers import number, short, with_ci
from posse.report.page import MOST_ROWS, Page, Section, Tile, table
from posse.report.read import Series
from posse.systems import find_system
from protocol.machine import COORDINATOR
from protocol.privacy import Claim


def run_page(series: Series) -> Page:
    """The page of one series of runs."""
    spec = series.specification
    said = series.specification
    folders = folders_of(said.get("base", "."), said.get("path", ["."]))
    system = find_system(series.system, folders)
    alerts = []
    if series.failure is not None:
        asked = spec.get("repeat", 1)
        alerts.append(
            f"This series did not finish: {series.failure}. "
            + (
                f"What follows is what the {len(series.runs)} complete runs of {asked} show."
                if series.runs
                else "No run was complete, so there is nothing to show but what was asked for."
            )
        )
    alerts += series.warnings
    arms = _arm_count(series)
    kicker = (
        f"{series.system} ({series.variant}) · {system.paper} · {series.agents} agents"
        + (f" · {arms} arms" if arms else "")
        + f" · engine {series.engine} · seed {spec['seed']}"
    )
    page = Page(
        title=_headline(series),
        kicker=kicker,
        lead=f"{_capital(system.title)}. {_certainty(series)}".strip(),
        alerts=alerts,
        tiles=_tiles(series),
        sections=[],
    )
    if series.runs:
        page.sections = [
            section
            for section in (
                _found(series),
                _course(series),
                _network(series),
                _traffic(series),
                _delay(series),
            )
            if section is not None
        ]
        page.sections.append(
            Section(
                id="privacy",
                title="Privacy",
                terms=ledger.terms(series),
                charts=_charts(figures.epsilon_spent(series)),
            )
        )
        page.sections.append(_runs(series))
    page.sections.append(
        Section(
            id="asked",
            title="What was asked for",
            text=["The whole specification, with every default; it runs again as it is."],
            code=tomli_w.dumps(spec),
            code_title="spec.toml",
        )
    )
    return page


def _headline(series: Series) -> str:
    if not series.runs:
        return "No run was complete"
    found = Counter(run["best_arm"] for run in series.runs if run["best_arm"] is not None)
    total = len(series.runs)
    if found and total > 1 and _drawn_anew(series):
        ended = sum(run["best_arm"] is not None for run in series.runs)
        return f"{ended} of {total} runs, each on arms of its own, found one to be the best"
    if found:
        arm, hits = found.most_common(1)[0]
        return f"Arm {arm} is the best, say {_of(hits, total)}"
    regret = series.metric("regret")
    if regret:
        return f"Regret {with_ci(regret)} in {_count(total, 'run')}"
    return f"{_count(total, 'run')}, no answer"


def _drawn_anew(series: Series) -> bool:
    """Whether every run has its own arms, so that their indices mean nothing across runs."""
    means = series.specification["arms"].get("means")
    return isinstance(means, dict) and means.get("seed") is None


def _of(hits: int, total: int) -> str:
    if total == 1:
        return "the one run"
    return f"all {total} runs" if hits == total else f"{hits} of {total} runs"


def _certainty(series: Series) -> str:
    """How sure the answer is, from the runs and, where means are known, from the truth."""
    answers = [run["best_arm"] for run in series.runs]
    means = arm_means(series)
    if not any(answer is not None for answer in answers) or means is None:
        return ""
    best = max(means)
    hits = sum(a is not None and means[a] == best for a in answers)
    low, high = wilson(hits, len(answers))
    return (
        f"The truly best arm was named in {hits} of {_count(len(answers), 'run')}: its probability "
        f"lies between {low:.0%} and {high:.0%} with 95% confidence."
    )


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tiles(series: Series) -> list[Tile]:
    if not series.runs:
        return []
    tiles = []
    lockstep = series.clock_unit == "slots"
    for name, unit in (
        ("rounds", "of communication" if lockstep else "activations, all agents together"),
        ("slots", "each agent pulls once in each"),
        ("pulls", "by all agents"),
        ("regret", "at the end"),
    ):
        if values := series.metric(name):
            tiles.append(_tile(_capital(name), values, unit))
    for label, name, unit in (
        ("Data messages", "communication.data.messages", "the paper's own, a run"),
        ("Data bytes", "communication.data.payload_bytes", "payload, a run"),
    ):
        if values := series.metric(name):
            tiles.append(_tile(label, values, unit))
    privacy = next((run["privacy"] for run in series.runs if run["privacy"]), None)
    if privacy and privacy["claim"]["epsilon"] is not None:
        claim = msgspec.convert(privacy["claim"], Claim)
        promised = f"{claim.guarantees[0].number} promised"
        ledgers = [r["privacy"]["spent_per_agent"] or () for r in series.runs if r["privacy"]]
        if spent := [epsilon for ledger in ledgers for epsilon in ledger]:
            after = ", after the fact" if claim.delta else ""
            note = f"by the ledger of the agent that spent most{after}; {promised}"
            tiles.append(Tile(label="ε spent", value=number(float(max(spent))), note=note))
        else:
            note = f"{promised}; each agent's own log has what it spent"
            tiles.append(Tile(label="ε", value=number(claim.guarantees[0].epsilon), note=note))
    return tiles


def _tile(label: str, values: list[float], note: str) -> Tile:
    mean, half = mean_ci(values)
    return Tile(
        label=label,
        value=short(mean) if mean >= 1e7 else number(mean),
        unit=f"± {number(half)}" if half else "",
        note=note,
    )


def _found(series: Series) -> Section:
    means = arm_means(series)
    counts = Counter(run["best_arm"] for run in series.runs)
    own = Counter(a for run in series.runs for a in run["answers"] if a is not None)
    pulls = [run["pulls_per_arm"] for run in series.runs if run["pulls_per_arm"]]
    rows = []
    for arm in range(_arm_count(series)):
        mean_pulls = sum(p[arm] for p in pulls) / len(pulls) if pulls else None
        rows.append((arm, means[arm] if means else None, counts[arm], own[arm], mean_pulls))
    rows.sort(key=lambda row: (-row[2], -(row[1] or 0), row[0]))
    statuses = ", ".join(f"{s} {n}" for s, n in Counter(r["status"] for r in series.runs).items())
    text = [f"How the runs ended: {statuses}."]
    if refused := sum((Counter(run["refused"]) for run in series.runs), Counter()):
        text.append(
            "Refused messages: " + ", ".join(f"{n} {why}" for why, n in refused.items()) + "."
        )
    return Section(
        id="found",
        title="What was found",
        text=text,
        charts=_charts(figures.pulls_per_arm(series, means)),
        tables=[
            table(
                "The arms",
                ("arm", "true mean", "runs", "agents", "pulls"),
                rows[:MOST_ROWS],
                folded=len(rows) > 12,
                note="Runs that named the arm; agents (of all runs) whose own answer it was; pulls "
                "of a run. The true mean is averaged over agents, and – where it is not stated.",
            )
        ],
    )


def _course(series: Series) -> Section | None:
    charts = _charts(
        figures.regret([series]),
        figures.votes(series),
        figures.arms_left(series),
        figures.collisions(series),
    )
    return Section(id="course", title="How it went", charts=charts) if charts else None


def _network(series: Series) -> Section | None:
    chart = network.draw(series)
    if chart is None:
        return None
    marks = network.roles(series)
    text = [
        f"{_capital(role)}: {', '.join(map(str, sorted(ranks)[:40]))}"
        f"{' …' if len(ranks) > 40 else ''}."
        for role, ranks in marks.items()
    ]
    facts = [
        f"{name.replace('_', ' ')} {number(value)}"
        for name, value in series.network.items()
        if isinstance(value, int | float | str)
    ]
    if facts:
        text.append(_capital("; ".join(facts)) + ".")
    return Section(id="network", title="Who spoke with whom", charts=[chart], text=text)


def _traffic(series: Series) -> Section:
    links = series.links
    kinds: dict[tuple[str, str], list[float]] = {}
    for link in links:
        row = kinds.setdefault((link.plane.name.lower(), link.kind), [0.0, 0.0, 0.0])
        row[0] += link.messages
        row[1] += link.payload_bytes
        row[2] += link.frame_bytes
    order = {"data": 0, "world": 1, "control": 2}
    by_kind = table(
        "By kind of message",
        ("plane", "kind", "messages", "payload bytes", "frame bytes"),
        [
            (*key, *values)
            for key, values in sorted(kinds.items(), key=lambda i: (order[i[0][0]], -i[1][2]))
        ],
        note="Means per run. Payload: what the codec made; frame: what ZeroMQ was handed.",
    )
    last = series.runs[-1]["communication"]
    costs = [
        ("Agent to coordinator", series.metric("communication.links.agent-coordinator")),
        ("Coordinator to agent", series.metric("communication.links.coordinator-agent")),
        ("Agent to agent", series.metric("communication.links.agent-agent")),
        ("Cost as the paper counts it", series.metric("communication.cost")),
        ("Rounds of communication", series.metric("communication.rounds")),
        ("Bytes on the sockets", series.metric("communication.socket_bytes")),
    ]
    heavy = sorted(
        (link for link in links if link.plane.name != "CONTROL"),
        key=lambda link: (-link.payload_bytes, link.source, link.target),
    )
    tables = [by_kind]
    if heavy:
        tables.append(
            table(
                f"By link (the {min(len(heavy), MOST_ROWS)} heaviest of {len(heavy):,})",
                ("from", "to", "plane", "kind", "messages", "payload bytes", "frame bytes"),
                [
                    (
                        _name(link.source),
                        _name(link.target),
                        link.plane.name.lower(),
                        link.kind,
                        link.messages,
                        link.payload_bytes,
                        link.frame_bytes,
                    )
                    for link in heavy[:MOST_ROWS]
                ],
                note="Every link of every run is in links.csv.",
                folded=True,
            )
        )
    data, control = last["data"], last["control"]
    return Section(
        id="traffic",
        title="What went over the wire",
        text=[
            "In the field nobody reports what agents send each other; what is counted here is the "
            "coordinator's links."
            if data["messages"] is None
            else f"In the last run {data['messages']:,} messages of the paper's own with "
            f"{data['payload_bytes']:,} payload bytes; beside them {control['messages']:,} of the "
            "lab's control."
        ],
        terms=[(term, with_ci(values)) for term, values in costs if values],
        charts=_charts(figures.bytes_by_kind(series)),
        tables=tables,
    )


def _delay(series: Series) -> Section:
    chart = figures.delay(series)
    details = [run.get("detail", {}).get("delay_by_hops") for run in series.runs]
    by_hops = [row for row in details if row]
    tables = []
    if by_hops:
        tables.append(
            table(
                "In slots, by distance",
                ("hops", *sorted({str(k) for row in by_hops[-1].values() for k in row})),
                [
                    (int(hops), *(row[key] for key in sorted(row)))
                    for hops, row in sorted(by_hops[-1].items(), key=lambda item: int(item[0]))
                ]
                if all(isinstance(row, dict) for row in by_hops[-1].values())
                else [],
            )
        )
    text = []
    if chart is None:
        text.append(
            "Seconds were not measured: in the memory engine a message arrives when it is sent."
            if series.engine == "memory"
            else "No delay was measured."
        )
    return Section(
        id="delay",
        title="Delay",
        text=text,
        terms=_quantiles(series),
        charts=_charts(chart),
        tables=tables,
    )


def _quantiles(series: Series) -> list[tuple[str, str]]:
    """The delays of the last run that measured any."""
    found = next((run["delay"] for run in reversed(series.runs) if run["delay"]), None)
    if found is None:
        return []
    slots = [
        (_capital(name.replace("_", " ")), _spread(values))
        for name, values in found.items()
        if isinstance(values, list) and values and name != "histogram"
    ]
    if "messages" not in found:
        return slots
    names = {"p50": "Half within", "p90": "90% within", "p99": "99% within", "p100": "Slowest"}
    return [
        ("Messages timed", number(found["messages"])),
        *((label, f"{1e3 * found[key]:.3g} ms") for key, label in names.items() if key in found),
        *slots,
    ]


def _spread(values: list[Any]) -> str:
    """A list of numbers by its least and largest."""
    low, high = min(values), max(values)
    same = f"{number(low)} each time" if low == high else f"{number(low)} to {number(high)}"
    return f"{same} ({len(values)} times)"


def _runs(series: Series) -> Section:
    names = ("run", "seed", "status", "best_arm", "rounds", "slots", "pulls", "regret")
    rows = [
        (
            *(run[name] for name in names),
            run["communication"]["data"]["messages"],
            run["communication"]["data"]["payload_bytes"],
            run["communication"]["control"]["messages"],
            run["elapsed_seconds"],
        )
        for run in series.runs
    ]
    header = [*names, "data messages", "data bytes", "control messages", "seconds"]
    keep = [i for i in range(len(header)) if any(row[i] is not None for row in rows)]
    return Section(
        id="runs",
        title="Every run",
        tables=[
            table(
                "",
                [header[i].replace("_", " ") for i in keep],
                [[_plain(row[i], header[i]) for i in keep] for row in rows[:MOST_ROWS]],
                note="The same numbers are in runs.csv, and those of each agent in agents.csv.",
            )
        ],
    )


def _plain(value: Any, name: str) -> Any:
    """Seeds are names, not amounts."""
    return str(value) if name == "seed" else value


def arm_means(series: Series) -> list[float] | None:
    """The arms' means, averaged over agents, where the specification states them."""
    means = series.specification["arms"].get("means")
    if not isinstance(means, list) or not means:
        return None
    if isinstance(means[0], list):
        return [sum(column) / len(means) for column in zip(*means, strict=True)]
    return [float(mean) for mean in means]


def _arm_count(series: Series) -> int:
    means = series.specification["arms"].get("means")
    if isinstance(means, dict) and "count" in means:
        return int(means["count"])
    stated = arm_means(series)
    if stated:
        return len(stated)
    return series.arms


def _charts(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]


def _name(rank: int) -> str:
    return "coordinator" if rank == COORDINATOR else f"agent {rank}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
