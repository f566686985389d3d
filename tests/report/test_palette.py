"""Whoever reads a page can read it: text and what is behind it differ by 4.5 : 1 or more."""

import itertools
import re
from pathlib import Path

import pytest

from posse.report.palette import PALETTE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "posse/report/templates/page.html.j2").read_text()
SITE = (ROOT / "docs/colours.css").read_text()


def luminance(colour: str) -> float:
    """Of #rrggbb, as WCAG 2 defines it."""
    shares = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def colours(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): ?(#[0-9a-f]{6})", text))


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == 21
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(("mode", "line"), [("light", 0), ("dark", 1), ("dark", 2)])
def test_text_of_a_page_stands_out(mode: str, line: int) -> None:
    own = PALETTE[mode] | colours(PAGE.split(":root")[line + 1])
    behind = (own["paper"], own["back"])
    for name, ground in itertools.product(("ink", "muted", "link", "good", "warn", "bad"), behind):
        assert contrast(own[name], ground) >= 4.5, (name, ground)
    for name in (f"s{n}" for n in range(8)):  # ranks stand in marks of these colours
        assert contrast(own[name], own["paper"]) >= 4.5, name


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_header_and_links_of_the_documents_stand_out(scheme: str) -> None:
    own = colours(SITE.split(f'"{scheme}"')[1].split("}")[0])
    header = contrast(own["md-primary-bg-color"], own["md-primary-fg-color"])
    links = [
        contrast(own[f"md-{name}-color"], own["md-default-bg-color"])
        for name in ("typeset-a", "accent-fg")
    ]
    assert min(header, *links) >= 4.5
