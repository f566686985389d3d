"""An agent's arms as tapes of rewards: looked at before they are used."""

import numpy as np

from posse.arms import Arms
from posse.arms.base import FloatArray

_EMPTY = np.zeros(0)
_READ_AHEAD = 256


class Tape:
    """Rewards that were drawn and not used yet, per arm, in front of the arms themselves.

    An exploring agent decides by rewards up to the activation at which it acts; looking ahead
    finds that activation at once, and what lies behind it stays on the tape for later.
    """

    def __init__(self, arms: Arms, count: int) -> None:
        self._arms = arms
        self._tapes: list[FloatArray] = [_EMPTY] * count
        self.simulated = arms.simulated

    def peek(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """The next `times` rewards of each arm, shape (len(arms), times or what is left)."""
        for k in arms:
            missing = times - len(self._tapes[k])
            if missing > 0:
                self._tapes[k] = np.concatenate([self._tapes[k], self._arms.draw(k, missing)])
        width = min(times, min(len(self._tapes[k]) for k in arms))
        return np.stack([self._tapes[k][:width] for k in arms])

    def take(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Use the next `times` rewards of each arm, shape (len(arms), times)."""
        rewards = self.peek(arms, times)
        for k in arms:
            self._tapes[k] = self._tapes[k][times:]
        return rewards

    def one(self, arm: int) -> float:
        """Use one reward of one arm."""
        tape = self._tapes[arm]
        if not len(tape):
            tape = self._arms.draw(arm, _READ_AHEAD if self.simulated else 1)
        self._tapes[arm] = tape[1:]
        return float(tape[0])

    def sums(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """Use `times` rewards of each arm; only their sums, shape (len(arms),)."""
        if times == 1 and len(arms) == 1:
            return np.array([self.one(arms[0])])
        if all(not len(self._tapes[k]) for k in arms):
            return self._arms.totals(arms, times)
        return self._partly_held(arms, times)

    def _partly_held(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """What lies on the tapes first, then the arms' own sums: never `times` single rewards."""
        fresh = tuple(k for k in arms if not len(self._tapes[k]))
        sums = dict(zip(fresh, self._arms.totals(fresh, times), strict=True)) if fresh else {}
        for k in arms:
            if k not in sums:
                held = self._tapes[k][:times]
                self._tapes[k] = self._tapes[k][times:]
                rest = times - len(held)
                sums[k] = held.sum() + (self._arms.totals((k,), rest)[0] if rest else 0.0)
        return np.array([sums[k] for k in arms])

    def shortage(self, arms: tuple[int, ...], times: int) -> str:
        """Empty if each arm has `times` rewards left, else a sentence about the one that lacks."""
        for k in arms:
            remaining = self._arms.remaining(k)
            if remaining is not None and remaining + len(self._tapes[k]) < times:
                left = remaining + len(self._tapes[k])
                return f"arm {k} has {left} rewards left and {times} are needed"
        return ""
