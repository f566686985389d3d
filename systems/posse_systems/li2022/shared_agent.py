"""CDP-MAB's agent with shared noise (see shared.py)."""

from dataclasses import dataclass, field

import numpy as np

from posse.seam.machines import COORDINATOR, AgentEffects, Disclose, Note, Received, Send
from posse.seam.masking import Keys, PublicKey, Question, SumMasker
from posse.seam.messages import FloatArray, LocalProtocolError, RemoteProtocolError
from posse.seam.noise import Release
from posse_systems.li2022.agent import CdpAgent
from posse_systems.li2022.messages import ExploredRow
from posse_systems.li2022.shared import SharedLaplace, SharedNoise


@dataclass(slots=True, kw_only=True)
class SharedNoiseAgent(CdpAgent):
    """A `CdpAgent` that adds a share of the noise to its sums and masks them.

    An agent's own noisy sums tell little, and have too little noise for it to act on them. So it
    has no ȳ of its own, follows the server's decisions alone and names no arm until one is left.
    """

    masker: SumMasker
    shared: SharedNoise
    everybody: tuple[int, ...] = field(init=False)
    width: int = 0

    def __post_init__(self) -> None:
        self.everybody = tuple(range(self.shared.agents))

    def _start(self) -> AgentEffects:
        return [Send(COORDINATOR, PublicKey(self.masker.public))]

    def _take(self, event: Received) -> AgentEffects:
        if event.sender == COORDINATOR:
            match event.message:
                case Keys(keys) if not self.masker.keys:
                    least = self.shared.agents - self.shared.dropouts
                    if not set(self.everybody).issuperset(keys) or len(keys) < least:
                        raise RemoteProtocolError("wrong-keys", f"{len(keys)} keys")
                    self.masker.take_keys(keys)
                    self.masker.go_on_without(self.shared.agents - len(keys))
                    self.everybody = tuple(sorted(keys))
                    return self._begin_round()
                case asked if isinstance(asked, Question):
                    return [Send(COORDINATOR, self.masker.answer(asked, self.width))]
                case _:
                    pass
        return CdpAgent._take(self, event)

    def _finish_exploring(self, sums: FloatArray) -> AgentEffects:
        if (sums < 0).any() or (sums > self.new).any():
            raise LocalProtocolError("a shared reward must lie in [0, 1]")
        shared = self.shared
        words = shared.to_integers(sums)
        if isinstance(shared, SharedLaplace):
            noisy = self.noise.polya(words, shared.scale, shared.enough)
        else:
            noisy = self.noise.discrete_gaussian(words, shared.share)
        self.masker.begin(self.round, self.everybody)
        report = self.masker.make_report(self.round, noisy.view(np.uint64))
        self.width = len(noisy)
        row = ExploredRow(self.round, len(self.active), self.observed, self.new)
        return [
            Disclose(self._release()),
            Note(row),
            Send(COORDINATOR, report),
            *self._go_on(),
        ]

    def _release(self) -> Release:
        """The release that the sum over the honest agents makes, in units of an agent's mean."""
        shared, grid = self.shared, float(1 << self.shared.precision)
        return Release(
            shared.mechanism,
            shared.sensitivity / grid / self.new,
            shared.scale / grid / self.new,
            shared.losses.epsilon(shared.delta),
            f"round {self.round}",
        )
