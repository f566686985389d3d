"""docs/reproduction.md from the outcomes of the experiments: one row per statement."""

from collections import Counter
from typing import Any

_HEAD = """# Reproduction

Written by `posse paper --all --quick --document docs/reproduction.md`; do not edit. One row per
statement of a paper about a figure or of its theory, with the corrected and the printed form of the
algorithms side by side. Each row says which form of the experiment it is from: quick, or full where
that was run. The wording of the statements is ours, after the papers' texts and figures;
[experiments.md](experiments.md) says which of a paper's errors is shown where.

- **borne out**: every comparison holds by more than the 95% interval of its difference;
- **undecided**: none is clearly the other way, and not all are clear; more runs may decide;
- **not borne out**: at least one is clearly the other way;
- **cannot be**: no run can decide it, and the row says why.

Statements about privacy are audited: many releases on two inputs that differ in one reward give a
lower bound on the ε that is spent, too large with probability at most .001. **Borne out** means
there that the claim was not refuted. ± is the half-width of a 95% interval.

"""


_ENGINES = {
    True: "engine {engine}; the engines agree on one point",
    False: "engine {engine}; the engines do not agree on one point",
    None: "computed without runs of systems",
}


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
        agree = _ENGINES[outcome["engines_agree"]].format(**outcome)
        out.append(
            f"\n### `{outcome['name']}`: {outcome['figure']}, {outcome['title']}\n\n"
            f"{outcome['form'].capitalize()} form, {agree}, {outcome['processor_seconds']:,.0f} s "
            f"of processor time. {outcome['assumed']}".rstrip()
            + "\n\n"
            "| statement | form | corrected | printed |\n|---|---|---|---|\n"
        )
        for statement in outcome["statements"]:
            cells = [_cell(statement.get(variant)) for variant in ("corrected", "printed")]
            row = [_escape(statement["text"]), outcome["form"], *cells]
            out.append(f"| {' | '.join(row)} |\n")
    return "".join(out)


def _cell(found: dict[str, str] | None) -> str:
    if found is None:
        return "–"
    return f"**{found['answer']}**: {_escape(found['evidence'])}"


def _escape(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")
