"""Whoever reads a page can read it: text and what is behind it differ by 4.5 : 1 or more."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from posse.report.drawing import look
from posse.report.palette import PALETTE
from tests.support.conversations import examples

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


EYES = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0993], [-0.0039, -0.0481, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.3673, 0.8606, -0.228], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "tritanopia": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}
"""What each kind of eye sees of linear RGB: Machado, Oliveira and Fernandes 2009, severity 1."""

TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def lab(colour: str, eye: str) -> tuple[float, float, float]:
    """CIE L*a*b* of #rrggbb as this eye sees it."""
    shares = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    seen = np.clip(EYES[eye] @ linear, 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / (0.9505, 1.0, 1.0888))  # no colour here is near black
    return float(116 * y - 16), float(500 * (x - y)), float(200 * (y - z))


def difference(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """CIEDE2000 of two colours."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    grey = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = a1 * (1 + grey), a2 * (1 + grey)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn) / 2)
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    middle = (h1 + h2) / 2 + (180 if abs(h1 - h2) > 180 else 0)
    t = 1 + sum(
        w * math.cos(math.radians(k * middle + shift))
        for w, k, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    )
    in_l = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    in_c, in_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    bend = math.sin(math.radians(60 * math.exp(-(((middle - 275) / 25) ** 2))))
    turned = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7)) * bend
    dl, dc, dh = (l2 - l1) / in_l, (c2 - c1) / in_c, hue / in_h
    return math.sqrt(dl**2 + dc**2 + dh**2 + turned * dc * dh)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("mode", PALETTE)
def test_any_two_series_differ_to_every_eye(mode: str, eye: str) -> None:
    seen = [lab(PALETTE[mode][f"s{n}"], eye) for n in range(8)]
    assert min(difference(a, b) for a, b in itertools.combinations(seen, 2)) >= 8.8


@pytest.mark.parametrize("mode", PALETTE)
def test_the_faintest_shade_stands_out(mode: str) -> None:
    ink, paper = (
        [int(PALETTE[mode][name][n : n + 2], 16) for n in (1, 3, 5)] for name in ("s0", "paper")
    )
    share = look(0, shades=100)["alpha"]
    mixed = [round(share * a + (1 - share) * b) for a, b in zip(ink, paper, strict=True)]
    assert contrast("#" + "".join(f"{n:02x}" for n in mixed), PALETTE[mode]["paper"]) >= 3


@examples(Path(__file__).with_name("palette.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
