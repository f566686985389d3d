"""The sums that masked reports reveal to a coordinator.

A report is y_i = x_i + b_i + Σ_j ±m_ij (protocol/masking.py). If all agents that share masks m_ij
have reported and revealed their own b_i, the sum of their reports less Σ b_i is Σ x_i.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posse.protocol.masking import Words, keystream
from posse.system.reading import MessageReader

_NUMBERS = 32
"""Rounds and assignments from this number on are ignored."""


@dataclass
class RevealedSums:
    """Collects masked reports of `agents` agents; words have `precision` bits after the point."""

    reader: MessageReader
    agents: int
    precision: int
    reports: defaultdict[int, dict[int, Words]] = field(default_factory=lambda: defaultdict(dict))
    seeds: dict[tuple[int, int], bytes] = field(default_factory=dict)
    groups: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)

    def hear(self, source: int, target: int | None, kind: str, values: list[Any]) -> None:
        """Take a message; `values` are its fields."""
        if target is not None and self.reader.grouped:
            message = self.reader.decode(kind, values)
            if message is not None and (group := self.reader.group(message)) is not None:
                self.groups[group.number, target] = group.members
        match kind, values:
            case "Unmasked", [int(number), bytes(seed)]:
                self.seeds[number, source] = seed
            case "Masked" | "Covered", [int(number), bytes(words), *_] if number < _NUMBERS:
                self.reports[number][source] = np.frombuffer(words, "<u8").astype(np.uint64)

    def form(self) -> Iterator[tuple[str, float]]:
        """Each sum that can be formed, in units of reward, with a name."""
        everybody = tuple(range(self.agents))
        for number, reports in sorted(self.reports.items()):
            bare = {
                rank: words - keystream(self.seeds[number, rank], number, len(words))
                for rank, words in reports.items()
                if (number, rank) in self.seeds
            }
            for step in range(max(map(len, reports.values()))):
                groups = {self.groups.get((number, rank), everybody) for rank in reports}
                for members in {
                    g if g == everybody else self.reader.members(g, step) for g in groups
                }:
                    if members and all(len(bare.get(r, ())) > step for r in members):
                        total = np.array([bare[rank][step] for rank in members]).sum()
                        name = f"word {step} of sum {number} over agents {list(members)}"
                        yield name, float(total.view(np.int64)) / 2.0**self.precision
