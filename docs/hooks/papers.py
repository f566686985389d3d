"""A hook of the documentation's build: every verdict, and the papers line by line."""

from collections.abc import Callable
from typing import Any

from posse_papers import catalogue, ledger, record, reproduction
from posse_papers.outcome import Told


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page that asks for one of them, from the recorded outcomes; any other as it is."""
    for place, text in PAGES.items():
        if place in markdown:
            return text({one.name: one for one in record.recorded() if one.form == "quick"})
    return markdown


def _verdicts(told: dict[str, Told]) -> str:
    return reproduction.text(told, {}, catalogue.experiments())


PAGES: dict[str, Callable[[dict[str, Told]], str]] = {
    "<!-- verdicts -->": _verdicts,
    "<!-- ledger -->": ledger.text,
}
"""What a page is made of, by what it has in its place."""
