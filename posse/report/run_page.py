"""The page of a series: what a person reads first, then the evidence, then every number."""

from collections.abc import Callable
from typing import Any

from posse.measure.confidence import FEWEST, mean_of, wilson
from posse.measure.numbers import capital, counted, number, short, with_interval
from posse.reading.folder import STALE, Series
from posse.report import answers, delay, figures, film, network, privacy, traffic, under_way
from posse.report.page import MOST_ROWS, Page, Section, Tile, table
from posse.results.measures import MEASURES, RIGHT, TOTALS, Measure
from posse.results.record import RunRecord
from posse.results.verdict import VerdictLine, alerts


def run_page(series: Series) -> Page:
    """The page of one series of runs."""
    spec, system = series.spec, series.system
    paper = f"{system.paper} · " if system is not None else ""
    seed = "" if spec.mode == "field" else f" · seed {spec.seed}"
    title = f"{capital(system.title)}. " if system is not None else ""
    verdict = series.verdict
    parts = (
        answers.section,
        figures.section,
        film.section,
        network.section,
        traffic.section,
        delay.section,
        privacy.section,
        _runs,
    )
    sections = [under_way.section(series)]
    sections += [part(series) for part in parts] if series.runs else []
    asked = Section(
        id="asked",
        title="What was asked for",
        text=["The run file, with defaults filled in; it runs again as it is."],
        code=series.text,
    )
    return Page(
        title=verdict.sentence,
        kicker=f"{spec.system} ({spec.variant}) · {paper}{counted(spec.agents.count, 'agent')} · "
        f"{counted(spec.arms.arm_count(), 'arm')} · engine {spec.engine.kind}{seed}",
        lead=" ".join(filter(None, (f"{title}{_certainty(series)}".strip(), _said(verdict)))),
        alerts=[*_stale(series), *alerts(verdict)],
        tiles=_tiles(series),
        sections=[section for section in (*sections, asked) if section is not None],
        live=series.live is not None,
    )


def _stale(series: Series) -> list[str]:
    """A sentence if a series under way is silent."""
    if series.live is None or series.live_age <= STALE:
        return []
    ago = f"its last news are {series.live_age:,.0f} s old"
    return [f"This series says nothing any more: {ago}."]


def _said(verdict: VerdictLine) -> str:
    """Cost and promise in a sentence."""
    parts = [part for part in (verdict.cost, verdict.epsilon) if part]
    return f"{capital('; '.join(parts))}." if parts else ""


def _certainty(series: Series) -> str:
    """How sure the answer is, from the runs and, where means are known, from the truth."""
    known = [run.right for run in series.runs if run.right is not None]
    if not known:
        return ""
    sentence = f"The truly best arm was named in {sum(known)} of {counted(len(known), 'run')}"
    if len(known) < FEWEST:
        return f"{sentence}."
    low, high = wilson(sum(known), len(known))
    return f"{sentence}: its probability lies between {low:.0%} and {high:.0%} with 95% confidence."


def _tiles(series: Series) -> list[Tile]:
    tiles = [
        _tile(capital(measure.label), values, measure.counts(series.runs[-1]))
        for measure in TOTALS
        if any(values := series.values(measure.read))
    ]
    ledgers = [run.privacy for run in series.runs if run.privacy is not None]
    if ledgers and (guarantees := ledgers[0].claim.guarantees):
        promised = f"{guarantees[0].number} promised"
        if spent := [epsilon for ledger in ledgers for epsilon in ledger.spent_per_agent or ()]:
            after = ", after the fact" if ledgers[0].claim.delta else ""
            note = f"of one reward, by the ledger of the agent that spent most{after}; {promised}"
            tiles.append(Tile(label="ε spent", value=number(max(spent)), note=note))
        else:
            note = f"{promised}; each agent's own log has what it spent"
            tiles.append(Tile(label="ε", value=number(guarantees[0].epsilon), note=note))
    return tiles


def _tile(label: str, values: list[float], note: str) -> Tile:
    mean = mean_of(values)
    value, _, spread = with_interval(mean).partition(" ")
    value = short(mean.mean) if mean.mean >= 1e7 else value
    return Tile(label=label, value=value, unit=spread, note=note)


_BEST_ARM = Measure("best_arm", lambda run: run.best_arm)
_RIGHT = {True: "yes", False: "no", None: "–"}


def _runs(series: Series) -> Section:
    """A row per run; what applies to none of them is left out."""
    measures = (_BEST_ARM, *(measure for measure in MEASURES if measure is not RIGHT))
    kept = {m.name: series.values(m.read) for m in measures}
    shown = [m for m in measures if any(kept[m.name]) or (m is _BEST_ARM and kept[m.name])]
    columns: dict[str, Callable[[RunRecord], Any]] = {
        "run": lambda run: run.run,
        "seed": lambda run: str(run.seed),  # a name, not an amount
        "status": lambda run: run.status,
    }
    seeds = {run.seed for run in series.runs}
    if series.spec.mode == "field" or len(seeds) == 1 < len(series.runs):
        del columns["seed"]
    if any(run.right is not None for run in series.runs):
        columns["right"] = lambda run: _RIGHT[run.right]
    columns |= {measure.label: measure.read for measure in shown}
    rows = [[read(run) for read in columns.values()] for run in series.runs[:MOST_ROWS]]
    note = "The same numbers are in runs.csv, and those of each agent in agents.csv."
    if series.spec.mode != "field" and len(seeds) == 1 < len(series.runs):
        seed = series.runs[0].seed
        note += (
            f" All runs are of seed {seed} and of their number: posse replay DIR --run N plays one "
            f"alone, --seed {seed} --repeat N makes the first N again."
        )
    made = table("", list(columns), rows, note=note)
    return Section(id="runs", title="Every run", tables=[made])
