"""What our pages share: their colours, light and dark, and how a policy names their scripts."""

from base64 import b64encode
from hashlib import sha256

PALETTE = {
    "light": {
        "ink": "#1c2024", "muted": "#5c646c", "grid": "#dfe2e4", "paper": "#ffffff",
        "s0": "#1f6fb4", "s1": "#bd5217", "s2": "#086a44", "s3": "#a23688",
        "s4": "#5a1cf1", "s5": "#5a4d14", "s6": "#06844e", "s7": "#666c72", "bad": "#c02626",
    },
    "dark": {
        "ink": "#e8eaec", "muted": "#a3abb3", "grid": "#363c42", "paper": "#1b1f23",
        "s0": "#6db3f2", "s1": "#f39a63", "s2": "#13d691", "s3": "#d485c5",
        "s4": "#9082fe", "s5": "#909d08", "s6": "#9ddbe3", "s7": "#a8afb6", "bad": "#ff7b72",
    },
}  # fmt: skip
"""Each at least 4.5 : 1 against its paper, and any two of a series' colours at least ΔE 8.8 apart
(CIEDE2000), to the usual eye and to the three kinds of colour blindness."""


def variables(mode: str) -> str:
    """The palette as CSS declarations."""
    return "".join(f"--{name}:{value};" for name, value in PALETTE[mode].items())


def csp_hash(text: str) -> str:
    """A script or style that a browser may run, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
