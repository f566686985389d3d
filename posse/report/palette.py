"""What our pages share: their colours, light and dark, and how a policy names their scripts."""

from base64 import b64encode
from hashlib import sha256

PALETTE = {
    "light": {
        "ink": "#1c2024", "muted": "#5c646c", "grid": "#dfe2e4", "paper": "#ffffff",
        "s0": "#1f6fb4", "s1": "#bd5217", "s2": "#2a7f4f", "s3": "#a33a78",
        "s4": "#6a4fb3", "s5": "#7d6b00", "s6": "#0b7c86", "s7": "#666c72", "bad": "#c02626",
    },
    "dark": {
        "ink": "#e8eaec", "muted": "#a3abb3", "grid": "#363c42", "paper": "#1b1f23",
        "s0": "#6db3f2", "s1": "#f39a63", "s2": "#6fcf97", "s3": "#ea8fc2",
        "s4": "#b3a0f5", "s5": "#d9c64a", "s6": "#5fcbd6", "s7": "#a8afb6", "bad": "#ff7b72",
    },
}  # fmt: skip
"""Each at least 4.5 : 1 against its paper; blue and orange first, which everybody tells apart."""


def variables(mode: str) -> str:
    """The palette as CSS declarations."""
    return "".join(f"--{name}:{value};" for name, value in PALETTE[mode].items())


def csp_hash(text: str) -> str:
    """A script or style that a browser may run, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
