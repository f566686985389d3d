"""Privacy: what was promised, what was spent of it, and what was not protected."""

import math
from statistics import median

from posse.measure.numbers import capital
from posse.protocol.privacy import Guarantee, Promise, format_cost
from posse.reading.folder import Series
from posse.report.drawing import COLOUR, Chart, canvas, to_svg
from posse.report.page import Section, some
from posse.results.record import ILLUSTRATES, Privacy

_MECHANISMS = {
    "laplace": "Laplace noise on every statistic that a message depends on",
    "hybrid": "sums with noise from the hybrid mechanism (Chan, Shi and Song 2011)",
    "tree": "sums with noise from a binary tree (Chan, Shi and Song 2011)",
    "discrete-gaussian": "noise that the agents share, behind masks that leave only sums readable",
    "discrete-laplace": "noise that the agents share, behind masks that leave only sums readable",
    "aggregation": "sums over groups, and masks",
    "silence": "what is seen does not depend on rewards",
    "randomized-response": "messages are withheld at random",
}


def section(series: Series) -> Section:
    """The claim in plain words, and what each agent spent."""
    return Section(
        id="privacy", title="Privacy", terms=terms(series), charts=some(_epsilon_spent(series))
    )


def terms(series: Series) -> list[tuple[str, str]]:
    """What was protected, against whom, at what price, and what was not: (term, sentence)."""
    privacy = next((run.privacy for run in series.runs if run.privacy), None)
    if privacy is None:
        return [("Protected", "Nothing: the paper claims no privacy for this system.")]
    claim = privacy.claim
    if claim.mechanism == "none":
        return [("Protected", f"Nothing. {claim.note}".strip())]
    out = [
        ("Protected", f"{capital(claim.unit)}."),
        ("Against", f"{capital(claim.adversary)}."),
        ("By", f"{capital(_MECHANISMS.get(claim.mechanism, claim.mechanism))}."),
    ]
    for guarantee in claim.guarantees:
        out.append(("Promised", _promise(guarantee, claim.unit)))
    if claim.guarantees:
        out.append(("Spent", _spent(series, claim)))
        if not privacy.protects:
            out.append(("In the lab", ILLUSTRATES))
    else:
        out.append(("ε", "Does not apply: no differential privacy is claimed."))
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
        f"{text}: had {unit} been different, whatever was seen would be at most "
        f"{math.exp(epsilon):.3g} times as probable{but} ({word})."
    )


def _spent(series: Series, claim: Promise) -> str:
    ledgers = [run.privacy for run in series.runs if run.privacy]
    if any(ledger.spent_per_agent is None for ledger in ledgers):
        return "In the field what an agent spent is said in its own log, and nowhere else."
    spent = [e for ledger in ledgers for e in ledger.spent_per_agent or ()]
    releases = [n for ledger in ledgers for n in ledger.releases_per_agent or ()]
    silent = sum(n == 0 for n in releases) / max(len(releases), 1)
    after = ", after the fact: how many releases there were depended on rewards"
    most = format_cost(max(spent, default=0), claim.delta)
    middle = format_cost(median(spent) if spent else 0)
    text = (
        f"{most} of one reward by the ledger of the agent that spent most, "
        f"{middle} by the middle one{after if claim.delta else ''}; "
        f"{sum(releases) / max(len(ledgers), 1):,.0f} noisy releases a run."
    )
    if silent:
        text += f" {silent:.0%} of the agents released nothing before the run was over."
    if len(alike := {epsilon for epsilon in spent if epsilon}) == 1:
        text += f" Whoever released anything spent the same, ε = {alike.pop():.4g}."
    return text


def _beyond(claim: Promise, privacy: Privacy) -> list[str]:
    out = [f"{capital(claim.uncovered)}."] if claim.uncovered else []
    out += [text for text in (privacy.records, privacy.ends) if text]
    out.append("Who sends to whom, when and how much, is plain on the wire.")
    return out


def _epsilon_spent(series: Series) -> Chart | None:
    """ε that each agent spent, in the run in which the most was spent; one block says nothing."""
    spent = [(run.privacy and run.privacy.spent_per_agent) or [] for run in series.runs]
    if len({epsilon for row in spent for epsilon in row if epsilon}) < 2:
        return None
    row = max(spent, key=lambda values: max(values, default=0))
    claim = next(run.privacy.claim for run in series.runs if run.privacy)
    with canvas(3.0) as (figure, axes):
        ordered = sorted(row, reverse=True)
        axes.fill_between(
            range(len(ordered) + 1),
            [*ordered, ordered[-1]],
            step="post",
            color=COLOUR["s0"],
            alpha=0.75,
            linewidth=0,
        )
        if claim.epsilon:
            axes.axhline(claim.epsilon, color=COLOUR["bad"], linestyle="--", label="claimed")
            axes.legend(loc="upper right", bbox_to_anchor=(1, 1.18))
        axes.set(xlabel="agents, from the most exposed", ylabel="ε spent")
        axes.set(xlim=(0, len(ordered)), ylim=(0, None))
    return Chart(
        name="epsilon",
        title="ε spent per agent",
        caption="What the ledger adds up to for the most exposed reward of each agent"
        + (f", at δ = {claim.delta:.2g} and after the fact" if claim.delta else "")
        + (", in the run that spent most." if len(spent) > 1 else "."),
        svg=to_svg(figure, "epsilon", "Privacy spent per agent"),
        header=("agent", "epsilon_spent"),
        rows=list(enumerate(row)),
    )
