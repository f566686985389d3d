"""The page to sign: what a board must know of runs before it puts its name below, on one A4."""

from pathlib import Path

from posse import __version__
from posse.measure.numbers import capital, counted, listed
from posse.protocol.message import Plane
from posse.reading import audited as audits
from posse.reading.folder import Series
from posse.report import privacy
from posse.report.page import Page, Section
from posse.results.verdict import alerts

_SIGN = "." * 60

_PROMISES = ("Protected", "Against", "Promised", "Does it hold?")

_FEW = 3
"""Ledgers that are shown, the most charged first."""


def board_page(series: Series, audited: Path | None = None) -> Page:
    """What was found, who sees what, what a person is charged, what is not covered, the audit.

    `audited` is a folder that `posse audit` wrote; without one the page says that there is none.
    """
    terms = dict(privacy.terms(series))
    verdict = series.verdict
    spec = series.spec
    sections = [
        Section(id="sees", title="Who sees what", terms=_who_sees(series, terms)),
        Section(id="persons", title="What a person is charged", terms=_charged(series, terms)),
        Section(id="open", title="What is not covered", text=[_uncovered(terms)]),
        Section(id="audit", title="What an audit found", text=[_audited(audited)]),
        Section(id="hashes", title="What was run", terms=_hashes(series)),
        Section(
            id="sign",
            title="Signed",
            text=["I have read this page.", f"Name and office {_SIGN}", f"Place, date {_SIGN}"],
        ),
    ]
    where = "real rewards" if spec.mode == "field" else "a lab run: simulated, nothing is protected"
    return Page(
        title=verdict.sentence,
        kicker=f"for the board · {spec.system} ({spec.variant}) · {where}",
        lead=f"{counted(spec.agents.count, 'agent')} looked for the best of "
        f"{counted(spec.arms.arm_count(), 'arm')}. {capital(verdict.cost)}.",
        alerts=alerts(verdict),
        sections=sections,
        sheet=True,
    )


def _who_sees(series: Series, terms: dict[str, str]) -> list[tuple[str, str]]:
    """What the coordinator and neighbours are sent, by kind of message, and what that protects."""
    kinds: dict[str, set[str]] = {}
    for link in series.links():
        if link.plane != Plane.CONTROL:
            reader = "The coordinator" if link.target < 0 else "The agents"
            kinds.setdefault(reader, set()).add(link.kind)
    tells = series.system.reveals if series.system is not None else {}
    seen = [
        (reader, "; ".join(_told(name, tells.get(name, "")) for name in sorted(names)) + ".")
        for reader, names in kinds.items()
    ]
    if not seen:
        seen = [("Everybody", "no message of the algorithm's own")]
    rest = [(term, terms[term]) for term in _PROMISES if term in terms]
    return [*sorted(seen), *rest]


def _told(kind: str, reveals: str) -> str:
    """A kind of message, and what it tells whoever reads it."""
    return f"{kind}, {reveals.replace('`', '')}" if reveals else f"messages {kind}"


def _charged(series: Series, terms: dict[str, str]) -> list[tuple[str, str]]:
    """The ε of a person over all runs, by each ledger that is on this machine."""
    spec = series.spec
    found, absent = series.ledgers()
    found.sort(key=lambda one: -one[1].epsilon)
    charged = [(f"Agent {rank}, all runs", f"{book.says}.") for rank, book in found[:_FEW]]
    if more := found[_FEW:]:
        charged.append((f"{len(more)} more agents", "Each at most what the last one above says."))
    if absent or not charged:
        ranks = f" of agents {listed(absent)}" if absent else ""
        charged.append(
            ("Elsewhere", f"The ledgers{ranks} are not on this machine; who keeps one reads it by "
             "posse ledger FILE.")
        )  # fmt: skip
    if "Spent" in terms:
        charged.append(("In these runs", terms["Spent"]))
    if not spec.privacy.persons:
        said = "The run file does not say whose each reward is ([privacy] person)"
        charged.append(("A person", f"{said}; all rewards of one are to be added up."))
    return charged


def _uncovered(terms: dict[str, str]) -> str:
    parts = [terms[term] for term in ("Not protected", "Note") if term in terms]
    return " ".join(parts) or "Nothing is protected, so nothing is covered."


def _audited(folder: Path | None) -> str:
    """The audit's verdict and its power, in its own words."""
    if folder is None:
        return "No audit is beside this page: posse audit RUN.toml makes one, --audit DIR adds it."
    document = audits.read(folder)
    line = document.verdict_line
    rows = [
        f"{capital(label)}: {said.rstrip('.')}."
        for label, said in document.rows
        if label in _AUDITED
    ]
    found = [f"{said.rstrip('.')}." for said in (line.sentence, *alerts(line))]
    return " ".join(["An audit can refute a claim; it cannot prove one.", *found, *rows])


_AUDITED = ("claim", "guessed", "found", "power")


def _hashes(series: Series) -> list[tuple[str, str]]:
    *files, (_, code) = series.hashes()
    return [*files, (f"Code of posse {__version__}, which drew this page", code)]
