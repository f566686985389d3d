"""A hook of the documentation's build: every verdict, and the papers line by line."""

from collections.abc import Callable
from typing import Any

from posse_papers import catalogue, ledger, record, reproduction
from posse_papers.outcome import Told


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page that asks for one of them, from the recorded outcomes; any other as it is."""
    for place, text in PAGES.items():
        if place in markdown:
            return text(*(_of(form) for form in ("quick", "full", "second")))
    return markdown


def _of(form: str) -> dict[str, Told]:
    return {one.name: one for one in record.recorded() if one.form == form}


PAGES: dict[str, Callable[..., str]] = {
    "<!-- verdicts -->": lambda *told: reproduction.text(*told, catalogue.experiments()),
    "<!-- ledger -->": lambda quick, *_: ledger.text(quick),
}
"""What a page is made of, by what it has in its place."""
