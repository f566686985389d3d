"""The result of a series of runs, which `posse run --json` prints as one document."""

from typing import Any, Literal

import msgspec

from posse.measure.numbers import counted
from posse.results import words
from posse.results.measures import means
from posse.results.notebook import frame, html
from posse.results.record import NetworkFacts, RunRecord
from posse.results.verdict import Truth, VerdictLine, arm_names, drawn_anew, verdict

Links = Literal["local", "keys", "insecure"]
"""All on one machine; with CURVE keys; on several machines without keys."""

FORMAT = 1
"""That of the document: see `posse.results.document`."""

NO_KEYS = (
    "insecure: the links had no keys; whoever reached them could join, read and change messages"
)


class Result(msgspec.Struct, kw_only=True):
    """A series of runs of one specification; `network` describes the graph of the first run.

    `links`: how the links were protected. `truths`: what the lab knows of each run, by its means.
    """

    system: str
    variant: str
    engine: str
    seed: int
    runs: list[RunRecord]
    specification: dict[str, Any]
    links: Links = "local"
    network: NetworkFacts = msgspec.field(default_factory=NetworkFacts)
    warnings: list[str] = []
    truths: list[Truth] = []

    @property
    def verdict(self) -> VerdictLine:
        """What came of it, as a line and its parts."""
        asked = self.specification.get("repeat", len(self.runs))
        anew = drawn_anew(self.specification)
        return verdict(
            self.runs,
            asked=max(asked, len(self.runs)),
            anew=anew,
            truths=self.truths,
            warnings=self.warnings,
            names=arm_names(self.specification),
        )

    def __repr__(self) -> str:
        """What was found and what it cost, in a few lines."""
        return words.brief(self._head(), self.runs, self.verdict)

    def _repr_html_(self) -> str:
        """The closing table and the regret curve, for a notebook."""
        return html(self._head(), words.rows(self.runs, self.verdict), self.runs)

    def _head(self) -> str:
        runs = counted(len(self.runs), "run")
        # the field has none
        seed = "" if self.specification.get("mode") == "field" else f", seed {self.seed}"
        return f"{self.system} ({self.variant}), {runs} in engine {self.engine}{seed}"

    def to_frame(self) -> Any:
        """One row per run: seed, status, answer, whether it was right, every measure.

        A `pandas.DataFrame`; without pandas a dict of columns, which `polars.DataFrame` accepts.
        """
        return frame(self.runs, "runs")

    def agents_frame(self) -> Any:
        """One row per run and agent: answer, activations, pulls, ε spent. Types as `to_frame`."""
        return frame(self.runs, "agents")

    def links_frame(self) -> Any:
        """One row per run, link, plane and kind: messages and bytes. Types as `to_frame`."""
        return frame(self.runs, "links")

    def regret_frame(self) -> Any:
        """One row per point of each run's cumulative regret curve. Types as `to_frame`."""
        return frame(self.runs, "regret")

    def summary(self) -> dict[str, dict[str, Any]]:
        """The means of all measures, by name, as JSON has them; `right` is a share of the runs.

        Each has `mean` over `n` runs, `median`, the 95 % interval from `low` to `high`, and `ci95`;
        None where there is none (docs/results.md).
        """
        return msgspec.to_builtins(means(self.runs))  # type: ignore[no-any-return]

    def document(self) -> dict[str, Any]:
        """The one document that `posse run --json` prints."""
        return {
            "format": FORMAT,
            "system": self.system,
            "variant": self.variant,
            "engine": self.engine,
            "links": self.links,
            "seed": self.seed,
            "runs": [run.document() for run in self.runs],
            "summary": self.summary(),
            "network": msgspec.to_builtins(self.network),
            "warnings": self.warnings,
            "truths": msgspec.to_builtins(self.truths),
            "verdict": msgspec.to_builtins(self.verdict),
        }
