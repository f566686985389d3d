"""docs/reproduction.md from the outcomes of the experiments: one row per statement."""

from collections import Counter
from typing import Any

_HEAD = """# Reproduction

Written by `posse paper --all --quick --document docs/reproduction.md`; do not edit. One row per
statement of a paper about a figure, with the corrected and the printed form side by side. The
wording of the statements is ours, after the papers' texts and figures.

- **borne out**: every comparison holds by more than the 95% interval of its difference;
- **undecided**: none is clearly the other way, and not all are clear; more runs may decide;
- **not borne out**: at least one is clearly the other way;
- **cannot be**: no run can decide it, and the row says why.

"""


def text(outcomes: list[dict[str, Any]]) -> str:
    """The document."""
    out = [_HEAD]
    for variant in ("corrected", "printed"):
        answers = Counter(
            statement[variant]["answer"]
            for outcome in outcomes
            for statement in outcome["statements"]
            if variant in statement
        )
        out.append(
            f"{variant.capitalize()}: " + ", ".join(f"{n} {a}" for a, n in answers.most_common())
            + ".\n"
        )  # fmt: skip
    paper = ""
    for outcome in outcomes:
        if outcome["paper"] != paper:
            paper = outcome["paper"]
            out.append(f"\n## {paper}\n")
        agree = "the engines agree" if outcome["engines_agree"] else "the engines do not agree"
        out.append(
            f"\n### `{outcome['name']}`: {outcome['figure']}, {outcome['title']}\n\n"
            f"{outcome['form'].capitalize()} form, engine {outcome['engine']}; {agree} on one "
            f"point. {outcome['assumed']}\n\n"
            "| statement | corrected | printed |\n|---|---|---|\n"
        )
        for statement in outcome["statements"]:
            cells = [_cell(statement.get(variant)) for variant in ("corrected", "printed")]
            out.append(f"| {_escape(statement['text'])} | {cells[0]} | {cells[1]} |\n")
    return "".join(out)


def _cell(found: dict[str, str] | None) -> str:
    if found is None:
        return "–"
    return f"**{found['answer']}**: {_escape(found['evidence'])}"


def _escape(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")
