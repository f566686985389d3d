"""Makes text from a peer fit for a terminal, a log, a table and a page."""

LONGEST = 300
"""Characters of a peer's text in one line."""

_LINES = 60
"""Lines of the traceback that an agent may send with its reason."""


def printable(text: str, longest: int = LONGEST) -> str:
    """One line, cut to `longest` characters; whatever does not print is escaped.

    That covers line ends, terminal escape codes, and marks that reverse the direction of writing.
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:longest])
    return shown + ("…" if len(text) > longest else "")


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
