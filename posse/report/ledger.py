"""The privacy ledger of a series in plain words."""

import math
from statistics import median
from typing import Any

import msgspec

from posse.claims.base import ILLUSTRATES
from posse.report.read import Series
from protocol.privacy import Claim, Guarantee, amount

_MECHANISMS = {
    "laplace": "Laplace noise on every statistic that a message depends on",
    "hybrid": "sums with noise from the hybrid mechanism (Chan, Shi and Song 2011)",
    "tree": "sums with noise from a binary tree (Chan, Shi and Song 2011)",
    "discrete-gaussian": "noise that the agents share, behind masks that leave only sums readable",
    "aggregation": "sums over groups, and masks",
    "silence": "what is seen does not depend on rewards",
    "randomized-response": "messages are withheld at random",
}


def terms(series: Series) -> list[tuple[str, str]]:
    """What was protected, against whom, at what price, and what was not: (term, sentence)."""
    privacy = next((run["privacy"] for run in series.runs if run["privacy"]), None)
    if privacy is None:
        return [("Protected", "Nothing: the paper claims no privacy for this system.")]
    claim = msgspec.convert(privacy["claim"], Claim)
    if claim.mechanism == "none":
        return [("Protected", f"Nothing. {claim.note}".strip())]
    lab = not privacy.get("protects", True)
    out = [
        ("Protected", f"{_capital(claim.unit)}."),
        ("Against", f"{_capital(claim.adversary)}."),
        ("By", f"{_capital(_MECHANISMS.get(claim.mechanism, claim.mechanism))}."),
    ]
    for guarantee in claim.guarantees:
        out.append(("Promised", _promise(guarantee, claim.unit)))
    if claim.guarantees:
        out.append(("Spent", _spent(series, claim)))
        if lab:
            out.append(("In the lab", ILLUSTRATES))
    if not claim.holds:
        out.append(("Does it hold?", "No: the printed claim is refuted by analysis."))
    elif claim.guarantees:
        out.append(("Does it hold?", f"Yes, for what is said here and nothing more. {claim.proof}"))
    if claim.note:
        out.append(("Note", claim.note))
    out.append(("Not protected", " ".join(_beyond(claim, privacy))))
    return out


def _promise(guarantee: Guarantee, unit: str) -> str:
    epsilon, against = guarantee.epsilon, f"against {guarantee.adversary}"
    if epsilon == 0:
        return f"ε = 0 {against}: nothing is disclosed."
    text = f"{guarantee.number} {against}"
    if epsilon > 20:
        return f"{text}: a factor of {math.exp(min(epsilon, 700)):.1e}, which is hardly a promise."
    word = "strong" if epsilon <= 0.5 else "moderate" if epsilon <= 2 else "weak"
    but = f", but for {guarantee.delta:.2g}" if guarantee.delta else ""
    return (
        f"{text}: had {unit} been another, whatever was seen would be at most "
        f"{math.exp(epsilon):.3g} times as probable{but} ({word})."
    )


def _spent(series: Series, claim: Claim) -> str:
    ledgers = [run["privacy"] for run in series.runs if run["privacy"]]
    if any(ledger["spent_per_agent"] is None for ledger in ledgers):
        return "In the field what an agent spent is said in its own log, and nowhere else."
    spent = [e for ledger in ledgers for e in ledger["spent_per_agent"]]
    releases = [n for ledger in ledgers for n in ledger["releases_per_agent"]]
    silent = sum(n == 0 for n in releases) / max(len(releases), 1)
    after = ", after the fact: how many releases there were depended on rewards"
    text = (
        f"{amount(max(spent, default=0), claim.delta)} by the ledger of the agent that spent most, "
        f"{amount(median(spent) if spent else 0)} by the middle one{after if claim.delta else ''}; "
        f"{sum(releases) / max(len(ledgers), 1):,.0f} noisy releases a run."
    )
    if silent:
        text += f" {silent:.0%} of the agents released nothing before the run was over."
    return text


def _beyond(claim: Claim, privacy: dict[str, Any]) -> list[str]:
    out = [f"{_capital(claim.uncovered)}."] if claim.uncovered else []
    if claim.guarantees:
        out.append(
            "A reward is protected, not a person: somebody behind m rewards is protected m times "
            "less (mε)."
        )
    out += [text for text in (privacy.get("records"), privacy.get("ends")) if text]
    out.append("Who sends to whom, when and how much, is plain on the wire.")
    return out


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
