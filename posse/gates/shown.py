"""Makes text of others fit for a terminal, a log, a table, a figure and a paper.

A page is written by templates that escape whatever they are given.
"""

import re
import unicodedata

LONGEST = 300
"""Characters of a peer's text in one line."""

_LINES = 60
"""Lines of the traceback that an agent may send with its reason."""

_LABEL = 120
_CELL = 10_000

_OBEYED = re.compile(
    r"\x1b(?!\[[\d;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f"
    r"\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_FORMULA = frozenset("=+-@")
_TEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[*"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def printable(text: str, longest: int = LONGEST) -> str:
    """One line, cut to `longest` characters; whatever does not print is escaped.

    That covers line ends, terminal escape codes, and marks that reverse the direction of writing.
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:longest])
    return shown + ("…" if len(text) > longest else "")


def harmless(text: str) -> str:
    """Text of several lines, in which a terminal obeys nothing but colours; all else is escaped."""
    return _OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


def label(text: str) -> str:
    """Text of a figure: its lines, each printable and no longer than a figure is wide."""
    return "\n".join(printable(line, _LABEL) for line in text[: _LABEL * _LINES].split("\n"))


def cell(text: str) -> str:
    """A cell of a CSV file; ' before it keeps spreadsheets from running it as a formula.

    They skip what does not print before it, and know the wide forms of =, +, - and @. Where it is
    not a comma that stands between cells, as in many countries, a ; or a tab ends one.
    """
    shown = re.sub(r"[^;\t]+", lambda part: _as_text(part[0]), text)
    return f"'{shown}" if shown.startswith(("\t", "\r")) else shown


def _as_text(text: str) -> str:
    wide = unicodedata.normalize("NFKC", text)
    first = next((c for c in wide if c.isprintable() and c != " "), "")
    return f"'{text}" if first in _FORMULA else text


def tex(text: str) -> str:
    """A cell of a LaTeX table: each sign stands for itself, also [ and * after a row's end."""
    return re.sub(r"[\\~^&%$#_{}\[*]", lambda match: _TEX[match[0]], printable(text, _CELL))


def blamed(rank: int, reason: str, trouble: str = "") -> str:
    """Why agent `rank` says that it cannot go on: a sentence that names it, then its traceback.

    The sentence names `rank` even if the agent wrote in another's name. The traceback, if any, is
    on further lines. `trouble` is posse's own text, put at the end of the sentence.
    """
    sentence, *trace = reason.split("\n")
    own = f"agent {rank}"
    if not sentence.startswith((f"{own} ", f"{own}:", f"{own},")):
        sentence = f"{own} cannot go on: {sentence}"
    return "\n".join(
        [
            printable(sentence, 2_000) + trouble,
            *(printable(line, 2_000) for line in trace[-_LINES:]),
        ]
    )
