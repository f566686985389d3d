"""The document of a series, as a type: what `--json` prints, and what `result.json` has.

`python -m posse.results.document` prints its JSON schema, which is docs/result.schema.json.
"""

import json
from typing import Literal

import msgspec

from posse.measure.confidence import Mean
from posse.results.record import NetworkFacts, RunRecord
from posse.results.result import Links
from posse.results.verdict import Truth, VerdictLine


class ResultDocument(msgspec.Struct, kw_only=True):
    """A series of runs.

    `format` is raised when a key goes or means something else; new keys may come without that.
    """

    format: Literal[1]
    system: str
    variant: str
    engine: str
    links: Links
    seed: int
    runs: list[RunRecord]
    summary: dict[str, Mean]
    network: NetworkFacts
    warnings: list[str]
    truths: list[Truth]
    verdict: VerdictLine


def schema() -> str:
    """The JSON schema (2020-12), a line for each type."""
    made = msgspec.json.schema(ResultDocument)
    types = made.pop("$defs")
    lines = [f"{json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types)]
    head = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **made})[:-1]
    return head + ', "$defs": {\n' + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    print(schema(), end="")
