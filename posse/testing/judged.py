"""The page of `posse judge`: what held, what broke, and the command that repeats each check."""

from collections.abc import Sequence

from posse.measure.numbers import capital
from posse.report.page import Page, Section, Verdict
from posse.testing.judge import JudgeFinding, summary

_CSS = {True: "yes", False: "no", None: "open"}


def judged_page(source: str, findings: Sequence[JudgeFinding]) -> Page:
    """The page about `source`, an address or what names a system; what broke comes first."""
    ordered = sorted(
        findings, key=lambda finding: (finding.held is not False, finding.held is None)
    )
    verdicts = [
        Verdict(
            css=_CSS[finding.held],
            word=finding.word,
            claim=capital(finding.check),
            evidence=finding.how,
        )
        for finding in ordered
    ]
    broken = [finding.command for finding in ordered if finding.held is False]
    sections = [
        Section(
            id="checks",
            title="What was tried",
            text=["A check can refute; it cannot prove."],
            verdicts=verdicts,
        )
    ]
    if broken:
        commands = "\n".join(dict.fromkeys(broken))
        sections.append(Section(id="again", title="To repeat what broke", code=commands))
    return Page(
        title=capital(summary(findings)),
        kicker=f"{source} · judge",
        lead="What posse's own systems and agents must hold, tried on this one.",
        sections=sections,
    )
