"""The privacy ledger of a series in plain words."""

import math
from statistics import median
from typing import Any

from posse.report.read import Series

_MECHANISMS = {
    "laplace": "Laplace noise on every statistic that a message depends on",
    "hybrid": "sums with noise from the hybrid mechanism (Chan, Shi and Song 2011)",
    "randomized-response": "messages are withheld at random",
}


def terms(series: Series) -> list[tuple[str, str]]:
    """What was protected, against whom, at what price, and what was not: (term, sentence)."""
    privacy = next((run["privacy"] for run in series.runs if run["privacy"]), None)
    if privacy is None:
        return [("Protected", "Nothing: the paper claims no privacy for this system.")]
    claim = privacy["claim"]
    mechanism = claim["mechanism"]
    epsilon = claim["epsilon"]
    if mechanism == "none":
        return [("Protected", f"Nothing. {claim['note']}".strip())]
    if mechanism == "silence":
        return [("Protected", f"Everything. {claim['note']}")]
    out = [
        ("Protected", f"{_capital(claim['unit'])}."),
        ("Against", f"{_capital(claim['adversary'])}."),
        ("By", f"{_capital(_MECHANISMS.get(mechanism, mechanism))}."),
    ]
    if epsilon is not None:
        out.append(("Promised", _promise(epsilon, claim["delta"], claim["unit"])))
    out.append(("Spent", _spent(series)))
    if not claim["holds"]:
        out.append(("Does it hold?", "No: the printed claim is refuted by analysis."))
    elif epsilon is not None:
        out.append(("Does it hold?", "Yes, for what is said above and nothing more."))
    records = privacy.get("records")
    out.append(("Not protected", " ".join([claim["note"], *_beyond(claim, records)]).strip()))
    return out


def _promise(epsilon: float, delta: float | None, unit: str) -> str:
    if epsilon == 0:
        return "ε = 0: nothing is disclosed."
    text = f"ε = {epsilon:.3g}" + (f", δ = {delta:.2g}" if delta else "")
    if epsilon > 20:
        return f"{text}: a factor of {math.exp(min(epsilon, 700)):.1e}, which is hardly a promise."
    word = "strong" if epsilon <= 0.5 else "moderate" if epsilon <= 2 else "weak"
    return (
        f"{text}: had {unit} been another, whatever was seen would be at most "
        f"{math.exp(epsilon):.3g} times as probable ({word})."
    )


def _spent(series: Series) -> str:
    ledgers = [run["privacy"] for run in series.runs if run["privacy"]]
    if any(ledger["spent_per_agent"] is None for ledger in ledgers):
        return "In the field what an agent spent is said in its own log, and nowhere else."
    spent = [e for ledger in ledgers for e in ledger["spent_per_agent"]]
    releases = [n for ledger in ledgers for n in ledger["releases_per_agent"]]
    silent = sum(n == 0 for n in releases) / max(len(releases), 1)
    text = (
        f"ε = {max(spent, default=0):.3g} by the agent that spent most, "
        f"{median(spent) if spent else 0:.3g} by the middle one; "
        f"{sum(releases) / max(len(ledgers), 1):,.0f} noisy releases a run."
    )
    if silent:
        text += f" {silent:.0%} of the agents released nothing before the run was over."
    return text


def _beyond(claim: dict[str, Any], records: str | None) -> list[str]:
    out = []
    if "one reward" in claim["unit"]:
        out.append(
            "A reward is protected, not a person: somebody behind m rewards is protected m times "
            "less (mε)."
        )
    if records:
        out.append(records)
    out.append("Who sends to whom, when and how much, is plain on the wire.")
    return out


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
