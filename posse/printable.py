"""What a peer wrote, made fit for a terminal, a log, a table and a page."""

LONGEST = 300
"""Characters of what a peer says in one line."""

_LINES = 60
"""Lines of a traceback that an agent sends with its reason."""


def printable(text: str, longest: int = LONGEST) -> str:
    """One line without control characters, cut to `longest`; what does not print is escaped.

    A line's end, a terminal's escape codes and marks that turn the direction of writing are among
    what does not print.
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:longest])
    return shown + ("…" if len(text) > longest else "")


def blamed(rank: int, reason: str, trouble: str = "") -> str:
    """Why agent `rank` says that it cannot go on: one sentence, which names it, and a traceback.

    The traceback, if there is one, is on further lines. An agent that speaks in another's name is
    named itself. `trouble` is our own, and ends the sentence.
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
